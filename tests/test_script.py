"""The text of a cassette: what is written is read again, and what was changed is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic import digests
from chatmagic.accounting import Usage
from chatmagic.digests import digest, turn_digest
from chatmagic.errors import InputError
from chatmagic.script import read, write
from chatmagic.tape import Recorded
from chatmagic.wire import Message, Request

HEADERS = (("Content-Type", "text/event-stream"), ("Date", "Thu, 01 Jan 2026 12:00:00 GMT"))
FIRST = Recorded.asked(
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
SECOND = Recorded.asked(
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
LONE = Recorded.asked(Request((Message("system", "Be kind."), Message("user", "hello"))), text="")
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
    turn = turn_digest(FIRST.prompt, FIRST.text or "")
    assert json.loads(LINES[8])["before"] == [turn[:16]]
    assert json.loads(LINES[-3])["before"] == [{"role": "system", "content": "Be kind."}]


def test_a_changed_word_is_a_changed_line() -> None:
    """A reply that changes in one word changes that line and what follows from it."""
    other = Recorded.asked(
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
            st.lists(
                st.tuples(st.sampled_from(["user", "assistant", "system"]), PROSE), max_size=4
            ),
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
        messages = [Message(role, content) for role, content in [*before, ("user", prompt)]]
        sent = Request.from_json(json.loads(Request(tuple(messages), extra=extra).encode()))
        reply = text.encode("utf-8", "replace").decode()
        exchanges.append(Recorded.asked(sent, text=reply))
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
    with pytest.raises(InputError, match=r"talk\.jsonl, line \d+: the (request|reply) is not"):
        read(text, "talk.jsonl")


@pytest.mark.parametrize("name", ["temperature", "stream", "before"])
def test_a_changed_parameter_is_noticed(name: str) -> None:
    """What was asked is its parameters too."""
    swaps = {
        "temperature": ('"temperature": 0.0', '"temperature": 0.5'),
        "stream": ('"stream": true', '"stream": false'),
        "before": ("Be kind.", "Be rude."),
    }
    with pytest.raises(InputError, match="the request is not the one"):
        read(TEXT.replace(*swaps[name], 1), "talk.jsonl")


def test_a_long_talk_costs_one_digest_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its last request carries all of them, and the one before it all but one."""
    count = 30
    talk = [Message(("user", "assistant")[n % 2], f"m{n}") for n in range(2 * count)]
    requests = [Request(tuple(talk[: 2 * n + 1])) for n in range(count)]
    held = [Recorded.asked(one, text=f"m{2 * n + 1}") for n, one in enumerate(requests)]
    real, made = digests.turn_digest, []

    def counted(prompt: str, reply: str) -> str:
        made.append(prompt)
        return real(prompt, reply)

    monkeypatch.setattr(digests, "turn_digest", counted)
    text = write(held)
    assert len(made) == count
    assert read(text, "talk.jsonl") == tuple(held)


def test_a_turn_that_is_gone_leaves_the_others_readable() -> None:
    """Whoever takes an exchange out by hand keeps the rest, found by their digests."""
    gone = "\n".join([LINES[0], *LINES[8:], ""])
    second, lone = read(gone, "talk.jsonl")
    assert (second.request, second.body, lone) == (SECOND.request, None, LONE)
    assert write([second, lone]) == gone


def merged() -> str:
    """Give what git leaves of two branches that both recorded."""
    return "\n".join([*LINES[:1], "<<<<<<< HEAD", *LINES[1:8], "=======", *LINES[8:], ">>>>>>> x"])


HEAD = LINES[0]
ASK = '{"ask": "00"}'
YOU = '{"you": "x"}'
WRONG = '{"stream": true, "max_tokens": "x"}'
DONE = f'{{"status": 200, "sha256": "{digest("")}"}}'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "line 1: it is empty"),
        ("\n\n", "line 1: it is empty"),
        ("no", "line 1: it is no JSON"),
        ("[" * 100_000, "line 1: it is no JSON"),
        ("[]", "line 1: it is no JSON"),
        ('{"cells": []}', "is not a cassette: its line 1"),
        ('{"chatmagic": "cassette", "version": 2}', "version 2, and this chatmagic reads 1"),
        ('{"chatmagic": "cassette"}', "version None"),
        (merged(), "line 2: it is a conflict of a merge"),
        (f"{HEAD}\n{YOU}", "line 2: it does not belong"),
        (f'{HEAD}\n{ASK}\n{YOU}\n{{"reply": "x"}}', "line 4: it does not belong"),
        (f"{HEAD}\n{ASK}\n{YOU}\n{DONE}\n{YOU}", "line 5: it does not belong"),
        (f"{HEAD}\n{ASK}\n{YOU}\n{DONE}\n{DONE}", "line 5: it does not belong"),
        (f'{HEAD}\n{ASK}\n{{"you": 1}}', "line 3: it does not belong"),
        (f"{HEAD}\n{ASK}\n{YOU}", "line 2: its exchange is not whole"),
        (f"{HEAD}\n{ASK}\n{DONE}", "line 2: its exchange is not whole"),
        (f'{HEAD}\n{ASK}\n{YOU}\n{{"status": 200}}', "line 4: it is neither a reply nor an error"),
        (f'{HEAD}\n{{"ask": 1}}\n{YOU}\n{DONE}', "line 2: 'ask' is not what it should be"),
        (f'{HEAD}\n{{"ask": "0", "before": [1]}}\n{YOU}\n{DONE}', "line 2: a message is an object"),
        (
            f'{HEAD}\n{{"ask": "0", "parameters": {WRONG}}}\n{YOU}\n{DONE}',
            "line 2: max_tokens is a whole number",
        ),
        (f"{HEAD}\n{ASK}\n{YOU}\n{DONE.replace('200', 'true')}", "'status' is not"),
    ],
)
def test_what_is_damaged_is_refused_with_its_line(text: str, match: str) -> None:
    """One clear line, and a second one that says that the file was left alone."""
    with pytest.raises(InputError, match=re.escape(match)) as caught:
        read(text, "talk.jsonl")
    assert "left as it" in (caught.value.hint or "")


def test_a_header_that_is_not_kept_does_not_come_in() -> None:
    """Neither by hand nor from another tool."""
    text = TEXT.replace('"headers": {', '"headers": {"Set-Cookie": "x", "Retry-After": 5, ', 1)
    assert read(text, "talk.jsonl")[0].headers == HEADERS
