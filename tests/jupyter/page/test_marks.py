"""The marks of cells that a page is told, by their cause."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from bridged import Front, prompts, stale_mark

from chatmagic.advice import AT_LIMIT
from chatmagic.client.halt import Halt
from chatmagic.conversation.record import owner_of
from chatmagic.errors import ServiceError
from chatmagic.jupyter.page import marks as module
from chatmagic.protocol.credits import OTHERS
from chatmagic.session.ask import Ask
from chatmagic.session.current import current_session
from chatmagic.session.events import Began, Ended

BY_LATELY = f"by the cost of recent requests; {OTHERS}."
TAKEN_BACK = module.MARKS["taken back"]


def test_stale_cells_are_told_to_the_page(front: Front) -> None:
    """At every change, of the order too, by the page's own identities; once each.

    The cell that made some stale says which, and about what they take, until they are asked again.
    """
    for name in "abc":
        front.ask(name)
    front.say("abc", opened=True)
    front.is_marked({})
    front.say("acb")
    below = stale_mark("the turn of cell [3] stands below it now")
    above = stale_mark("cell [4] was moved above it")
    front.is_marked({"b": above, "c": below})
    assert prompts() == ["a", "b", "c"]
    front.say("abc")
    front.ask("b")
    made = {"b": {"words": f"1 turn below is stale: about 1 credit, {BY_LATELY}", "cells": ["c"]}}
    front.is_marked({"c": stale_mark("cell [5] was run again")}, made)
    front.sent.clear()
    front.ask("c")
    front.is_marked({}, {})
    assert len([message for message in front.sent if message["kind"] == "marks"]) == 1


def test_marks_notes_and_commands_tell_one_story(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a hidden turn and an upper one that ran again: the same turns, causes and counts."""

    def history(cell: str) -> list[str]:
        return front.shell.page("%chat_history", cell).texts[0].splitlines()

    front.ask("a", "%chat -n 1 count to 9")
    front.ask("b")
    front.ask("c", "%chat -n 1 count to 9")
    front.say("abcuxvder", opened=True)
    assert front.shell.page("%chat_hide 2", "x").texts[0].startswith("Turn 2 is hidden")
    front.ask("d", "%chat --last 1 echo:d")
    front.ask("e", "%chat --last 1 echo:e")
    front.ask("a")
    cause = "because cell [8] was run again"
    costs = f"2 turns{{}} are stale, and 4 are asked again: about 4 credits, {BY_LATELY}"
    below = {"a": {"words": costs.format(" below"), "cells": ["b", "c", "d", "e"]}}
    front.is_marked(dict.fromkeys("bc", stale_mark(cause[8:])), below)
    above, under = history("u"), history("v")
    assert above[5] == f"   (stale, {cause}; emulator; cost about 1 credit)"
    assert (
        under[5]
        == f"   (hidden: it does not go along; stale, {cause}; emulator; cost about 1 credit)"
    )
    assert (
        above[8]
        == under[8]
        == f"   (stale, {cause}; at most 1 token; emulator; cost about 1 credit)"
    )
    assert "5 turns, 2 stale (run their cells again), " in above[-1]
    assert "would carry 3 of them." in above[-1]
    assert "would carry 2 of them." in under[-1]
    answers = Mock(return_value="n")
    monkeypatch.setattr("builtins.input", answers)
    front.shell.run("%chat_retry --stale", cell="r")
    answers.assert_called_once_with(f"{costs.format('')}\nRun their cells again? [y/N] ")
    # That a limit of tokens ended a reply stands in its output, whatever its cell is marked with.
    assert AT_LIMIT.notebook in front.shell.page("%chat_history 3", "v").texts[0]


def test_which_reply_is_in_force_is_told_to_the_page(front: Front) -> None:
    """In the cell whose reply gave way to that of another one, until the question is another."""
    front.ask("a", "%chat -n 1 count to 9")
    front.say("arp", opened=True)
    front.shell.page("%chat_continue", "r")
    words = module.MARKS["replaced"].format("reply 2 of 2", "cell [3]")
    front.is_marked({"a": words})
    front.ask("a", "%chat -n 1 count to 9")
    front.is_marked({"r": TAKEN_BACK})


def test_outputs_that_are_older_than_the_kernel_are_marked(front: Front) -> None:
    """After a restart; not those below the last turn, nor one asked without the history."""
    front.ask("c")
    front.say(
        "abcd",
        opened=True,
        a=owner_of("a"),
        b=owner_of("b"),
        c=owner_of("c"),
        d=owner_of("d"),
    )
    front.is_marked(dict.fromkeys("ab", module.OLDER))
    ask = Ask("x", owner=owner_of("a"))
    current_session().followers.tell(Began(ask, (), (), Halt()))
    front.is_marked({"b": module.OLDER})
    current_session().followers.tell(Ended(ask, None, ServiceError("Not complete.")))
    front.ask("a", "%chat --no-history echo:a")
    front.say("abcd", a=owner_of("a"), b=owner_of("b"), c=owner_of("c"), d=owner_of("d"))
    front.is_marked({"b": module.OLDER})
