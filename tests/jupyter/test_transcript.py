"""A conversation for a person to read.

``%%chat --dry`` and ``%chat_history N --request`` in a real shell.

What undo and redo say of a change.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from logged import Emulator
from panel_views import HOSTILE as HOSTILE_REPLY
from panel_views import turn
from shells import KEY, Shell, bodies
from talks import ask, set_aside
from talks import saved as as_saved

from chatmagic import _started_emulators
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Entry
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter import transcript
from chatmagic.jupyter.transcript import AS_SAVED, NOTHING_SAVED, saved
from chatmagic.models import Reply
from chatmagic.session.current import current_session

HOSTILE = "<script>\x1b[2J\u202e</td>"


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
    assert lines[-1].startswith("2 turns, in the order of the first run.")
    told = transcript.listing(made, transcript.AS_ON_PAGE)[1].splitlines()
    assert told[-1].startswith("2 turns, in the order of the cells in the page.")
    assert html.count("<tr>") == 3
    assert transcript.listing(conversation("a"))[1].splitlines()[-1].startswith("1 turn,")


def test_what_is_particular_about_a_turn() -> None:
    """Its state, what it took and the cause of its staleness are said in words."""
    made = conversation("a", "b")
    reply = Reply("c", state="interrupted", took=3)
    made.add(Turn(prompt="c", reply=reply, owner="c", carried=made.window("c").carried))
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
    assert transcript.undone(made.undo()).isprintable()


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
    for number in range(1, 104):
        entry: Entry = "panel" if number % 2 else "cell"
        conversation.add(Turn(prompt="q", reply=Reply(f"a{number}."), entry=entry))
    for shown in saved(conversation):
        assert shown.count(". You, in ") == 100
        assert "3 earlier turns not saved here" in shown
        assert "4. You, in a cell" in shown
        assert "a103." in shown


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


MINE = "{{ os.environ['CHATMAGIC_API_KEY'] }}"


def body(text: str) -> Any:
    """Return the body that a text ends with."""
    return json.loads(text[text.index("\n{\n") :])


def test_a_dry_run_shows_the_request_that_would_go(shell: Shell, emulator: Emulator) -> None:
    """Its body is the one that goes then; nothing is sent, kept or changed by it."""
    shell.machine("%chat echo:one")
    shell.machine("name = 'Ann'")
    conversation = current_session().conversation
    before = conversation.turns, conversation.undo_depth
    dry = shell.machine("%%chat --dry -t 0.5 -n 9\necho:Dear {{ name }}, \\{x}\n")
    assert (conversation.turns, conversation.undo_depth) == before
    assert len(emulator.requests) == 1
    assert dry.records == []
    text = dry.texts[0]
    lines = text.splitlines()
    assert lines[:3] == [
        "Dry run: nothing was sent, and nothing is kept.",
        f"Posted to: {emulator.url}/v1/chat/completions",
        "Headers: key sent as bearer",
    ]
    table = " ".join(text.split())
    for size in ("turn 1 (prompt and reply) 11 ", "{{ name }} 3 ", "the rest of the prompt 16 "):
        assert size in table
    sides = re.findall(r'scope="col" style="text-align: (\w+);">', dry.html)
    assert sides == ["left", "right", "right"]
    assert "Tokens are an estimate: the last reported ones are " in text
    assert "Before it: 99 " in text
    assert KEY not in dry.everything
    shell.machine("%%chat -t 0.5 -n 9\necho:Dear {{ name }}, \\{x}\n")
    assert body(text) == bodies(emulator)[-1]


def test_a_dry_run_before_any_reply_says_so(shell: Shell) -> None:
    """No tokens are known, nothing is said of credits; %chat does it, too, and gives nothing."""
    dry = shell.machine("reply = %chat --dry --last 0 What?")
    assert "Tokens: no estimate, as no reply has told its tokens yet." in dry.texts[0]
    assert "Before it" not in dry.texts[0]
    assert shell["reply"] is None


def test_a_dry_run_works_while_replaying(
    bare: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is connected, and the cassette is neither asked nor put in."""
    (tmp_path / "c.jsonl").write_text("")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tmp_path / "c.jsonl"))
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    dry = bare.machine("%%chat --dry\nWhat?")
    assert "c.jsonl is replayed here, so nothing would be sent." in dry.texts[0]
    assert body(dry.texts[0])["messages"] == [{"role": "user", "content": "What?"}]
    assert current_session().cassette.current is None


def test_a_dry_run_fails_without_budget_as_the_question_would(
    shell: Shell, emulator: Emulator
) -> None:
    """By the same words."""
    _started_emulators.forget(emulator.url)  # a budget is for services
    shell.do("%config ChatMagics.budget = '0'")
    asked = shell.fails("%chat echo:a").traceback
    assert "budget of 0 credits" in asked[0]
    assert shell.fails("%chat --dry echo:a").traceback == asked


def test_a_dry_run_fails_as_the_question_would(
    shell: Shell, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a secret, and without a key, by the same words; it allows nothing else."""

    def fails_alike(words: str, prompt: str = "echo:a") -> None:
        asked = shell.fails(f"%chat {prompt}").traceback
        dry = shell.fails(f"%chat --dry {prompt}")
        assert words in asked[0]
        assert dry.traceback == asked
        assert dry.outputs == []

    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    shell.machine("import os\n%chat --dry --allow-secrets tr0ub4dor&staple")
    fails_alike("The prompt holds", "tr0ub4dor&staple")
    fails_alike("holds your API key", MINE)
    monkeypatch.delenv("CHATMAGIC_API_KEY")
    monkeypatch.setattr("chatmagic.client.endpoint.is_loopback", lambda _: False)
    fails_alike("There is no API key")
    shell.do(f"%chat_cassette {tmp_path / 'a.jsonl'} --record")
    text = shell.page("%%chat --dry\necho:a", "A").texts[0]
    assert "\nHeaders: no key\n" in text
    assert "key sent as" not in text
    assert emulator.requests == []


def test_the_request_of_a_turn_is_shown(shell: Shell, emulator: Emulator) -> None:
    """With the turns as it carried them, though one of them was asked again since."""
    shell.page("%%chat\necho:one <b>", "a")
    shell.machine("name = 'Ann'")
    shell.page("%%chat -t 0.5\necho:{{ name }}", "b")
    shell.page("%%chat\necho:other", "a")
    ran = shell.machine("%chat_history 2 --request")
    assert body(ran.texts[0]) == bodies(emulator)[1]
    assert "a turn that is not live any more (prompt and reply)  19" in ran.texts[0]
    assert "By its digest, this is the request as it was sent." in ran.texts[0]
    assert "<b>" not in ran.html
    assert ran.records == []
    assert "takes a turn's number" in shell.fails("%chat_history 9 --request").traceback[0]


@pytest.mark.parametrize("system_role", [False, True])
def test_instructions_are_shown_where_they_went(
    shell: Shell, emulator: Emulator, *, system_role: bool
) -> None:
    """In the role in which they were sent, also where others hold now."""
    shell.do(f"%config ChatMagics.system_role = {system_role}")
    shell.page("%%chat_instructions\nBe short.", "i")
    shell.page("%chat echo:one", "a")
    shell.page("%%chat_instructions\nBe long.", "i")
    shell.do(f"%config ChatMagics.system_role = {not system_role}")
    text = shell.machine("%chat_history 1 --request").texts[0]
    assert body(text) == bodies(emulator)[0]
    assert "By its digest, this is the request as it was sent." in text


def test_what_is_not_known_is_said(shell: Shell) -> None:
    """Instructions are kept by their size, and a turn may be gone for good."""
    shell.page("%%chat_instructions\nBe short.", "i")
    shell.page("%chat echo:one", "a")
    shell.page("%chat echo:two", "b")
    shell.page("%%chat_instructions\nBe long.", "i")
    session = current_session()
    session.conversation = as_saved(session.conversation)
    shell.page("%chat echo:other", "a")
    session.conversation = as_saved(session.conversation)
    text = shell.machine("%chat_history --request 2").texts[0]
    assert "instructions  9" in text
    assert "Not all of it is kept: names stand for values, and instructions may be" in text
    assert "[a turn that is not known here]" in text
    assert "By its digest" not in text


def test_every_kind_of_change_is_said() -> None:
    """Each change, taken back and done again, names what it touched."""
    made = Conversation()
    for prompt, cell in (("a", "cell-0"), ("b", "cell-1"), ("A", "cell-0")):
        carried = made.window(cell, "x").carried
        made.add(Turn(prompt=prompt, reply=Reply("r"), owner=cell, carried=carried))
    set_aside(made, ["cell-1"])
    made.reset()
    changes = [
        "the reset (1 turn).",
        "the setting aside (1 turn).",
        "the new reply to “A”.",
        "the question “b”.",
        "the question “a”.",
    ]
    assert [transcript.undone(made.undo()) for _ in changes] == [f"Undone: {c}" for c in changes]
    assert transcript.undone(made.undo()) == "Nothing to undo."
    assert transcript.redone(made.redo()) == "Nothing to redo."
    redone = [transcript.redone(made.redo()) for _ in changes]
    assert redone == [f"Redone: {change}" for change in reversed(changes)]


def test_a_change_of_instructions_is_said() -> None:
    """By itself, and beside the turns that a step touched."""
    made = Conversation()
    made.add(Instructions.of_text("Be terse.", owner="i"))
    assert transcript.undone(made.undo()) == "Undone: the instructions."
    assert transcript.redone(made.redo()) == "Redone: the instructions."
    made.add(Turn(prompt="a", reply=Reply("r"), owner="a"))
    set_aside(made, ["a", "i"])
    back = transcript.undone(made.undo())
    assert back == "Undone: the removal of deleted cells (1 turn and instructions)."


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
    assert f": {shown}" in saved(current_session().conversation)[1]
