"""Replies of a notebook that no cassette holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from chatmagic.archive.interaction import Interaction
from chatmagic.archive.notebook import Notebook, SavedOutput
from chatmagic.audit.cassette_audit import is_cassette
from chatmagic.conversation.record import Record


def unrecorded_replies(
    notebook: Notebook, cassettes: Mapping[str, Sequence[Interaction]]
) -> list[str]:
    """Return a line for each whole reply of a notebook that no cassette holds as it is shown.

    Args:
        notebook: the notebook. If its cells insert other cassettes only, nothing is judged.
        cassettes: the exchanges of each cassette, by its name.
    """
    named = _named_cassettes(notebook)
    if not cassettes or (named and not named & cassettes.keys()):
        return []
    exchanges = [*chain.from_iterable(cassettes.values())]
    recorded = {(item.request, item.text, *_facts_at_end(item)) for item in exchanges}
    replies = {item.text for item in exchanges if item.is_reply}
    names = ", ".join(cassettes)
    lines = []
    for saved, record in notebook.turns:
        if not _is_to_be_recorded(saved, record) or (record.by_order and saved.text in replies):
            continue
        if (record.request, saved.text, *_facts_at_end(record)) not in recorded:
            lines.append(
                f"cell {saved.cell}: its reply, with this text, model, end and tokens, "
                f"is not in {names}."
            )
    return lines


def _is_to_be_recorded(saved: SavedOutput, record: Record) -> bool:
    """Return whether a cassette of the notebook must hold a turn's reply.

    A reply that was cut off is in no cassette. In a hand-out the emulator answers requests that
    are not recorded.
    """
    return record.state == "complete" and record.origin != "emulator" and not saved.fault


def _named_cassettes(notebook: Notebook) -> set[str]:
    """Return the names of the cassettes that a notebook's cells insert."""
    commands = [command for cell in notebook.cells for command in cell.plan.commands]
    lines = [command.line for command in commands if command.name == "chat_cassette"]
    words = [Path(word.strip("'\"")) for line in lines for word in line.split()]
    return {path.name for path in words if is_cassette(path)}


def _facts_at_end(source: Record | Interaction) -> tuple[object, ...]:
    """Return the facts that a service reports with a whole reply, without those about time."""
    return source.model, source.finish_reason, source.usage
