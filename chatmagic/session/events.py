"""The events of an ask for the followers of a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from chatmagic._log import swallowed
from chatmagic.advice import joined_sentences
from chatmagic.client.halt import Halt
from chatmagic.conversation.turn import MAIN, Turn
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.safe_text import counted, one_line, visible
from chatmagic.session.ask import Ask, Outcome


@dataclass(frozen=True, slots=True)
class Began:
    """Event: a request is about to be sent.

    Args:
        ask: the question.
        notes: lines to show while the reply is awaited.
        turns: the turns of the conversation.
        halt: stops the ask from another thread; the text so far is kept, marked.
        thread: name of the conversation's thread that the turn will be in.
    """

    ask: Ask
    notes: tuple[str, ...]
    turns: tuple[Turn, ...]
    halt: Halt = field(compare=False)
    thread: str = MAIN


@dataclass(frozen=True, slots=True)
class Waiting:
    """Event: a view shows that its ask waits for another one, or that the wait is over."""

    ask: Ask
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Fragment:
    """Event: a fragment of the reply under way arrived."""

    ask: Ask
    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """Event: a fragment of the reasoning arrived, before the reply."""

    ask: Ask
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Event: the ask has ended, with a reply or a part of one, or with neither."""

    ask: Ask
    outcome: Outcome | None
    error: BaseException | None

    @property
    def words(self) -> str:
        """The end of the ask in words, for a status region."""
        if self.error is None and self.outcome is not None:
            return f"Complete, {counted(len(self.outcome.reply.text.split()), 'word')}."
        return joined_sentences(filter(None, failure(self.error)))


@dataclass(frozen=True, slots=True)
class Changed:
    """Event: the conversation was changed without an ask (undo, redo, reset, order)."""


Event = Waiting | Began | Thought | Fragment | Ended | Changed


class Followers:
    """The functions that are called with each event of a session; their exceptions are ignored."""

    def __init__(self) -> None:
        """Begin with none."""
        self._functions: tuple[Callable[[Event], object], ...] = ()

    def __len__(self) -> int:
        """Return their number."""
        return len(self._functions)

    def add(self, follower: Callable[[Event], object]) -> Callable[[], None]:
        """Call a function with each event from now on.

        Args:
            follower: the function. It is called in the ask's worker, so it must be quick.

        Returns:
            A function that removes the follower.
        """
        self._functions = (*self._functions, follower)

        def remove() -> None:
            self._functions = tuple(other for other in self._functions if other is not follower)

        return remove

    def tell(self, event: Event) -> None:
        """Call the followers with an event.

        Args:
            event: the event.
        """
        for function in self._functions:
            with swallowed():
                function(event)


def failure(error: BaseException | None) -> tuple[str, str]:
    """Return the message and the hint of an error, in plain words.

    Args:
        error: the error that ended an ask, or any other.
    """
    if isinstance(error, ChatError | ChatInterrupted):
        return visible(error.message), visible(error.hint or "")
    return one_line(f"{type(error).__name__}: {error}", 300), ""
