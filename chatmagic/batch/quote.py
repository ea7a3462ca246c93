"""Quote of a job before it starts: its rows, tokens and credits in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from chatmagic.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What a job will ask.

    Args:
        file: name of the job's file.
        rows: how many there are; ``None`` where they are read as they are needed.
        to_ask: how many have no answer in the file.
        failed: how many of these have failed before.
        unsent: how many of these are not to be sent.
        problem: why the first of those is not, as a sentence.
        characters: length of the prompts to send.
        tokens: about how many tokens they have; ``None`` is unknown.
        cheapest: the least credits that a request took lately; ``None`` is unknown.
        dearest: the most.
        left: credits that are left; ``None`` is unknown.
    """

    file: str
    rows: int | None = None
    to_ask: int = 0
    failed: int = 0
    unsent: int = 0
    problem: str = ""
    characters: int = 0
    tokens: int | None = None
    cheapest: int | None = None
    dearest: int | None = None
    left: int | None = None

    def __str__(self) -> str:
        """Return it in one line."""
        if self.rows is None:
            what = [
                "The rows are read as they are needed, so how many there are is not known.",
                f"Answers go to {self.file}.",
            ]
            each = _range(self.cheapest, self.dearest, 1)
            what += [f"A request took {each} lately."] if each else []
        else:
            what = [f"{counted(self.rows, 'row')}, {self._to_ask()}.", f"{self._size()}."]
        if self.left is not None:
            what.append(f"{counted(self.left, 'credit')} left; others may share them.")
        if self.unsent:
            what.append(f"{counted(self.unsent, 'row')} will not be sent: {self.problem}")
        return " ".join(what)

    def _to_ask(self) -> str:
        failed = f" ({self.failed:,} of them failed before and come first)" if self.failed else ""
        return f"{self.to_ask - self.unsent:,} to ask{failed}; answers go to {self.file}"

    def _size(self) -> str:
        size = f"{counted(self.characters, 'character')} of prompts"
        if self.tokens is not None:
            size = f"About {counted(self.tokens, 'token')} of prompts"
        credits = _range(self.cheapest, self.dearest, self.to_ask - self.unsent)
        if credits is None:
            return f"{size}; what they take in credits is not known before the first answers"
        return f"{size} and {credits}, as requests took lately"


def _range(cheapest: int | None, dearest: int | None, count: int) -> str | None:
    if cheapest is None or dearest is None:
        return None
    low, high = cheapest * count, dearest * count
    return counted(high, "credit") if low == high else f"{low:,} to {counted(high, 'credit')}"
