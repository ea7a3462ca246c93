"""Words on changes of the conversation that were taken back or done again."""

from __future__ import annotations

from typing import Final

from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import STEERING
from chatmagic.conversation.turn import Turn
from chatmagic.render import reply_forms
from chatmagic.safe_text import counted

CHANGES: Final = {
    "ask": "the question",
    "re-run": "the new reply to",
    "retry": "the new reply to",
    "pick": "the choice of a reply to",
    **{kind: f"the {kind}" for kind in STEERING},
    "reset": "the reset",
    "deletion": "the deletion",
    "removal": "the removal of deleted cells",
    "load": "the load",
}
"""The changes of a conversation, as undo and redo name them."""


def undone(change: Change | None) -> str:
    """Return a line on the change that was undone.

    Args:
        change: the change; ``None`` for none.
    """
    return _changed("Undone", change, change.went) if change else "Nothing to undo."


def redone(change: Change | None) -> str:
    """Return a line on the change that a redo did again.

    Args:
        change: the change; ``None`` for none.
    """
    return _changed("Redone", change, change.came) if change else "Nothing to redo."


def _changed(did: str, change: Change, turns: tuple[Turn, ...]) -> str:
    """Return a line on a change.

    Args:
        did: what was done with it: ``Undone`` or ``Redone``.
        change: the change.
        turns: the turns that went or came by it.
    """
    words = f"{did}: {CHANGES[change.kind]}"
    if change.kind in {"reset", "deletion", "removal", "load"}:
        count = len(change.came or change.went)
        others = [_plural(kind) for kind in change.steered]
        parts = [counted(count, "turn")] if count or not others else []
        return f"{words} ({' and '.join([*parts, *others])})."
    if change.kind in STEERING:
        return f"{words}."
    if not turns:
        return f"{words}."
    return f"{words} “{reply_forms.excerpt(turns[-1].as_typed)}”."


def _plural(kind: str) -> str:
    """Return the plural of a kind of steering; ``instructions`` is one."""
    return kind if kind.endswith("s") else f"{kind}s"
