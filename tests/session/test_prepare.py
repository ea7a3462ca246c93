"""A prepared question: each thing computed once, the same for the preview and the request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from asking import Seen
from environments import GivenEnvironment
from logged import Emulator
from row_service import RowService
from short_service import ShortService

from chatmagic.client.client import Client
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Value
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Window
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.session.ask import Ask
from chatmagic.session.prepare import keep, prepare
from chatmagic.session.session import Session

NAMED = GivenEnvironment().named


def window(*prompts: str) -> Window:
    """Return the window of a conversation."""
    conversation = Conversation()
    for prompt in prompts:
        conversation.add(Turn(prompt, reply=Reply("r" * 10)))
    return conversation.window()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count how often a window is computed, and a request is made."""
    counts = {"window": 0, "digest": 0}
    plain, made = Conversation.window, Ask.request

    def counting(self: Conversation, *given: Any, **options: Any) -> Window:
        counts["window"] += 1
        return plain(self, *given, **options)

    def making(self: Ask, *given: Any) -> Any:
        counts["digest"] += 1
        return made(self, *given)

    monkeypatch.setattr(Conversation, "window", counting)
    monkeypatch.setattr(Ask, "request", making)
    return counts


@pytest.mark.parametrize("layout", [None, Layout(("a", "b"), {"a", "b"}, frozenset())])
def test_a_question_computes_its_window_and_its_request_once(
    counted: dict[str, int], layout: Layout | None
) -> None:
    """Whether a page reports the order of its cells or not; a preview does, too."""
    session = Session(Client(transport=RowService()))
    session.environment = GivenEnvironment(layout=lambda _: layout)
    session.run(Ask("a", owner="a", execution="1", stream=False), Seen())
    for ask in (lambda ask: session.run(ask, Seen()), session.preview):
        counted.update(window=0, digest=0)
        ask(Ask("b", owner="b", execution="2", stream=False))
        assert counted == {"window": 1, "digest": 1}


def test_the_window_is_that_after_cells_have_gone(counted: dict[str, int]) -> None:
    """It is computed after them, once."""
    session = Session(Client(transport=(service := RowService())))
    for name in "ab":
        session.run(Ask(name, owner=name, stream=False), Seen())
    gone = Layout((), (), frozenset("a"))
    session.environment = GivenEnvironment(layout=lambda _: gone)
    counted.update(window=0)
    session.run(Ask("c", stream=False), Seen())
    assert counted["window"] == 1
    assert [message["content"] for message in service.bodies[-1]["messages"]] == ["b", "B", "c"]


def test_the_address_is_resolved_once(session: Session, emulator: Emulator) -> None:
    """For the request, the search for secrets and the client together."""
    service = session.environment.service()
    asked: list[str] = []

    def resolve() -> Any:
        asked.append("service")
        return service

    session.environment = GivenEnvironment(service=resolve)
    session.ask("echo:a")
    assert asked == ["service"]
    assert len(emulator.requests) == 1


def test_a_preview_is_what_is_prepared(session: Session) -> None:
    """The same notes, parts and request."""
    session.ask("echo:a")
    ask = Ask("echo:b", last=0, notes=("n",))
    prepared = prepare(ask, replace(session.conversation.window(), last=0), NAMED, None)
    seen = session.preview(ask)
    assert (seen.notes, seen.parts) == (prepared.notes, prepared.parts)
    assert seen.notes == ("sent only 0 of 1 turns", "n")
    assert seen.request == prepared.request
    assert prepared.digest == seen.request.digest()


def test_a_question_of_any_kind_is_prepared() -> None:
    """A new one, one that is asked again, and the rest of a reply."""
    part = Turn("c", reply=Reply("so fa", finish_reason="length"), number=2)
    asks = {
        "new": (Ask("c"), ["a", "r" * 10, "c"]),
        "again": (Ask("c", again=2), ["a", "r" * 10, "c"]),
    }
    for ask, sent in asks.values():
        prepared = prepare(ask, window("a"), NAMED, None)
        assert [message.content for message in prepared.request.messages] == sent
    rest = prepare(Ask("c", again=2, part=part), window("a"), NAMED, None)
    assert [m.content for m in rest.request.messages][:4] == ["a", "r" * 10, "c", "so fa"]
    assert rest.notes == ("continued: c",)
    turn, record = keep(rest, Reply("r"), ())
    assert (turn.prompt, record.continues) == ("c", part.recorded_digest)


def test_what_cannot_be_sent_is_refused_as_it_is_prepared() -> None:
    """In one line."""
    with pytest.raises(InputError, match="Nothing was sent"):
        prepare(Ask("a", temperature=float("nan")), window(), NAMED, None)


def test_a_shorter_window_leaves_half_of_the_text() -> None:
    """One turn at least, and all at most."""
    prepared = prepare(Ask("q" * 5), window("a", "b", "c"), NAMED, None)
    shorter, left_out = prepared.shorter()
    assert (left_out, [turn.prompt for turn in shorter.turns]) == (2, ["c"])
    prepared = prepare(Ask("q" * 500), window("a"), NAMED, None)
    assert prepared.shorter()[1] == 1


def test_what_is_sent_shorter_asks_for_its_form_once() -> None:
    """The words stand in front of its prompt once, and in the record."""
    service = ShortService(60)
    session = Session(Client(transport=service))
    session.ask("a" * 20)
    answer = session.run(Ask("b", format="text", fit=True), Seen())
    prompts = [body["messages"][-1]["content"] for body in service.bodies[1:]]
    assert len(prompts) == 2
    assert len(set(prompts)) == 1
    assert len(answer.record.values) == 1


def test_a_request_with_markdown_cells_has_a_digest_without_them() -> None:
    """It differs from the request's own, and from that of another question."""
    cell = Value.of_text("1 above", "# T", "markdown")
    text = "# T\n\n"
    conversation = Conversation()
    conversation.add(Turn("a", reply=Reply("r")))
    with_cell = prepare(
        Ask(f"{text}b", typed="b", values=(cell,)), conversation.window(), NAMED, None
    )
    assert with_cell.digest != with_cell.request.digest()
    assert with_cell.digest == prepare(Ask("b"), conversation.window(), NAMED, None).digest
    assert with_cell.digest != prepare(Ask("b"), window(), NAMED, None).digest
