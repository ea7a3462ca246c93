"""Audit of a cassette: exchanges in order, held once, and as they were recorded."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from chatmagic._json import shared
from chatmagic.audit.findings import Audit, Row
from chatmagic.cassette.storage import CassetteFile
from chatmagic.errors import InputError
from chatmagic.models import BodyFacts, ReplyFacts
from chatmagic.protocol import credits as crediting
from chatmagic.text import numbered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from chatmagic.archive.notebook_file import Notebook
    from chatmagic.cassette.interaction import Interaction
    from chatmagic.conversation.record import Record

_LEFT: Final = "x-ratelimit-remaining"


def is_cassette(path: Path) -> bool:
    """Return whether a file is a cassette, by its name: one of any name but a notebook's."""
    return path.suffix.lower() not in {".ipynb", ".json"}


def audit(path: Path) -> tuple[Audit, tuple[Interaction, ...]]:
    """Return the audit of one cassette; one that cannot be read has a problem and no exchanges.

    Returns:
        What was found, and what the cassette holds.
    """
    file = CassetteFile(path)
    try:
        held = file.read()
        failed = "" if file.exists() else f"{path} is not there."
    except InputError as error:
        held, failed = (), str(error)
    if failed:
        return Audit(str(path), (), (failed,), (), (), kind="cassette"), ()
    problems, remarks = _doubles(held)
    result = Audit(str(path), _turns(held), tuple(problems), tuple(remarks), (), kind="cassette")
    return result, held


def missing(read: Notebook, held: Sequence[Interaction], names: str) -> list[str]:
    """Return a line for each whole reply of a notebook that no cassette holds as it is shown."""
    recorded = {(item.request, item.text, *_ended(item)) for item in held}
    every = {item.text for item in held if item.is_reply}
    return [
        f"cell {saved.cell}: {names} does not hold its reply with this text, model, end and tokens."
        for saved, record in read.turns
        # A reply that was cut off is in no cassette, and one by its place answered another request.
        if record.state == "complete"
        and not (record.by_order and saved.text in every)
        and (record.request, saved.text, *_ended(record)) not in recorded
    ]


def _ended(interaction: Record | Interaction) -> tuple[object, ...]:
    """Return what a service told of its reply, but for what tells the time."""
    return interaction.model, interaction.finish_reason, interaction.usage


def _turns(held: Sequence[Interaction]) -> tuple[Row, ...]:
    first: dict[str, int] = {}
    for place, interaction in enumerate(held):
        if (turn := interaction.turn) is not None:
            first.setdefault(turn, place)
    rows = []
    for place, interaction in enumerate(held):
        date = crediting.date(interaction.headers)
        facts = ReplyFacts(
            **shared(interaction, BodyFacts),
            took=interaction.took,
            credits=None if date is None else crediting.from_headers(interaction.headers, date),
            date=date,
            origin=interaction.origin,
        )
        failed = {"state": "error", "finish_reason": f"HTTP {interaction.status}"}
        rows.append(
            Row.of(
                facts,
                **({} if interaction.is_reply else failed),
                cell=place + 1,
                prompt=interaction.as_typed,
                model_asked=interaction.asked_model,
                sealed=None,
                rendered=None,
                in_order=_in_order(place, interaction, first),
            )
        )
    return tuple(rows)


def _in_order(place: int, interaction: Interaction, first: Mapping[str, int]) -> bool | None:
    """Return whether the turns that a request carried stand above it; ``None`` is not known."""
    stand = [first.get(turn) for turn in interaction.before]
    if any(other is not None and other >= place for other in stand):
        return False
    return None if None in stand else True


def _doubles(held: Sequence[Interaction]) -> tuple[list[str], list[str]]:
    """Return a line for each exchange that stands twice, and for requests with many answers."""
    same: dict[str, list[int]] = defaultdict(list)
    problems: list[str] = []
    remarks: list[str] = []
    for place, interaction in enumerate(held):
        earlier = next((n for n in same[interaction.request] if held[n] == interaction), None)
        if earlier is not None:
            # Two replies leave other credits; two errors, or where none are told, may be equal.
            names = {name.lower() for name, _ in interaction.headers}
            copied = interaction.is_reply and _LEFT in names
            line = f"exchange {place + 1}: it is exchange {earlier + 1} once more."
            (problems if copied else remarks).append(line)
        same[interaction.request].append(place)
    remarks += [
        f"{numbered([n + 1 for n in places], 'exchange')} answer the same request, in this order."
        for places in same.values()
        if len({held[place].text for place in places}) > 1
    ]
    if left := [place + 1 for place, interaction in enumerate(held) if interaction.superseded]:
        are = "is" if len(left) == 1 else "are"
        remarks.append(f"{numbered(left, 'exchange')} {are} superseded: asked differently since.")
    return problems, remarks
