"""What made a turn stale, and the marks of cells, as the history and the panel say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cases import each_case
from talks import abc, again, ask, carrying, go_on, layout, pick

from chatmagic._json import digest
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Value
from chatmagic.conversation.slots import Slot
from chatmagic.conversation.staleness import Cause, Causes
from chatmagic.conversation.state import State
from chatmagic.conversation.steering import Hiding, Instructions, ThreadStart
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply


def told(talk: Conversation) -> dict[str, str]:
    """Give the causes by cell, in words."""
    talk.label = lambda cell: f"cell [{cell}]"
    return {cell: cause.words for cell, cause in talk.causes().by_cell().items()}


def put_back(talk: Conversation) -> None:
    """Ask a question again, and put its first reply back."""
    new = again(talk, "r", "1", number=1, order="arbc")
    ask(talk, "c", "c", "2c")
    pick(talk, talk.replies[new.number][0].number, "p", order="arpbc")


TERSE = Instructions.of_text("Be terse.", owner="i")
CHANGES: dict[str, Callable[[Conversation], object]] = {
    "again": lambda talk: ask(talk, "A", "a", "2a"),
    "again twice": lambda talk: [ask(talk, name.upper(), name, f"2{name}") for name in "ab"],
    "between": lambda talk: ask(talk, "new", "n", "1n", order="abnc"),
    "deleted": lambda talk: talk.follow(layout("bc", gone="a")),
    "moved": lambda talk: talk.follow(layout("acb")),
    "swapped": lambda talk: talk.follow(layout("bac")),
    "divided": lambda talk: talk.add(ThreadStart("other", owner="t"), order="atbc"),
    "instructed": lambda talk: talk.add(TERSE, order="abic"),
    "asked again": lambda talk: again(talk, "r", "1", number=1, order="arbc"),
    "asked again below": lambda talk: again(talk, "r", "1", number=1),
    "asked again without a cell": lambda talk: again(talk, number=1),
    "continued": lambda talk: go_on(talk, "r", "1", number=1, order="arbc"),
    "put back": put_back,
    "hidden": lambda talk: talk.add(Hiding(1, turn=1, owner="h"), order="abhc"),
}


@each_case(
    ("change", "cell", "words"),
    [
        ("again", "b", "because cell [a] was run again"),
        ("again", "c", "because cell [a] was run again"),
        ("again twice", "c", "because cell [a] was run again"),
        ("between", "c", "because cell [n] above it was run since"),
        ("deleted", "b", "because the turn of cell [a] was taken out of the conversation"),
        ("moved", "b", "because cell [c] was moved above it"),
        ("moved", "c", "because the turn of cell [b] stands below it now"),
        ("swapped", "c", "because the turns above it stand in another order now"),
        ("divided", "b", "because the turn of cell [a] is in another thread than this one now"),
        ("asked again", "c", "because a question of cell [a] was asked again"),
        ("asked again below", "c", None),
        ("asked again without a cell", "c", "because a question of cell [a] was asked again"),
        ("continued", "c", "because a reply of cell [a] was continued"),
        ("put back", "c", "because cell [a] has another reply now"),
        ("hidden", "c", "because the turn of cell [a] is hidden now"),
        ("hidden", "b", None),
        ("instructed", "c", "because the instructions above it have changed"),
        ("instructed", "a", None),
    ],
)
def test_a_stale_turn_names_its_cause(change: str, cell: str, words: str | None) -> None:
    """The first change that counts for it, by the cell that made it; a fresh one has none."""
    talk = abc()
    CHANGES[change](talk)
    assert told(talk).get(cell) == words
    assert (cell in talk.causes().marks()) == (words is not None)


def test_a_turn_that_carried_the_last_ones_names_what_changed_among_them() -> None:
    """Older turns that it did not carry are no cause; nor is one that moves up for another."""
    talk = abc()
    ask(talk, "d", "d", "1d", last=1)
    ask(talk, "C", "c", "2c")
    assert told(talk)["d"] == "because cell [c] was run again"
    changes: dict[str, Callable[[Conversation], object]] = {
        "was taken out of the conversation": lambda talk: talk.follow(layout("abd", gone="c")),
        "is hidden now": lambda talk: talk.add(Hiding(1, turn=3, owner="h"), order="abchd"),
        "stands below it now": lambda talk: talk.follow(layout("abdc")),
    }
    for words, change in changes.items():
        talk = abc()
        ask(talk, "d", "d", "1d", last=1)
        change(talk)
        assert told(talk)["d"] == f"because the turn of cell [c] {words}"


def test_a_turn_that_was_not_carried_names_how_it_came() -> None:
    """Shown again, put back after it was deleted, or asked in the panel."""
    talk = abc()
    talk.add(Hiding(1, turn=1, owner="h"), order="habc")
    ask(talk, "B", "b", "2b", order="habc")
    talk.add(Hiding(1, turn=1, show=True, owner="s"), order="hasbc")
    assert told(talk)["b"] == "because the turn of cell [a] is no longer hidden"
    talk = abc()
    talk.follow(layout("bc", gone="a"))
    ask(talk, "B", "b", "2b", order="bc")
    talk.follow(layout("abc"))
    assert told(talk)["b"] == "because the turn of cell [a] stands above it now"
    talk = abc()
    asked = replace(talk.turns[0], owner="p", entry="panel", asker="the panel")
    talk.add(asked, order="apbc")
    assert told(talk)["b"] == "because the panel asked since"


def test_what_becomes_stale_is_asked_again_too() -> None:
    """A turn that carried a stale one alone is not stale yet; one that carried none stays fresh."""
    talk = abc()
    again(talk, "r", "1", number=3)
    ask(talk, "d", "d", "1d", last=1)
    ask(talk, "e", "e", "1e", last=0)
    again(talk, "s", "1", number=3)
    ask(talk, "B", "b", "2b")
    assert [turn.prompt for turn in talk.stale_turns()] == ["c"]
    cause = talk.causes().by_cell()["c"]
    assert talk.causes().by_cell(following=True) == dict.fromkeys("csd", cause)


def test_a_turn_of_before_that_is_live_again_is_a_cause() -> None:
    """Its cell was run again, and that was taken back."""
    talk = abc()
    ask(talk, "A", "a", "2")
    turn = ask(talk, "B", "b", "2")
    talk.undo()
    talk.undo()
    talk.add(replace(turn, execution="3"))
    assert told(talk)["b"] == "because cell [a] has another reply now"


def test_a_turn_that_is_not_known_is_a_cause() -> None:
    """As where an output above was lost before the conversation was restored."""
    talk = Conversation()
    turn = ask(talk, "a", "a", "1a")
    talk.add(replace(turn, owner="b", execution="1b", carried=carrying(0, 1)))
    assert told(talk) == {"b": "because it carried a turn that is not known here"}


def test_a_cell_that_went_along_is_a_cause() -> None:
    """By its number, and as the cell that did it."""
    talk = Conversation()
    turn = ask(talk, "a", "a", "1a")
    values = (Value.of_text("load", "1", "cell", "load"),)
    talk.add(replace(turn, values=values, execution="2a", carried=carrying()))
    talk.cells = {"load": digest("2")}
    talk.label = lambda _: "cell [7]"
    cause = talk.causes().by_cell()["a"]
    assert cause == Cause("because cell [7], sent along with it, has changed", "load")


def test_a_question_in_the_panel_is_no_cell() -> None:
    """A turn without a cell tells where it was asked; one that was edited there, too."""
    talk = Conversation()
    first = ask(talk, "a", "p", entry="panel")
    ask(talk, "b", "b", "1b")
    talk.add(replace(first, asker="the panel", execution="2"))
    assert told(talk) == {"b": "because a question of the panel was asked again"}


def test_the_thread_alone_has_the_causes_of_the_whole() -> None:
    """A turn that went to another thread is not said to have been taken out."""
    talk = abc()
    CHANGES["divided"](talk)
    other = talk.of_thread("other")
    assert [turn.owner for turn in other.stale_turns()] == ["b", "c"]
    cause = other.causes().cause_of(other.turns[0].number)
    assert cause == Cause(
        "because the turn of a cell of the notebook is in another thread than this one now", "a"
    )
    assert other.causes().cause_of(99) is None


def test_a_cell_wears_the_mark_that_matters_most() -> None:
    """Taken back before stale; each kind of what was taken back has its own."""
    a, b, c = abc().turns
    slots = (
        Slot(0, "i", (), newest=TERSE),
        Slot(1, "a", (), newest=a),
        Slot(2, "b", (b,), newest=a),
        Slot(3, "c", (c,), newest=c),
    )
    now = State(slots)
    assert Causes(now, {}, str).marks() == {
        "i": "instructions taken back",
        "a": "taken back",
        "b": "taken back",
        "c": "stale",
    }


def test_a_cell_whose_question_got_the_same_reply_again_wears_none() -> None:
    """Its output shows what later requests carry."""
    talk = abc()
    again(talk, "r", "1", number=1, says=talk.turns[0].reply.text)
    assert "a" not in talk.causes().marks()
    again(talk, "r", "2", number=talk.turns[0].number, says="another")
    assert talk.causes().marks()["a"] == "replaced"


def test_a_reply_that_another_cell_continued_wears_one() -> None:
    """That its limit of tokens ended it stands in its output."""
    talk = Conversation()
    turn = Turn(prompt="a", reply=Reply("a", finish_reason="length"), owner="a", execution="1")
    talk.add(turn)
    assert talk.causes().marks() == {}
    go_on(talk, "c", "1")
    assert talk.causes().marks() == {"a": "replaced"}
