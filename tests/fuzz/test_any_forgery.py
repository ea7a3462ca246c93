"""Whatever value of an output or a record of ours is altered, the audit notices; else nothing."""

from __future__ import annotations

import copy
import json
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
from hypothesis import given, settings
from hypothesis import strategies as st

from chatmagic.archive import output
from chatmagic.audit import audit
from chatmagic.audit.findings import Audit
from chatmagic.conversation import cell_magics, magic_line, record, template
from chatmagic.conversation.question import Value
from chatmagic.conversation.turn import Carried, Turn
from chatmagic.models import MOST_TOKENS, Credits, Message, Reply, Usage
from chatmagic.protocol.request import Request

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PROMPTS = st.text("ab {}\n\u2028éש?%", min_size=1, max_size=12).filter(str.strip)
COUNTS = st.none() | st.integers(0, 10) | st.integers(MOST_TOKENS - 2, MOST_TOKENS)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
REPLIES = st.builds(
    Reply,
    st.sampled_from(["*x*\n\n```py\n1\n```", "a\x0bb\x85c\r\nd", "$x^2$ <b>", "# H\n- t"]) | TEXTS,
    model=st.none() | TEXTS,
    finish_reason=st.sampled_from([None, "stop", "length"]) | TEXTS,
    usage=st.none() | st.builds(Usage, st.integers(0, 9), COUNTS, COUNTS),
    credits=st.none() | st.builds(Credits, COUNTS, COUNTS, COUNTS, st.none() | TIMES, TIMES),
    state=st.sampled_from(["complete", "interrupted", "cut off"]),
    refusal=st.none() | TEXTS,
    date=st.none() | TIMES,
    origin=st.sampled_from(["live", "replay", "emulator"]),
    recorded=st.sampled_from([None, "live", "emulator"]),
    by_order=st.booleans(),
    took=COUNTS,
)  # fmt: skip
FEWER = settings(max_examples=max(10, settings().max_examples // 5))
"""Each example renders a notebook, some of them twice."""

TURNS = st.builds(
    Turn,
    prompt=PROMPTS,
    reply=REPLIES,
    owner=st.none() | st.just("a1"),
    max_tokens=st.none() | st.integers(1, 9) | st.just(2**53),
    temperature=st.sampled_from([None, 1.0, 0.5, 0, 1e17]),
    last=st.none() | st.integers(0, 3),
    stream=st.booleans(),
    asked_model=st.none() | TEXTS,
)


def valued(turn: Turn, texts: list[str], *, kept: bool) -> Turn:
    """Give a turn into whose prompt values were put."""
    made = [Value.of_text(f"v{number}", text) for number, text in enumerate(texts)]
    typed = turn.prompt.replace("{", "").replace("}", "") + "".join(
        f"{{{{ {one.expression} }}}}" for one in made
    )
    sent = template.refill(typed, made)
    return replace(
        turn, prompt=sent, typed=typed, values=tuple(one if kept else one.bare for one in made)
    )


@st.composite
def books(draw: st.DrawFn) -> dict[str, Any]:
    """Give a notebook that was run from top to bottom, as a kernel gives its outputs."""
    held: list[Turn] = []
    made = []
    for turn in draw(st.lists(TURNS, min_size=1, max_size=4)):
        if draw(st.booleans()):
            texts = draw(st.lists(TEXTS, min_size=1, max_size=2))
            turn = valued(turn, texts, kept=draw(st.booleans()))  # noqa: PLW2901 - the same one
        carried = Carried.from_turns((0, other.digest) for other in held).newest(turn.last)
        asked = Request((Message("user", "x"),)).digest()
        told = replace(turn, carried=carried).to_record(asked, set(carried.digests))
        data, metadata = output.of_turn(turn.reply, told)
        typed = magic_line.typed_options(turn)
        source = cell_magics.source_for(told.prompt, *typed, has_values=bool(turn.values))
        made.append(nbformat.v4.new_code_cell(source, outputs=[display(data, metadata)]))  # type: ignore[no-untyped-call]
        held.append(turn)
    for kind in draw(st.sampled_from([(), ("undo", "redo"), ("reset",)])):
        shown = output.of_message(f"<p>{kind}</p>", kind, record.change_record(kind))  # type: ignore[arg-type]
        made.append(nbformat.v4.new_code_cell(f"%chat_{kind}", outputs=[display(*shown)]))  # type: ignore[no-untyped-call]
    whole = nbformat.v4.new_notebook(cells=made)  # type: ignore[no-untyped-call]
    # A machine saves it so: texts of outputs and sources as lists of their lines.
    return json.loads(nbformat.writes(whole))  # type: ignore[no-untyped-call, no-any-return]


def display(data: dict[str, Any], metadata: dict[str, Any]) -> Any:
    """Give an output."""
    return nbformat.v4.new_output("display_data", data=data, metadata=metadata)  # type: ignore[no-untyped-call]


def as_a_page_saves(value: Any) -> Any:
    """Give JSON as a page reads and writes it: each number is a double, 1.0 is 1."""
    if isinstance(value, dict):
        return {name: as_a_page_saves(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_a_page_saves(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    double = float(value)
    return int(double) if double.is_integer() and abs(double) < 1e21 else double


def found(book: dict[str, Any]) -> Audit:
    """Audit a notebook."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "n.ipynb"
        path.write_text(json.dumps(book))
        return audit.audit_all([path])[0]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the path to each value in JSON; an empty list or object is one, too."""
    pairs: Any = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    inner = [leaf for key, item in pairs for leaf in leaves(item, (*path, key))]
    return inner or [path]


def altered(value: Any, data: st.DataObject) -> Any:
    """Give another value of the same kind, or of none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        others = [value + 1, value - 1, value * 3 + 7]
        return data.draw(st.sampled_from([other for other in others if other != value]))
    if isinstance(value, str):
        at = data.draw(st.integers(0, len(value)))
        other = data.draw(
            st.sampled_from("x0é<\n").filter(lambda letter: value[at : at + 1] != letter)
        )
        return value[:at] + other + value[at + data.draw(st.booleans()) :]
    return data.draw(st.sampled_from(["x", 1, {"x": 1}]))


@FEWER
@given(book=books())
def test_what_nobody_altered_passes(book: dict[str, Any]) -> None:
    """Saved by a machine or by a page, its texts whole or as lines."""
    for saved in (book, as_a_page_saves(book)):
        told = found(saved)
        assert told.in_order, told
        assert {turn.agrees for turn in told.turns} == {True}
        assert not any("HTML" in line for line in told.remarks)


@FEWER
@given(book=books(), data=st.data())
def test_one_altered_value_is_noticed(book: dict[str, Any], data: st.DataObject) -> None:
    """In whichever form of an output, or in whichever field of a record."""
    place = data.draw(st.sampled_from(range(len(book["cells"]))))
    shown = book["cells"][place]["outputs"][0]
    ours = {"data": shown["data"], "chatmagic": shown["metadata"]["chatmagic"]}
    *path, key = data.draw(st.sampled_from(leaves(ours)))
    forged = copy.deepcopy(book)
    holder: Any = forged["cells"][place]["outputs"][0]
    holder["chatmagic"] = holder["metadata"]["chatmagic"]
    inner = holder
    for name in path:
        inner = inner[name]
    if data.draw(st.booleans()) or inner is holder:
        inner[key] = altered(inner[key], data)
    else:
        del inner[key]
    holder["metadata"]["chatmagic"] = holder.pop("chatmagic")
    told = found(forged)
    same = found(book)
    assert same.in_order
    assert told.in_order is False, (path, key)
    assert any(f"cell {place + 1}: " in line for line in told.problems), told.problems
