"""A conversation for a person to read."""

from __future__ import annotations

from typing import Any

from panel_views import HOSTILE as HOSTILE_REPLY
from panel_views import turn

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter import transcript
from chatmagic.jupyter.transcript import AS_SAVED, MOST_TEXT_SAVED, NOTHING_SAVED, saved
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
    assert (
        transcript.table(made)[1]
        == "The conversation is empty. %chat_load takes up what the saved notebook shows."
    )
    assert (
        transcript.whole(made, ())[1]
        == "The conversation is empty. %chat_load takes up what the saved notebook shows."
    )
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
    marks = transcript.marks(made)(made.turns[2])
    assert marks == "interrupted; sent with the last 1 turns; replay; took about 3"
    assert transcript.marks(made)(made.turns[1]) == ""
    ask(made, "A", "cell-0")
    cause = "because a cell of the notebook was run again"
    assert transcript.marks(made)(made.turns[1]) == f"stale, {cause}"
    assert "1 stale (run their cells again)" in transcript.table(made)[1]
    ask(made, "cut", "cell-3", state="cut off")
    assert transcript.marks(made)(made.turns[3]) == "cut off"
    ask(made, "d", "cell-4", temperature=0.2, max_tokens=200, asked_model="small")
    assert transcript.marks(made)(made.turns[4]) == "t 0.2 · max 200 · model small"
    assert "(t 0.2 · max 200 · model small)" in transcript.table(made)[1]
    alone = conversation()
    ask(alone, "first", "cell-4", last=3)
    assert transcript.marks(alone)(alone.turns[0]) == "sent with none before it"


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
    ):
        assert "<script" not in html
        assert not [char for char in text if not char.isprintable() and char != "\n"]


def test_no_page_looks_for_formulas_in_it() -> None:
    """Prompts and excerpts of replies may hold dollars."""
    made = conversation("$x$")
    for html in (transcript.table(made)[0], transcript.whole(made, made.turns)[0]):
        assert html.startswith('<div class="chatmagic mathjax_ignore tex2jax_ignore"')


def test_what_a_saved_notebook_shows() -> None:
    """The panel's turns in full and safe; those of cells, which have outputs, by a line."""
    conversation = Conversation()
    conversation.add(turn(1, owner="c", asker="cell [3]"))
    partial = Reply("**bold** " + HOSTILE_REPLY, state="interrupted")
    conversation.add(Turn(prompt=HOSTILE_REPLY, reply=partial, entry="panel"))
    html, text = saved(conversation)
    assert "chatmagic-saved" in html
    assert "1. You, in a cell: question 1" in html
    assert "answer" not in html
    assert "<strong>bold</strong>" in html
    assert "Interrupted: this reply is not complete." in html
    assert "<script" not in html
    assert text.startswith(AS_SAVED)
    assert saved(Conversation())[1] == NOTHING_SAVED
    assert "**bold**" in text
    assert "\x1b" not in text


def test_what_is_saved_of_a_long_conversation_is_bounded() -> None:
    """The newest turns of panel and cells, each under its own number, and how many more."""
    conversation = Conversation()
    for number in range(1, 501):
        reply = Reply(f"a{number}.")
        conversation.add(Turn(prompt="q", reply=reply, entry="panel" if number % 2 else "cell"))
    html, text = saved(conversation)
    for shown in (html, text):
        assert shown.count(". You, in ") == 100
        assert "400 earlier turns are not saved here" in shown
        assert "401. You, in the panel" in shown
        assert "a499." in shown
    more = text.count(". You, in a cell")
    conversation.add(Turn(prompt="long", reply=Reply("x" * 90_000), entry="panel"))
    conversation.add(Turn(prompt="longer", reply=Reply("y" * 90_000), entry="panel"))
    _, text = saved(conversation)
    assert text.count("You, in the panel") == 1
    assert "451 earlier turns" in text
    assert text.count(". You, in a cell") == more
    assert len(text) < 2 * MOST_TEXT_SAVED


def test_a_long_conversation_is_listed_by_pages() -> None:
    """The newest turns, and a line that says how to see those before; or those of a page."""
    made = conversation(*(f"q{number}" for number in range(1, 251)))
    html, text = transcript.table(made)
    lines = text.splitlines()
    assert (lines[0], lines[-3]) == ("151. q151", "250. q250")
    end = " Turns 151 to 250 are listed; %chat_history 51-150 lists those before."
    assert lines[-1].endswith(end)
    assert html.count("<tr>") == 101
    page = transcript.table(made, listed=(51, 150))[1].splitlines()
    assert (page[0], page[-3]) == ("51. q51", "150. q150")
    assert page[-1].endswith("Turns 51 to 150 are listed; %chat_history 1-50 lists those before.")
    first = transcript.table(made, listed=(1, 2))[1].splitlines()
    assert first[-1].endswith("shows everything. Turns 1 to 2 are listed.")
    assert transcript.table(made, listed=(1, 250))[1].splitlines()[0] == "1. q1"


def test_of_many_turns_that_hold_a_word_the_newest_are_listed() -> None:
    """How many there are is said all the same."""
    made = conversation(*(f"q{number}" for number in range(1, 121)))
    lines = transcript.matches(made, "q")[1].splitlines()
    assert lines[0] == "21. q21"
    assert lines[-1] == (
        "120 of 120 turns hold “q”. %chat_history 21 shows one in full. The newest 100 are listed; "
        "more words find fewer."
    )
