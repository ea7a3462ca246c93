"""The recorder: what answers from a cassette, and what of an answer is recorded."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import pytest
from cassette_choice import Mode, choosing
from environments import GivenEnvironment
from row_service import RowService

from chatmagic._fork import Lock
from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.archive.interaction import Interaction
from chatmagic.client.client import Client
from chatmagic.conversation.window import Window
from chatmagic.errors import ChatError, ServiceError
from chatmagic.session.ask import Ask
from chatmagic.session.environment import Environment
from chatmagic.session.prepare import prepare
from chatmagic.session.recorder import Recorder, query_of
from chatmagic.session.session import Session


def session_with(path: Path, mode: Mode, service: RowService) -> Session:
    """Return a session with a cassette."""
    environment = GivenEnvironment(command_choice=choosing(path, mode))
    return Session(Client(transport=service), environment=environment)


def recorded(path: Path) -> tuple[Interaction, ...]:
    """Return the exchanges in a cassette."""
    return CassetteFile(path).read_interactions()


def test_an_answer_is_recorded_with_what_it_took(tmp_path: Path) -> None:
    """By then the ledger has it; a replay shows it and enters nothing."""
    path, service = tmp_path / "c.jsonl", RowService(9)
    session = session_with(path, "record", service)
    for word in "ab":
        session.ask(word, stream=False, history=False)
    assert [row.took for row in session.ledger] == [None, 1]
    assert [exchange.took for exchange in recorded(path)] == [None, 1]
    replaying = session_with(path, "replay", service)
    replies = [replaying.ask(word, stream=False, history=False) for word in "ab"]
    assert [(reply.text, reply.took, reply.origin) for reply in replies] == [
        ("A", None, "replay"),
        ("B", 1, "replay"),
    ]
    assert (service.prompts, len(session.ledger)) == (["a", "b"], 2)


def test_an_error_is_recorded_without_a_cost(tmp_path: Path) -> None:
    """The same error comes in a replay."""
    path, service = tmp_path / "c.jsonl", RowService(9)
    session = session_with(path, "record", service)
    session.ask("a", stream=False, history=False)
    service.refuses = lambda _: 500
    for session_of in (session, session_with(path, "replay", service)):
        with pytest.raises(ServiceError, match="no"):
            session_of.ask("b", stream=False, history=False)
    assert [(exchange.status, exchange.took) for exchange in recorded(path)][1:] == [(500, None)]
    assert service.prompts == ["a", "b"]


def test_a_reply_that_cannot_be_recorded_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says so; the turn is there, and the exchange waits for another file."""
    session = session_with(tmp_path / "c.jsonl", "record", RowService())

    def full(*_: object, longest: float) -> None:
        del longest
        raise ChatError("No space left.")

    monkeypatch.setattr(CassetteFile, "save", full)
    with pytest.raises(ChatError, match="kept in memory") as caught:
        session.ask("a", stream=False)
    assert [turn.reply.text for turn in session.conversation] == ["A"]
    assert caught.value.reply == session.conversation.turns[0].reply
    assert len(session.ledger) == 1
    assert [exchange.text for exchange in session.feature(Recorder).cassette.unsaved] == ["A"]


def test_a_question_is_looked_up_by_its_digest() -> None:
    """With its cell and its words, as they would be recorded."""
    ask = Ask("sent", typed="typed", owner="a", execution="1", history=False)
    prepared = prepare(ask, Window(), Environment().named, None)
    query = query_of(prepared)
    assert (query.asked.request, query.asked.typed) == (prepared.digest, "typed")
    assert (query.owner, query.execution_key) == ("a", "1")


class SeenLock(Lock):
    """Lock that shows whether it is held."""

    is_held = False

    def __enter__(self) -> None:
        """Hold it."""
        super().__enter__()
        self.is_held = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        """Release it."""
        self.is_held = False
        super().__exit__(kind, error, frames)


def test_what_is_being_saved_is_not_called_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines on unsaved answers wait for the thread that saves one."""
    lock = SeenLock()
    recorder = Recorder(str, lock)
    monkeypatch.setattr(recorder.cassette, "news", lambda: [f"held: {lock.is_held}"])
    assert recorder.late_news(None) == ["held: True"]
