"""Index of a file of rows: where the last line of each row stands, and whether the row failed."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from chatmagic._json import timestamp
from chatmagic.session.map.job_head import head_name
from chatmagic.session.map.row_lines import Line, is_torn
from chatmagic.session.map.row_reply import (
    BEGINNING,
    EditedError,
    LineFacts,
    RowReply,
    facts_as_written,
    fields_of,
    replay_key,
    short_key,
)


class RowIndex:
    """Index of the lines of a file of rows; of several lines of a row the last one counts.

    Rows have their short keys here.

    Args:
        replays: whether the keys are those of a replay; then even a failed row counts as answered.
    """

    def __init__(self, *, replays: bool = False) -> None:
        """Know no line yet."""
        self.heads: set[str] = set()
        """The names of the descriptions of calls."""
        self.unread = 0
        """Number of lines that were not read, such as a damaged one; their rows are asked again."""
        self.edited = 0
        """Number of lines that were edited; their rows are asked again."""
        self._replays = replays
        self._places: dict[bytes, int] = {}
        self._failed: set[bytes] = set()
        self._latest = ""

    @property
    def keys(self) -> Collection[bytes]:
        """The keys of all rows."""
        return self._places.keys()

    @property
    def newest(self) -> bytes | None:
        """The key of the row whose line is the last one; ``None`` without lines."""
        return max(self._places, key=self._places.__getitem__, default=None)

    @property
    def latest(self) -> datetime | None:
        """The time of the latest line that was read; ``None`` if unknown."""
        return timestamp(self._latest)

    def place(self, key: bytes) -> int | None:
        """Return the offset of a row's line; ``None`` if it has none.

        Args:
            key: the row's key.
        """
        return self._places.get(key)

    def is_answered(self, key: bytes) -> bool:
        """Return whether a row has ended well, or is replayed.

        Args:
            key: the row's key.
        """
        return key in self._places and key not in self._failed

    def has_failed(self, key: bytes) -> bool:
        """Return whether a row's last line is an error.

        Args:
            key: the row's key.
        """
        return key in self._failed

    def note(self, key: bytes, place: int, *, has_failed: bool) -> None:
        """Note a row's last line.

        Args:
            key: the row's key.
            place: the offset of the line.
            has_failed: whether it is an error.
        """
        self._places[key] = place
        if has_failed:
            self._failed.add(key)
        else:
            self._failed.discard(key)

    def add(self, line: Line) -> bool:
        """Note a line that was read, if it is one of a row; return whether reading goes on.

        It ends at an unfinished last line.

        Args:
            line: the line.
        """
        facts = facts_as_written(line.content)
        if facts is None:
            return self._add_other(line)
        self._note_facts(facts, line.at)
        return True

    def _add_other(self, line: Line) -> bool:
        """Note a line that does not stand as it was written here, as for :meth:`add`."""
        if line.has_end and not line.content.strip():
            return True  # An editor may have left it.
        # After a torn line the next one may follow without a line end.
        begin = max(line.content.rfind(BEGINNING), 0)
        try:
            self._add_parsed(line.content[begin:], line.at + begin)
            if begin > 0:
                self.unread += 1
        except EditedError:
            self.edited += 1
        except (ValueError, RecursionError):
            if not line.has_end and is_torn(line.content):
                return False
            self.unread += 1
        return True

    def _add_parsed(self, line: bytes, place: int) -> None:
        """Note a line by its JSON.

        Raises:
            ValueError: it is no line of a job's file, or was edited.
        """
        value, is_ours = fields_of(line)
        if not is_ours:
            RowReply.of_fields({**value}, is_ours=False)  # checks each field
        head = str(value.get("head", ""))
        if head.startswith("{"):
            self.heads.add(head_name(head))
        facts = LineFacts(
            short_key(value["key"]),
            value["request"],
            value["occurrence"],
            value.get("error", "") != "",
            value.get("ended_at") or "",
        )
        self._note_facts(facts, place)

    def _note_facts(self, facts: LineFacts, place: int) -> None:
        """Note a line by its facts."""
        key = facts.key
        if self._replays:
            key = short_key(replay_key(facts.request, facts.occurrence))
        self.note(key, place, has_failed=facts.has_failed and not self._replays)
        self._latest = max(self._latest, facts.ended_at)
