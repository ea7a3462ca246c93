"""Errors in the middle of a reply: it is too large, not readable, or an error itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Literal

from chatmagic import advice
from chatmagic.advice import sentences
from chatmagic.client.endpoint import MIB, Limits
from chatmagic.errors import COST_UNKNOWN, ChatError, CutOffError, NotUnderstoodError
from chatmagic.protocol.answer_text import BODY_BYTES, safe_excerpt
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.reply_builder import ReplyBuilder
from chatmagic.protocol.response_errors import AnswerFacts, error_from_response, error_in_reply

Size = Literal["text", "event", "json", "body"]

_LARGEST: Final = {
    "text": "text",
    "event": "event of a stream",
    "json": "whole answer in JSON",
    "body": "body of an answer",
}
_KEPT_HERE: Final = "The text so far is kept, marked; nothing was sent again."
_EXCERPT: Final = 80


class ReplyErrors:
    """The errors of a reply under construction.

    Args:
        answer: returns the answer's status and headers, with the time.
        builder: the reply so far.
        limits: the largest sizes that are read.
    """

    def __init__(
        self, answer: Callable[[], AnswerFacts], builder: ReplyBuilder, limits: Limits
    ) -> None:
        """Keep what the errors are made of."""
        self._answer = answer
        self._builder = builder
        self._limits = limits

    def too_large(self, which: Size) -> CutOffError:
        """Return the error for a reply that is larger than a limit.

        Args:
            which: the limit.
        """
        size: int = getattr(self._limits, which)
        shown = f"{size / MIB:,.3g} MiB" if size >= MIB else f"{size:,} bytes"
        kept = _KEPT_HERE if self._builder.text else COST_UNKNOWN
        setting: Literal["text", "body"] = "body" if which == "body" else "text"
        larger = 2 * getattr(self._limits, setting)
        return CutOffError(
            f"The reply was cut off at {shown}, the largest {_LARGEST[which]} that is read.",
            hint=sentences(kept, advice.larger_limit(setting, larger)),
        )

    def unreadable(self, text: str) -> ChatError:
        """Return the error for a text that is no JSON.

        Args:
            text: the text.
        """
        words = safe_excerpt(text, self._answer().keys, _EXCERPT)
        if self._builder.text:
            return CutOffError(
                f'A part of the reply could not be read: "{words}".', hint=COST_UNKNOWN
            )
        return NotUnderstoodError(f'The answer could not be read: "{words}".', hint=advice.ADDRESS)

    def stated(self, body: ErrorBody) -> ChatError:
        """Return the error for an error object inside a stream, or instead of a reply.

        Args:
            body: the error object.
        """
        return error_in_reply(self._answer(), body, begun=bool(self._builder.text))

    def no_reply(self, body: bytes) -> ChatError:
        """Return the error for an answer that is no reply, such as a proxy's page.

        Args:
            body: the beginning of its body.
        """
        return error_from_response(self._answer(), body)

    def no_chat(self, event: object) -> ChatError:
        """Return the error for a stream without a chunk.

        Args:
            event: its first event: a text, or another JSON value.
        """
        if (coded := ErrorBody.with_code(event)) is not None:
            return self.stated(coded)
        text = event if isinstance(event, str) else json.dumps(event)
        words = safe_excerpt(text[:BODY_BYTES], self._answer().keys, _EXCERPT)
        error = NotUnderstoodError(
            f'The stream is not the chat service\'s; it holds "{words}".', hint=advice.ADDRESS
        )
        error.holds_json = not isinstance(event, str)
        return error
