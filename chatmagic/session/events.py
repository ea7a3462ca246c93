"""Asks, their outcomes, and the events of an ask for views and followers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Final

from chatmagic._json import with_shared_fields
from chatmagic._log import swallowed
from chatmagic.advice import Place
from chatmagic.archive import output
from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import (
    A_NAME,
    ASKED_FOR_THE_REST,
    Entry,
    Parameters,
    RequestFacts,
    Value,
    thread_name,
)
from chatmagic.conversation.record import Record
from chatmagic.conversation.turn import MAIN, Turn
from chatmagic.conversation.window import ARGUMENT, QuestionPlace, Window, own_instructions
from chatmagic.errors import ChatError, ChatInterrupted, InputError
from chatmagic.models import Reply
from chatmagic.other_tools import argument_advice
from chatmagic.protocol.thoughts import CLOSE, split_unopened
from chatmagic.safe_text import counted, one_line, to_terminal, visible, without_lone_surrogates

EMPTY: Final = "The prompt is empty. Nothing was sent."


@dataclass(frozen=True, slots=True)
class Ask(RequestFacts):
    """One question, with its parameters and its place.

    Args:
        keep_values: whether the record keeps the values themselves, visible to all.
        allow_secrets: whether the question is sent although it holds a secret.
        fit: whether it is sent once more, without the oldest turns, if the service refuses the
            conversation as too long.
        order: hashes of the page's cells from top to bottom; ``None`` takes the order that the page
            reports, if it does.
        part: the turn whose reply it continues, in place of ``again``; ``None`` asks again from the
            start.
        compared: whether it is asked several times, each with other settings.
        notes: lines on the values in the prompt, to show while the reply is awaited.
        background: for a question in the background the page's name of its cell, empty if unknown;
            ``None`` for a cell that waits for the reply.
        instructions: instructions of this question alone; ``None`` for those at its place.
        live: its name in pages, unique among all kernels.
    """

    _: KW_ONLY
    entry: Entry = "python"
    asker: str = "Python"
    keep_values: bool = False
    allow_secrets: bool = False
    fit: bool = False
    order: tuple[str, ...] | None = None
    part: Turn | None = None
    compared: bool = False
    notes: tuple[str, ...] = ()
    background: str | None = field(default=None, repr=False)
    instructions: str | None = None
    live: str = field(
        default_factory=lambda: os.urandom(6).hex(), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Replace lone surrogates, which no record can hold, and check the thread's name.

        A schema implies the form JSON.
        """
        for name in ("prompt", "typed"):
            if isinstance(text := getattr(self, name), str):
                object.__setattr__(self, name, without_lone_surrogates(text))
        if self.thread is not None:
            try:
                object.__setattr__(self, "thread", thread_name(self.thread))
            except ValueError:
                raise InputError(f"thread is {A_NAME}. Nothing was sent.") from None
        if self.schema is not None and self.format == "markdown":
            object.__setattr__(self, "format", "json")

    @classmethod
    def with_options(cls, prompt: str, options: Parameters) -> Ask:
        """Return a question with its options.

        Args:
            prompt: the question.
            options: the options, such as those of a magic's line.
        """
        return with_shared_fields(cls(prompt), options, Parameters)

    @classmethod
    def of_turn(cls, turn: Turn) -> Ask:
        """Return the question of a turn, with its own instructions.

        Args:
            turn: the turn.
        """
        own = own_instructions(turn)
        ask = cls(turn.prompt, instructions=None if own is None else own.text)
        return with_shared_fields(ask, turn, RequestFacts)

    def refuse_empty(self) -> None:
        """Raise an error if the prompt is empty, or no text.

        Raises:
            InputError: the prompt is empty, or no text.
        """
        prompt: object = self.prompt
        if not isinstance(prompt, str):
            raise InputError(
                f"The prompt is text, not {type(prompt).__name__}. Nothing was sent.",
                hint=argument_advice("messages") if isinstance(prompt, list) else None,
            )
        if not prompt.strip():
            raise InputError(EMPTY)

    def instruct(self, window: Window) -> Window:
        """Return a window with the question's own instructions, if it has some.

        Args:
            window: the part of a conversation that the request carries.

        Raises:
            InputError: they are no text.
        """
        text: object = self.instructions
        if text is None:
            return window
        if not isinstance(text, str):
            raise InputError(f"instructions is text, not {type(text).__name__}. Nothing was sent.")
        value = Value.of_text(ARGUMENT, text, "instructions") if text.strip() else None
        return replace(window, instructions=value)

    def window_in(self, conversation: Conversation, order: Sequence[str] | None) -> Window:
        """Return the part of a conversation that the request carries.

        Args:
            conversation: the conversation.
            order: hashes of the page's cells from top to bottom, if the page reports them.

        Raises:
            InputError: the turn to ask again is gone, or ``last`` is no number of turns.
        """
        return conversation.window(self._place_in(order), last=self.last)

    def thread_in(self, conversation: Conversation, order: Sequence[str] | None) -> str:
        """Return the name of the thread that the question is asked in.

        Args:
            conversation: the conversation.
            order: hashes of the page's cells from top to bottom, if the page reports them.

        Raises:
            InputError: the turn to ask again is gone.
        """
        return conversation.thread_at(self._place_in(order))

    def _place_in(self, order: Sequence[str] | None) -> QuestionPlace:
        """Return the place at which it is asked, in the page's order of the cells."""
        # The panel is no cell: its reply stands where the one before it does.
        is_in_place = self.entry == "panel" and self.again is not None
        return QuestionPlace(
            None if is_in_place else self.owner,
            self.execution,
            order=order,
            thread=self.thread,
            again=self.again,
        )

    def as_sent(self, window: Window) -> tuple[Ask, Window]:
        """Return the question and the window of the request; a continuation carries its turn.

        Args:
            window: the turns above.
        """
        if self.part is None:
            return self, window
        ask = replace(self, prompt=ASKED_FOR_THE_REST, typed=None, values=())
        return ask, window.with_turn(self.part)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of an ask.

    Args:
        reply: the reply, whole or in part.
        record: the facts of the turn, as an output keeps them.
        whole: the continued reply with its new part; ``None`` if the ask continues none.
    """

    reply: Reply
    record: Record
    whole: Reply | None = None

    @property
    def kept(self) -> Reply:
        """The reply of the turn."""
        return self.whole or self.reply


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
        return " ".join(filter(None, failure(self.error)))


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


class View:
    """Display of one ask; this one shows nothing (see :mod:`chatmagic.jupyter.reply_views`)."""

    def waiting(self, holder: str) -> None:
        """Show that this ask waits for another one.

        Args:
            holder: name of the cell or panel whose ask it waits for.
        """

    def began(self, notes: Sequence[str]) -> None:
        """Show that the request is about to be sent.

        Args:
            notes: lines on special facts of this ask.
        """

    def sent(self) -> None:
        """Show that the request goes to the network now."""

    def fragment(self, text: str) -> None:
        """Show a fragment that arrived.

        Args:
            text: the fragment of the reply.
        """

    def ended(self, outcome: Outcome) -> None:
        """Show the reply, whole or in part.

        Args:
            outcome: the end of the ask, with its reply.
        """

    def failed(self) -> None:
        """Show that there is no reply; the conversation is as it was."""

    def thought(self, reasoning: str) -> None:
        """Show the thoughts of a model that gave no reply.

        Args:
            reasoning: the thoughts, as far as they arrived.
        """


class Listener(View):
    """View of a caller that needs only the fragments, or nothing."""

    def __init__(self, on_fragment: Callable[[str], object] | None) -> None:
        """Call ``on_fragment`` with each fragment."""
        self._on_fragment = on_fragment

    def fragment(self, text: str) -> None:
        """Pass a fragment on.

        Args:
            text: the fragment of the reply.
        """
        if self._on_fragment is not None:
            self._on_fragment(text)


THOUGHTS_ABOVE: Final = (
    f"The text up to {CLOSE} is the model's thoughts. The reply is what follows it."
)


class TextView(View):
    """View that writes the text of a reply as it arrives."""

    place: Place = "notebook"
    """The place that shows the lines under it."""

    def __init__(self) -> None:
        """Write nothing yet."""
        self._written: list[str] = []
        """The text of the reply that was written, in pieces."""
        self._has_thoughts = False
        """Whether thoughts were written as the reply."""

    def write(self, text: str) -> None:
        """Write a text to standard output.

        Args:
            text: the text, made safe.
        """
        print(text, end="", flush=True)  # noqa: T201 - that is its task

    def safe(self, text: str) -> str:
        """Return a text of a reply in which nothing acts in a terminal.

        Args:
            text: a fragment.
        """
        return to_terminal(text)

    def take(self, text: str) -> None:
        """Write a text of the reply.

        Args:
            text: a fragment.
        """
        if text:
            self._written.append(text)
            self.write(self.safe(text))

    def fragment(self, text: str) -> None:
        """Write a fragment.

        Args:
            text: the fragment of the reply.
        """
        self.take(text)

    def ended(self, outcome: Outcome) -> None:
        """Write the rest of the reply: after an interrupt more may have arrived.

        Args:
            outcome: the end of the ask, with its reply.
        """
        reply = outcome.reply
        written = "".join(self._written)
        if reply.reasoning is None or reply.text.startswith(written):
            self.take(reply.text[len(written) :])
            return
        # Thoughts without a beginning were written as the reply, and cannot be taken back.
        self._has_thoughts = True
        thoughts, begun = split_unopened(written)
        self.take(reply.text[len(begun) :] if thoughts else f"\n{CLOSE}\n\n{reply.text}")

    def lines(self, outcome: Outcome) -> list[str]:
        """Return the lines under a reply: its state, then its credits.

        Args:
            outcome: the reply, with its record.
        """
        reply = outcome.reply
        record = outcome.record
        lines = [
            *([THOUGHTS_ABOVE] if self._has_thoughts else []),
            *output.seam_lines(reply, record, self.place),
            *output.state_lines(reply, self.place),
        ]
        return [line for line in (*lines, output.credit_line(reply, record)[1]) if line]
