"""Changes of the conversation that are no questions: they run alone, and the followers hear."""

from __future__ import annotations

import threading

import pytest
from asking import PATIENCE, Seen, prompts
from environments import GivenEnvironment
from logged import Emulator

from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.steering import ThreadStart
from chatmagic.errors import InputError
from chatmagic.session.ask import Ask
from chatmagic.session.events import Changed, Event, Fragment
from chatmagic.session.session import Session


def test_a_thread_begins_where_the_page_has_its_cell(session: Session, emulator: Emulator) -> None:
    """Whatever ran first; the cassette's warnings and the notes are of its turns alone."""
    order, gone = ["a", "s", "b", "c"], ""
    session.environment = GivenEnvironment(
        layout=lambda _: Layout(tuple(order), set(order), frozenset(gone))
    )
    for name in "ac":
        session.run(Ask(name, owner=name), Seen())
    session.changes.steer(ThreadStart("sql", owner="s", execution="1"))
    assert [turn.prompt for turn in session.conversation.stale_turns()] == ["c"]
    seen = Seen()
    session.run(Ask("b", owner="b"), seen)
    assert ("began", ["in the thread sql"]) in seen.told
    session.run(Ask("p", entry="panel", owner="p", thread="main"), Seen())
    with pytest.raises(InputError, match="thread is a name: a letter, then letters"):
        session.ask("x", thread="a b")
    with pytest.raises(InputError, match=r"thread main has 1 turn above this cell. Nothing was"):
        session.changes.steer(ThreadStart("x", 2, owner="s", execution="2"))
    with pytest.raises(InputError, match="The thread main has turns above this cell already"):
        session.changes.steer(ThreadStart("main", 1, owner="s", execution="2"))
    order.remove("s")
    gone, seen = "s", Seen()
    session.run(Ask("c", owner="c"), seen)
    assert ("began", ["left out the thread of cells that are no longer on the page"]) in seen.told
    sent = [
        [m["content"] for m in request.body["messages"] if m["role"] == "user"]
        for request in emulator.requests
    ]
    assert sent == [["a"], ["a", "c"], ["b"], ["a", "p"], ["a", "b", "c"]]


def test_the_conversation_follows_the_pages_when_it_is_shown(session: Session) -> None:
    """Not while an ask is under way, here or in another thread; followers hear of a change."""
    heard: list[Event] = []
    assert session.changes.follow_pages() is None
    session.run(Ask("echo:one", owner="a"), Seen())
    session.environment = GivenEnvironment(layout=lambda _: Layout((), (), frozenset("a")))
    session.followers.add(heard.append)
    outcomes: list[object] = []

    def follow(event: Event) -> None:
        if isinstance(event, Fragment):
            outcomes.append(session.changes.follow_pages())

    unfollow = session.followers.add(follow)
    session.run(Ask("echo:two", order=()), Seen())
    unfollow()
    assert outcomes
    assert set(outcomes) == {None}
    elsewhere = threading.Thread(target=lambda: outcomes.append(session.changes.follow_pages()))

    def while_it_changes(_: Conversation) -> None:
        elsewhere.start()
        elsewhere.join(PATIENCE)

    session.changes.make(while_it_changes)
    assert set(outcomes) == {None}
    assert prompts(session) == ["echo:one", "echo:two"]
    heard.clear()
    change = session.changes.follow_pages()
    assert change is not None
    assert [turn.prompt for turn in change.went] == ["echo:one"]
    assert heard == [Changed()]
    assert session.changes.follow_pages() is None
    assert heard == [Changed()]
