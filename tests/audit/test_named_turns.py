"""Commands that name a turn above their cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from audits import page, run
from pages import cell, output, save

from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply

Told = Callable[[Sequence[Any]], list[str]]
NOWHERE = "the question that it asks again stands nowhere above it: removed or edited"
OPTIONS = "its options were edited after it was asked"


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """Give all lines on a notebook."""
    return lambda cells: run(capsys, [save(tmp_path / "n.ipynb", cells)])[1].splitlines()


def digest(prompt: str, reply: str) -> str:
    """Give the digest of a turn."""
    return Turn(prompt=prompt, reply=Reply(reply)).digest


def retry(source: str, reply: str = "s", **changes: Any) -> dict[str, Any]:
    """Give a cell that asked the question ``p`` again."""
    return {**page("p", reply, in_place_of=(digest("p", "r"),), **changes), "source": source}


def faults(lines: Sequence[str]) -> list[str]:
    """Give the faults."""
    return [line for line in lines if line.startswith("!")]


@pytest.mark.parametrize(
    ("source", "parameters", "said"),
    [
        ("%chat_retry", {}, ""),
        ("%chat_retry 1", {}, ""),
        ("%chat_retry 2", {}, "its line names turn 2, and its reply answers turn 1"),
        ("%chat_retry -t 0.5 1", {"temperature": 0.5}, ""),
        ("%chat_retry --temperature=0.5", {"temperature": 0.5}, ""),
        ("%chat_retry -t $t", {"temperature": 0.5}, ""),
        ("%chat_retry -t 0.6", {"temperature": 0.5}, OPTIONS),
        ("%chat_retry -t warm", {"temperature": 0.5}, OPTIONS),
        ("%chat_retry", {"temperature": 0.5}, OPTIONS),
        ("%chat_retry -t 0.5", {}, OPTIONS),
        ("%chat_retry -m 'a'", {"model": "a"}, ""),
        ("%chat_retry -m b", {"model": "a"}, OPTIONS),
    ],
)
def test_a_retry_has_the_settings_of_its_line(
    source: str, parameters: dict[str, Any], said: str, told: Told
) -> None:
    """Or else those of the reply that it replaced; and the turn that it names."""
    below = page("q", "t", carried=(digest("p", "s"),))
    lines = told([page("p", "r"), retry(source, parameters=parameters), below])
    assert faults(lines) == ([f"! cell 2: {said}."] if said else [])


def test_compared_settings_are_two_replies(told: Told) -> None:
    """Each has one of the settings; the table counts the replies to a question."""
    cold, warm = ({"temperature": value} for value in (0, 1))
    made = retry("%chat_retry -t 0 -t 1", parameters=cold)
    second = page("p", "t", in_place_of=(digest("p", "r"), digest("p", "s")), parameters=warm)
    made["outputs"] += second["outputs"]
    lines = told([page("p", "r"), made, page("q", "u", carried=(digest("p", "t"),))])
    assert faults(lines) == []
    heads = lines[1].split("  ")
    assert heads[-1] == "reply"
    assert [line[-6:] for line in lines[2:5]] == ["1 of 3", "2 of 3", "3 of 3"]
    assert lines[5].endswith("yes")


def test_a_retry_without_its_question_is_told(told: Told) -> None:
    """Not where its cell asked again since, which is told there, nor where it was asked unseen."""
    other = page("q", "t")
    assert faults(told([other, retry("%chat_retry")])) == [f"! cell 2: {NOWHERE}."]
    (line,) = faults(told([page("p", "again"), retry("%chat_retry")]))
    assert line.startswith("! cell 1: moved, copied or asked again: ")
    assert faults(told([cell("r = %chat -q p"), retry("%chat_retry")])) == []


def test_a_reply_that_was_changed_is_told_once(told: Told) -> None:
    """Its record may name any turn."""
    made = retry("%chat_retry 7")
    made["outputs"][0]["data"]["text/plain"] = ["x"]
    assert len(faults(told([page("p", "r"), made]))) == 1


def test_a_hidden_turn_that_is_gone_is_a_remark(told: Told) -> None:
    """It may have been asked again since."""
    facts = {"number": 1, "digest": digest("p", "r")}
    record = {"version": 1, "kind": "hiding", "hiding": facts}
    hide = cell("%chat_hide 1", [output({"text/plain": "x"}, {"chatmagic": record})])
    words = "cell 2: the turn that it names stands nowhere above it: removed, or asked again."
    assert words in told([page("q", "s"), hide])
    assert words not in told([page("p", "r"), hide])
