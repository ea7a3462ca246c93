"""Task of a mapper: its rows, each asked once, and their file."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from jobs import Asking, capitals

from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.errors import ChatInterrupted
from chatmagic.session.ask import Ask
from chatmagic.session.ledger import Ledger
from chatmagic.session.map import job_file
from chatmagic.session.map.map import MapOptions
from chatmagic.session.map.mapper_task import MapperTask
from chatmagic.session.map.row_template import RowTemplate


def answering() -> Asking:
    """Give a sender that answers in capitals."""
    asking = Asking(capitals)
    asking.ledger = Mock(Ledger)
    return asking


def task(folder: Path, asking: Asking, *texts: str) -> MapperTask:
    """Give the task of some texts."""
    setup = ServiceSetup(Endpoint("https://a", "none", None, "the test"))
    template = RowTemplate(Ask("{{ it }}", history=False), asking.environment, setup)
    rows = [{"it": text} for text in texts]
    return MapperTask.of(rows, template, asking, folder, MapOptions(reports=False))


def test_equal_rows_are_asked_once(tmp_path: Path) -> None:
    """Each row of the table has its place among the others."""
    asking = answering()
    made = task(tmp_path, asking, *"abab")
    assert made.places == [0, 1, 0, 1]
    assert [reply.text for reply in made.replies()] == ["A", "B"]
    assert sorted(asking.asked) == ["a", "b"]


def test_the_order_of_rows_changes_no_file(tmp_path: Path) -> None:
    """The rows name it; answers of another task's file are not asked again."""
    asking = answering()
    assert task(tmp_path, asking, "a", "b").keys == task(tmp_path, asking, "b", "a").keys
    task(tmp_path, asking, "a", "b").replies()
    (file,) = tmp_path.glob("*.jsonl")
    assert [reply.text for reply in task(tmp_path, asking, "b", "a").replies()] == ["B", "A"]
    assert [*tmp_path.glob("*.jsonl")] == [file]
    task(tmp_path, asking, "a", "c").replies()
    assert sorted(asking.asked) == ["a", "b", "c"]
    assert len([*tmp_path.glob("*.jsonl")]) == 2


def test_the_wait_for_the_same_rows_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words; nothing was sent, and nothing is held."""
    asking = answering()
    monkeypatch.setattr(job_file, "lock_state", lambda _: "taken")
    monkeypatch.setattr(job_file, "sleep", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(ChatInterrupted, match=r"another task has these rows\. Nothing was sent"):
        task(tmp_path, asking, "a").replies()
    monkeypatch.undo()
    assert [reply.text for reply in task(tmp_path, asking, "a").replies()] == ["A"]
    assert asking.asked == ["a"]
