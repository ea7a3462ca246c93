"""Note on a reply that held an API key, which was removed from it."""

from __future__ import annotations

from collections.abc import Callable

from chatmagic._log import swallowed
from chatmagic.advice import Note
from chatmagic.client import config
from chatmagic.protocol.api_key import REMOVED
from chatmagic.session.exchange import Answer, Sending
from chatmagic.session.feature import Feature


class KeyNote(Feature):
    """Link that says once for each service that a reply held a key.

    Args:
        notify: shows a line to the user.
    """

    def __init__(self, notify: Callable[[Note], object]) -> None:
        """Have said nothing."""
        self.notify = notify

    def __call__(self, sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        """Pass a request on, and look at its answer.

        Args:
            sending: the request.
            proceed: the next step.
        """
        answer = proceed(sending)
        if answer.has_removed_key:
            line = (
                f"A reply from {sending.client.endpoint.shown_place()} held an API key of yours; "
                f"{REMOVED} stands in its place. If others could read it, revoke the key."
            )
            for new in config.new_warnings([line]):
                with swallowed():  # a warning may be an error, which must not lose the reply
                    self.notify(new)
        return answer
