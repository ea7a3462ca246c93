"""A notebook that steers its conversation: rerun, headless, replayed, restored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from comparison import Comparison
from kernels import PLAIN_ENVIRONMENT, kernel
from lessons import read
from logged import Emulator
from pages import Paper
from reruns import sent_each_time, taken
from shells import KEY

from chatmagic.conversation.question import ASKED_FOR_THE_REST

BOTH = "%chat echo:both\n%chat_thread both"
CELLS = [
    ("load", "%load_ext chatmagic"),
    ("q0", "%chat echo:q0"),
    ("q1", "%%chat\necho:q1"),
    ("t1", "%chat_thread sql"),
    ("i1", "%%chat_instructions\nYou are terse."),
    ("q2", "for word in 'ab':\n    %chat echo:loop"),
    ("q3", "%chat --thread main echo:q3"),
    ("t2", "%chat_thread main"),
    ("i2", "%%chat_instructions"),
    ("q4", "%chat echo:q4"),
    ("both", BOTH),
    ("f1", "%chat_thread --fork 2 other"),
    ("q5", "%chat echo:q5"),
    ("d1", "%chat_thread --delete sql"),
    ("t3", "%chat_thread sql"),
    ("q6", "%chat echo:q6"),
    ("undo", "%chat_undo"),
    ("q7", "%chat echo:q7"),
    ("t4", "%chat_thread other"),
    ("q8", "%chat --last 3 echo:q8"),
    ("r1", "%chat_retry 3"),
    ("p1", "%chat_retry --pick 1 3"),
    ("r2", "%chat_retry"),
    ("h1", "%chat_hide 2"),
    ("q9", "%chat --hide echo:q9"),
    ("qa", "%chat --last 2 echo:qa"),
    ("h2", "%chat_hide 1\n%chat_hide --show 2"),
    ("qb", "%chat echo:qb"),
    ("r3", "%chat_retry"),
    ("t5", "%chat_thread long"),
    ("l1", "%chat -n 2 count to 9"),
    ("g1", "%chat_continue"),
    ("g2", "for _ in 'ab':\n    %chat_continue 1"),
    ("p2", "%chat_retry --pick 3 1"),
    ("i3", "%%chat_instructions --from rules.md"),
    ("l2", "%chat echo:l2"),
    ("t6", "%chat_thread other"),
]
TERSE = "You are terse.\n\n"
RULES = "Answer {{ briefly }}: $x$, {%raw%}.\n"


def asked(body: Any) -> list[str]:
    """Give a body's messages of the user."""
    return [each["content"] for each in body["messages"] if each["role"] == "user"]


@pytest.mark.release
def test_run_twice_and_headless_and_replayed(
    service: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All send the same, replays nothing; what a cell shows is the same each time."""
    (tmp_path / "rules.md").write_text(RULES)
    path = tmp_path / "paper.ipynb"
    bodies = sent_each_time(service, CELLS, path, monkeypatch, raising=[BOTH])
    assert [asked(body) for body in bodies] == [
        ["echo:q0"],
        ["echo:q0", "echo:q1"],
        [TERSE + "echo:loop"],
        [TERSE + "echo:loop", "echo:loop"],
        [TERSE + "echo:q0", "echo:q1", "echo:q3"],
        ["echo:q0", "echo:q1", "echo:q3", "echo:q4"],
        ["echo:q0", "echo:q1", "echo:q5"],
        ["echo:q6"],
        ["echo:q7"],
        ["echo:q0", "echo:q1", "echo:q5", "echo:q8"],
        ["echo:q0", "echo:q1", "echo:q5"],
        ["echo:q0", "echo:q1", "echo:q5", "echo:q8"],
        ["echo:q0", "echo:q5", "echo:q8", "echo:q9"],
        ["echo:q5", "echo:q8", "echo:qa"],
        ["echo:q1", "echo:q5", "echo:q8", "echo:qa", "echo:qb"],
        ["echo:q1", "echo:q5", "echo:q8", "echo:qa", "echo:qb"],
        ["count to 9"],
        ["count to 9", ASKED_FOR_THE_REST],
        ["count to 9", ASKED_FOR_THE_REST],
        ["count to 9", ASKED_FOR_THE_REST],
        [f"{RULES}\ncount to 9", "echo:l2"],
    ]
    assert bodies[-1]["messages"][1]["content"] == "one, two, three, four, five, six, "
    saved, replayed = map(read, (path, path.with_name("again.ipynb")))
    assert Comparison().agrees(replayed, saved)
    assert "Thread other for the questions below. It begins with the first 2" in path.read_text()


@pytest.mark.release
def test_restored_it_goes_on_as_it_was(service: Emulator, tmp_path: Path) -> None:
    """From its outputs alone, and from the files that were saved: the same next requests.

    The instructions are those that were read, though their file has changed.
    """
    sent: dict[str, Any] = {}
    saved = "%chat_save talk.json\n%chat_save talk.ipynb"
    ways = {"uninterrupted": "", "outputs": "%chat_load"}
    ways |= {name: f"%chat_load talk.{name}" for name in ("json", "ipynb")}
    (tmp_path / "rules.md").write_text(RULES)
    paper = Paper(tmp_path / "paper.ipynb")
    connected = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY}
    notebook = {"JPY_SESSION_NAME": str(paper.path)}
    with kernel({**PLAIN_ENVIRONMENT, **connected, **notebook}) as running:
        for id, source in CELLS:
            paper.ran(id, source, running.run(source, cell=id).outputs)
        paper.save()
        assert running.run(saved).status == "ok"
        (tmp_path / "rules.md").write_text("Other rules.")
        taken(service)
        for name, load in ways.items():
            if load:
                running.restart()
                running.run("%load_ext chatmagic")
                assert "stale" not in running.run(load, cell="again").text
            assert running.run("%chat echo:next", cell="next").status == "ok"
            assert running.run("%chat --thread main echo:more", cell="more").status == "ok"
            assert running.run("%chat --thread long echo:long", cell="long").status == "ok"
            table = running.run("%chat_thread", cell="list").text
            assert "This cell stands in the thread other." in table
            sent[name] = taken(service)
    assert asked(sent["uninterrupted"][0])[-4:] == ["echo:q8", "echo:qa", "echo:qb", "echo:next"]
    more = [f"{RULES}\necho:q1", "echo:q3", "echo:q4", "echo:more"]
    assert asked(sent["uninterrupted"][1]) == more
    assert sent["uninterrupted"][2]["messages"][1]["content"].endswith(" five, six, ")
    assert all(bodies == sent["uninterrupted"] for bodies in sent.values())
