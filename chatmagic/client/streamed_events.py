"""The events of a stream, as they are added to a reply."""

from __future__ import annotations

from chatmagic.client.reply_errors import ReplyErrors
from chatmagic.errors import COST_UNKNOWN, CutOffError
from chatmagic.protocol import sse
from chatmagic.protocol.chunk import Chunk, plain_content, unknown_texts
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.reply_builder import ReplyBuilder


class StreamedEvents:
    """The events of a stream (facts 6, 7), and the variants of other servers.

    Args:
        builder: the reply to which they are added.
        errors: make the errors of the reply.
    """

    def __init__(self, builder: ReplyBuilder, errors: ReplyErrors) -> None:
        """Start before the first event."""
        self._builder = builder
        self._errors = errors
        self._foreign: object = None
        """The first event that was no chunk, since the latest text."""
        self._unknown = ""
        """The latest texts in fields that are not read."""

    @property
    def progress(self) -> tuple[object, ...]:
        """Value that changes when something new of the reply comes.

        A text in a field that is not read may be a thought; repeated, it is nothing new.
        """
        return *self._builder.progress, self._unknown

    def add(self, event: sse.Event) -> str:
        """Add an event to the reply; return the fragment that it adds.

        Args:
            event: the next event.

        Raises:
            ChatError: the reply is too large, or the event is an error or cannot be read.
        """
        if self._builder.is_full:
            raise self._errors.too_large("text")
        if isinstance(event, str):
            return self._builder.append(event)
        if isinstance(event, sse.Malformed):
            self._add_malformed(event)
            return ""
        return self._add_value(event)

    def _add_malformed(self, event: sse.Malformed) -> None:
        """Note a text under the name of another event, such as a ping; raise for any other."""
        if event.event in (None, "message") or event.text.startswith(("{", "[")):
            raise self._errors.unreadable(event.text)
        self._foreign = self._foreign or event.text

    def _add_value(self, event: sse.Payload) -> str:
        """Add a chunk, and note any other JSON; return the fragment that it adds."""
        value = event.value
        if isinstance(value, dict) and (content := plain_content(value, self._builder.names)):
            self._foreign = None
            return self._builder.append(content)
        if (body := _error_in(event)) is not None:
            raise self._errors.stated(body)
        if not isinstance(value, dict):
            self._foreign = self._foreign or value
            return ""
        fragment = self._builder.add(Chunk.from_json(value))
        self._unknown = unknown_texts(value) or self._unknown
        if fragment:
            self._foreign = None
        elif value.get("choices") is None:
            self._foreign = self._foreign or value
        return fragment

    def check_end(self, *, done: bool) -> None:
        """Raise an error if the reply did not end as a whole one does.

        Args:
            done: whether its end mark came.

        Raises:
            ChatError: it is cut off, is an error, or is no reply.
        """
        if self._builder.is_full:
            raise self._errors.too_large("text")
        finish_reason = self._builder.finish_reason
        # An event without choices may be an error if no text came after it.
        complaint = None if self._foreign is None else ErrorBody.from_json(self._foreign)
        if finish_reason == "error" or (complaint and not done and finish_reason is None):
            raise self._errors.stated(complaint or ErrorBody())
        if self._foreign and not self._builder.begun:
            raise self._errors.no_chat(self._foreign)
        if done:
            return
        if not self._builder.begun:
            raise CutOffError("The stream ended before the reply began.", hint=COST_UNKNOWN)
        if finish_reason is None:
            raise CutOffError(
                "The reply was cut off: the stream ended without its end mark.", hint=COST_UNKNOWN
            )


def _error_in(event: sse.Payload) -> ErrorBody | None:
    """Return the error that an event states; ``None`` for no error."""
    value = event.value
    if event.event != "error" or (isinstance(value, dict) and "choices" in value):
        return ErrorBody.in_reply(value)
    if isinstance(value, str):
        return ErrorBody(message=value)
    return ErrorBody.from_json(value) or ErrorBody(error="error")
