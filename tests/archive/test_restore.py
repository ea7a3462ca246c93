"""A notebook's conversation, restored from its records."""

from __future__ import annotations

from typing import Any

from pages import cell, output
from saved_notebooks import page, read
from talks import instructions_of

from chatmagic.archive import notebook, restore
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Value
from chatmagic.conversation.record import change_record, owner_of
from chatmagic.conversation.steering import Hiding, Instructions, ThreadStart
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import ARGUMENT, own_instructions
from chatmagic.models import Reply, Usage


def restored(*cells: Any, by_id: bool = True) -> Conversation:
    """Give the conversation that these cells tell."""
    return restore.restore(read(cells), by_id=by_id).conversation


def test_owners() -> None:
    """A cell's own identity where the page knows it by that; else the one recorded."""
    cells = [
        page("a", id="a", owner=owner_of("a")),
        page("copy", id="b", owner=owner_of("a")),
        page("headless", id="c"),
        page("old", owner="elsewhere"),
        page("old copy", owner="elsewhere"),
    ]
    own = [owner_of(id) for id in "abc"]
    cells[0]["outputs"] *= 2
    assert [turn.owner for turn in restored(*cells)] == [own[0], *own, "elsewhere", None]
    theirs = [page(id, id=id, owner=f"vs-{id}") for id in "ab"]
    assert [turn.owner for turn in restored(*theirs)] == own[:2]
    assert [turn.owner for turn in restored(*theirs, by_id=False)] == ["vs-a", "vs-b"]
    assert [turn.owner for turn in restored(*cells[1:], by_id=False)] == [
        owner_of("a"), owner_of("c"), "elsewhere", None,
    ]  # fmt: skip


def test_a_thread_stands_where_its_cell_stands() -> None:
    """Its start is owned as a turn is, and one that was deleted is so again."""
    start = ThreadStart("sql", 1, owner=owner_of("s"))
    began = output({"text/plain": "…"}, {"chatmagic": start.to_json()})
    deleted = {**ThreadStart("main").to_json(), "kind": "deletion"}
    gone = output({"text/plain": "…"}, {"chatmagic": deleted})
    asked, more = page("p", id="a"), page("q", id="b", parameters={"thread": "other"})
    talk = restored(asked, cell("%chat_thread sql", [began], id="s"), page("r", id="c"), more)
    assert [owner for owner, _ in talk.slots] == [owner_of(id) for id in "ascb"]
    assert [window.thread for _, window in talk.windows] == ["main", "sql", "other"]
    assert [turn.prompt for turn in talk.of_thread("sql")] == ["p", "r"]
    again = restored(asked, cell("%chat_thread --delete main", [gone], id="d"), more)
    assert [turn.prompt for turn in again] == ["q"]


def test_instructions_stand_where_their_cell_stands() -> None:
    """Above the turns that carried them, which are stale with others; owned as a turn is."""
    terse = Instructions.of_text("Be terse.", owner=owner_of("a"))
    told = [output({"text/plain": "…"}, {"chatmagic": terse.to_json()})]
    given = cell("%%chat_instructions\nBe terse.", told, id="a")
    copied = cell("%%chat_instructions\nBe terse.", told, id="b")
    asked = page("p", id="c", instructions=terse.value.bare)
    talk = restored(given, copied, asked, page("q", id="d"))
    assert [owner for owner, _ in talk.slots] == [owner_of(id) for id in "abcd"]
    assert instructions_of(talk) == [terse.value] * 3
    assert [turn.prompt for turn in talk.stale_turns()] == ["q"]
    assert [turn.prompt for turn in restored(asked).stale_turns()] == ["p"]
    talk.add(Instructions.of_text("", owner=owner_of("b"), execution="new"))
    assert instructions_of(talk) == [None] * 3


def test_the_cells_that_carried_what_no_output_holds_are_told() -> None:
    """With those that ask and have no output."""
    found = read([page("a", carried=("0" * 64,)), page("b"), cell("%chat c")])
    missing, lacking = restore.gaps(restore.restore(found), found)
    assert missing.startswith("cell 3 asks and has no output")
    assert lacking.startswith("cell 1 carried a turn that no output here holds")


def test_a_reply_that_is_gone_leaves_its_turn_out() -> None:
    """A turn without a reply is none."""
    gone = page()
    del gone["outputs"][0]["data"]["text/plain"]
    told = restore.restore(read([gone]))
    assert told.problems == (f"cell 1: {notebook.CHANGED}; it was left out.",)
    told = restore.restore(read([gone]), changed=True)
    assert told.numbers == {}
    assert told.problems[1:] == ("cell 1: its reply is gone, so its turn was left out.",)
    assert len(told.conversation) == 0


def test_undo_redo_and_reset_are_gone_through() -> None:
    """In the order of the cells; a turn that was not kept is no part of it."""

    def did(kind: Any) -> dict[str, Any]:
        return cell("x", [output({"text/plain": "x"}, {"chatmagic": change_record(kind)})])

    aside = page("aside", parameters={"history": False})
    cells = [page("a"), aside, did("reset"), page("b"), did("undo"), did("undo")]
    told = restore.restore(read(cells))
    assert [turn.prompt for turn in told.conversation] == ["a"]
    assert [(saved.cell, number) for saved, number in told.numbers.items()] == [(1, 1), (4, 2)]
    assert [turn.prompt for turn in restored(*cells, did("redo"), did("redo"))] == ["b"]


def test_what_carried_another_prompt_than_the_one_that_is_forced_is_stale() -> None:
    """A changed record's own word for its turn is not taken: its prompt may be the change."""
    first, second = page("a"), page("b", carried=(Turn(prompt="a", reply=Reply("r")).digest,))
    found = read([first, second])
    assert not restore.restore(found, changed=True).conversation.stale_turns()
    first["outputs"][0]["metadata"]["chatmagic"]["prompt"] = "forged"
    talk = restore.restore(read([first, second]), changed=True).conversation
    assert [turn.prompt for turn in talk] == ["forged", "b"]
    assert [turn.prompt for turn in talk.stale_turns()] == ["b"]


def test_what_is_said_of_a_restored_notebook() -> None:
    """What is not whole is named, with its cell."""
    bare = Value.of_text("x", "1").bare
    changed = page("b")
    changed["outputs"][0]["data"]["text/plain"] = "other"
    undone = cell("x", [output({"text/plain": "x"}, {"chatmagic": change_record("undo")})])
    found = read(
        [page("{{ x }}", values=(bare,)), changed, page("c"), undone, cell("%chat d"),
         page("e", values=(bare,))]
    )  # fmt: skip
    told = restore.restore(found, changed=True)
    assert restore.summary(told, found) == [
        "Restored 2 turns (1 stale) from other.ipynb as last saved. Nothing was sent.",
        f"cell 1: {{{{ x }}}}: {restore.NOT_KEPT}",
        f"cell 2: {notebook.CHANGED}.",
        "cell 6: its record was left out: its values are not those of its prompt.",
        "cell 5 asks and has no output: not run yet, run with --quiet, or stripped.",
    ]


def test_many_kept_values_are_counted() -> None:
    """The first of them are named, and the others are a number."""
    values = tuple(Value.of_text("x", str(number)) for number in range(12))
    prompt = "{{ x }}" * len(values)
    talk = Conversation()
    sent = "".join(map(str, range(12)))
    talk.add(Turn(prompt=sent, reply=Reply("r"), typed=prompt, values=values))
    *named, others, undo = restore.speaking(talk)
    assert [line.startswith("turn 1: the value") for line in named] == [True] * restore.MOST_LINES
    assert others == "… and 2 more values."
    assert undo.startswith("%chat_undo")


def test_a_question_that_was_asked_again_stands_where_it_stood() -> None:
    """The reply takes its place, unless its cell was asked again since; so does a picked one."""
    first, second = (Turn(prompt="p", reply=Reply(text)).recorded_digest for text in "rs")
    asked = page("p", id="a")
    retry = page("p", "s", id="r", in_place_of=(first,))
    pick = page("p", "r", id="k", in_place_of=(first, second), picked=True)
    below = page("q", "x", id="b", carried=(second,))
    talk = restored(asked, retry, below)
    assert [turn.reply.text for turn in talk] == ["s", "x"]
    assert [len(items) for _, items in talk.slots] == [1, 0, 1]
    assert [turn.reply.text for turn in talk.replies[talk.turns[0].number]] == ["r", "s"]
    assert talk.stale_turns() == ()
    talk = restored(asked, page("q", "x", id="b", carried=(first,)), retry, pick)
    assert [turn.reply.text for turn in talk] == ["r", "x"]
    assert (talk.stale_turns(), len(talk.replies[1])) == ((), 2)
    undone = cell("%chat_undo", [output({"text/plain": "…"}, {"chatmagic": change_record("undo")})])
    assert [turn.reply.text for turn in restored(asked, retry, pick, undone)] == ["s"]
    other = page("p", "t", id="a")
    assert [turn.reply.text for turn in restored(other, retry, pick)] == ["t"]
    assert [turn.reply.text for turn in restored(other, retry, undone)] == ["t"]
    # The reply that was picked is in no other output.
    only = page("p", "u", id="k", in_place_of=(first, second), picked=True)
    assert [turn.reply.text for turn in restored(asked, only)] == ["u"]


def test_a_questions_own_instructions_stay_its_own() -> None:
    """Those of its place are not put in their stead; their text is in no output."""
    own = Value.of_text(ARGUMENT, "In French.", "instructions").bare
    (turn,) = restored(page("p", id="a", instructions=own))
    assert turn.instructions == own
    assert own_instructions(turn) == own


def test_a_part_that_began_again_stands_alone() -> None:
    """As its record says: the turn has that reply, and the one before it can be put back."""
    first, own = (Turn(prompt="p", reply=Reply(text)).recorded_digest for text in ("on", "anew"))
    place: dict[str, Any] = {"id": "c", "in_place_of": (first,), "continues": first, "turn": own}
    part = page("p", "anew", afresh=True, **place)
    talk = restored(page("p", "on", id="a"), part)
    (turn,) = talk.turns
    assert (turn.reply.text, turn.recorded_digest, turn.owner) == ("anew", own, owner_of("c"))
    assert [reply.reply.text for reply in talk.replies[turn.number]] == ["on", "anew"]
    below = page("q", "x", id="b", carried=(own,))
    assert restored(page("p", "on", id="a"), part, below).stale_turns() == ()


def test_a_continued_reply_is_joined_again() -> None:
    """As its record says, whatever would be joined today; without its first part it is none."""
    first, whole = (Turn(prompt="p", reply=Reply(text)).recorded_digest for text in ("on", "on x"))
    place: dict[str, Any] = {"id": "c", "in_place_of": (first,), "continues": first, "turn": whole}
    part = page("p", "on x", cut=2, usage=Usage(3, 4, 7), took=2, **place)
    asked = page("p", "on", id="a", usage=Usage(1, 2, 3), took=1)
    (turn,) = restored(asked, part)
    assert (turn.reply.text, turn.recorded_digest, turn.owner) == ("on x", whole, owner_of("c"))
    assert (turn.reply.usage, turn.reply.took) == (Usage(4, 6, 10), 3)
    below = page("q", "x", id="b", carried=(whole,))
    assert restored(asked, part, below).stale_turns() == ()
    assert [each.prompt for each in restored(page("p", "other", id="a"), part, below)] == ["p", "q"]
    other = Turn(prompt="p", reply=Reply("other")).recorded_digest
    late = page("p", "x", id="c", in_place_of=(first, other), continues=first)
    assert [turn.reply.text for turn in restored(page("p", "other", id="a"), late)] == ["other"]
    gone = restore.restore(read([part]))
    assert gone.conversation.turns == ()
    words = "the part of the reply that it continues is in no output here, so its own was left out."
    assert gone.problems == (f"cell 1: {words}",)
    assert restored(page("p", "x", continues=first)).turns == ()
    undone = cell("%chat_undo", [output({"text/plain": "…"}, {"chatmagic": change_record("undo")})])
    assert [each.reply.text for each in restored(asked, part, undone)] == ["on"]


def test_of_equal_turns_the_one_is_asked_again_that_stood_there() -> None:
    """A request's digests tell it from the other; without either, the reply stands by itself."""
    yes = Turn(prompt="p", reply=Reply("yes")).recorded_digest
    one, two = page("p", "yes", id="a"), page("p", "yes", id="b", carried=(yes,))
    retry = page("p", "no", id="r", in_place_of=(yes,))
    assert [turn.reply.text for turn in restored(one, two, retry)] == ["no", "yes"]
    assert [turn.reply.text for turn in restored(retry, page("q", "x", id="b"))] == ["no", "x"]
    beside = page("p", "yes", id="b", parameters={"thread": "x"})
    assert [turn.reply.text for turn in restored(one, beside, retry)] == ["no", "yes"]


def test_a_hidden_turn_is_hidden_again() -> None:
    """The record names it by its digest, above the cell that hid it."""
    hidden = Hiding(1, Turn(prompt="p", reply=Reply("x")).recorded_digest, owner=owner_of("h"))
    told = [output({"text/plain": "…"}, {"chatmagic": hidden.to_json()})]
    talk = restored(page("p", "x", id="a"), cell("%chat_hide 1", told, id="h"))
    assert talk.window().hides(talk.turns[0])


def test_of_equal_replies_the_one_is_put_back_that_took_as_much() -> None:
    """It is the turn that is in force below."""
    yes = Turn(prompt="p", reply=Reply("yes")).recorded_digest
    one, again = page("p", "yes", id="a", took=1), page("p", "yes", id="r", in_place_of=(yes,))
    for took, number in ((1, 1), (None, 2)):
        pick = page("p", "yes", id="k", took=took, in_place_of=(yes,), picked=True)
        assert [turn.number for turn in restored(one, again, pick)] == [number]
