"""The run of one ask: the order of its events, and what an error leaves."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from asking import PATIENCE, Seen, prompts
from cassette_choice import Mode, choosing
from environments import GivenEnvironment
from logged import Emulator, Settings
from row_service import RowService
from shells import FIXED

from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    BudgetError,
    CutOffError,
    NotUnderstoodError,
    RateLimitError,
    ServiceError,
)
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.events import Began, Ended, Event
from chatmagic.session.features import new_ledger
from chatmagic.session.ledger import Ledger, Limit
from chatmagic.session.ledger_row import Reservation
from chatmagic.session.session import Session
from chatmagic.session.views import View


@dataclass
class Watched(View):
    """A view that notes in one list with others what a user sees, and when.

    Args:
        session: the session that is asked.
        seen: the list.
    """

    session: Session
    seen: list[str]

    def __post_init__(self) -> None:
        """Have seen nothing of a request yet."""
        self.has_sent = threading.Event()

    def note(self, what: str) -> None:
        """Note an event, and whether the lock is free and how many turns are kept by then."""
        turns, is_free = len(self.session.conversation), self.session.lock.is_free()
        self.seen.append(f"{what}, {turns} kept{', free' if is_free else ''}")

    def began(self, notes: Sequence[str]) -> None:
        """Note that the notes are shown."""
        self.note(f"notes {', '.join(notes)}")

    def sent(self) -> None:
        """Note that the request goes to the network."""
        self.note("sent")
        self.has_sent.set()

    def fragment(self, text: str) -> None:
        """Note the text."""
        self.seen.append(f"fragment {text}")

    def ended(self, outcome: Outcome) -> None:
        """Note the end."""
        self.note(f"ended {outcome.reply.text}")

    def failed(self) -> None:
        """Note that there is no reply."""
        self.note("failed")


class OneRequest(Limit):
    """A limit that allows one request, and tells so."""

    def __init__(self, ledger: Ledger) -> None:
        """Allow one."""
        self.ledger = ledger

    def reserve(self, reservation: Reservation) -> int:
        """Refuse a second one."""
        if self.ledger.turns:
            raise BudgetError(f"No more to {reservation.service}. Nothing was sent.")
        return 0

    def notices(self) -> list[str]:
        """Return the line."""
        return ["That was the one."]


def followed(event: Event) -> str:
    """Return the name of an event that an ask has once."""
    return f"{type(event).__name__} told"


@pytest.mark.parametrize("mode", [None, "record"])
def test_the_order_in_which_a_user_sees_an_ask(
    mode: Mode | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes, then that it is sent, then the request; at the end all is kept, and nothing locked."""
    service, seen, path = RowService(9), list[str](), tmp_path / "tape.jsonl"
    environment = GivenEnvironment(notify=seen.append)
    if mode is not None:
        environment = GivenEnvironment(notify=seen.append, command_choice=choosing(path, mode))
    ledger = new_ledger(lambda: environment)
    ledger.limits += (OneRequest(ledger),)
    monkeypatch.setattr(Session, "ledger", ledger)
    session = Session(Client(transport=service), environment=environment)
    view = Watched(session, seen)

    def before(_: str) -> None:
        # The thread that waits calls the view, and may be a moment late.
        assert view.has_sent.wait(PATIENCE)
        view.note("request")

    def follow(event: Event) -> None:
        if isinstance(event, Began | Ended):
            view.note(followed(event))

    service.before = before
    session.followers.add(follow)
    halt = Halt()
    ended = view.ended

    def end(outcome: Outcome) -> None:
        ended(outcome)
        seen.append(f"{len(session.ledger)} in the ledger, took {session.took}")
        if mode is not None:
            seen.append(f"{len(path.read_text().splitlines()) > 1} in the file")

    vars(view)["ended"] = end
    session.run(Ask("a", stream=False, hide=True), view, halt)
    recording = "" if mode is None else "recording into tape.jsonl"
    assert seen == [
        f"notes {recording}, 0 kept",
        "Began told, 0 kept",
        "sent, 0 kept",
        "request, 0 kept",
        "fragment A",
        "That was the one.",
        "ended A, 1 kept, free",
        "1 in the ledger, took None",
        *(["True in the file"] if mode else []),
        "Ended told, 1 kept, free",
    ]
    seen.clear()
    view.has_sent.clear()
    with pytest.raises(BudgetError):
        session.run(Ask("b", stream=False), view, halt)
    # A cell in the background ends when it is sent, so one without room must not be.
    notes = [recording] if mode else []
    assert seen == [
        f"notes {', '.join([*notes, 'sent without 1 hidden turn'])}, 1 kept",
        "Began told, 1 kept",
        "failed, 1 kept, free",
        "Ended told, 1 kept, free",
    ]
    assert service.prompts == ["a"]
    assert session.ledger.under_way == ()


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
