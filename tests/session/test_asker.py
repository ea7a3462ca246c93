"""The steps of a question: what is told of it, its preview, and a conversation that is too long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from asking import Seen
from cassette_choice import Mode, choosing
from environments import GivenEnvironment
from logged import Emulator
from short_service import ShortService

from chatmagic.archive import output
from chatmagic.client.client import Client
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.record import Record
from chatmagic.errors import (
    ConnectError,
    InputError,
    RequestRejectedError,
    TooLongError,
)
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session

GONE = GivenEnvironment(layout=lambda _: Layout((), (), frozenset("ab")))
MERGED = "one\n\n%%chat\ntwo"
AS_TEXT = "a line with %%chat is sent as text; split the cell if it is to run by itself"


@pytest.mark.parametrize(
    ("ask", "environment", "notes"),
    [
        (Ask("echo:next", owner="c"), None, ["with 1 turn from the panel"]),
        (Ask("echo:next", entry="panel", last=1), None, ["sent only 1 of 2 turns"]),
        (
            Ask("echo:next"),
            GONE,
            ["left out 1 turn of cells that are no longer on the page", "with 1 turn"],
        ),
        (Ask("echo:alone", history=False), GONE, []),
        (Ask(MERGED, entry="cell", history=False), None, [AS_TEXT]),
        (Ask(MERGED, entry="panel", history=False), None, []),
        (Ask(MERGED, entry="cell", notes=("df: 3 rows",), history=False), None, ["df:", AS_TEXT]),
    ],
)
def test_what_is_particular_of_a_request_is_said(
    session: Session, ask: Ask, environment: GivenEnvironment | None, notes: list[str]
) -> None:
    """A line for each: what goes along, what was set aside, and what was put in."""
    session.run(Ask("echo:a", owner="a"), Seen())
    session.run(Ask("echo:b", entry="panel"), Seen())
    if environment is not None:
        vars(environment)["service"] = session.environment.service
        session.environment = environment
    seen = Seen()
    session.run(ask, seen)
    told = seen.told[0][1]
    assert len(told) == len(notes)
    assert all(line.startswith(note) for line, note in zip(told, notes, strict=True))


def test_a_preview_leaves_all_as_it_is(session: Session, emulator: Emulator) -> None:
    """Also where the question itself would set turns aside."""
    for name in "ab":
        session.run(Ask(f"echo:{name}", owner=name), Seen())
    service = replace(session.environment.service(), extra_headers={"X-Team": "blue"})
    session.environment = GivenEnvironment(
        layout=lambda _: Layout((), (), frozenset("b")), service=lambda: service
    )
    seen = session.preview(Ask("echo:next", last=3))
    assert (seen.extra_headers, seen.rate is None) == (("X-Team",), False)
    assert "blue" not in repr(seen)
    assert seen.parts == (("turn 1 (prompt and reply)", 7), ("the prompt", 9))
    assert [turn.prompt for turn in session.conversation] == ["echo:a", "echo:b"]
    assert len(emulator.requests) == 2
    session.run(Ask("echo:next", last=3), Seen())
    assert emulator.requests[2].body == seen.request.to_json()


def test_a_preview_needs_no_service_in_a_replay_alone(session: Session, tmp_path: Path) -> None:
    """While recording one is needed, as for the question; an empty prompt is none."""

    def none() -> NoReturn:
        raise ConnectError("Not connected yet.")

    modes: tuple[Mode, ...] = ("record", "replay")
    for mode in modes:
        session.environment = GivenEnvironment(
            service=none, command_choice=choosing(tmp_path / "c.jsonl", mode)
        )
        if mode == "record":
            with pytest.raises(ConnectError):
                session.preview(Ask("echo:one"))
        else:
            seen = session.preview(Ask("echo:one"))
            assert (seen.endpoint, seen.answers and seen.answers.name) == (None, "c.jsonl")
    with pytest.raises(InputError):
        session.preview(Ask(" "))


def test_a_conversation_that_is_too_long_is_sent_once_more_where_set() -> None:
    """Without its oldest turns; the reply and the record say so, and the turn is not stale."""
    service = ShortService(24)
    session = Session(Client(transport=service))
    for letter in "abc":
        session.ask(letter * 4)
    with pytest.raises(TooLongError, match="too long for the service"):
        session.ask("dddd")
    assert service.prompts[3:] == ["aaaa bbbb cccc dddd"]
    seen = Seen()
    answer = session.run(Ask("dddd", fit=True), seen)
    assert service.prompts[4:] == ["aaaa bbbb cccc dddd", "cccc dddd"]
    assert (answer.reply.text, answer.reply.left_out) == ("dddd", 2)
    line = "The conversation was too long for the service: sent without the oldest 2 turns."
    assert output.state_lines(answer.reply) == [line]
    assert answer.record.to_json()["left_out"] == 2
    assert answer.record.to_json()["parameters"] == {"last": 1}
    assert Record.from_json(answer.record.to_json()) == answer.record
    assert seen.names == ["began", "ended"]
    assert len(session.conversation) == 4
    assert session.conversation.stale_turns() == ()


def test_what_is_still_too_long_is_not_sent_a_third_time() -> None:
    """The conversation is as before; without a turn to leave out it is sent once."""
    service = ShortService(15)
    session = Session(Client(transport=service))
    session.ask("aaaa", fit=True)
    with pytest.raises(TooLongError) as caught:
        session.ask("b" * 16, fit=True)
    assert service.prompts[1:] == [f"aaaa {'b' * 16}", "b" * 16]
    assert str(caught.value.hint).startswith(
        "Sent once more without the oldest 1 turn. Shorten the"
    )
    with pytest.raises(TooLongError) as caught:
        session.ask("b" * 16, fit=True, last=0)
    assert len(service.bodies) == 4
    assert "Sent once more" not in str(caught.value)
    assert "--last" not in str(caught.value)
    assert "Shorten the question" in str(caught.value.hint)
    assert len(session.conversation) == 1


def test_another_refusal_is_not_sent_again() -> None:
    """Only one that the service gives for the length."""
    service = ShortService(24)
    session = Session(Client(transport=service))
    session.ask("aaaa")
    service.refusal = {"error": {"message": "no such field"}}
    with pytest.raises(RequestRejectedError):
        session.ask("b" * 30, fit=True)
    assert len(service.bodies) == 2


def test_what_was_sent_shorter_replays_strictly(tmp_path: Path) -> None:
    """Both requests are recorded, and replayed in the same order."""
    service = ShortService(10)
    texts: list[list[tuple[str, int | None]]] = []
    modes: tuple[Mode, ...] = ("record", "record", "replay")
    for mode in modes:
        session = Session(
            Client(transport=service),
            environment=GivenEnvironment(command_choice=choosing(tmp_path / "c.jsonl", mode)),
        )
        replies = [session.ask(letter * 4, fit=True) for letter in "abc"]
        texts.append([(reply.text, reply.left_out) for reply in replies])
        assert session.conversation.stale_turns() == ()
    assert texts == [[("aaaa", None), ("bbbb", 1), ("cccc", 2)]] * 3
    sent = ["aaaa", "aaaa bbbb", "bbbb", "aaaa bbbb cccc", "cccc"]
    # A recorded error is asked for again while recording.
    assert service.prompts == [*sent, "aaaa bbbb", "aaaa bbbb cccc"]


def test_a_question_may_have_instructions_of_its_own(
    session: Session, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go along with it alone, also with the rows of a map, and make no turn stale."""
    monkeypatch.chdir(tmp_path)
    session.ask("echo:one", instructions="Answer in French.")
    session.ask("echo:two")
    session.ask("echo:three", instructions="Be brief.", history=False)
    rows = session.map("echo:{{ it }}", ["four"], instructions="Be polite.", yes=True)
    assert [row.error for row in rows] == [None]
    contents = [request.body["messages"][0]["content"] for request in emulator.requests]
    assert "Answer in French." in contents[0]
    assert contents[0].endswith("echo:one")
    assert "French" not in str(emulator.requests[1].body)
    assert "Be brief." in contents[2]
    assert "Be polite." in contents[3]
    assert contents[3].endswith("echo:four")
    assert session.conversation.stale_turns() == ()
    preview = session.preview(Ask("echo:x", instructions="Be kind.", history=False))
    assert "with instructions from ask(instructions=…) of 8 characters" in preview.notes
    assert "instructions" not in str(session.preview(Ask("x", instructions=" ")).notes)
    with pytest.raises(InputError, match="instructions is text, not int"):
        session.ask("echo:x", instructions=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="The text of instructions holds"):
        session.map("{{ it }}", ["a"], instructions="Use AKIAIOSFODNN7ABCDEFG now.", yes=True)
