"""``%chat_cassette --prune``: what a cassette holds, listed with numbers, and what is taken out."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Final

from chatmagic import text
from chatmagic.cassette import merging
from chatmagic.errors import InputError
from chatmagic.text import unlinked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from chatmagic.cassette.cassette import Cassette
    from chatmagic.cassette.interaction import Recorded

SUPERSEDED: Final = "superseded"
SHOWN: Final = 60
_LIST: Final = "%chat_cassette --prune lists them; nothing was removed."


class Pruning:
    """What was listed in this kernel, by whose numbers it can be removed."""

    def __init__(self) -> None:
        """Have listed nothing."""
        self._path: Path | None = None
        self._listed: dict[int, Recorded] = {}

    def listed(self, cassette: Cassette) -> str:
        """Return the list of what a cassette holds, a line each; nothing is removed.

        Args:
            cassette: the one that is in.
        """
        with contextlib.suppress(InputError):
            # Of a file that cannot be read there is what this kernel holds.
            cassette.read_again()
        self._path = cassette.config.path
        self._listed = dict(enumerate(cassette.exchanges, 1))
        if not self._listed:
            return f"{cassette.config.name} holds nothing."
        old = sum(one.superseded for one in self._listed.values())
        more = "%chat_cassette --prune 1 2 would remove those two"
        if old:
            more += f", --prune {SUPERSEDED} the {old:,} that later runs of their cells left behind"
        lines = [_line(number, one) for number, one in self._listed.items()]
        return "\n".join([*lines, f"Nothing was removed. {more}."])

    def removed(self, cassette: Cassette, words: Sequence[str]) -> str:
        """Remove what was listed; return what was done, in a line for each.

        Args:
            cassette: the one that is in.
            words: numbers of the list, or ``superseded``.

        Raises:
            InputError: nothing was removed: what is meant was not listed, or is not known, or the
                file cannot be read.
            ChatError: the file cannot be written.
        """
        if not cassette.is_recording:
            raise InputError(
                f"{cassette.config.name} is replayed, so nothing is removed from it.",
                hint="Put it in with --record, list it by %chat_cassette --prune, and remove then.",
            )
        if self._path != cassette.config.path:
            raise InputError(f"Nothing of {cassette.config.name} was listed yet.", hint=_LIST)
        cassette.read_again()
        found = self._meant(cassette, words)
        count = cassette.prune(found.values())
        gone = [_line(number, one) for number, one in found.items()]
        for number in found:
            del self._listed[number]
        return "\n".join([*gone, f"Removed {count:,} from {cassette.config.name}."])

    def _meant(self, cassette: Cassette, words: Sequence[str]) -> dict[int, Recorded]:
        """Give what is to be removed, by its numbers."""
        if list(words) == [SUPERSEDED]:
            # One that its cell has asked again since it was listed stays.
            held = cassette.exchanges
            return {n: one for n, one in self._listed.items() if one.superseded and one in held}
        wrong = [w for w in words if not (w.isdecimal() and int(w) in self._listed)]
        if wrong:
            raise InputError(
                f"{text.one_line(wrong[0], SHOWN)} is no number of that list, or was removed.",
                hint=f"It takes numbers, or the one word {SUPERSEDED}. {_LIST}",
            )
        found = {number: self._listed[number] for number in map(int, words)}
        left = Counter(map(merging.name, cassette.exchanges))
        for number, one in found.items():
            if not left[merging.name(one)]:
                raise InputError(
                    f"{number} is not what it was: a refresh or another kernel changed it.",
                    hint=_LIST,
                )
            left[merging.name(one)] -= 1
        return found


def _line(number: int, one: Recorded) -> str:
    """Return one line that says of an exchange what was asked, and what came."""
    prompt = unlinked(text.one_line(one.prompt, SHOWN))
    came = f"error {one.status}" if one.text is None else f"{len(one.text):,} characters"
    mark = f", {SUPERSEDED}" if one.superseded else ""
    return f"{number:>4}  {prompt} ({came}{mark})"
