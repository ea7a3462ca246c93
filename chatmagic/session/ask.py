"""Asks: questions with their parameters and places, and what comes of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Final

from chatmagic._json import with_shared_fields
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
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import ARGUMENT, QuestionPlace, Window, own_instructions
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.other_tools import argument_advice
from chatmagic.safe_text import without_lone_surrogates

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
            text = getattr(self, name)
            if isinstance(text, str):
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
