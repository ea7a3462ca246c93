"""Files that users have are read for good, and written back as they are.

``tests/samples/saved_*`` were made in one kernel, of one talk with the emulator: a cassette, a
notebook, a conversation of ``%chat_save`` and the file of a ``chatmagic.map``. They are never made
again: a release that cannot read them loses what somebody paid for.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from cases import each_case
from project import ROOT

from chatmagic._json import digest
from chatmagic.archive import conversation_file, notebook
from chatmagic.archive.cassette_format import cassette_text, from_text
from chatmagic.archive.restore import restore
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import Record, canonical, sealed
from chatmagic.conversation.steering import STEERING
from chatmagic.session.map.job_file import JobFile
from chatmagic.session.map.row_reply import RowReply, replay_key, short_key

FOLDER: Final = ROOT / "tests" / "samples"
NOTEBOOK: Final = FOLDER / "saved_notebook.ipynb"
OUTPUT_FACTS: Final = {"seal", "versions", "text"}
"""What an output's metadata hold beside the record."""
TOLD: Final = [
    ("main", "Count to 5, for {{ town }} and {{ years }}."),
    ("main", "Say {{ town.upper() }}"),
    ("main", "What does undo do?"),
    ("main", "count to 12"),
    ("main", "Show me some JSON."),
    ("main", "Show me a table."),
    ("aside", "How do I stop a reply?"),
    ("main", "Show me a formula."),
    ("main", "Show me code."),
]
"""Threads and prompts of the turns that were live in the end."""


def outputs() -> list[Any]:
    """Return the notebook's outputs that have a record."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return [
        output
        for cell in cells
        for output in cell["outputs"]
        if "chatmagic" in output.get("metadata", {})
    ]


def told(conversation: Conversation) -> list[tuple[str, str]]:
    """Return the thread of each live turn, and the first line of its prompt as typed."""
    windows = conversation.windows
    return [(window.thread, turn.as_typed.split("\n")[0]) for turn, window in windows]


def carried(conversation: Conversation) -> list[tuple[int, ...]]:
    """Return the numbers of the turns that each live turn's request carried."""
    return [tuple(turn.carried) for turn in conversation]


def test_a_cassette_is_written_back_byte_for_byte() -> None:
    """Also what is not ASCII, and the names of the exchanges that others go on from."""
    content = (FOLDER / "saved_cassette.jsonl").read_bytes()
    interactions = from_text(content.decode(), "saved_cassette.jsonl")
    assert len(interactions) == 14
    assert cassette_text(interactions).encode() == content


@each_case("output", outputs())
def test_a_record_is_written_back_with_its_seal(output: dict[str, Any]) -> None:
    """With the same JSON in the same order, the same canonical form and the same seal."""
    value = output["metadata"]["chatmagic"]
    kind = value["kind"]
    data = {name: "".join(text) for name, text in output["data"].items()}
    record = {name: item for name, item in value.items() if name not in OUTPUT_FACTS}
    if kind in {"turn", "pick"}:
        record = Record.from_json(value).to_json()
    elif kind in STEERING:
        record = STEERING[kind].from_json(value).to_json()
    others = {name: value[name] for name in ("versions", "text") if name in value}
    again = sealed(record | others, data)
    # A notebook's writer sorts the names.
    assert json.dumps(again, sort_keys=True) == json.dumps(value)
    assert digest(canonical(again)) == digest(canonical(value))


def test_a_notebook_is_restored() -> None:
    """Each turn in its place and thread, with what it carried; each seal fits."""
    read = notebook.read_notebook(NOTEBOOK)
    restored = restore(read)
    assert {saved.fault for saved in read.outputs} == {""}
    assert restored.problems == ()
    assert told(restored.conversation) == TOLD
    below_the_hidden = (2, 4, 11, 7, 9)
    assert carried(restored.conversation) == [
        *((), (1,), (1, 2), (1, 2, 4), (1, 2, 4, 6), (7,), ()),
        *(below_the_hidden, (*below_the_hidden, 13)),
    ]


def test_a_conversation_is_written_back_byte_for_byte() -> None:
    """With its records, its values and its seal; the turns are those that were saved."""
    text = (FOLDER / "saved_conversation.json").read_text("utf-8")
    conversation = conversation_file.loads(text.encode())
    assert told(conversation) == TOLD
    below_the_hidden = (2, 3, 4, 5, 6)
    assert carried(conversation) == [
        *((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 0), (5,), ()),
        *(below_the_hidden, (*below_the_hidden, 8)),
    ]
    assert conversation_file.dumps(conversation, keep_values=True) == text


def test_a_job_file_is_read_and_written_back_byte_for_byte() -> None:
    """Each row by its key, with its reply; a line that is written now has a digest besides."""
    path = FOLDER / "saved_job_file.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    rows = [RowReply.from_line(line) for line in lines]
    written = [re.sub(rb', "digest": "[0-9a-f]{64}"', b"", row.to_line()) for row in rows]
    assert b"".join(written) == path.read_bytes()
    file = JobFile(path, replays=True).open()
    keys = [replay_key(row.request, row.occurrence) for row in rows]
    assert all(file.index.is_answered(short_key(key)) for key in keys)
    assert list(file.replies(map(short_key, keys))) == rows
    file.close()
