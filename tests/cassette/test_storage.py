"""The interactions of a cassette, in this process and in its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from cassettes import FILE, exchange_of, held

from chatmagic.advice import Note, note_at
from chatmagic.archive.cassette_format import cassette_text
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.choice import CassetteConfig, Mode
from chatmagic.cassette.item import Query
from chatmagic.cassette.storage import CassetteStorage
from chatmagic.errors import ChatError, InputError
from chatmagic.models import Message
from chatmagic.protocol.request import Request

pytestmark = pytest.mark.usefixtures("folder")


def exchange(prompt: str) -> Interaction:
    """Return an exchange whose reply is its prompt."""
    return exchange_of(Request((Message("user", prompt),)), text=prompt)


def opened(mode: Mode, news: list[Note] | None = None) -> CassetteStorage:
    """Return the cassette of this folder."""
    news = [] if news is None else news
    return CassetteStorage(CassetteConfig(Path(FILE), mode), news, str)


def record(storage: CassetteStorage, prompt: str) -> None:
    """Record an exchange, and save it."""
    recorded = exchange(prompt)
    assert storage.matcher.add(recorded, Query(recorded))
    storage.save()


def test_a_replay_needs_its_file() -> None:
    """A recording begins one."""
    with pytest.raises(InputError, match=r"^There is no cassette talk\.jsonl to replay"):
        opened("replay")
    assert opened("record").loaded == ()


def test_what_the_file_lost_is_written_again_and_told() -> None:
    """After it was saved, once."""
    news: list[Note] = []
    storage = opened("record", news)
    record(storage, "a")
    Path(FILE).write_text(cassette_text([]), encoding="utf-8")
    record(storage, "b")
    assert [item.text for item in held()] == ["a", "b"]
    line = "1 recorded exchange had gone from talk.jsonl since it was read here: written again."
    assert [note_at(note, "python")[: len(line)] for note in news] == [line]
    record(storage, "c")
    assert len(news) == 1


def test_what_cannot_be_saved_is_lacking_until_it_is_kept(full: list[str]) -> None:
    """The error stays known until then."""
    storage = opened("record")
    full.append(FILE)
    with pytest.raises(ChatError, match=r"No space left.*kept in memory"):
        record(storage, "a")
    storage.keep()
    assert (storage.trouble is not None, len(storage.lacking)) == (True, 1)
    full.clear()
    storage.keep()
    assert (storage.trouble, storage.lacking) == (None, ())
    assert [item.text for item in held()] == ["a"]


def test_a_refresh_copies_the_file_before_its_first_reply() -> None:
    """Once, and only a file that has some."""
    record(opened("refresh"), "a")
    assert [*Path().glob(f"{FILE}.before-*")] == []
    old = Path(FILE).read_bytes()
    storage = opened("refresh")
    record(storage, "b")
    record(storage, "c")
    assert [path.read_bytes() for path in Path().glob(f"{FILE}.before-*")] == [old]


def test_a_replay_reads_again_what_another_kernel_has_recorded() -> None:
    """And writes nothing."""
    record(opened("record"), "a")
    storage = opened("replay")
    record(opened("record"), "b")
    saved = Path(FILE).read_bytes()
    storage.keep()
    assert [item.text for item in storage.matcher.interactions] == ["a", "b"]
    assert [item.text for item in storage.loaded] == ["a"]
    assert Path(FILE).read_bytes() == saved
