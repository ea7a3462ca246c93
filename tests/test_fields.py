"""Fields are as the standard library's; its ``Field`` objects are made when they are asked for."""

from __future__ import annotations

import dataclasses
from dataclasses import field, fields, replace
from typing import Any

import pytest

from chatmagic import _dataclass, _fields


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Give the arguments of each call that makes a ``Field``."""
    calls: list[dict[str, Any]] = []

    def make(**given: Any) -> Any:
        calls.append(given)
        return field(**given)

    monkeypatch.setattr(_fields, "field", make)
    return calls


def test_field_objects_are_made_when_they_are_asked_for(made: list[dict[str, Any]]) -> None:
    """Once for a class: neither while it is defined, nor for a few instances that are compared."""

    @_dataclass.dataclass(frozen=True, slots=True)
    class Place:
        """A value with a default."""

        cell: str
        row: int = 0

    @_dataclass.dataclass(frozen=True, slots=True)
    class Below(Place):
        """A value with fields of its base's."""

        text: str = ""

    assert Below("a") == Below("a", 0, "") != Below("b")
    assert not made
    for _ in range(2):
        assert replace(Below("a"), row=2) == Below("a", 2)
        assert [each.name for each in fields(Below)] == ["cell", "row", "text"]
    assert [each["default"] for each in made] == [dataclasses.MISSING, 0, ""]


@pytest.mark.parametrize("dataclass", [_dataclass.dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("default", [[], {}, field(default=set())])
def test_a_default_that_can_change_is_refused(dataclass: Any, default: Any) -> None:
    """All instances would share it."""

    class Plain:
        """It has such a default."""

        parts: Any = default

    with pytest.raises(ValueError, match=r"parts .*default_factory"):
        dataclass(slots=True)(Plain)
