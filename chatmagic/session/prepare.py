"""A question before it is sent, and after its reply: as values, computed once.

Nothing here sends, or changes a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol

from chatmagic import _json
from chatmagic._json import with_shared_fields
from chatmagic.conversation import continuation, likely_mistakes, template
from chatmagic.conversation.question import (
    NO_PARAMETERS,
    Part,
    RequestFacts,
    Value,
    parts_of,
)
from chatmagic.conversation.record import Record
from chatmagic.conversation.steering import instructed, instructions_note
from chatmagic.conversation.turn import MAIN, Turn
from chatmagic.conversation.window import Window
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.protocol.request import Request
from chatmagic.render import reply_forms
from chatmagic.safe_text import counted, one_line
from chatmagic.session import forms
from chatmagic.session.ask import Ask
from chatmagic.session.source import SERVICE, AnswerSource


class Setup(Protocol):
    """Settings that a request has before its address is known."""

    @property
    def extra_body(self) -> Mapping[str, Any] | None:
        """The fields of every request beside the interface's own."""

    @property
    def system_role(self) -> bool:
        """Whether instructions are a message of the role ``system``."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question that is ready to be sent.

    Args:
        ask: the question, with the words for its form in front of the prompt.
        window: the turns above that its request carries.
        request: the request, without the fields that only its address takes.
        digest: digest of the request without Markdown cells, which not every run knows.
        notes: lines on the request, if it does not carry exactly the turns above.
        left_out: number of the oldest turns that are left out because the request was too long.
        source: the source of the answer.
    """

    ask: Ask
    window: Window
    request: Request
    digest: str
    notes: tuple[str, ...]
    left_out: int = 0
    source: AnswerSource = SERVICE

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the request with their sizes."""
        sizes = [
            (place, len(turn.prompt) + len(turn.reply.text)) for place, turn in self.window.places
        ]
        return tuple(parts_of(sizes, self.window.instructions, self.ask))

    def shorter(self) -> tuple[Window, int]:
        """Return a window without the oldest turns, and the number of turns that are left out.

        It leaves out one turn at least, so that half of the request's text is left.
        """
        turns = self.window.turns
        size = sum(len(message.content) for message in self.request.messages)
        left = size
        left_out = 0
        while left_out < len(turns) and (not left_out or left > size // 2):
            left -= sum(len(message.content) for message in turns[left_out].messages)
            left_out += 1
        return self.window.without_oldest(left_out), left_out


def prepare(
    ask: Ask,
    window: Window,
    named: Callable[[str], object],
    setup: Setup | None,
    *,
    left_out: int = 0,
) -> Prepared:
    """Return a question that is ready to be sent.

    Args:
        ask: the question; asked again, continued or new.
        window: the turns above that its request carries.
        named: returns the value of a name of the user's namespace.
        setup: the settings of the request; ``None`` for none.
        left_out: as for :class:`Prepared`.

    Raises:
        InputError: the question cannot be sent.
    """
    ask = _with_form(ask, window, named)
    sent, carried = ask.as_sent(window)
    try:
        request = _request(sent, carried.turns, window.instructions, setup)
        digested = request
        if any(map(template.has_markdown, (sent, *carried.turns))):
            bare = template.bare(sent)
            turns = map(template.bare, carried.turns)
            digested = _request(bare, turns, window.instructions, setup)
    except ValueError as error:
        raise InputError(f"{error}. Nothing was sent.") from None
    notes = tuple(_notes(ask, window))
    return Prepared(ask, window, request, digested.digest(), notes, left_out)


def _with_form(ask: Ask, window: Window, named: Callable[[str], object]) -> Ask:
    """Return a question with the words for the form of its reply in front of its prompt."""
    above = replace(window, last=None).turns
    words, name, schema = forms.asked_for(ask, above, window.turns, named)
    # A cell that asks again sends the prompt of its turn, in which the words stand already.
    has_words = ask.again is not None and ask.entry != "panel"
    if words is None or has_words:
        return ask
    return replace(
        ask,
        prompt=template.in_front([words], ask.prompt),
        typed=ask.as_typed,
        values=(words, *ask.values),
        schema=name,
        form=schema,
    )


def _request(
    ask: Ask, carried: Iterable[Turn], instructions: Value | None, setup: Setup | None
) -> Request:
    """Return the request of a question.

    Raises:
        ValueError: a parameter cannot be sent.
    """
    extra_body = NO_PARAMETERS if setup is None else setup.extra_body or NO_PARAMETERS
    messages = chain.from_iterable(turn.messages for turn in carried)
    request = ask.request(messages, extra_body)
    if instructions is None:
        return request
    is_system = setup is not None and setup.system_role
    with_them = instructed(request.messages, instructions, system_role=is_system)
    return replace(request, messages=with_them)


def _notes(ask: Ask, window: Window) -> list[str]:
    """Return notes on a request, if it does not carry exactly the turns above."""
    carried = len(window.turns)
    notes = []
    if ask.again is not None:
        does = "asked again" if ask.part is None else "continued"
        notes.append(f"{does}: {reply_forms.excerpt(ask.as_typed)}")
    if carried < window.total:
        notes.append(f"sent only {carried:,} of {window.total:,} turns")
    if window.hidden_above:
        notes.append(f"sent without {counted(window.hidden_above, 'hidden turn')}")
    if window.thread != MAIN:
        notes.append(f"in the thread {window.thread}")
    if window.instructions is not None:
        notes.append(instructions_note(window.instructions))
    if window.from_panel and ask.entry != "panel":
        notes.append(f"with {counted(window.from_panel, 'turn')} from the panel")
    front = [value for value in ask.values if value.kind is not None]
    if front:
        sizes = (f"{one_line(v.name)} ({counted(v.size, 'character')})" for v in front)
        notes.append(f"in front of the question: {', '.join(sizes)}")
    merged = likely_mistakes.merged_cell_notes(ask.as_typed) if ask.entry == "cell" else []
    return [*notes, *ask.notes, *likely_mistakes.placeholder_notes(ask.placeholder), *merged]


def keep(prepared: Prepared, reply: Reply, earlier: Sequence[Turn]) -> tuple[Turn, Record]:
    """Return the turn that a conversation keeps of a question, and its record.

    Args:
        prepared: the question as it was sent.
        reply: its reply, whole or in part.
        earlier: the earlier replies to the question, oldest first.
    """
    turn = _turn(prepared, prepared.source.completed(reply))
    record = _record_of(prepared, turn, earlier)
    record = record if prepared.ask.keep_values else record.bare
    return replace(turn, record=record), record


def _turn(prepared: Prepared, reply: Reply) -> Turn:
    """Return the turn of a question: the question, the turns it carried, and the reply."""
    window = prepared.window
    turn = Turn(
        prompt=prepared.ask.prompt,
        reply=reply,
        carried=window.carried,
        instructions=window.instructions,
    )
    turn = with_shared_fields(turn, prepared.ask, RequestFacts)
    turn = replace(turn, asked_model=_json.whole_text(prepared.request.extra.get("model")))
    if prepared.left_out:
        # In the conversation it is like a turn that was asked with --last.
        shorter = replace(reply, left_out=prepared.left_out)
        turn = replace(turn, last=len(window.turns), reply=shorter)
    return turn


def _record_of(prepared: Prepared, turn: Turn, earlier: Sequence[Turn]) -> Record:
    """Return the record of a turn."""
    record = turn.to_record(prepared.digest, prepared.window.shown)
    digests = dict.fromkeys(other.recorded_digest for other in earlier)
    record = replace(record, in_place_of=tuple(digests), compared=prepared.ask.compared)
    first = prepared.ask.part
    if first is None:
        return record
    record = _record_of_part(record, first, turn)
    # Later records name the turn with both parts.
    whole = continuation.joined_turn(first, replace(turn, record=record))
    return replace(record, turn=whole.digest)


def _record_of_part(record: Record, first: Turn, turn: Turn) -> Record:
    """Return the record of a second part, with the facts by which it is joined to the first one.

    Args:
        record: its record without these facts.
        first: the turn with the first part.
        turn: the turn with the second part.
    """
    before = first.reply.text
    text = turn.reply.text
    is_afresh = continuation.restart(before, text) == "differs"
    cut = continuation.cut_size(before, text)
    is_joined = before != "" and cut < len(text) and not is_afresh
    return replace(
        record,
        continues=first.recorded_digest,
        cut=cut,
        afresh=is_afresh,
        alike=continuation.begins_alike(before, text),
        seams=(continuation.words_before_seam(before),) if is_joined else (),
        block=None if is_afresh else continuation.block_opening(before, text, turn.format),
    )
