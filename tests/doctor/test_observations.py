"""Observations: values, of which none holds a key."""

from __future__ import annotations

from dataclasses import fields

from chatmagic.doctor.observations import FrontEnd, Key, Observations


def test_nothing_is_seen_by_itself() -> None:
    """Only the front end has to be said; a key's field names its place alone."""
    found = Observations(front_end=FrontEnd("a shell", "prints"))
    assert (found.network, found.answered, found.files) == (None, None, ())
    assert [field.name for field in fields(Key)] == ["key_from", "auth", "elsewhere", "trouble"]
