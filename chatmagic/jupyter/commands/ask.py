"""``%%chat``, ``%chat`` and ``%chat_fix``: questions made of a line and a body, and sent."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from chatmagic.client.halt import Halt
from chatmagic.conversation import cell_magics, likely_mistakes, magic_line, options, template
from chatmagic.conversation.magic_line import ParsedLine
from chatmagic.conversation.question import correction
from chatmagic.errors import ChatError, ChatInterrupted, InputError
from chatmagic.jupyter import reply_views, request_display
from chatmagic.jupyter.cells.running_cell import (
    Execution,
    cell_source,
    page_of,
    running,
)
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.front_values import AskingCell, values_in_front
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.status import Status
from chatmagic.jupyter.values import Descriptions
from chatmagic.models import Reply
from chatmagic.other_tools import PROMPTS
from chatmagic.session.ask import EMPTY, Ask
from chatmagic.session.views import View

EXAMPLES: Final = (
    "%%chat\nExplain the central limit theorem to a biologist.\nUse one example.",
    "%%chat -t 0 --max-tokens 200\nWhat is wrong with this code?\n\n{{ source }}",
    "%chat And in one sentence?",
    "reply = %chat Name three estimators of the mean.",
)
_NOT_PUT_IN: Final = (
    r"(?<![\w\\{}^$])\{(?P<braced>[A-Za-z_]\w*)\}(?!\})"
    r"|(?<![\w\\$])\$(?P<dollar>[A-Za-z_]\w*)\b(?![^\n]*\$)"
)
"""Pattern of a variable in another template language; a second dollar makes a formula."""


def _ask(kernel: Kernel, given: Arguments) -> Reply | None:
    """Ask the question of ``%%chat`` or ``%chat``; without a question ``%chat`` shows the state.

    Returns:
        The reply of ``%chat``.

    Raises:
        ChatError: see :meth:`chatmagic.session.session.Session.ask`.
        ChatInterrupted: a person interrupted it.
    """
    parsed, body = _typed(kernel, given)
    if given.cell is None and not parsed.question(parsed.prompt):
        reply_views.show_html(*Status(kernel).summary())
        return None
    text = parsed.question(parsed.prompt, body)
    _refuse_mistaken_prompt(kernel, parsed.prompt, text)
    return _asked(kernel, given, parsed, text)


def _refuse_mistaken_prompt(kernel: Kernel, line: str, text: str) -> None:
    """Raise an error for a prompt that is a command, ours or another tool's, or names a model.

    Args:
        kernel: the kernel.
        line: the words of the line behind the options.
        text: the whole prompt.
    """
    to_ask_just_that = "To ask just that, put it into a sentence."
    magics = kernel.shell.magics_manager.magics["line"]
    ours = [name for name in magics if "chat_" in name]
    command = likely_mistakes.mistaken_command(text, ours)
    if command is not None:
        raise InputError(f"Did you mean %{command}? Nothing was sent.", hint=to_ask_just_that)
    word = text.strip().casefold()
    if word in PROMPTS:
        raise InputError(
            f"{word} alone is a command of other tools, and would be sent as the prompt. "
            "Nothing was sent.",
            hint=f"{PROMPTS[word]} {to_ask_just_that}",
        )
    model = likely_mistakes.named_model(line, kernel.settings.listed_models)
    if model is not None:
        raise InputError(
            f"{model} is the name of a model, and would be sent as the prompt. Nothing was sent.",
            hint=f"-m {model} asks this model. {to_ask_just_that}",
        )


def _fix(kernel: Kernel, given: Arguments) -> Reply | None:
    """Ask about the last error: ``%chat_fix [your goal]``.

    The error, its traceback and the source of the cell that raised it are sent in front of the
    question; ``%%chat --error`` does the same with a question of your own. Without an error nothing
    is sent. The options are those of ``%chat``.
    """
    parsed, body = _typed(kernel, given)
    text = correction(parsed.prompt, body)
    return _asked(kernel, given, replace(parsed, with_error=True), text)


def _typed(kernel: Kernel, given: Arguments) -> tuple[ParsedLine, str]:
    """Return the line, and the body without its last line end."""
    settings = kernel.settings.trait_values(config=True)
    names = kernel.shell.user_ns
    parsed = magic_line.parse_line(given.line, settings, names=names)
    if parsed.background and given.cell is None:
        raise InputError(
            "--background cannot return a reply. Nothing was sent.",
            hint="%%chat --background -o NAME names the variable.",
        )
    body = (given.cell or "").removesuffix("\n")
    if not parsed.raw:
        likely_mistakes.refuse_cell_comments(body)
    return parsed, body


def _asked(kernel: Kernel, given: Arguments, parsed: ParsedLine, text: str) -> Reply | None:
    """Ask, and return the reply to a question on a line; ``None`` for a cell or a dry run."""
    likely_mistakes.refuse_thread_and_ask(cell_source(kernel.shell))
    execution = running(kernel.shell)
    # A value of this prompt may be the reply to a question in the background, in any thread.
    waits_for_all = parsed.dry or (not parsed.raw and template.OPEN in text)
    asked = Ask("", owner=execution.cell, execution=execution.id, thread=parsed.thread)
    threads = None if waits_for_all else kernel.session.asker.threads_of(asked)
    waits = waits_for_all or not _may_end(kernel, parsed, execution)
    settle(kernel, execution, threads, shown=not parsed.quiet, waits=waits)
    ask = _composed(kernel, parsed, text, execution)
    if parsed.dry:
        preview = kernel.session.preview(ask)
        reply_views.show_html(*request_display.dry_run(preview, kernel.session.credits))
        return None
    reply = send_question(kernel, ask, execution, output=parsed.output)
    return None if given.cell is not None else reply


def settle(
    kernel: Kernel,
    execution: Execution,
    threads: Sequence[str] | None = None,
    *,
    shown: bool = True,
    waits: bool = True,
) -> None:
    """Wait for the questions in the background, and report a failure once.

    Args:
        kernel: the kernel.
        execution: the execution of the cell that waits.
        threads: names of the conversation's threads to wait for; ``None`` for all.
        shown: whether the cell shows that it waits.
        waits: whether to wait for the questions under way; otherwise this cell's question is queued
            after them.

    Raises:
        ChatError: a question in the background failed.
        ChatInterrupted: a person interrupted the waiting.
    """
    view = _view(kernel, Ask("", shown=shown), execution)
    kernel.background.settle(execution.cell, view, threads, waits=waits)


def send_question(
    kernel: Kernel, ask: Ask, execution: Execution, *, output: str | None = None
) -> Reply | None:
    """Send a question, show its reply, and put the reply, whole or in part, into a variable.

    Args:
        kernel: the kernel.
        ask: the question.
        execution: the execution of the cell that asks.
        output: the variable's name; ``None`` for none.

    Returns:
        The reply; ``None`` for a question in the background, as soon as it is sent or queued.

    Raises:
        ChatError: see :meth:`chatmagic.session.session.Session.ask`.
        ChatInterrupted: see :meth:`chatmagic.session.session.Session.ask`.
    """
    view = _view(kernel, ask, execution)
    if ask.background is None or not isinstance(view, reply_views.Live):
        return _ask_and_show(kernel, ask, execution, view, output=output)
    work = partial(_ask_and_show, kernel, ask, execution, view, output=output)
    # The value of an earlier run would be mistaken for the new reply.
    forget = partial(kernel.shell.user_ns.pop, output, None)
    kernel.background.start(ask, view, work, forget, kernel.session.asker.threads_of(ask))
    return None


def _ask_and_show(
    kernel: Kernel,
    ask: Ask,
    execution: Execution,
    view: View,
    *,
    output: str | None,
    halt: Halt | None = None,
) -> Reply | None:
    """Return the reply to a question, which its view shows, and put it into a variable.

    Args:
        kernel: the kernel.
        ask: the question.
        execution: the execution of the cell that asks.
        view: the view of the reply.
        output: the variable's name; ``None`` for none.
        halt: stops the question; ``None`` for the session's own.

    Raises:
        ChatError: the question failed; the variable has the part of the reply that arrived.
        ChatInterrupted: a person interrupted it; so has it then.
    """
    reply: Reply | None = None
    result: object = None
    try:
        _announce(kernel, ask, execution, view)
        reply = kernel.session.run(ask, view, halt).kept
        result = reply.parsed if ask.format == "json" else reply
    except (ChatError, ChatInterrupted) as error:
        reply = error.reply
        result = reply
        if isinstance(error, ChatInterrupted) and reply is not None:
            error.is_shown = ask.shown and reply.state != "complete"
        raise
    finally:
        if output and reply is not None:
            kernel.shell.user_ns[output] = result
    if ask.shown:
        kernel.shown = (execution.id, reply)
    return reply


def _announce(kernel: Kernel, ask: Ask, execution: Execution, view: View) -> None:
    """Report to the pages which cell will show a reply, if they can show it while it arrives."""
    bridge = kernel.page.open_bridge() if execution.is_live else None
    if bridge is None:
        return
    bridge.use_page(page_of(kernel.shell))
    if isinstance(view, reply_views.Live):
        bridge.show_reply(ask.live, execution)


def _composed(kernel: Kernel, parsed: ParsedLine, text: str, execution: Execution) -> Ask:
    """Return the question: the text with its values put in, after the cells and the error."""
    front = values_in_front(AskingCell(kernel, parsed, execution))
    if front.values and not text.strip():
        raise InputError(EMPTY)
    descriptions = Descriptions(kernel.shell)
    sent, values = template.fill(text, None if parsed.raw else descriptions.text, front.values)
    ask = replace(
        Ask.with_options(sent, parsed),
        typed=text if values else None,
        values=values,
        notes=(*front.notes, *descriptions.notes),
        placeholder=_placeholder(kernel, parsed, text),
        allow_secrets=parsed.allow_secrets,
        shown=not parsed.quiet,
        background=execution.name if _may_end(kernel, parsed, execution) else None,
    )
    return asked_by_cell(ask, kernel, execution)


def asked_by_cell(ask: Ask, kernel: Kernel, execution: Execution) -> Ask:
    """Return a question as one of the running cell, with the settings of its kernel.

    Args:
        ask: the question.
        kernel: the kernel.
        execution: the execution of the cell that asks.
    """
    return replace(
        ask,
        owner=execution.cell,
        execution=execution.id,
        entry="cell",
        asker=execution.label,
        keep_values=kernel.settings.keep_values,
        fit=kernel.settings.fit,
    )


def _placeholder(kernel: Kernel, parsed: ParsedLine, text: str) -> str | None:
    """Return the first ``{name}`` or ``$name`` of a variable, which is sent as typed."""
    matches = () if parsed.raw else re.finditer(_NOT_PUT_IN, text)
    known = kernel.shell.user_ns.keys() - kernel.shell.user_ns_hidden.keys()
    named = (match[0] for match in matches if (match["braced"] or match["dollar"]) in known)
    return next(named, None)


def _may_end(kernel: Kernel, parsed: ParsedLine, execution: Execution) -> bool:
    """Return whether the cell may end before its reply."""
    is_in_page = execution.audience == "page" and execution.may_end and not parsed.quiet
    return parsed.background and is_in_page and kernel.updates(execution)


def _view(kernel: Kernel, ask: Ask, execution: Execution) -> View:
    """Return the view of the reply (the manual's table under "How a reply is shown")."""
    if not ask.shown:
        return View()
    if kernel.updates(execution):
        plan = cell_magics.plan_of(cell_source(kernel.shell))
        alone = len(plan.commands) == 1 and not plan.code
        return reply_views.Live(ask, kernel.page.drawing, alone=alone)
    stream = kernel.settings.stream
    if stream != "text" and execution.audience != "text":
        return reply_views.Once()
    # In a kernel each print is a message.
    clock = None if isinstance(sys.stdout, io.TextIOWrapper) else time.monotonic
    return reply_views.Printed(
        in_page=execution.audience == "page",
        piped=execution.piped,
        once=stream == "off",
        clock=clock,
    )


def _stop(kernel: Kernel, given: Arguments) -> None:
    """Stop a reply in the background: ``%chat_stop 3`` stops the reply of cell [3].

    Without a number it stops the only running reply. The text so far is kept, marked.
    """
    print(kernel.background.stop(given.words))


CHAT: Final = Command(
    "chat",
    _ask,
    options.OPTIONS,
    is_prompt=True,
    has_body=True,
    waits=False,
    usage=options.help_text(EXAMPLES),
)
FIX: Final = Command("chat_fix", _fix, options.OPTIONS, is_prompt=True, has_body=True, waits=False)
STOP: Final = Command("chat_stop", _stop, forms=("[CELL]",), waits=False)
