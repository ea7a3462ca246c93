"""``%chat_cassette --prune``: a numbered list of the interactions, and removal by these numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic import text
from chatmagic._log import swallowed
from chatmagic.cassette import merging
from chatmagic.errors import InputError
from chatmagic.text import unlinked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from chatmagic.cassette.cassette import Cassette
    from chatmagic.cassette.interaction import Interaction

SUPERSEDED: Final = "superseded"
SHOWN: Final = 60
"""How many characters of a prompt are listed."""

_LIST: Final = "%chat_cassette --prune lists them; nothing was removed."


class Pruning:
    """The latest list of this kernel, by whose numbers interactions can be removed."""

    def __init__(self) -> None:
        """Have listed nothing."""
        self._path: Path | None = None
        self._listed: dict[int, Interaction] = {}

    def listed(self, cassette: Cassette) -> str:
        """Return a numbered list of a cassette's interactions, a line each.

        Args:
            cassette: the active one.
        """
        # If the file cannot be read, what this kernel holds is listed.
        with swallowed(InputError):
            cassette.reload()
        self._path = cassette.config.path
        self._listed = dict(enumerate(cassette.interactions, 1))
        if not self._listed:
            return f"{cassette.config.name} holds nothing."
        old = sum(recorded.superseded for recorded in self._listed.values())
        more = "%chat_cassette --prune 1 2 would remove those two"
        if old:
            more += f", --prune {SUPERSEDED} the {old:,} that later runs of their cells left behind"
        lines = [_line(number, recorded) for number, recorded in self._listed.items()]
        return "\n".join([*lines, f"Nothing was removed. {more}."])

    def removed(self, cassette: Cassette, words: Sequence[str]) -> str:
        """Remove listed interactions.

        Args:
            cassette: the active one.
            words: numbers of the list, or the one word ``superseded``.

        Returns:
            The removed interactions, a line each, and their count.

        Raises:
            InputError: nothing was removed: the cassette is replayed, the numbers are not those
                of a list of this kernel, or the file cannot be read.
            ChatError: nothing was removed: the file cannot be written.
        """
        if not cassette.is_recording:
            raise InputError(
                f"{cassette.config.name} is replayed, so nothing is removed from it.",
                hint="Use it with --record, list it by %chat_cassette --prune, then remove.",
            )
        if self._path != cassette.config.path:
            raise InputError(f"Nothing of {cassette.config.name} was listed yet.", hint=_LIST)
        cassette.reload()
        chosen = self._chosen(cassette, words)
        count = cassette.prune(chosen.values())
        lines = [_line(number, self._listed.pop(number)) for number in chosen]
        return "\n".join([*lines, f"Removed {count:,} from {cassette.config.name}."])

    def _chosen(self, cassette: Cassette, words: Sequence[str]) -> dict[int, Interaction]:
        """Return the interactions to remove, by their numbers."""
        if list(words) == [SUPERSEDED]:
            # One that its cell has asked again since it was listed is in force, and stays.
            held = cassette.interactions
            return {n: item for n, item in self._listed.items() if item.superseded and item in held}
        for word in words:
            if not (word.isdecimal() and int(word) in self._listed):
                raise InputError(
                    f"{text.one_line(word, SHOWN)} is not a number of that list, or was removed.",
                    hint=f"It takes numbers, or the one word {SUPERSEDED}. {_LIST}",
                )
        chosen = {number: self._listed[number] for number in map(int, words)}
        gone = merging.missing(chosen.values(), cassette.interactions)
        for number, recorded in chosen.items():
            if recorded in gone:
                raise InputError(
                    f"{number} has changed since it was listed, by a refresh or another kernel.",
                    hint=_LIST,
                )
        return chosen


def _line(number: int, recorded: Interaction) -> str:
    """Return a line with the number, the prompt and the length of the reply."""
    prompt = unlinked(text.one_line(recorded.prompt, SHOWN))
    reply = recorded.text
    answer = f"error {recorded.status}" if reply is None else f"{len(reply):,} characters"
    mark = f", {SUPERSEDED}" if recorded.superseded else ""
    return f"{number:>4}  {prompt} ({answer}{mark})"
