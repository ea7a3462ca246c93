"""Description of a call in a job's file: what its rows have in common, for a study to report.

The first row that a call asks has it in its field ``head``, as JSON. The others have its name
there. So each line is a row, and a reader of the file's lines finds the same columns in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from chatmagic._json import (
    canonical,
    dataclass_from_json,
    digest,
    exact,
    exact_text,
    fields_to_json,
    json_field,
    json_of_file,
    tuple_of,
)
from chatmagic.models import Message

VERSION: Final = 1
DIGITS: Final = 16
"""Number of digits of a description's digest that are its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHead:
    """Description of a call: what its rows have in common, without their values.

    Args:
        template: the prompt, with its ``{{ }}``.
        instructions: the instructions, which stand in ``before`` or ``front``; ``None`` for none.
        front: words that stand in front of each prompt, such as those that ask for JSON.
        before: the messages before the prompt.
        parameters: the other fields of the request.
        schema: name of the schema; ``None`` for none.
    """

    template: str = json_field(exact_text, required=True)
    instructions: str | None = json_field(exact_text)
    front: str = json_field(exact_text, default="")
    before: tuple[Message, ...] = json_field(
        tuple_of(Message.from_json), lambda before: [item.to_json() for item in before], ()
    )
    parameters: Mapping[str, Any] = json_field(
        exact(lambda value: value if isinstance(value, Mapping) else None), dict, required=True
    )
    schema: str | None = json_field(exact_text)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the description that a row has.

        Args:
            text: its field ``head``.

        Raises:
            ValueError: it is no description that this release can read.
        """
        value = json_of_file(text.encode("utf-8", "surrogatepass"))
        if not isinstance(value, dict) or value.get("version") != VERSION:
            raise ValueError("it is no description of a call")
        return dataclass_from_json(cls, value)

    @property
    def text(self) -> str:
        """The description as JSON."""
        return canonical({"version": VERSION, **fields_to_json(self)})


def head_name(text: str) -> str:
    """Return the name of the description that a row has, or names.

    Args:
        text: its field ``head``.
    """
    return digest(text)[:DIGITS] if text.startswith("{") else text
