"""Disclosures of a notebook: what it would give away beside what its cells say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from chatmagic.conversation.instructions import Instructions
from chatmagic.protocol.known_secrets import key_shapes_in
from chatmagic.text import counted, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chatmagic.archive.notebook_file import Notebook

_PATH: Final = re.compile(
    r"(?<![\w/.:])((?:/(?:home|Users|root|mnt|tmp|var|opt|data)/|[A-Z]:\\)[^\s\"'<>|:;,)\]}]+)"
)
# What stands before an @ is a name and a password.
_ADDRESS: Final = re.compile(r"https?://(?:[^\s\"'<>)\]}/?#]*@)?([\w.-]+)")
_KEY: Final = re.compile(r"CHATMAGIC_API_KEY[\"']?\]?\s*[=,]\s*[\"']?[^\s\"'{]{8}")
_FINDERS: Final[tuple[Callable[[str], Iterable[str]], ...]] = (
    lambda text: (f"path {match[1]}" for match in _PATH.finditer(text)),
    lambda text: (f"host {match[1]}" for match in _ADDRESS.finditer(text)),
    lambda text: ["perhaps an API key: the text sets one"] if _KEY.search(text) else [],
    lambda text: (f"what looks like {name}" for name in key_shapes_in(text)),
)
"""Each returns in words what one text of a notebook gives away."""


def lines(read: Notebook) -> tuple[str, ...]:
    """Return a line for each thing that the file would give away."""
    lines: list[str] = []
    for saved, record in read.turns:
        for value in record.values:
            size = counted(value.size, "character")
            kept = "its size and digest" if value.text is None else "all of it"
            what = f"{'value of ' if value.kind is None else ''}{value.as_typed}"
            lines.append(f"cell {saved.cell}: {what} ({size}): {kept}")
    lines += [
        f"cell {saved.cell}: {saved.steering.value.as_typed} "
        f"({counted(saved.steering.value.size, 'character')}): all of it"
        for saved in read.outputs
        # What was typed, the cell says anyway.
        if isinstance(saved.steering, Instructions) and saved.steering.value.expression
    ]
    for find in _FINDERS:
        places: dict[str, list[int]] = {}
        for number, text in read.texts:
            for words in find(text):
                places.setdefault(words, []).append(number)
        lines += [f"{numbered(cells, 'cell')}: {words}" for words, cells in places.items()]
    if read.timed:
        lines.append(f"{numbered(read.timed, 'cell')}: when the cell ran, in its metadata")
    return tuple(lines)
