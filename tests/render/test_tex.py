"""Formulas that MathJax can typeset, and those of which it would show an error."""

from __future__ import annotations

import time

import pytest
from formula_cases import BAD, GOOD

from chatmagic.render.tex import has_no_error


@pytest.mark.parametrize("tex", GOOD)
def test_what_can_be_typeset(tex: str) -> None:
    """A page shows no error."""
    assert has_no_error(tex)


@pytest.mark.parametrize("tex", BAD)
def test_what_a_page_would_show_an_error_of(tex: str) -> None:
    """An argument, a half or a table is missing, or something stands where it must not."""
    assert not has_no_error(tex)


def test_a_long_formula_takes_no_more_than_a_moment() -> None:
    """Nothing in it is read again and again."""
    started = time.process_time()
    for part in ("{", "x^", r"\sqrt[", r"\left(", r"\sqrt{", r"\text{$x$", r"\frac", "a&"):
        assert not has_no_error(part * 600)
    assert time.process_time() - started < 10
