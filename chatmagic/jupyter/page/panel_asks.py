"""The asks that panels show: those under way, and finished ones that the conversation has not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from chatmagic.advice import sentences, sentences_at
from chatmagic.client.halt import Halt
from chatmagic.conversation.turn import Turn
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.jupyter.page import panel_content
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn
from chatmagic.protocol import credits as crediting
from chatmagic.safe_text import visible
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.events import Began, Ended, failure

MOST_ASIDES: Final = 50
NOT_KEPT: Final = "Not kept: this question was asked without history."

Stage = Literal["asked", "sending", "waiting", "began"]


@dataclass(slots=True)
class PendingAsk:
    """An ask that is not over.

    Args:
        ask: the question to ask.
        stage: ``asked`` until the page says go, ``sending``, ``waiting`` for another ask, or
            ``began``.
        note: a note on it.
        after: number of the turn after which it stands; ``None`` is the end.
        replaces: numbers of the turns that its turn will replace.
        halt: stops it; ``None`` until it is known.
        drawn: the drawing of its reply in pages.
        thread: name of its thread; empty until it has begun.
    """

    ask: Ask
    stage: Stage = "asked"
    note: str = ""
    after: int | None = None
    replaces: Sequence[int] = ()
    halt: Halt | None = None
    drawn: ReplyDrawn | None = None
    thread: str = ""

    @property
    def mine(self) -> bool:
        """Whether the panel asked it."""
        return self.ask.entry == "panel"

    def place(self, turns: Sequence[Turn]) -> None:
        """Find the place of its turn among the live ones, and the turns that it replaces.

        Args:
            turns: the live turns.
        """
        owner = self.ask.owner
        execution = self.ask.execution
        own = [turn for turn in turns if owner and turn.owner == owner]
        if own:
            self.after = own[-1].number
            self.replaces = [turn.number for turn in own if turn.execution != execution]

    def is_in(self, thread: str) -> bool:
        """Return whether panels show it: the panel's own, or one of the thread that they show.

        Args:
            thread: the thread that panels show.
        """
        return self.mine or self.thread in {"", thread}

    def begin(self, began: Began) -> None:
        """Note that its request is about to be sent.

        Args:
            began: the beginning.
        """
        self.place(began.turns)
        self.thread = began.thread
        self.stage = "began"
        self.halt = began.halt
        self.note = "; ".join(began.notes)

    def ended(self, words: str, *, answered: bool, fine: bool = False) -> Message:
        """Return its end for a message (``Ended``), with a prompt of the panel not answered.

        Args:
            words: the text for the status region.
            answered: whether the service has answered.
            fine: whether it ended without an error.
        """
        prompt = self.ask.as_typed if self.mine and not answered else None
        return {"live": self.ask.live, "words": words, "fine": fine, "prompt": prompt}

    def values(self) -> Message:
        """Return the ask in the form of a message (``Pending``)."""
        return {
            "live": self.ask.live,
            **panel_content.prompt(self.ask.as_typed, self.ask.asker, self.ask.entry),
            "stage": self.stage,
            "note": self.note,
            "after": self.after,
            "replaces": list(self.replaces),
            "html": "" if self.drawn is None else self.drawn.html,
        }


class PanelAsks:
    """The asks under way, and the asides: finished asks that the conversation does not show."""

    def __init__(self) -> None:
        """Begin without any."""
        self.under_way: dict[str, PendingAsk] = {}
        """By their names in pages."""
        self.asides: list[panel_content.Aside] = []
        self._aside_ids = itertools.count(-1, -1)

    def is_asking(self) -> bool:
        """Return whether a question of the panel is under way."""
        return any(pending.mine for pending in self.under_way.values())

    def not_taken_up(self) -> list[PendingAsk]:
        """Return the asks that no page has told to go."""
        return [pending for pending in self.under_way.values() if pending.stage == "asked"]

    def add(self, ask: Ask, turns: Sequence[Turn]) -> PendingAsk:
        """Add an ask of the panel that is not sent yet, and return it.

        Args:
            ask: the question to ask.
            turns: the live turns.
        """
        pending = PendingAsk(ask)
        pending.place(turns)
        self.under_way[ask.live] = pending
        return pending

    def begin(self, began: Began) -> PendingAsk:
        """Note that an ask begins, a cell's or one that a panel has added, and return it.

        Args:
            began: the beginning.
        """
        pending = self.under_way.setdefault(began.ask.live, PendingAsk(began.ask))
        pending.begin(began)
        return pending

    def drop(self, pending: PendingAsk) -> None:
        """Remove an ask that was not sent.

        Args:
            pending: the ask.
        """
        self.under_way.pop(pending.ask.live, None)

    def end(self, ended: Ended, turns: Sequence[Turn]) -> PendingAsk | None:
        """Note that an ask has ended, and return it.

        Args:
            ended: the end.
            turns: the live turns of the thread that panels show.

        Returns:
            ``None`` for an ask that failed before it began: only its cell shows that.
        """
        pending = self.under_way.pop(ended.ask.live, None)
        if pending is None and ended.outcome is None:
            return None
        pending = pending or PendingAsk(ended.ask)
        if _is_aside(ended):
            self._keep_aside(pending, ended, turns)
        return pending

    def _keep_aside(self, pending: PendingAsk, ended: Ended, turns: Sequence[Turn]) -> None:
        """Keep the entry of a finished ask that the conversation does not show."""
        after = pending.after
        if after is None:
            after = turns[-1].number if turns else panel_content.TOP
        entry = _aside(next(self._aside_ids), pending.ask, ended.outcome, ended.error)
        self.asides = [*self.asides, (after, entry)][-MOST_ASIDES:]


def _is_aside(ended: Ended) -> bool:
    """Return whether the conversation does not show a finished ask: it failed, or was not kept."""
    if ended.error is not None and not isinstance(ended.error, KeyboardInterrupt):
        return True
    return ended.outcome is not None and not ended.ask.history


def _advice_beside_gauge(error: BaseException) -> str:
    """Return the advice of an error without the figures of the credits, which the gauge shows."""
    if not isinstance(error, ChatError | ChatInterrupted):
        return ""
    figures = sentences(crediting.used_words(error.credits))
    advice = tuple(part for part in error.advice if part not in figures)
    return visible(sentences_at(advice, "notebook"))


def _aside(number: int, ask: Ask, outcome: Outcome | None, error: BaseException | None) -> Message:
    """Return the entry of a finished ask; a kept turn has its prompt and its reply itself."""
    is_kept = outcome is not None and ask.history
    if error is None:
        what = NOT_KEPT
        hint = ""
    else:
        what = failure(error)[0]
        hint = _advice_beside_gauge(error)
    reply = None
    if outcome is not None and not is_kept:
        reply = panel_content.reply(outcome.reply, ask.format)
    return {
        "id": number,
        "version": "",
        **panel_content.prompt("" if is_kept else ask.as_typed, ask.asker, ask.entry),
        "notes": [],
        "took": None,
        "reply": reply,
        "problem": {"what": what, "hint": hint, "failed": error is not None},
        "replies": [],
    }
