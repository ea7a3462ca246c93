"""Private texts in a notebook: secrets, paths, hosts, and values that were put into prompts."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from chatmagic.archive.notebook import Notebook
from chatmagic.conversation.steering import Instructions
from chatmagic.protocol.secret_scanner import secret_kinds_in
from chatmagic.safe_text import counted, numbered

_GIVEN_AWAY: Final = {
    "path {}": re.compile(
        r"(?<![\w/.:])((?:/(?:home|Users|root|mnt|tmp|var|opt|data)/|[A-Z]:\\)[^\s\"'<>|:;,)\]}]+)"
    ),
    # The text before an @ is a name and a password.
    "host {}": re.compile(r"https?://(?:[^\s\"'<>)\]}/?#]*@)?([\w.-]+)"),
    "perhaps an API key: the text sets one": re.compile(
        r"CHATMAGIC_API_KEY[\"']?\]?\s*[=,]\s*[\"']?[^\s\"'{]{8}"
    ),
}
"""Patterns of private texts, by the words for them."""


def disclosures(read: Notebook) -> list[str]:
    """Return a line for each secret, path, host or value in a file.

    Args:
        read: the notebook.
    """
    lines: list[str] = []
    for saved in read.outputs:
        values = () if saved.record is None or saved.record.picked else saved.record.values
        # The cell contains the typed text anyway.
        if isinstance(saved.steering, Instructions) and saved.steering.value.expression:
            values = (saved.steering.value,)
        for value in values:
            name = f"{'value of ' if value.kind is None else ''}{value.as_typed}"
            kept = "its size and digest" if value.text is None else "all of it"
            size = counted(value.size, "character")
            lines.append(f"cell {saved.cell}: {name} ({size}): {kept}")
    places: dict[str, list[int]] = defaultdict(list)
    for number, text in read.texts:
        parts = [
            words.format(*match.groups())
            for words, pattern in _GIVEN_AWAY.items()
            for match in pattern.finditer(text)
        ]
        for words in [
            *parts,
            *(f"a text that looks like {name}" for name in secret_kinds_in(text)),
        ]:
            places[words].append(number)
    lines += [f"{numbered(cells, 'cell')}: {words}" for words, cells in places.items()]
    return lines
