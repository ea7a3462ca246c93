"""Notebooks of our own, written and known again."""

from __future__ import annotations

import json

import nbformat
from saved_notebooks import HERE, record

from chatmagic.archive import notebook_file, notebook_writer


def test_what_is_written_is_a_notebook_and_is_known_again() -> None:
    """It is valid, the same each time, and an edit of a cell is seen."""
    told = {"chatmagic": record("p", "r\u2028s\n").to_json()}
    data = {"text/plain": "r\u2028s\n", "text/html": "<p>"}
    cells = [("a", "%load_ext chatmagic", None), ("b", "%%chat\np", (data, told))]
    content = notebook_writer.write(cells)
    assert content == notebook_writer.write(cells)
    nbformat.validate(nbformat.reads(content, as_version=4))  # type: ignore[no-untyped-call]
    found = notebook_file.parse(content.encode(), HERE)
    assert [told.text for told in found.outputs] == ["r\u2028s\n"]
    saved_again = nbformat.writes(nbformat.reads(content, as_version=4))  # type: ignore[no-untyped-call]
    value = json.loads(saved_again)
    value["metadata"]["language_info"] = {"name": "python"}
    assert notebook_writer.is_untouched(json.dumps(value).encode())
    good = json.dumps(value)
    value["cells"][0]["source"] = ["%load_ext mine"]
    assert not notebook_writer.is_untouched(json.dumps(value).encode())
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
        assert not notebook_writer.is_untouched(json.dumps(value).encode()), path
    for other in (b"{", b"[]", b'{"metadata": {"chatmagic": {"digest": 5}}}'):
        assert not notebook_writer.is_untouched(other)
