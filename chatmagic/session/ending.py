"""End of the work for an ask: its outcome or its error, and how a view shows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatmagic.advice import LESS, TOOK_SCHEMA, sentences
from chatmagic.errors import SHORTER_HINT, ChatInterrupted, ReplyFormatError, TooLongError
from chatmagic.models import Reply
from chatmagic.safe_text import counted
from chatmagic.session import forms
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.prepare import Prepared
from chatmagic.session.views import View


@dataclass(frozen=True, slots=True)
class Ending:
    """End of the work for an ask.

    Args:
        prepared: the question as it was sent last; ``None`` if it was not.
        reply: the reply so far; ``None`` if nothing was sent.
        outcome: the reply that is kept; ``None`` for none.
        problem: the error that ended the reply early.
    """

    prepared: Prepared | None = None
    reply: Reply | None = None
    outcome: Outcome | None = None
    problem: BaseException | None = None

    def show(self, view: View) -> None:
        """Show the end in a view.

        Args:
            view: the view that shows the ask.
        """
        if self.outcome is not None:
            view.ended(self.outcome)
            return
        view.failed()
        if self.reply is not None and self.reply.reasoning:
            view.thought(self.reply.reasoning)

    def parsed(self, asked: Ask) -> Ending:
        """Return the end with the value of a JSON reply, or with its error; the turn is kept.

        Args:
            asked: the question as it was asked.
        """
        prepared = self.prepared
        outcome = self.outcome
        if self.problem is not None or outcome is None or prepared is None:
            return self
        ask = prepared.ask
        if ask.format != "json":
            return self
        try:
            reply = forms.parsed(outcome.kept, ask.form, kept=ask.history)
        except ReplyFormatError as problem:
            if asked.schema is None and ask.schema is not None:
                problem.advice = sentences(problem.advice, TOOK_SCHEMA)
            return replace(self, problem=problem)
        if outcome.whole is None:
            return replace(self, outcome=replace(outcome, reply=reply))
        return replace(self, outcome=replace(outcome, whole=reply))

    def raised(self, interrupt: BaseException | None) -> BaseException | None:
        """Return the error to raise for the ask; ``None`` for none.

        Args:
            interrupt: the error that interrupted the wait for the work; ``None`` for none.
        """
        problem = self.problem
        if isinstance(interrupt, KeyboardInterrupt):
            if not isinstance(problem, ChatInterrupted):
                problem = interrupted(None if self.outcome is None else self.outcome.kept)
        elif interrupt is not None:
            problem = interrupt
        is_alone = self.prepared is not None and not self.prepared.window.turns
        if isinstance(problem, TooLongError) and is_alone:
            other = (SHORTER_HINT if part == LESS else part for part in problem.advice)
            problem.advice = sentences(*other)
        return problem


def interrupted(reply: Reply | None) -> ChatInterrupted:
    """Return the error for an ask that a person stopped, with the partial reply.

    Args:
        reply: the part that arrived; ``None`` without one.
    """
    if reply is None or not reply.text:
        return ChatInterrupted("Interrupted before the reply began; the conversation is as it was.")
    if reply.state == "complete":
        event = "Interrupted after the reply's end; it is kept."
    else:
        words = counted(len(reply.text.split()), "word")
        event = f"Interrupted after {words}; the text so far is kept, marked."
    return ChatInterrupted(event, reply=reply, credits=reply.credits)
