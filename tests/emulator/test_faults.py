"""What the emulator does when it is told to fail."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chatmagic.emulator.faults import Action, Step, steps
from chatmagic.emulator.service import Fault, HttpRequest, Settings, respond

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FRAGMENTS = ["one ", "two ", "three"]


def done(fault: Fault | None, after: int = 0, *, stream: bool = True) -> list[Step]:
    """Give what the server does for a reply of three words."""
    messages = [{"role": "user", "content": f"echo:{''.join(FRAGMENTS)}"}]
    call = HttpRequest(
        "POST",
        "/v1/chat/completions",
        headers={"content-type": "application/json", "x-api-key": "k"},
        body=json.dumps({"messages": messages, "stream": stream}).encode(),
    )
    settings = Settings(fault=fault, fault_after=after)
    given, _ = respond(call, {}, settings, NOW)
    return list(steps(given, settings))


def test_no_fault_is_the_answer_itself() -> None:
    """Without a fault there are three fragments and the end, and nothing else."""
    pieces = done(None)
    assert len(pieces) == 4
    assert pieces[-1] == b"data: [DONE]\n\n"


@pytest.mark.parametrize(("fault", "mark"), [("cut", Action.CUT), ("hold", Action.HOLD)])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_cut_and_hold_stand_after_the_fragments_asked_for(
    fault: Fault, mark: Action, after: int
) -> None:
    """The headers go out, then the fragments, then the fault, and nothing after it."""
    assert done(fault, after) == [b"", *done(None)[:after], mark]


@pytest.mark.parametrize(("fault", "mark"), [("cut", Action.CUT), ("hold", Action.HOLD)])
def test_minus_one_is_before_the_headers(fault: Fault, mark: Action) -> None:
    """With -1 not even the headers are sent."""
    assert done(fault, -1) == [mark]


def test_garbage_stands_inside_the_stream() -> None:
    """An event that is neither UTF-8 nor JSON comes between two good ones."""
    good = done(None)
    pieces = done("garbage", 1)
    assert [*pieces[1:2], *pieces[3:]] == good
    assert pieces[2] == b'data: {"choices": \xff\n\n'


def test_error_ends_the_stream_with_an_error_object() -> None:
    """A stream that fails says so in an event, and has no end."""
    *rest, last = done("error", 2)
    assert rest == [b"", *done(None)[:2]]
    assert isinstance(last, bytes)
    assert json.loads(last.removeprefix(b"data: "))["error"] == "internal_error"


def test_buffer_waits_for_everything() -> None:
    """The pauses pass first, then all comes at once."""
    pieces = [piece for piece in done(None) if isinstance(piece, bytes)]
    assert done("buffer") == [*[Action.WAIT] * 4, b"".join(pieces)]


def test_a_json_reply_is_cut_inside() -> None:
    """A JSON reply counts 16 bytes as a fragment, and garbage keeps its length."""
    (body,) = done(None, stream=False)
    assert isinstance(body, bytes)
    assert done("cut", 1, stream=False) == [b"", body[:16], Action.CUT]
    steps_done = done("garbage", 1, stream=False)
    garbled = b"".join(step for step in steps_done if isinstance(step, bytes))
    assert len(garbled) == len(body)
    assert garbled[16:32] == b"\xff" * 16


def test_a_refused_request_meets_no_fault() -> None:
    """Only accepted requests fail on demand, so a test knows what it tests."""
    settings = Settings(fault="cut", fault_after=-1)
    given, _ = respond(HttpRequest("GET", "/"), {}, settings, NOW)
    assert list(steps(given, settings)) == list(steps(given, replace(settings, fault=None)))
