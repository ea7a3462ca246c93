"""Things of one process: a forked child is without them, and its parent keeps them."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable

import pytest
from loopback import PATIENCE

from chatmagic._fork import Lock, belongs_to_process, close_in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")


def in_child(check: Callable[[], bool]) -> bool:
    """Return what a check returns in a forked child."""
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    return os.waitpid(child, 0)[1] == 0


class Counting:
    """Object that counts the forks; the first one fails."""

    def __init__(self, *, fails: bool) -> None:
        """Be in the list."""
        self.count = 0
        self._fails = fails
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Count."""
        self.count += 1
        if self._fails:
            raise ValueError


def test_an_object_is_called_in_the_child_alone() -> None:
    """Each object is called once in each child, whatever another one raises."""
    objects = [Counting(fails=fails) for fails in (True, False, True, False)]
    assert in_child(lambda: [each.count for each in objects] == [1] * 4)
    assert in_child(lambda: in_child(lambda: [each.count for each in objects] == [2] * 4))
    assert [each.count for each in objects] == [0] * 4


def test_a_lock_of_another_thread_is_free_in_the_child() -> None:
    """A child waits for no thread of its parent, which keeps the lock."""
    lock = Lock()
    is_held = threading.Event()
    may_end = threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            may_end.wait(PATIENCE)

    def is_free() -> bool:
        with lock, lock:
            return True

    holder = threading.Thread(target=hold)
    holder.start()
    assert is_held.wait(PATIENCE)
    assert in_child(is_free)
    may_end.set()
    holder.join()
    assert is_free()


def test_a_lock_of_the_forking_thread_stays_its_own() -> None:
    """The thread that forks goes on in the child, and releases there what it holds."""
    lock = Lock()
    with lock:
        child = os.fork()
        inside = True
    if child == 0:
        with lock:
            os._exit(0 if inside else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_socket_is_closed_in_the_child_and_not_shut_down() -> None:
    """The parent's connection goes on, and ends when the parent closes it, while a child lives."""
    own, other = socket.socketpair()
    may_end, ends = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ends)
        close_in_child(own)
        close_in_child(own)
        close_in_child(None)
        other.close()
        os.read(may_end, 1)
        os._exit(0)
    other.settimeout(PATIENCE)
    own.sendall(b"goes on")
    assert other.recv(100) == b"goes on"
    own.close()
    assert other.recv(100) == b""
    os.close(ends)
    os.close(may_end)
    assert os.waitpid(child, 0)[1] == 0
    other.close()
