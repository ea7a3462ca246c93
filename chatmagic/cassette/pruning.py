"""``%chat_cassette --prune``: a numbered list of the interactions, and removal by these numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic import text
from chatmagic._log import swallowed
from chatmagic.errors import InputError
from chatmagic.text import unlinked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from chatmagic.cassette.cassette import Cassette
    from chatmagic.cassette.interaction import Interaction

SUPERSEDED: Final = "superseded"

_LIST: Final = "%chat_cassette --prune lists them; nothing was removed."


class Pruning:
    """The latest list of this kernel, by whose numbers interactions can be removed."""

    def __init__(self) -> None:
        """Have listed nothing."""
        self._listed: tuple[Path, Sequence[Interaction]] | None = None

    def listed(self, cassette: Cassette) -> str:
        """Return a numbered list of a cassette's interactions, a line each."""
        # If the file cannot be read, what this kernel holds is listed.
        with swallowed(InputError):
            cassette.reload()
        held = cassette.interactions
        self._listed = cassette.config.path, held
        if not held:
            return f"{cassette.config.name} holds nothing."
        old = sum(recorded.superseded for recorded in held)
        more = "%chat_cassette --prune 1 2 would remove those two"
        if old:
            more += f", --prune {SUPERSEDED} the {old:,} that later runs of their cells left behind"
        lines = [_line(number, recorded) for number, recorded in enumerate(held, 1)]
        return "\n".join([*lines, f"Nothing was removed. {more}."])

    def removed(self, cassette: Cassette, words: Sequence[str]) -> str:
        """Remove listed interactions.

        Args:
            cassette: the active one.
            words: numbers of the list, or the one word ``superseded``.

        Returns:
            The removed interactions, a line each, and their count.

        Raises:
            InputError: nothing was removed: the cassette is replayed, it is not what this kernel
                listed last, a number is not one of the list, or the file cannot be read.
            ChatError: nothing was removed: the file cannot be written.
        """
        if not cassette.is_recording:
            raise InputError(
                f"{cassette.config.name} is replayed, so nothing is removed from it.",
                hint="Use it with --record, list it by %chat_cassette --prune, then remove.",
            )
        cassette.reload()
        held = cassette.interactions
        if self._listed != (cassette.config.path, held):
            raise InputError(f"{cassette.config.name} was not listed as it is now.", hint=_LIST)
        by_word = {str(number): number for number in range(1, len(held) + 1)}
        if list(words) == [SUPERSEDED]:
            words = [word for word, number in by_word.items() if held[number - 1].superseded]
        for word in words:
            if word not in by_word:
                raise InputError(
                    f"{text.one_line(word)} is not a number of that list.",
                    hint=f"It takes numbers, or the one word {SUPERSEDED}. {_LIST}",
                )
        numbers = {by_word[word] for word in words}
        cassette.prune({number - 1 for number in numbers})
        lines = [_line(number, held[number - 1]) for number in sorted(numbers)]
        return "\n".join([*lines, f"Removed {len(lines):,} from {cassette.config.name}."])


def _line(number: int, recorded: Interaction) -> str:
    """Return a line with the number, the prompt and the length of the reply."""
    prompt = unlinked(text.one_line(recorded.prompt))
    reply = recorded.text
    answer = f"error {recorded.status}" if reply is None else f"{len(reply):,} characters"
    mark = f", {SUPERSEDED}" if recorded.superseded else ""
    return f"{number:>4}  {prompt} ({answer}{mark})"
