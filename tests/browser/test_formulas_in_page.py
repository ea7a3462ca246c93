"""Formulas in a real page: what people write is typeset without an error."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from formula_cases import BAD, GOOD
from rig import Book

from chatmagic.render import formula_allowlist

SHOW = """
import json
from IPython.display import display
from chatmagic.render import markdown
html = "".join(markdown.to_html(f"a ${tex}$\\n\\n$${tex}$$") for tex in json.load(open("tex.json")))
display({"text/html": html}, raw=True)
"""
SHOWN = "return document.querySelectorAll('.jp-OutputArea-output %s').length"


@pytest.mark.release
def test_no_formula_is_an_error(lab: Callable[..., Book]) -> None:
    """What can be typeset is, and the rest is its source, in a line and alone."""
    book = lab([SHOW])
    every = [*GOOD, *BAD]
    (book.front.server.folder / "tex.json").write_text(json.dumps(every), encoding="utf-8")
    book.run(0)
    good = [tex for tex in every if formula_allowlist.typeset_form(tex)]
    book.until("document.querySelectorAll('mjx-container').length >= given", 2 * len(good) - 20)
    book.until("!document.querySelector('.mathjax_process:not(:has(mjx-container))')")
    assert book.js(SHOWN % ":is([data-mjx-error], mjx-merror, merror)") == 0
    assert book.js(SHOWN % "code") >= 2 * (len(every) - len(good)) - 20
    book.screenshot("formulas")


@pytest.mark.release
def test_no_formula_that_lacks_arguments_stops_the_page(lab: Callable[..., Book]) -> None:
    """However many levels it seems to open: the page shows an error, or the formula, at once."""
    parts = [
        "x^",
        "^",
        r"\sqrt[",
        r"\frac",
        r"\frac1",
        r"\frac{1}",
        r"\hat",
        r"\sqrt[{]}",
        r"x^\sqrt ",
    ]
    long = [part * 200 for part in parts]
    assert all(map(formula_allowlist.typeset_form, long))
    book = lab([SHOW, "1"])
    (book.front.server.folder / "tex.json").write_text(json.dumps(long), encoding="utf-8")
    book.run(0)
    book.until("document.querySelector('.mathjax_process mjx-container')")
    book.until("!document.querySelector('.mathjax_process:not(:has(mjx-container))')")
    book.run(1)
