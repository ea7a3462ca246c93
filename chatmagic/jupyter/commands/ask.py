"""``%%chat``, ``%chat`` and ``%chat_fix``: questions made of a line and a body, and sent."""

from __future__ import annotations

import io
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from chatmagic.client.halt import Halt
from chatmagic.conversation import cell_magics, likely_mistakes, magic_line, options, template
from chatmagic.conversation.magic_line import ParsedLine
from chatmagic.conversation.question import Value, correction
from chatmagic.conversation.window import QuestionPlace
from chatmagic.errors import ChatError, ChatInterrupted, InputError
from chatmagic.jupyter import reply_views, request_display
from chatmagic.jupyter.cells.cells_above import with_markdown
from chatmagic.jupyter.cells.executed_cells import CellRun
from chatmagic.jupyter.cells.running_cell import (
    Execution,
    cell_source,
    is_redirected,
    page_of,
    running,
)
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.status import Status
from chatmagic.jupyter.values import Descriptions
from chatmagic.models import Reply
from chatmagic.other_tools import PROMPTS
from chatmagic.safe_text import counted, one_line
from chatmagic.session.events import EMPTY, Ask, View

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
ABOVE_LIMIT: Final = 50_000
"""Default of the setting ``above_limit``, in characters."""
_NO_MARKDOWN: Final = "the Markdown cells above are not sent, as the notebook's file is not known"
_NAME_IT: Final = (
    "JPY_SESSION_NAME=FILE names the notebook (of papermill, the one that it writes); "
    "--no-markdown sends none anywhere."
)
_SINCE: Final = "since chatmagic was loaded. Nothing was sent."


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
    names = kernel.shell.magics_manager.magics["line"]
    command = likely_mistakes.mistaken_command(text, [name for name in names if "chat_" in name])
    if command is not None:
        raise InputError(
            f"Did you mean %{command}? Nothing was sent.",
            hint="To ask just that, put it into a sentence.",
        )
    word = text.strip().casefold()
    if word in PROMPTS:
        raise InputError(
            f"{word} alone is a command of other tools, and would be sent as the prompt. "
            "Nothing was sent.",
            hint=f"{PROMPTS[word]} To ask just that, put it into a sentence.",
        )
    model = likely_mistakes.named_model(parsed.prompt, kernel.settings.listed_models)
    if model is not None:
        raise InputError(
            f"{model} is the name of a model, and would be sent as the prompt. Nothing was sent.",
            hint=f"-m {model} asks this model. To ask just that, put it into a sentence.",
        )
    return _asked(kernel, given, parsed, text)


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
        bridge = kernel.page.open_bridge() if execution.is_live else None
        if bridge is not None:
            bridge.use_page(page_of(kernel.shell))
            if isinstance(view, reply_views.Live):
                bridge.show_reply(ask.live, execution)
        reply = kernel.session.run(ask, view, halt).kept
        result = reply.parsed if ask.format == "json" else reply
    except (ChatError, ChatInterrupted) as error:
        result = reply = error.reply
        if isinstance(error, ChatInterrupted) and reply is not None:
            error.is_shown = ask.shown and reply.state != "complete"
        raise
    finally:
        if output and reply is not None:
            kernel.shell.user_ns[output] = result
    if ask.shown:
        kernel.shown = (execution.id, reply)
    return reply


def _composed(kernel: Kernel, parsed: ParsedLine, text: str, execution: Execution) -> Ask:
    """Return the question: the text with its values put in, after the cells and the error."""
    front, notes = _in_front(kernel, parsed, execution)
    if front and not text.strip():
        raise InputError(EMPTY)
    descriptions = Descriptions(kernel.shell)
    sent, values = template.fill(text, None if parsed.raw else descriptions.text, front)
    ask = replace(
        Ask.with_options(sent, parsed),
        typed=text if values else None,
        values=values,
        notes=(*notes, *descriptions.notes),
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
    return parsed.background and is_in_page and _is_updated(kernel, execution)


def _view(kernel: Kernel, ask: Ask, execution: Execution) -> View:
    """Return the view of the reply (the manual's table under "How a reply is shown")."""
    if not ask.shown:
        return View()
    stream = kernel.settings.stream
    is_in_text = execution.audience == "text"
    if _is_updated(kernel, execution):
        plan = cell_magics.plan_of(cell_source(kernel.shell))
        alone = len(plan.commands) == 1 and not plan.code
        return reply_views.Live(ask, kernel.page.drawing, alone=alone)
    if stream == "text" or is_in_text:
        once = stream == "off"
        in_page = execution.audience == "page"
        # In a kernel each print is a message.
        clock = None if isinstance(sys.stdout, io.TextIOWrapper) else time.monotonic
        return reply_views.Printed(in_page=in_page, piped=execution.piped, once=once, clock=clock)
    return reply_views.Once()


def _is_updated(kernel: Kernel, execution: Execution) -> bool:
    """Return whether a reply is shown by updates of a display while it arrives."""
    stream = kernel.settings.stream
    is_live = stream == "updates" or (stream == "auto" and execution.is_live)
    return is_live and not is_redirected(kernel.shell, execution)


def _in_front(
    kernel: Kernel, parsed: ParsedLine, execution: Execution
) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    """Return the values in front of a question, and lines on the parts that were left out.

    Args:
        kernel: the kernel.
        parsed: the options of the cell that asks.
        execution: the execution of that cell.

    Raises:
        InputError: there is no such cell or error; nothing was sent.
    """
    error = _last_error(kernel) if parsed.with_error else ()
    if not parsed.above and parsed.tag is None:
        return error, ()
    above, below = _around(kernel, execution.cell)
    notes: tuple[str, ...] = ()
    nearest: list[CellRun] = []
    if parsed.above:
        above, notes = _with_markdown(kernel, parsed, execution, above)
        nearest, left_out = _nearest(kernel, parsed, execution, above)
        notes += left_out
    names = _places_above(nearest)
    if parsed.tag is not None:
        names |= _tagged(above, below, parsed.tag)
    # The cells above go along in their shortened form.
    runs = {run.key: run for run in (*above, *below, *nearest) if run.key in names}
    cells = (_value_of(run, names[key]) for key, run in runs.items())
    return (*cells, *error), notes


def _last_error(kernel: Kernel) -> tuple[Value, ...]:
    """Return the last error of a cell, as the only value in front of a question."""
    notes = kernel.settings.notes
    if notes is None or notes.error is None:
        raise InputError(f"No cell has raised an error {_SINCE}")
    return (notes.error,)


def _with_markdown(
    kernel: Kernel, parsed: ParsedLine, execution: Execution, above: list[CellRun]
) -> tuple[list[CellRun], tuple[str, ...]]:
    """Return the cells above with the Markdown cells, and a line if these are not known."""
    if not parsed.markdown or execution.audience == "text":
        return above, ()
    listed = with_markdown(kernel.shell, kernel.settings.notes, above)
    if listed is not None:
        return listed, ()
    if execution.audience == "machine" and not (parsed.dry or kernel.sends_nothing()):
        # The output of a machine's reply has no notes.
        kernel.notify(f"Note: {_NO_MARKDOWN}. {_NAME_IT}")
    return above, (_NO_MARKDOWN,)


def _places_above(nearest: Sequence[CellRun]) -> dict[str, str]:
    """Return the names of cells by their keys, such as ``2 above``, counted from the nearest."""
    names: dict[str, str] = {}
    count = Counter[bool]()
    for run in reversed(nearest):
        count[run.is_markdown] += 1
        names[run.key] = f"{count[run.is_markdown]} above"
    return names


def _value_of(run: CellRun, name: str) -> Value:
    """Return a cell as a value in front of a question."""
    kind: Literal["markdown", "cell"] = "markdown" if run.is_markdown else "cell"
    return Value.of_text(name, run.text, kind, run.key if run.is_lasting else None)


def _around(kernel: Kernel, owner: str | None) -> tuple[list[CellRun], list[CellRun]]:
    """Return the cells above the asking cell, and those below it, in order.

    The order is that of the page if it is known. Otherwise it is that of the cells' first runs, so
    that a notebook that runs again finds the same cells above a question.
    """
    notes = kernel.settings.notes
    runs = {} if notes is None else notes.runs
    layout = kernel.layout(owner)
    order = list(runs)
    if layout is not None and owner in layout.order:
        order = [key for key in layout.order if key in runs or key == owner]
        # A cell that no page lists has run elsewhere, such as in a console.
        order += [key for key in runs if key not in layout.present and key not in order]
    place = order.index(owner) if owner in order else len(order)
    return [runs[key] for key in order[:place]], [runs[key] for key in order[place + 1 :]]


def _nearest(
    kernel: Kernel, parsed: ParsedLine, execution: Execution, above: list[CellRun]
) -> tuple[list[CellRun], tuple[str, ...]]:
    """Return the cells above to be sent along, and a line on the parts that were left out."""
    if parsed.above == "new":
        above = _since_last_question(kernel, parsed, execution, above)
    nearest = [run for run in above if not run.is_ours]
    if isinstance(parsed.above, int):
        ran = [at for at, run in enumerate(nearest) if not run.is_markdown]
        if not ran:
            raise InputError(
                f"No cell above this one has run {_SINCE}", hint="%%chat cells are not counted."
            )
        return nearest[ran[-parsed.above :][0] :], ()
    limit = kernel.settings.above_limit
    return _within(nearest, ABOVE_LIMIT if limit is None else limit)


def _since_last_question(
    kernel: Kernel, parsed: ParsedLine, execution: Execution, above: list[CellRun]
) -> list[CellRun]:
    """Return the cells above that no question above has carried."""
    conversation = kernel.session.conversation
    order = kernel.order(execution.cell)
    at = QuestionPlace(execution.cell, execution.id, order=order, thread=parsed.thread)
    turns = conversation.above(at)
    # A question that was asked again carried the cells above its first place alone.
    asked = [conversation.known_turns.get(turn.first, turn) for turn in turns]
    # A question of this same execution has already carried the cells above.
    if execution.id in {turn.execution for turn in asked}:
        return []
    keys = {turn.owner or turn.execution for turn in asked}
    places = (number for number, run in enumerate(above, 1) if {run.key, run.execution} & keys)
    return above[max(places, default=0) :]


def _within(runs: list[CellRun], limit: int) -> tuple[list[CellRun], tuple[str, ...]]:
    """Return cells without the oldest outputs, if they are too long, and a line on these.

    Args:
        runs: the cells, oldest first; if their sources are too long, the oldest are left out.
        limit: largest number of characters of their texts.
    """
    kept = list(runs)
    outputs = 0
    for at, run in enumerate(runs):
        if sum(len(run.text) for run in kept) <= limit:
            break
        if run.output:
            kept[at] = run.without_output
            outputs += 1
    while sum(len(run.text) for run in kept) > limit:
        kept.pop(0)
    parts = ((outputs, "output"), (len(runs) - len(kept), "whole cell"))
    left_out = " and ".join(counted(count, noun) for count, noun in parts if count)
    note = f"left out of the cells above: {left_out} (above_limit is {limit:,})"
    return kept, (note,) if left_out else ()


def _tagged(above: list[CellRun], below: list[CellRun], name: str) -> dict[str, str]:
    """Return a label or tag by the keys of its cells: the cells above, or else the cells below."""
    for runs in (above, below):
        if named := {run.key: name for run in runs if not run.is_ours and name in run.names}:
            return named
    raise InputError(
        f"No cell with the label or tag {one_line(name)} has run {_SINCE}",
        hint=f"Run the cell first; `#| label: {one_line(name)}` in its source names it.",
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
