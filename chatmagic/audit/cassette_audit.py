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

_CREDITS_LEFT: Final = "x-ratelimit-remaining"


def is_cassette(path: Path) -> bool:
    """Return whether a file is a cassette by its name, which is any but a notebook's.

    Args:
        path: the file's path.
    """
    return path.suffix.lower() not in {".ipynb", ".json"}


def read_cassette(path: Path) -> CassetteFile:
    """Return the file of a cassette with its exchanges.

    Args:
        path: the file's path.

    Raises:
        InputError: there is no such file, or it cannot be read.
    """
    if not path.exists():
        raise InputError(f"{path} is not there.")
    file = CassetteFile(path)
    file.read_interactions()
    return file


def audit_cassette(audit: Audit, file: CassetteFile) -> None:
    """Add the findings in a cassette.

    Args:
        audit: gets the findings.
        file: the cassette, which was read.
    """
    if file.is_merged:
        audit.remarks.append("it has the marks of a merge conflict, and both halves were read.")
    earlier: dict[str, list[Interaction]] = defaultdict(list)
    for place, interaction in enumerate(file.held, 1):
        same_request = earlier[interaction.request]
        if interaction in same_request and _is_unique(interaction):
            audit.wrong(place, "it stands above once more")
        same_request.append(interaction)
        audit.turns.append(_audited_turn(place, interaction))


def _is_unique(interaction: Interaction) -> bool:
    """Return whether no other exchange can be equal to it.

    Two replies leave different credits. Two errors, or replies without figures, may be equal.
    """
    names = {name.lower() for name, _ in interaction.headers}
    return interaction.is_reply and _CREDITS_LEFT in names


def _audited_turn(place: int, interaction: Interaction) -> AuditedTurn:
    """Return the row of an exchange."""
    facts = shared_fields(interaction, Interaction)
    facts |= crediting.reply_facts(interaction.headers, datetime.now(UTC))
    facts |= {"cell_number": place, "prompt": interaction.as_typed, "agrees": True}
    if interaction.is_reply:
        facts["state"] = "complete"
    else:
        facts |= {"state": "error", "finish_reason": f"HTTP {interaction.status}"}
    return AuditedTurn.of_facts(facts)
