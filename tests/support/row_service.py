"""A service that answers the rows of a map, as a transport that counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from served import LIMIT, Played, left

from chatmagic.client.halt import Halt


class RowService:
    """A transport to a service that answers each prompt with itself, in capitals.

    Args:
        credits: how many requests it answers; ``None`` tells no credits.
        refuses: returns the status for a prompt, such as 500; 200 is a reply.
    """

    def __init__(
        self, credits: int | None = None, refuses: Callable[[str], int] = lambda _: 200
    ) -> None:
        """Begin without a request."""
        self.credits = credits
        self.refuses = refuses
        self.bodies: list[Any] = []
        self.lock = threading.Lock()
        self.at_once = self.most_at_once = 0
        self.before: Callable[[str], object] = str
        self.answers: Callable[[str], str] = str.upper

    @property
    def prompts(self) -> list[str]:
        """What was asked, in order."""
        return [body["messages"][-1]["content"] for body in self.bodies]

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Played:
        """Reply, or refuse."""
        asked = json.loads(body)
        prompt = asked["messages"][-1]["content"]
        with self.lock:
            self.bodies.append(asked)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.before(prompt)
        with self.lock:
            self.at_once -= 1
            status = self.refuses(prompt)
            if self.credits is not None and status == 200:
                status = 200 if self.credits else 429
                self.credits -= bool(self.credits)
            answer: Any = {"error": {"message": "no"}}
            if status == 200:
                content = self.answers(prompt)
                answer = {
                    "choices": [{"message": {"role": "assistant", "content": content}}],
                    "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
                }
            elif status == 429 and self.credits is not None:
                answer = LIMIT
            played = Played(status, json.dumps(answer).encode())
            played.headers = [("Content-Type", "application/json")]
            if self.credits is not None:
                played.headers += left(self.credits).items()
        return played.send(body, stream=stream, halt=halt)

    def close(self) -> None:
        """Close nothing."""
