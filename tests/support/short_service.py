"""A service that reads so many characters at most, as a transport."""

from __future__ import annotations

import json
from typing import Any

from served import Played

from chatmagic.client.halt import Halt

TOO_LONG = {"error": {"code": "context_length_exceeded", "message": "too many tokens"}}


class ShortService:
    """A transport to a service that refuses what is longer than it reads.

    Args:
        most: how many characters of messages it reads.
    """

    def __init__(self, most: int) -> None:
        """Begin without a request."""
        self.most = most
        self.bodies: list[Any] = []
        self.refusal: Any = TOO_LONG

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Played:
        """Reply with the last prompt, or refuse."""
        asked = json.loads(body)
        self.bodies.append(asked)
        contents = [message["content"] for message in asked["messages"]]
        answer = {"choices": [{"message": {"role": "assistant", "content": contents[-1]}}]}
        is_long = sum(map(len, contents)) > self.most
        data = json.dumps(self.refusal if is_long else answer).encode()
        return Played(400 if is_long else 200, data).send(body, stream=stream, halt=halt)

    def close(self) -> None:
        """Close nothing."""

    @property
    def prompts(self) -> list[str]:
        """What each request carried of the user's, joined."""
        return [
            " ".join(each["content"] for each in body["messages"] if each["role"] == "user")
            for body in self.bodies
        ]
