"""Asking in Python: what is sent, what is kept, and what an end before the end leaves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import Seen, prompts, stop
from environments import GivenEnvironment
from logged import Emulator
from loopback import DONE, Server, event, playing, stream
from row_service import RowService
from shells import FIXED, KEY

from chatmagic.client.client import Client
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import A_MODEL
from chatmagic.conversation.steering import Instructions
from chatmagic.errors import (
    ChatInterrupted,
    InputError,
    ServiceError,
)
from chatmagic.protocol.api_key import Secret
from chatmagic.session.ask import Ask
from chatmagic.session.events import Event, Fragment, Thought
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


def test_a_model_for_one_question(
    session: Session, emulator: Emulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is sent, recorded and used for rows, too; the next question has the one that is set."""
    monkeypatch.chdir(tmp_path)
    session.ask("echo:a", model="small")
    session.ask("echo:b")
    session.map("echo:{{ it }}", ["c"], model="large", yes=True)
    models = [received.body.get("model") for received in emulator.requests]
    assert models == ["small", None, "large"]
    assert [turn.asked_model for turn in session.conversation] == ["small", None]
    why = f"model is not {A_MODEL}; leave it out to ask the configured one."
    for model in (" ", 7):
        with pytest.raises(InputError, match=f"^{why} Nothing was sent."):
            session.ask("echo:d", model=model)  # type: ignore[arg-type]


def test_a_model_of_the_environment_is_asked_while_a_cassette_records(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, emulator: Emulator
) -> None:
    """In plain Python, too."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    monkeypatch.setenv("CHATMAGIC_MODEL", "small")
    for mode in ("", "record"):
        monkeypatch.setenv("CHATMAGIC_CASSETTE", mode and str(tmp_path / "tape.jsonl"))
        monkeypatch.setenv("CHATMAGIC_MODE", mode)
        Session().ask("echo:a")
    assert [received.body.get("model") for received in emulator.requests] == ["small"] * 2


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
    assert view.told[0] == ("began", ["sent only 2 of 5 turns"])


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


def test_thoughts_are_told_and_kept_and_carried_by_no_request() -> None:
    """While they come, as events; then with the reply."""
    begin = b'data: {"choices": [{"delta": {"reasoning_content": "Let "}}]}\n\n'
    answers = [stream(begin, event("<think>me</think> see"), DONE)]
    told: list[Event] = []
    with Server(playing(*answers * 2)) as server:
        session = Session(Client(server.origin, auth="none"))
        session.followers.add(told.append)
        for _ in range(2):
            reply = session.ask("why?")
    assert (reply.text, reply.reasoning) == ("see", "Let me")
    texts = [(type(each), each.text) for each in told if isinstance(each, Fragment | Thought)]
    assert texts[:3] == [(Thought, "Let "), (Thought, "me"), (Fragment, "see")]
    assert [message["content"] for message in server.asked[1].body["messages"]] == [
        "why?",
        "see",
        "why?",
    ]


def test_the_conversation_in_the_services_form(session: Session, emulator: Emulator) -> None:
    """It is what the next request carries, with the instructions in front."""
    assert session.messages() == []
    session.changes.steer(Instructions.of_text("Be brief.", owner="a"))
    session.ask("echo:one")
    session.ask("echo:two")
    carried = session.messages()
    session.ask("echo:three")
    assert carried == emulator.requests[-1].body["messages"][:-1]
    assert "Be brief." in carried[0]["content"]
    assert session.messages("other") == []


@pytest.mark.parametrize("status", [200, 500])
def test_a_request_of_any_kind_is_sent_once_whatever_is_answered(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question, one that may be sent shorter, a row, a question of its own: one request each."""
    monkeypatch.chdir(tmp_path)
    service = RowService(refuses=lambda _: status)
    session = Session(Client(transport=service))
    asks: list[Callable[[], object]] = [
        lambda: session.ask("a"),
        lambda: session.ask("b", fit=True),
        lambda: session.ask("c", history=False),
        lambda: session.map("{{ it }}", ["d"], yes=True),
    ]
    for ask in asks:
        with suppress(ServiceError):
            ask()
    assert service.prompts == ["a", "b", "c", "d"]
    rows = [(row.entry, row.error) for row in session.ledger]
    error = None if status == 200 else "ServiceError"
    assert rows == [("python", error)] * 3 + [("map", error)]
    assert session.ledger.under_way == ()


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


def test_what_the_pages_say_holds_for_every_ask(session: Session, emulator: Emulator) -> None:
    """Turns of cells that are gone are set aside, which is said; the order is the page's."""
    for name in "abc":
        session.run(Ask(f"echo:{name}", owner=name), Seen())
    session.environment = GivenEnvironment(
        layout=lambda owner: Layout(("c", "a", owner or ""), {"a", "c"}, frozenset("b"))
    )
    seen = Seen()
    session.run(Ask("echo:new", owner="n"), seen)
    assert ("began", ["left out 1 turn of cells that are no longer on the page"]) in seen.told
    sent = [message["content"] for message in emulator.requests[-1].body["messages"]]
    assert sent == ["echo:c", "c", "echo:a", "a", "echo:new"]
    assert prompts(session) == ["echo:c", "echo:a", "echo:new"]
    session.changes.make(Conversation.undo)
    session.changes.make(Conversation.undo)
    assert prompts(session) == ["echo:c", "echo:a", "echo:b"]


def test_a_new_setup_makes_a_new_client(session: Session, emulator: Emulator) -> None:
    """Another address or key does; other fields and time-outs keep connection and ledger."""
    held: dict[str, Any] = {"url": emulator.url, "extra": {}, "key": KEY, "timeout": None}
    session.environment = GivenEnvironment(
        service=lambda: ServiceSetup(
            Endpoint(held["url"], "bearer", Secret(held["key"]), "test", "test"),
            timeout=held["timeout"],
            extra_body=dict(held["extra"]),
        )
    )

    def asked(**changes: Any) -> int:
        held.update(changes)
        session.ask("echo:a")
        return len({received.port for received in emulator.requests})

    assert [asked(), asked(extra={"model": "small"}), asked(timeout=5)] == [1, 1, 1]
    assert [received.body.get("model") for received in emulator.requests] == [None, *["small"] * 2]
    assert session.took == 1
    with pytest.raises(InputError, match="timeout"):
        asked(timeout="long")
    assert asked(timeout=5, key=f"{KEY}-other") == 2
    with Emulator(replace(FIXED, credits=7)) as other:
        asked(url=other.url)
        assert len(other.requests[0].body["messages"]) == 9
        assert session.credits is not None
        assert session.credits.limit == 7
        assert session.endpoint is not None
        assert session.endpoint.base_url == other.url


def test_a_new_connection_forgets_the_old_ones_credits(session: Session) -> None:
    """What another account had left is not shown for this one."""
    session.ask("echo:one")
    before = session.credits
    session.disconnect()
    assert before is not None
    assert (session.credits, session.took) == (None, None)


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("CHATMAGIC_CASSETTE", "Record it first: CHATMAGIC_MODE=record."),
        ("CHATMAGIC_MODE", "Set CHATMAGIC_CASSETTE; mode live asks the service."),
    ],
)
def test_plain_python_is_not_told_of_commands(
    variable: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of a cassette's."""
    session = Session(Client(transport=RowService()))
    monkeypatch.setenv(variable, "replay")
    with pytest.raises(InputError) as refused:
        session.ask("a")
    assert refused.value.hint == hint
