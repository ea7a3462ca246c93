"""Recorder: the link that answers from a session's cassette, or records the service's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from chatmagic._fork import Lock
from chatmagic.cassette import transports
from chatmagic.cassette.cassette import ActiveCassette
from chatmagic.cassette.transports import RecordingTransport
from chatmagic.errors import ChatError
from chatmagic.session.exchange import Answer, Sending, send


@dataclass(frozen=True, slots=True)
class Recorder:
    """Link that asks a cassette first; without one a request passes unchanged.

    Args:
        cassette: the session's cassette.
        lock: held while an answer is recorded.
    """

    cassette: ActiveCassette
    lock: Lock

    def __call__(self, sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        """Answer a request from the cassette, or pass it on and record the answer.

        Args:
            sending: the request, with the source of its answer.
            proceed: the next step.
        """
        lookup, cassette = sending.lookup, self.cassette.current
        if lookup is None or cassette is None:
            return proceed(sending)
        answers: list[RecordingTransport] = []
        passed = replace(sending, through=transports.through(lookup, answers.append))
        if lookup.interaction is not None:
            return send(passed)
        answer = proceed(passed)
        # An error has no cost of its own.
        took = answer.took if answer.reply.state == "complete" else None
        reply = replace(answer.reply, took=took)
        for exchange in answers:
            new = transports.recorded(
                lookup.query.asked, exchange, reply, sending.client.endpoint.known_keys
            )
            if new is not None:
                try:
                    with self.lock:
                        cassette.record(new, lookup.query)
                except ChatError as error:
                    return replace(answer, problem=error)
        return answer
