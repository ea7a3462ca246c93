"""The exchanges by which a saved notebook's requests are answered again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic import _json
from chatmagic._json import shared
from chatmagic.archive import notebook_file
from chatmagic.cassette.interaction import Interaction, headers_for
from chatmagic.errors import InputError
from chatmagic.models import BodyFacts

if TYPE_CHECKING:
    from pathlib import Path

    from chatmagic.conversation.record import Record


def recorded(path: Path) -> tuple[Interaction, ...]:
    """Give the exchanges by which a notebook's requests can be answered again.

    A reply that was interrupted or cut off is none of them: it was never whole.

    Args:
        path: the notebook.

    Raises:
        InputError: it is no notebook; it holds no reply that can be replayed; or one of
            them is not what was recorded.
    """
    notebook = notebook_file.read(path)
    changed = [told.cell for told, _ in notebook.turns if told.fault or not told.agrees]
    if changed:
        held = "holds" if len(changed) == 1 else "hold"
        raise InputError(
            f"{path}: {notebook_file.cells(changed)} no longer {held} what was recorded and "
            "sealed, so nothing is replayed from this notebook.",
            hint="Take the file as it was saved, or ask again.",
        )
    found = _exchanges(notebook)
    if not found:
        why = notebook.missing or "none of its outputs holds a reply."
        lines = " ".join([why[:1].upper() + why[1:], *notebook.problems[:1]])
        raise InputError(f"{path} holds no reply that can be replayed. {lines}")
    return found


def _exchanges(notebook: notebook_file.Notebook) -> tuple[Interaction, ...]:
    """Return what a notebook's complete replies answered, with the turns before each."""
    found: list[Interaction] = []
    carried: dict[tuple[str | None, str | None], tuple[str, ...]] = {}
    for told, record in notebook.turns:
        # A record lists the newest turns; those before are what the first of them carried.
        earlier = carried.get((next(iter(record.carried), None), record.chain), ())
        before, after = record.carried, record.chain
        if len(earlier) == record.earlier:
            before, after = (*earlier, *before), None
            carried[record.turn, _json.chain_of(record.carried, record.chain)] = before
        if record.state == "complete":
            found.append(_exchange(record, told.text or "", before, after))
    return tuple(found)


def _exchange(record: Record, text: str, before: tuple[str, ...], after: str | None) -> Interaction:
    sent = {name: record.parameters[name] for name in _SENT if name in record.parameters}
    return Interaction(
        request=record.request,
        prompt=record.prompt,
        before=before,
        after=after,
        asked_model=record.asked_model,
        parameters={"stream": True, **sent},
        typed=record.prompt if record.values else None,
        owner=record.owner,
        headers=headers_for(record.credits, record.date),
        text=text,
        **shared(record, BodyFacts),
        took=record.took,
        origin=record.recorded or ("live" if record.origin == "replay" else record.origin),
    )


_SENT: Final = ("stream", "max_tokens", "temperature")
