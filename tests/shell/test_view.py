"""The view of a reply in a shell: which stream gets what."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply
from chatmagic.session.events import Answer
from chatmagic.shell.view import ShellView

if TYPE_CHECKING:
    from collections.abc import Sequence


def answer(text: str, **facts: object) -> Answer:
    """Give a reply with its record."""
    turn = Turn("a", reply=Reply(text, **facts))  # type: ignore[arg-type]
    return Answer(turn.reply, turn.to_record("0" * 64))


@pytest.mark.parametrize(
    ("fragments", "out"),
    [(["a\r", "\x1b[1mb"], "a␛[1mb\n"), (["a", "\n"], "a\n"), ([], ""), ([""], "")],
)
def test_a_reply_ends_in_a_line_end(
    fragments: Sequence[str], out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One at most is added, and nothing in it acts; notes and figures are beside it."""
    view = ShellView()
    view.began(["a \x1b[2Jnote"])
    for fragment in fragments:
        view.fragment(fragment)
    view.ended(answer("".join(fragments), state="cut off", refusal="\x1b[2Jno", held_back=True))
    wrote = capsys.readouterr()
    assert wrote.out == out
    lines = wrote.err.splitlines()
    assert "(The model refused: ␛[2Jno)" in lines
    assert lines[0] == "(a ␛[2Jnote)"
    assert all(line[0] + line[-1] == "()" for line in lines)
    assert "came all at once" in lines[-1]


def test_nothing_more_is_written_into_a_broken_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first write says so to the ask; what ends the view is quiet."""

    class Broken:
        writes = 0

        def write(self, _: str) -> int:
            self.writes += 1
            raise BrokenPipeError

        def flush(self) -> None:
            pass

    broken = Broken()
    monkeypatch.setattr(sys, "stdout", broken)
    view = ShellView()
    for _ in range(2):
        with pytest.raises(BrokenPipeError):
            view.fragment("a")
    view.failed()
    view.ended(answer("a"))
    assert broken.writes == 1
    assert capsys.readouterr().err == ""
