"""Replies of a notebook that no cassette holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chatmagic.archive.interaction import Interaction
from chatmagic.archive.notebook import Notebook
from chatmagic.audit.cassette_audit import is_cassette
from chatmagic.conversation.record import Record


def named_cassettes(read: Notebook) -> set[str]:
    """Return the names of the cassettes that a notebook's cells insert."""
    commands = [command for cell in read.cells for command in cell.plan.commands]
    lines = [command.line for command in commands if command.name == "chat_cassette"]
    words = [Path(word.strip("'\"")) for line in lines for word in line.split()]
    return {path.name for path in words if is_cassette(path)}


def missing(read: Notebook, held: Sequence[Interaction], names: str) -> list[str]:
    """Return a line for each whole reply of a notebook that no cassette holds as it is shown.

    Args:
        read: the notebook.
        held: the exchanges of all cassettes.
        names: the cassettes' names.
    """
    recorded = {(item.request, item.text, *_ended(item)) for item in held}
    every = {item.text for item in held if item.is_reply}
    return [
        f"cell {saved.cell}: its reply, with this text, model, end and tokens, is not in {names}."
        for saved, record in read.turns
        # A reply that was cut off is in no cassette. A reply by order answered another request.
        if record.state == "complete"
        and not saved.fault
        and not (record.by_order and saved.text in every)
        # In a hand-out the emulator answers requests that are not recorded.
        and record.origin != "emulator"
        and (record.request, saved.text, *_ended(record)) not in recorded
    ]


def _ended(interaction: Record | Interaction) -> tuple[object, ...]:
    """Return the facts of a reply from a service, without those about time."""
    return interaction.model, interaction.finish_reason, interaction.usage
