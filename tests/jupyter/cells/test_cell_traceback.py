"""Text of an error of a cell: files without folders, causes, groups, and nothing evaluated."""

from __future__ import annotations

import pytest
from cases import each_case

from chatmagic.jupyter.cells.cell_traceback import FIRST, LAST, traceback_text


def raised(code: str, name: str = "<cell>") -> BaseException:
    """Return the error that a cell raises."""
    try:
        exec(compile(code, name, "exec"), {})  # noqa: S102 - the tests' own text
    except BaseException as error:  # noqa: BLE001 - any may be wanted
        return error
    pytest.fail("it raised nothing")


def cell_of(file: str) -> str | None:
    """Name the cell of a file as the notes do."""
    return "this cell" if file == "<cell>" else None


def error_of(code: str) -> str:
    """Return the text of the error that a cell raises."""
    return traceback_text(raised(code), cell_of)


def test_a_traceback_names_files_without_their_folders() -> None:
    """From the cell on: what is above it is not the user's."""
    lines = error_of("import json\njson.loads('{')").splitlines()
    assert lines[:3] == [
        "Traceback (most recent call last):",
        "  this cell, line 2",
        "  json/__init__.py, line " + lines[2].split("line ")[1],
    ]
    assert lines[-1].startswith("json.decoder.JSONDecodeError: Expecting property name")
    own = traceback_text(raised("1 / 0", "/home/ann/secret/helpers.py"), cell_of)
    assert own.endswith("\n  helpers.py, line 1\nZeroDivisionError: division by zero")
    assert "/" not in own.replace("1 / 0", "")
    packaged = traceback_text(raised("1 / 0", "/x/lib/site-packages/pandas/a.py"), cell_of)
    assert "\n  pandas/a.py, line 1\n" in packaged


def test_a_syntax_error_has_its_line() -> None:
    """With a caret, and without the frames of what compiled it."""
    assert error_of("x = 1\nif x:\n  x = )") == (
        "  this cell, line 3\n    x = )\n        ^\nSyntaxError: unmatched ')'"
    )


E = "class E(Exception): pass\n"


A = "ValueError('a')"


LINE_4 = "Traceback (most recent call last):\n  this cell, line 4\nKeyError: 'k'"


GROUP = """ExceptionGroup: all (2 sub-exceptions)
  Error 1 of 2 in the group:
    ValueError: a
  Error 2 of 2 in the group:
    ExceptionGroup: in (1 sub-exception)
      Error 1 of 1 in the group:
        KeyError: 1"""


CHAIN = "for n in range(1, 30):\n    f = ValueError(n)\n    f.__cause__ = e\n    e = f\nraise e"


@each_case(
    ("code", "end"),
    [
        (
            "try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e",
            f"by zero\n\nThe error above was the direct cause of the following one:\n\n{LINE_4}",
        ),
        (
            "try:\n    1 / 0\nexcept Exception:\n    raise KeyError('k')",
            f"zero\n\nWhile the error above was handled, the following one was raised:\n\n{LINE_4}",
        ),
        (f"{E}a, b = E('a'), E('b')\nb.__cause__ = a\na.__cause__ = b\nraise a", "\nE: a"),
        (f"raise ExceptionGroup('all', [{A}, ExceptionGroup('in', [KeyError(1)])])", GROUP),
        (f"e = {A}\ne.add_note('more')\nraise e", "ValueError: a\nmore"),
        ("raise ValueError", "\nValueError"),
        ("raise SyntaxError('odd')", "line 1\nSyntaxError: odd"),
        (
            "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
            "E: (its message cannot be made)",
        ),
    ],
)
def test_an_error_has_its_causes_its_group_and_its_notes(code: str, end: str) -> None:
    """Causes above it, with what joins them; below it the errors of its group, indented."""
    assert error_of(code).endswith(end)


def test_a_long_traceback_is_cut() -> None:
    """The first calls and the last ones stay, and of a chain the last errors."""
    deep = error_of("def f(n):\n    return f(n - 1) if n else 1 / 0\nf(100)")
    assert "  [72 calls left out]\n" in deep
    assert deep.count("this cell, line ") == FIRST + LAST
    assert error_of(f"e = {A}\n{CHAIN}").count("ValueError: ") == 10
    hidden = error_of("try:\n    1 / 0\nexcept Exception:\n    raise KeyError('k') from None")
    assert "ZeroDivisionError" not in hidden


def test_nothing_is_evaluated() -> None:
    """No repr of a local, no search for a name that was meant; braces stay braces."""
    code = (
        "class Spy:\n"
        "    def __repr__(self): raise SystemExit('repr')\n"
        "    __dir__ = __str__ = __repr__\n"
        "spy = Spy()\n"
        "secret = 4711\n"
        "raise ValueError('{{ 1 + 1 }} {os.environ[1]}')"
    )
    assert error_of(code).endswith("ValueError: {{ 1 + 1 }} {os.environ[1]}")
    assert "4711" not in error_of(code)
    assert error_of(code.rpartition("\n")[0] + "\nspy.nmae").endswith("has no attribute 'nmae'")
