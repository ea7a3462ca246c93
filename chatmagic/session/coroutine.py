"""Coroutine function of a method that asks, for code that awaits a reply."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

from chatmagic.client.halt import Halt
from chatmagic.session.worker import NAP

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


INTERRUPTED: Final = "ChatInterrupted: Interrupted while the reply was awaited."
"""What IPython shows of an ask that was cancelled, in place of the traceback of the event loop."""


def awaitable(ask: Callable[_Given, _Result]) -> Callable[_Given, Coroutine[Any, Any, _Result]]:
    """Return the coroutine function of a method that asks.

    Cancelling the task stops the reply; the text so far is kept.

    Args:
        ask: the method; its option ``halt`` stops it.
    """

    @wraps(ask)
    async def call(*args: _Given.args, **options: _Given.kwargs) -> _Result:
        halt = cast("Halt", options.get("halt") or Halt())
        options["halt"] = halt
        work = partial(contextvars.copy_context().run, partial(ask, *args, **options))
        reply = asyncio.get_running_loop().run_in_executor(None, work)
        try:
            # ipykernel cancels in a handler of a signal, which wakes no loop that waits.
            while not reply.done():
                await asyncio.wait([reply], timeout=NAP)
            return reply.result()
        except asyncio.CancelledError as error:
            halt.stop()
            reply.cancel()
            # It stays the very type that asyncio expects, and IPython shows one line of it.
            error._render_traceback_ = lambda: [INTERRUPTED]  # type: ignore[attr-defined]
            raise

    return call
