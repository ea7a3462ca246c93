"""What notebooks tell of their conversations, tabulated: no kernel, and nothing is run.

A notebook is in order when each of its replies is the text that was recorded, each turn
was asked after those that stand above it, and every record can be read.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chatmagic import notebook, plain, restore
from chatmagic.accounting import Usage
from chatmagic.errors import InputError
from chatmagic.scalars import iso
from chatmagic.turn import is_stale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from chatmagic.notebook import Notebook
    from chatmagic.restore import Restored
    from chatmagic.turn import Turn as Conversed

EXCERPT: Final = 32
WIDEST: Final = 300
EARLY: Final = ("interrupted", "cut off")

_PATH: Final = re.compile(
    r"(?<![\w/.:])(?:/(?:home|Users|root|mnt|tmp|var|opt|data)/|[A-Z]:\\)[^\s\"'<>|:;,)\]}]+"
)
_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>)\]}]+")
_KEY: Final = re.compile(r"CHATMAGIC_API_KEY[\"']?\]?\s*[=,]\s*[\"']?[^\s\"'{]{8}")
_HOST: Final = re.compile(r"[\w.-]+")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn in a notebook; what was not told is ``None``.

    Args:
        cell: the cell's place in the notebook, from 1.
        prompt: as typed.
        model: name of the model.
        prompt_tokens: as told.
        completion_tokens: as told.
        total_tokens: as told.
        credits_left: what the response said was left.
        credits_limit: of how many.
        took: about how many credits the turn took, as far as it was known then.
        finish_reason: in the service's own words.
        state: ``complete``, ``interrupted`` or ``cut off``.
        origin: ``live``, ``replay`` or ``emulator``.
        date: the response's own, ISO 8601 in UTC.
        agrees: whether the reply's text is the one that was recorded.
        in_order: whether it was asked after the turns that now stand above it; ``None``
            for a turn that is no part of the conversation, and where a cell that left no
            output may have asked what it carried.
    """

    cell: int
    prompt: str
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    credits_left: int | None
    credits_limit: int | None
    took: int | None
    finish_reason: str | None
    state: str
    origin: str
    date: str | None
    agrees: bool
    in_order: bool | None


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found in one notebook.

    Args:
        path: as it was given.
        turns: its turns, in the order of the cells.
        problems: a line for each thing that is not in order, but for those the turns tell.
        remarks: a line for each thing worth knowing that is no fault.
        values: a line for each thing that the file would give away.
    """

    path: str
    turns: tuple[Turn, ...]
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Whether everything agrees."""
        return not self.problems and all(
            turn.agrees and turn.in_order is not False for turn in self.turns
        )


def audit(path: Path) -> Audit:
    """Look through one notebook; one that cannot be read has a problem and no turns."""
    try:
        read = notebook.read(path)
    except InputError as error:
        return Audit(str(path), (), (str(error),), (), ())
    restored = restore.restore(read, changed=True)
    remarks = tuple(restore.gaps(restored, read))
    return Audit(str(path), _turns(read, restored), restored.problems, remarks, _values(read))


def table(audits: Sequence[Audit], *, values: bool) -> str:
    """Give what was found for a person to read in a terminal.

    Args:
        audits: of each notebook.
        values: whether to say what the files would give away.
    """
    parts = [_of_one(found, values=values) for found in audits]
    wrong = sum(not found.in_order for found in audits)
    if len(audits) > 1:
        said = f"{wrong:,} of them not in order" if wrong else "all in order"
        parts.append(f"{len(audits):,} notebooks, {said}.")
    return "\n\n".join(parts)


def as_json(audits: Sequence[Audit], *, values: bool) -> str:
    """Give what was found as JSON: a list of notebooks."""
    found = []
    for one in audits:
        value: dict[str, Any] = {**asdict(one), "in_order": one.in_order}
        if not values:
            del value["values"]
        found.append(value)
    return json.dumps(found, indent=1)


def as_csv(audits: Sequence[Audit]) -> str:
    """Give the turns as CSV, a row each, safe to open in a spreadsheet.

    A notebook without a turn, or with a problem, has a row that says so.
    """
    names = list(Turn.__dataclass_fields__)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["notebook", *names, "problem"])
    for one in audits:
        for turn in one.turns:
            row = asdict(turn)
            writer.writerow([_cell(one.path), *(_cell(row[name]) for name in names), ""])
        for problem in one.problems:
            writer.writerow([_cell(one.path), *("" for _ in names), _cell(problem)])
    return text.getvalue()


def _turns(read: Notebook, restored: Restored) -> tuple[Turn, ...]:
    order = _order(read, restored)
    found = []
    for (told, record), number in zip(read.turns, restored.numbers, strict=True):
        usage, credits = record.usage or Usage(), record.credits
        found.append(
            Turn(
                cell=told.cell,
                prompt=record.prompt,
                model=record.model,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                total_tokens=usage.total_tokens,
                credits_left=None if credits is None else credits.remaining,
                credits_limit=None if credits is None else credits.limit,
                took=record.took,
                finish_reason=record.finish_reason,
                state=record.state,
                origin=record.origin,
                date=iso(record.date),
                agrees=told.agrees,
                in_order=None if number is None else order.get(number, True),
            )
        )
    return tuple(found)


def _order(read: Notebook, restored: Restored) -> dict[int, bool | None]:
    """Tell of each turn's number whether the order is the cells'; ``None`` where nobody can."""
    places = zip(read.turns, restored.numbers, strict=True)
    cells = {number: told.cell for (told, _), number in places if number is not None}
    turns = restored.conversation.turns
    found: dict[int, bool | None] = {}
    for index, turn in enumerate(turns):
        fits = not is_stale(turns, index)
        untold = not fits and _is_untold(turns[:index], turn, cells, read.silent)
        found[turn.number] = None if untold else fits
    return found


def _is_untold(
    above: Sequence[Conversed],
    turn: Conversed,
    cells: Mapping[int, int],
    silent: Sequence[int],
) -> bool:
    """Tell whether a turn carried those above it, and others of cells without an output."""
    known = [number for number in turn.carried if number]
    newest = len(known) if turn.last is not None else len(above)
    if known != [one.number for one in above[len(above) - newest :]]:
        return False
    carried = [cells[number] if number else None for number in turn.carried]
    for place, carrier in enumerate(carried):
        if carrier is None:
            begin = max(filter(None, carried[:place]), default=0)
            end = next(filter(None, carried[place:]), cells[turn.number])
            if not any(begin <= number <= end for number in silent):
                return False
    return True


def _values(read: Notebook) -> tuple[str, ...]:
    """Say what the file would give away, beside what its cells say anyway."""
    lines: list[str] = []
    for told, record in read.turns:
        for value in record.values:
            size = f"{value.size:,} character{'' if value.size == 1 else 's'}"
            kept = "its size and digest" if value.text is None else "all of it"
            lines.append(
                f"cell {told.cell}: value of {{{{ {value.expression} }}}} ({size}): {kept}"
            )
    for what, pattern in (("path", _PATH), ("host", _ADDRESS)):
        found: dict[str, list[int]] = {}
        for number, text in read.texts:
            for match in pattern.finditer(text):
                found.setdefault(_named(match[0]) if what == "host" else match[0], []).append(
                    number
                )
        lines += [
            f"{notebook.cells(cells)}: {what} {name}" for name, cells in found.items() if name
        ]
    keys = [number for number, text in read.texts if _KEY.search(text)]
    if keys:
        lines.append(f"{notebook.cells(keys)}: perhaps an API key, in words that set one")
    if read.timed:
        lines.append(f"{notebook.cells(read.timed)}: when the cell ran, in its metadata")
    return tuple(lines)


def _named(address: str) -> str:
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    return host if _HOST.fullmatch(host) else ""


def _of_one(found: Audit, *, values: bool) -> str:
    lines = [plain.one_line(found.path, WIDEST)]
    if found.turns:
        lines += _grid([_HEAD, *map(_row, found.turns)])
        lines.append(_totals(found.turns))
    elif not found.problems:
        lines.append("No turn of a conversation.")
    lines += [f"! {plain.one_line(line, WIDEST)}" for line in found.problems]
    lines += [
        f"! cell {turn.cell}: the reply is not the one that was recorded."
        for turn in found.turns
        if not turn.agrees
    ]
    lines += [
        f"! cell {turn.cell}: it was asked after other turns than those above it now."
        for turn in found.turns
        if turn.in_order is False
    ]
    lines += found.remarks
    if values:
        lines.append("What the file would give away:" if found.values else "No values, no paths.")
        lines += [f"  {plain.one_line(line, WIDEST)}" for line in found.values]
    return "\n".join(lines)


_HEAD: Final = (
    "cell",
    "prompt",
    "model",
    "tokens",
    "credits",
    "took",
    "ended",
    "origin",
    "agrees",
    "order",
)


def _row(turn: Turn) -> tuple[str, ...]:
    tokens = (turn.prompt_tokens, turn.completion_tokens)
    told = [f"{count:,}" for count in tokens if count is not None]
    total = "?" if turn.total_tokens is None else f"{turn.total_tokens:,}"
    left, limit = turn.credits_left, turn.credits_limit
    figures = "?" if left is None else f"{left:,}" + ("" if limit is None else f" of {limit:,}")
    ended = turn.state if turn.state != "complete" else turn.finish_reason or "?"
    order = {None: "-", True: "yes", False: "NO"}[turn.in_order]
    return (
        f"{turn.cell:,}",
        plain.one_line(turn.prompt, EXCERPT),
        plain.one_line(turn.model or "?", EXCERPT),
        " + ".join(told) if len(told) == len(tokens) else total,
        figures,
        "?" if turn.took is None else f"{turn.took:,}",
        plain.one_line(ended, EXCERPT),
        turn.origin,
        "yes" if turn.agrees else "NO",
        order,
    )


def _grid(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _totals(turns: Sequence[Turn]) -> str:
    count = len(turns)
    parts = [f"{count:,} turn{'' if count == 1 else 's'}"]
    early = {state: sum(turn.state == state for turn in turns) for state in EARLY}
    parts += [f"{number:,} {state}" for state, number in early.items() if number]
    tokens = [turn.total_tokens for turn in turns if turn.total_tokens is not None]
    took = [turn.took for turn in turns if turn.took is not None]
    if tokens:
        parts.append(f"{sum(tokens):,} tokens told of {len(tokens):,}")
    if took:
        count = sum(took)
        parts.append(f"about {count:,} credit{'' if count == 1 else 's'}, known of {len(took):,}")
    return ", ".join(parts) + "."


def _cell(value: object) -> object:
    """Give a value for a spreadsheet, which must not take a text for a formula."""
    if not isinstance(value, str):
        return value
    text = plain.to_terminal(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
