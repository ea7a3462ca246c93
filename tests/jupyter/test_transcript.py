"""A conversation for a person to read.

``%%chat --dry`` and ``%chat_history N --request`` in a real shell.

What undo and redo say of a change.
"""

from __future__ import annotations

from shells import Shell
from talks import ask

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import QuestionPlace
from chatmagic.jupyter import change_words, transcript
from chatmagic.models import Reply

HOSTILE = "<script>\x1b[2J\u202e</td>"
HOSTILE_REPLY = "<script>x</script>\u202e\x1b[2J<img src=x onerror=y> [a](javascript:b)"


def conversation(*prompts: str) -> Conversation:
    """Give a conversation of complete turns, each cell of its own."""
    made = Conversation()
    for number, prompt in enumerate(prompts):
        ask(made, prompt, f"cell-{number}", "x", says=f"reply to {prompt}")
    return made


def test_a_line_a_turn() -> None:
    """Each turn has its number, its question and its reply, on one line each."""
    made = conversation("first\nof two lines", "x" * 200)
    html, text = transcript.listing(made)
    lines = text.splitlines()
    assert lines[:2] == ["1. first of two lines", "   reply to first of two lines"]
    assert "align: right" not in html  # of notes that are empty
    assert lines[2].endswith("…")
    assert len(lines[2]) <= 60 + 3
    assert lines[-1].startswith("2 turns, in the order in which their cells first ran.")
    told = transcript.listing(made, transcript.AS_ON_PAGE)[1].splitlines()
    assert told[-1].startswith("2 turns, in the order of the cells in the page.")
    assert html.count("<tr>") == 3
    assert transcript.listing(conversation("a"))[1].splitlines()[-1].startswith("1 turn,")


def test_what_is_particular_about_a_turn() -> None:
    """Its state, what it took and the cause of its staleness are said in words."""
    made = conversation("a", "b")
    reply = Reply("c", state="interrupted", took=3)
    made.add(
        Turn(prompt="c", reply=reply, owner="c", carried=made.window(QuestionPlace("c")).carried)
    )
    ask(made, "A", "cell-0", "y", says="other")
    assert [transcript.marks(made)(turn).split(",")[0] for turn in made.turns] == [
        "",
        "stale",
        "interrupted; stale",
    ]
    assert transcript.marks(made)(made.turns[2]).endswith("; cost about 3 credits")
    assert "2 stale (run their cells again)" in transcript.listing(made)[1]


def test_turns_in_full() -> None:
    """A turn keeps its number, its lines, and its reply as a page shows it."""
    made = conversation("one", "two\n  lines *here*")
    html, text = transcript.turns_in_full(made, made.turns[1:])
    assert text == "2. You\ntwo\n  lines *here*\n\nReply\nreply to two\n  lines *here*"
    assert "two\n  lines *here*</pre>" in html
    assert "<em>here</em>" in html
    assert transcript.turns_in_full(made, made.turns)[1].startswith("1. You\none")


def test_what_is_hostile_stays_text() -> None:
    """Neither prompt nor reply becomes a tag or a formula, or acts in a terminal."""
    made = conversation(HOSTILE)
    for html, text in (
        transcript.listing(made),
        transcript.turns_in_full(made, made.turns),
    ):
        assert "<script" not in html
        assert html.startswith('<div class="chatmagic mathjax_ignore tex2jax_ignore"')
        assert not [char for char in text if not char.isprintable() and char != "\n"]
    assert change_words.undone(made.undo()).isprintable()


def test_a_long_conversation_is_listed_by_pages() -> None:
    """The newest turns, and a line that says how to see those before; or those of a page."""
    made = conversation(*(f"q{number}" for number in range(1, 251)))
    html, text = transcript.listing(made)
    lines = text.splitlines()
    assert (lines[0], lines[-3]) == ("151. q151", "250. q250")
    end = " Turns 151 to 250 are listed; %chat_history 51-150 lists those before."
    assert lines[-1].endswith(end)
    assert html.count("<tr>") == 101
    page = transcript.listing(made, listed=(51, 150))[1].splitlines()
    assert (page[0], page[-3]) == ("51. q51", "150. q150")
    assert page[-1].endswith("Turns 51 to 150 are listed; %chat_history 1-50 lists those before.")
    first = transcript.listing(made, listed=(1, 2))[1].splitlines()
    assert first[-1].endswith("shows everything. Turns 1 to 2 are listed.")
    assert transcript.listing(made, listed=(1, 250))[1].splitlines()[0] == "1. q1"


def test_of_many_turns_that_hold_a_word_the_newest_are_listed() -> None:
    """How many there are is said all the same."""
    made = conversation(*(f"q{number}" for number in range(1, 121)))
    lines = transcript.matches(made, "q")[1].splitlines()
    assert lines[0] == "21. q21"
    assert lines[-1] == (
        "120 of 120 turns hold “q”. %chat_history 21 shows one in full. The newest 100 are listed; "
        "more words find fewer."
    )


def test_a_list_shows_a_prompt_as_rendered_text(shell: Shell) -> None:
    """Without the marks of emphasis and of code, wherever it stands beside others."""
    asked, shown = "echo:**bold** `code` __init__", "echo:bold code __init__"
    shell.do(f"%%chat_instructions\n{asked}")
    shell.do(f"%%chat\n{asked}")
    assert f"\n{asked}\n" in shell.do("%chat_history 1").texts[0]
    for command in ("", "_history", "_thread", "_retry 1", "_retry --list 1", "_undo"):
        ran = shell.do(f"%chat{command}")
        said = "".join([ran.printed, *ran.texts])
        assert shown in said, command
        assert asked not in said.replace(f"\n\n{asked}", ""), command  # an echo
    assert "1. bold code init echo:bold code init\n" in shell.do("%chat_retry --list 1").texts[0]
    assert f"Asked again: “{shown}”" in shell.machine("%chat_retry 1").html
