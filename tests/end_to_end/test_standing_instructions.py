"""A notebook with standing instructions: run again, headless, replayed, restored."""

from __future__ import annotations

from pathlib import Path

import pytest
from logged import Emulator
from reruns import sent_each_time

RULES = "Answer {{ briefly }}: $x$, {%raw%}.\n"
LABELLED = "#| label: rates\nrates = [1, 2]\nprint(rates)"
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
    ("r", LABELLED),
    ("i5", "%%chat_instructions\nYou are terse."),
    ("q7", "%%chat --last 0 --above 1\nWhat is {x}?"),
    ("y", "y = 3\ny"),
    ("q8", "%chat --last 0 --above 1 --tag rates And {{ y }}?"),
]
TERSE = "You are terse.\n\nNever say {{ no }}.\n\n"
FROM_FILE = RULES + "\n"


def test_run_twice_and_headless_and_replayed(
    service: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All send the same; a replay of the cassette, and of the notebook itself, sends nothing.

    Instructions go in front of the first message, cells in front of the question that has them.
    """
    (tmp_path / "rules.md").write_text(RULES)
    first = sent_each_time(service, CELLS, tmp_path / "paper.ipynb", monkeypatch)
    prompts = [body["messages"][0]["content"] for body in first]
    assert prompts[1].startswith(TERSE + "what comes before?")
    assert prompts[2] == TERSE + "What is a p-value?"
    assert prompts[4].startswith(FROM_FILE + "what comes before?")
    assert prompts[5] == FROM_FILE + "Which hold?"
    assert prompts[6] == FROM_FILE + "Anew?"
    assert prompts[7] == "Anew?"
    rates = f"A cell of this notebook:\n\n```python\n{LABELLED}\n```\n\n"
    rates += "Its output:\n\n```\n[1, 2]\n```\n\n"
    assert prompts[8] == f"You are terse.\n\n{rates}What is {{x}}?"
    assert prompts[9].startswith(f"You are terse.\n\n{rates}")
    assert prompts[9].endswith("```\n\nAnd 3?")
    assert prompts[9].count("A cell of this notebook:") == 2
