"""Properties that are computed once for an object."""

from __future__ import annotations

import os
import threading

import pytest
from loopback import PATIENCE

from chatmagic._cached import cached_property


class Once:
    """Object with a property that waits while it is computed for the first time."""

    def __init__(self) -> None:
        """Compute nothing yet."""
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.count = 0

    @cached_property
    def value(self) -> int:
        """The number of the computation."""
        self.begun.set()
        self.may_end.wait(PATIENCE)
        self.count += 1
        return self.count


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
def test_a_property_that_another_thread_computes_is_computed_in_the_child() -> None:
    """It is computed once for an object, and no child waits for the thread of its parent."""
    slow = Once()
    quick = Once()
    quick.may_end.set()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(PATIENCE)
    child = os.fork()
    if child == 0:
        os._exit(0 if quick.value == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    slow.may_end.set()
    thread.join()
    assert (slow.value, slow.value, slow.count) == (1, 1, 1)
    assert Once.value.__doc__ == "The number of the computation."
