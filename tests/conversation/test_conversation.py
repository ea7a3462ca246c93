"""The rules of a conversation: examples of each, and laws over random histories."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, NamedTuple

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from talks import (
    abc,
    again,
    ask,
    carries,
    go_on,
    instructions_of,
    layout,
    pick,
    prompts,
    saved,
    set_aside,
)

from chatmagic.conversation.conversation import Conversation, reply_name
from chatmagic.conversation.steering import Hiding, Instructions, ThreadStart
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import QuestionPlace
from chatmagic.errors import InputError
from chatmagic.models import Reply


def steps() -> list[Callable[[Conversation], object]]:
    """Give each kind of change."""
    new, loaded = Turn(prompt="n", reply=Reply("r"), owner="b", execution="9"), abc(after=9)
    return [
        lambda talk: talk.add(new, order=["b", "a", "n", "c"]),
        lambda talk: talk.add(replace(new, again=1)),
        lambda talk: pick(talk, 2, "r"),
        lambda talk: talk.hand_over(2, "new"),
        Conversation.undo,
        Conversation.redo,
        Conversation.reset,
        lambda talk: talk.delete("main"),
        lambda talk: set_aside(talk, "ac"),
        lambda talk: talk.load(loaded),
    ]


def begun() -> Conversation:
    """Give a conversation in which there is something to undo and to redo."""
    talk = abc()
    talk.reset()
    talk.undo()
    return talk


@pytest.mark.parametrize("step", steps())
def test_a_change_is_one_assignment_of_one_value(
    step: Callable[[Conversation], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So whatever strikes in between, the conversation is as before it or as after it."""
    talk, put = begun(), list[str]()

    def note(self: Conversation, name: str, value: object) -> None:
        put.append(name)
        object.__setattr__(self, name, value)

    monkeypatch.setattr(Conversation, "__setattr__", note, raising=False)
    step(talk)
    assert put == ["_now"]


class Mark(NamedTuple):
    """A reply of the model that stands for the one above to its question."""

    turn: int


Steers = ThreadStart | Hiding | Instructions | Mark
Held = list[tuple[int | Steers, str]]


class Row(NamedTuple):
    """A place of the model: who owns it, and its (turn's number or what steers, execution)."""

    owner: str | None
    turns: Held


class Machine(RuleBasedStateMachine):
    """A conversation beside a model of plain lists that keeps a copy of all at each change."""

    owners = st.sampled_from([*"abcd", None])
    orders = st.none() | st.permutations(list("abc"))

    def __init__(self) -> None:
        """Begin with both empty."""
        super().__init__()
        self.talk = Conversation()
        self.rows: list[Row] = []
        self.past: list[dict[int, Held]] = []
        self.future: list[dict[int, Held] | None] = []
        self.asked: dict[int, tuple[tuple[int, ...], int | None]] = {}
        self.named: dict[int, str | None] = {}
        self.hides: dict[int, bool] = {}
        self.told: dict[int, str | None] = {}
        self.first: dict[int, int] = {}
        self.executions = 0
        self.ever: set[int] = set()

    def items(self) -> list[int | Steers]:
        """Give what stands in the rows, from top to bottom."""
        return [item for row in self.rows for item, _ in row.turns]

    def held(self, items: Sequence[int | Steers] | None = None) -> list[int | Steers]:
        """Give what is live below items, all by default, each turn in its question's place."""
        held: list[int | Steers] = []
        for item in self.items() if items is None else items:
            if isinstance(item, Mark):
                for place, each in enumerate(held):
                    if isinstance(each, int) and self.first[each] == self.first[item.turn]:
                        held[place] = item.turn
            else:
                held.append(item)
        return held

    def live(self) -> list[int]:
        """Give the numbers of the model's live turns."""
        return [item for item in self.held() if isinstance(item, int)]

    def instructed(self) -> list[str | None]:
        """Give the instructions that hold for each live turn, and at last below all."""
        words: str | None = None
        held: list[str | None] = []
        for item in self.held():
            if isinstance(item, Instructions):
                words = item.text or None
            elif isinstance(item, int):
                held.append(words)
        return [*held, words]

    def before(self) -> dict[int, list[int]]:
        """Give for each live turn those above it that it would carry: walk up each time."""
        items, asked = self.items(), dict[int, int]()
        for place, item in enumerate(items):
            number = item.turn if isinstance(item, Mark) else item
            if isinstance(number, int) and (item == number or self.first[number] in asked):
                asked[self.first[number]] = place
        before: dict[int, list[int]] = {}
        for question, place in asked.items():
            item = items[place]
            number = item.turn if isinstance(item, Mark) else question
            above = self.held(items[:place])
            firsts = [self.first.get(each) if isinstance(each, int) else 0 for each in above]
            above = above[: firsts.index(question)] if question in firsts else above
            before[number] = self.shown(above, self.named[number])
        return before

    def shown(self, held: Sequence[int | Steers], thread: str | None) -> list[int]:
        """Give the turns above a place that are not hidden there: the last word on each counts."""
        words: dict[int, bool] = {}
        for item in held:
            if isinstance(item, Hiding):
                words[item.turn] = not item.show
        return [each for each in self.line(held, thread) if not words.get(each, self.hides[each])]

    def line(self, held: Sequence[int | Steers], thread: str | None) -> list[int]:
        """Give the turns above a place in a thread; ``None`` is the thread of the place."""
        starts = [(n, item) for n, item in enumerate(held) if isinstance(item, ThreadStart)]
        thread = thread or (starts[-1][1].name if starts else "main")
        forks = [(p, s) for p, s in starts if s.name == thread and s.fork is not None]
        since, first = 0, list[int]()
        if forks:
            since, fork = forks[-1]
            first = self.line(held[:since], None)[: fork.fork]
        name, own = "main", []
        for place, item in enumerate(held):
            if isinstance(item, ThreadStart):
                name = item.name
            elif isinstance(item, int) and place >= since and (self.named[item] or name) == thread:
                own.append(item)
        return first + own

    def copy(self) -> dict[int, Held]:
        """Copy the turns of every row, by the row's identity."""
        return {id(row.turns): list(row.turns) for row in self.rows}

    def restore(self, copy: dict[int, Held]) -> None:
        """Put the turns of a copy back; rows that it does not know are emptied."""
        for row in self.rows:
            row.turns[:] = copy.get(id(row.turns), [])

    def change(self) -> None:
        """Remember what is, as a change begins."""
        self.past.append(self.copy())
        self.future.clear()

    def sort(self, order: Sequence[str]) -> None:
        """Sort groups of rows that each begin with a cell of the page, behind those before any."""
        head: list[Row] = []
        groups: dict[str | None, list[Row]] = {}
        group = head
        for row in self.rows:
            if row.owner in order:
                group = groups.setdefault(row.owner, [])
            group.append(row)
        self.rows = head + [row for each in order for row in groups.get(each, [])]

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
        thread=st.sampled_from([None, None, None, "main", "x"]),
        hide=st.sampled_from([False, False, True]),
    )
    def ask(
        self,
        owner: str | None,
        last: int | None,
        order: Sequence[str] | None,
        thread: str | None,
        *,
        again: bool,
        hide: bool,
    ) -> None:
        """Ask, in a new execution or in the last one."""
        self.executions += not again
        execution = str(self.executions)
        at = QuestionPlace(owner, execution, order=order, thread=thread)
        window = self.talk.window(at)
        total = window.total
        assert self.talk.thread_at(at) == window.thread
        assert self.talk.above(at) == window.above
        given: dict[str, Any] = {"last": last, "order": order, "thread": thread, "hide": hide}
        turn = ask(self.talk, "p", owner, execution, **given)
        self.named[turn.number], self.hides[turn.number] = thread, hide
        self.first[turn.number] = turn.number
        self.put(owner, turn.number, execution, order)
        self.told[turn.number] = self.instructed()[self.live().index(turn.number)]
        assert self.talk.replies[turn.number] == (turn,)
        before = self.before()[turn.number]
        assert total == len(before)
        assert list(turn.carried) == (before if last is None else before[::-1][:last][::-1])
        assert turn.number not in self.ever
        self.ever.add(turn.number)
        self.asked[turn.number] = (tuple(turn.carried), last)

    @precondition(lambda self: self.live())
    @rule(
        data=st.data(), owner=owners, order=orders, how=st.sampled_from(["pick", "retry", "go on"])
    )
    def retry(
        self,
        data: st.DataObject,
        owner: str | None,
        order: Sequence[str] | None,
        *,
        how: str,
    ) -> None:
        """Ask a turn again, continue it, or put one of its replies back."""
        number = data.draw(st.sampled_from(self.live()))
        question = self.first[number]
        replies = self.talk.replies[number]
        assert number in {turn.number for turn in replies}
        self.executions += 1
        if how == "pick":
            new = data.draw(st.sampled_from(replies))
            pick(self.talk, new.number, owner, str(self.executions), order=order)
        else:
            asks, execution = again if how == "retry" else go_on, str(self.executions)
            try:
                new = asks(self.talk, owner, execution, number=number, order=order)
            except InputError:  # its question stands below
                return
            assert new.number not in self.ever
            self.ever.add(new.number)
            self.named[new.number], self.hides[new.number] = new.thread, new.hide
            self.asked[new.number] = (tuple(new.carried), new.last)
            self.first[new.number] = question
            assert self.talk.replies[new.number][-1] == new
        kept = {turn.number for turn in replies} | {new.number}
        assert {turn.number for turn in self.talk.replies[new.number]} == kept
        if owner is not None:
            self.put(owner, Mark(new.number), str(self.executions), order)
        else:
            self.change()
            self.sort(order or ())
            row = [row for row in self.rows if question in self.questions(row)][-1]
            row.turns.append((Mark(new.number), row.turns[-1][1]))
        if how != "pick":
            asked = [self.first[each] for each in self.live()]
            now = self.instructed()[asked.index(question)]
            self.told[new.number] = now if how == "retry" else self.told[number]

    def questions(self, row: Row) -> list[int | None]:
        """Give the questions of a row's turns, also of those that stand for others."""
        turns = (item.turn if isinstance(item, Mark) else item for item, _ in row.turns)
        return [self.first.get(turn) for turn in turns if isinstance(turn, int)]

    def put(
        self,
        owner: str | None,
        item: int | Steers,
        execution: str,
        order: Sequence[str] | None,
    ) -> None:
        """Put an item into its row, instead of those of older executions."""
        self.change()
        row = self.row(owner, order)
        if row.turns and row.turns[0][1] != execution:
            row.turns.clear()
        row.turns.append((item, execution))

    @rule(
        owner=owners,
        name=st.sampled_from(["main", "x", "x", "y"]),
        fork=st.sampled_from([None, None, 0, 1, 2]),
        order=orders,
    )
    def start(
        self, owner: str | None, name: str, fork: int | None, order: Sequence[str] | None
    ) -> None:
        """Begin a thread, or go on with one."""
        self.executions += 1
        start = ThreadStart(name, fork, owner=owner, execution=str(self.executions))
        assert self.talk.add(start, order=order).kind == "thread"
        self.put(owner, start, str(self.executions), order)

    @precondition(lambda self: self.ever)
    @rule(data=st.data(), owner=owners, show=st.sampled_from([False, False, True]), order=orders)
    def hide(
        self, data: st.DataObject, owner: str | None, order: Sequence[str] | None, *, show: bool
    ) -> None:
        """Hide a turn, which may be gone, or show it."""
        self.executions += 1
        turn, execution = data.draw(st.sampled_from(sorted(self.ever))), str(self.executions)
        hiding = Hiding(1, "", show=show, turn=turn, owner=owner, execution=execution)
        assert self.talk.add(hiding, order=order).kind == "hiding"
        self.put(owner, hiding, execution, order)

    @rule(owner=owners, text=st.sampled_from(["", "one", "two"]), order=orders)
    def give(self, owner: str | None, text: str, order: Sequence[str] | None) -> None:
        """Give instructions, or end those above."""
        self.executions += 1
        given = Instructions.of_text(text, owner=owner, execution=str(self.executions))
        assert self.talk.add(given, order=order).kind == "instructions"
        self.put(owner, given, str(self.executions), order)

    @rule(name=st.sampled_from(["main", "x"]))
    def delete(self, name: str) -> None:
        """Take a thread's own turns out."""
        gone, place = list[int](), "main"
        for item in self.held():
            if isinstance(item, ThreadStart):
                place = item.name
            elif isinstance(item, int) and (self.named[item] or place) == name:
                gone.append(item)
        self.change()
        assert [turn.number for turn in self.talk.delete(name).went] == gone
        firsts = {self.first[number] for number in gone}
        for row in self.rows:
            row.turns[:] = [each for each in row.turns if each[0] not in firsts]

    @rule()
    def undo(self) -> None:
        """Take a change back."""
        now = self.copy()
        change = self.talk.undo()
        assert (change is None) == (not self.past)
        if not self.past:
            self.future.append(None)
            return
        self.future.append(now)
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
        for row in self.rows:
            row.turns[:] = [held for held in row.turns if not isinstance(held[0], int)]

    @rule(order=st.permutations(list("abc")))
    def arrange(self, order: Sequence[str]) -> None:
        """Follow the page."""
        self.talk.follow(layout("".join(order)))
        self.sort(order)

    @invariant()
    def same(self) -> None:
        """The live turns, the stale ones and the depths are the model's; no reply is lost."""
        live, instructed = self.live(), self.instructed()
        assert [turn.number for turn in self.talk] == live
        assert len(self.talk) == len(live)
        assert [each and each.text for each in instructions_of(self.talk)] == instructed
        stale = []
        for (number, above), words in zip(self.before().items(), instructed, strict=False):
            carried, last = self.asked[number]
            before = above if last is None else above[::-1][:last][::-1]
            if list(carried) != before or self.told[number] != words:
                stale.append(number)
        assert [turn.number for turn in self.talk.stale_turns()] == stale
        replies = self.talk.replies
        assert {*replies} == self.ever
        for number, turns in replies.items():
            alike = [each for each in self.ever if self.first[each] == self.first[number]]
            assert [turn.number for turn in turns] == sorted(alike)
        assert {*self.talk.known_turns} == self.ever
        held = self.held()
        for name, turns in self.talk.threads.items():
            assert [turn.number for turn in turns] == self.line(held, name)
            alone = self.talk.of_thread(name)
            assert [turn.number for turn in alone] == self.line(held, name)
            known = [turn.number for turn in alone.stale_turns()]
            assert known == [turn.number for turn in alone if turn.number in stale]
        assert self.talk.undo_depth == len(self.past)
        assert self.talk.redo_depth == len([each for each in self.future if each is not None])


TestMachine = pytest.mark.unmeasured(Machine.TestCase)
TestMachine.settings = settings(stateful_step_count=30)


# A notebook is a list of cells, a cell a list of commands. ("ask", prompt, last), ("undo",) …
Command = tuple[Any, ...]
Notebook = list[list[Command]]
Sent = list[tuple[str, tuple[tuple[str, str], ...], str]]
Says = Iterator[str | None]

ASKS = st.tuples(
    st.just("ask"),
    st.sampled_from("pqr"),
    st.sampled_from([None, None, 1]),
    st.sampled_from([None, None, None, "x"]),
    st.sampled_from([False, False, True]),
)
HIDES = st.tuples(st.just("hide"), st.integers(1, 3), st.booleans())
STARTS = st.tuples(
    st.just("start"), st.sampled_from(["main", "x", "y"]), st.sampled_from([None, None, 1, 2])
)
DELETES = st.tuples(st.just("delete"), st.sampled_from(["main", "x"]))
GIVES = st.tuples(st.just("give"), st.sampled_from(["", "one", "two"]))
UNDO, REDO, RESET, LOAD = ("undo",), ("redo",), ("reset",), ("load",)
STEPS: dict[Command, Callable[[Conversation], object]] = {
    UNDO: Conversation.undo,
    REDO: Conversation.redo,
    RESET: Conversation.reset,
    LOAD: lambda talk: talk.load(saved(abc(talk.added))),
}
RETRY, PICK, PICK_2, GO_ON = ("retry",), ("pick", 0), ("pick", 1), ("go on",)


def notebooks(*commands: st.SearchStrategy[list[Command]]) -> st.SearchStrategy[Notebook]:
    """Draw notebooks whose cells are made of these pieces."""
    cell = st.lists(st.one_of(*commands), min_size=1, max_size=3).map(
        lambda pieces: list(itertools.chain(*pieces))
    )
    return st.lists(cell, min_size=1, max_size=6)


def run_cell(
    talk: Conversation,
    owner: str | None,
    cell: list[Command],
    order: Sequence[str] | None,
    says: Says,
) -> Sent:
    """Run one cell; what it sent."""
    execution = str(next(EXECUTIONS))
    sent: Sent = []
    for command in cell:
        if command in STEPS:
            STEPS[command](talk)
        elif command[0] == "give":
            talk.add(
                Instructions.of_text(command[1], owner=owner, execution=execution), order=order
            )
        elif command[0] == "start":
            _, name, fork = command
            talk.add(ThreadStart(name, fork, owner=owner, execution=execution), order=order)
        elif command[0] == "delete":
            talk.delete(command[1])
        elif command in (RETRY, PICK, PICK_2, GO_ON):
            sent += run_retry(talk, command, (owner, execution), order, says)
        elif command[0] == "hide":
            line = talk.window(QuestionPlace(owner, execution, order=order)).line
            turn = line[command[1] - 1].number if command[1] <= len(line) else 0
            place = {"owner": owner, "execution": execution}
            talk.add(Hiding(1, "", show=command[2], turn=turn, **place), order=order)
        else:
            _, prompt, last, thread, hide = command
            at = QuestionPlace(owner, execution, order=order, thread=thread)
            carried = talk.window(at, last=last)
            given = {"last": last, "order": order, "thread": thread}
            ask(talk, prompt, owner, execution, hide=hide, says=next(says), **given)
            turns = tuple((turn.prompt, turn.reply.text) for turn in carried.turns)
            held = "" if carried.instructions is None else str(carried.instructions.text)
            sent.append((held, turns, prompt))
    return sent


def run_retry(
    talk: Conversation,
    command: Command,
    place: tuple[str | None, str],
    order: Sequence[str] | None,
    says: Says,
) -> Sent:
    """Ask the last turn above again, continue it, or put one of its replies back; what it sent."""
    at = QuestionPlace(*place, order=order)
    above = talk.window(at).turns
    if not above:
        reject()  # its cell fails
    old = above[-1]
    if command[0] == "pick":
        replies = talk.replies[old.number]
        pick(talk, replies[command[1] % len(replies)].number, *place, order=order)
        return []
    carried = talk.window(replace(at, again=old.number), last=old.last).turns
    if command == GO_ON:
        asked = go_on(talk, *place, order=order)
    else:
        asked = again(talk, *place, order=order, says=next(says))
    turns = tuple((turn.prompt, turn.reply.text) for turn in carried)
    return [(asked.reply.text, turns, asked.prompt)]


EXECUTIONS = itertools.count()


def run_all(
    talk: Conversation,
    notebook: Notebook,
    *,
    owned: bool = True,
    order: Sequence[str] | None = None,
    alike: bool = False,
) -> str:
    """Run a notebook from top to bottom; what it sent, with its own replies named by their places.

    The replies are all alike, or no two of them, whichever runs they are of.
    """
    run = f"<{next(EXECUTIONS)}:"
    says: Says = repeat("yes") if alike else (f"{run}{n}>" for n in itertools.count())
    sent = [
        request
        for index, cell in enumerate(notebook)
        for request in run_cell(talk, str(index) if owned else None, cell, order, says)
    ]
    return repr(sent).replace(run, "<now:")


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
    GIVES.map(lambda one: [one]),
    STARTS.map(lambda one: [one]),
    DELETES.map(lambda one: [one]),
    st.sampled_from([[RETRY], [PICK], [PICK_2], [RETRY, PICK], [GO_ON]]),
    HIDES.map(lambda one: [one]),
    st.just([UNDO]),
    st.just([UNDO, REDO]),
    st.just([REDO]),
    st.just([RESET]),
).map(without_early_redos)


@pytest.mark.unmeasured
@given(ANY_PROGRAM, st.booleans(), st.booleans())
def test_run_all_again_sends_the_same(notebook: Notebook, alike: bool, loads: bool) -> None:
    """Every pass sends the same requests, and a run whose cells are unknown sends them too."""
    notebook = [[LOAD], *notebook] if loads else notebook
    talk = Conversation()
    first = run_all(talk, notebook, alike=alike)
    assert run_all(talk, notebook, alike=alike) == first
    assert run_all(talk, notebook, alike=alike) == first
    assert run_all(Conversation(), notebook, owned=False, alike=alike) == first


# A cell that takes back what another cell did is left out here: an undo after a re-run brings
# back the turn before it, which a fresh conversation does not have.
SELF_CONTAINED = notebooks(
    ASKS.map(lambda one: [one]),
    GIVES.map(lambda one: [one]),
    GIVES.map(lambda one: [one, UNDO]),
    STARTS.map(lambda one: [one]),
    STARTS.map(lambda one: [one, UNDO]),
    HIDES.map(lambda one: [one]),
    HIDES.map(lambda one: [one, UNDO]),
    ASKS.map(lambda one: [one, UNDO]),
    ASKS.map(lambda one: [one, UNDO, REDO]),
    # One that is not hidden, in the thread of its place: it is the one that is asked again.
    ASKS.map(lambda one: [(*one[:3], None, False), RETRY]),
    ASKS.map(lambda one: [(*one[:3], None, False), GO_ON]),
    ASKS.map(lambda one: [(*one[:3], None, False), RETRY, PICK]),
    ASKS.map(lambda one: [(*one[:3], None, False), RETRY, PICK, UNDO, PICK_2]),
    st.lists(ASKS, min_size=2, max_size=3),
    st.just([RESET]),
    st.just([RESET, UNDO]),
)


@pytest.mark.unmeasured
@given(SELF_CONTAINED, st.data())
def test_with_the_pages_order_run_all_is_restart_and_run_all(
    notebook: Notebook, data: st.DataObject
) -> None:
    """Also if cells were first asked in another order, some of them, some often."""
    order = [str(index) for index in range(len(notebook))]
    talk, by_hand = Conversation(), (f"by hand {n}" for n in itertools.count())
    for index in data.draw(st.lists(st.integers(0, len(notebook) - 1), max_size=8)):
        run_cell(talk, str(index), notebook[index], order, by_hand)
    assert run_all(talk, notebook, order=order) == run_all(Conversation(), notebook)
    assert talk.stale_turns() == ()


def texts(talk: Conversation, place: int = 0) -> list[str]:
    """Give the replies to the question of a live turn, by its place."""
    return [turn.reply.text for turn in talk.replies[talk.turns[place].number]]


def test_another_cell_asks_a_turn_again_in_its_place() -> None:
    """Rule 20: with what stands above the turn; what stands between the two is not stale."""
    talk = abc()
    first = talk.turns[1]
    new = again(talk, "r", "1", number=first.number)
    assert [turn.number for turn in talk] == [1, new.number, 3]
    assert (new.owner, tuple(new.carried)) == ("r", (1,))
    assert carries(talk, "r") == ["a", "b", "c"]
    assert talk.causes().marks() == {"b": "replaced"}
    assert talk.current_turn_of("b") == new
    assert ask(talk, "d", "d", "1").carried == (1, new.number, 3)
    assert ask(talk, "c", "c", "2").carried == (1, first.number)
    assert again(talk, "r", "2").prompt == "c"
    assert talk.causes().marks() == {"c": "replaced", "d": "stale"}
    for kind in ("retry", "re-run", "ask", "retry"):
        change = talk.undo()
        assert change is not None
        assert change.kind == kind
    assert (talk.turns[1], talk.stale_turns(), talk.causes().marks()) == (
        first,
        (),
        {"r": "taken back", "d": "taken back"},
    )


def test_a_question_is_asked_again_with_the_replies_in_force_above_it() -> None:
    """Rule 20: those above the cell, in every thread. A file keeps those in force alone."""
    talk = abc()
    talk.add(Hiding(1, turn=1, owner="h"))
    talk.add(ThreadStart("x", owner="x"))
    hidden = ask(talk, "d", "d", "1", hide=True)
    one, two = again(talk, "r", "1", number=1), again(talk, "s", "1", number=2)
    assert two.carried == (one.number,)
    again(talk, "t", "1", number=hidden.number)
    assert carries(talk, thread="x") == []
    # A hiding names the turn itself.
    assert talk.window(QuestionPlace(thread="main")).carried == (one.number, two.number, 3)
    beside = again(talk, number=3)
    assert beside.number in ask(talk, "c", "c", "1c", thread="main").carried
    talk.undo()
    for loaded, stale in ((talk, []), (saved(talk), ["c"])):
        other = Conversation(after=10)
        ask(other, "z")
        other.load(loaded)
        assert [turn.reply for turn in other] == [turn.reply for turn in talk]
        assert prompts(other.stale_turns()) == stale


def test_a_cell_that_asks_again_is_the_place_of_its_reply() -> None:
    """Gone, it leaves the earlier one; run again, the turn's own cell replaces both."""
    talk = abc()
    first, new = talk.turns[2], again(talk, "r", "1")
    change = set_aside(talk, "r")
    assert change is not None
    assert (change.went, change.came) == ((new,), (first,))
    talk.follow(layout("abcr"))
    assert talk.turns[2] == new
    talk.follow(layout("abrc"))  # above its question
    assert (talk.turns[2], talk.causes().marks()) == (first, {"r": "replaced"})
    talk.follow(layout("abcr"))
    ask(talk, "c", "c", "2")
    assert talk.causes().marks() == {"r": "taken back"}
    assert again(talk, "r", "2").carried == (1, 2)
    assert set_aside(talk, "c") is not None
    assert prompts(talk) == ["a", "b"]
    assert talk.causes().marks()["r"] == "taken back"


def test_replies_are_those_since_the_own_cell_asked() -> None:
    """Rule 21: also what was taken back; so a second Run All picks among its own."""
    talk = Conversation()
    for run in "12":
        own = ask(talk, "p", "a", run)
        ask(talk, "p", "a", run)
        new = again(talk, "r", run, number=own.number)
        talk.undo()
        ask(talk, "q", "b", run)
        assert talk.replies[own.number] == (own, new)
        assert pick(talk, new.number, "p", run).came == (new,)
        assert reply_name(new, talk.replies[new.number]) == "reply 2 of 2"
    assert talk.turns[0] == new


def test_a_turn_that_is_not_live_is_not_asked_again() -> None:
    """Nothing is replaced, and that is a change all the same; the reply is kept beside others."""
    talk = abc()
    gone = talk.turns[2]
    talk.undo()
    with pytest.raises(InputError, match="not in the conversation any more"):
        talk.window(QuestionPlace("r", again=gone.number))
    with pytest.raises(InputError, match="not in the conversation any more"):
        talk.thread_at(QuestionPlace("r", again=gone.number))
    change = talk.add(replace(gone, reply=Reply("late"), again=gone.number, owner=None))
    assert (change.kind, change.came, talk.undo_depth) == ("retry", (), 3)
    assert talk.known_turns[4].reply.text == "late"


def test_an_earlier_reply_is_put_back_as_it_was() -> None:
    """A change to undo; what carried it is not stale any more, and its number is its own."""
    talk = abc()
    first = talk.turns[1]
    new = again(talk, "r", "1", number=first.number)
    change = pick(talk, first.number, "p")
    assert (change.kind, change.came, change.went) == ("pick", (first,), (new,))
    assert talk.stale_turns() == ()
    assert talk.causes().marks() == {"r": "replaced"}
    assert talk.current_turn_of("r") == first
    assert talk.replies[first.number] == (first, new)
    talk.undo()
    assert talk.turns[1] == new
    assert ask(talk, "d", "d", "1").number not in {turn.number for turn in abc()} | {4}


def test_a_saved_cell_has_one_slot_for_all_its_turns() -> None:
    """Rule 3: a loop's turns stay together, and one without a cell has a slot of its own."""
    talk = Conversation()
    for prompt, owner in (("a", "a"), ("b", None), ("again", "a"), ("c", None)):
        ask(talk, prompt, owner, "1")
    assert [len(items) for _, items in talk.slots] == [2, 1, 1]
    assert saved(talk).slots == talk.slots
