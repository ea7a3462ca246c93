"""A conversation for a person to read."""

from __future__ import annotations

from typing import Any

import pytest

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter import transcript
from chatmagic.models import Origin, Reply, State

HOSTILE = "<script>\x1b[2J\u202e</td>"


def conversation(*prompts: str) -> Conversation:
    """Give a conversation of complete turns, each cell of its own."""
    made = Conversation()
    for number, prompt in enumerate(prompts):
        ask(made, prompt, f"cell-{number}")
    return made


def ask(
    made: Conversation,
    prompt: str,
    owner: str,
    *,
    state: State = "complete",
    origin: Origin = "live",
    last: int | None = None,
    took: int | None = None,
    **more: Any,
) -> None:
    """Add a turn as a session does."""
    context = made.context(owner, "x", last=last)
    reply = Reply(f"reply to {prompt}", state=state, origin=origin, took=took)
    made.add(
        Turn(
            prompt=prompt,
            reply=reply,
            owner=owner,
            carried=context.numbers,
            last=last,
            **more,
        )
    )


def test_an_empty_conversation() -> None:
    """It is said to be empty, whichever way it is asked for."""
    made = Conversation()
    assert transcript.table(made)[1] == "The conversation is empty."
    assert transcript.whole(made, ())[1] == "The conversation is empty."
    assert "<table" not in transcript.table(made)[0]


def test_a_line_a_turn() -> None:
    """Each turn has its number, its question and its reply, on one line each."""
    made = conversation("first\nof two lines", "x" * 200)
    html, text = transcript.table(made)
    lines = text.splitlines()
    assert lines[:2] == ["1. first of two lines", "   reply to first of two lines"]
    assert lines[2].endswith("…")
    assert len(lines[2]) <= transcript.EXCERPT + 3
    assert lines[-1].startswith("2 turns, in the order of the first run.")
    told = transcript.table(made, transcript.AS_ON_PAGE)[1].splitlines()
    assert told[-1].startswith("2 turns, in the order of the cells in the page.")
    assert html.count("<tr>") == 3
    assert transcript.table(conversation("a"))[1].splitlines()[-1].startswith("1 turn,")


def test_what_is_particular_about_a_turn() -> None:
    """State, staleness, what was left out, the origin and the cost are said in words."""
    made = conversation("a", "b")
    ask(made, "c", "cell-2", state="interrupted", origin="replay", last=1, took=3)
    marks = transcript.marks(made, made.turns[2])
    assert marks == ["interrupted", "sent with the last 1 turns", "replay", "took about 3"]
    assert transcript.marks(made, made.turns[1]) == []
    ask(made, "A", "cell-0")
    assert transcript.marks(made, made.turns[1])[0].startswith("stale")
    assert "1 stale (run their cells again)" in transcript.table(made)[1]
    ask(made, "cut", "cell-3", state="cut off")
    assert transcript.marks(made, made.turns[3]) == ["cut off"]
    ask(made, "d", "cell-4", temperature=0.2, max_tokens=200, asked_model="small")
    assert transcript.marks(made, made.turns[4]) == ["t 0.2 · max 200 · model small"]
    assert "(t 0.2 · max 200 · model small)" in transcript.table(made)[1]
    alone = conversation()
    ask(alone, "first", "cell-4", last=3)
    assert transcript.marks(alone, alone.turns[0]) == ["sent with none before it"]


def test_turns_in_full() -> None:
    """A turn keeps its number, its lines, and its reply as a page shows it."""
    made = conversation("one", "two\n  lines *here*")
    html, text = transcript.whole(made, made.turns[1:])
    assert text == "2. You\ntwo\n  lines *here*\n\nReply\nreply to two\n  lines *here*"
    assert "two\n  lines *here*</pre>" in html
    assert "<em>here</em>" in html
    assert transcript.whole(made, made.turns)[1].startswith("1. You\none")


def test_what_is_hostile_stays_text() -> None:
    """Neither prompt nor reply becomes a tag, or acts in a terminal."""
    made = conversation(HOSTILE)
    for html, text in (
        transcript.table(made),
        transcript.whole(made, made.turns),
        ("", transcript.undone(made.undo())),
    ):
        assert "<script" not in html
        assert not [char for char in text if not char.isprintable() and char != "\n"]


@pytest.mark.parametrize("step", ["undone", "redone"])
def test_nothing_to_say(step: str) -> None:
    """A step that changed nothing says so."""
    assert getattr(transcript, step)(None).startswith("Nothing to ")


def test_every_kind_of_change_is_said() -> None:
    """Each change, taken back and done again, names what it touched."""
    made = conversation("a", "b")
    ask(made, "A", "cell-0")
    made.set_aside(["cell-1"])
    made.reset()
    back = [transcript.undone(made.undo()) for _ in range(6)]
    again = [transcript.redone(made.redo()) for _ in range(6)]
    assert back == [
        "Took back the reset (1 turn).",
        "Took back the setting aside (1 turn).",
        "Took back the new reply to “A”.",
        "Took back the question “b”.",
        "Took back the question “a”.",
        "Nothing to take back.",
    ]
    assert again == [
        "Nothing to do again.",
        "Did again the question “a”.",
        "Did again the question “b”.",
        "Did again the new reply to “A”.",
        "Did again the setting aside (1 turn).",
        "Did again the reset (1 turn).",
    ]


def test_no_page_looks_for_formulas_in_it() -> None:
    """Prompts and excerpts of replies may hold dollars."""
    made = conversation("$x$")
    for html in (transcript.table(made)[0], transcript.whole(made, made.turns)[0]):
        assert html.startswith('<div class="chatmagic mathjax_ignore tex2jax_ignore"')
