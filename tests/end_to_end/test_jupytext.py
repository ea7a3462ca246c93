"""Chat cells in the text files of jupytext, with the metadata of the manual's page on git."""

from __future__ import annotations

import ast
import re
from typing import Any

from cases import each_case
from libraries import library
from nbformat import from_dict
from project import ROOT

METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "jupytext": {"custom_cell_magics": "chat,chat_instructions"},
}
AWKWARD = [
    "plain",
    "# %%\nafter",
    "# %% [markdown]\n# text",
    "+++\nafter",
    '+++ {"a": 1}',
    "```python\nx\n```",
    "```{code-cell}\nx\n```",
    "above\n\n\nbelow",
    "# +\nx\n# -",
    "%chat inner\n!ls",
    '"""\n# %%\n"""',
    "---\ntitle: x\n---",
    "    indented",
    "ä 🦉",
]


@each_case("format", ["py:percent", "md:myst"])
@each_case("prompt", AWKWARD)
def test_a_prompt_goes_round(prompt: str, format: str) -> None:
    """It is one cell again, with the same text, and the script around it stays Python."""
    sources = ["a = 1", f"%%chat -t 0\n{prompt}", f"%%chat_instructions\n{prompt}", "%chat b?"]
    code: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    cells = [{**code, "id": f"c{at}", "source": source} for at, source in enumerate(sources)]
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": METADATA, "cells": cells}
    notebook = from_dict(whole)  # type: ignore[no-untyped-call] # nbformat has no types
    jupytext = library("jupytext")
    text = jupytext.writes(notebook, fmt=format)
    assert [cell.source for cell in jupytext.reads(text, fmt=format).cells] == sources
    if format.startswith("py"):
        ast.parse(text)


def test_the_page_gives_the_metadata() -> None:
    """As it is tried here."""
    page = (ROOT / "notebooks" / "reference" / "keep.md").read_text("utf-8")
    named = re.search(r'"custom_cell_magics": "([^"]+)"', page)
    assert named is not None
    assert {"custom_cell_magics": named[1]} == METADATA["jupytext"]
