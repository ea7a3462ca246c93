"""The rules of a conversation: examples of each, and laws over random histories."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chatmagic import conversation as module
from chatmagic.conversation import Change, Conversation, Turn
from chatmagic.digests import digest, turn_digest
from chatmagic.errors import InputError
from chatmagic.page import AS_RUN, Layout
from chatmagic.record import Value
from chatmagic.wire import Message, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from chatmagic.conversation import Entry


def ask(
    talk: Conversation,
    prompt: str,
    owner: str | None = None,
    execution: str | None = None,
    *,
    last: int | None = None,
    order: Sequence[str] | None = None,
    entry: Entry = "cell",
) -> Turn:
    """Ask as a session does: look, send, store; the turn as it was stored."""
    context = talk.context(owner, execution, last=last, order=order)
    turn = Turn(
        prompt=prompt,
        reply=Reply(digest([[m.content for m in context.messages], prompt])[:8]),
        owner=owner,
        execution=execution,
        carried=context.numbers,
        last=last,
        entry=entry,
    )
    return talk.add(turn, order=order).came[-1]


def prompts(turns: Sequence[Turn] | Conversation) -> list[str]:
    """Give the turns' prompts."""
    return [turn.prompt for turn in turns]


def carries(talk: Conversation, owner: str | None = None, **given: Any) -> list[str]:
    """Give the prompts of the turns that a request would carry."""
    return prompts(talk.context(owner, "next", **given).turns)


def abc() -> Conversation:
    """Give a conversation of three cells, each run once."""
    talk = Conversation()
    for name in "abc":
        ask(talk, name, name, "1" + name)
    return talk


def test_a_turn_tells_what_a_request_and_a_record_need() -> None:
    """State, messages, digest and the parameters that were set."""
    turn = Turn(prompt="p", reply=Reply("r", state="cut off"), max_tokens=5, last=0)
    assert turn.state == "cut off"
    assert turn.messages == (Message("user", "p"), Message("assistant", "r"))
    assert turn.digest == turn_digest("p", "r")
    assert turn.parameters == {"max_tokens": 5, "last": 0}
    assert dataclasses.replace(turn, stream=False).parameters["stream"] is False
    kept, gone = Value.of("x", "1"), Value.of("y", "2").bare
    assert turn.missing == ()
    assert dataclasses.replace(turn, typed="{{ y }}", values=(kept, gone)).missing == ("y",)
    assert hash(turn) == hash(dataclasses.replace(turn))


def test_an_empty_conversation() -> None:
    """It is empty, carries nothing, and has a name."""
    talk = Conversation()
    assert talk.name == "main"
    assert len(talk) == 0
    assert talk.context() == module.Context((), 0)
    assert repr(talk) == "<Conversation 'main': turns: 0, stale: 0>"


def test_turns_without_a_cell_are_appended() -> None:
    """Rule 1: each gets a place of its own at the end, also within one execution."""
    talk = Conversation()
    turns = [ask(talk, name, None, "x") for name in "pqr"]
    assert list(talk) == turns
    assert [turn.number for turn in turns] == [1, 2, 3]
    assert [turn.carried for turn in turns] == [(), (1,), (1, 2)]
    assert [talk.position(turn) for turn in turns] == [1, 2, 3]


def test_a_context_tells_numbers_digests_and_messages() -> None:
    """What the request, the turn and its record keep of the turns that are carried."""
    talk = abc()
    ask(talk, "q", entry="panel")
    context = talk.context()
    a, b, c, q = talk
    assert context.numbers == (1, 2, 3, 4)
    assert context.digests == tuple(turn.digest for turn in talk)
    assert context.messages == (*a.messages, *b.messages, *c.messages, *q.messages)
    assert context.from_panel == 1
    assert talk.context(last=1).from_panel == 1
    assert talk.context("a").from_panel == 0


def test_a_request_carries_the_turns_before_its_place() -> None:
    """Rule 2: none of those after it, and not the one that it replaces."""
    assert carries(abc(), "b") == ["a"]


def test_running_a_cell_again_replaces_its_turn_in_place() -> None:
    """Rule 4: no other turn is touched; later ones that carried it are stale."""
    talk = abc()
    a, b, c = talk
    again = ask(talk, "B", "b", "2b")
    assert list(talk) == [a, again, c]
    assert again.number == 4
    assert talk.stale_turns() == (c,)
    assert [talk.stale(turn) for turn in (a, again, c, b)] == [False, False, True, False]
    assert talk.position(b) is None
    assert repr(talk) == "<Conversation 'main': turns: 3, stale: 1>"


def test_a_loop_stays_together_until_a_new_execution() -> None:
    """Rule 3: later asks of an execution carry the earlier; the next one replaces all."""
    talk = abc()
    loop = [ask(talk, f"B{i}", "b", "2b") for i in range(3)]
    assert prompts(talk) == ["a", "B0", "B1", "B2", "c"]
    assert [turn.carried for turn in loop] == [(1,), (1, 4), (1, 4, 5)]
    assert prompts(talk.stale_turns()) == ["c"]
    ask(talk, "B", "b", "3b")
    assert prompts(talk) == ["a", "B", "c"]


def test_an_unknown_execution_is_one_of_its_own() -> None:
    """Rule 3: without an execution each ask replaces the one before."""
    talk = Conversation()
    ask(talk, "1", "a", None)
    ask(talk, "2", "a", None)
    assert prompts(talk) == ["2"]


def test_what_an_ask_says_that_it_did() -> None:
    """The change names its kind, the turns that went and the one that came."""
    talk = abc()
    b = talk.turns[1]
    turn = Turn(prompt="B", reply=Reply("r"), owner="b", execution="2b")
    change = talk.add(turn)
    assert change == Change("re-run", (b,), (dataclasses.replace(turn, number=4),))
    assert talk.add(turn) == Change("ask", (), (dataclasses.replace(turn, number=5),))


def test_a_new_cell_stands_where_the_page_has_it() -> None:
    """Rule 5: between two others it carries the turns above it."""
    talk = abc()
    assert carries(talk, "n") == ["a", "b", "c"]
    assert carries(talk, "n", order=["a", "n", "b", "c"]) == ["a"]
    ask(talk, "n", "n", "1n", order=["a", "n", "b", "c"])
    assert prompts(talk) == ["a", "n", "b", "c"]
    assert prompts(talk.stale_turns()) == ["b", "c"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["n", "a", "b"], "nab"),
        (["a", "b", "n"], "abn"),
        (["a", "b"], "abn"),
        (["b", "n", "a"], "bna"),
        (["x", "b", "y", "n", "a", "z"], "bna"),
    ],
)
def test_a_new_cell_first_last_missing_and_on_another_order(
    order: list[str], expected: str
) -> None:
    """Rule 5: the page's order moves the other places too; who is not listed is appended."""
    talk = Conversation()
    ask(talk, "a", "a", "1")
    ask(talk, "b", "b", "2")
    ask(talk, "n", "n", "3", order=order)
    assert "".join(prompts(talk)) == expected


def test_places_that_the_page_does_not_list_stay_behind_their_neighbour() -> None:
    """Rule 5: panel turns and cells of elsewhere go with the place that they stood behind."""
    talk = Conversation()
    ask(talk, "first")
    ask(talk, "a", "a", "1")
    ask(talk, "panel", entry="panel")
    ask(talk, "other", "other", "2")
    ask(talk, "b", "b", "3")
    talk.arrange(["b", "a"])
    assert prompts(talk) == ["first", "b", "a", "panel", "other"]
    assert carries(talk, "n", order=["n", "b", "a"]) == ["first"]
    assert carries(talk, "n", order=["b", "a", "n"])[-3:] == ["a", "panel", "other"]
    assert carries(talk, "n", order=["a", "n", "b"]) == ["first", "a", "panel", "other"]


def test_arranging_is_not_a_change_to_undo() -> None:
    """Rule 5: undo takes back the ask before it; the order stays."""
    talk = abc()
    talk.undo()
    talk.arrange(["c", "b", "a"])
    assert prompts(talk) == ["b", "a"]
    assert prompts(talk.stale_turns()) == ["b", "a"]
    talk.redo()
    assert prompts(talk) == ["c", "b", "a"]
    assert talk.undo_depth == 3


@pytest.mark.parametrize("how", ["undo", "reset", "set aside"])
def test_a_turn_comes_back_in_its_place(how: str) -> None:
    """Rule 6: undone, reset or set aside, its cell's next turn stands where it stood."""
    talk = Conversation()
    ask(talk, "b", "b", "1")
    if how == "undo":
        talk.undo()
    elif how == "reset":
        talk.reset()
    else:
        talk.set_aside({"b"})
    ask(talk, "c", "c", "2")
    assert carries(talk, "b") == []
    ask(talk, "B", "b", "3")
    assert prompts(talk) == ["B", "c"]


def test_undo_takes_back_each_kind_of_change_and_redo_does_it_again() -> None:
    """Rule 7: each step says what went and what came."""
    talk = abc()
    a, b, c = talk
    again = ask(talk, "B", "b", "2b")
    aside = talk.set_aside(["c"])
    reset = talk.reset()
    assert aside == Change("set aside", (c,), ())
    assert reset == Change("reset", (a, again), ())
    assert (talk.undo_depth, talk.redo_depth) == (6, 0)
    assert talk.undo() == Change("reset", (), (a, again))
    assert talk.undo() == Change("set aside", (), (c,))
    assert talk.undo() == Change("re-run", (again,), (b,))
    assert list(talk) == [a, b, c]
    assert talk.undo() == Change("ask", (c,), ())
    assert talk.redo() == Change("ask", (), (c,))
    assert talk.redo() == Change("re-run", (b,), (again,))
    assert talk.redo() == aside
    assert talk.redo() == reset
    assert talk.redo() is None
    assert (talk.undo_depth, talk.redo_depth) == (6, 0)


def test_a_new_change_ends_what_could_be_redone() -> None:
    """Rule 7: after it, redo brings nothing back."""
    talk = abc()
    talk.undo()
    ask(talk, "d", "d", "1")
    assert talk.redo_depth == 0
    assert talk.redo() is None
    assert prompts(talk) == ["a", "b", "d"]


def test_setting_aside_cells_without_live_turns_is_no_change() -> None:
    """Nothing is recorded, and what was undone can still be redone."""
    talk = abc()
    ask(talk, "panel")
    talk.undo()
    assert talk.set_aside(["nobody"]) is None
    assert talk.set_aside([]) is None
    assert (talk.undo_depth, talk.redo_depth) == (3, 1)


def test_a_reset_of_nothing_counts() -> None:
    """Rule 8: an undo after it takes the reset back, not the change before."""
    talk = abc()
    talk.reset()
    assert talk.reset() == Change("reset", (), ())
    assert talk.undo() == Change("reset", (), ())
    assert prompts(talk) == []
    talk.undo()
    assert prompts(talk) == ["a", "b", "c"]


def test_an_undo_of_nothing_counts() -> None:
    """Rule 8: it needs a redo of its own, and a new change forgets it."""
    talk = Conversation()
    ask(talk, "a", "a", "1")
    talk.undo()
    assert talk.undo() is None
    assert talk.redo() is None
    assert talk.redo_depth == 1
    talk.redo()
    assert prompts(talk) == ["a"]
    talk.undo()
    talk.undo()
    ask(talk, "b", "b", "2")
    talk.undo()
    talk.redo()
    assert prompts(talk) == ["b"]


def test_undo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many changes can be taken back; the older ones are final."""
    assert module.UNDO_DEPTH == 1000
    monkeypatch.setattr(module, "UNDO_DEPTH", 2)
    talk = abc()
    assert talk.undo_depth == 2
    while talk.undo():
        pass
    assert prompts(talk) == ["a"]


def test_stale_is_derived() -> None:
    """Rule 9: undoing the re-run makes later turns fresh; so does asking them again."""
    talk = abc()
    ask(talk, "A", "a", "2a")
    assert prompts(talk.stale_turns()) == ["b", "c"]
    talk.undo()
    assert talk.stale_turns() == ()
    talk.redo()
    ask(talk, "B", "b", "2b")
    assert prompts(talk.stale_turns()) == ["c"]
    ask(talk, "C", "c", "2c")
    assert talk.stale_turns() == ()


def test_stale_honours_last() -> None:
    """Rule 9: what the request would leave out anyway makes no turn stale."""
    talk = abc()
    d = ask(talk, "d", "d", "1d", last=1)
    e = ask(talk, "e", "e", "1e", last=0)
    assert (d.carried, e.carried) == ((3,), ())
    ask(talk, "A", "a", "2a")
    assert prompts(talk.stale_turns()) == ["b", "c"]
    ask(talk, "C", "c", "2c")
    assert prompts(talk.stale_turns()) == ["b", "d"]


@pytest.mark.parametrize(
    ("last", "expected"), [(None, "abc"), (0, ""), (1, "c"), (3, "abc"), (9, "abc")]
)
def test_a_request_may_leave_out_the_oldest(last: int | None, expected: str) -> None:
    """Rule 10: it carries the newest, and tells how many there would be."""
    context = abc().context(last=last)
    assert "".join(prompts(context.turns)) == expected
    assert context.total == 3


@pytest.mark.parametrize("last", [-1, True, 1.0, "3"])
def test_a_last_that_is_no_count_is_refused(last: Any) -> None:
    """Bad input gives one clear line."""
    with pytest.raises(InputError, match="must be a whole number from 0 up"):
        abc().context(last=last)


def talked(asks: Sequence[tuple[str | None, int]]) -> Conversation:
    """Give a conversation in which these cells asked, each in one of a few executions."""
    talk = Conversation("other")
    for owner, execution in asks:
        ask(talk, f"{owner}{execution}", owner, str(execution))
    return talk


ASKED = st.lists(st.tuples(st.sampled_from([*"abc", None]), st.integers(1, 2)), max_size=6)


@given(mine=ASKED, theirs=ASKED, again=st.booleans())
def test_a_loaded_conversation_stands_in_for_the_live_one(
    mine: list[tuple[str | None, int]], theirs: list[tuple[str | None, int]], *, again: bool
) -> None:
    """Rule 11: one change, which undo takes back; its turns keep order, owners and staleness."""
    talk, other = talked(mine), talked(theirs)
    other = Conversation.of(other.places, other.added)
    if again:
        talk.load(other)
    before, numbers = talk.turns, {turn.number for turn in talk}
    change = talk.load(other)
    assert change.kind == "load"
    assert change.went == before
    assert change.came == talk.turns
    assert [(t.prompt, t.owner, t.execution) for t in talk] == [
        (t.prompt, t.owner, t.execution) for t in other
    ]
    assert prompts(talk.stale_turns()) == prompts(other.stale_turns())
    assert not numbers & {turn.number for turn in talk}
    owners = [owner for owner, _ in talk.places if owner is not None]
    assert len(owners) == len(set(owners))
    assert len(other) == len(prompts(other))
    loaded = talk.turns
    talk.undo()
    assert talk.turns == before
    talk.redo()
    assert talk.turns == loaded
    assert ask(talk, "next").carried == tuple(turn.number for turn in loaded)


def test_where_nothing_has_happened_a_loaded_conversation_brings_its_changes() -> None:
    """Rule 11: what it undid can be done again; elsewhere there would be two pasts."""
    other = abc()
    other.undo()
    for talk in (Conversation(), Conversation()):
        talk.load(other)
        assert prompts(talk) == ["a", "b"]
        assert (talk.undo_depth, talk.redo_depth) == (2, 1)
        talk.redo()
        assert prompts(talk) == ["a", "b", "c"]
    assert prompts(other) == ["a", "b"]
    talk = Conversation()
    talk.undo()
    talk.load(other)
    assert (talk.undo_depth, talk.redo_depth) == (1, 0)


def test_a_turn_that_is_not_known_stays_so() -> None:
    """A number of 0 among those carried is no turn's, also after loading."""
    other = Conversation()
    other.add(Turn(prompt="p", reply=Reply("r"), carried=(0,)))
    talk = abc()
    (turn,) = talk.load(other).came
    assert turn.carried == (0,)
    assert talk.stale(turn)


def test_a_conversation_is_made_from_what_it_told() -> None:
    """Places, numbers and staleness are the same; what makes no sense is refused."""
    talk = abc()
    ask(talk, "B", "b", "2b")
    talk.set_aside(["a"])
    made = Conversation.of(talk.places, talk.added, "again")
    assert (made.places, made.added, made.name) == (talk.places, talk.added, "again")
    assert made.stale_turns() == talk.stale_turns()
    assert made.undo_depth == 0
    ask(made, "A", "a", "2a")
    assert prompts(made) == ["A", "B", "c"]
    turn = talk.turns[0]
    for places, added in (
        ([("a", ()), ("a", ())], 0),
        ([("a", [turn]), ("b", [turn])], talk.added),
        ([("a", [dataclasses.replace(turn, number=0)])], talk.added),
        ([("a", [turn])], turn.number - 1),
        ([("a", [dataclasses.replace(turn, carried=(99,))])], talk.added),
        ([("a", [dataclasses.replace(turn, carried=(-1,))])], talk.added),
    ):
        with pytest.raises(ValueError, match=r"two places|one by one|never was"):
            Conversation.of(places, added)


def _steps() -> list[Callable[[Conversation], object]]:
    new = Turn(prompt="n", reply=Reply("r"), owner="b", execution="9")
    return [
        lambda talk: talk.add(new, order=["b", "a", "n", "c"]),
        Conversation.undo,
        Conversation.redo,
        Conversation.reset,
        lambda talk: talk.set_aside(["a", "c"]),
        lambda talk: talk.arrange(["c", "a"]),
        lambda talk: talk.load(abc()),
    ]


def _interrupted(step: Callable[[Conversation], object], talk: Conversation, after: int) -> bool:
    """Do a step and interrupt it after so many instructions; whether it was."""
    count = itertools.count()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and next(count) == after:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    # Python 3.12 traces instructions only if a frame asks for it before tracing begins.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        step(talk)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("step", _steps())
def test_an_interrupt_leaves_the_old_state_or_the_new(
    step: Callable[[Conversation], object],
) -> None:
    """Whichever instruction Stop strikes at, nothing is half done."""
    talk = abc()
    talk.reset()
    talk.undo()
    old = talk._all
    step(talk)
    new = talk._all
    assert new != old
    seen = []
    for after in itertools.count():
        talk._all = old
        if not _interrupted(step, talk, after):
            break
        seen.append(talk._all)
    assert old in seen
    assert new in seen
    assert all(state in (old, new) for state in seen)


def layout(order: str, *, gone: str = "", **named: str) -> Layout:
    """Give a layout of cells with names of one letter."""
    return Layout(tuple(order), set(order), frozenset(gone), named)


def test_cells_that_go_have_their_turns_set_aside_once() -> None:
    """Rule 12: it can be undone, and then they stay, though the page still lacks the cell."""
    talk = abc()
    change = talk.follow(layout("ac", gone="b"))
    assert change is not None
    assert (change.kind, prompts(change.went)) == ("set aside", ["b"])
    assert talk.follow(layout("ac", gone="b")) is None
    talk.undo()
    assert talk.follow(layout("ac", gone="b")) is None
    assert prompts(talk) == ["a", "b", "c"]
    assert talk.stale_turns() == ()


def test_a_cell_that_never_was_on_the_page_is_not_missed() -> None:
    """Rule 12: a console's, or another notebook's, keeps its turn where it stands."""
    talk = abc()
    assert talk.follow(layout("ca")) is None
    assert prompts(talk) == ["c", "a", "b"]


def test_a_cell_that_comes_back_gets_its_turns_back() -> None:
    """Rule 12: as though they had never been set aside, alone or with others."""
    talk = abc()
    talk.follow(layout("a", gone="bc"))
    assert prompts(talk) == ["a"]
    talk.follow(layout("ab", gone="c"))
    assert prompts(talk) == ["a", "b"]
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "b", "c"]
    assert talk.undo_depth == 3
    assert talk.stale_turns() == ()


def test_what_can_be_redone_can_be_so_after_a_cell_came_back() -> None:
    """Rule 12: coming back is not a change."""
    talk = abc()
    talk.follow(layout("ac", gone="b"))
    ask(talk, "d", "d", "1d")
    talk.undo()
    talk.follow(layout("abc"))
    talk.redo()
    assert prompts(talk) == ["a", "b", "c", "d"]


def test_what_was_asked_or_reset_in_between_stays_so() -> None:
    """Rule 12: coming back brings back what was set aside, and nothing older or newer."""
    talk = abc()
    talk.follow(layout("ac", gone="b"))
    ask(talk, "new", "b", "2b", order="abc")
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "new", "c"]
    talk.follow(layout("ac", gone="b"))
    talk.reset()
    talk.follow(layout("abc"))
    assert prompts(talk) == []
    talk.undo()
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "c"]


def test_a_cell_whose_ask_was_undone_has_nothing_to_get_back() -> None:
    """Rule 12: what undo took back stays taken back."""
    talk = abc()
    talk.undo()
    talk.follow(layout("ab", gone="c"))
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "b"]
    assert prompts(talk.redo().came) == ["c"]  # type: ignore[union-attr] # there is one


def test_a_cell_with_another_identity_takes_its_place_over() -> None:
    """Rule 13: it is known by the record in its outputs, then and later."""
    talk = abc()
    talk.follow(layout("axc", gone="b", x="b", a="a"))
    assert prompts(talk) == ["a", "b", "c"]
    assert talk.stale_turns() == ()
    talk.follow(layout("ayc", gone="bx", y="b"))
    assert prompts(talk) == ["a", "b", "c"]
    ask(talk, "B", "y", "2", order="ayc")
    assert prompts(talk) == ["a", "B", "c"]


def test_a_cell_pasted_later_under_another_identity_takes_over_too() -> None:
    """Rules 12 and 13: what was set aside with the old one comes back with the new one."""
    talk = abc()
    talk.follow(layout("ac", gone="b"))
    talk.follow(layout("acx", gone="b", x="b"))
    assert prompts(talk) == ["a", "c", "b"]


def test_a_copied_cell_is_a_new_one() -> None:
    """Rule 13: the record's own cell is on a page, or the copy has turns, or comes second."""
    talk = abc()
    talk.follow(layout("abxc", x="b"))
    assert carries(talk, "x", order="abxc") == ["a", "b"]
    assert prompts(talk) == ["a", "b", "c"]
    ask(talk, "copy", "x", "1", order="abxc")
    talk.follow(layout("axyzc", gone="b", x="b", y="b", z="b"))
    assert prompts(talk) == ["a", "copy", "b", "c"]
    assert carries(talk, "y", order="axyzc") == ["a", "copy"]
    assert carries(talk, "z", order="axyzc") == ["a", "copy", "b"]


def test_a_record_of_nobody_here_changes_nothing() -> None:
    """Rule 13: another kernel's, or a turn without a cell."""
    talk = abc()
    ask(talk, "panel")
    talk.follow(layout("abcx", x="stranger"))
    assert prompts(talk) == ["a", "b", "c", "panel"]


def test_the_order_as_run_can_be_asked_for() -> None:
    """Rule 5: the places stand as they came to be; nothing is set aside or brought back."""
    talk = abc()
    talk.follow(layout("ca", gone="b"))
    assert prompts(talk) == ["c", "a"]
    assert talk.follow(AS_RUN) is None
    assert prompts(talk) == ["a", "c"]
    talk.follow(layout("ca", gone="b"))
    talk.undo()
    assert prompts(talk) == ["c", "a", "b"]


def test_stale_cells_can_be_told_before_the_conversation_follows() -> None:
    """Rule 9: what would be stale, without a change; turns of no cell are not told."""
    talk = abc()
    ask(talk, "panel")
    assert talk.stale_owners() == frozenset()
    assert talk.stale_owners(layout("acb")) == {"b", "c"}
    assert talk.stale_owners(layout("ac", gone="b")) == {"c"}
    assert prompts(talk) == ["a", "b", "c", "panel"]
    talk.arrange("bac")
    assert talk.stale_owners() == {"a", "b", "c"}


def test_the_order_of_what_was_loaded_counts_as_run() -> None:
    """Rules 5 and 11: until the load is taken back."""
    talk = abc()
    other = Conversation()
    for name in "dca":
        ask(other, name.upper(), name, "1")
    talk.load(other)
    talk.follow(AS_RUN)
    assert prompts(talk) == ["D", "C", "A"]
    talk.undo()
    talk.follow(AS_RUN)
    assert prompts(talk) == ["a", "b", "c"]


@given(st.lists(st.sets(st.sampled_from("abc")), max_size=6))
def test_whatever_goes_and_comes_back_is_as_before(gone: list[set[str]]) -> None:
    """Rule 12: a page that has all its cells again has all their turns, and nothing to undo."""
    talk = abc()
    before = talk.turns
    for some in gone:
        order = "".join(name for name in "abc" if name not in some)
        talk.follow(layout(order, gone="".join(some)))
        assert prompts(talk) == list(order)
    talk.follow(layout("abc"))
    assert talk.turns == before
    assert talk.undo_depth == 3


class Row(NamedTuple):
    """A place of the model: who owns it, and a list of (number, execution)."""

    owner: str | None
    turns: list[tuple[int, str]]


class Machine(RuleBasedStateMachine):
    """A conversation beside a model of plain lists that keeps a copy of all at each change."""

    owners = st.sampled_from([*"abcd", None])
    orders = st.none() | st.permutations(list("abc"))

    def __init__(self) -> None:
        """Begin with both empty."""
        super().__init__()
        self.talk = Conversation()
        self.rows: list[Row] = []
        self.past: list[dict[int, list[tuple[int, str]]]] = []
        self.future: list[dict[int, list[tuple[int, str]]] | None] = []
        self.asked: dict[int, tuple[tuple[int, ...], int | None]] = {}
        self.executions = 0
        self.ever: set[int] = set()

    def live(self) -> list[int]:
        """Give the numbers of the model's live turns."""
        return [number for row in self.rows for number, _ in row.turns]

    def copy(self) -> dict[int, list[tuple[int, str]]]:
        """Copy the turns of every row, by the row's identity."""
        return {id(row.turns): list(row.turns) for row in self.rows}

    def restore(self, copy: dict[int, list[tuple[int, str]]]) -> None:
        """Put the turns of a copy back; rows that it does not know are emptied."""
        for row in self.rows:
            row.turns[:] = copy.get(id(row.turns), [])

    def change(self) -> None:
        """Remember what is, as a new change begins."""
        self.past.append(self.copy())
        self.future.clear()

    def sort(self, order: Sequence[str]) -> None:
        """Cut the rows into a head and groups that each begin on the page; sort the groups."""
        head: list[Row] = []
        groups: dict[str, list[Row]] = {}
        group = head
        for row in self.rows:
            if row.owner is not None and row.owner in order:
                group = groups.setdefault(row.owner, [])
            group.append(row)
        for owner in order:
            head += groups.get(owner, [])
        self.rows = head

    def row(self, owner: str | None, order: Sequence[str] | None) -> Row:
        """Find the owner's row, or make it."""
        if order is not None:
            self.sort(order)
        found = [row for row in self.rows if owner is not None and row.owner == owner]
        if found:
            return found[0]
        new = Row(owner, [])
        self.rows.append(new)
        if order is not None and owner in order:
            # As a group of its own it cannot carry off those who stand behind others.
            self.sort(order)
        return new

    @rule(
        owner=owners,
        again=st.booleans(),
        last=st.sampled_from([None, None, 0, 1, 2]),
        order=orders,
    )
    def ask(
        self, owner: str | None, last: int | None, order: Sequence[str] | None, *, again: bool
    ) -> None:
        """Ask, in a new execution or in the last one."""
        self.executions += not again
        execution = str(self.executions)
        total = self.talk.context(owner, execution, order=order).total
        turn = ask(self.talk, "p", owner, execution, last=last, order=order)
        self.change()
        row = self.row(owner, order)
        if row.turns and row.turns[0][1] != execution:
            row.turns.clear()
        row.turns.append((turn.number, execution))
        live = self.live()
        before = live[: live.index(turn.number)]
        assert total == len(before)
        assert list(turn.carried) == (before if last is None else before[::-1][:last][::-1])
        assert turn.number not in self.ever
        self.ever.add(turn.number)
        self.asked[turn.number] = (turn.carried, last)

    @rule()
    def undo(self) -> None:
        """Take a change back."""
        now = self.copy()
        change = self.talk.undo()
        assert (change is None) == (not self.past)
        self.future.append(now if self.past else None)
        if self.past:
            self.restore(self.past.pop())

    @precondition(lambda self: self.future)
    @rule()
    def redo(self) -> None:
        """Do it again."""
        now = self.copy()
        change = self.talk.redo()
        future = self.future.pop()
        assert (change is None) == (future is None)
        if future is not None:
            self.past.append(now)
            self.restore(future)

    @rule()
    def reset(self) -> None:
        """Take everything out."""
        self.change()
        gone = self.live()
        assert [turn.number for turn in self.talk.reset().went] == gone
        self.restore({})

    @rule(owner=st.sampled_from("abcd"))
    def set_aside(self, owner: str) -> None:
        """Take one cell out."""
        rows = [row for row in self.rows if row.owner == owner and row.turns]
        change = self.talk.set_aside([owner])
        assert (change is None) == (not rows)
        if rows:
            self.change()
            rows[0].turns.clear()

    @rule(order=st.permutations(list("abc")))
    def arrange(self, order: Sequence[str]) -> None:
        """Follow the page."""
        self.talk.arrange(order)
        self.sort(order)

    @invariant()
    def same(self) -> None:
        """The live turns, the stale ones and the depths are the model's."""
        live = self.live()
        assert [turn.number for turn in self.talk] == live
        assert len(self.talk) == len(live)
        stale = []
        for index, number in enumerate(live):
            carried, last = self.asked[number]
            before = live[:index] if last is None else live[:index][::-1][:last][::-1]
            if list(carried) != before:
                stale.append(number)
        assert [turn.number for turn in self.talk.stale_turns()] == stale
        assert self.talk.undo_depth == len(self.past)
        assert self.talk.redo_depth == len([copy for copy in self.future if copy is not None])


TestMachine = Machine.TestCase
TestMachine.settings = settings(stateful_step_count=30)


# A notebook is a list of cells, a cell a list of commands. ("ask", prompt, last), ("undo",) …
Command = tuple[Any, ...]
Notebook = list[list[Command]]
Sent = list[tuple[tuple[tuple[str, str], ...], str]]

ASKS = st.tuples(st.just("ask"), st.sampled_from("pqr"), st.sampled_from([None, None, 1]))
UNDO, REDO, RESET = ("undo",), ("redo",), ("reset",)


def notebooks(*commands: st.SearchStrategy[list[Command]]) -> st.SearchStrategy[Notebook]:
    """Draw notebooks whose cells are made of these pieces."""
    cell = st.lists(st.one_of(*commands), min_size=1, max_size=3).map(
        lambda pieces: list(itertools.chain(*pieces))
    )
    return st.lists(cell, min_size=1, max_size=6)


def run_cell(
    talk: Conversation, owner: str | None, cell: list[Command], order: Sequence[str] | None
) -> Sent:
    """Run one cell; what it sent."""
    execution = str(next(EXECUTIONS))
    sent: Sent = []
    for command in cell:
        if command == UNDO:
            talk.undo()
        elif command == REDO:
            talk.redo()
        elif command == RESET:
            talk.reset()
        else:
            _, prompt, last = command
            carried = talk.context(owner, execution, last=last, order=order).turns
            ask(talk, prompt, owner, execution, last=last, order=order)
            sent.append((tuple((turn.prompt, turn.reply.text) for turn in carried), prompt))
    return sent


EXECUTIONS = itertools.count()


def run_all(
    talk: Conversation,
    notebook: Notebook,
    *,
    owned: bool = True,
    order: Sequence[str] | None = None,
) -> Sent:
    """Run a notebook from top to bottom; what it sent."""
    return [
        request
        for index, cell in enumerate(notebook)
        for request in run_cell(talk, str(index) if owned else None, cell, order)
    ]


def without_early_redos(notebook: Notebook) -> Notebook:
    """Leave out each redo that the notebook itself gives nothing to go over.

    Before the notebook's first change such a redo finds nothing in a fresh conversation; in
    a used one it finds what the run before left undone. No rule can make the two the same.
    """
    kept: Notebook = []
    changed, undone = False, 0
    for cell in notebook:
        kept.append([])
        for command in cell:
            changed = changed or command not in (UNDO, REDO)
            undone += (command == UNDO) - (command == REDO)
            if command == REDO and not changed and undone < 0:
                undone = 0
                continue
            kept[-1].append(command)
    return kept


ANY_PROGRAM = notebooks(
    ASKS.map(lambda one: [one]),
    st.lists(ASKS, min_size=2, max_size=3),
    st.just([UNDO]),
    st.just([UNDO, REDO]),
    st.just([REDO]),
    st.just([RESET]),
).map(without_early_redos)


@given(ANY_PROGRAM)
def test_run_all_again_sends_the_same(notebook: Notebook) -> None:
    """Every pass sends the same requests, and a run whose cells are unknown sends them too."""
    talk = Conversation()
    first = run_all(talk, notebook)
    assert run_all(talk, notebook) == first
    assert run_all(talk, notebook) == first
    assert run_all(Conversation(), notebook, owned=False) == first


# A cell that takes back what another cell did is left out here: an undo after a re-run brings
# back the turn before it, which a fresh conversation does not have.
SELF_CONTAINED = notebooks(
    ASKS.map(lambda one: [one]),
    ASKS.map(lambda one: [one, UNDO]),
    ASKS.map(lambda one: [one, UNDO, REDO]),
    st.lists(ASKS, min_size=2, max_size=3),
    st.just([RESET]),
    st.just([RESET, UNDO]),
)


@given(SELF_CONTAINED, st.data())
def test_with_the_pages_order_run_all_is_restart_and_run_all(
    notebook: Notebook, data: st.DataObject
) -> None:
    """Also if cells were first asked in another order, some of them, some often."""
    order = [str(index) for index in range(len(notebook))]
    talk = Conversation()
    for index in data.draw(st.lists(st.integers(0, len(notebook) - 1), max_size=8)):
        run_cell(talk, str(index), notebook[index], order)
    assert run_all(talk, notebook, order=order) == run_all(Conversation(), notebook)
    assert talk.stale_turns() == ()


@given(st.lists(st.tuples(st.sampled_from([*"abcd", None]), st.integers(1, 3))), st.data())
def test_no_turn_is_ever_lost(runs: list[tuple[str | None, int]], data: st.DataObject) -> None:
    """Run and insert cells at will: each turn is live, or live again after enough undos."""
    talk = Conversation()
    ever, seen = set(), set()
    for owner, count in runs:
        execution = str(next(EXECUTIONS))
        order = data.draw(st.none() | st.permutations(list("abcd")))
        ever |= {ask(talk, "p", owner, execution, order=order) for _ in range(count)}
    final = talk.turns
    seen |= set(final)
    while talk.undo_depth:
        talk.undo()
        seen |= set(talk)
    assert len(talk) == 0
    assert seen == ever
    while talk.redo_depth:
        talk.redo()
    assert talk.turns == final


def test_every_turn_that_was_added_is_counted() -> None:
    """Undone or replaced ones too, so that it tells whether one was added."""
    talk = Conversation()
    assert talk.added == 0
    talk.add(Turn(prompt="a", reply=Reply("A")))
    talk.undo()
    talk.add(Turn(prompt="b", reply=Reply("B")))
    assert talk.added == 2


def test_a_cell_takes_a_turn_over() -> None:
    """Its place is the cell's: run, the cell replaces it; no request carries both."""
    talk = Conversation()
    ask(talk, "a", "a", "1")
    panel = ask(talk, "p", "panel", "1", entry="panel")
    ask(talk, "b", "b", "1")
    talk.hand_over(panel.number, "new")
    talk.hand_over(99, "nobody")
    owners = [(turn.owner, turn.entry, turn.number) for turn in talk]
    assert owners == [("a", "cell", 1), ("new", "cell", 2), ("b", "cell", 3)]
    assert talk.context("b", "2").from_panel == 0
    assert talk.stale_turns() == ()
    assert carries(talk, "new") == ["a"]
    ask(talk, "p", "new", "2")
    assert prompts(talk) == ["a", "p", "b"]


def test_a_turn_that_was_taken_over_stays_so() -> None:
    """Undo and redo bring back the cell's turn, and the handing over is no change of theirs."""
    talk = Conversation()
    panel = ask(talk, "p", "panel", "1", entry="panel")
    ask(talk, "q", "other", "1", entry="panel")
    talk.undo()
    depth = talk.undo_depth, talk.redo_depth
    talk.hand_over(panel.number, "new")
    assert (talk.undo_depth, talk.redo_depth) == depth
    talk.undo()
    assert prompts(talk) == []
    talk.redo()
    assert [(turn.owner, turn.entry) for turn in talk] == [("new", "cell")]
    ask(talk, "p", "new", "2")
    assert len(talk) == 1
