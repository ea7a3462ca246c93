"""A notebook with standing instructions: run again, headless, replayed, restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from kernels import PLAIN_ENVIRONMENT, kernel
from logged import Emulator
from nbclient import NotebookClient
from pages import Paper

from chatmagic.audit import audit
from chatmagic.emulator.server import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-instructions-77ab"
RULES = "Answer {{ briefly }}: $x$, {%raw%}.\n"
CELLS = [
    ("load", "%load_ext chatmagic"),
    ("q0", "%chat what comes before?"),
    ("i1", "%%chat_instructions\nYou are terse.\n\nNever say {{ no }}."),
    ("q1", "%%chat\nWhat is a p-value?"),
    ("q2", "for word in 'ab':\n    %chat --last 1 echo:$word"),
    ("i2", "%%chat_instructions --from rules.md"),
    ("q3", "%chat And now?"),
    ("i3", "%%chat_instructions\nTaken back."),
    ("undo", "%chat_undo"),
    ("q4", "%chat --last 0 Which hold?"),
    ("reset", "%chat_reset"),
    ("q5", "%chat Anew?"),
    ("i4", "%%chat_instructions"),
    ("q6", "%chat Without any?"),
]
TERSE = "You are terse.\n\nNever say {{ no }}.\n\n"
FROM_FILE = RULES + "\n"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Emulator]:
    """A service that the environment names, and the file beside the notebook."""
    (tmp_path / "rules.md").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    with Emulator(Settings(credits=1000)) as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield emulator


def taken(service: Emulator) -> list[Any]:
    """Give the bodies of the requests that came since, and forget them."""
    bodies = [request.body for request in service.requests]
    service.requests.clear()
    return bodies


def headless(path: Path) -> list[str]:
    """Run the notebook as nbclient does, and save it; give its replies."""
    book = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]
        cells=[nbformat.v4.new_code_cell(source, id=id) for id, source in CELLS]  # type: ignore[no-untyped-call]
    )
    NotebookClient(book, resources={"metadata": {"path": str(path.parent)}}).execute()
    nbformat.write(book, path)  # type: ignore[no-untyped-call]
    return [
        output["data"]["text/plain"]
        for cell in book.cells
        for output in cell.outputs
        if output.get("metadata", {}).get("chatmagic", {}).get("kind") == "turn"
    ]


def test_run_twice_and_headless_and_replayed(
    service: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All send the same; a replay of the cassette, and of the notebook itself, sends nothing."""
    runs = []
    connected = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY}
    with kernel({**PLAIN_ENVIRONMENT, **connected}) as running:
        for _ in range(2):
            for id, source in CELLS:
                assert running.run(source, cell=id).status == "ok"
            runs.append(taken(service))
    first, again = runs
    assert first == again
    prompts = [body["messages"][0]["content"] for body in first]
    assert prompts[1].startswith(TERSE + "what comes before?")
    assert prompts[2] == TERSE + "What is a p-value?"
    assert prompts[4].startswith(FROM_FILE + "what comes before?")
    assert prompts[5] == FROM_FILE + "Which hold?"
    assert prompts[6] == FROM_FILE + "Anew?"
    assert prompts[7] == "Anew?"
    path, tape = tmp_path / "paper.ipynb", tmp_path / "talk.jsonl"
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tape))
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    replies = headless(path)
    assert taken(service) == first
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    assert headless(tmp_path / "again.ipynb") == replies
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(path))
    assert headless(tmp_path / "again.ipynb") == replies
    assert taken(service) == []
    for found in audit.audit_all([path, tape]):
        assert (found.problems, found.in_order) == ((), True), found


def test_restored_it_goes_on_as_it_was(service: Emulator, tmp_path: Path) -> None:
    """From its outputs alone, though the file has changed: the same next request."""
    sent: dict[str, Any] = {}
    for name in ("uninterrupted", "restarted"):
        (tmp_path / "rules.md").write_text(RULES)
        paper = Paper(tmp_path / f"{name}.ipynb")
        connected = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY}
        notebook = {"JPY_SESSION_NAME": str(paper.path)}
        with kernel({**PLAIN_ENVIRONMENT, **connected, **notebook}) as running:
            for id, source in CELLS[:-2]:
                paper.ran(id, source, running.run(source, cell=id).outputs)
            paper.save()
            (tmp_path / "rules.md").write_text("Other rules.")
            taken(service)
            if name == "restarted":
                running.restart()
                running.run("%load_ext chatmagic")
                assert "stale" not in running.run("%chat_load", cell="again").text
            assert running.run("%chat And next?", cell="next").status == "ok"
            sent[name] = taken(service)
    assert sent["restarted"] == sent["uninterrupted"]
    assert sent["restarted"][0]["messages"][0]["content"] == FROM_FILE + "Anew?"
