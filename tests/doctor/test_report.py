"""The block: lines with a mark, no key, no home folder, and nothing that acts."""

from __future__ import annotations

from shells import KEY

from chatmagic.doctor.observations import (
    Answered,
    CassetteSeen,
    FrontEnd,
    Observations,
    PrivateFile,
    Trouble,
)
from chatmagic.doctor.report import report
from chatmagic.protocol.auth import Secret


def test_a_block() -> None:
    """What is wrong is counted, and what was sent is said."""
    found = Observations(
        versions={"Python": "3"},
        front_end=FrontEnd(f"a page {KEY}", "\x1b[2Jshows\nit"),
        files=(PrivateFile("/home/ada/keys.json", 0o644, True),),
        cassette=CassetteSeen(trouble=Trouble(f"no {KEY}", f"Look {KEY}")),
    )
    text, is_well = report(found, [Secret(KEY)], "/home/ada")
    assert not is_well
    lines = text.splitlines()
    assert lines[0] == "[ok] versions: Python 3"
    assert lines[1] == "[ok] front end: a page [key removed]: ␛[2Jshows it"
    assert "[!!] files: others can read ~/keys.json (644)" in lines
    assert "[!!] cassette: no [key removed]" in lines
    assert "     -> Look [key removed]" in lines
    assert lines[-1] == "3 things wrong. No request was sent."
    assert KEY not in text


def test_where_a_line_is_cut() -> None:
    """A key or a home folder that stands there leaves no part of itself."""
    seen = [KEY, "/home/ada/secret"]
    for words in seen:
        long = Trouble("x" * (400 - len(words)) + "y" + words)
        found = Observations(front_end=FrontEnd("a", "b"), cassette=CassetteSeen(trouble=long))
        text, _ = report(found, [Secret(KEY)], "/home/ada")
        assert words[:4] not in text


def test_nothing_wrong() -> None:
    """It is said, and so is that a question was sent."""
    found = Observations(
        front_end=FrontEnd("a shell", "prints"), answered=Answered(connection="kept")
    )
    text, _ = report(found, ())
    assert text.endswith("1 thing wrong. One question was sent.")
