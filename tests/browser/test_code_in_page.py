"""Code of replies in real pages: its buttons, and ``%chat_code``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hostile import CORPUS
from rig import Book

from chatmagic.render import markdown_parser, safe_markdown

Open = Callable[..., Book]

LOAD = "%load_ext chatmagic"
STATUS = "document.getElementById('chatmagic-status')"
BRIDGE = "notebook.model[Symbol.for('chatmagic.bridge')]"


def reply(*blocks: str) -> str:
    """Return a cell that asks for blocks of Python, with a word before each."""
    text = "\n".join(f"Then:\n```python\n{block}\n```" for block in blocks)
    return f"%%chat\necho:{text}"


def sources(book: Book) -> list[str]:
    """Return the cells' sources from top to bottom."""
    return list(book.js("return notebook.widgets.map(cell => cell.model.sharedModel.getSource())"))


def kinds(book: Book) -> list[str]:
    """Return the cells' kinds from top to bottom."""
    return list(book.js("return notebook.widgets.map(cell => cell.model.type)"))


def asked(open_: Open, *blocks: str) -> Book:
    """Open a notebook whose second cell has asked for code, and wait for the bridge."""
    book = open_([LOAD, reply(*blocks), "%chat_code", "'below'"])
    book.run(0)
    book.run(1)
    book.until(f"{STATUS}?.textContent && {BRIDGE}")
    return book


def put(book: Book, outcome: str, line: str = "%chat_code") -> None:
    """Run the cell that puts code, and wait for what it says."""
    book.run(2, line)
    book.until("notebook.widgets[2].outputArea.node.innerText.includes(given)", outcome)


def test_code_becomes_cells(lab: Open) -> None:
    """Once, in order, as one step of the page's own undo; nothing of it runs."""
    book = asked(lab, "x = 1", "y = 2")
    head = [LOAD, reply("x = 1", "y = 2"), "%chat_code"]
    put(book, "2 cells put below; nothing of it was run.")
    assert sources(book) == [*head, "x = 1", "y = 2", "'below'"]
    assert book.outputs(3) == []
    put(book, "Nothing was changed")
    assert sources(book) == [*head, "x = 1", "y = 2", "'below'"]
    book.command("notebook:undo-cell-action")
    assert sources(book) == [*head, "'below'"]
    book.command("notebook:redo-cell-action")
    assert sources(book) == [*head, "x = 1", "y = 2", "'below'"]
    book.screenshot("code-cells")
    saved = book.save()["cells"]
    assert saved[3]["metadata"]["chatmagic"]["code"]["by"] == saved[2]["id"]
    assert book.front.heard.errors == []


@pytest.mark.release
def test_other_code_leaves_what_was_edited_or_run(lab: Open) -> None:
    """Also after the file was opened again; Markdown cells with ``--prose``."""
    book = asked(lab, "x = 1", "y = 2", "z = 3")
    put(book, "3 cells put below")
    book.run(3)
    book.write(4, "y = 2  # mine")
    book.save()
    book.reopen()
    book.until(BRIDGE)
    book.run(1, reply("w = 4"))
    put(book, "1 cell of before removed. 2 cells of before left", "%chat_code --prose")
    assert sources(book)[3:] == ["Then:", "w = 4", "x = 1", "y = 2  # mine", "'below'"]
    assert kinds(book)[3:] == ["markdown", "code", "code", "code", "code"]
    book.command("notebook:undo-cell-action")
    assert sources(book)[3:] == ["x = 1", "y = 2  # mine", "z = 3", "'below'"]
    assert book.front.heard.errors == []


@pytest.mark.release
def test_while_cells_are_queued_none_are_made(lab: Open) -> None:
    """As with Run All, after which the notebook has the cells that it had."""
    book = asked(lab, "x = 1")
    before = sources(book)
    book.write(3, "import time; time.sleep(1)")
    before[3] = "import time; time.sleep(1)"
    book.run_all()
    book.until(
        "notebook.widgets[2].outputArea.node.innerText.includes('No cells were made: other')"
    )
    assert sources(book) == before


def test_prose_is_hostile_until_it_is_made_safe(lab: Open) -> None:
    """As a Markdown cell it fetches nothing, and has no element of the model's."""
    text = (
        "![a](https://evil.example/a.png) <img src='https://evil.example/b.png'> "
        "\\(a+b\\) <b style='position:fixed'>x</b> $\\href{https://evil.example}{y}$\n"
        "```python\nx\n```\n~~~mermaid\ngraph TD; A-->B\n~~~\n"
    )
    book = lab([LOAD, f"%%chat\necho:{text}", "%chat_code", "1"])
    book.run(0)
    book.run(1)
    book.until(f"{STATUS}?.textContent && {BRIDGE}")
    put(book, "3 cells put below", "%chat_code --prose")
    book.until("notebook.widgets[3].node.querySelector('.jp-RenderedMarkdown mjx-container')")
    counted = book.js(
        "return notebook.widgets[3].node.querySelectorAll("
        "'.jp-RenderedMarkdown :is(img, b, mjx-container)').length"
    )
    assert counted == 1
    assert book.js("return document.querySelectorAll('.jp-RenderedMermaid').length") == 0
    assert book.front.heard.fetched == []


def tools(book: Book, index: int) -> Any:
    """Return the names of the buttons in a cell's output."""
    return book.js(
        """return Array.from(notebook.widgets[given].outputArea.node.querySelectorAll('button'))
        .map(button => button.title)""",
        index,
    )


@pytest.mark.release
def test_the_code_of_a_reply_has_quiet_buttons(lab: Open) -> None:
    """By mouse and by key; the file has nothing of them."""
    book = asked(lab, "x = 1", "y = 2")
    names = ["Copy this code", "Put this code into a new cell"]
    book.until("document.querySelectorAll('.cm-in-cell').length === 2")
    assert tools(book, 1) == names * 2
    page = book.page
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    frames = page.locator(".cm-in-cell")
    button = frames.nth(1).get_by_role("button", name=names[1])
    assert (
        frames.nth(1).locator(".cm-tools").evaluate("node => getComputedStyle(node).opacity") == "0"
    )
    frames.nth(1).hover()
    book.until(
        "getComputedStyle(document.querySelectorAll('.cm-in-cell .cm-tools')[1]).opacity === '1'"
    )
    book.screenshot("code-tools")
    button.click()
    book.until("notebook.widgets.length === 5")
    assert sources(book)[2] == "y = 2"
    assert book.js(f"return {STATUS}.textContent") == "Put into a new cell below."
    frames.nth(0).get_by_role("button", name=names[0]).focus()
    page.keyboard.press("Enter")
    book.until("window.copied")
    assert page.evaluate("window.copied") == "x = 1\n"
    page.evaluate("delete navigator.clipboard.writeText")
    assert book.js(f"return {STATUS}.textContent") == "The code is on the clipboard."
    saved = str(book.save())
    assert "cm-in-cell" not in saved
    assert "cm-tools" not in saved
    # So has a page that is loaded again, and a reply that is drawn anew, as while it streams.
    book.reopen()
    book.until("document.querySelectorAll('.cm-in-cell').length === 2")
    book.run(1, reply("again"))
    book.until("document.querySelectorAll('.cm-in-cell').length === 1")
    book.run(3, "%unload_ext chatmagic")
    book.until("document.querySelectorAll('.cm-in-cell').length === 0")
    assert book.shown(1).startswith("Then:")
    assert book.front.heard.errors == []


@pytest.mark.release
def test_no_text_between_code_acts_in_a_markdown_cell(lab: Open) -> None:
    """Each hostile reply of the corpus as the Markdown cells that ``--prose`` makes of it."""
    sources = [
        safe_markdown.to_markdown(part)
        for number, hostile in enumerate(CORPUS)
        if not hostile.long
        for part in markdown_parser.code_and_prose(hostile.armed(number, "https://evil.example"))
        if isinstance(part, str)
    ]
    book = lab(["1"])
    book.js("window.acted = []; window.ran = (number) => window.acted.push(number)")
    acting = (
        "img, script, iframe, style, link, object, embed, video, audio, form, input, button, svg, "
        "mjx-merror, a[href^=javascript], [style]:not(mjx-container, mjx-container *)"
    )
    # As a Markdown cell does; a notebook draws those alone that somebody scrolls to.
    seen = book.js(
        """const [texts, acting] = given, {rendermime} = notebook, shown = [];
        for (const text of texts) {
          const one = rendermime.createRenderer('text/markdown');
          shown.push(one.node);
          document.body.append(one.node);
          await one.renderModel(rendermime.createModel({data: {'text/markdown': text}}));
          await rendermime.latexTypesetter.typeset(one.node);
        }
        const found = (what) => shown.flatMap((node) => [...node.querySelectorAll(what)]);
        const seen = [found(acting).map((node) => node.outerHTML), found('mjx-container').length];
        shown.forEach((node) => node.remove());
        return seen;""",
        [sources, acting],
    )
    assert seen[0] == []
    assert seen[1] > 0
    assert book.js("return window.acted") == []
    assert book.front.heard.fetched == []
