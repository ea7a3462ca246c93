"""``%chat_continue``: what it sends, where what comes stands, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from shells import FIXED, asked, bodies

from chatmagic._json import digest
from chatmagic.conversation.request_facts import ASKED_FOR_THE_REST
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, Usage
from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from logged import Emulator
    from shells import Shell

COMPLETE = "The reply of turn 1 is complete: there is nothing to continue. Nothing was sent."


def test_a_reply_at_its_limit_is_gone_on_with(shell: Shell, emulator: Emulator) -> None:
    """The instruction goes with this request alone; the turn has both parts, the cell its own."""
    shell.page("%chat echo:above", "u")
    first = shell.page("%chat -n 3 count to 9", "a")
    ran = shell.page("whole = %chat_continue", "c")
    assert ran.texts == ["four, five, six, "]
    assert "Continued: “count to 9”" in ran.html
    record, reply = ran.records[0], shell["whole"]
    one, two = "one, two, three, ", "four, five, six, "
    assert record["reply"] == digest(two)
    assert record["continues"] == first.records[0]["turn"]
    assert record["turn"] == Turn(prompt="count to 9", reply=Reply(one + two)).digest
    assert record["usage"]["completion_tokens"] == 3
    assert (reply.text, reply.took) == (one + two, 2)
    counts = [each["usage"] for each in (first.records[0], record)]
    assert reply.usage == Usage(*(sum(each[name] for each in counts) for name in counts[0]))
    shell.page("%chat echo:below", "b")
    assert [each[2:] for each in asked(emulator)[1:]] == [
        ["count to 9"],
        ["count to 9", one, ASKED_FOR_THE_REST],
        ["count to 9", one + two, "echo:below"],
    ]
    assert bodies(emulator)[2]["max_tokens"] == 3
    rows = shell.page("%chat_history", "h").texts[0]
    assert "(reply 2 of 2; max 3; its reply was continued;" in rows
    request = shell.page("%chat_history 2 --request", "h").texts[0]
    assert "Its reply was continued: later requests carried what had come, and more." in request
    assert shell.page("%chat_undo\n%chat_undo", "z").texts[1:] == [
        "Took back the new reply to “count to 9”."
    ]
    assert current_session().conversation.turns[1].reply.text == one


def test_run_again_a_cell_goes_on_from_where_it_did(shell: Shell, emulator: Emulator) -> None:
    """A loop goes on until the end; then there is nothing to continue."""
    shell.page("%chat -n 3 count to 9", "a")
    shell.page("%chat_continue", "c")
    assert shell.page("%chat_continue", "c").texts == ["four, five, six, "]
    assert shell.page("%chat_continue", "d").texts == ["seven, eight, nine"]
    assert shell.page("%chat_continue 1", "d").texts == ["seven, eight, nine"]
    # Also where another cell has gone on from there.
    assert shell.page("%chat_continue", "c").texts == ["four, five, six, "]
    assert shell.page("%chat_continue", "d").texts == ["seven, eight, nine"]
    sent = len(bodies(emulator))
    ran = shell.run("%chat_continue", cell="e")
    assert ran.traceback == [
        f"InputError: {COMPLETE}",
        "Ask a new question; or %chat_retry asks this one again.",
    ]
    assert len(bodies(emulator)) == sent
    shell.page("%chat -n 3 count to 9", "a")
    loop = (
        "reply = %chat_continue\nwhile reply.finish_reason == 'length':\n    reply = %chat_continue"
    )
    assert shell.page(loop, "l").texts == ["four, five, six, ", "seven, eight, nine"]
    assert shell["reply"].text.endswith("eight, nine")


def test_an_interrupted_reply_is_gone_on_with(shell: Shell, emulator: Emulator) -> None:
    """Cut off on its way, too; a part that is cut off is joined, and can be gone on with."""
    emulator.settings = replace(FIXED, fault="cut", fault_after=2)
    shell.fails("%chat count to 6", cell="a")
    failed = shell.fails("%chat_continue", cell="c")
    assert failed.records[0]["state"] == "cut off"
    (turn,) = current_session().conversation
    assert (turn.reply.text, turn.state) == ("one, two, three, four, ", "cut off")
    emulator.settings = FIXED
    shell.page("%chat_continue", "d")
    (turn,) = current_session().conversation
    assert (turn.reply.text, turn.state) == ("one, two, three, four, five, six", "complete")
    shell.page("%chat_reset\n%chat -n 1 echo:one two", "r")
    emulator.settings = replace(FIXED, fault="cut", fault_after=0)
    shell.fails("%chat_continue", cell="e")
    assert current_session().conversation.turns[0].reply.text == "one "


def test_code_and_json_are_shown_as_what_they_are(shell: Shell) -> None:
    """The rest of a block as code, the rest of a JSON as text; the value is that of the whole."""
    shell.page("%%chat -n 3\necho:```python\nx = 1\n# two\n```", "a")
    ran = shell.page("%chat_continue", "c")
    assert ran.texts == ["1\n# two\n"]
    assert ran.records[0]["block"] == "```python"
    assert "<h1" not in ran.html
    assert "<pre" in ran.html
    shell.page("%chat_reset", "r")
    shell.fails('%chat -n 2 --format json echo:{"a": [1, 2]}', cell="j")
    ran = shell.page("reply = %chat_continue", "k")
    assert "No JSON" not in ran.html
    assert shell["reply"].parsed == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0", "%chat_continue takes a turn's number from 1 to 1. Nothing was sent or changed."),
        ("more", "%chat_continue takes a turn's number from 1 to 1."),
        ("--list", "%chat_continue takes a turn's number from 1 to 1."),
        ("", COMPLETE),
    ],
)
def test_what_is_refused(shell: Shell, emulator: Emulator, line: str, words: str) -> None:
    """In one line; nothing is sent, and the conversation is as before."""
    shell.page("%chat echo:a", "a")
    assert words in shell.run(f"%chat_continue {line}", cell="x").traceback[0]
    conversation = current_session().conversation
    assert (len(asked(emulator)), conversation.undo_depth) == (1, 1)


def test_what_was_allowed_goes_along(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in the question does not stop it again; one that became known since does."""
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    shell.page("%chat --allow-secrets -n 1 echo:tr0ub4dor&staple a b c", "a")
    shell.page("%chat_continue", "c")
    monkeypatch.setenv("OTHER_PASSWORD", "echo:tr0ub4dor&staple a b c")
    refused = shell.fails("%chat_continue", cell="d").traceback[0]
    assert "The turn whose reply is continued holds the value of" in refused
