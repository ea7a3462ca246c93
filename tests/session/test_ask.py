"""A question before it is asked: what cannot be in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.session.ask import Ask


def test_a_prompt_holds_no_lone_surrogates() -> None:
    """They are marked as they are in the request, else no output could hold the record."""
    ask = Ask("a\ud83d", typed="{{ b\udc00 }}")
    assert (ask.prompt, ask.typed) == ("a\ufffd", "{{ b\ufffd }}")
    assert Ask("a\ud83d\ude00").prompt == "a\U0001f600"


@pytest.mark.parametrize("prompt", ["", " \n", ["a"], None])
def test_a_prompt_without_text_is_refused(prompt: Any) -> None:
    """Before anything is sent; a list of messages is another tool's."""
    with pytest.raises(InputError, match=r"Nothing was sent\."):
        Ask(prompt).refuse_empty()


def test_a_panel_asks_again_in_the_place_of_its_turn() -> None:
    """It is no cell, so a reply that a cell below has put above its turn does not count there."""
    talk = Conversation()
    for name in "ab":
        talk.add(Turn(name, reply=Reply(name), owner=name, execution="1"))
    talk.add(Turn("a", reply=Reply("other"), owner="r", execution="1", again=1))
    asked = Ask("b", owner="p", again=2)
    replies = {
        entry: [turn.reply.text for turn in replace(asked, entry=entry).window_in(talk, None).turns]
        for entry in ("panel", "cell")
    }
    assert replies == {"panel": ["a"], "cell": ["other"]}
