"""What a saved notebook shows of the panel."""

from __future__ import annotations

from panel_views import HOSTILE, turn

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.panel.saved import AS_SAVED, MOST_TEXT_SAVED, NOTHING_SAVED, saved
from chatmagic.models import Reply


def test_what_a_saved_notebook_shows() -> None:
    """The panel's turns in full and safe; those of cells, which have outputs, by a line."""
    conversation = Conversation()
    conversation.add(turn(1, owner="c", asker="cell [3]"))
    partial = Reply("**bold** " + HOSTILE, state="interrupted")
    conversation.add(Turn(prompt=HOSTILE, reply=partial, entry="panel"))
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
