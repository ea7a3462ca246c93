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
    read: Notebook,
    placed: Mapping[SavedOutput, PlacedTurn],
    commands: Mapping[SavedOutput, MagicCall],
    unseen: float,
) -> Iterator[Finding]:
    """Yield the differences between these commands and the turns above them.

    Args:
        read: the notebook.
        placed: the turns with their places, by their outputs.
        commands: the magics that left the outputs.
        unseen: number of the first cell that may have asked without a record.
    """
    records: dict[str, Record] = {}
    prompts: set[str] = set()
    lost = min(read.unreadable, default=unseen)
    for saved in read.outputs:
        is_known = saved.cell < min(unseen, lost) and not saved.fault
        record = saved.record
        if record is None:
            item = saved.steering
            if is_known and isinstance(item, Hiding) and item.digest not in records:
                words = "the turn that it names stands nowhere above it: removed, or asked again"
                yield Finding((saved.cell,), words, is_fault=False)
            continue
        if record.in_place_of and not saved.fault:
            olds = [records[name] for name in record.in_place_of if name in records]
            if olds:
                yield from _difference(saved, record, olds, placed.get(saved), commands.get(saved))
            elif is_known and record.prompt not in prompts:
                words = "the question that it asks again stands nowhere above it: removed or edited"
                yield Finding((saved.cell,), words, is_fault=True)
        records[record.turn or ""] = record
        prompts.add(record.prompt)


def _difference(
    saved: SavedOutput,
    record: Record,
    olds: Sequence[Record],
    placed: PlacedTurn | None,
    command: MagicCall | None,
) -> Iterator[Finding]:
    """Yield the difference between a command's line and the turn that it asked again.

    Args:
        saved: the output.
        record: its record.
        olds: the records of the earlier replies to its question.
        placed: its turn with its place; ``None`` if it is not in the conversation.
        command: the magic that left it; ``None`` if that is unknown.
    """
    if command is None or command.asks or record.picked:
        return
    if not all(_has_setting(name, command.line, record, olds) for name in _FLAGS):
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


def _has_setting(name: str, line: str, record: Record, olds: Sequence[Record]) -> bool:
    """Return whether a reply was asked with a setting of its line, or else with that of before."""
    recorded = record.parameters.get(name)
    typed = re.findall(rf"(?<!\S)(?:{_FLAGS[name]})(?:=|[ \t]+)(\S+)", line)
    if any(map(_VARIABLE.match, typed)):
        return True
    if not typed:
        return any(old.parameters.get(name) == recorded for old in olds)
    if name == "model":
        return recorded in [unquoted(word) for word in typed]
    return any(_number(word) == recorded for word in typed)


def _number(word: str) -> float | None:
    """Return a typed number; ``None`` for another word."""
    try:
        return float(word)
    except ValueError:
        return None
