"""Notebook files: a stranger's, read as data, and our own, written."""

from __future__ import annotations

import copy
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import cell, output, save, text_cell
from talks import ask

from chatmagic._json import timestamp
from chatmagic.archive import notebook_file, notebook_writer, restore
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import Record, note, owner_of
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError
from chatmagic.models import Message, Reply
from chatmagic.protocol.wire import Request

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path("stranger.ipynb")
NOON = timestamp("2026-01-01T12:00:00Z")

texts = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def record(prompt: str = "p", reply: str = "r", **changes: Any) -> Record:
    """Give the record of a turn that carried none."""
    turn = Turn(prompt=prompt, reply=Reply(reply, model="m", finish_reason="stop"))
    made = turn.to_record((), Request((Message("user", prompt),)).digest())
    return replace(made, **changes)


def page(
    prompt: str = "p", reply: str = "r", *, id: str | None = None, **changes: Any
) -> dict[str, Any]:
    """Give a cell that asked."""
    told = record(prompt, reply, **changes).to_json()
    return cell(f"%%chat\n{prompt}", [output({"text/plain": reply}, {"chatmagic": told})], id=id)


def read(cells: Iterable[Any], **changes: Any) -> notebook_file.Notebook:
    """Read a notebook of these cells."""
    whole = {"cells": list(cells), "nbformat": 4, "nbformat_minor": 5, **changes}
    return notebook_file.parse(json.dumps(whole).encode(), HERE)


def restored(*cells: Any, by_id: bool = True) -> Conversation:
    """Give the conversation that these cells tell."""
    return restore.restore(read(cells), by_id=by_id).conversation


def test_turns_are_found_in_the_order_of_the_cells() -> None:
    """In cells of any minor version, text as a string or as lines, beside other outputs."""
    text = "one\r\ntwo\u2028three\n"
    other = {"output_type": "stream", "name": "stdout", "text": ["x"]}
    first = page("a", text, id="x")
    first["outputs"].insert(0, other)
    second = page("b", text)
    second["outputs"][0]["data"]["text/plain"] = text
    undo = cell("%chat_undo", [output({"text/plain": "…"}, {"chatmagic": note("undo")})])
    found = read([text_cell("# T"), first, second, undo], nbformat_minor=0)
    assert [(told.cell, told.kind, told.text, told.own) for told in found.outputs] == [
        (2, "turn", text, owner_of("x")),
        (3, "turn", text, None),
        (4, "undo", None, None),
    ]
    assert [told.agrees for told in found.outputs] == [True, True, False]
    assert found.problems == []
    assert found.missing == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[1" + b"0" * 5000 + b"]", "it is not JSON"),
        (b"[]", "is not a notebook"),
        (b'{"nbformat": true}', "is not a notebook"),
        (b'{"nbformat": 3, "worksheets": []}', "format 3, .*Open it in JupyterLab"),
        (b'{"nbformat": 5, "cells": []}', "format 5"),
        (b'{"nbformat": 4, "cells": {}}', "no list of cells"),
    ],
)
def test_what_is_no_notebook_is_told(content: bytes, said: str) -> None:
    """In one line."""
    with pytest.raises(InputError, match=said):
        notebook_file.parse(content, HERE)


@pytest.mark.parametrize(
    ("name", "said"),
    [("none.ipynb", "is not there"), (".", "cannot be read"), ("a\0b", "not the name of a file")],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, said: str) -> None:
    """No file, a folder, a name that is none."""
    with pytest.raises(InputError, match=said):
        notebook_file.read(tmp_path / name)


def test_a_device_or_a_huge_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading ends in any case."""
    with pytest.raises(InputError, match="it is not a file"):
        notebook_file.content_of(Path(os.devnull))
    path = save(tmp_path / "large.ipynb", [])
    monkeypatch.setattr(notebook_file, "LARGEST", 2)
    with pytest.raises(InputError, match="is larger than"):
        notebook_file.content_of(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes in folders")
def test_a_pipe_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who opens one waits until somebody writes into it."""
    path = tmp_path / "pipe.ipynb"
    os.mkfifo(path)
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(InputError, match="it is not a file"):
        notebook_file.content_of(path)


def test_malformed_parts_are_left_out_with_a_line() -> None:
    """Each is told with its cell, and the rest is read."""
    bad = page()
    bad["outputs"][0]["metadata"]["chatmagic"]["origin"] = 1
    new = page()
    new["outputs"][0]["metadata"]["chatmagic"]["version"] = 2
    odd = cell("x", [output({}, {"chatmagic": {"version": 1, "kind": "dream"}})])
    none = cell("x", [output({}, {"chatmagic": 5})])
    found = read([5, bad, new, odd, none, page(), {"cell_type": "code", "outputs": 5}])
    assert found.problems == [
        "cell 1: it is damaged and was left out.",
        "cell 2: a malformed record was left out: its 'origin' cannot be read.",
        "cell 3: its record was left out, because a newer release of chatmagic wrote it.",
        "cell 4: its record is of an unknown kind.",
        "cell 5: a malformed record was left out: it is not a JSON object.",
    ]
    assert [told.cell for told in found.outputs] == [6]


@pytest.mark.parametrize(
    "source",
    ["%%chat\nx", "\n# a note\n%%chat -q\nx", "%chat why?", "r = %chat why?", "if x:\n  %chat y"],
)
def test_cells_that_ask_and_show_nothing_are_told(source: str) -> None:
    """Their outputs may have been stripped."""
    found = read([cell(source), text_cell("%chat x"), cell(source)])
    assert found.silent == [1, 3]
    assert found.missing.startswith("cells 1 and 3 ask and have no output: ")
    assert read([cell(source)]).missing.startswith("cell 1 asks and has no output: ")


def test_when_cells_ran_is_told() -> None:
    """Front ends may leave it in a cell's metadata."""
    timed = {**cell("x"), "metadata": {"execution": {"iopub.status.busy": "2026"}}}
    assert read([cell("x"), timed]).timed == [2]


@pytest.mark.parametrize("source", ["%chat", "%chat_undo", "%%chat_instructions\nx", "# %chat x"])
def test_other_cells_are_not(source: str) -> None:
    """Only those that ask."""
    assert read([cell(source)]).silent == []


@given(json_values, st.data())
def test_whatever_stands_in_a_notebook_it_is_read_or_refused(
    item: Any, data: st.DataObject
) -> None:
    """Any JSON, and any JSON in the place of any part, raises nothing but errors of ours."""
    reset = cell("%chat_reset", [output({"text/plain": ""}, {"chatmagic": note("reset")})])
    whole: Any = {"cells": [page("a", id="a"), reset, page("b", id="b")], "nbformat": 4}
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((value, key))
            if isinstance(inner, dict | list):
                walk(inner)

    walk(whole)
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = item
    for value in (item, whole):
        try:
            found = notebook_file.parse(json.dumps(value).encode("utf-8", "surrogatepass"), HERE)
        except InputError:
            continue
        told = restore.restore(found)
        assert len(told.numbers) == len(found.turns)
        assert all("\n" not in line for line in restore.summary(told, found))


# --- restoring ------------------------------------------------------------------------------


def test_owners() -> None:
    """A cell's own identity where the page knows it by that; else the one recorded."""
    cells = [
        page("a", id="a", owner=owner_of("a")),
        page("copy", id="b", owner=owner_of("a")),
        page("headless", id="c"),
        page("old", owner="elsewhere"),
        page("old copy", owner="elsewhere"),
    ]
    own = [owner_of(id) for id in "abc"]
    cells[0]["outputs"] *= 2
    assert [turn.owner for turn in restored(*cells)] == [own[0], *own, "elsewhere", None]
    theirs = [page(id, id=id, owner=f"vs-{id}") for id in "ab"]
    assert [turn.owner for turn in restored(*theirs)] == own[:2]
    assert [turn.owner for turn in restored(*theirs, by_id=False)] == ["vs-a", "vs-b"]
    assert [turn.owner for turn in restored(*cells[1:], by_id=False)] == [
        owner_of("a"), owner_of("c"), "elsewhere", None,
    ]  # fmt: skip


def test_what_a_request_carried_is_known_by_its_digests() -> None:
    """Of two equal turns the one above; one that is not there is not known."""
    same = record("same", "again")
    digests = (same.turn, same.turn)
    talk = restored(
        page("same", "again"), page("same", "again"), page("x", carried=digests),
        page("y", carried=("0" * 64,)),
    )  # fmt: skip
    assert [turn.carried for turn in talk] == [(), (), (1, 2), (0,)]
    assert [turn.prompt for turn in talk.stale_turns()] == ["same", "y"]


def shown(talk: Conversation) -> list[dict[str, Any]]:
    """Give the cells of a conversation as a session's outputs record it."""
    made = []
    for turn in talk:
        names = [find(talk, number) for number in turn.carried]
        full = turn.to_record([name.digest for name in names], "0" * 64)
        told = full.listing({name.digest for name in names if name.entry == "cell"}).to_json()
        if turn.entry == "cell":
            made.append(
                cell(
                    f"%%chat\n{turn.prompt}",
                    [output({"text/plain": turn.reply.text}, {"chatmagic": told})],
                    id=turn.owner,
                )
            )
    return made


def find(talk: Conversation, number: int) -> Turn:
    """Give a turn that was ever added, by its number."""
    every = list(talk)
    while talk.undo_depth and all(turn.number != number for turn in every):
        talk = copy.copy(talk)
        talk.undo()
        every += talk
    return next(turn for turn in every if turn.number == number)


def test_which_turn_is_not_known_is_told_though_no_record_lists_them_all() -> None:
    """A record is as long as it must be; of what a request carried it names all the same."""
    talk = Conversation()
    for name in "abcd":
        ask(talk, name, name, "1")
    ask(talk, "by hand", entry="panel")
    ask(talk, "e", "e", "1")
    assert [len(record.carried) for _, record in read(shown(talk)).turns] == [0, 1, 1, 1, 2]
    numbers = [turn.carried for turn in restored(*shown(talk))]
    assert numbers == [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4, 0)]
    ask(talk, "b again", "b", "2")
    ask(talk, "f", "f", "1")
    told = restored(*shown(talk))
    assert [turn.prompt for turn in told] == ["a", "b again", "c", "d", "e", "f"]
    assert [turn.carried for turn in told] == [
        (), (1,), (1, 0), (1, 0, 3), (1, 0, 3, 4, 0), (0, 5),
    ]  # fmt: skip
    ask(talk, "last", "l", "1", last=2)
    assert [turn.carried for turn in restored(*shown(talk))][-1] == (5, 6)


def test_a_reply_that_is_gone_leaves_its_turn_out() -> None:
    """A turn without a reply is none."""
    gone = page()
    del gone["outputs"][0]["data"]["text/plain"]
    told = restore.restore(read([gone]))
    assert told.problems == (f"cell 1: {notebook_file.CHANGED}; it was left out.",)
    told = restore.restore(read([gone]), changed=True)
    assert told.numbers == (None,)
    assert told.problems[1:] == ("cell 1: its reply is gone, so its turn was left out.",)
    assert len(told.conversation) == 0


def test_a_record_from_before_turns_were_named() -> None:
    """Without the turn's own digest it is worked out."""
    first = record("a", "1")
    talk = restored(page("a", "1", turn=None), page("b", carried=(first.turn,)))
    assert talk.stale_turns() == ()


def test_undo_redo_and_reset_are_gone_through() -> None:
    """In the order of the cells; a turn that was not kept is no part of it."""

    def did(kind: Any) -> dict[str, Any]:
        return cell("x", [output({"text/plain": "x"}, {"chatmagic": note(kind)})])

    aside = page("aside", parameters={"history": False})
    cells = [page("a"), aside, did("reset"), page("b"), did("undo"), did("undo")]
    told = restore.restore(read(cells))
    assert [turn.prompt for turn in told.conversation] == ["a"]
    assert told.numbers == (1, None, 2)
    assert [turn.prompt for turn in restored(*cells, did("redo"), did("redo"))] == ["b"]


def test_what_carried_another_prompt_than_the_one_that_is_forced_is_stale() -> None:
    """A changed record's own word for its turn is not taken: its prompt may be the change."""
    first, second = page("a"), page("b", carried=(Turn(prompt="a", reply=Reply("r")).digest,))
    found = read([first, second])
    assert not restore.restore(found, changed=True).conversation.stale_turns()
    first["outputs"][0]["metadata"]["chatmagic"]["prompt"] = "forged"
    talk = restore.restore(read([first, second]), changed=True).conversation
    assert [turn.prompt for turn in talk] == ["forged", "b"]
    assert [turn.prompt for turn in talk.stale_turns()] == ["b"]


def test_what_is_said_of_a_restored_notebook() -> None:
    """What is not whole is named, with its cell."""
    bare = Value.of("x", "1").bare
    changed = page("b")
    changed["outputs"][0]["data"]["text/plain"] = "other"
    undone = cell("x", [output({"text/plain": "x"}, {"chatmagic": note("undo")})])
    found = read(
        [page("{{ x }}", values=(bare,)), changed, page("c"), undone, cell("%chat d"),
         page("e", values=(bare,))]
    )  # fmt: skip
    told = restore.restore(found, changed=True)
    assert restore.summary(told, found) == [
        "Restored 2 turns (1 stale) from stranger.ipynb as last saved. Nothing was sent.",
        f"cell 1: {{{{ x }}}}: {restore.NOT_KEPT}",
        "cell 2: the reply was changed by hand; it is sent as it is.",
        f"cell 2: {notebook_file.CHANGED}.",
        "cell 6: its record was left out: its values are not those of its prompt.",
        "cell 5 asks and has no output: not run yet, run with --quiet, or stripped.",
    ]


# --- writing --------------------------------------------------------------------------------


def test_what_is_written_is_a_notebook_and_is_known_again() -> None:
    """It is valid, the same each time, and an edit is seen; a front end's metadata is not."""
    told = {"chatmagic": record("p", "r\u2028s\n").to_json()}
    cells = [
        notebook_writer.NewCell("a", "%load_ext chatmagic"),
        notebook_writer.NewCell(
            "b", "%%chat\np", {"text/plain": "r\u2028s\n", "text/html": "<p>"}, told
        ),
    ]
    content = notebook_writer.write(cells)
    assert content == notebook_writer.write(cells)
    nbformat.validate(nbformat.reads(content, as_version=4))  # type: ignore[no-untyped-call]
    found = notebook_file.parse(content.encode(), HERE)
    assert [told.agrees for told in found.outputs] == [True]
    value = json.loads(content)
    value["metadata"]["language_info"] = {"name": "python"}
    value["cells"][0]["metadata"]["x"] = 1
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
