"""Lists of messages, each named by one digest, and the digests of requests that carry them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic._json import chain_digest, digest, turn_digest
from chatmagic.cassette.prefixes import Prefixes, request_digest
from chatmagic.models import Message
from chatmagic.protocol.wire import Request

ONE = (Message("user", "one"), Message("assistant", "1"))
TWO = (Message("user", "two"), Message("assistant", "2"))
SYSTEM = Message("system", "Be kind.")
PROSE = st.text(st.characters() | st.sampled_from('"\\\n\u2028\ud800\udc00'), max_size=8)
MESSAGE = st.builds(Message, st.sampled_from(["user", "assistant", "system", "\ud800"]), PROSE)


def test_a_list_is_named_by_its_turns() -> None:
    """Each turn's digest is made of its predecessor's."""
    first = chain_digest(None, turn_digest("one", "1"))
    made = Prefixes().of([*ONE, *TWO])
    assert made is not None
    assert made.name == chain_digest(first, turn_digest("two", "2"))
    assert made.messages == (*ONE, *TWO)
    assert made.before is not None
    assert made.before.name == first
    assert Prefixes().of([]) is None


@pytest.mark.parametrize(
    ("messages", "parts"),
    [
        ([SYSTEM, *ONE], [(SYSTEM,), ONE]),
        ([ONE[0], *ONE], [(ONE[0],), ONE]),
        ([ONE[1], *ONE], [(ONE[1],), ONE]),
        ([ONE[0], SYSTEM], [(ONE[0],), (SYSTEM,)]),
        ([ONE[0], "ab", *ONE, TWO[0]], [(ONE[0],), ("ab",), ONE, (TWO[0],)]),
    ],
)
def test_a_question_and_its_reply_are_one_part(messages: list[Any], parts: list[Any]) -> None:
    """Whatever else stands between them is one by itself, and has a name of its own."""
    at = Prefixes().of(messages)
    names, found = set(), []
    while at is not None:
        names.add(at.name)
        found.append(at.part)
        at = at.before
    assert found[::-1] == parts
    assert len(names) == len(parts)


def test_a_list_is_made_once() -> None:
    """However it is come by; other lists have other names."""
    prefixes = Prefixes()
    one = prefixes.of(ONE)
    assert prefixes.turn(None, "one", "1") is one
    assert prefixes.of(TWO, one) is prefixes.of([*ONE, *TWO]) is prefixes.turn(one, "two", "2")
    assert prefixes.of([*ONE, *TWO]) is not prefixes.of([*TWO, *ONE])
    single = prefixes.of([SYSTEM])
    assert single is not None
    assert single.name == chain_digest(None, digest(SYSTEM.to_json()))


@given(
    st.lists(MESSAGE, max_size=6),
    PROSE,
    st.fixed_dictionaries(
        {},
        optional={
            "max_tokens": st.integers(),
            "temperature": st.floats(allow_nan=False, allow_infinity=False),
        },
    ),
    st.dictionaries(
        st.sampled_from(["a", "model", "metadata", "messagesx", "z", "stream_options", "\ud800"]),
        st.none() | st.integers() | PROSE | st.just({"messages": []}),
        max_size=3,
    ),
)
def test_a_requests_digest_is_that_of_its_whole_body(
    before: list[Message], prompt: str, known: dict[str, Any], extra: dict[str, Any]
) -> None:
    """Though the messages before the prompt are hashed once for all that carry them."""
    prefixes = Prefixes()
    last = Message("user", prompt)
    whole = Request((*before, last), extra=extra, **known)
    alone = json.loads(Request((last,), extra=extra, **known).encode())
    assert request_digest(prefixes.of(before), alone) == whole.digest()
    longer = Request((*before, last, ONE[1], last), extra=extra, **known)
    made = prefixes.of([*before, last, ONE[1]])
    assert request_digest(made, alone) == longer.digest()
    assert request_digest(made, alone) == longer.digest()


def test_what_is_not_known_has_no_digest() -> None:
    """Nor has what goes on from it."""
    body = json.loads(Request((ONE[0],)).encode())
    assert request_digest(Prefixes().of(["ab", *ONE]), body) is None
