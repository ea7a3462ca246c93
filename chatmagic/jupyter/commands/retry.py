"""``%chat_retry`` and ``%chat_continue``: another reply to a question, or the rest of a reply."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from chatmagic.archive import output
from chatmagic.conversation import continuation, magic_line, options
from chatmagic.conversation.cell_order import PageReport
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.magic_line import ParsedLine
from chatmagic.conversation.options import Option
from chatmagic.conversation.record import Record
from chatmagic.conversation.staleness import Causes
from chatmagic.conversation.steering import Replacement
from chatmagic.conversation.turn import IN_NOTEBOOK, Turn
from chatmagic.conversation.window import QuestionPlace, own_instructions
from chatmagic.errors import InputError
from chatmagic.jupyter import reply_views, stale_cells, tables
from chatmagic.jupyter.cells.running_cell import Execution, page_of, running
from chatmagic.jupyter.commands.ask import asked_by_cell, send_question, settle
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.page.messages import Message
from chatmagic.models import Reply
from chatmagic.render import gauge, reply_forms
from chatmagic.safe_text import UNTYPESET, counted, one_line
from chatmagic.session.ask import Ask

_HEAD: Final = ("Reply", "Text", "Notes")
# Code that is too wide scrolls in its own box.
_CELL: Final = f'class="{UNTYPESET}" style="contain: inline-size; width: min(40em, 50vw);"'
_COMPARED: Final = ("--temperature", "--model", "--max-tokens")
"""The options whose values are compared."""
_FEW: Final = 2
"""Largest number of requests that are sent without asking the user first."""
_VALUES: Final = "-t 0 -t 0.7 asks with each number; -t $t or -t {t} takes it from the variable t."
QUEUED: Final = "Nothing was run: other cells are running or waiting to run. Run this cell alone."


def _retry(kernel: Kernel, given: Arguments) -> Reply | None:
    """Ask a turn's question again, in its place.

    ``%chat_retry`` takes the last turn above the cell, ``%chat_retry 2`` turn 2; with
    ``--list`` and ``--pick``, too. ``%chat_retry -t 0 -t 1 -m NAME`` asks the model once for each
    temperature, and keeps all replies; ``$name`` is the value of a variable.
    """
    settle(kernel, running(kernel.shell))
    if "--stale" in given.options:
        _retry_stale(kernel)
        return None
    number, turn = _turn_above(kernel, given)
    if "--list" in given.options:
        _list(kernel.session.conversation, number, turn)
        return None
    if "--pick" in given.options:
        return _pick(kernel, turn, given.options["--pick"])
    if any(flag in _COMPARED for flag, _ in given.repeated):
        return _compare(kernel, turn, given)
    return send_question(kernel, *_asked_of(kernel, turn))


def _compare(kernel: Kernel, turn: Turn, given: Arguments) -> Reply | None:
    """Ask a turn's question with each of a line's settings; many only after a yes.

    Raises:
        InputError: a value is wrong, or the answer is no.
    """
    ask, execution = _asked_of(kernel, turn)
    asks = [ask]
    for flag, values in _compared_settings(kernel, given).items():
        asks = [_with_setting(ask, flag, value) for ask in asks for value in values]
    is_sent = not kernel.sends_nothing()
    if len(asks) > _FEW and is_sent and "--yes" not in given.options:
        estimate = stale_cells.cost(kernel.session, len(asks))
        words = f"{len(asks)} requests"
        _agree(f"{words}: {estimate}." if estimate else f"{words}.")
    reply = None
    for ask in asks:
        reply = send_question(kernel, replace(ask, compared=len(asks) > 1), execution)
    return reply


def _compared_settings(kernel: Kernel, given: Arguments) -> dict[str, list[ParsedLine]]:
    """Return the values of a line's settings, each as a line of its own, by their flags."""
    settings: dict[str, list[ParsedLine]] = {}
    for flag, word in given.repeated:
        if flag in _COMPARED:
            line = f"{flag} {word}"
            parsed = magic_line.parse_line(line, names=kernel.shell.user_ns, hint=_VALUES)
            settings.setdefault(flag, []).append(parsed)
    return settings


def _agree(words: str) -> None:
    """Ask the user whether to send several requests.

    Raises:
        InputError: the answer is no, or nobody can answer.
    """
    try:
        answer = input(f"{words}\nAsk? [y/N] ")
    except (EOFError, NotImplementedError, OSError):
        # No input is allowed here, as in a notebook that a program runs.
        raise InputError(
            f"Several requests are sent only after a yes, and nobody can answer here: {words} "
            "Nothing was sent.",
            hint="--yes sends them without a question.",
        ) from None
    if not _is_yes(answer):
        raise InputError("The question was not asked again. Nothing was sent.")


def _is_yes(answer: str) -> bool:
    """Return whether a person's answer is a yes."""
    return answer.strip().lower() in {"y", "yes"}


def _with_setting(ask: Ask, flag: str, parsed: ParsedLine) -> Ask:
    """Return a question with a setting that is compared: temperature, model or limit."""
    if flag == "--temperature":
        return replace(ask, temperature=parsed.temperature)
    if flag == "--max-tokens":
        return replace(ask, max_tokens=parsed.max_tokens)
    return replace(ask, model=parsed.model)


def _continue(kernel: Kernel, given: Arguments) -> Reply | None:
    """Continue a reply that was interrupted, or that ended at its limit of tokens.

    ``%chat_continue`` continues the reply of the last turn above the cell, ``%chat_continue 2``
    that of turn 2; ``-n 2000`` takes this limit in place of the question's. The new text stands
    here, and is joined to the turn's reply in the conversation; ``%chat_undo`` undoes that. A
    complete reply is refused.
    """
    settle(kernel, running(kernel.shell))
    number, turn = _turn_above(kernel, given)
    if not continuation.is_incomplete(turn.reply):
        raise CONTINUE.refusal(
            f"The reply of turn {number:,} is complete: there is nothing to continue.",
            "Ask a new question; or %chat_retry asks this one again.",
        )
    ask, execution = _asked_of(kernel, turn, part=turn)
    if (limit := given.options.get("--max-tokens")) is not None:
        parsed = magic_line.parse_line(f"--max-tokens {limit}", names=kernel.shell.user_ns)
        ask = _with_setting(ask, "--max-tokens", parsed)
    return send_question(kernel, ask, execution)


def _turn_above(kernel: Kernel, given: Arguments) -> tuple[int, Turn]:
    """Return the turn above the running cell that a line names, or the last, with its number."""
    above = kernel.window().above
    number = given.turn_number(len(above), default=len(above))
    return number, above[number - 1]


def _asked_of(kernel: Kernel, turn: Turn, part: Turn | None = None) -> tuple[Ask, Execution]:
    """Return the question that asks a turn's question again, and the running execution.

    Args:
        kernel: the kernel.
        turn: the turn.
        part: the turn with the reply that is continued; ``None`` for a new reply.

    Raises:
        InputError: a value of the question was not kept.
    """
    if turn.missing:
        why = f"The value of {one_line(turn.missing[0].name)} was not kept."
        raise RETRY.refusal(why, "Run the cell that asked it.")
    own = own_instructions(turn)
    if own is not None and own.text is None:
        raise RETRY.refusal(
            "The instructions of this question alone were not kept.", "Ask it anew."
        )
    execution = running(kernel.shell)
    ask = asked_by_cell(Ask.of_turn(turn), kernel, execution)
    return replace(ask, shown=True, again=turn.number, part=part), execution


def _pick(kernel: Kernel, turn: Turn, word: str) -> Reply:
    """Choose a reply, and show it with a record for the notebook."""
    execution = running(kernel.shell)
    replies = kernel.session.conversation.replies[turn.number]
    places = {str(place): reply for place, reply in enumerate(replies, 1)}
    if word not in places:
        raise RETRY.refusal(f"--pick takes the number of a reply, from 1 to {len(replies):,}.")
    picked = places[word]
    owner, execution_id = kernel.cell()
    order = kernel.order(execution.cell)
    item = Replacement(picked, owner=owner, execution=execution_id)
    kernel.session.changes.make(lambda conversation: conversation.add(item, order=order))
    if picked.record is not None:
        record = _record_of_pick(kernel, picked, picked.record, replies)
        reply_views.show(*output.of_turn(picked.reply, record))
    kernel.shown = (execution.id, picked.reply)
    return picked.reply


def _record_of_pick(
    kernel: Kernel, picked: Turn, record: Record, replies: Sequence[Turn]
) -> Record:
    """Return the record of a reply that was chosen, at the place of the running cell.

    Args:
        kernel: the kernel.
        picked: the turn with the reply.
        record: its own record.
        replies: all turns with a reply to its question.
    """
    owner, execution = kernel.cell()
    order = kernel.order(owner)
    at = QuestionPlace(owner, execution, order=order, again=picked.number)
    window = kernel.session.conversation.window(at)
    digests = dict.fromkeys(reply.recorded_digest for reply in replies)
    chosen = replace(
        record if kernel.settings.keep_values else record.bare,
        owner=owner,
        in_place_of=tuple(digests),
        picked=True,
        compared=False,
        continues=None,
    )
    return picked.carried.listed_in(chosen, window.shown)


def _list(conversation: Conversation, number: int, turn: Turn) -> None:
    """Show the replies to a turn's question, and the settings of each."""
    replies = conversation.replies.get(turn.number, ())
    rows: list[tables.Row] = []
    for count, answer in enumerate(replies, 1):
        html = reply_forms.reply_html(answer.reply.text, answer.format)
        shown = (
            f"<div {_CELL}>{html}</div>",
            reply_forms.excerpt(answer.reply.text, answer.format),
        )
        rows.append((str(count), shown, _notes(answer, turn)))
    end = f"Turn {number:,}: {reply_forms.excerpt(turn.as_typed)}"
    # Without cells' numbers, which differ in the next run: tools compare these outputs.
    reply_views.show_html(*tables.tabulated(_HEAD, rows, "Replies", end))


def _notes(answer: Turn, turn: Turn) -> str:
    """Return notes on a reply of a turn: whether it is current, its state and its settings."""
    notes = (
        "current" if answer.number == turn.number else "",
        "" if answer.state == "complete" else answer.state,
        gauge.settings_words(answer.parameters, answer.asked_model),
        gauge.usage_words(answer.reply.usage),
        gauge.time_words(answer.reply.seconds),
    )
    return "; ".join(filter(None, notes))


@dataclass(frozen=True, slots=True)
class _StaleRun:
    """The stale cells that are to run again.

    Args:
        cells: their hashes, in order.
        names: their names, for a person.
        causes: the causes of staleness.
        elsewhere: a sentence on other stale turns; empty for none.
        is_listed: whether a page lists the cells, and so can run them.
    """

    cells: Sequence[str]
    names: str
    causes: Causes
    elsewhere: str
    is_listed: bool

    def with_others(self, words: str) -> str:
        """Return a sentence, and the one on other stale turns if there are any.

        Args:
            words: the sentence.
        """
        return f"{words} {self.elsewhere}" if self.elsewhere else words


def _retry_stale(kernel: Kernel) -> None:
    """Estimate the cost of the stale cells, ask for a yes, and let the page run them.

    Raises:
        InputError: the answer is no.
    """
    execution = running(kernel.shell)
    stale = _stale_run(kernel, execution)
    if not stale.cells:
        _show_sentence(f"{stale.elsewhere or 'No cell is stale.'} Nothing was sent.")
        return
    estimate = f"{stale_cells.in_words(kernel.session, stale.cells, stale.causes)}."
    words = stale.with_others(estimate)
    if not stale.is_listed:
        _show_sentence(f"{words} Run these cells, in this order: {stale.names}. Nothing was sent.")
        return
    answer = input(f"{words}\nRun their cells again? [y/N] ")
    if not _is_yes(answer):
        raise InputError("The stale cells were not run. Nothing was sent.")
    _run_in_page(kernel, execution, stale)


def _stale_run(kernel: Kernel, execution: Execution) -> _StaleRun:
    """Return the stale cells that the page of the running cell is to run again."""
    conversation = kernel.session.conversation
    layout = kernel.layout(execution.cell)
    causes = conversation.causes(layout)
    bridge = kernel.page.bridge if execution.is_live else None
    listed: Sequence[str] = ()
    if bridge is not None:
        listed = bridge.listed_with(execution.cell, page_of(kernel.shell))
    order = () if layout is None else layout.order
    cells = _stale_cells(conversation, causes, listed or order, execution.cell)
    names = dict.fromkeys(_name(conversation, cell) for cell in cells)
    return _StaleRun(
        cells,
        names=", ".join(names),
        causes=causes,
        elsewhere=_elsewhere(conversation, causes, cells),
        is_listed=bool(listed),
    )


def _show_sentence(words: str) -> None:
    """Show a sentence in the output of the running cell."""
    reply_views.show_html(*reply_views.sentence(words))


def _run_in_page(kernel: Kernel, execution: Execution, stale: _StaleRun) -> None:
    """Have the page run cells again, and show the outcome when the page reports it."""
    bridge = kernel.page.bridge
    if bridge is None:
        return
    place = reply_views.OutputPlace()
    words = f"{counted(len(stale.cells), 'cell')} for this page to run again."
    place.note(*reply_views.sentence(words))
    bridge.ask_page(
        execution.cell,
        partial(_run_message, stale.cells),
        partial(_show_outcome, place, stale),
        page_of(kernel.shell),
    )


def _run_message(cells: Sequence[str], report: PageReport) -> Message:
    """Return the message that has a page run cells."""
    return {"kind": "run", "cells": [report.cells[cell].id for cell in cells]}


def _show_outcome(place: reply_views.OutputPlace, stale: _StaleRun, answer: Message) -> str:
    """Show the outcome in a page's answer, and return it in words."""
    words = stale.with_others(_outcome(answer, stale.names))
    place.note(*reply_views.sentence(words))
    return words


def _stale_cells(
    conversation: Conversation,
    causes: Causes,
    order: Sequence[str],
    running_cell: str | None,
) -> list[str]:
    """Return the stale cells that can be run again, in their order.

    Args:
        conversation: the conversation.
        causes: the causes of staleness.
        order: the cells of the page, in order; empty if no page lists them.
        running_cell: hash of the running cell.
    """
    stale = causes.by_cell(following=True)
    passed = {turn.owner for turn in conversation.known_turns.values() if turn.entry == "panel"}
    passed.add(running_cell)
    # A cell that retried a question above it runs at its own place.
    return [cell for cell in order or stale if cell in stale and cell not in passed]


def _name(conversation: Conversation, cell: str) -> str:
    """Return a stale cell's name for people; its question if it has not run in this kernel."""
    label = conversation.label(cell)
    if label != IN_NOTEBOOK:
        return label
    turn = next(
        item
        for owner, items in conversation.slots
        for item in items
        if isinstance(item, Turn) and cell in {owner, item.owner}
    )
    return f"the cell of “{reply_forms.excerpt(turn.as_typed)}”"


def _elsewhere(conversation: Conversation, causes: Causes, cells: Collection[str]) -> str:
    """Return a sentence on the stale turns that the cells do not ask again; empty for none.

    Args:
        conversation: the conversation.
        causes: the causes of staleness.
        cells: hashes of the cells that run again.
    """
    turns = [
        turn for turn in conversation if turn.owner not in cells and causes.cause_of(turn.number)
    ]
    if not turns:
        return ""
    places = dict.fromkeys(
        conversation.label(turn.owner) if turn.owner and turn.entry == "cell" else turn.asker
        for turn in turns
    )
    count = counted(len(turns), "turn")
    are = "is" if len(turns) == 1 else "are"
    stale = f"{count} asked elsewhere {are} stale, too" if cells else f"{count} {are} stale"
    return f"{stale}: ask again in {', '.join(places)}."


def _outcome(answer: Message, names: str) -> str:
    """Return the outcome for the cells, in words."""
    if answer["outcome"] == "queued":
        return QUEUED
    if answer["outcome"] == "started":
        return f"Running {counted(answer['count'], 'cell')} again, from top to bottom."
    return f"This page cannot run cells. Run these, in this order: {names}."


RETRY: Final = Command(
    "chat_retry",
    _retry,
    (
        Option(
            "-t, --temperature NUMBER",
            "ask with this sampling temperature; may be repeated",
            options.BY_FLAG["-t"].kind,
        ),
        Option("-m, --model MODEL", "ask this model; may be repeated", options.BY_FLAG["-m"].kind),
        Option(
            "-n, --max-tokens N",
            "ask with this upper limit on tokens; may be repeated",
            options.BY_FLAG["-n"].kind,
        ),
        Option("--yes", "send more than two requests without a question"),
        Option("--list", "list its replies, with the settings of each"),
        Option("--pick K", "choose reply K of those since its own cell ran"),
        Option("--stale", "run the stale cells again, after a yes"),
    ),
    forms=(
        "[--temperature] [--model] [--max-tokens] [--yes] [TURN]",
        "--list [TURN]",
        "--pick [TURN]",
        "--stale",
    ),
    waits=False,
)
CONTINUE: Final = Command(
    "chat_continue",
    _continue,
    (
        Option(
            "-n, --max-tokens N",
            "continue with this upper limit on tokens",
            options.BY_FLAG["-n"].kind,
        ),
    ),
    forms=("[--max-tokens] [TURN]",),
    waits=False,
)
