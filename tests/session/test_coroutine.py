"""A coroutine function that asks: other tasks go on, and a cancelled one is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace

import pytest
from logged import Emulator
from shells import FIXED

from chatmagic.session.coroutine import INTERRUPTED
from chatmagic.session.session import Session


def test_an_awaited_ask_lets_other_tasks_go_on(session: Session, emulator: Emulator) -> None:
    """It is the same ask; the loop runs while it is under way, and a cancelled one is stopped."""
    emulator.settings = replace(FIXED, fault="hold", fault_after=2)
    heard: list[str] = []

    async def both() -> None:
        came, loop = asyncio.Event(), asyncio.get_running_loop()

        def hear(text: str) -> None:
            heard.append(text)
            if text.startswith("two"):
                loop.call_soon_threadsafe(came.set)

        task = asyncio.create_task(session.aask("echo:one two three", on_fragment=hear))
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        assert type(raised.value) is asyncio.CancelledError
        assert raised.value._render_traceback_() == [INTERRUPTED]  # type: ignore[attr-defined]

    asyncio.run(both())
    assert heard == ["one ", "two "]
    assert [turn.state for turn in session.conversation] == ["interrupted"]
    emulator.settings = FIXED
    assert asyncio.run(session.aask("echo:next", max_tokens=3)).text == "next"
    assert emulator.requests[-1].body["max_tokens"] == 3


def test_an_awaited_ask_is_stopped_from_a_signal(session: Session, emulator: Emulator) -> None:
    """As an interrupt of a notebook does, which does not wake the loop."""
    emulator.settings = replace(FIXED, fault="hold", fault_after=1)

    async def stopped() -> None:
        def hear(_: str) -> None:
            os.kill(os.getpid(), signal.SIGUSR1)

        task = asyncio.create_task(session.aask("echo:one two", on_fragment=hear))
        handler = signal.signal(signal.SIGUSR1, lambda *_: task.cancel())
        try:
            with pytest.raises(asyncio.CancelledError):
                await task
        finally:
            signal.signal(signal.SIGUSR1, handler)

    asyncio.run(stopped())
    assert [turn.state for turn in session.conversation] == ["interrupted"]
