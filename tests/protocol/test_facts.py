"""The numbered facts of the interface, which the code and the tests cite."""

import re

from project import files

import chatmagic.protocol

CITED = re.compile(r"\(facts? ([\d, to]+)\)")
SOURCES = [path for folder in ("chatmagic", "tests") for path in files(f"{folder}/**/*.py")]


def cited() -> set[int]:
    """Return the numbers of all facts that are cited anywhere."""
    numbers: set[int] = set()
    for path in SOURCES:
        for citation in CITED.findall(path.read_text(encoding="utf-8")):
            for part in citation.split(","):
                first, _, last = part.partition(" to ")
                numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def test_what_is_cited_is_stated() -> None:
    """The facts are numbered without a gap, and no code cites one that is not there."""
    assert chatmagic.protocol.__doc__ is not None
    stated = [
        int(n) for n in re.findall(r"^ ?(\d+)\. \*", chatmagic.protocol.__doc__, re.MULTILINE)
    ]
    assert stated == list(range(1, len(stated) + 1))
    assert cited()
    assert cited() <= set(stated)


def test_no_section_of_a_document_that_is_not_here_is_cited() -> None:
    """A reader of the project has the facts, and no other document."""
    sign = "\N{SECTION SIGN}"
    assert [path for path in SOURCES if sign in path.read_text(encoding="utf-8")] == []
