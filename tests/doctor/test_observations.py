"""Observations: values, of which none holds a key."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from chatmagic.doctor.observations import (
    Address,
    CassetteSeen,
    FrontEnd,
    Key,
    Network,
    Observations,
    Trouble,
)

TROUBLE = Trouble("it broke")
WELL: dict[str, Any] = {"key": Key("keyring"), "network": Network()}


def test_nothing_is_seen_by_itself() -> None:
    """Only the front end has to be said; a key's field names its place alone."""
    found = Observations(front_end=FrontEnd("a shell", "prints"))
    assert (found.network, found.answered, found.files) == (None, None, ())
    assert [field.name for field in fields(Key)] == ["key_from", "auth", "elsewhere", "trouble"]


@pytest.mark.parametrize(
    ("seen", "is_closed"),
    [
        ({}, False),
        ({"address": Address(trouble=TROUBLE)}, True),
        ({"key": Key(trouble=TROUBLE)}, True),
        ({"key": Key()}, True),
        ({"key": Key(auth="none")}, False),
        ({"key": Key(), "address": Address(is_emulator=True)}, False),
        ({"cassette": CassetteSeen(trouble=TROUBLE)}, True),
        ({"network": Network(failed="name")}, True),
        ({"folder": TROUBLE}, False),
    ],
)
def test_whether_a_question_can_be_answered(seen: dict[str, Any], *, is_closed: bool) -> None:
    """Not where what it needs is not there; what is only unwise does not hinder it."""
    found = Observations(front_end=FrontEnd("a", "b"), **{**WELL, **seen})
    assert found.is_closed is is_closed
