"""Run of one ask: the work in a worker, and its events for a view and the followers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

from chatmagic._fork import Lock
from chatmagic.advice import Note, Place
from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import ChatInterrupted, shown_at
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.ask_lock import AskLock
from chatmagic.session.asker import Asker
from chatmagic.session.audience import Audience
from chatmagic.session.ending import Ending, interrupted
from chatmagic.session.events import Began, Ended, Followers
from chatmagic.session.feature import Feature
from chatmagic.session.ledger import Ledger
from chatmagic.session.views import View
from chatmagic.session.worker import Worker


class RunningSession(Protocol):
    """Session as the run of one of its asks sees it."""

    asker: Asker
    conversation: Conversation
    features: tuple[Feature, ...]
    followers: Followers
    ledger: Ledger
    lock: AskLock
    state_lock: Lock
    took: int | None

    @property
    def place(self) -> Place:
        """The place whose words its errors and lines have."""

    def notify(self, line: Note) -> None:
        """Show a line to the user at once.

        Args:
            line: the line.
        """


@dataclass(frozen=True, slots=True)
class AskRun:
    """One ask from beginning to end.

    Args:
        session: its session.
        ask: the question.
        view: the view that shows it.
        halt: stops it from another thread.
    """

    session: RunningSession
    ask: Ask
    view: View
    halt: Halt

    def outcome(self) -> Outcome:
        """Return the outcome, after all its events.

        Raises:
            ChatError: see :meth:`chatmagic.session.session.Session.ask`.
            ChatInterrupted: see there.
        """
        followers = self.session.followers
        worker: Worker[Ending] = Worker(self._work, self.halt.stop)
        try:
            with shown_at(self.session.place):
                interrupt = worker.wait()
                outcome = self._end(worker.finished or Ending(), interrupt)
        except BaseException as error:
            kept = worker.finished
            followers.tell(Ended(self.ask, None if kept is None else kept.outcome, error))
            raise
        followers.tell(Ended(self.ask, outcome, None))
        return outcome

    def _end(self, ending: Ending, interrupt: BaseException | None) -> Outcome:
        """Show the end of the ask; return its outcome, or raise the error that ended it early.

        Args:
            ending: the end of its work.
            interrupt: the error that interrupted the wait for the worker; ``None`` for none.
        """
        self.session.ledger.tell()
        try:
            if interrupt is None:
                ending = ending.parsed(self.ask)
            ending.show(self.view)
        except KeyboardInterrupt as error:
            interrupt = error
            # The interrupt came while the last state was drawn. The turn is kept, so draw it again.
            ending.show(self.view)
        problem = ending.raised(interrupt)
        for feature in self.session.features:
            for line in feature.late_news(problem):
                self.session.notify(line)
        if problem is not None:
            raise problem from None
        return cast("Outcome", ending.outcome)

    def _work(self, worker: Worker[Ending]) -> Ending:
        """Return the end of the whole ask, done in a worker; errors are part of the end."""
        try:
            self.ask.refuse_empty()
            with self.session.lock.held(
                self.ask.asker,
                worker.caller,
                self.halt,
                waiting=lambda holder: worker.tell(partial(self.view.waiting, holder)),
                threads=partial(self.session.asker.threads_of, self.ask),
            ):
                return self._in_its_thread(worker)
        except ChatInterrupted:
            return Ending(problem=interrupted(None))
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            return Ending(problem=error)

    def _in_its_thread(self, worker: Worker[Ending]) -> Ending:
        """Return the end of the ask, while its thread of the conversation has no other ask."""
        session = self.session
        with session.state_lock:
            asking = session.asker.admitted(self.ask)
        worker.tell_first(partial(self.view.began, asking.notes))
        thread = asking.prepared.window.thread
        turns = session.conversation.turns
        session.followers.tell(Began(self.ask, asking.notes, turns, self.halt, thread))
        audience = Audience(self.ask, session.followers, self.view, worker)
        ending = session.asker.asked(asking, self.halt, audience)
        if ending.outcome is not None:
            session.took = ending.outcome.reply.took
        return ending
