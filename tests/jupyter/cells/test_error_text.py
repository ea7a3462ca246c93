"""An error as plain text: what it says, what it leaves out, and what it never evaluates."""

from __future__ import annotations

import pytest

from chatmagic.jupyter.cells import error_text


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


def text(code: str) -> str:
    """Return the text of the error that a cell raises."""
    return error_text.traceback_text(raised(code), cell_of)


def test_a_traceback_names_files_without_their_folders() -> None:
    """From the cell on: what is above it is not the user's."""
    lines = text("import json\njson.loads('{')").splitlines()
    assert lines[:3] == [
        "Traceback (most recent call last):",
        "  this cell, line 2",
        "  json/__init__.py, line " + lines[2].split("line ")[1],
    ]
    assert lines[-1].startswith("json.decoder.JSONDecodeError: Expecting property name")
    own = error_text.traceback_text(raised("1 / 0", "/home/ann/secret/helpers.py"), cell_of)
    assert own.endswith("\n  helpers.py, line 1\nZeroDivisionError: division by zero")
    assert "/" not in own.replace("1 / 0", "")
    packaged = error_text.traceback_text(
        raised("1 / 0", "/x/lib/site-packages/pandas/a.py"), cell_of
    )
    assert "\n  pandas/a.py, line 1\n" in packaged


def test_a_syntax_error_has_its_line() -> None:
    """With a caret, and without the frames of what compiled it."""
    assert text("x = 1\nif x:\n  x = )") == (
        "  this cell, line 3\n    x = )\n        ^\nSyntaxError: unmatched ')'"
    )
    assert text("raise SyntaxError('odd')").endswith("line 1\nSyntaxError: odd")


def test_causes_and_contexts_come_first() -> None:
    """Each with what joins it to the next; a circle ends."""
    caused = text(
        "try:\n    1 / 0\nexcept ValueError.__base__ as e:\n    raise KeyError('k') from e"
    )
    assert caused.index("ZeroDivisionError") < caused.index("was the direct cause of the following")
    assert caused.endswith("KeyError: 'k'")
    during = text("try:\n    1 / 0\nexcept Exception:\n    raise KeyError('k')")
    assert "While the error above was handled, the following" in during
    hidden = text("try:\n    1 / 0\nexcept Exception:\n    raise KeyError('k') from None")
    assert "ZeroDivisionError" not in hidden
    assert "E0" in text("class E0(Exception): pass\na, b = E0('a'), E0('b')\nb.__cause__ = a\n"
                        "a.__cause__ = b\nraise a")  # fmt: skip


def test_a_long_chain_is_cut() -> None:
    """And says so."""
    code = (
        "e = ValueError(0)\nfor n in range(1, 30):\n    f = ValueError(n)\n"
        "    f.__cause__ = e\n    e = f\nraise e"
    )
    chain = text(code)
    assert chain.startswith("[20 earlier errors left out]\n")
    assert chain.count("ValueError: ") == error_text.MOST_ERRORS


def test_a_group_has_its_members() -> None:
    """Indented, in one another, and no more of them than can be read."""
    group = text(
        "raise ExceptionGroup('all', [ValueError('a'), ExceptionGroup('in', [KeyError(1)])])"
    )
    assert group.endswith(
        "ExceptionGroup: all (2 sub-exceptions)\n"
        "  Error 1 of 2 in the group:\n    ValueError: a\n"
        "  Error 2 of 2 in the group:\n    ExceptionGroup: in (1 sub-exception)\n"
        "      Error 1 of 1 in the group:\n        KeyError: 1"
    )
    many = text("raise ExceptionGroup('all', [ValueError(n) for n in range(30)])")
    assert many.endswith("  [20 more errors left out]")
    deep = "e = ValueError()\nfor n in range(9):\n    e = ExceptionGroup('g', [e])\nraise e"
    assert "[1 errors left out, nested too deeply]" in text(deep)


def test_a_deep_recursion_is_cut() -> None:
    """The first calls and the last ones stay, and how many are left out is said."""
    deep = text("def f(n):\n    return f(n - 1) if n else 1 / 0\nf(100)")
    assert "  [72 calls left out]\n" in deep
    assert deep.count("this cell, line ") == error_text.FIRST + error_text.LAST


def test_notes_stand_below_the_message() -> None:
    """What ``add_note`` added; anything else in its place is left out."""
    assert text("e = ValueError('v')\ne.add_note('more')\nraise e").endswith("ValueError: v\nmore")
    assert text("e = ValueError('v')\ne.__notes__ = 'no'\nraise e").endswith("ValueError: v")
    assert text("raise ValueError").endswith("\nValueError")


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
    assert text(code).endswith("ValueError: {{ 1 + 1 }} {os.environ[1]}")
    assert "4711" not in text(code)
    assert text(code.rpartition("\n")[0] + "\nspy.nmae").endswith("has no attribute 'nmae'")


def test_a_message_that_cannot_be_made() -> None:
    """The user's own class may fail to give it; a long one is cut."""
    code = "class E(Exception):\n    def __str__(self): raise ValueError\nraise E"
    assert text(code).endswith("(its message cannot be made)")
    long = text("raise ValueError('x' * 30_000)")
    assert long.endswith("[the first 20,000 of 30,000 characters]")
