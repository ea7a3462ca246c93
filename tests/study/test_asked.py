"""Questions in files, as values."""

from __future__ import annotations

from dataclasses import replace

from studies import ONE

from chatmagic.study.asked import Source, settings_of, short_names


def test_a_place_is_told_in_words() -> None:
    """The second answer to a row has its number."""
    row = replace(ONE, kind="map", place=4)
    assert ONE.where == "cell 3"
    assert (row.where, replace(row, repeat=2).where) == ("row 4", "row 4, answer 2")
    assert Source("a/b.ipynb", "notebook").name == "b.ipynb"


def test_names_and_settings() -> None:
    """Turns have short names, and a stream is a setting only if it is off."""
    assert short_names(["a" * 64, None]) == ("a" * 16, "")
    assert settings_of({"stream": True, "top_k": 1}) == {"top_k": 1}
    assert settings_of({"stream": False}) == {"stream": False}
