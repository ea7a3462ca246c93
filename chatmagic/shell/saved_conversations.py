"""Conversations from a shell, a file each in the user's state folder, private to the user."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import platformdirs

from chatmagic.archive import conversation_json
from chatmagic.archive.files import content_of, replace_content
from chatmagic.errors import ChatError, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from chatmagic.conversation.conversation import Conversation

FOLDER: Final = "shell"
PRIVATE: Final = 0o600
_WHOLE: Final = 0o700


class NotSavedError(ChatError):
    """Failure to keep a conversation whose reply came."""


class SavedConversations:
    """Files of the conversations, as ``%chat_save`` writes them; none is ever removed."""

    def __init__(self) -> None:
        """Make the folder, for this user alone.

        Raises:
            InputError: it cannot be made.
        """
        self.folder: Path = platformdirs.user_state_path("chatmagic", appauthor=False) / FOLDER
        try:
            self.folder.mkdir(mode=_WHOLE, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{_unwritable(self.folder, error)} Nothing was sent.") from None

    def latest(self) -> Path:
        """Return the file that was written last.

        Raises:
            InputError: there is none.
        """
        files = list(self.folder.glob("*.json"))
        if not files:
            raise InputError(
                "There is no conversation from a shell to go on with. Nothing was sent.",
                hint="Without --continue a question begins one.",
            )
        return max(files, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def new(self) -> Path:
        """Return a file for a new conversation, which does not exist yet."""
        now = datetime.now(UTC)
        return self.folder / f"{now:%Y-%m-%dT%H%M%SZ}-{secrets.token_hex(4)}.json"

    @staticmethod
    def load(path: Path) -> Conversation:
        """Return the conversation of a file.

        Raises:
            InputError: it cannot be read.
        """
        try:
            return conversation_json.load(json.loads(content_of(path) or b""))
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{path} cannot be read: it is no conversation, or it was changed. Nothing was "
                "sent.",
                hint="Without --continue a question begins a new one.",
            ) from None

    @staticmethod
    def save(path: Path, conversation: Conversation) -> None:
        """Write a conversation, whole or not at all; nobody else can read it.

        Raises:
            NotSavedError: it cannot be written.
        """
        content = json.dumps(conversation_json.dump(conversation), indent=1)
        is_new = not path.exists()
        try:
            # A file that is replaced keeps its mode, so that it is private from the first byte on.
            path.touch(mode=PRIVATE)
            path.chmod(PRIVATE)
            replace_content(path, content.encode())
        except BaseException as error:
            # An interrupt, too, leaves no empty file, which would be the last conversation.
            if is_new and path.exists() and not path.stat().st_size:
                path.unlink()
            if isinstance(error, OSError):
                what = f"{_unwritable(path, error)} This reply is not kept."
                raise NotSavedError(what, fault="you") from None
            raise


def _unwritable(path: Path, error: OSError) -> str:
    return f"{path} cannot be written: {error.strerror or type(error).__name__}."
