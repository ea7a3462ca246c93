"""What undo and redo say of a change."""

from __future__ import annotations

import pytest

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter import change_words
from chatmagic.models import Reply


@pytest.mark.parametrize("step", ["undone", "redone"])
def test_nothing_to_say(step: str) -> None:
    """A step that changed nothing says so."""
    assert getattr(change_words, step)(None).startswith("Nothing to ")


def test_every_kind_of_change_is_said() -> None:
    """Each change, taken back and done again, names what it touched."""
    made = Conversation()
    for prompt, cell in (("a", "cell-0"), ("b", "cell-1"), ("A", "cell-0")):
        carried = made.context(cell, "x").numbers
        made.add(Turn(prompt=prompt, reply=Reply("r"), owner=cell, carried=carried))
    made.set_aside(["cell-1"])
    made.reset()
    back = [change_words.undone(made.undo()) for _ in range(6)]
    again = [change_words.redone(made.redo()) for _ in range(6)]
    assert back == [
        "Took back the reset (1 turn).",
        "Took back the setting aside (1 turn).",
        "Took back the new reply to “A”.",
        "Took back the question “b”.",
        "Took back the question “a”.",
        "Nothing to take back.",
    ]
    assert again == [
        "Nothing to do again.",
        "Redid the question “a”.",
        "Redid the question “b”.",
        "Redid the new reply to “A”.",
        "Redid the setting aside (1 turn).",
        "Redid the reset (1 turn).",
    ]


def test_a_change_of_instructions_is_said() -> None:
    """By itself, and beside the turns that a step touched."""
    made = Conversation()
    made.add(Instructions.of("Be terse.", owner="i"))
    assert change_words.undone(made.undo()) == "Took back the instructions."
    assert change_words.redone(made.redo()) == "Redid the instructions."
    made.set_aside(["i"])
    assert change_words.undone(made.undo()) == "Took back the setting aside (instructions)."
    made.add(Turn(prompt="a", reply=Reply("r"), owner="a"))
    made.set_aside(["a", "i"])
    back = change_words.undone(made.undo())
    assert back == "Took back the setting aside (1 turn and instructions)."


def test_what_a_prompt_would_do_is_not_done() -> None:
    """The line on a change acts in no terminal."""
    made = Conversation()
    made.add(Turn(prompt="\x1b[2J\u202e", reply=Reply("r")))
    assert change_words.undone(made.undo()).isprintable()
