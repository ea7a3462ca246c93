"""Report of the doctor: a block to read, and to paste where help is asked for. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.doctor.lines import check
from chatmagic.protocol.auth import redacted
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmagic.doctor.observations import Observations
    from chatmagic.protocol.auth import Secret

_SHOWN: Final = 400


def report(observations: Observations, keys: Iterable[Secret], home: str = "") -> tuple[str, bool]:
    """Return the block, and whether nothing is wrong.

    Args:
        observations: what was seen.
        keys: every key that is known, none of which stands in the block.
        home: path of the user's home folder, which tells a name; empty leaves it.
    """
    known = tuple(keys)

    def safe(words: str) -> str:
        # Before it is cut, which could leave a part of a key.
        words = redacted(words, known)
        return one_line(words.replace(home, "~") if len(home) > 1 else words, _SHOWN)

    lines = check(observations)
    shown = []
    for line in lines:
        shown.append(f"[{line.mark:>2}] {line.name}: {safe(line.seen)}")
        if line.todo:
            shown.append(f"     -> {safe(line.todo)}")
    wrong = sum(line.mark == "!!" for line in lines)
    is_sent = observations.answered is not None and observations.answered.is_sent
    sent = "One question was sent." if is_sent else "No request was sent."
    shown.append(f"{counted(wrong, 'thing') if wrong else 'Nothing'} wrong. {sent}")
    return "\n".join(shown), not wrong
