"""Reproducibility: reasons why a rerun from top to bottom sends other requests than recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chatmagic.text import MEMORY_ADDRESS, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Turn
    from chatmagic.conversation.window import Window


def request_warnings(
    conversation: Conversation, window: Window, below: Sequence[Turn], put_in: str
) -> tuple[str, ...]:
    """Return the reasons why a rerun will send another request than this one, a line each.

    Args:
        conversation: the conversation before the request.
        window: the turns that the request carries.
        below: the turns of cells below that were asked before this request.
        put_in: the prompt with the values that were put in; empty without values.
    """
    reasons = [f"it carries {reason}" for reason in _not_repeated(conversation, window.turns)]
    if below:
        reasons.append(f"{counted(len(below), 'turn')} below it came first; run those cells again")
    return tuple(
        f"will not run again as it is: {reason}" for reason in (*reasons, *_addresses(put_in))
    )


def conversation_warnings(conversation: Conversation) -> tuple[str, ...]:
    """Return the parts of a whole conversation that a rerun will not ask again, in words.

    Args:
        conversation: the conversation.
    """
    turns = conversation.turns
    put_in = "\n".join(turn.prompt for turn in turns if turn.values or turn.entry == "python")
    return (*_not_repeated(conversation, turns), *_addresses(put_in))


def _not_repeated(conversation: Conversation, turns: Sequence[Turn]) -> list[str]:
    """Return the turns that a rerun will not ask again, counted by kind."""
    stale = set(map(id, conversation.stale_turns()))
    kinds = {
        "stale turn": [id(turn) in stale for turn in turns],
        "interrupted turn": [turn.state == "interrupted" for turn in turns],
        "cut-off turn": [turn.state == "cut off" for turn in turns],
        "panel turn": [turn.entry == "panel" for turn in turns],
    }
    reasons = [counted(sum(marks), kind) for kind, marks in kinds.items() if any(marks)]
    if bare := sum(bool(turn.missing) for turn in turns):
        reasons.append(f"{counted(bare, 'loaded turn')} without the values put in")
    return reasons


def _addresses(put_in: str) -> list[str]:
    address = re.search(MEMORY_ADDRESS, put_in)
    if address is None:
        return []
    return [f"“{address[0]}” is an address in memory, which differs in each kernel"]
