"""Words of a change of the conversation, as undo and redo say it in a cell and in the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.conversation.steering import STEERING
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from chatmagic.conversation.changes import Change
    from chatmagic.conversation.turn import Turn

CHANGES: Final = {
    "ask": "the question",
    "re-run": "the new reply to",
    "retry": "the new reply to",
    "pick": "the pick of a reply to",
    **{kind: f"the {kind}" for kind in STEERING},
    "reset": "the reset",
    "deletion": "the deletion",
    "set aside": "the setting aside",
    "load": "the load",
}
"""The changes of a conversation, as undo and redo name them."""


def undone(change: Change | None) -> str:
    """Return a line on what an undo did."""
    return _line("Took back", change, change.went) if change else "Nothing to take back."


def redone(change: Change | None) -> str:
    """Return a line on what a redo did."""
    return _line("Redid", change, change.came) if change else "Nothing to do again."


def _line(did: str, change: Change, turns: tuple[Turn, ...]) -> str:
    what = f"{did} {CHANGES[change.kind]}"
    if change.kind in {"reset", "deletion", "set aside", "load"}:
        count = len(change.came or change.went)
        others = [f"{kind.removesuffix('s')}s" for kind in change.steered]
        parts = [counted(count, "turn")] if count or not others else []
        return f"{what} ({' and '.join([*parts, *others])})."
    if change.kind in STEERING:
        return f"{what}."
    return f"{what} {', '.join(f'“{one_line(turn.as_typed)}”' for turn in turns[-1:])}."
