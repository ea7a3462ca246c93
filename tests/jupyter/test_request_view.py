"""``%%chat --dry`` and ``%chat_history N --request`` in a real shell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from shells import KEY, Shell, bodies

from chatmagic.jupyter import request_view
from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator


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
        f"POST {emulator.url}/v1/chat/completions",
        "Authorization: Bearer …",
    ]
    assert "  turn 1 (prompt and reply): 11, " in text
    assert "  {{ name }}: 3, " in text
    assert "  the rest of the prompt: 16, " in text
    assert (
        "Tokens are an estimate: the last request whose tokens were told had 8 characters" in text
    )
    assert "Before it: 99 " in text
    assert KEY not in dry.everything
    shell.machine("%%chat -t 0.5 -n 9\necho:Dear {{ name }}, \\{x}\n")
    assert body(text) == bodies(emulator)[-1]


def test_a_dry_run_before_any_reply_says_so(shell: Shell) -> None:
    """Neither tokens nor credits are known; %chat does it, too, and gives nothing."""
    dry = shell.machine("reply = %chat --dry --last 0 What?")
    assert "Tokens: no estimate, as no reply has told its tokens yet." in dry.texts[0]
    assert "Before it: credits unknown." in dry.texts[0]
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


def test_a_dry_run_fails_as_the_question_would(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret is not shown either, and allowing it for a dry run allows it for nothing else."""
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    shell.machine("import os")
    assert "The prompt holds" in shell.fails("%chat --dry tr0ub4dor&staple").traceback[0]
    assert "holds your API key" in shell.fails(f"%chat --dry {MINE}").traceback[0]
    shell.machine("%chat --dry --allow-secrets tr0ub4dor&staple")
    shell.fails("%chat tr0ub4dor&staple")
    shell.fails("%%chat --dry\n\n")


def test_a_long_body_is_cut(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how much of it is not shown."""
    monkeypatch.setattr(request_view, "MOST_SHOWN", 20)
    assert " more characters" in shell.machine("%chat --dry echo:one").texts[0]


def test_the_request_of_a_turn_is_shown(shell: Shell, emulator: Emulator) -> None:
    """With the turns as it carried them, though one of them was asked again since."""
    shell.page("%%chat\necho:one <b>", "a")
    shell.machine("name = 'Ann'")
    shell.page("%%chat -t 0.5\necho:{{ name }}", "b")
    shell.page("%%chat\necho:other", "a")
    ran = shell.machine("%chat_history 2 --request")
    assert body(ran.texts[0]) == bodies(emulator)[1]
    assert "a turn that is not live any more (prompt and reply): 19" in ran.texts[0]
    assert "By its digest, this is the request as it was sent." in ran.texts[0]
    assert "The service counted " in ran.texts[0]
    assert "<b>" not in ran.html
    assert ran.records == []
    for line in ("9 --request", "--request", "word --request"):
        assert "takes the number of a turn" in shell.fails(f"%chat_history {line}").traceback[0]


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
    session.conversation.forget_changes()
    shell.page("%chat echo:other", "a")
    session.conversation.forget_changes()
    text = shell.machine("%chat_history --request 2").texts[0]
    assert "instructions: 9" in text
    assert "Its instructions went in front; the text below is without them." in text
    assert "[a turn that is not known here]" in text
    assert "By its digest" not in text


def test_a_question_about_an_error_can_be_run_dry(shell: Shell, emulator: Emulator) -> None:
    """The error goes in front, as a part of its own."""
    shell.run("1 / 0")
    text = shell.machine("%chat_fix --dry").texts[0]
    assert "ZeroDivisionError" in text
    assert "  error" in text
    assert emulator.requests == []
