"""Asking in Python: what is sent, what is kept, and what an end before the end leaves."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from asking import PATIENCE, Seen, prompts, stop
from environments import GivenEnvironment
from shells import FIXED, KEY

from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.steering import Instructions, ThreadStart
from chatmagic.errors import (
    ChatInterrupted,
    CutOffError,
    InputError,
    NotUnderstoodError,
    RateLimitError,
    ServiceError,
)
from chatmagic.session.events import Ask, Began, Changed, Fragment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from logged import Emulator

    from chatmagic.client.halt import Halt
    from chatmagic.emulator.server import Settings
    from chatmagic.session.events import Event
    from chatmagic.session.session import Session


def test_asking_goes_on(session: Session, emulator: Emulator) -> None:
    """Each ask carries the turns before it, over one connection."""
    unknown = session.credits, session.endpoint, session.took
    assert unknown == (None, None, None)
    fragments: list[str] = []
    first = session.ask("echo:one two", on_fragment=fragments.append)
    second = session.ask("echo:three", stream=False, max_tokens=5, temperature=0.5)
    assert (first.text, second.text) == ("one two", "three")
    assert fragments == ["one ", "two"]
    assert emulator.requests[1].body == {
        "messages": [
            {"role": "user", "content": "echo:one two"},
            {"role": "assistant", "content": "one two"},
            {"role": "user", "content": "echo:three"},
        ],
        "stream": False,
        "max_tokens": 5,
        "temperature": 0.5,
    }
    assert len({received.port for received in emulator.requests}) == 1
    assert session.credits is not None
    assert session.credits.remaining == 98
    assert session.took == 1
    assert [turn.reply.took for turn in session.conversation] == [None, 1]
    assert [turn.entry for turn in session.conversation] == ["python", "python"]


def test_last_and_no_history(session: Session, emulator: Emulator) -> None:
    """``last`` leaves the oldest out; without history nothing is carried or kept."""
    for word in ("a", "b", "c"):
        session.ask(f"echo:{word}")
    session.ask("echo:d", last=1)
    session.ask("echo:e", last=0)
    session.ask("echo:f", history=False)
    carried = [
        [message["content"] for message in received.body["messages"]]
        for received in emulator.requests[3:]
    ]
    assert carried == [["echo:c", "c", "echo:d"], ["echo:e"], ["echo:f"]]
    assert prompts(session) == ["echo:a", "echo:b", "echo:c", "echo:d", "echo:e"]
    view = Seen()
    session.run(Ask("echo:g", last=2), view)
    assert view.told[0] == ("began", ["sent the last 2 of 5 turns"])


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("", {}),
        (" \n ", {}),
        (None, {}),
        ("a", {"max_tokens": "many"}),
        ("a", {"temperature": float("nan")}),
        ("a", {"last": -1}),
        ("a", {"last": 1.5}),
    ],
)
def test_what_cannot_be_sent(
    session: Session, emulator: Emulator, text: Any, how: dict[str, Any]
) -> None:
    """It is refused before anything is sent."""
    with pytest.raises(InputError):
        session.ask(text, **how)
    assert emulator.requests == []
    assert session.ask("echo:fine").text == "fine"


@pytest.mark.parametrize("how", ["on_fragment", "view"])
def test_stop_keeps_what_came(session: Session, emulator: Emulator, how: str) -> None:
    """The partial turn is kept, marked, and carried by the next request."""
    session.ask("echo:before")

    def at(text: str) -> None:
        if text.startswith("two"):
            stop()

    # A reply that has come whole by then could not be stopped any more.
    emulator.settings = replace(FIXED, fault="hold", fault_after=2)

    view = Seen(at_fragment=at)
    asking: dict[str, Callable[[], object]] = {
        "view": lambda: session.run(Ask("echo:one two three four"), view),
        "on_fragment": lambda: session.ask("echo:one two three four", on_fragment=at),
    }
    with pytest.raises(ChatInterrupted, match="after 2 words") as caught:
        asking[how]()
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.state) == ("one two ", "interrupted")
    assert caught.value.__suppress_context__
    emulator.settings = FIXED
    assert [turn.state for turn in session.conversation] == ["complete", "interrupted"]
    if how == "view":
        assert view.names == ["began", "ended"]
        assert view.told[-1][1].record.state == "interrupted"
    session.ask("echo:next")
    sent = [message["content"] for message in emulator.requests[-1].body["messages"]]
    assert sent[2:] == ["echo:one two three four", "one two ", "echo:next"]


def test_an_awaited_ask_lets_other_tasks_go_on(session: Session, emulator: Emulator) -> None:
    """It is the same ask; the loop runs while it is under way, and a cancelled one is stopped."""
    emulator.settings = replace(FIXED, fault="hold", fault_after=2)
    heard: list[str] = []

    async def both() -> None:
        came, loop = asyncio.Event(), asyncio.get_running_loop()

        def hear(text: str) -> None:
            heard.append(text)
            if text.startswith("two"):
                loop.call_soon_threadsafe(came.set)

        task = asyncio.create_task(session.aask("echo:one two three", on_fragment=hear))
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(both())
    assert heard == ["one ", "two "]
    assert [turn.state for turn in session.conversation] == ["interrupted"]
    emulator.settings = FIXED
    assert asyncio.run(session.aask("echo:next", max_tokens=3)).text == "next"
    assert emulator.requests[-1].body["max_tokens"] == 3


def test_the_conversation_in_the_services_form(session: Session, emulator: Emulator) -> None:
    """It is what the next request carries, with the instructions in front."""
    assert session.messages() == []
    session.steer(Instructions.of("Be brief.", owner="a"))
    session.ask("echo:one")
    session.ask("echo:two")
    carried = session.messages()
    session.ask("echo:three")
    assert carried == emulator.requests[-1].body["messages"][:-1]
    assert "Be brief." in carried[0]["content"]
    assert session.messages("other") == []


def test_stop_before_the_first_fragment(session: Session, emulator: Emulator) -> None:
    """Nothing has come, so nothing changes."""
    session.ask("echo:before")
    emulator.settings = replace(FIXED, fault="hold")

    class Stopped(Seen):
        def began(self, notes: Sequence[str]) -> None:
            super().began(notes)
            stop()

    view = Stopped()
    with pytest.raises(ChatInterrupted, match="as it was") as caught:
        session.run(Ask("echo:never"), view)
    assert caught.value.reply is None
    assert view.names == ["began", "failed"]
    assert prompts(session) == ["echo:before"]
    emulator.settings = FIXED
    assert session.ask("echo:after").text == "after"


def test_stop_while_the_end_is_drawn(session: Session) -> None:
    """The reply was complete and is kept; its last state is drawn all the same."""
    strikes = iter([True, False])

    def strike() -> None:
        if next(strikes):
            stop()

    view = Seen(at_end=strike)
    with pytest.raises(ChatInterrupted, match="after the reply's end") as caught:
        session.run(Ask("echo:whole"), view)
    assert view.names == ["began", "ended", "ended"]
    assert caught.value.reply is not None
    assert caught.value.reply.state == "complete"
    assert prompts(session) == ["echo:whole"]


def test_a_view_that_fails_at_the_end(session: Session) -> None:
    """The turn is kept, what was drawn stays, and the view's own error is passed on."""

    def broken() -> None:
        raise OSError("the page went away")

    view = Seen(at_end=broken)
    with pytest.raises(OSError, match="went away"):
        session.run(Ask("echo:whole"), view)
    assert view.names == ["began", "ended"]
    assert prompts(session) == ["echo:whole"]


def test_a_reply_that_is_cut_off(session: Session, emulator: Emulator) -> None:
    """What came is kept, marked, and in the error."""
    emulator.settings = replace(FIXED, fault="cut", fault_after=2)
    view = Seen()
    with pytest.raises(CutOffError) as caught:
        session.run(Ask("echo:one two three"), view)
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.state) == ("one two ", "cut off")
    assert view.names == ["began", "ended"]
    assert [turn.state for turn in session.conversation] == ["cut off"]
    assert len(emulator.requests) == 1


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (replace(FIXED, fault="error", fault_after=-1), ServiceError),
        (replace(FIXED, fault="error", fault_after=0), ServiceError),
        (replace(FIXED, fault="garbage", fault_after=0), NotUnderstoodError),
        (replace(FIXED, fault="cut", fault_after=0), CutOffError),
        (replace(FIXED, credits=0), RateLimitError),
    ],
)
def test_a_failure_changes_nothing(
    session: Session, emulator: Emulator, settings: Settings, kind: type[Exception]
) -> None:
    """What fails before its first fragment leaves the conversation as it was."""
    session.environment = GivenEnvironment(cell=("cell", "first"))
    session.ask("echo:before")
    before = session.conversation.turns
    session.environment = GivenEnvironment(cell=("cell", "second"))
    emulator.settings = settings
    view = Seen()
    with pytest.raises(kind):
        session.run(Ask("echo:gone", owner="cell", execution="second"), view)
    assert view.names == ["began", "failed"]
    assert session.conversation.turns == before
    assert session.conversation.undo_depth == 1
    emulator.settings = FIXED
    session.ask("echo:again")
    assert prompts(session) == ["echo:again"]


def test_an_error_of_the_listener(session: Session, emulator: Emulator) -> None:
    """An ordinary exception from ``on_fragment`` keeps the part and is passed on as it is."""
    emulator.settings = replace(FIXED, fault="hold", fault_after=2)

    def listener(text: str) -> None:
        if text.startswith("two"):
            raise LookupError(text)

    with pytest.raises(LookupError, match="two"):
        session.ask("echo:one two three", on_fragment=listener)
    (turn,) = session.conversation
    assert (turn.reply.text, turn.state) == ("one two ", "interrupted")
    emulator.settings = FIXED
    assert session.ask("echo:next").text == "next"


def test_a_cell_owns_its_turn(session: Session, emulator: Emulator) -> None:
    """What a kernel says of the running cell holds for Python too: same rules, same turns."""
    session.environment = GivenEnvironment(cell=("one", "1"))
    session.ask("echo:a")
    session.ask("echo:b")
    session.environment = GivenEnvironment(cell=("two", "2"))
    session.ask("echo:c")
    session.environment = GivenEnvironment(cell=("one", "3"))
    session.ask("echo:A")
    assert prompts(session) == ["echo:A", "echo:c"]
    assert len(emulator.requests[-1].body["messages"]) == 1
    assert [turn.prompt for turn in session.conversation.stale_turns()] == ["echo:c"]


def test_the_record(session: Session) -> None:
    """It names what was carried by digest and holds no more than a reader can see."""
    session.ask("echo:a")
    answer = session.run(Ask("echo:value", typed="echo:{{ x }}", temperature=0.5), Seen())
    record = answer.record
    assert record.prompt == "echo:{{ x }}"
    assert record.carried == (session.conversation.turns[0].digest,)
    assert record.parameters == {"temperature": 0.5}
    assert (record.state, record.origin, record.took) == ("complete", "emulator", 1)
    assert KEY not in repr(answer) + repr(session.conversation.turns) + repr(session.endpoint)


def test_a_turn_stands_where_the_page_has_its_cell(session: Session, emulator: Emulator) -> None:
    """A cell between two others carries what is above it, and no more."""
    session.run(Ask("echo:one", owner="a"), Seen())
    session.run(Ask("echo:three", owner="c", order=("a", "c")), Seen())
    session.run(Ask("echo:two", owner="b", order=("a", "b", "c")), Seen())
    sent = [message["content"] for message in emulator.requests[-1].body["messages"]]
    assert sent == ["echo:one", "one", "echo:two"]
    assert [turn.owner for turn in session.conversation] == ["a", "b", "c"]


def test_a_follower_can_stop_an_ask(session: Session, emulator: Emulator) -> None:
    """From another thread, also an ask of Python; one that is over stops no other."""
    # A reply that has come whole by then could not be stopped any more.
    emulator.settings = replace(FIXED, fault="hold", fault_after=2)
    halts: list[Halt] = []

    def follow(event: Event) -> None:
        if isinstance(event, Began):
            halts.append(event.halt)

    def stop(_: str) -> None:
        stopper = threading.Thread(target=halts[0].stop)
        stopper.start()
        stopper.join(PATIENCE)

    session.follow(follow)
    with pytest.raises(ChatInterrupted, match="what came is kept"):
        session.run(Ask("long"), Seen(at_fragment=stop))
    assert session.conversation.turns[0].state == "interrupted"
    emulator.settings = FIXED
    assert session.run(Ask("echo:next"), Seen(at_fragment=stop)).reply.text == "next"


def test_what_the_pages_say_holds_for_every_ask(session: Session, emulator: Emulator) -> None:
    """Turns of cells that are gone are set aside, which is said; the order is the page's."""
    for name in "abc":
        session.run(Ask(f"echo:{name}", owner=name), Seen())
    session.environment = GivenEnvironment(
        layout=lambda owner: Layout(("c", "a", owner or ""), {"a", "c"}, frozenset("b"))
    )
    seen = Seen()
    session.run(Ask("echo:new", owner="n"), seen)
    assert ("began", ["set aside 1 turn of cells gone from the page"]) in seen.told
    sent = [message["content"] for message in emulator.requests[-1].body["messages"]]
    assert sent == ["echo:c", "c", "echo:a", "a", "echo:new"]
    assert prompts(session) == ["echo:c", "echo:a", "echo:new"]
    session.change(Conversation.undo)
    session.change(Conversation.undo)
    assert prompts(session) == ["echo:c", "echo:a", "echo:b"]


def test_instructions_hold_where_the_page_has_their_cell(
    session: Session, emulator: Emulator
) -> None:
    """Whatever ran first; a cell that is gone takes them along, which is said."""
    followed: list[Event] = []
    order, gone = ["i", "a", "b"], ""
    session.environment = GivenEnvironment(
        layout=lambda _: Layout(tuple(order), set(order), frozenset(gone))
    )
    session.run(Ask("a", owner="a"), Seen())
    session.follow(followed.append)
    session.steer(Instructions.of("Be terse.", owner="i", execution="1"))
    assert followed == [Changed()]
    assert [turn.prompt for turn in session.conversation.stale_turns()] == ["a"]
    session.run(Ask("b", owner="b"), Seen())
    order[:] = ["a", "b"]
    gone = "i"
    seen = Seen()
    session.run(Ask("b", owner="b"), seen)
    assert ("began", ["set aside the instructions of cells gone from the page"]) in seen.told
    sent = [request.body["messages"][0]["content"] for request in emulator.requests]
    assert sent == ["a", "Be terse.\n\na", "a"]


def test_a_thread_begins_where_the_page_has_its_cell(session: Session, emulator: Emulator) -> None:
    """Whatever ran first; the cassette's warnings and the notes are of its turns alone."""
    order, gone = ["a", "s", "b", "c"], ""
    session.environment = GivenEnvironment(
        layout=lambda _: Layout(tuple(order), set(order), frozenset(gone))
    )
    for name in "ac":
        session.run(Ask(name, owner=name), Seen())
    session.steer(ThreadStart("sql", owner="s", execution="1"))
    assert [turn.prompt for turn in session.conversation.stale_turns()] == ["c"]
    seen = Seen()
    session.run(Ask("b", owner="b"), seen)
    assert ("began", ["in the thread sql"]) in seen.told
    session.run(Ask("p", entry="panel", owner="p", thread="main"), Seen())
    with pytest.raises(InputError, match="thread is a name: a letter, then letters"):
        session.ask("x", thread="a b")
    with pytest.raises(InputError, match=r"thread main has 1 turn above this cell. Nothing was"):
        session.steer(ThreadStart("x", 2, owner="s", execution="2"))
    with pytest.raises(InputError, match="The thread main has turns above this cell already"):
        session.steer(ThreadStart("main", 1, owner="s", execution="2"))
    order.remove("s")
    gone, seen = "s", Seen()
    session.run(Ask("c", owner="c"), seen)
    assert ("began", ["set aside the thread of cells gone from the page"]) in seen.told
    sent = [
        [m["content"] for m in request.body["messages"] if m["role"] == "user"]
        for request in emulator.requests
    ]
    assert sent == [["a"], ["a", "c"], ["b"], ["a", "p"], ["a", "b", "c"]]


def test_the_conversation_follows_the_pages_when_it_is_shown(session: Session) -> None:
    """Not while an ask is under way, here or in another thread; followers hear of a change."""
    heard: list[Event] = []
    assert session.follow_pages() is None
    session.run(Ask("echo:one", owner="a"), Seen())
    session.environment = GivenEnvironment(layout=lambda _: Layout((), (), frozenset("a")))
    session.follow(heard.append)
    outcomes: list[object] = []

    def follow(event: Event) -> None:
        if isinstance(event, Fragment):
            outcomes.append(session.follow_pages())

    unfollow = session.follow(follow)
    session.run(Ask("echo:two", order=()), Seen())
    unfollow()
    assert outcomes
    assert set(outcomes) == {None}
    elsewhere = threading.Thread(target=lambda: outcomes.append(session.follow_pages()))

    def while_it_changes(_: Conversation) -> None:
        elsewhere.start()
        elsewhere.join(PATIENCE)

    session.change(while_it_changes)
    assert set(outcomes) == {None}
    assert prompts(session) == ["echo:one", "echo:two"]
    heard.clear()
    change = session.follow_pages()
    assert change is not None
    assert [turn.prompt for turn in change.went] == ["echo:one"]
    assert heard == [Changed()]
    assert session.follow_pages() is None
    assert heard == [Changed()]
