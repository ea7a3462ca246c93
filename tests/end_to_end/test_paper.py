"""The lessons and each kind of reply by nbconvert, on paper and as a page."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

import nbformat
import pytest
from comparison import code
from lessons import NOTEBOOKS, read
from nbconvert.exporters import HTMLExporter, LatexExporter, MarkdownExporter
from nbformat import NotebookNode

from chatmagic.archive import output
from chatmagic.conversation.turn import Turn
from chatmagic.emulator import replies as practice
from chatmagic.models import Credits, Message, Reply

LESSONS: Final = [NOTEBOOKS / f"{name}.ipynb" for name in ("01-quickstart", "03-label-and-report")]
"""A lesson of plain replies, and one of tables."""
KINDS: Final = ("headings", "list", "code", "table", "math")
NOTHING: Final = '{"pandoc-api-version": [1, 23], "meta": {}, "blocks": []}'


@cache
def showing() -> NotebookNode:
    """Give a notebook with a reply of each kind that the emulator has."""
    cells = []
    for kind in KINDS:
        asked = f"Show me {kind}."
        text = practice.complete((Message("user", asked),), None).text
        reply = Reply(text, credits=Credits(100, 99, 1, None, datetime(2026, 1, 1, tzinfo=UTC)))
        record = Turn(prompt=asked, reply=reply).to_record("0" * 64)
        data, metadata = output.of_turn(reply, record)
        shown = nbformat.v4.new_output("display_data", data, metadata=metadata)  # type: ignore[no-untyped-call]
        cells.append(nbformat.v4.new_code_cell(f"%chat {asked}", outputs=[shown]))  # type: ignore[no-untyped-call]
    notebook: NotebookNode = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    return notebook


def notebooks() -> dict[str, NotebookNode]:
    """Give the lessons and the notebook that shows each kind."""
    return {**{path.stem: read(path) for path in LESSONS}, "kinds": showing()}


def converted(exporter: Any, notebook: NotebookNode) -> str:
    """Give a notebook as an exporter writes it."""
    return str(exporter.from_notebook_node(notebook)[0])


@pytest.fixture(scope="module")
def latex() -> dict[str, str]:
    """Convert the notebooks to LaTeX, their own texts left out; pandoc is started once for all."""
    if find_spec("pypandoc") is None:
        assert not os.environ.get("CI"), "pypandoc-binary is not installed"
        pytest.skip("pypandoc-binary is not installed")
    import pypandoc  # noqa: PLC0415 - of the extra test-all

    made: dict[str, str] = {}
    form = ""

    def convert(source: str, read: str, written: str, **_: object) -> str:
        nonlocal form
        if (read, written) == ("json", "latex"):
            return ""
        if written == "json":
            return NOTHING
        form = read
        return made.setdefault(source, "")

    exporter: Any = cast("Any", LatexExporter)()
    exporter.register_filter("convert_pandoc", convert)
    for notebook in notebooks().values():
        converted(exporter, notebook)
    mark = "NEXT"
    done = subprocess.run(
        [pypandoc.get_pandoc_path(), "-f", form, "-t", "latex"],
        input=f"\n\n{mark}\n\n".join(made),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    made |= zip(made, re.split(rf"^{mark}$", done.stdout, flags=re.MULTILINE), strict=True)
    return {name: converted(exporter, notebook) for name, notebook in notebooks().items()}


@pytest.mark.parametrize("name", [*(path.stem for path in LESSONS), "kinds"])
def test_paper_has_replies_and_no_source_of_them(name: str, latex: dict[str, str]) -> None:
    """Each is text with its gauge in words; a page is HTML as ever, and so is Markdown."""
    notebook = notebooks()[name]
    shown = [one.data for cell in code(notebook) for one in cell.outputs if "data" in one]
    shown = [data for data in shown if output.MARKDOWN_MARK in data.get("text/markdown", "")]
    assert shown
    words = re.sub(r"\s+", " ", latex[name])
    assert len(re.findall(r"\\emph\{[^{}]*credits? [^{}]*\}", words)) == len(shown)
    assert "(chatmagic)" not in words
    page, markdown = (converted(kind(), notebook) for kind in (HTMLExporter, MarkdownExporter))
    # nbconvert writes the attributes of its page in an order of its own.
    assert len(re.findall(r'<div [^>]*class="chatmagic mathjax', page)) >= len(shown)
    assert all(data["text/html"] in markdown for data in shown)
    assert output.MARKDOWN_MARK not in page + markdown


def test_the_manuals_template_has_what_latex_lacks(tmp_path: Path) -> None:
    """It is nbconvert's own, with the lines of the page behind its packages."""
    page = (NOTEBOOKS / "reference" / "keep.md").read_text("utf-8")
    template = tmp_path / "paper.tex.j2"
    template.write_text(page.partition("```tex\n")[2].partition("```")[0], "utf-8")
    exporter = cast("Any", LatexExporter)(template_file=str(template))
    packages = converted(exporter, nbformat.v4.new_notebook()).partition(r"\begin{document}")[0]  # type: ignore[no-untyped-call]
    assert r"\newcounter{none}" in packages.partition(r"{longtable}")[2]


def test_each_part_of_a_reply_comes_out_as_such(latex: dict[str, str]) -> None:
    """Headings, lists, code, tables and formulas, and none of them as it was typed."""
    made = latex["kinds"].partition("\\maketitle")[2]
    for command in (
        r"\paragraph{",
        r"\subparagraph{",
        r"\begin{itemize}",
        r"\begin{enumerate}",
        r"\begin{Highlighting}",
        r"\begin{longtable}",
        r"\(\bar{x}\)",
        r"\[\bar{x} = \frac",
    ):
        assert command in made, command
    replies = re.split(r"\\begin\{tcolorbox\}.*?\\end\{tcolorbox\}", made, flags=re.DOTALL)
    assert len(replies) == len(KINDS) + 1
    assert not any(re.search(r"Verbatim|^#|\*\*|\|--|```", reply) for reply in replies)
