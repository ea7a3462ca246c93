"""The text of a cassette: what is written is read again, and what was changed is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic._json import digest
from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.serializer import read, write
from chatmagic.errors import InputError
from chatmagic.models import Message, Usage
from chatmagic.protocol.wire import Request

HEADERS = (("Content-Type", "text/event-stream"), ("Date", "Thu, 01 Jan 2026 12:00:00 GMT"))
FIRST = Interaction.asked(
    Request((Message("user", "What is a mean?\nBe brief."),), temperature=0.0),
    owner="0a1b",
    headers=HEADERS,
    text="The sum,\n\nby the **count**.\n",
    model="m",
    finish_reason="stop",
    usage=Usage(3, 4, 7),
    refusal="no",
    took=2,
    origin="emulator",
)
SECOND = Interaction.asked(
    Request(
        (
            Message("user", FIRST.prompt),
            Message("assistant", FIRST.text or ""),
            Message("user", "And a median?"),
        )
    ),
    status=429,
    error={"error": "used up", "limit": 1, "used": 1},
    typed="And a {{ word }}?",
)
LONE = replace(Interaction.asked(Request((Message("user", "hello"),)), text=""), before=("0a" * 8,))
TEXT = write([FIRST, SECOND, LONE])
LINES = TEXT.split("\n")[:-1]


def test_what_is_written_is_read() -> None:
    """Every fact comes back, and the text is stable."""
    assert read(TEXT, "talk.jsonl") == (FIRST, SECOND, LONE)
    assert write(read(TEXT, "talk.jsonl")) == TEXT


def test_the_text_is_made_for_people() -> None:
    """Every line is one JSON object, a line of a text is a line, and a turn stands once."""
    assert all(isinstance(json.loads(line), dict) for line in LINES)
    assert '{"reply": "by the **count**.\\n"}' in LINES
    assert '{"you": "Be brief."}' in LINES
    assert TEXT.count("sum,") == 1
    assert len(json.loads(LINES[7])["after"]) == 16
    assert "before" not in json.loads(LINES[7])
    assert json.loads(LINES[-2])["before"] == ["0a" * 8]


def test_a_changed_word_is_a_changed_line() -> None:
    """A reply that changes in one word changes that line and what follows from it."""
    other = Interaction.asked(
        Request((Message("user", FIRST.prompt),), temperature=0.0),
        **{name: getattr(FIRST, name) for name in ("owner", "headers", "model", "usage")},
        text="The sum,\n\nby the **number**.\n",
    )
    lines = write([other]).split("\n")
    assert sum(line not in LINES and '"reply"' in line for line in lines) == 1


PROSE = st.text(st.characters() | st.sampled_from("\n\r\u2028\x85\ud800\udc00"), max_size=30)


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(PROSE, PROSE), max_size=3),
            PROSE,
            PROSE,
            st.dictionaries(st.sampled_from(["model", "seed"]), PROSE | st.integers(), max_size=2),
        ),
        max_size=4,
    )
)
def test_any_text_comes_back_exactly(asked: list[Any]) -> None:
    """Whatever was said, by whomever, in whatever order."""
    exchanges = []
    for before, prompt, text, extra in asked:
        turns = [(Message("user", a), Message("assistant", b)) for a, b in before]
        messages = (*chain.from_iterable(turns), Message("user", prompt))
        sent = Request.from_json(json.loads(Request(messages, extra=extra).encode()))
        reply = text.encode("utf-8", "replace").decode()
        exchanges.append(Interaction.asked(sent, text=reply))
    written = write(exchanges)
    assert read(written, "talk.jsonl") == tuple(exchanges)
    assert all(line.startswith("{") for line in written.split("\n")[:-1])
    assert read(written.replace("\n", "\r\n"), "talk.jsonl") == tuple(exchanges)


def changes() -> list[str]:
    """Give the text with one word changed, for each word of a prompt and of a reply."""
    found = []
    for number, line in enumerate(LINES):
        if not line.startswith(('{"you"', '{"reply"')):
            continue
        for word in re.finditer(r"[A-Za-z]{2,}", line[line.index(":") :]):
            at = line.index(":") + word.start()
            changed = f"{line[:at]}X{line[at + 1 :]}"
            found.append("\n".join([*LINES[:number], changed, *LINES[number + 1 :], ""]))
    return found


@pytest.mark.parametrize("text", changes())
def test_one_changed_word_is_noticed(text: str) -> None:
    """In a prompt and in a reply; the message names a line."""
    with pytest.raises(InputError, match=r"talk\.jsonl, line \d+: the exchange is not the one"):
        read(text, "talk.jsonl")


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ('"temperature": 0.0', '"temperature": 0.5'),
        ('"stream": true', '"stream": false'),
        ("0a0a", "0b0b"),
        ('"after": "', '"after": "0'),
        ('"owner": "0', '"owner": "1'),
        ('"took": 2', '"took": 3'),
        ('"error": "used up"', '"error": "no"'),
        ("12:00", "13:00"),
        ('"check": "', '"check": "0'),
        ('"check"', '"unchecked"'),
    ],
)
def test_a_changed_fact_is_noticed(now: str, then: str) -> None:
    """What was asked is its parameters too, and an answer is more than its words."""
    assert now in TEXT
    with pytest.raises(InputError, match="the exchange is not the one that was recorded"):
        read(TEXT.replace(now, then, 1), "talk.jsonl")


def talk(count: int) -> list[Interaction]:
    """Give the exchanges of a conversation of so many turns, each of which carries all before."""
    messages = [Message(("user", "assistant")[n % 2], f"m{n}") for n in range(2 * count)]
    requests = [Request(tuple(messages[: 2 * n + 1])) for n in range(count)]
    return [Interaction.asked(one, text=f"m{2 * n + 1}") for n, one in enumerate(requests)]


def test_a_long_talk_grows_by_what_is_said() -> None:
    """Twice as many turns are twice as long a file, though each request carries all of them."""
    short, long = write(talk(40)), write(talk(80))
    assert len(long) < 2.1 * len(short)
    assert read(long, "talk.jsonl") == tuple(talk(80))


def windowed(count: int, last: int) -> list[Interaction]:
    """Give a talk in which each request carries its newest turns alone."""
    held: list[Interaction] = []
    for number in range(count):
        turns = [
            message
            for one in held[-last:]
            for message in (Message("user", one.prompt), Message("assistant", one.text or ""))
        ]
        request = Request((*turns, Message("user", f"question {number}")))
        held.append(Interaction.asked(request, text=f"reply {number}"))
    return held


def test_a_window_of_a_talk_is_named_turn_by_turn() -> None:
    """What no exchange of the file begins with is listed, so that ``--last`` grows no further."""
    few, many = (write(windowed(count, 3)) for count in (20, 40))
    assert len(many) < 2.1 * len(few)
    held = windowed(40, 3)
    asked = [json.loads(line) for line in many.split("\n") if '"request": ' in line]
    assert asked[9]["before"] == [item.turn for item in held[6:9]]
    assert read(many, "talk.jsonl") == tuple(held)


def test_what_the_file_lacks_is_listed_behind_what_it_has() -> None:
    """A turn that was cut off is in no cassette; those before it are."""
    held = talk(4)
    other = replace(held[3], before=(*held[3].before, "f" * 16), request="0" * 64)
    text = write([*held, other])
    asked = json.loads(text.split("\n")[-4])
    assert (asked["before"], "after" in asked) == (["f" * 16], True)
    assert read(text, "talk.jsonl") == (*held, other)


def test_equal_turns_in_other_places_are_told_apart() -> None:
    """What is the same from the second turn on did not carry the same first one."""
    held = talk(3)
    others = [
        replace(item, request=f"{n}" * 64, before=("f" * 16, *item.before[1:])) if n else item
        for n, item in enumerate(talk(3))
    ]
    for items in ([*held, *others[1:]], [*others, *held[1:]]):
        assert read(write(items), "talk.jsonl") == tuple(items)


def test_half_a_character_is_kept() -> None:
    """It has no UTF-8; JSON has an escape for it."""
    half = replace(FIRST, prompt="a\ud800", text="\udc00")
    assert read(write([half]), "talk.jsonl") == (half,)


def test_the_order_in_the_file_is_any() -> None:
    """A cell that goes on from another may stand above it."""
    held = talk(5)[::-1]
    assert read(write(held), "talk.jsonl") == tuple(held)


@pytest.mark.parametrize("gone", range(5))
def test_whoever_is_pruned_leaves_the_others_whole(gone: int) -> None:
    """What only that one held is written in full; the others are read as they were."""
    held = [one for n, one in enumerate(talk(5)) if n != gone]
    assert read(write(held), "talk.jsonl") == tuple(held)


def test_a_turn_that_is_gone_leaves_the_others_readable() -> None:
    """An exchange may be taken out by hand; the rest is kept, and the turns are not known then."""
    held = talk(4)
    lines = write(held).split("\n")
    gone = "\n".join([lines[0], *lines[4:]])
    second, *rest = read(gone, "talk.jsonl")
    (unknown,) = second.before
    assert [item.request for item in (second, *rest)] == [item.request for item in held[1:]]
    assert rest[-1].before == (unknown, *held[3].before[1:])
    assert read(write([second, *rest]), "talk.jsonl") == (second, *rest)
    assert read(f"{gone}" + "\n".join(lines[1:4]), "talk.jsonl") == (*held[1:], held[0])


def merged() -> str:
    """Give what git leaves of two branches that both recorded."""
    return "\n".join([*LINES[:1], "<<<<<<< HEAD", *LINES[1:7], "=======", *LINES[7:], ">>>>>>> x"])


HEAD = LINES[0]
FACTS = '{"request": "00", "parameters": {}}'
YOU = '{"you": "x"}'
REPLY = '{"reply": "x"}'


def checked(**facts: object) -> str:
    """Give a cassette of one exchange, whose check is right whatever stands in it."""
    facts = {**json.loads(FACTS), **facts}
    check = digest(json.dumps([facts, "x", ""]))
    return "\n".join([HEAD, json.dumps({**facts, "check": check}), YOU])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "line 1: it is empty"),
        ("\n\n", "line 1: it is empty"),
        ("no", "line 1: it is not JSON"),
        ("[" * 100_000, "line 1: it is not JSON"),
        ("[]", "line 1: it is not JSON"),
        ('{"cells": []}', "is not a cassette: its line 1"),
        ('{"chatmagic": "cassette", "version": 2}', "version 2, and this chatmagic reads 3"),
        ('{"chatmagic": "cassette", "version": 4}', "version 4, and this chatmagic reads 3"),
        ('{"chatmagic": "cassette", "version": true}', "version True"),
        ('{"chatmagic": "cassette"}', "version None"),
        (merged(), "line 2: it is a merge conflict"),
        (f"{HEAD}\n{YOU}", "line 2: it is not in its place"),
        (f"{HEAD}\n{FACTS}\n{REPLY}", "line 3: it is not in its place"),
        (f"{HEAD}\n{FACTS}\n{YOU}\n{REPLY}\n{YOU}", "line 5: it is not in its place"),
        (f"{HEAD}\n{FACTS}\n{FACTS}", "line 3: it is not in its place"),
        (f'{HEAD}\n{FACTS}\n{{"you": 1}}', "line 3: it is not in its place"),
        (f"{HEAD}\n{FACTS}", "line 2: its exchange is not complete"),
        (f"{HEAD}\n{FACTS}\n{YOU}", "line 2: the exchange is not the one"),
        (checked(request=1), "line 2: its 'request' cannot be read"),
        (checked(parameters=None), "line 2: its 'parameters' cannot be read"),
        (checked(before=[1]), "line 2: its 'before' cannot be read"),
        (checked(before="no list"), "line 2: its 'before' cannot be read"),
        (checked(after=[]), "line 2: not such a value"),
        (checked(status=True), "line 2: its 'status' cannot be read"),
        (checked(origin="replay"), "line 2: its 'origin' cannot be read"),
        (checked(headers=[]), "line 2: its 'headers' cannot be read"),
        (checked(error="no"), "line 2: its 'error' cannot be read"),
    ],
)
def test_what_is_damaged_is_refused_with_its_line(text: str, match: str) -> None:
    """One clear line, and a second one that says that the file was left alone."""
    with pytest.raises(InputError, match=re.escape(match)) as caught:
        read(text, "talk.jsonl")
    assert "left as it" in (caught.value.hint or "")


@pytest.mark.parametrize("version", [0, 2, 4, "3"])
def test_another_version_says_what_to_do(version: object) -> None:
    """One that is older is recorded again."""
    with pytest.raises(InputError) as caught:
        read(json.dumps({"chatmagic": "cassette", "version": version}), "talk.jsonl")
    hint = "Record into another one." if version in {0, 2} else "A newer chatmagic reads it."
    assert caught.value.hint == f"It was left as it is. {hint}"


def test_a_header_that_is_not_kept_does_not_come_in() -> None:
    """Neither by hand nor from another tool."""
    text = checked(headers={"Set-Cookie": "x", "X-Other": 5, "Date": "now"})
    assert read(text, "talk.jsonl")[0].headers == (("Date", "now"),)
