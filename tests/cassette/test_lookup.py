"""Source of the answer to a request, by the mode of its cassette."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from cassettes import exchange_of

from chatmagic.advice import note_at
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.choice import CassetteConfig, Mode
from chatmagic.cassette.item import Query
from chatmagic.cassette.lookup import Lookup, lookup_in_replay, lookup_while_recording
from chatmagic.cassette.match import Matcher
from chatmagic.errors import ConnectError, NotRecordedError
from chatmagic.models import Message
from chatmagic.protocol.request import Request


def exchange(
    prompt: str, text: str | None = None, origin: Literal["live", "emulator"] = "live"
) -> Interaction:
    """Return an exchange of the cell ``x``; without a text it is only asked."""
    request = Request((Message("user", prompt),))
    return exchange_of(request, text=text, owner="x", origin=origin)


def in_mode(mode: Mode) -> CassetteConfig:
    """Return the choice of a cassette."""
    return CassetteConfig(Path("talk.jsonl"), mode)


def recording(prompt: str, mode: Mode, *, is_emulator: bool = False) -> Lookup:
    """Return the lookup of a prompt in a cassette that holds ``a``."""
    matcher = Matcher([exchange("a", "1")])
    asked = Query(exchange(prompt), "1")
    return lookup_while_recording(asked, matcher, in_mode(mode), lambda: is_emulator)


def test_a_recorded_request_is_sent_only_by_a_refresh() -> None:
    """And a line says which it is."""
    answered = recording("a", "record")
    assert (answered.source, answered.interaction) == ("cassette", exchange("a", "1"))
    assert answered.notes == ("not sent: answered from talk.jsonl, where it is recorded",)
    refreshed = recording("a", "refresh")
    assert (refreshed.source, refreshed.interaction) == ("service", None)
    assert refreshed.notes == ("refreshing talk.jsonl",)


def test_the_earlier_exchange_of_a_changed_cell_stays_and_is_told() -> None:
    """In a refresh it is replaced, if the prompt is the same."""
    stays = "this cell's earlier exchange stays in talk.jsonl until %chat_cassette --prune"
    assert recording("b", "record").notes == ("recording into talk.jsonl", stays)
    assert recording("b", "refresh").notes == ("refreshing talk.jsonl",)


def test_the_emulators_reply_is_not_recorded_beside_a_services() -> None:
    """It is asked all the same."""
    lookup = recording("b", "record", is_emulator=True)
    assert lookup.source == "service"
    assert lookup.notes[0].startswith("not recorded: talk.jsonl holds a service's replies")


def test_without_a_service_what_is_not_recorded_says_so() -> None:
    """A refresh needs the service for each request, so its error is the service's alone."""

    def no_service() -> bool:
        raise ConnectError("No address is set. Nothing was sent.")

    modes: dict[Mode, str] = {
        "record": r"^This request is not in talk\.jsonl\. No address is set",
        "refresh": r"^No address is set",
    }
    for mode, message in modes.items():
        with pytest.raises(ConnectError, match=message):
            lookup_while_recording(Query(exchange("b")), Matcher([]), in_mode(mode), no_service)


def replayed(prompt: str, *, fallback: str | None = None, by_order: bool = False) -> Lookup:
    """Return the replay of a prompt from a cassette that holds ``a``."""
    config = CassetteConfig(Path("talk.jsonl"), "replay", fallback, by_order)
    return lookup_in_replay(Query(exchange(prompt), "1"), Matcher([exchange("a", "1")]), config)


def test_a_replay_answers_only_what_is_recorded() -> None:
    """The error names the difference from the nearest recorded request."""
    assert replayed("a").notes == ("replayed from talk.jsonl: nothing is sent",)
    with pytest.raises(NotRecordedError, match="Nothing was sent") as caught:
        replayed("b")
    assert caught.value.hint == "Message 1 (the prompt) differs: asked 'b', recorded 'a'."
    with pytest.raises(NotRecordedError) as caught:
        lookup_in_replay(Query(exchange("b")), Matcher([]), in_mode("replay"))
    assert caught.value.hint == "The cassette is empty."


def test_by_order_the_next_one_answers() -> None:
    """The line names what differs; what is recorded as it is needs no order."""
    lookup = replayed("b", by_order=True)
    assert (lookup.by_order, lookup.interaction) == (True, exchange("a", "1"))
    assert "by order, though another request was recorded: Message 1" in lookup.notes[0]
    assert not replayed("a", by_order=True).by_order


def test_the_emulator_answers_a_readers_own_question_without_news() -> None:
    """Of a question that is recorded with other turns above, a line tells the difference."""
    own = replayed("b", fallback="emulator")
    assert (own.source, own.news) == ("emulator", None)
    messages = (Message("user", "z"), Message("assistant", "y"), Message("user", "a"))
    carried = exchange_of(Request(messages), owner="x")
    config = CassetteConfig(Path("talk.jsonl"), "replay", "emulator")
    lookup = lookup_in_replay(Query(carried, "1"), Matcher([exchange("a", "1")]), config)
    assert lookup.news is not None
    words = note_at(lookup.news, "notebook")
    assert words.startswith(
        "This question is recorded in talk.jsonl, but not this request, so the emulator answered. "
        "The nearest recorded request carries 0 turns, this one 1"
    )
