"""Notebook files, read as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from forged_json import forged, json_values
from hypothesis import given
from hypothesis import strategies as st
from pages import cell, output, text_cell
from saved_notebooks import HERE, page, read, record

from chatmagic.archive import notebook, restore
from chatmagic.conversation.record import change_record, owner_of
from chatmagic.errors import InputError


def test_turns_are_found_in_the_order_of_the_cells() -> None:
    """In cells of any minor version, text as a string or as lines, beside other outputs."""
    text = "one\r\ntwo\u2028three\n"
    other = {"output_type": "stream", "name": "stdout", "text": ["x"]}
    first = page("a", text, id="x")
    first["outputs"].insert(0, other)
    second = page("b", text)
    second["outputs"][0]["data"]["text/plain"] = text
    undo = cell("%chat_undo", [output({"text/plain": "…"}, {"chatmagic": change_record("undo")})])
    found = read([text_cell("# T"), first, second, undo], nbformat_minor=0)
    assert [(told.cell, told.kind, told.text, told.own) for told in found.outputs] == [
        (2, "turn", text, owner_of("x")),
        (3, "turn", text, None),
        (4, "undo", "…", None),
    ]
    assert found.problems == []
    assert found.missing == ""


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b'{"nbformat": true, "cells": []}',
        b'{"nbformat": 3, "worksheets": []}',
        b'{"nbformat": 5, "cells": []}',
        b'{"nbformat": 4, "cells": {}}',
    ],
)
def test_what_is_no_notebook_is_told(content: bytes) -> None:
    """In one line."""
    with pytest.raises(InputError, match=r"other\.ipynb is not a notebook of format 4"):
        notebook.parse_notebook(content, HERE)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"\x80{}", "it is not text in UTF-8"),
        (b"{", r"it is not JSON \(line 1, column 2\)"),
        (b"[" * 100_000, "its values are nested too deeply"),
        (b"[1" + b"0" * 5000 + b"]", "a number in it has more than 4,300 digits"),
    ],
)
def test_a_file_of_another_kind_is_told_by_its_fault(content: bytes, words: str) -> None:
    """In one line, with what to do."""
    said = rf"other\.ipynb is no notebook: {words}\. Take an earlier copy of it: .*\.$"
    with pytest.raises(InputError, match=said):
        notebook.parse_notebook(content, HERE)


def test_a_notebook_of_many_values_is_not_read() -> None:
    """One line says so, and what to do; one with a large picture is read."""
    many = b'{"nbformat": 4, "cells": [' + b"{}," * 500_000 + b"{}]}"
    words = (
        r"other\.ipynb cannot be read: it holds more than 1,000,000 values\. Clear large outputs"
    )
    with pytest.raises(InputError, match=words):
        notebook.parse_notebook(many, HERE)
    assert not notebook.is_untouched(many)
    picture = output({"image/png": "iVBORw0KGgo," * 200_000, "text/plain": "<Figure>"}, {})
    assert read([cell("plot()", [picture])]).problems == []


def test_a_cell_of_a_huge_source_is_left_out() -> None:
    """Reading it as code would take a hundred times its memory."""
    found = read([cell("%chat a\n" * 150_000), cell("x" * 2**20)])
    assert found.problems == ["cell 1: its source is larger than 1 MiB; left out."]
    assert [len(item.source) for item in found.cells] == [0, 2**20]


@pytest.mark.parametrize(
    ("name", "said"),
    [("none.ipynb", "is not there"), (".", "cannot be read"), ("a\0b", "not the name of a file")],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, said: str) -> None:
    """No file, a folder, a name that is none."""
    with pytest.raises(InputError, match=said):
        notebook.read_notebook(tmp_path / name)


def test_malformed_parts_are_left_out_with_a_line() -> None:
    """Each is told with its cell, and the rest is read."""
    bad = page()
    bad["outputs"][0]["metadata"]["chatmagic"]["origin"] = 1
    new = page()
    new["outputs"][0]["metadata"]["chatmagic"]["version"] = 2
    odd = cell("x", [output({}, {"chatmagic": {"version": 1, "kind": "dream"}})])
    none = cell("x", [output({}, {"chatmagic": 5})])
    broken = [{"cell_type": "code", "outputs": 5}, {"cell_type": "markdown", "source": ["x", 1]}]
    found = read([5, bad, new, odd, none, page(), *broken])
    assert found.problems == [
        "cell 1: it is damaged and was left out.",
        "cell 2: a malformed record was left out: its 'origin' cannot be read.",
        "cell 3: its record was left out, because a newer release of chatmagic wrote it.",
        "cell 4: its record is of an unknown kind.",
        "cell 5: a malformed record was left out: it is not a JSON object.",
        "cell 7: its source is no text.",
        "cell 7: its outputs are no list.",
        "cell 8: its source is no text.",
    ]
    assert [told.cell for told in found.outputs] == [6]


@pytest.mark.parametrize(
    "source",
    [
        "%%chat\nx",
        "\n# NBVAL_SKIP\n%%chat -q\nx",
        "%chat why?",
        "r = %chat why?",
        "if x:\n  %chat y",
    ],
)
def test_cells_that_ask_and_show_nothing_are_told(source: str) -> None:
    """Their outputs may have been stripped; other cells are not told."""
    others = ("%chat", "%chat_undo", "%%chat_instructions\nx", "# %chat x")
    assert read([cell(other) for other in others]).missing == ""
    found = read([cell(source), text_cell("%chat x"), cell(source)])
    assert found.missing.startswith("cells 1 and 3 ask and have no output: ")
    assert read([cell(source)]).missing.startswith("cell 1 asks and has no output: ")


@given(json_values, st.data())
def test_whatever_stands_in_a_notebook_it_is_read_or_refused(
    item: Any, data: st.DataObject
) -> None:
    """Any JSON, and any JSON in the place of any part, raises nothing but errors of ours."""
    reset = cell("%chat_reset", [output({"text/plain": ""}, {"chatmagic": change_record("reset")})])
    whole: Any = {"cells": [page("a", id="a"), reset, page("b", id="b")], "nbformat": 4}
    for value in (item, forged(whole, item, data)):
        try:
            found = notebook.parse_notebook(
                json.dumps(value).encode("utf-8", "surrogatepass"), HERE
            )
        except InputError:
            continue
        told = restore.restore(found)
        assert set(told.numbers) <= set(found.outputs)
        assert all("\n" not in line for line in restore.summary(told, found))


def test_what_is_written_is_a_notebook_and_is_known_again() -> None:
    """It is valid, the same each time, and an edit of a cell is seen."""
    told = {"chatmagic": record("p", "r\u2028s\n").to_json()}
    data = {"text/plain": "r\u2028s\n", "text/html": "<p>"}
    cells = [("a", "%load_ext chatmagic", None), ("b", "%%chat\np", (data, told))]
    content = notebook.notebook_json(cells)
    assert content == notebook.notebook_json(cells)
    nbformat.validate(nbformat.reads(content, as_version=4))  # type: ignore[no-untyped-call]
    found = notebook.parse_notebook(content.encode(), HERE)
    assert [told.text for told in found.outputs] == ["r\u2028s\n"]
    saved_again = nbformat.writes(nbformat.reads(content, as_version=4))  # type: ignore[no-untyped-call]
    value = json.loads(saved_again)
    value["metadata"]["language_info"] = {"name": "python"}
    assert notebook.is_untouched(json.dumps(value).encode())
    good = json.dumps(value)
    value["cells"][0]["source"] = ["%load_ext mine"]
    assert not notebook.is_untouched(json.dumps(value).encode())
    for path, edit in (
        (("metadata",), {"tags": ["mine"]}),
        (("attachments",), {"a.png": {"image/png": ""}}),
        (("outputs", 0, "data"), {"image/png": ""}),
        (("outputs", 0, "metadata", "chatmagic"), {"prompt": "q"}),
    ):
        value = json.loads(good)
        place = value["cells"][1]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = {**(place.get(path[-1]) or {}), **edit}
        assert not notebook.is_untouched(json.dumps(value).encode()), path
    for other in (b"{", b"[]", b'{"metadata": {"chatmagic": {"digest": 5}}}'):
        assert not notebook.is_untouched(other)
