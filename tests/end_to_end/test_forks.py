"""Processes that are forked from one that has asked: each asks for itself, and none hangs."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from loopback import CHUNKS_END, DONE, EVENTS, PATIENCE, Peer, Server, chunked, event, head

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")

ROWS: Final = 12
STREAMED: Final = {**EVENTS, "Transfer-Encoding": "chunked"}

BEFORE: Final = """
import json, os, sys, threading
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import chatmagic

ROWS = range(12)

def ask(number):
    reply = chatmagic.ask(f"row {number}", history=False)
    return reply.text, reply.state

def asked_by_fork(number):
    receiver, sender = os.pipe()
    if not os.fork():
        os.write(sender, json.dumps(ask(number)).encode())
        os._exit(0)
    os.wait()
    os.close(sender)
    with os.fdopen(receiver) as file:
        return tuple(json.load(file))

def show(rows):
    print(json.dumps(list(rows)))

assert ask("before") == ("row before", "complete")
assert chatmagic.ask("kept").text == "kept"
"""
AFTER: Final = """
assert ask("after") == ("row after", "complete")
assert [message["content"] for message in chatmagic.current_session().messages()] == ["kept"] * 2
"""
WAYS: Final = {
    "a pool": """
with multiprocessing.get_context("fork").Pool(4) as pool:
    show(pool.map(ask, ROWS))
""",
    "a pool whose children stay while the parent asks": """
pool = multiprocessing.get_context("fork").Pool(4)
half = pool.map(ask, ROWS[:6], chunksize=1)
assert ask("between") == ("row between", "complete")
show(half + pool.map(ask, ROWS[6:], chunksize=1))
pool.close()
""",
    "an executor": """
with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("fork")) as executor:
    show(executor.map(ask, ROWS))
""",
    "os.fork": """
show(map(asked_by_fork, ROWS))
""",
    "children of children": """
def grandchild(number):
    ask(number)
    return asked_by_fork(number)

context = multiprocessing.get_context("fork")
with ProcessPoolExecutor(4, mp_context=context) as executor:
    show(executor.map(grandchild, ROWS))
""",
    "threads that ask while it is forked": """
done = threading.Event()
failures = []

def ask_on():
    while not done.is_set():
        try:
            assert ask("thread") == ("row thread", "complete")
        except BaseException as failure:
            failures.append(failure)

threads = [threading.Thread(target=ask_on) for _ in range(4)]
for thread in threads:
    thread.start()
show(map(asked_by_fork, ROWS))
done.set()
for thread in threads:
    thread.join()
assert not failures, failures
""",
    "threads that ask in a conversation each": """
done = threading.Event()

def ask_on(name):
    while not done.is_set():
        chatmagic.ask("thread", thread=name)

threads = [threading.Thread(target=ask_on, args=[name]) for name in "abcd"]
for thread in threads:
    thread.start()
show(map(asked_by_fork, ROWS))
done.set()
for thread in threads:
    thread.join()
""",
    "a map under way": """
job = chatmagic.map("{{ it }}", [f"line {n}" for n in range(40)], yes=True, block=False)
show(map(asked_by_fork, ROWS))
assert job.result() == job.result() and len(job.result()) == 40
assert [row.text for row in job.result()] == [f"line {n}" for n in range(40)]
again = chatmagic.map("{{ it }}", [f"line {n}" for n in range(40)], yes=True)
assert [row.text for row in again] == [f"line {n}" for n in range(40)]
""",
    "joblib": """
joblib = __import__("joblib")
show(joblib.Parallel(4, backend="multiprocessing")(joblib.delayed(ask)(n) for n in ROWS))
""",
}
EACH_TIME: Final = "a pool whose children stay while the parent asks"
"""The way that each run tries; CI tries all."""


def echo(peer: Peer) -> None:
    """Answer each request with its prompt, a character an event."""
    while (asked := peer.request()) is not None:
        peer.send(head(headers=STREAMED))
        for letter in asked.body["messages"][-1]["content"]:
            peer.send(chunked(event(letter)))
        peer.send(chunked(DONE), CHUNKS_END)


@pytest.fixture
def server() -> Iterator[Server]:
    """Give a server that answers with the prompt."""
    with Server(echo) as running:
        yield running


def run(program: str, server: Server, folder: Path, **environment: str) -> str:
    """Run a program of its own, which asks a server; return its output."""
    known = {"CHATMAGIC_BASE_URL": server.url, "CHATMAGIC_AUTH": "none", **environment}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **known},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=() if way == EACH_TIME else pytest.mark.release) for way in WAYS],
)
def test_each_row_has_its_own_answer(way: str, server: Server, tmp_path: Path) -> None:
    """However it is forked, a child is answered itself, and so is its parent afterwards."""
    if way == "joblib":
        pytest.importorskip("joblib")
    rows = json.loads(run(BEFORE + WAYS[way] + AFTER, server, tmp_path))
    assert rows == [[f"row {number}", "complete"] for number in range(ROWS)]
    asked = [each.body["messages"][-1]["content"] for each in server.asked]
    sent_twice = 2 if way == "children of children" else 1
    for number in range(ROWS):
        assert asked.count(f"row {number}") == sent_twice


def test_children_have_tls_of_their_own(tls: ssl.SSLContext, tmp_path: Path) -> None:
    """A child neither writes into its parent's TLS nor takes leave in it."""
    with Server(echo, tls) as server:
        rows = json.loads(run(BEFORE + WAYS["a pool"] + AFTER, server, tmp_path))
    assert rows == [[f"row {number}", "complete"] for number in range(ROWS)]


CASSETTE: Final = """
with multiprocessing.get_context("fork").Pool(4) as pool:
    show(pool.map(ask, ROWS))
"""


@pytest.mark.release  # of two kernels on one file tests/cassette/test_active.py tells each time
def test_children_record_beside_their_parent(server: Server, tmp_path: Path) -> None:
    """What children record is in the file, and what their parent records stays there."""
    cassette = {"CHATMAGIC_CASSETTE": str(tmp_path / "rows.jsonl"), "CHATMAGIC_MODE": "record"}
    once = run(BEFORE + CASSETTE + AFTER, server, tmp_path, **cassette)
    sent = len(server.asked)
    again = run(BEFORE + CASSETTE + AFTER, server, tmp_path, **cassette)
    assert json.loads(once) == json.loads(again)
    assert len(server.asked) == sent == ROWS + 3


LEFT: Final = """
def fork_now(_):
    global left
    if left is None:
        left = os.fork() or 0

left = None
try:
    reply = chatmagic.ask("a long reply", on_fragment=fork_now)
except chatmagic.errors.ChatError as error:
    assert left == 0
    assert "This process was forked meanwhile" in str(error), error
    assert ask("child") == ("row child", "complete")
    sys.exit(0)
assert left and os.waitpid(left, 0)[1] == 0
assert reply.text == "a long reply"
show([])
"""


def test_a_reply_under_way_stays_with_the_parent(tmp_path: Path) -> None:
    """A child that is forked in a listener does not wait for a reply that is not its own."""
    is_forked = threading.Event()

    def held(peer: Peer) -> None:
        while (asked := peer.request()) is not None:
            prompt = asked.body["messages"][-1]["content"]
            peer.send(head(headers=STREAMED), chunked(event(prompt[:2])))
            if prompt == "a long reply":
                is_forked.wait(PATIENCE)
            elif prompt == "row child":
                is_forked.set()
            peer.send(chunked(event(prompt[2:])), chunked(DONE), CHUNKS_END)

    with Server(held) as server:
        assert run(BEFORE + LEFT, server, tmp_path) == "[]\n"


BUDGET: Final = """
begun = threading.Event()
halt = __import__("chatmagic.client.halt", fromlist=["Halt"]).Halt()

def ask_slowly():
    try:
        chatmagic.ask("wait", history=False, halt=halt)
    except chatmagic.errors.ChatInterrupted:
        pass

thread = threading.Thread(target=ask_slowly, daemon=True)
thread.start()
from chatmagic.session.budget_limit import Budgets
ledger = chatmagic.current_session().ledger
while not ledger.under_way:
    pass
if not os.fork():
    assert not ledger.under_way
    budgets = ledger.limit(Budgets)
    assert [budgets.used(budget) for budget in budgets.budgets()] == [3]
    assert ask("child") == ("row child", "complete")
    try:
        ask("more")
    except chatmagic.errors.BudgetError:
        os._exit(0)
    os._exit(1)
assert os.wait()[1] == 0
halt.stop()
thread.join()
"""


def waiting(peer: Peer) -> None:
    """Answer as `echo` does, and do not answer ``wait``."""
    while (asked := peer.request()) is not None:
        prompt = asked.body["messages"][-1]["content"]
        if prompt == "wait":
            peer.gone()
            return
        peer.send(head(headers=STREAMED), chunked(event(prompt)), chunked(DONE), CHUNKS_END)


def test_a_child_counts_a_request_of_its_parent_once(tmp_path: Path) -> None:
    """A request that was under way counts as used in the child, which never sees its end."""
    with Server(waiting) as server:
        run(BEFORE + BUDGET, server, tmp_path, CHATMAGIC_BUDGET="4 turns")
