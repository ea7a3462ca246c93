"""Values that were sent, compared with the cells of the notebook."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from audits import page, run
from pages import cell, save, text_cell

from chatmagic.conversation import template
from chatmagic.conversation.question import Schema, Value
from chatmagic.conversation.record import owner_of

Told = Callable[[Sequence[Any]], list[str]]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
ALONG = "it was edited, or ran again, after cell {} sent it along"
SOMEWHERE = "a cell that it sent along was removed or edited, or ran again"
PLAIN = "they sent a cell along whose output the file does not have as plain text"


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """Give the faults of a notebook, and what was not checked."""

    def told(cells: Sequence[Any]) -> list[str]:
        lines = run(capsys, [save(tmp_path / "n.ipynb", cells)])[1].splitlines()
        return [line for line in lines if line.startswith(("!", "not checked"))]

    return told


def asked(expression: str, text: str, **parameters: Any) -> dict[str, Any]:
    """Give a cell whose question had a variable's value."""
    values = (Value.of_text(expression, text).bare,)
    return page(f"{{{{ {expression} }}}}", values=values, parameters=parameters)


@pytest.mark.parametrize(
    ("source", "text", "is_fault"),
    [
        ("data = 'abc'", "abc", False),
        ("data = 'abd'", "abc", True),
        ("data = 6", "5", True),
        ("data = 0.5", "0.5", False),
        ("data = None", "None", False),
        ("data = '''a\nb'''", "a\nc", True),
        ("x = data = 'abd'", "abc", False),
        ("data = 'a' + other", "abc", False),
        ("data = [1]", "[2]", False),
        ("data = 'abd'\ndata = 'abc'", "abc", False),
        ("data = 'abd'\nfor data in 'abc': pass", "c", False),
        ("data = 'abd'\ndef data(): pass", "c", False),
        ("data = 'abd'\nclass data: pass", "c", False),
        ("data = 'abd'\nimport x as data", "c", False),
        ("data = 'abd'\ndata += 'e'", "c", False),
        ("data = 'abd'\n%chat_history", "abc", True),
        ("data = 'abd'\n%run other.py", "abc", False),
        ("if 1:\n    data = 'abd'", "abc", False),
        ("data = 'abd", "abc", False),
        ("s = \"data = 'abd'\"", "abc", False),
    ],
)
def test_a_literal_is_the_value_that_was_sent(
    source: str, text: str, is_fault: bool, told: Told
) -> None:
    """If one cell above binds the name, and nothing else does."""
    words = "it gives data another value than cell 2 sent: edited"
    lines = [line for line in told([cell(source), asked("data", text)]) if line.startswith("!")]
    assert lines == ([f"! cell 1: {words}."] if is_fault else [])


def test_a_literal_below_or_from_a_reply_is_not_compared(told: Told) -> None:
    """Nor is one that an option of another question sets."""
    assert told([asked("data", "abc"), cell("data = 'abd'")]) == []
    other = {**page("p"), "source": "%chat -o data p"}
    below = asked("data", "abc", history=False)
    assert told([cell("data = 'abd'"), other, below]) == []
    assert len(told([cell("data = 'abd'"), below])) == 1


@pytest.mark.parametrize(
    ("source", "is_fault"),
    [
        (f"form = {SCHEMA!r}", False),
        (f"form = {str(SCHEMA).replace('integer', 'string')}", True),
        (f"form = {str(SCHEMA).replace('integer', 'string')}\nform.update(x)", False),
        ("form = dict(a=1)", False),
        ("form = 'text'", False),
    ],
)
def test_a_schema_is_the_one_that_was_sent(source: str, is_fault: bool, told: Told) -> None:
    """A dictionary that no other code names; a class is not evaluated."""
    words = template.words_on_form("json", Schema("form", json.loads(json.dumps(SCHEMA)), str), ())
    assert words is not None
    made = page("p", values=(words.bare,), parameters={"schema": "form", "format": "json"})
    made["source"] = "%chat --schema form p"
    lines = told([cell(source), made])
    assert lines == (
        ["! cell 1: it gives form another value than cell 2 sent: edited."] if is_fault else []
    )


def along(text: str, id: str | None = None, kind: Any = "cell") -> dict[str, Any]:
    """Give a cell that sent the text of another along."""
    value = Value.of_text("1 above", text, kind, id and owner_of(id)).bare
    made = page("p", values=(value,), parameters={"above": 1})
    return {**made, "source": "%chat --above 1 p"}


def printed(*texts: str) -> list[dict[str, Any]]:
    """Give printed texts."""
    return [{"output_type": "stream", "name": "stdout", "text": text} for text in texts]


def value_of(text: str) -> dict[str, Any]:
    """Give a cell's value."""
    data = {"text/plain": text}
    return {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}


def displayed(data: dict[str, Any]) -> dict[str, Any]:
    """Give a display."""
    return {"output_type": "display_data", "data": data, "metadata": {}}


@pytest.mark.parametrize("id", ["c1", None])
def test_a_cell_that_went_along_is_the_one_that_is_shown(id: str | None, told: Told) -> None:
    """Its source and its output, by its identity, or else any cell above."""
    run = cell("print('hello')\n6 * 7", [value_of("42"), *printed("hello\n")], id="c1")
    sent = along(template.cell_text("print('hello')\n6 * 7", "hello\n42", 8), id)
    assert told([run, sent]) == []
    old = along(template.cell_text("print('hello')\n6 * 7", "42", 2), id)
    assert told([run, old]) == []
    shortened = along(template.cell_text("print('hello')\n6 * 7", "", 8), id)
    assert told([run, shortened]) == []
    fault = f"! cell 1: {ALONG.format(2)}." if id else f"! cell 2: {SOMEWHERE}."
    for other in (
        {**run, "source": "print('hullo')\n6 * 7"},
        {**run, "outputs": [value_of("43"), *printed("hello\n")]},
        {**run, "outputs": []},
    ):
        assert told([other, sent]) == [fault]
    assert told([cell("x"), sent]) == [f"! cell 2: {SOMEWHERE}."]


@pytest.mark.parametrize(
    "outputs",
    [
        [displayed({"image/png": "x", "text/plain": "<Figure>"})],
        [displayed({"text/plain": "<IPython.core.display.HTML object>"})],
        [displayed({"text/html": "x"})],
        [{"output_type": "stream", "name": "stderr", "text": "x"}],
        [{"output_type": "error", "ename": "E", "traceback": []}],
        [displayed({"text/plain": 5})],
        ["x"],
    ],
)
def test_an_output_that_is_no_plain_text_is_not_checked(outputs: list[Any], told: Told) -> None:
    """Nor is one that was cleared while the cell ran."""
    sent = along(template.cell_text("x", "y", 1), "c1")
    assert told([cell("x", outputs, id="c1"), sent]) == [f"not checked: cell 2: {PLAIN}."]
    cleared = cell("x; clear_output()", printed("y"), id="c1")
    assert told([cleared, sent]) == [f"not checked: cell 2: {PLAIN}."]


def test_a_text_cell_that_went_along_is_the_one_that_is_shown(told: Told) -> None:
    """By its text."""
    sent = along(template.markdown_text("# Title"), kind="markdown")
    assert told([text_cell("# Title"), sent]) == []
    assert told([text_cell("# Tytle"), sent]) == [f"! cell 2: {SOMEWHERE}."]
