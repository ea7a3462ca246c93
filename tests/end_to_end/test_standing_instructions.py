"""A notebook with standing instructions: run again, headless, replayed, restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kernels import PLAIN_ENVIRONMENT, kernel
from logged import Emulator
from pages import Paper
from reruns import sent_each_time, taken

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


def test_run_twice_and_headless_and_replayed(
    service: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All send the same; a replay of the cassette, and of the notebook itself, sends nothing."""
    first = sent_each_time(service, CELLS, tmp_path / "paper.ipynb", monkeypatch)
    prompts = [body["messages"][0]["content"] for body in first]
    assert prompts[1].startswith(TERSE + "what comes before?")
    assert prompts[2] == TERSE + "What is a p-value?"
    assert prompts[4].startswith(FROM_FILE + "what comes before?")
    assert prompts[5] == FROM_FILE + "Which hold?"
    assert prompts[6] == FROM_FILE + "Anew?"
    assert prompts[7] == "Anew?"


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


def test_with_cells_and_tags_all_runs_send_the_same(
    service: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instructions in front of the first message, cells in front of the question that has them."""
    labelled = "#| label: rates\nrates = [1, 2]\nprint(rates)"
    cells = [
        ("load", "%load_ext chatmagic"),
        ("r", labelled),
        ("i", "%%chat_instructions\nYou are terse."),
        ("q1", "%%chat --above 1\nWhat is {x}?"),
        ("y", "y = 3\ny"),
        ("q2", "%chat --last 0 --above 1 --tag rates And {{ y }}?"),
    ]
    above, tagged = sent_each_time(service, cells, tmp_path / "all.ipynb", monkeypatch)
    rates = f"A cell of this notebook:\n\n```python\n{labelled}\n```\n\n"
    rates += "Its output:\n\n```\n[1, 2]\n```\n\n"
    assert above["messages"][0]["content"] == f"You are terse.\n\n{rates}What is {{x}}?"
    (message,) = tagged["messages"]
    assert message["content"].startswith(f"You are terse.\n\n{rates}")
    assert message["content"].endswith("```\n\nAnd 3?")
    assert message["content"].count("A cell of this notebook:") == 2
