"""Requests as they are shown: those that would be sent, and those of a turn."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from logged import Emulator
from shells import KEY, Shell, bodies
from talks import saved as as_saved

from chatmagic import _started_emulators
from chatmagic.session.current import current_session

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
    assert "The tokens are an estimate: " in text
    assert "Before this request: 99 " in text
    assert KEY not in dry.everything
    shell.machine("%%chat -t 0.5 -n 9\necho:Dear {{ name }}, \\{x}\n")
    assert body(text) == bodies(emulator)[-1]


def test_a_dry_run_before_any_reply_says_so(shell: Shell) -> None:
    """No tokens are known, nothing is said of credits; %chat does it, too, and gives nothing."""
    dry = shell.machine("reply = %chat --dry --last 0 What?")
    assert "Tokens: no estimate yet, because no reply has reported its tokens." in dry.texts[0]
    assert "Before it" not in dry.texts[0]
    assert shell["reply"] is None


def test_a_dry_run_works_while_replaying(
    bare: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is connected, and the cassette, which could not be read, is not put in."""
    (tmp_path / "c.jsonl").write_text("")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tmp_path / "c.jsonl"))
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    dry = bare.machine("%%chat --dry\nWhat?")
    assert "c.jsonl is replayed here, so nothing would be sent." in dry.texts[0]
    assert body(dry.texts[0])["messages"] == [{"role": "user", "content": "What?"}]


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
