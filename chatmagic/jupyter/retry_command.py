"""``%chat_retry``: ask a turn's question again, list its replies, put one of them back."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Final

from chatmagic._json import shared
from chatmagic.archive import output
from chatmagic.conversation.history import IN_NOTEBOOK
from chatmagic.conversation.request_facts import RequestFacts
from chatmagic.conversation.slots import Replies
from chatmagic.conversation.suggestions import refuse_dividing
from chatmagic.errors import InputError
from chatmagic.jupyter import transcript, views
from chatmagic.jupyter.ask_command import interruptible, send, settle
from chatmagic.jupyter.command_line import read
from chatmagic.jupyter.execution import cell_source, running
from chatmagic.jupyter.retry_stale import retry_stale
from chatmagic.jupyter.thread_command import place
from chatmagic.render import gauge
from chatmagic.session.events import Ask
from chatmagic.text import one_line

if TYPE_CHECKING:
    from chatmagic.conversation.changes import Change
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.execution import Execution
    from chatmagic.jupyter.kernel import Kernel
    from chatmagic.models import Reply

_EARLIER: Final = "Below 0: from before its own cell asked last; this kernel alone has them."
_NONE: Final = "There is no turn above this cell."
_UNCHANGED: Final = "Nothing was sent or changed."
_HINT: Final = "%chat_retry; %chat_retry 2; %chat_retry --list 2; %chat_retry --pick 1 2; --stale."


def retry(kernel: Kernel, line: str) -> Reply | None:
    """Run ``%chat_retry``.

    Returns:
        The new reply, or the one that was put back; ``None`` for a list.

    Raises:
        ChatError: there is no such turn or reply, or as :func:`chatmagic.jupyter.ask_command.ask`.
        ChatInterrupted: an interrupt, wherever it came.
    """
    return interruptible(kernel, lambda: _run(kernel, line))


def _run(kernel: Kernel, line: str) -> Reply | None:
    words, options = read("chat_retry", line, "--list", "--stale", valued=("--pick",), hint=_HINT)
    if len(options) > 1 or ("--stale" in options and words):
        raise InputError(
            f"%chat_retry lists replies, picks one, or has stale cells run. {_UNCHANGED}",
            hint=_HINT,
        )
    settle(kernel, running(kernel.shell))
    if "--stale" in options:
        retry_stale(kernel)
        return None
    if "--list" in options and not words and not place(kernel).line:
        views.show_html(f"<p>{_NONE}</p>", _NONE)
        return None
    number, turn = turn_above(kernel, words, "chat_retry", _HINT)
    if "--list" in options:
        _list(kernel.session.conversation, number, turn)
        return None
    refuse_dividing(cell_source(kernel.shell))
    return (
        _pick(kernel, turn, options["--pick"]) if options else send(kernel, *asked_of(kernel, turn))
    )


def turn_above(kernel: Kernel, words: str, magic: str, hint: str) -> tuple[int, Turn]:
    """Return a turn above the running cell with its number for people; the last one by default.

    Args:
        kernel: the kernel.
        words: the number as typed; empty for the last turn.
        magic: the magic's name.
        hint: how its line is written.

    Raises:
        InputError: there is none.
    """
    turns = dict(enumerate(place(kernel).line, 1))
    number = max(turns, default=0) if not words else int(words) if words.isdecimal() else 0
    if number not in turns:
        there = f"from 1 to {len(turns):,}" if turns else "above its cell, and there is none"
        raise InputError(f"%{magic} takes a turn's number {there}. {_UNCHANGED}", hint=hint)
    return number, turns[number]


def asked_of(kernel: Kernel, turn: Turn, part: Turn | None = None) -> tuple[Ask, Execution]:
    """Return what asks a turn's question again, with what stands above the turn.

    Args:
        kernel: the kernel.
        turn: the turn.
        part: the same with the reply that is continued; ``None`` asks anew.

    Raises:
        InputError: a value of the question was not kept.
    """
    if turn.missing:
        raise InputError(
            f"The value of {one_line(turn.missing[0].name)} was not kept. {_UNCHANGED}",
            hint="Run the cell that asked it.",
        )
    execution = running(kernel.shell)
    facts = {
        **shared(turn, RequestFacts),
        "owner": execution.cell,
        "execution": execution.id,
        "entry": "cell",
        "asker": execution.label,
        "shown": True,
    }
    settings = kernel.settings
    facts |= {"keep_values": settings.keep_values, "fit": settings.fit}
    return Ask(**facts, again=turn.number, part=part), execution


def _pick(kernel: Kernel, turn: Turn, word: str) -> Reply:
    """Put a reply back, and show it with a record for the notebook."""
    execution = running(kernel.shell)
    picked = turn
    replies = Replies()

    def put_back(conversation: Conversation) -> Change:
        nonlocal picked, replies
        replies = conversation.replies(turn.number)
        places = {str(place): each for place, each in replies.by_place.items()}
        if word not in places:
            earlier = f" or from -{len(replies.earlier):,} to -1" if replies.earlier else ""
            count = f"from 1 to {len(replies.latest):,}{earlier}"
            raise InputError(
                f"--pick takes the number of a reply, {count}. {_UNCHANGED}",
                hint="%chat_retry --list shows them; %chat_retry asks for another one.",
            )
        picked = places[word]
        layout = kernel.layout(execution.cell)
        order = None if layout is None else layout.order
        return conversation.replace_reply(picked, turn.number, asker=execution.cell, order=order)

    kernel.session.change(put_back)
    digests = dict.fromkeys(each.recorded_digest for each in replies.latest)
    if picked.record is not None:
        above = kernel.session.conversation.context_of(picked.number)
        record = picked.record if kernel.settings.keep_values else picked.record.bare
        record = replace(record, owner=execution.cell, in_place_of=tuple(digests), picked=True)
        record = replace(record, continues=None)
        views.show(*output.of(picked.reply, record.listing(above.shown)))
    kernel.shown = (execution.id, picked.reply)
    return picked.reply


def _list(conversation: Conversation, number: int, turn: Turn) -> None:
    """Show the replies to a turn's question, and the settings of each."""
    replies = conversation.replies(turn.number)
    rows = [
        (str(count), one_line(each.reply.text), "; ".join(_notes(each, turn)))
        for count, each in replies.by_place.items()
    ]
    ends = [f"Turn {number:,}: {one_line(turn.as_typed)}"]
    if replies.earlier:
        ends.append(_EARLIER)
    html = "".join(f"<p>{escape(end)}</p>" for end in ends)
    html = transcript.group(f"{transcript.grid(_HEAD, rows, 'Replies')}{html}")
    text = [f"{count}. {said}" + (f" ({notes})" if notes else "") for count, said, notes in rows]
    views.show_html(html, "\n".join([*text, *ends]))


_HEAD: Final = ("Reply", "Text", "Notes")


def _notes(each: Turn, turn: Turn) -> list[str]:
    """Return what is particular about a reply of a turn."""
    state = [] if each.state == "complete" else [each.state]
    settings = gauge.settings_words(each.parameters, each.asked_model)
    force = ["in force"] if each.number == turn.number else []
    asker = one_line(each.asker or IN_NOTEBOOK)
    return [*force, f"asked by {asker}", *state, *filter(None, [settings])]
