"""``%chat_code``: the code of a reply as cells of the notebook, or shown to copy.

The page makes the cells (:mod:`chatmagic.jupyter.page.bridge`). Only the page knows the cells that
wait to run, and the earlier cells that were edited or run since.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from chatmagic._json import digest
from chatmagic.conversation.options import Option
from chatmagic.jupyter import reply_views
from chatmagic.jupyter.cells.running_cell import page_of, running
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.page.messages import Message
from chatmagic.models import CodeBlock
from chatmagic.render import markdown, markdown_parser, safe_markdown
from chatmagic.safe_text import counted, fenced, to_terminal, visible

Kind = Literal["code", "markdown"]
PYTHON: Final = frozenset(["", "py", "py3", "pycon", "python", "python3", "ipython", "ipython3"])
"""Languages whose blocks become code cells; blocks in others would only fail when they run."""
MOST: Final = 200
"""Largest number of cells that are made of a reply; thousands of cells block a page."""
NO_CELLS: Final = "No cells were made: "
WITHOUT_PAGE: Final = (
    f"{NO_CELLS}only a page of JupyterLab or Notebook 7 makes them, when it has listed its cells, "
    "which it does not while all cells run. The code, to copy:"
)
QUEUED: Final = f"{NO_CELLS}other cells are running or waiting to run. Run this cell alone."
SAME: Final = "Nothing was changed: the cells of this code are there already."
REFUSED: Final = f"{NO_CELLS}this page does not allow it. Copy the code, or paste it into a cell."


def _code(kernel: Kernel, given: Arguments) -> None:
    """Put the code of a reply into cells below this one; nothing of it is run.

    ``%chat_code`` takes the last reply before this cell, ``%chat_code 2`` the second turn's.
    A second run with the same code changes nothing; with other code it removes those of its cells
    that were neither edited nor run. It needs JupyterLab or Notebook 7; elsewhere the
    code is shown to copy.
    """
    window = kernel.window()
    turns = kernel.session.conversation.of_thread(window.thread).turns
    number = given.turn_number(len(turns), default=window.places[-1][0] if window.turns else 0)
    turn = turns[number - 1]
    reply = turn.reply
    if turn.format == "code" and not reply.code_blocks:
        reply = replace(reply, text=fenced(reply.text))
    blocks = reply.code_blocks
    if not blocks:
        _show(f"The reply of turn {number:,} has no block of code. Nothing was changed.")
        return
    cells = cells_of(reply.text, prose="--prose" in given.options)
    if len(cells) > MOST:
        _show(f"{NO_CELLS}they would be {len(cells):,}, more than {MOST}. Copy the code.")
        return
    execution = running(kernel.shell)
    if execution.audience == "page":
        kernel.page.open_bridge()
    _put_below(kernel, execution.cell, cells, blocks)


def _put_below(
    kernel: Kernel,
    owner: str | None,
    cells: Sequence[tuple[Kind, str]],
    blocks: Sequence[CodeBlock],
) -> None:
    """Have the page put cells below the running one, and show the outcome.

    Args:
        kernel: the kernel.
        owner: hash of the running cell.
        cells: kinds and sources of the new cells.
        blocks: the code to copy, where no page makes cells.
    """
    bridge = kernel.page.bridge
    page = page_of(kernel.shell)
    if bridge is None or not bridge.listed_with(owner, page):
        _show(WITHOUT_PAGE, blocks)
        return
    place = reply_views.OutputPlace()
    place.note(*_note(f"{counted(len(cells), 'cell')} for this page."))

    def take_answer(answer: Message) -> str:
        """Show the outcome, and return it in words."""
        words = _outcome(answer)
        is_refused = answer["outcome"] == "refused"
        place.note(*_note(words, blocks if is_refused else ()))
        return words

    made: list[Message] = [
        {"id": str(uuid.uuid4()), "cell_type": kind, "source": source} for kind, source in cells
    ]
    request: Message = {"kind": "code", "digest": digest(cells)[:16], "cells": made}
    bridge.ask_page(owner, lambda _: request, take_answer, page)


def cells_of(text: str, *, prose: bool) -> list[tuple[Kind, str]]:
    """Return the kinds and the sources of the cells that a reply becomes.

    Blocks in Python become code cells, and blocks in another language Markdown cells.

    Args:
        text: the reply.
        prose: whether the text between the blocks becomes Markdown cells.
    """
    cells: list[tuple[Kind, str]] = []
    for part in markdown_parser.code_and_prose(text):
        if isinstance(part, str):
            if prose:
                cells.append(("markdown", safe_markdown.to_markdown(part)))
        elif part.language.strip("{}").lower() in PYTHON:
            cells.append(("code", visible(part.code)))
        else:
            cells.append(("markdown", fenced(visible(part.code))))
    return cells


def _outcome(answer: Message) -> str:
    """Return the outcome for the cells, in words."""
    fixed = {"same": SAME, "queued": QUEUED, "refused": REFUSED}.get(answer["outcome"])
    if fixed is not None:
        return fixed
    words = f"{counted(answer['made'], 'cell')} put below; nothing of it was run."
    if answer["removed"]:
        words += f" {counted(answer['removed'], 'cell')} of before removed."
    if answer["left"]:
        words += f" {counted(answer['left'], 'cell')} of before left, as edited or run since."
    return words


def _show(words: str, blocks: Sequence[CodeBlock] = ()) -> None:
    """Show a sentence, and code to copy."""
    reply_views.show_html(*_note(words, blocks))


def _note(words: str, blocks: Sequence[CodeBlock] = ()) -> tuple[str, str]:
    """Return a sentence and code to copy, as HTML and as text."""
    html, text = reply_views.sentence(words)
    code = markdown.to_html("\n\n".join(fenced(block.code) for block in blocks))
    return f"{html}{code}", "\n\n".join([text, *(to_terminal(block.code) for block in blocks)])


CODE: Final = Command(
    "chat_code",
    _code,
    (Option("--prose", "make Markdown cells of the text between"),),
    forms=("[TURN] [--prose]",),
)
