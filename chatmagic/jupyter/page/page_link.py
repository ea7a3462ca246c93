"""The link between the kernel and its pages: one comm, and one for messages that may not wait.

Messages of a page may arrive in any thread, even while a cell runs.
"""

from __future__ import annotations

import contextvars
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

import comm

from chatmagic.jupyter.page.messages import ID, TARGET, URGENT, Message

ANSWERS: Final = ("coded", "started")
"""The kinds of a page's messages that answer one of the kernel's."""

Handler = Callable[[Message], object]


class PageLink:
    """The link to all pages of one kernel.

    Args:
        handlers: called with a page's message, by its kind. No value of it is certain.
    """

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        """Open nothing yet."""
        self._context = contextvars.copy_context()
        self._handlers = {**dict.fromkeys(ANSWERS, self._take_answer), **handlers}
        self._last_key = 0
        self._awaited: dict[int, Handler] = {}
        self._comm: Any = None

    def open(self, state: Message) -> None:
        """Open the link in every page.

        Args:
            state: the kernel's state, for pages that are there already.
        """
        self._comm = comm.create_comm(
            target_name=TARGET, comm_id=f"{ID}{secrets.token_hex(8)}", data=state
        )
        self._comm.on_msg(self._hear)
        self._comm.on_close(self._stay_open)
        comm.get_comm_manager().register_target(URGENT, self._hear_urgent)

    def close(self) -> None:
        """Close the link; a page removes everything that it has added."""
        comm.get_comm_manager().unregister_target(URGENT, self._hear_urgent)
        self._comm.close()

    def send(self, message: Message) -> None:
        """Send a message to all pages, in the context of the cell that opened the link.

        Args:
            message: the message.
        """
        self._context.run(self._comm.send, message)

    def ask(self, message: Message, take_answer: Handler) -> None:
        """Send a message that one page answers.

        Args:
            message: the message, which names the page.
            take_answer: called with the answer, which may never arrive.
        """
        self._last_key += 1
        self._awaited = {self._last_key: take_answer}  # a page that is gone does not answer
        self.send({**message, "key": self._last_key})

    def _take_answer(self, answer: Message) -> None:
        """Give a page's answer to the function that waits for it."""
        take_answer = self._awaited.pop(answer.get("key", 0), None)
        if take_answer is not None:
            take_answer(answer)

    def _hear(self, message: Any) -> None:
        """Give a message of a page to the handler of its kind; ignore any other value."""
        content = message["content"]["data"]
        if not isinstance(content, dict):
            return
        handler = self._handlers.get(str(content.get("kind")))
        if handler is not None:
            handler(content)

    def _hear_urgent(self, _comm: object, message: Any) -> None:
        """Take the first message of a comm that was opened for it."""
        self._hear(message)

    def _stay_open(self, _message: object) -> None:
        """Keep the comm for other pages: a front end without the script closes it."""
        comm.get_comm_manager().register_comm(self._comm)
