"""Conversations from a shell: private files, of which none is removed or half written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.shell.saved_conversations import NotSavedError, SavedConversations

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SavedConversations:
    """Give the files of an empty state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return SavedConversations()


def conversation(*prompts: str) -> Conversation:
    """Give a conversation of these questions."""
    made = Conversation()
    for prompt in prompts:
        made.add(Turn(prompt, reply=Reply(prompt.upper())))
    return made


def test_the_last_one_is_read_back(saved: SavedConversations) -> None:
    """Each is a file of its own, which only its owner can read; the last one is by its time."""
    with pytest.raises(InputError, match="no conversation from a shell"):
        saved.latest()
    first, second = saved.new(), saved.new()
    saved.save(first, conversation("a"))
    saved.save(second, conversation("b"))
    os.utime(second, ns=(1, 1))
    first.chmod(0o644)
    saved.save(first, conversation("a", "c"))
    assert saved.latest() == first
    assert [turn.prompt for turn in saved.load(first)] == ["a", "c"]
    assert len(list(saved.folder.iterdir())) == 2
    if os.name == "posix":
        modes = [path.stat().st_mode & 0o777 for path in (saved.folder, first, second)]
        assert modes == [0o700, 0o600, 0o600]


@pytest.mark.parametrize("content", ["", "[", "{}", "[" * 100_000, '{"chatmagic": "other"}'])
def test_a_damaged_file(saved: SavedConversations, content: str) -> None:
    """It is named in one line."""
    path = saved.new()
    path.write_text(content)
    with pytest.raises(InputError, match=r"cannot be read: .* Nothing was sent"):
        saved.load(path)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OSError(28, "No space left on device"), NotSavedError, "No space left"),
        (KeyboardInterrupt("stop"), KeyboardInterrupt, "stop"),
    ],
)
def test_what_cannot_be_written(
    saved: SavedConversations,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    kind: type[BaseException],
    words: str,
) -> None:
    """It is named, and leaves no empty file that would be the last conversation."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("chatmagic.shell.saved_conversations.replace_content", fail)
    with pytest.raises(kind, match=words):
        saved.save(saved.new(), conversation("a"))
    assert list(saved.folder.iterdir()) == []


def test_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where none can be made, nothing is asked."""
    (tmp_path / "chatmagic").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"cannot be written: .* Nothing was sent"):
        SavedConversations()
