"""The bridge in real pages: the order of the cells, marks, prose, and the status region."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from chat import HELD, PANEL, Chat
from logged import Emulator, Settings
from rig import Book, cell, wait

Open = Callable[..., Book]

LOAD = "%load_ext chatmagic"
MARKS = "notebook.node.querySelectorAll('.chatmagic-mark')"
CELL_WITH_MARK = "notebook.widgets.map(cell => Boolean(cell.node.querySelector('.chatmagic-mark')))"
STATUS = "document.getElementById('chatmagic-status')"
TAGS = "notebook.widgets.map(cell => cell.model.getMetadata('tags') ?? null)"
SPEAK = ".chatmagic-panel [role=status]"
PROSE = "text/x-ipythongfm"
IN_PAGE = "in the order of the cells in the page"


def ask(name: str) -> str:
    """Give a cell that asks."""
    return f"%%chat\necho:{name}"


def bodies(service: Emulator) -> list[list[str]]:
    """Give the messages of every request since the last time, as texts."""
    found = [
        [message["content"] for message in request.body["messages"]] for request in service.requests
    ]
    service.requests.clear()
    return found


def bridged(book: Book, *, marks: int = 0) -> None:
    """Wait until the bridge stands and the page shows so many marks."""
    book.until(f"{STATUS}?.textContent && notebook.model[Symbol.for('chatmagic.bridge')]")
    book.until(f"{MARKS}.length === given", marks)


def delete(book: Book, index: int) -> None:
    """Delete a cell, so that undoing this undoes nothing else."""
    book.js("notebook.model.sharedModel.clearUndoHistory()")
    book.select(index)
    book.command("notebook:delete-cell")


def turns(book: Book, index: int) -> list[str]:
    """Ask a cell with %chat_history for the prompts in their order."""
    lines = book.run(index, "%chat_history").splitlines()
    assert IN_PAGE in lines[-1], lines
    return [line.split("echo:")[1] for line in lines if "echo:" in line]


@pytest.mark.release
def test_a_cell_between_two_carries_what_is_above_it(notebook7: Open, service: Emulator) -> None:
    """A button runs the stale one below. Run All again, and after a restart, sends equal bodies.

    Cells that chat, and no others, are tagged for nbstripout where that is set.
    """
    load = f"{LOAD}\n%config ChatMagics.keep_output = True"
    book = notebook7([load, ask("a"), ask("c"), "%chat_history"])
    book.run_all()
    bridged(book)
    book.until(f"JSON.stringify({TAGS}) === given", '[null,["keep_output"],["keep_output"],null]')
    bodies(service)
    book.insert(2, ask("b"))
    book.run(2)
    assert bodies(service) == [["echo:a", "a", "echo:b"]]
    bridged(book, marks=1)
    assert book.js(f"return {CELL_WITH_MARK}") == [False, False, False, True, False]
    book.page.get_by_role("button", name="Run them again").click()
    bridged(book)
    assert bodies(service) == [["echo:a", "a", "echo:b", "b", "echo:c"]]
    book.run_all()
    again = bodies(service)
    assert again == [
        ["echo:a"],
        ["echo:a", "a", "echo:b"],
        ["echo:a", "a", "echo:b", "b", "echo:c"],
    ]
    bridged(book)
    assert IN_PAGE in book.text(4)
    book.restart()
    book.until(
        f"!notebook.widgets.some(cell => cell.model.mimeType === '{PROSE}' && "
        "cell.model.type === 'code')"
    )
    book.run_all()
    assert bodies(service) == again
    book.until(f"notebook.widgets[2].model.mimeType === '{PROSE}'")
    assert turns(book, 4) == ["a", "b", "c"]
    assert book.front.heard.errors == []
    assert book.front.heard.fetched == []


def test_cells_keep_their_turns(lab: Open, service: Emulator) -> None:
    """Moved, cut and pasted, deleted and brought back; a deleted one's are set aside."""
    book = lab([LOAD, ask("a"), ask("b"), ask("c"), "1"])
    book.run_all()
    bridged(book)
    book.select(1)
    book.command("notebook:move-cell-down")
    assert turns(book, 4) == ["b", "a", "c"]
    book.select(1)
    book.command("notebook:cut-cell")
    book.select(2)
    book.command("notebook:paste-cell-below")
    assert turns(book, 4) == ["a", "c", "b"]
    delete(book, 2)
    assert turns(book, 3) == ["a", "b"]
    assert "Undone: the removal of deleted cells (1 turn)" in book.run(3, "%chat_undo")
    assert turns(book, 3) == ["a", "c", "b"]
    assert "Redone: the removal of deleted cells (1 turn)" in book.run(3, "%chat_redo")
    assert turns(book, 3) == ["a", "b"]
    book.insert(2, ask("new"))
    book.run(2)
    assert bodies(service)[-1] == ["echo:a", "a", "echo:new"]
    bridged(book, marks=1)
    # A copy brings the record of its cell along, and is a new cell.
    book.select(1)
    book.command("notebook:copy-cell")
    book.command("notebook:paste-cell-below")
    assert turns(book, 5) == ["a", "new", "b"]
    delete(book, 1)
    book.command("notebook:undo-cell-action")
    assert turns(book, 5) == ["a", "new", "b"]
    # Now the copy's own cell is gone for good.
    delete(book, 1)
    assert turns(book, 4) == ["a", "new", "b"]


def test_marks_prose_and_status_are_the_pages_own(lab: Open, service: Emulator) -> None:
    """They come and go with what they are about, and the file knows nothing of them."""
    book = lab([LOAD, ask("a it's"), ask("b"), "1"])
    book.run(0)
    book.run(1)
    bridged(book)
    # It says so a moment after the cell has ended.
    book.until(f"{STATUS}.textContent === 'Complete, 2 words.'")
    said = book.listen()
    assert book.js(f"return {STATUS}.getAttribute('role')") == "status"
    book.run(2)
    wait(book.page, "said => said.length >= 2", arg=said)
    service.settings = Settings(fault="error", fault_after=-1)
    failed = book.run(2)
    wait(book.page, "said => said.length >= 3", arg=said)
    started, complete, error = said.json_value()
    assert (started, complete) == ("Reply started.", "Complete, 1 word.")
    assert error.split(". ")[0] in failed
    service.settings = type(service.settings)()
    book.run(2)

    assert book.js("return [1, 2, 3].map(at => notebook.widgets[at].model.mimeType)") == [
        PROSE,
        PROSE,
        "text/x-ipython",
    ]
    book.write(2, "1 + 1")
    book.until("notebook.widgets[2].model.mimeType === 'text/x-ipython'")
    book.write(2, ask("b"))
    book.until(f"notebook.widgets[2].model.mimeType === '{PROSE}'")

    plain = book.save()
    book.run(1)
    bridged(book, marks=1)
    mark = book.js(f"const mark = {MARKS}[0]; return [mark.getAttribute('role'), mark.innerText]")
    assert mark[0] == "note"
    assert mark[1].startswith("Stale, because cell [")
    book.screenshot("stale")
    book.insert(1, "2")
    bridged(book, marks=1)
    book.until(f"{CELL_WITH_MARK}[3]")
    delete(book, 1)
    marked = book.save()
    assert [known(one) for one in marked["cells"]] == [known(one) for one in plain["cells"]]
    assert marked["metadata"] == plain["metadata"]
    assert "Stale" not in str(marked)
    book.run(2)
    bridged(book)
    assert book.front.heard.errors == []


def test_what_is_not_in_the_conversation_wears_a_mark(lab: Open) -> None:
    """A copy until it runs, and what an undo or a reset took back; the file has none of it."""
    book = lab([LOAD, ask("a"), ask("b"), "1"])
    book.run_all()
    bridged(book)
    book.select(1)
    book.command("notebook:copy-cell")
    book.command("notebook:paste-cell-below")
    book.until(f"{MARKS}.length === 1 && {CELL_WITH_MARK}[2]")
    assert book.js(f"return {MARKS}[0].textContent").startswith("Not in the conversation: ")
    assert "Not in the conversation" not in str(book.save())
    book.screenshot("copied")
    book.run(2)
    book.until(f"!{CELL_WITH_MARK}[2]")
    delete(book, 2)
    bridged(book)
    book.run(2, ask("c"))
    book.run(3, "%chat_undo")
    book.until(f"{CELL_WITH_MARK}[2] && {MARKS}.length === 1")
    assert "removed this reply" in book.js(f"return {MARKS}[0].innerText")
    book.screenshot("taken-back")
    book.run(3, "%chat_reset")
    bridged(book, marks=2)
    book.run(3, "%chat_undo")
    book.run(3, "%chat_redo")
    bridged(book, marks=2)
    book.run(3, "%chat_undo")
    bridged(book, marks=1)
    assert "taken back" not in str(book.save())
    assert book.front.heard.errors == []


@pytest.mark.release
def test_the_first_reply_is_said_to_have_started(lab: Open, service: Emulator) -> None:
    """While it streams, once, by a region that was there before its words, and by no panel.

    The page has shown other notebooks, and shows another one of the same kernel.
    """
    book = lab([LOAD, "%%chat\necho:" + "word " * 60, PANEL, PANEL])
    for index in (0, 2, 3):
        book.run(index)
    Chat(book, 1)
    kernel = book.js("return panel.sessionContext.session.kernel.id")
    other = lab(["1"])
    other.js("await panel.sessionContext.changeKernel({id: given})", kernel)
    book.activate()
    service.settings = HELD
    said = book.listen(f"{SPEAK}, #chatmagic-status")
    assert book.js(f"return {STATUS}.textContent") == ""
    book.start(1)
    wait(book.page, "said => said.length", arg=said)
    assert said.json_value() == ["Reply started."]
    assert book.js("return notebook.widgets[1].model.executionState") == "running"
    book.js("await panel.sessionContext.session.kernel.interrupt()")
    book.ended(1)
    wait(book.page, "said => said.length > 1", arg=said)
    started, interrupted = said.json_value()
    assert started == "Reply started."
    assert interrupted.startswith("Interrupted after ")


@pytest.mark.release
def test_cells_that_are_split_and_merged(lab: Open, service: Emulator) -> None:
    """The part that keeps the cell's identity keeps its turn; undone, all is as before."""
    book = lab([LOAD, ask("a"), ask("b"), "1"])
    book.run_all()
    bridged(book)
    book.js("notebook.model.sharedModel.clearUndoHistory()")
    book.select(1)
    book.js(
        """notebook.mode = 'edit';
        notebook.activeCell.editor.setCursorPosition({line: 1, column: 5})"""
    )
    book.command("notebook:split-cell-at-cursor")
    assert turns(book, 4) == ["a", "b"]
    book.js(
        """notebook.mode = 'command'; notebook.deselectAll(); notebook.activeCellIndex = 1;
        notebook.extendContiguousSelectionTo(2)"""
    )
    book.command("notebook:merge-cells")
    book.write(1, ask("merged"))
    bodies(service)
    book.run(1)
    assert bodies(service) == [["echo:merged"]]
    assert turns(book, 3) == ["merged", "b"]
    # Two of one source, of which one is new.
    book.select(2)
    book.command("notebook:copy-cell")
    book.command("notebook:paste-cell-below")
    assert turns(book, 4) == ["merged", "b"]
    book.run(3)
    assert bodies(service) == [["echo:merged", "merged", "echo:b", "b", "echo:b"]]
    assert turns(book, 4) == ["merged", "b", "b"]


@pytest.mark.release
def test_a_cell_that_is_drawn_anew_has_its_mark_again(lab: Open) -> None:
    """A page of many cells draws those that somebody scrolls to, and no others."""
    filler = [cell("x\n\n" * 20, kind="markdown") for _ in range(8)]
    book = lab([LOAD, ask("a"), *filler, ask("b"), "1"])
    book.run_all()
    bridged(book)
    book.js("notebook.notebookConfig = {...notebook.notebookConfig, windowingMode: 'full'}")
    book.js("notebook.scrollToItem(0, 'start')")
    book.until("!notebook.widgets[5].node.isConnected")
    book.run(1)
    book.js("notebook.widgets[10].node.querySelector('.chatmagic-mark')?.remove()")
    book.js("notebook.scrollToItem(11, 'end')")
    book.until(f"{CELL_WITH_MARK}[10]")


def known(one: dict[str, Any]) -> tuple[Any, Any, list[Any]]:
    """Give what a file has of a cell, its replies apart."""
    outputs = [sorted(output) for output in one.get("outputs", [])]
    return one["source"], one["metadata"], outputs


@pytest.mark.release
def test_the_bridge_comes_back(lab: Open, service: Emulator) -> None:
    """After a reload of the page at once, after the kernel's end with the next reply."""
    book = lab([LOAD, ask("a"), ask("b"), "1"])
    book.run_all()
    book.run(1)
    bridged(book, marks=1)
    book.save()
    book.reload()
    book.until(f"{MARKS}.length === 1 && {STATUS}")
    assert book.js(f"return {STATUS}.textContent") == ""
    delete(book, 1)
    bodies(service)
    book.run(1)
    assert bodies(service) == [["echo:b"]]
    book.command("notebook:undo-cell-action")
    assert turns(book, 3) == ["a", "b"]
    book.run(1)
    book.until(f"{MARKS}.length === 1")
    # A second view of the same notebook shows the same.
    book.js("await app.commands.execute('docmanager:clone')")
    book.until("panels(path).length === 2")
    book.until("""panels(path).every(
        panel => panel.node.querySelectorAll('.chatmagic-mark').length === 1)""")
    book.js("panels(path)[1].dispose()")
    # The kernel dies, and the front end starts another one and says so.
    book.write(3, "import os; os._exit(1)")
    book.start(3)
    book.page.locator(".jp-Dialog button.jp-mod-accept").click()
    book.until(f"{MARKS}.length === 0 && notebook.widgets[1].model.mimeType !== '{PROSE}'")
    book.js("await panel.sessionContext.session.kernel.info")
    book.run(0)
    book.run(1)
    bridged(book)
    book.until(f"notebook.widgets[1].model.mimeType === '{PROSE}'")
    assert turns(book, 3) == ["a"]
    assert book.front.heard.errors == []


@pytest.mark.release
def test_a_copy_of_a_notebook_on_the_same_kernel_has_turns_of_its_own(
    lab: Open, service: Emulator
) -> None:
    """Its cells have the same identities; each page has its own order, marks and live replies."""
    first = lab([LOAD, ask("a"), ask("b"), "1"])
    first.run_all()
    bridged(first)
    kernel = first.js("return panel.sessionContext.session.kernel.id")
    path = first.front.server.folder / first.path
    second = lab([LOAD, ask("a"), ask("b"), "1"])
    (path.parent / second.path).write_text(json.dumps(first.save()), encoding="utf-8")
    second.js("await panel.context.revert()")
    second.js("await panel.sessionContext.changeKernel({id: given})", kernel)
    second.until("panel.sessionContext.session.kernel.id === given", kernel)
    assert second.ids() == first.ids()
    bodies(service)
    second.run(1, ask("c"))
    assert bodies(service) == [["echo:a", "a", "echo:b", "b", "echo:c"]]
    second.run(2, ask("d"))
    bodies(service)
    second.run(1)
    assert bodies(service) == [["echo:a", "a", "echo:b", "b", "echo:c"]]
    second.until(f"{CELL_WITH_MARK}[2]")
    assert first.js(f"return {MARKS}.length") == 0
    history = second.run(3, "%chat_history")
    assert IN_PAGE in history
    asked = [line for line in history.splitlines() if "echo:" in line]
    assert [line.split("echo:")[1] for line in asked] == list("abcd")
    assert history.count(f"of {first.path}") == 2
    assert history.count(f"of {second.path}") == 2
    first.activate()
    delete(first, 1)
    assert turns(first, 2) == ["b", "c", "d"]
    assert "Reply" not in first.js(f"return {STATUS}.textContent")
    first.js("await panel.sessionContext.changeKernel({name: 'python3'})")
    first.until(f"notebook.widgets[1].model.mimeType !== '{PROSE}'")
    assert first.front.heard.errors == []
