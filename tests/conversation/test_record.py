"""Records: what an output's metadata keeps of a turn, and how an untrusted one is read."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cases import each_case
from forged_json import json_values
from hypothesis import given
from hypothesis import strategies as st

from chatmagic._json import digest
from chatmagic.conversation import record as module
from chatmagic.conversation.question import Value
from chatmagic.conversation.record import NewerVersionError, Record, is_sealed, sealed
from chatmagic.models import Credits, Usage

NOW = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)
REQUEST, REPLY = digest("request"), digest("reply")

texts = st.text(max_size=20)
counts = st.integers(0, 10**12)
hashes = st.text("0123456789abcdef", min_size=64, max_size=64)
moments = st.integers(0, 2_000_000_000).map(lambda seconds: NOW + timedelta(seconds=seconds))
kept = st.builds(Value.of_text, texts, texts)
values = kept | kept.map(lambda value: value.bare)
records = st.builds(
    Record,
    prompt=texts,
    values=st.lists(values, max_size=2).map(tuple),
    state=st.sampled_from(["complete", "interrupted", "cut off"]),
    owner=st.none() | st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
    carried=st.lists(hashes, max_size=3).map(tuple),
    request=hashes,
    reply=hashes,
    parameters=st.fixed_dictionaries(
        {},
        optional={
            "max_tokens": st.integers(),
            "temperature": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
            "last": counts,
            "stream": st.booleans(),
            "history": st.booleans(),
        },
    ),
    model=st.none() | texts,
    usage=st.none() | st.builds(Usage, counts, st.none() | counts, st.none() | counts),
    credits=st.none() | st.builds(Credits, counts, counts, st.none(), moments, moments),
    took=st.none() | counts,
    finish_reason=st.none() | texts,
    date=st.none() | moments,
    origin=st.sampled_from(["live", "replay", "emulator"]),
    continues=st.none() | hashes,
    cut=counts,
    block=st.none() | texts,
    turn=st.none() | hashes,
    refusal=st.none() | texts,
    recorded=st.sampled_from([None, "live", "emulator"]),
    by_order=st.booleans(),
    asked_model=st.none() | texts,
)


def record(**changes: Any) -> Record:
    """Give a record in which all that may be missing is."""
    fields: dict[str, Any] = {
        "prompt": "Sum {{ data }}",
        "state": "complete",
        "request": REQUEST,
        "reply": REPLY,
        "parameters": {},
        "origin": "live",
    }
    return Record(**{**fields, **changes})


def test_an_earlier_record_has_its_digest_without_markdown_cells_in_a_field_of_its_own() -> None:
    """It is read as the request's, and not written again."""
    made = Record(
        prompt="p",
        state="complete",
        request=REQUEST,
        reply=REPLY,
        origin="live",
        parameters={},
    )
    older = {**made.to_json(), "request": digest("with Markdown"), "without_markdown": REQUEST}
    assert Record.from_json(older) == made
    with pytest.raises(ValueError, match="'request' cannot be read"):
        Record.from_json({**older, "without_markdown": "x"})


def test_what_is_unknown_is_left_out() -> None:
    """A bare record has the fields that every record has."""
    assert record().to_json() == {
        "version": 1, "kind": "turn", "prompt": "Sum {{ data }}", "state": "complete",
        "carried": [], "request": REQUEST, "reply": REPLY, "origin": "live",
    }  # fmt: skip


def test_what_is_known_is_kept() -> None:
    """A full record has all of it, as JSON; a figure of 0 is known."""
    full = record(
        values=(Value.of_text("data", "xyz").bare,),
        owner="o",
        carried=(REPLY,),
        parameters={"last": 2},
        model="m",
        usage=Usage(1),
        credits=Credits(1, None, None, None, NOW),
        took=0,
        finish_reason="stop",
        date=NOW,
        origin="replay",
        turn=REQUEST,
        refusal="No.",
        recorded="live",
        by_order=True,
        asked_model="small",
        earlier=(2, REPLY),
    )
    assert json.loads(json.dumps(full.to_json())) == {
        "version": 1, "kind": "turn", "prompt": "Sum {{ data }}", "state": "complete",
        "carried": [REPLY], "request": REQUEST, "reply": REPLY, "origin": "replay",
        "values": [{"expression": "data", "size": 3, "sha256": digest("xyz")}], "owner": "o",
        "parameters": {"last": 2}, "model": "m", "usage": {"prompt_tokens": 1},
        "credits": {"limit": 1, "seen_at": "2026-01-01T09:30:00Z"}, "took": 0,
        "finish_reason": "stop", "date": "2026-01-01T09:30:00Z", "turn": REQUEST,
        "refusal": "No.", "recorded": "live", "by_order": True, "asked_model": "small",
        "earlier": {"count": 2, "chain": REPLY},
    }  # fmt: skip


@given(records)
def test_what_is_written_is_read(written: Record) -> None:
    """Through JSON and back a record is the same, and what is unknown is ignored."""
    told = json.loads(json.dumps(written.to_json()))
    assert Record.from_json(told) == written
    assert Record.from_json({**told, "later": [1], "took": written.took}) == written


@given(json_values, st.sampled_from([*record().to_json(), "values", "parameters", "credits"]))
def test_whatever_stands_in_a_field_it_is_read_or_refused(item: Any, name: str) -> None:
    """An untrusted record raises nothing but a ValueError."""
    for told in (item, {**record().to_json(), name: item}):
        try:
            read = Record.from_json(told)
        except ValueError:
            continue
        assert Record.from_json(read.to_json()) == read


NO_SENSE: dict[str, list[Any]] = {
    "version": [None, True, 0, "1"],
    "kind": [None, "undo"],
    "prompt": [None, ["a"]],
    "values": [
        *({}, ["data"], [{"expression": "data", "size": 3}]),
        [{"expression": "data", "size": 3, "sha256": REPLY, "text": "xyz"}],
    ],
    "state": ["done", []],
    "owner": [5, "<script>"],
    "carried": ["abc", ["abc"]],
    "request": [None, REQUEST.upper()],
    "reply": [5],
    "parameters": [[], {"max_tokens": True}, {"last": -1}],
    "model": [5],
    "credits": [5, {}],
    "finish_reason": [[]],
    "date": ["yesterday"],
    "origin": [None, "dream"],
    "turn": ["abc"],
    "refusal": [1],
    "asked_model": [1],
    "recorded": ["dream"],
    "earlier": [2, {"count": 0, "chain": REPLY}, {"count": 2}],
}


@each_case("name", NO_SENSE)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    """Each field has its own kind of value."""
    for item in NO_SENSE[name]:
        with pytest.raises(ValueError, match=r"it|credits"):
            Record.from_json({**record().to_json(), name: item})


def test_a_newer_version_is_told_apart() -> None:
    """What a later release wrote is not damaged."""
    with pytest.raises(NewerVersionError, match="newer release"):
        Record.from_json({**record().to_json(), "version": 2})


def test_the_kinds() -> None:
    """A note is a record of its own kind; what is no object has none."""
    assert module.record_kind(module.change_record("undo")) == "undo"
    with pytest.raises(ValueError, match="JSON object"):
        module.record_kind([])


def test_values_without_their_text() -> None:
    """What is not to be kept is taken out, and stays known by size and digest."""
    kept = record(values=(Value.of_text("data", "secret"),))
    assert "secret" in json.dumps(kept.to_json())
    assert "secret" not in json.dumps(kept.bare.to_json())
    assert kept.bare.values == (replace(kept.values[0], text=None),)


def test_a_cell_is_known_by_a_hash() -> None:
    """Its identity may hold a path, which the hash does not show."""
    owner = module.owner_of("vscode-notebook-cell:/home/ann/paper.ipynb#W0")
    assert owner == module.owner_of("vscode-notebook-cell:/home/ann/paper.ipynb#W0")
    assert len(owner) == 16
    assert Record.from_json(record(owner=owner).to_json()).owner == owner


RECORD: dict[str, Any] = {
    "version": 1,
    "kind": "turn",
    "prompt": "why\nso?",
    "parameters": {"temperature": 1.0, "last": 2, "stream": False},
    "took": 2**53,
    "values": [{"size": 3}],
}
DATA = {"text/html": "<p>x</p>\n<p>y</p>", "text/plain": "x\n\ny", "text/markdown": ""}


def as_a_page_saves(value: Any) -> Any:
    """Give JSON as a page and its server save it: every number a double, fields in any order."""
    if isinstance(value, dict):
        return {name: as_a_page_saves(value[name]) for name in reversed(value)}
    if isinstance(value, list):
        return [as_a_page_saves(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    double = float(value)
    return int(double) if double.is_integer() else double


def test_it_is_the_digest_of_the_record_and_its_output() -> None:
    """Anybody can work it out."""
    made = sealed({"kind": "undo", "n": 1.0}, {"text/plain": "x"})
    assert made == {
        "kind": "undo", "n": 1.0, "seal": digest([{"kind": "undo", "n": 1}, {"text/plain": "x"}]),
    }  # fmt: skip


@each_case("number", [0, -3, 1.0, -0.0, 0.1, 2.5e-9, 1e17, 1e21, 2**53, True, None])
def test_a_page_changes_no_seal(number: Any) -> None:
    """Numbers as doubles, texts as lists of lines, other orders: all are the same values."""
    made = sealed({**RECORD, "number": number, "inner": [{"number": number}]}, DATA)
    assert json.loads(json.dumps(made)) == made
    lines: dict[str, Any] = {kind: text.splitlines(keepends=True) for kind, text in DATA.items()}
    for record in (made, as_a_page_saves(made), json.loads(json.dumps(made, sort_keys=True))):
        for data in (DATA, lines, as_a_page_saves(lines)):
            assert is_sealed(record, data)


def test_each_value_is_covered() -> None:
    """A changed, a new and a missing one, in the record and in each form of the output."""
    made = sealed(RECORD, DATA)
    for kind in DATA:
        for data in ({**DATA, kind: "z"}, {**DATA, kind: 5}, {**DATA, "text/latex": "z"}):
            assert not is_sealed(made, data)
        assert not is_sealed(made, {name: DATA[name] for name in DATA if name != kind})
    for name in made:
        changed = copy.deepcopy(made)
        changed[name] = "forged"
        assert not is_sealed(changed, DATA)
        del changed[name]
        assert not is_sealed(changed, DATA)
    assert not is_sealed({**made, "new": None}, DATA)
    assert not is_sealed(made, None)


def test_what_is_too_deep_is_changed() -> None:
    """No untrusted value raises anything."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert not is_sealed({**sealed(RECORD, DATA), "deep": deep}, DATA)
