"""Private texts in a notebook: secrets, paths, hosts, and values that were put into prompts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from chatmagic.archive.notebook import Notebook, SavedOutput
from chatmagic.conversation.question import Value
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


def disclosures(notebook: Notebook) -> list[str]:
    """Return a line for each secret, path, host or value in a file.

    Args:
        notebook: the notebook.
    """
    lines = [
        f"cell {saved.cell}: {_value_words(value)}"
        for saved in notebook.outputs
        for value in _values_of(saved)
    ]
    cells: dict[str, list[int]] = defaultdict(list)
    for number, text in notebook.texts:
        for words in _private_texts(text):
            cells[words].append(number)
    lines += [f"{numbered(numbers, 'cell')}: {words}" for words, numbers in cells.items()]
    return lines


def _values_of(saved: SavedOutput) -> tuple[Value, ...]:
    """Return the values that an output's record names: of a prompt, or instructions of a file."""
    # The cell contains typed instructions anyway.
    if isinstance(saved.steering, Instructions) and saved.steering.value.expression:
        return (saved.steering.value,)
    if saved.record is None or saved.record.picked:
        return ()
    return saved.record.values


def _value_words(value: Value) -> str:
    """Return words on a value, and on the part of it that the file holds."""
    name = f"{'value of ' if value.kind is None else ''}{value.as_typed}"
    kept = "its size and digest" if value.text is None else "all of it"
    return f"{name} ({counted(value.size, 'character')}): {kept}"


def _private_texts(text: str) -> Iterator[str]:
    """Yield words for each private text in a text of the file."""
    for words, pattern in _GIVEN_AWAY.items():
        for match in pattern.finditer(text):
            yield words.format(*match.groups())
    for name in secret_kinds_in(text):
        yield f"a text that looks like {name}"
