"""Time limits of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from chatmagic.errors import InputError

LONGEST: Final = 4_000_000
"""The longest time-out, in seconds, that every system can count: 46 days."""


@dataclass(frozen=True, slots=True)
class Timeout:
    """Time limits of a request, in seconds; ``None`` waits for ever.

    Args:
        connect: for the connection, TLS and a proxy's tunnel included.
        first_byte: for the first byte of the answer's body, from when the connection is there.
        silence: between two pieces of the answer; any byte counts as life.
        total: for all of it, from the beginning to the end of the answer.

    Raises:
        InputError: a time is not a number above 0 and below :data:`LONGEST`.
    """

    connect: float | None = 10.0
    first_byte: float | None = 60.0
    silence: float | None = 60.0
    total: float | None = None

    def __post_init__(self) -> None:
        """Check the times."""
        for name in self.__slots__:
            seconds = getattr(self, name)
            if seconds is not None and (
                isinstance(seconds, bool)
                or not isinstance(seconds, int | float)
                or not 0 < seconds <= LONGEST
            ):
                raise InputError(
                    f"The time-out {name} is a number of seconds above 0, {LONGEST:,} at most; "
                    "None waits for ever."
                )

    @classmethod
    def of(cls, value: Timeout | Mapping[str, float | None] | float | None) -> Timeout:
        """Return the time-outs that ``value`` stands for.

        Args:
            value: a number is ``first_byte`` and ``silence``; a mapping has times by name.

        Raises:
            InputError: it is none of these.
        """
        if isinstance(value, Timeout):
            return value
        if isinstance(value, Mapping):
            names = [field.name for field in fields(cls)]
            if unknown := [name for name in value if name not in names]:
                raise InputError(
                    f"There is no time-out {unknown[0]!r}; there are {', '.join(names)}."
                )
            return cls(**value)
        return cls() if value is None else cls(first_byte=value, silence=value)
