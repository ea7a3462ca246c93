"""What of a question will not be asked again by a notebook that runs from top to bottom."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Context, Turn

_ADDRESS: Final = re.compile(r"\bat 0x[0-9A-Fa-f]{6,}")


def warnings(
    conversation: Conversation, context: Context, below: Sequence[Turn], put_in: str
) -> tuple[str, ...]:
    """Say what another run will not ask as it is asked now; empty where it will.

    Args:
        conversation: as it is before the question.
        context: what the question carries.
        below: the turns that stand below it.
        put_in: text that holds what the question's values put in; empty where none did.
    """
    return tuple(
        f"will not run again as it is: {what}"
        for what in (*_carried(conversation, context), *_below(below), *_addresses(put_in))
    )


def state(conversation: Conversation) -> tuple[str, ...]:
    """Say the same of a whole conversation.

    Args:
        conversation: as it is.
    """
    turns = conversation.turns
    put_in = "\n".join(turn.prompt for turn in turns if turn.values or turn.entry == "python")
    return (*_troubles(conversation, turns), *_addresses(put_in))


def _carried(conversation: Conversation, context: Context) -> list[str]:
    return [f"it carries {trouble}" for trouble in _troubles(conversation, context.turns)]


def _troubles(conversation: Conversation, turns: Sequence[Turn]) -> list[str]:
    """Say which turns will not come again as they are."""
    stale = set(map(id, conversation.stale_turns()))
    kinds = (
        ("stale", (turn for turn in turns if id(turn) in stale)),
        ("interrupted", (turn for turn in turns if turn.state == "interrupted")),
        ("cut-off", (turn for turn in turns if turn.state == "cut off")),
        ("panel", (turn for turn in turns if turn.entry == "panel")),
    )
    said = [f"{_count(found)} {kind} turn{_s(found)}" for kind, of in kinds if (found := [*of])]
    if bare := [turn for turn in turns if turn.missing]:
        said.append(f"{_count(bare)} loaded turn{_s(bare)} without the values put in")
    return said


def _below(below: Sequence[Turn]) -> list[str]:
    """Say that the cells below were asked before this one, which no run does again."""
    if not below:
        return []
    return [f"{_count(below)} turn{_s(below)} below it came first; run those cells again"]


def _addresses(put_in: str) -> Iterable[str]:
    found = _ADDRESS.search(put_in)
    return [] if found is None else [f"“{found[0]}” is an address, another one in each kernel"]


def _count(turns: Sequence[Turn]) -> str:
    return f"{len(turns):,}"


def _s(turns: Sequence[Turn]) -> str:
    return "" if len(turns) == 1 else "s"
