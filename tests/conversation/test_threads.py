"""Threads: what is in which, where one begins with turns of another, and a start's record."""

from __future__ import annotations

from typing import Any

import pytest
from talks import abc, ask, carries, layout, prompts

from chatmagic.conversation import threads
from chatmagic.conversation.changes import Change
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.instructions import Instructions
from chatmagic.conversation.threads import ThreadStart
from chatmagic.errors import InputError

SQL = ThreadStart("sql", owner="s", execution="1")


def test_a_turn_is_in_the_thread_of_the_start_above_it() -> None:
    """Rule 16: in the order of the cells, or by its own name; else in main."""
    talk = abc()
    order = list("astbmcd")
    talk.add(SQL, order=order)
    talk.add(ThreadStart("main", owner="m"), order=order)
    ask(talk, "by name", "t", "1", order=order, thread="other")
    lines = {name: prompts(turns) for name, turns in talk.threads.items()}
    assert lines == {"main": ["a", "c"], "sql": ["b"], "other": ["by name"]}
    assert [each.thread for each in talk.standings] == ["main", "other", "sql", "main"]
    assert carries(talk, "d", order=order) == ["a", "c"]
    assert carries(talk, "d", order=order, thread="sql") == ["b"]
    assert carries(talk, "d", order=order, thread="new") == []
    assert (talk.context("b").thread, talk.context().thread) == ("sql", "main")
    assert prompts(talk.stale_turns()) == ["b", "c"]
    talk.follow(layout("abcmsd"))
    assert prompts(talk.threads["main"]) == ["a", "b", "c"]
    assert talk.stale_turns() == ()


def test_it_can_be_read_alone() -> None:
    """Its numbers, its stale turns and its instructions are as in the whole."""
    talk = abc()
    talk.add(Instructions.of("Be terse.", owner="i"))
    talk.add(SQL)
    for name in "de":
        ask(talk, name, name, "1")
    ask(talk, "D", "d", "2")
    alone = talk.of_thread("sql")
    assert prompts(alone) == ["D", "e"]
    assert [held and held.text for held in alone.instructions] == ["Be terse."] * 3
    assert (prompts(alone.stale_turns()), len(talk)) == (["e"], 5)
    assert alone.turns[1] in alone.stale_turns()
    assert prompts(talk.of_thread("none")) == []
    assert prompts(talk.of_thread("main")) == ["a", "b", "c"]


def test_a_fork_begins_with_turns_of_the_thread_it_stands_in() -> None:
    """Rule 17: with those that are there now, which stay where they are."""
    talk = abc()
    talk.add(ThreadStart("sql", 2, owner="s", execution="1"))
    ask(talk, "d", "d", "1")
    talk.add(ThreadStart("deep", 3, owner="t", execution="1"))
    ask(talk, "e", "e", "1")
    assert [prompts(line) for line in talk.threads.values()] == [
        ["a", "b", "c"],
        ["a", "b", "d"],
        ["a", "b", "d", "e"],
    ]
    ask(talk, "B", "b", "2")
    assert prompts(talk.stale_turns()) == ["c", "d", "e"]
    talk.add(ThreadStart("sql", 0, owner="u", execution="1"))
    assert carries(talk) == []
    assert prompts(talk.of_thread("deep")) == ["a", "B", "d", "e"]


def test_a_fork_of_what_was_asked_by_name() -> None:
    """Read alone, all of it is of the one thread."""
    talk = Conversation()
    ask(talk, "p", thread="x")
    talk.add(ThreadStart("x"))
    talk.add(ThreadStart("y", 1))
    ask(talk, "q")
    alone = talk.of_thread("y")
    assert (prompts(alone), alone.stale_turns()) == (["p", "q"], ())


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (ThreadStart("new"), None),
        (ThreadStart("sql"), None),
        (ThreadStart("new", 3), None),
        (
            ThreadStart("new", 4),
            "The thread main has 3 turns above this cell. Nothing was",
        ),
        (ThreadStart("sql", 1), "The thread sql has turns above this cell already."),
    ],
)
def test_a_fork_that_cannot_begin_is_refused(start: ThreadStart, words: str | None) -> None:
    """Of turns that are not there, or of a thread that has some; numbers count in the thread."""
    talk = abc()
    ask(talk, "d", "d", "1", thread="sql")
    here = talk.context(last=1)
    assert [(place, turn.prompt) for place, turn in here.places] == [(3, "c")]
    if words is None:
        threads.refuse_fork(start, here, talk.context(thread=start.name))
        return
    with pytest.raises(InputError, match=words):
        threads.refuse_fork(start, here, talk.context(thread=start.name))


def test_each_change_can_be_undone() -> None:
    """Rules 7, 8, 16 and 18: a start, a reset, a deletion; one of nothing counts, too."""
    talk = abc()
    assert talk.add(SQL) == Change("thread", (), (), ("thread",))
    ask(talk, "d", "d", "1")
    assert (prompts(talk.delete("sql").went), talk.context().thread) == (["d"], "sql")
    assert talk.delete("sql") == Change("deletion", (), ())
    talk.undo()
    assert talk.undo() == Change("deletion", (), (talk.turns[-1],))
    assert prompts(talk.reset().went) == ["a", "b", "c", "d"]
    assert talk.context().thread == "sql"
    talk.undo()
    talk.undo()
    assert talk.undo() == Change("thread", (), (), ("thread",))
    assert (talk.context().thread, talk.marks()["s"]) == ("main", "thread taken back")


def test_a_cell_that_is_gone_takes_its_start_along() -> None:
    """Rules 12 and 13: as a turn; a load brings its own."""
    talk = abc()
    talk.add(SQL)
    change = talk.follow(layout("abc", gone="s"))
    assert change == Change("set aside", (), (), ("thread",))
    assert talk.context().thread == "main"
    talk.follow(layout("sabc"))
    assert prompts(talk.threads["sql"]) == ["a", "b", "c"]
    talk.follow(layout("nabc", gone="s", n="s"))
    assert prompts(talk.threads["sql"]) == ["a", "b", "c"]
    other = abc()
    other.load(talk)
    assert prompts(other.threads["sql"]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "changes",
    [
        {"thread": {}},
        *({"thread": {"name": name}} for name in ("", "2", "a b", "-a", "a" * 41, 3, "<b>")),
        *({"thread": {"name": "a", "fork": fork}} for fork in (-1, "x", True)),
    ],
)
def test_a_record_that_makes_no_sense(changes: dict[str, Any]) -> None:
    """It is refused as the record of a turn is."""
    with pytest.raises(ValueError, match=r"."):
        ThreadStart.from_json({**SQL.to_json(), **changes})


@pytest.mark.parametrize(
    ("start", "source"),
    [(SQL, "%chat_thread sql"), (ThreadStart("b", 2), "%chat_thread --fork 2 b")],
)
def test_the_cell_of_a_start(start: ThreadStart, source: str) -> None:
    """As typed."""
    assert start.source == source
    typed = threads.typed_in(f"\n{source} \n")
    assert typed is not None
    assert typed.reads == start.reads


@pytest.mark.parametrize(
    "source", ["", "%chat_thread", "%chat_thread --delete a", "%chat_thread a\n1"]
)
def test_other_cells_begin_none(source: str) -> None:
    """Nor do those of several lines tell."""
    assert threads.typed_in(source) is None


@pytest.mark.parametrize(
    ("fork", "more"),
    [
        (None, ""),
        (0, " It begins anew."),
        (1, " It begins with the first turn of the thread above."),
        (2, " It begins with the first 2 turns of the thread above."),
    ],
)
def test_in_words(fork: int | None, more: str) -> None:
    """A fork says with what it begins."""
    words = ThreadStart("sql", fork).in_words
    assert words == f"Thread sql for the questions below.{more}"
