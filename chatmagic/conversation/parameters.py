"""The parameters of a question: how it is asked, whoever asks it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from chatmagic._json import fields_from_json, fields_to_json, json_field

_LARGE: Final = re.compile(r"-?[1-9][0-9]{15,399}")


def _integer(value: object) -> int:
    # An integer that a page would round is kept as a text.
    if isinstance(value, str) and _LARGE.fullmatch(value):
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("not an integer")
    return value


def _count(value: object) -> int:
    if (count := _integer(value)) < 0:
        raise ValueError("below 0")
    return count


def _number(value: object) -> float:
    number = value if isinstance(value, float) else _integer(value)
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError("not finite")
    return number


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _where_off(switch: bool) -> bool | None:
    return None if switch else False


class AsTyped:
    """What has a prompt as it is sent and, where values were put in, as typed."""

    __slots__ = ()

    prompt: str
    typed: str | None

    @property
    def as_typed(self) -> str:
        """The prompt as typed, with its ``{{ }}`` where it had some."""
        return self.prompt if self.typed is None else self.typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """How a question is asked.

    Args:
        max_tokens: upper limit on generated tokens (fact 3); ``None`` leaves it out.
        temperature: sampling temperature (fact 3); ``None`` leaves it out.
        last: how many of the newest turns go along at most; ``None`` is all of them.
        stream: whether the reply is asked for as a stream.
        history: whether the turns before go along and this one is kept.
    """

    max_tokens: int | None = json_field(_integer)
    temperature: float | None = json_field(_number)
    last: int | None = json_field(_count)
    stream: bool = json_field(_switch, _where_off, default=True)
    history: bool = json_field(_switch, _where_off, default=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that were set, as a record keeps them."""
        return fields_to_json(self, Parameters)

    @staticmethod
    def read(value: object) -> dict[str, Any]:
        """Read the parameters that a record keeps; each has its own kind of value.

        Raises:
            ValueError: one of them makes no sense.
        """
        if not isinstance(value, Mapping):
            raise ValueError("parameters are a JSON object")
        return fields_from_json(Parameters, value)
