"""``%chat_retry``: what it sends, where its reply stands, and what lists and picks replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shells import asked, bodies

from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator
    from shells import Shell


def test_a_turn_is_asked_again_with_what_stands_above_it(shell: Shell, emulator: Emulator) -> None:
    """The number is of a turn above the cell, or it is the last one; run again, it is the same."""
    for name in "abc":
        shell.page(f"%chat echo:{name}", name)
    ran = shell.page("%chat_retry 2", "r")
    assert ran.texts == ["b"]
    assert "Asked again: “echo:b”" in ran.html
    shell.page("%chat echo:d", "d")
    shell.page("%chat_retry", "r")
    assert [each[::2] for each in asked(emulator)[3:]] == [
        ["echo:a", "echo:b"],
        ["echo:a", "echo:b", "echo:c", "echo:d"],
        ["echo:a", "echo:b", "echo:c"],
    ]
    rows = shell.page("%chat_history", "h").texts[0].splitlines()
    assert [row for row in rows if row[0].isdigit()][:4] == [
        "1. echo:a",
        "2. echo:b",
        "3. echo:c",
        "4. echo:d",
    ]
    assert "reply 2 of 2" in "\n".join(rows)


def test_replies_are_listed_and_picked(shell: Shell, emulator: Emulator) -> None:
    """Those of the cell run again, with other settings, and those of a retry; each is a change."""
    shell.page("%chat -n 1 count to 9", "a")
    shell.page("%chat -n 2 count to 9", "a")
    ran = shell.page("reply = %chat_retry", "r")
    assert shell.shell.user_ns["reply"].text.strip() == "one, two,"
    assert ran.records[0]["owner"] != ran.records[0]["turn"]
    assert len(ran.records[0]["in_place_of"]) == 1
    assert shell.page("%chat_retry --list", "l").texts[0].splitlines() == [
        "-1. one, (asked by cell [2]; max 1)",
        "1. one, two, (asked by cell [3]; max 2)",
        "2. one, two, (in force; asked by cell [4]; max 2)",
        "Turn 1: count to 9",
        "Below 0: from before its own cell asked last; this kernel alone has them.",
    ]
    picked = shell.page("%chat_retry --pick -1", "p")
    assert picked.texts == ["one, "]
    assert "This earlier reply is in force: “count to 9”" in picked.html
    assert picked.records[0]["kind"] == "pick"
    sent = len(asked(emulator))
    assert "-1. one, (in force" in shell.page("%chat_retry --list 1", "l").texts[0]
    assert "earlier reply -1" in shell.page("%chat_history", "h").texts[0]
    refused = shell.run("%chat_retry --pick 3", cell="p").traceback[0]
    assert "--pick takes the number of a reply, from 1 to 2 or from -1 to -1. Noth" in refused
    assert shell.page("%chat_undo", "u").texts == ["Took back the pick of a reply to “count to 9”."]
    assert shell.page("%chat_undo", "u").texts == ["Took back the new reply to “count to 9”."]
    assert "\n1. one, two, (in force" in shell.page("%chat_retry --list", "l").texts[0]
    # What an undo took back is there; and 1 is of the last run of the question's own cell.
    assert "asked by cell [4]" in shell.page("%chat_retry --list", "l").texts[0]
    assert shell.page("%chat_retry --pick 1", "p").texts == ["one, two, "]
    assert len(asked(emulator)) == sent


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0", "%chat_retry takes a turn's number from 1 to 1. Nothing was sent or changed."),
        ("2", "%chat_retry takes a turn's number from 1 to 1."),
        ("again", "%chat_retry takes a turn's number from 1 to 1."),
        ("--pick 2", "--pick takes the number of a reply, from 1 to 1. Nothing was sent or ch"),
        ("--pick x 1", "--pick takes the number of a reply, from 1 to 1."),
        ("--pick 1 --list", "%chat_retry lists replies, picks one, or has stale cells run."),
        ("--stale 2", "%chat_retry lists replies, picks one, or has stale cells run."),
        ("--show", "takes no other option here than --list, --stale, --pick. Nothing was changed."),
    ],
)
def test_what_is_refused(shell: Shell, emulator: Emulator, line: str, words: str) -> None:
    """In one line; nothing is sent, and the conversation is as before."""
    shell.page("%chat echo:a", "a")
    depth = current_session().conversation.undo_depth
    assert words in shell.run(f"%chat_retry {line}", cell="x").traceback[0]
    assert (len(asked(emulator)), current_session().conversation.undo_depth) == (1, depth)


def test_without_a_turn_above_there_is_nothing_to_ask(shell: Shell, emulator: Emulator) -> None:
    """Nor in a cell that begins a thread."""
    said = shell.fails("%chat_retry").traceback[0]
    assert "%chat_retry takes a turn's number above its cell, and there is none." in said
    shell.page("%chat echo:a", "a")
    assert (
        "begins a thread asks nothing"
        in shell.run("%chat_retry\n%chat_thread x", cell="b").traceback[0]
    )
    assert len(asked(emulator)) == 1


def test_what_is_sent_again_is_what_was_sent(
    shell: Shell, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its options, its values and what asked for its form; not without what was not kept."""
    monkeypatch.chdir(tmp_path)
    shell.shell.user_ns["x"] = 3
    shell.page('%chat -t 0.5 --format json echo:{"a": {{ x }}}', "a")
    shell.shell.user_ns["x"] = 4
    assert shell.page("%chat_retry", "r").records[0]["parameters"]["format"] == "json"
    first, again = bodies(emulator)
    assert first == again
    shell.page("%chat_save talk.json\n%chat_load talk.json", "s")
    said = shell.run("%chat_retry", cell="r").traceback[0]
    assert "The value of x was not kept. Nothing was sent or changed." in said
    assert len(bodies(emulator)) == 2


def test_one_that_fails_leaves_the_turn(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its place, with its reply."""
    shell.page("%chat echo:a", "a")
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "http://127.0.0.1:9")
    shell.fails("%chat_retry")
    (turn,) = current_session().conversation
    assert (turn.number, turn.reply.text, len(asked(emulator))) == (1, "a", 1)
