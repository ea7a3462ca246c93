"""The text of a cassette: what is written is read again, and what was changed is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic import _json
from chatmagic._json import chain_digest, digest, turn_digest
from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.serializer import Writer, read, write
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
LONE = Interaction.asked(
    Request((Message("system", "Be kind."), Message("user", "hello"))), text=""
)
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
    assert json.loads(LINES[8])["after"] == chain_digest(None, turn)[:16]
    assert "before" not in json.loads(LINES[8])
    assert json.loads(LINES[-3])["before"] == [{"role": "system", "content": "Be kind."}]


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


def test_a_long_talk_costs_one_digest_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its last request carries all of them; also when it is written again and again."""
    held = talk(30)
    real, made = _json.turn_digest, []

    def counted(prompt: str, reply: str) -> str:
        made.append(prompt)
        return real(prompt, reply)

    monkeypatch.setattr(_json, "turn_digest", counted)
    writer = Writer()
    texts = [writer.write(held[:count]) for count in range(1, 31)]
    assert len(made) == 30
    assert texts[-1] == write(held)
    made.clear()
    assert read(texts[-1], "talk.jsonl") == tuple(held)
    assert len(made) == 60


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


def test_a_window_of_a_talk_is_named_by_its_length() -> None:
    """``--last 2`` carries the newest turns of a list that the file holds; so say two words."""
    held = talk(6)
    turns = [item for item in held[-1].before[-4:] if isinstance(item, Message)]
    last = Interaction.asked(Request((*turns, Message("user", "more"))), text="x")
    text = write([*held, last])
    asked = json.loads(text.split("\n")[-5])
    behind = [json.loads(line) for line in text.split("\n") if line.startswith('{"ask"')][-2]
    assert (asked["after"], asked["last"]) == (behind["after"], 2)
    assert "before" not in asked
    assert read(text, "talk.jsonl") == (*held, last)


def test_turns_in_another_order_are_named_one_by_one() -> None:
    """What no list of the file ends with is listed, each turn that the file holds by its digest."""
    held = talk(4)
    first, *_, last = [one.turn or "" for one in held[:3]]
    pairs = [*held[3].before[4:6], *held[3].before[:2]]
    turns = [item for item in pairs if isinstance(item, Message)]
    other = Interaction.asked(Request((*turns, Message("user", "and now?"))), text="x")
    text = write([*held, other])
    asked = json.loads(text.split("\n")[-5])
    assert asked["before"] == [last[:16], first[:16]]
    assert read(text, "talk.jsonl") == (*held, other)


def test_windows_make_no_file_longer() -> None:
    """A request that carries many turns of a long talk is written as short as any other."""
    few, many = (write(windowed(40, last)) for last in (2, 30))
    assert len(many) < len(few) * 1.05
    assert read(many, "talk.jsonl") == tuple(windowed(40, 30))


def test_a_window_of_what_is_gone_is_kept_as_it_is() -> None:
    """What an exchange carried is not known without the list that it names; nothing is lost."""
    lines = write(windowed(4, 2)).split("\n")
    gone = "\n".join([lines[0], *lines[-5:]])
    (other,) = read(gone, "talk.jsonl")
    assert (other.last, other.body) == (2, None)
    assert write([other]) == gone


def test_a_window_that_is_longer_than_its_list_is_damage() -> None:
    """A number that was changed by hand is noticed."""
    text = write(windowed(5, 2))
    with pytest.raises(InputError, match="the request is not the one"):
        read(text.replace('"last": 2', '"last": 1', 1), "talk.jsonl")


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
    """Whoever takes an exchange out by hand keeps the rest, found by their digests."""
    turns = [item for item in SECOND.before if isinstance(item, Message)]
    third = Interaction.asked(
        Request((*turns, Message("user", "Go on."))), text="Gladly.", superseded=True
    )
    lines = write([FIRST, third, LONE]).split("\n")
    gone = "\n".join([lines[0], *lines[8:]])
    other, lone = read(gone, "talk.jsonl")
    assert (other.request, other.body, lone) == (third.request, None, LONE)
    assert other.after == chain_digest(None, FIRST.turn or "")[:16]
    assert write([other, lone]) == gone
    assert read(write([FIRST, other, lone]), "talk.jsonl") == (FIRST, third, LONE)


OLD = [
    '{"chatmagic": "cassette", "version": 1}',
    {"ask": "", "parameters": {"stream": True, "model": "small"}},
    {"you": "one"},
    {"status": 200, "from": "live", "headers": {}, "sha256": digest("1")},
    {"reply": "1"},
    {"ask": "", "parameters": {"stream": True}, "before": [turn_digest("one", "1")[:16], "f" * 16]},
    {"you": "two"},
    {"status": 200, "from": "live", "headers": {}, "sha256": digest("2")},
    {"reply": "2"},
    {"ask": "", "parameters": {"stream": True, "model": 3}, "before": [turn_digest("one", "1")]},
    {"you": "two"},
    {"status": 200, "from": "live", "headers": {}, "sha256": digest("2")},
    {"reply": "2"},
]


def old(first: Any = None) -> str:
    """Give a cassette of version 1, where the model is in the digest."""
    talked = [Message("user", "one").to_json(), Message("assistant", "1").to_json()]
    two = Message("user", "two").to_json()
    asked = digest({"messages": talked[:1], "stream": True, "model": "small"})
    other = digest({"messages": [*talked, two], "stream": True, "model": 3})
    lines = [OLD[0], {**OLD[1], "ask": first or asked}, *OLD[2:5]]  # type: ignore[dict-item]
    lines += [{**OLD[5], "ask": "0" * 64}, *OLD[6:9], {**OLD[9], "ask": other}, *OLD[10:]]  # type: ignore[dict-item]
    return "".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines)


def test_a_cassette_of_version_1_is_read() -> None:
    """With its turns by their digests, and the model taken out of the request's."""
    first, second, third = read(old(), "talk.jsonl")
    assert first == Interaction.asked(
        Request((Message("user", "one"),), extra={"model": "small"}), text="1"
    )
    assert second.before == (Message("user", "one"), Message("assistant", "1"), "f" * 16)
    carried = (Message("user", "one"), Message("assistant", "1"), Message("user", "two"))
    assert (third.body, third.asked_model) == (Request(carried), None)
    assert third.request == Request(carried).digest()
    assert read(write([first, second, third]), "talk.jsonl") == (first, second, third)
    with pytest.raises(InputError, match="line 2: the request is not the one that was recorded"):
        read(old("1" * 64), "talk.jsonl")


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
        ("no", "line 1: it is not JSON"),
        ("[" * 100_000, "line 1: it is not JSON"),
        ("[]", "line 1: it is not JSON"),
        ('{"cells": []}', "is not a cassette: its line 1"),
        ('{"chatmagic": "cassette", "version": 3}', "version 3, and this chatmagic reads 2"),
        ('{"chatmagic": "cassette", "version": true}', "version True"),
        ('{"chatmagic": "cassette"}', "version None"),
        (merged(), "line 2: it is a merge conflict"),
        (f"{HEAD}\n{YOU}", "line 2: it is not in its place"),
        (f'{HEAD}\n{ASK}\n{YOU}\n{{"reply": "x"}}', "line 4: it is not in its place"),
        (f"{HEAD}\n{ASK}\n{YOU}\n{DONE}\n{YOU}", "line 5: it is not in its place"),
        (f"{HEAD}\n{ASK}\n{YOU}\n{DONE}\n{DONE}", "line 5: it is not in its place"),
        (f'{HEAD}\n{ASK}\n{{"you": 1}}', "line 3: it is not in its place"),
        (f"{HEAD}\n{ASK}\n{YOU}", "line 2: its exchange is not complete"),
        (f"{HEAD}\n{ASK}\n{DONE}", "line 2: its exchange is not complete"),
        (f'{HEAD}\n{ASK}\n{YOU}\n{{"status": 200}}', "line 4: it is neither a reply nor an error"),
        (f'{HEAD}\n{{"ask": 1}}\n{YOU}\n{DONE}', "line 2: 'ask' is not of the right type"),
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
