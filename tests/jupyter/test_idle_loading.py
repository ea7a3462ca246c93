"""What a first question needs is loaded ahead in the kernel's own loop, while no cell runs."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
from itertools import count
from typing import TYPE_CHECKING

import pytest
from kernels import kernel

from chatmagic.jupyter import idle_loading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUMBERS = count()
NEW = """
import sys
ours = [name for name in sys.modules if name.startswith(("chatmagic", "requests", "markdown_it"))]
from chatmagic import current_session
from chatmagic.session.events import Sent
seen = []
def follow(event):
    if isinstance(event, Sent):
        seen.extend({*sys.modules} - {*ours})
current_session().follow(follow)
"""


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give modules that were never imported, of which two fail, in place of the steps."""
    # A person's own script may have the name of a package that is loaded.
    texts = ["1 / 0", "raise SystemExit", "", ""]
    names = [f"ahead_{next(NUMBERS)}" for _ in texts]
    for name, text in zip(names, texts, strict=True):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(idle_loading, "STEPS", names)
    monkeypatch.setattr(idle_loading, "_PAUSE", 0.0)
    return names


@pytest.fixture
def rest() -> Iterator[None]:
    """Let an interrupt be left out, as a kernel does between cells."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


async def turns(until: str | None = None) -> None:
    """Let the loop turn many times, or until a module is there."""
    turned = 0
    while until not in sys.modules and (until is not None or turned < 100):
        await asyncio.sleep(0)
        turned += 1


@pytest.mark.usefixtures("rest")
def test_each_is_loaded_while_no_cell_runs(
    names: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """One that fails is logged, and keeps no other from being loaded."""
    caplog.set_level(logging.DEBUG, "chatmagic")

    async def load() -> None:
        idle_loading.begin()
        assert not {*names} & {*sys.modules}
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a cell runs
        await turns()
        assert not {*names} & {*sys.modules}
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        await turns(names[-1])

    asyncio.run(load())
    assert [name in sys.modules for name in names] == [False, False, True, True]
    for kind in ("ZeroDivisionError", "SystemExit"):
        assert f"Swallowed: builtins.{kind}" in caplog.text


@pytest.mark.usefixtures("rest")
def test_nothing_is_loaded_outside_of_a_kernels_loop(names: list[str]) -> None:
    """Neither without one, as in a terminal, nor in the loop of another thread."""
    idle_loading.begin()

    async def load() -> None:
        idle_loading.begin()
        await turns()

    thread = threading.Thread(target=lambda: asyncio.run(load()))
    thread.start()
    thread.join()
    assert not {*names} & {*sys.modules}


def test_a_kernel_that_rested_loads_nothing_for_its_first_question() -> None:
    """Nothing of ours, of requests or of the renderer, until it is sent."""
    place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": "http://127.0.0.1:9"}
    with kernel(place, python=sys.executable) as running:
        running.run("%load_ext chatmagic", cell="load")
        last = f"import sys; print({idle_loading.STEPS[-1]!r} in sys.modules)"
        assert any(running.run(last).text.strip() == "True" for _ in range(20_000))
        running.run(NEW)
        running.run("%%chat\nHello?", cell="ask")
        new = running.run("print('seen', *seen)").text.split()
    assert new[0] == "seen"
    assert not [name for name in new if name.startswith(("chatmagic", "requests", "markdown_it"))]
