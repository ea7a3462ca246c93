"""Words on changes that were taken back or done again."""

from __future__ import annotations

from talks import ask, set_aside

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import QuestionPlace
from chatmagic.jupyter import change_words
from chatmagic.models import Reply


def conversation(*prompts: str) -> Conversation:
    """Give a conversation of complete turns, each cell of its own."""
    made = Conversation()
    for number, prompt in enumerate(prompts):
        ask(made, prompt, f"cell-{number}", "x", says=f"reply to {prompt}")
    return made


def test_every_kind_of_change_is_said() -> None:
    """Each change, taken back and done again, names what it touched."""
    made = Conversation()
    for prompt, cell in (("a", "cell-0"), ("b", "cell-1"), ("A", "cell-0")):
        carried = made.window(QuestionPlace(cell, "x")).carried
        made.add(Turn(prompt=prompt, reply=Reply("r"), owner=cell, carried=carried))
    set_aside(made, ["cell-1"])
    made.reset()
    changes = [
        "the reset (1 turn).",
        "the removal of deleted cells (1 turn).",
        "the new reply to “A”.",
        "the question “b”.",
        "the question “a”.",
    ]
    undone = [change_words.undone(made.undo()) for _ in changes]
    assert undone == [f"Undone: {change}" for change in changes]
    assert change_words.undone(made.undo()) == "Nothing to undo."
    assert change_words.redone(made.redo()) == "Nothing to redo."
    redone = [change_words.redone(made.redo()) for _ in changes]
    assert redone == [f"Redone: {change}" for change in reversed(changes)]


def test_a_change_of_instructions_is_said() -> None:
    """By itself, and beside the turns that a step touched."""
    made = Conversation()
    made.add(Instructions.of_text("Be terse.", owner="i"))
    assert change_words.undone(made.undo()) == "Undone: the instructions."
    assert change_words.redone(made.redo()) == "Redone: the instructions."
    made.add(Turn(prompt="a", reply=Reply("r"), owner="a"))
    set_aside(made, ["a", "i"])
    back = change_words.undone(made.undo())
    assert back == "Undone: the removal of deleted cells (1 turn and instructions)."
