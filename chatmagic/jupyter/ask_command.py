"""``%%chat`` and ``%chat``: a line and a body become an ask, and its reply is shown."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from chatmagic._json import shared
from chatmagic.conversation import chat_line, options, suggestions, template
from chatmagic.conversation.request_facts import Parameters, correction
from chatmagic.errors import ChatError, ChatInterrupted, InputError
from chatmagic.jupyter import in_front, request_view, views
from chatmagic.jupyter.background import Background
from chatmagic.jupyter.execution import cell_source, running
from chatmagic.jupyter.status import Status
from chatmagic.jupyter.values.describe import Descriptions
from chatmagic.session.events import EMPTY, Ask, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.client.halt import Halt
    from chatmagic.conversation.chat_line import ParsedLine
    from chatmagic.jupyter.execution import Execution
    from chatmagic.jupyter.kernel import Kernel
    from chatmagic.models import Reply

_T = TypeVar("_T")

EXAMPLES: Final = (
    "%%chat\nExplain the central limit theorem to a biologist.\nUse one example.",
    "%%chat -t 0 --max-tokens 200\nWhat is wrong with this code?\n\n{{ source }}",
    "%chat And in one sentence?",
    "reply = %chat Name three estimators of the mean.",
)
ALONE: Final = r"%%chat(?:_fix)?\b|(?:[^\n=()]+=)?[ \t]*%chat(?:_fix|_retry|_continue)?\b[^\n]*\Z"
"""A cell that holds nothing but one ask, so that a failed ask may clear what it shows."""
NO_BACKGROUND: Final = "--background has no reply to give back yet. Nothing was sent."


def ask(kernel: Kernel, line: str, cell: str | None = None) -> Reply | None:
    """Run ``%%chat`` or ``%chat``; without a prompt, ``%chat`` shows the state.

    Args:
        kernel: the kernel.
        line: what stands after the magic's name.
        cell: the body of ``%%chat``; ``None`` for ``%chat``.

    Returns:
        The reply of ``%chat``.

    Raises:
        ChatError: see :meth:`chatmagic.session.session.Session.ask`.
        ChatInterrupted: an interrupt, wherever it came.
    """
    return interruptible(kernel, lambda: _run(kernel, line, cell))


def fix(kernel: Kernel, line: str, cell: str | None = None) -> Reply | None:
    """Run ``%chat_fix``: ask about the last error.

    Args:
        kernel: the kernel.
        line: what was wanted, after the options of ``%chat``; may be empty.
        cell: the body of ``%%chat_fix``; ``None`` for ``%chat_fix``.

    Returns:
        The reply of ``%chat_fix``.

    Raises:
        ChatError: there is no error, or as :func:`ask`.
        ChatInterrupted: an interrupt, wherever it came.
    """

    def run() -> Reply | None:
        parsed = replace(_parsed(kernel, line, cell), with_error=True)
        body = (cell or "").removesuffix("\n")
        if not parsed.raw:
            suggestions.refuse_cell_comments(body)
        reply = _ask(kernel, parsed, correction(parsed.prompt, body))
        return None if cell is not None else reply

    return interruptible(kernel, run)


def interruptible(kernel: Kernel, run: Callable[[], _T]) -> _T:
    """Return what a command returns; an interrupt of its cell becomes one clear line.

    Args:
        kernel: the kernel.
        run: does what the command is to do.

    Raises:
        ChatInterrupted: an interrupt, wherever it came.
    """
    try:
        if kernel.settings.notes is not None:
            kernel.settings.notes.raise_interrupt()
        return run()
    except ChatInterrupted:
        raise
    except KeyboardInterrupt:
        # Before the session had the ask, or after it was done with it.
        raise ChatInterrupted(
            "Interrupted. The conversation is intact: %chat_history shows it."
        ) from None


def _run(kernel: Kernel, line: str, cell: str | None) -> Reply | None:
    parsed = _parsed(kernel, line, cell)
    if cell is None and not parsed.question(parsed.prompt):
        print(Status(kernel).summary())
        return None
    body = (cell or "").removesuffix("\n")
    if body and not parsed.raw:
        suggestions.refuse_cell_comments(body)
    text = parsed.question(parsed.prompt, body)
    command = suggestions.mistaken_command(text)
    if command is not None:
        raise InputError(
            f"Did you mean %{command}? Nothing was sent.",
            hint="To ask just that, put it into a sentence.",
        )
    reply = _ask(kernel, parsed, text)
    return None if cell is not None else reply


def _parsed(kernel: Kernel, line: str, cell: str | None) -> ParsedLine:
    parsed = chat_line.parse(line, kernel.settings.trait_values(config=True))
    if parsed.background and cell is None:
        raise InputError(NO_BACKGROUND, hint="%%chat --background -o NAME names the variable.")
    return parsed


def _ask(kernel: Kernel, parsed: ParsedLine, text: str) -> Reply | None:
    """Return the reply to what a line asks; ``None`` where the request is only shown."""
    suggestions.refuse_dividing(cell_source(kernel.shell))
    execution = running(kernel.shell)
    # The reply that comes there may be in a value of this prompt.
    settle(kernel, execution, shown=not parsed.quiet)
    ask = _composed(kernel, parsed, text, execution)
    if parsed.dry:
        views.show_html(*request_view.of_preview(kernel.session.preview(ask), kernel))
        return None
    return send(kernel, ask, execution, output=parsed.output)


def settle(kernel: Kernel, execution: Execution, *, shown: bool = True) -> None:
    """Wait for the question in the background, if one is under way, and tell once if it failed.

    Args:
        kernel: the kernel.
        execution: of the cell that waits.
        shown: whether the cell shows that it waits.

    Raises:
        ChatError: it failed.
        ChatInterrupted: an interrupt.
    """
    if kernel.background is not None:
        layout = kernel.layout(execution.cell)
        order = (layout and layout.order) or ()
        view = _view(kernel, Ask("", shown=shown), execution)
        kernel.background.settle(execution.cell, order, view)


def send(
    kernel: Kernel, ask: Ask, execution: Execution, *, output: str | None = None
) -> Reply | None:
    """Send what is asked, show its reply, and put it, whole or in part, into a variable.

    In the background it returns ``None`` when the request is sent.

    Args:
        kernel: the kernel.
        ask: what is asked.
        execution: of the cell that asks.
        output: the variable's name; ``None`` for none.

    Raises:
        ChatError: see :meth:`chatmagic.session.session.Session.ask`.
        ChatInterrupted: the same.
    """
    view = _view(kernel, ask, execution)
    if ask.background is None or not isinstance(view, views.Live):
        return _send(kernel, ask, execution, view, output=output)
    if kernel.background is None:
        kernel.background = Background()
    work = partial(_send, kernel, ask, execution, view, output=output)
    # An earlier run's value would be taken for the one that comes.
    forget = partial(kernel.shell.user_ns.pop, output, None)
    kernel.background.start(ask, view, work, forget)
    return None


def _send(
    kernel: Kernel,
    ask: Ask,
    execution: Execution,
    view: View,
    *,
    output: str | None,
    halt: Halt | None = None,
) -> Reply | None:
    reply: Reply | None = None
    result: object = None
    try:
        with kernel.page.following(execution):
            reply = kernel.session.run(ask, view, halt).kept
        result = reply.parsed if ask.format == "json" else reply
    except (ChatError, ChatInterrupted) as error:
        result = reply = error.reply
        if execution.audience == "machine" and (notes := suggestions.merged(ask)):
            error.hint = " ".join(filter(None, [error.hint, f"Note that {notes[0]}."]))
        raise
    finally:
        if output and reply is not None:
            kernel.shell.user_ns[output] = result
    if ask.shown:
        kernel.shown = (execution.id, reply)
    return reply


def _composed(kernel: Kernel, parsed: ParsedLine, text: str, execution: Execution) -> Ask:
    """Return what is asked: the text with its values put in, behind what goes in front of it."""
    asked_for = parsed.above, parsed.tag, parsed.cells, parsed.with_error or None
    goes_along = any(each is not None for each in asked_for)
    front = in_front.of(kernel, parsed, execution.cell) if goes_along else ()
    if front and not text.strip():
        raise InputError(EMPTY)
    descriptions = None
    if not parsed.raw and template.OPEN in text:
        descriptions = Descriptions(kernel.shell)
    is_in_page = execution.audience == "page" and not parsed.quiet
    may_end = is_in_page and execution.may_end and _is_updated(kernel, execution)
    sent, values = template.fill(text, None if descriptions is None else descriptions.text, front)
    return Ask(
        sent,
        **shared(parsed, Parameters),
        typed=text if values else None,
        values=values,
        notes=() if descriptions is None else descriptions.notes,
        keep_values=kernel.settings.keep_values,
        allow_secrets=parsed.allow_secrets,
        fit=kernel.settings.fit,
        owner=execution.cell,
        execution=execution.id,
        entry="cell",
        asker=execution.label,
        shown=not parsed.quiet,
        background=execution.name if parsed.background and may_end else None,
    )


def _view(kernel: Kernel, ask: Ask, execution: Execution) -> View:
    """Return what shows the reply (the manual's table under "How a reply is shown")."""
    if not ask.shown:
        return View()
    how = kernel.settings.stream
    if _is_updated(kernel, execution):
        alone = re.match(ALONE, cell_source(kernel.shell).strip()) is not None
        return views.Live(ask, kernel.page.drawing, alone=alone)
    if how == "text" or (how == "auto" and execution.audience == "text"):
        return views.Printed(in_page=execution.audience == "page", piped=execution.piped)
    if execution.audience == "text":
        return views.Printed(piped=execution.piped, once=True)
    return views.Once()


def _is_updated(kernel: Kernel, execution: Execution) -> bool:
    """Return whether a reply is shown by updates while it comes."""
    how = kernel.settings.stream
    return how == "updates" or (how == "auto" and execution.is_live)


def usage() -> str:
    """Return the help of ``%%chat?``, from the table of options."""
    return options.usage(EXAMPLES)
