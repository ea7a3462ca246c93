"""Conversations to test with: cells named by letters, which ask as a session does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from chatmagic._json import digest
from chatmagic.conversation import continuation
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Entry, Value
from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import Replacement
from chatmagic.conversation.turn import Carried, Turn
from chatmagic.conversation.window import QuestionPlace
from chatmagic.models import Reply


def ask(
    talk: Conversation,
    prompt: str,
    owner: str | None = None,
    execution: str | None = None,
    *,
    last: int | None = None,
    order: Sequence[str] | None = None,
    entry: Entry = "cell",
    thread: str | None = None,
    hide: bool = False,
    says: str | None = None,
) -> Turn:
    """Ask as a session does: look, send, store; the turn as it was stored."""
    at = QuestionPlace(owner, execution, order=order, thread=thread)
    context = talk.window(at, last=last)
    turn = Turn(
        prompt=prompt,
        reply=Reply(says or digest([[m.content for m in context.messages], prompt])[:8]),
        owner=owner,
        execution=execution,
        carried=context.carried,
        instructions=context.instructions and context.instructions.bare,
        last=last,
        entry=entry,
        thread=thread,
        hide=hide,
    )
    return talk.add(turn, order=order).came[-1]


def again(
    talk: Conversation,
    owner: str | None = None,
    execution: str | None = None,
    *,
    number: int | None = None,
    order: Sequence[str] | None = None,
    says: str | None = None,
) -> Turn:
    """Ask the question of a turn again, by default of the last one above; its reply has a mark."""
    at = QuestionPlace(owner, execution, order=order)
    old = talk.window(at).turns[-1] if number is None else talk.known_turns[number]
    context = talk.window(replace(at, again=old.number), last=old.last)
    turn = replace(
        old,
        reply=Reply(says or f"{old.reply.text}'"),
        owner=owner,
        execution=execution,
        carried=context.carried,
        instructions=context.instructions and context.instructions.bare,
        again=old.number,
    )
    talk.add(turn, order=order)
    return talk.known_turns[talk.added]


def pick(
    talk: Conversation,
    number: int,
    owner: str | None = None,
    execution: str | None = None,
    *,
    order: Sequence[str] | None = None,
) -> Change:
    """Put a reply back."""
    item = Replacement(talk.known_turns[number], owner=owner, execution=execution)
    return talk.add(item, order=order)


def go_on(
    talk: Conversation,
    owner: str | None = None,
    execution: str | None = None,
    *,
    number: int | None = None,
    order: Sequence[str] | None = None,
) -> Turn:
    """Continue the reply of a turn, by default of the last one above; a mark comes."""
    at = QuestionPlace(owner, execution, order=order)
    old = talk.window(at).turns[-1] if number is None else talk.known_turns[number]
    window = talk.window(replace(at, again=old.number), last=old.last)
    part = replace(old, reply=Reply("+"), owner=owner, execution=execution, carried=window.carried)
    record = replace(part.to_record(digest("request")), continues=old.recorded_digest)
    turn = continuation.joined_turn(old, replace(part, record=record, again=old.number))
    talk.add(turn, order=order)
    return talk.known_turns[talk.added]


def carrying(*numbers: int) -> Carried:
    """Give turns that a request carried, by their numbers."""
    return Carried.from_turns((number, "") for number in numbers)


def instructions_of(talk: Conversation) -> list[Value | None]:
    """Give the instructions that hold for each live turn, and at last below them all."""
    return [*(window.instructions for _, window in talk.windows), talk.window().instructions]


def prompts(turns: Sequence[Turn] | Conversation) -> list[str]:
    """Give the turns' prompts."""
    return [turn.prompt for turn in turns]


def carries(
    talk: Conversation,
    owner: str | None = None,
    *,
    last: int | None = None,
    order: Sequence[str] | None = None,
    thread: str | None = None,
) -> list[str]:
    """Give the prompts of the turns that a request would carry."""
    at = QuestionPlace(owner, "next", order=order, thread=thread)
    return prompts(talk.window(at, last=last).turns)


def abc(after: int = 0) -> Conversation:
    """Give a conversation of three cells, each run once."""
    talk = Conversation(after)
    for name in "abc":
        ask(talk, name, name, "1" + name)
    return talk


def layout(order: str, *, gone: str = "", **named: str) -> Layout:
    """Give a layout of cells with names of one letter."""
    return Layout(tuple(order), set(order), frozenset(gone), named)


def saved(talk: Conversation) -> Conversation:
    """Give a conversation as a file has it: what is live, without the changes and other replies."""
    return Conversation.from_items(item for _, items in talk.slots for item in items)


def set_aside(talk: Conversation, owners: Iterable[str]) -> Change | None:
    """Take cells off the page."""
    return talk.follow(Layout((), gone=frozenset(owners)))
