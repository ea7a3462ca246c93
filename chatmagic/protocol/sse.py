"""Server-Sent Events: bytes to events, events to bytes, and the kind of a body.

The parser accepts two readings of a stream at once. The interface says that each event is a line
(fact 6); the SSE standard says that an event ends at a blank line and may be spread over several
``data`` lines. So a ``data`` line that is JSON by itself is an event when its line ends. Lines that
are JSON only together are an event at the blank line.

Nothing here reads or waits, and no text from a server raises an exception here.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from chatmagic._json import has_many_values
from chatmagic.protocol.chunk_fast_path import Alike, alike
from chatmagic.protocol.json_decoder import JSON_DECODER

BodyKind = Literal["sse", "json", "empty", "other"]

LONGEST_EXCERPT: Final = 200
"""The longest text, in characters, that a :class:`Malformed` keeps."""

_KINDS: Final[dict[str, BodyKind]] = {"text/event-stream": "sse", "application/json": "json"}
_BOM: Final = b"\xef\xbb\xbf"
_WHITE: Final = b" \t\r\n\v\f"
_FIELDS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
_DONE: Final = "[DONE]"
_DONE_LINES: Final = tuple(f"data:{space}{_DONE}".encode() for space in ("", " "))
_LONGEST_DONE: Final = len(_BOM) + max(map(len, _DONE_LINES))


class Payload(NamedTuple):
    """Event that is JSON.

    Args:
        value: the parsed JSON; never ``None``.
        event: the event's name, if the stream gave one before the data.
    """

    value: Any
    event: str | None = None


class Malformed(NamedTuple):
    """Event that is not JSON.

    Args:
        text: its beginning, :data:`LONGEST_EXCERPT` characters at most.
        event: the event's name, if the stream gave one before the data.
    """

    text: str
    event: str | None = None


Event: TypeAlias = Payload | Malformed | str
"""A ``str`` is the content of a chunk that otherwise equals the event before it.

The names of the two events may differ, as the name of a chunk's event has no effect.
"""

MOST_UNUSED: Final = 8
"""Number of lines after which similar lines are no longer expected."""

_LINE_BYTES: Final = 64
"""Memory of a short text beside its characters."""

_NOT_JSON: Final = object()
"""Value for a text that does not parse, because ``None`` is JSON, too."""


class Decoder:
    """Incremental decoder of one stream, which may be cut into pieces anywhere.

    The events are the same for every way of cutting. An event is returned with the piece that
    completes it. The work is linear in the number of bytes.

    Attributes:
        done: whether the promised end arrived, the line ``data: [DONE]`` (fact 7); nothing is
            delivered after it.
    """

    def __init__(self) -> None:
        """Start at the beginning of a body."""
        self.done = False
        self._at_start = True
        self._after_cr = False
        self._unfinished = bytearray()
        self._event: str | None = None
        # Data lines that are no JSON by themselves, and the event name before them.
        self._pending: list[str] = []
        self._pending_event: str | None = None
        self._pending_size = 0
        # Matcher for lines like the latest event. While there is one, no data line waits.
        self._alike: Alike | None = None
        self._unused = 0

    @property
    def is_idle(self) -> bool:
        """Whether no line but a comment has begun."""
        return not self._unfinished or self._unfinished.startswith(b":")

    @property
    def waiting(self) -> int:
        """Size, about, of what waits for the end of its event."""
        return len(self._unfinished) + self._pending_size

    def beginning(self) -> str:
        """Return the line that has not ended, as far as it came."""
        return self._unfinished.decode("utf-8", "replace")

    def feed(self, piece: bytes) -> list[Event]:
        """Decode the next bytes of the body.

        Args:
            piece: the bytes, of any length.

        Returns:
            The events that these bytes complete, oldest first.
        """
        if self._after_cr and piece:
            self._after_cr = False
            piece = piece.removeprefix(b"\n")
        if self.done or not piece:
            return []
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        events: list[Event] = []
        lines, ended, tail = piece.rpartition(b"\n")
        if ended:
            if self._unfinished:
                lines = bytes(self._unfinished) + lines
                self._unfinished.clear()
            for line in self._text(lines).split("\n"):
                if self._alike is not None and (content := self._alike.content_of(line)):
                    self._unused = 0
                    self._event = None
                    events.append(content)
                elif not self.done:
                    self._read_line(line, events)
        if tail and not self.done:
            self._keep(tail, events)
        return events

    def end(self) -> list[Event]:
        """End the body.

        A last line without a line end counts if it is whole; half an event is dropped.

        Returns:
            The events that were still waiting for more.
        """
        events: list[Event] = []
        if not self.done:
            line = self._text(bytes(self._unfinished))
            self._unfinished.clear()
            self._read_line(line, events)
            self._deliver_pending(events, is_cut=line[:1] not in ("", ":"))
        return events

    def _keep(self, tail: bytes, events: list[Event]) -> None:
        """Keep an unfinished line, and recognize the end of the reply before its line end."""
        before = len(self._unfinished)
        self._unfinished += tail
        if before < _LONGEST_DONE:
            begins = len(_BOM) if self._at_start and self._unfinished.startswith(_BOM) else 0
            if self._unfinished.startswith(_DONE_LINES, begins):
                self._deliver_done(events)

    def _text(self, lines: bytes) -> str:
        """Decode whole lines; a byte order mark is skipped at the very start only."""
        if self._at_start:
            self._at_start = False
            lines = lines.removeprefix(_BOM)
        return lines.decode("utf-8", "replace")

    def _read_line(self, line: str, events: list[Event]) -> None:
        """Read one line; the events that it completes are added to the list."""
        if not line:
            self._deliver_pending(events)
            self._event = None
        elif line.startswith("data:"):
            self._alike = None
            self._read_data(line[5:], events, line)
        elif line.startswith("event:"):
            self._event = line[6:].strip() or None
        elif (value := _bare_error(line)) is not None:
            self._alike = None
            self._deliver_pending(events)
            events.append(Payload(value, "error"))

    def _read_data(self, text: str, events: list[Event], line: str) -> None:
        """Read the value of a data line: an event, a part of one that waits, or the end mark."""
        value = _parse(text)
        if value is _NOT_JSON or self._pending:
            # The rest of the line is ignored, as it may not have arrived yet.
            if text.lstrip().startswith(_DONE):
                self._deliver_done(events)
                return
            if not _is_chunk(value):
                self._add_pending(text)
                self._event = None
                return
            # The stream has no blank lines: the waiting text was an event of its own.
            self._deliver_pending(events)
        if value is not None:
            events.append(Payload(value, self._event))
            # Not in a stream whose lines are never alike.
            if self._unused < MOST_UNUSED:
                self._unused += 1
                self._alike = alike(line, value)
        self._event = None

    def _add_pending(self, text: str) -> None:
        """Keep a line that only with other lines makes an event; a blank one begins none."""
        if not self._pending:
            if not text.strip():
                return
            self._pending_event = self._event
        self._pending.append(text.removeprefix(" "))
        self._pending_size += len(text) + _LINE_BYTES

    def _deliver_pending(self, events: list[Event], *, is_cut: bool = False) -> None:
        """Add the event of the lines that wait; one that is cut off is dropped."""
        if not self._pending:
            return
        text = "\n".join(self._pending)
        self._pending.clear()
        self._pending_size = 0
        value = _parse(text)
        if value is not _NOT_JSON:
            events.append(Payload(value, self._pending_event))
        elif self._pending_event == "error":
            events.append(Payload(text, "error"))
        elif not is_cut:
            events.append(Malformed(text[:LONGEST_EXCERPT], self._pending_event))

    def _deliver_done(self, events: list[Event]) -> None:
        """End the reply, with the event of the lines that wait."""
        self._deliver_pending(events)
        self.done = True


def encode_event(value: object) -> bytes:
    """Return one event as bytes, with the blank line that ends it in the SSE standard.

    Args:
        value: any JSON value.

    Raises:
        TypeError: JSON cannot represent ``value``.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Only lone surrogates have no UTF-8, and the error handler writes them as JSON does.
    return f"data: {text}\n\n".encode("utf-8", "backslashreplace")


def encode_done() -> bytes:
    """Return the end of a stream (fact 7)."""
    return f"data: {_DONE}\n\n".encode()


def body_kind(content_type: str | None, head: bytes, *, ended: bool = False) -> BodyKind | None:
    """Return the kind of a body, by its beginning or, if that is unclear, by its header.

    Args:
        content_type: the ``Content-Type`` header, if there is one.
        head: the body so far, decompressed.
        ended: whether ``head`` is the whole body.

    Returns:
        The kind, or ``None`` while more bytes are needed (never when ``ended``). ``empty`` is a
        body of nothing but white space.
    """
    start = head.removeprefix(_BOM).lstrip(_WHITE)
    if start.startswith((b"{", b"[")):
        return "json"
    if start.startswith(b"<"):
        return "other"
    if start.startswith(_FIELDS):
        return "sse"
    if not ended and any(mark.startswith(start) for mark in (_BOM, *_FIELDS)):
        return None
    return _claimed(content_type) if start else "empty"


def _claimed(content_type: str | None) -> BodyKind:
    media_type = (content_type or "").partition(";")[0].strip().lower()
    return "json" if media_type.endswith("+json") else _KINDS.get(media_type, "other")


def _parse(text: str) -> Any:
    """Return the JSON value that the whole text is, or ``_NOT_JSON``."""
    text = text.strip(" \t\n")
    if has_many_values(text):
        return _NOT_JSON
    try:
        value, end = JSON_DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return _NOT_JSON
    return value if end == len(text) else _NOT_JSON


def _bare_error(line: str) -> dict[str, Any] | None:
    """Return the error in a line without ``data:``, with which some servers end a stream."""
    named = line.startswith("error:")
    if not named and not line.startswith("{"):
        return None
    value = _parse(line.removeprefix("error:"))
    return value if isinstance(value, dict) and (named or value.get("error")) else None


def _is_chunk(value: object) -> bool:
    """Return whether a value can only be an event of its own, not a line of a longer one."""
    return isinstance(value, dict) and ("choices" in value or "error" in value)
