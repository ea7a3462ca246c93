"""The conversation of a panel as a saved notebook shows it."""

from __future__ import annotations

from panel_views import HOSTILE

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Entry
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.page.panel_saved import AS_SAVED, NOTHING_SAVED, saved
from chatmagic.models import Reply


def test_what_a_saved_notebook_shows() -> None:
    """The panel's turns in full and safe; those of cells, which have outputs, by a line."""
    conversation = Conversation()
    reply = Reply("answer")
    conversation.add(Turn(prompt="question 1", reply=reply, owner="c", asker="cell [3]"))
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
    conversation.add(Turn(prompt="**bold** `code` __init__", reply=reply))
    assert "3. You, in a cell: bold code __init__" in saved(conversation)[1]


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
