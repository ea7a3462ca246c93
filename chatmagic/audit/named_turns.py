"""Commands that name a turn above their cell: ``%chat_retry``, ``%chat_continue``, ``%chat_hide``.

The record of their output says which turn that was, and with which settings it was asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chatmagic.archive.notebook import Notebook, SavedOutput
from chatmagic.audit.cell_settings import Finding
from chatmagic.audit.turn_order import PlacedTurn
from chatmagic.conversation.cell_magics import MagicCall
from chatmagic.conversation.question import unquoted
from chatmagic.conversation.record import Record
from chatmagic.conversation.steering import Hiding

_SETTING: Final = re.compile(r"(?<!\S)(?:-t|--temperature|-m|--model)(?:=|[ \t]+)(\S+)")
_FLAGS: Final[Mapping[str, str]] = {"temperature": "-t|--temperature", "model": "-m|--model"}
_VARIABLE: Final = re.compile(r"[${]")


def named_turn_findings(
    notebook: Notebook,
    placed: Mapping[SavedOutput, PlacedTurn],
    commands: Mapping[SavedOutput, MagicCall],
    unseen: float,
) -> Iterator[Finding]:
    """Yield the differences between these commands and the turns above them.

    Args:
        notebook: the notebook.
        placed: the turns with their places, by their outputs.
        commands: the magics that left the outputs.
        unseen: number of the first cell that may have asked without a record.
    """
    earlier: dict[str, Record] = {}
    """The records above, by the digests of their turns."""
    lost = min(notebook.unreadable, default=unseen)
    for saved in notebook.outputs:
        # Below such a cell, a turn may have been asked that no output shows.
        is_all_known = saved.cell < min(unseen, lost) and not saved.fault
        record = saved.record
        if record is None:
            if is_all_known and _hides_no_turn(saved, earlier):
                words = "the turn that it names stands nowhere above it: removed, or asked again"
                yield Finding((saved.cell,), words, is_fault=False)
            continue
        if record.in_place_of and not saved.fault:
            replaced = [earlier[name] for name in record.in_place_of if name in earlier]
            is_asked = any(other.prompt == record.prompt for other in earlier.values())
            if replaced:
                yield from _difference(
                    saved, record, replaced, placed.get(saved), commands.get(saved)
                )
            elif is_all_known and not is_asked:
                words = "the question that it asks again stands nowhere above it: removed or edited"
                yield Finding((saved.cell,), words, is_fault=True)
        earlier[record.turn or ""] = record


def _hides_no_turn(saved: SavedOutput, earlier: Mapping[str, Record]) -> bool:
    """Return whether an output hides a turn that stands nowhere above it."""
    return isinstance(saved.steering, Hiding) and saved.steering.digest not in earlier


def _difference(
    saved: SavedOutput,
    record: Record,
    earlier: Sequence[Record],
    placed: PlacedTurn | None,
    command: MagicCall | None,
) -> Iterator[Finding]:
    """Yield the difference between a command's line and the turn that it asked again.

    Args:
        saved: the output.
        record: its record.
        earlier: the records of the earlier replies to its question.
        placed: its turn with its place; ``None`` if it is not in the conversation.
        command: the magic that left it; ``None`` if that is unknown.
    """
    if command is None or command.asks or record.picked:
        return
    if not all(_has_setting(name, command.line, record, earlier) for name in _FLAGS):
        words = "its options were edited after it was asked"
        yield Finding((saved.cell,), words, is_fault=True)
    number = _SETTING.sub("", command.line).strip()
    if placed is None or not number.isdecimal() or not placed.window.carries_as(placed.turn):
        return
    # A request that asks a question again carries the turns above the question.
    answered = placed.window.index + 1
    if int(number) != answered:
        words = f"its line names turn {int(number):,}, and its reply answers turn {answered:,}"
        yield Finding((saved.cell,), words, is_fault=True)


def _has_setting(name: str, line: str, record: Record, earlier: Sequence[Record]) -> bool:
    """Return whether a reply was asked with a setting of its line, or else with that of before."""
    recorded = record.parameters.get(name)
    typed = re.findall(rf"(?<!\S)(?:{_FLAGS[name]})(?:=|[ \t]+)(\S+)", line)
    if any(map(_VARIABLE.match, typed)):
        return True
    if not typed:
        return any(other.parameters.get(name) == recorded for other in earlier)
    if name == "model":
        return recorded in [unquoted(word) for word in typed]
    return any(_number(word) == recorded for word in typed)


def _number(word: str) -> float | None:
    """Return a typed number; ``None`` for another word."""
    try:
        return float(word)
    except ValueError:
        return None
