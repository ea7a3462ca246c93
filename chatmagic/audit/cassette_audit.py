"""Audit of one cassette: it must be readable, and must hold each exchange once."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from chatmagic._json import shared_fields
from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.archive.interaction import Interaction
from chatmagic.audit.findings import Audit, AuditedTurn
from chatmagic.errors import InputError
from chatmagic.protocol import credits as crediting

_LEFT: Final = "x-ratelimit-remaining"


def is_cassette(path: Path) -> bool:
    """Return whether a file is a cassette by its name, which is any but a notebook's.

    Args:
        path: the file's path.
    """
    return path.suffix.lower() not in {".ipynb", ".json"}


def audit_cassette(path: Path, audit: Audit) -> tuple[Interaction, ...]:
    """Add the findings in a cassette, and return its exchanges."""
    if not path.exists():
        raise InputError(f"{path} is not there.")
    file = CassetteFile(path)
    held = file.read_interactions()
    if file.is_merged:
        audit.remarks.append("it has the marks of a merge conflict, and both halves were read.")
    earlier: dict[str, list[Interaction]] = defaultdict(list)
    for place, interaction in enumerate(held, 1):
        same = earlier[interaction.request]
        # Two replies leave different credits; two errors, or replies without figures, may be equal.
        is_told = any(name.lower() == _LEFT for name, _ in interaction.headers)
        if interaction.is_reply and is_told and interaction in same:
            audit.wrong(place, "it stands above once more")
        same.append(interaction)
        known = {
            **shared_fields(interaction, Interaction),
            **crediting.reply_facts(interaction.headers, datetime.now(UTC)),
            "state": "complete",
        }
        if not interaction.is_reply:
            known |= {"state": "error", "finish_reason": f"HTTP {interaction.status}"}
        known |= {"cell_number": place, "prompt": interaction.as_typed, "agrees": True}
        audit.turns.append(AuditedTurn.of_facts(known))
    return held
