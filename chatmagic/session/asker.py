"""The steps of a question: it is admitted, exchanged for its reply, and kept; or only shown.

A session does them in this order, in a worker and under its locks.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from chatmagic._fork import Lock
from chatmagic._log import log_swallowed
from chatmagic.advice import GOES_ON, Place, note_at, sentences
from chatmagic.client import config
from chatmagic.client.endpoint import NO_SERVICE, Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.conversation import continuation
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Part
from chatmagic.conversation.state import Change
from chatmagic.conversation.window import Window
from chatmagic.errors import ChatError, ChatInterrupted, TooLongError
from chatmagic.protocol.api_key import refuse_keys
from chatmagic.protocol.request import Request
from chatmagic.safe_text import counted
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.client_pool import ClientPool
from chatmagic.session.ending import Ending, interrupted
from chatmagic.session.environment import Environment, RequestSettings
from chatmagic.session.exchange import Answer, Receiver, Sending, exchange
from chatmagic.session.feature import Candidate, Feature
from chatmagic.session.features import answer_file
from chatmagic.session.ledger import Ledger
from chatmagic.session.prepare import Prepared, keep, prepare
from chatmagic.session.source import AnswerFile


def order_of(ask: Ask, layout: Layout | None) -> tuple[str, ...] | None:
    """Return the hashes of the page's cells from top to bottom; ``None`` if no page reports them.

    Args:
        ask: a question, which may have an order of its own.
        layout: the order that its page reports; ``None`` for none.
    """
    return ask.order if layout is None else layout.order


NOTHING: Final = Window()
"""The window of an ask without history."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Question that is about to be sent.

    Args:
        ask: the question as it was asked.
        prepared: the question as it is sent.
        notes: lines to show while the reply is awaited.
        order: hashes of the page's cells from top to bottom, in whose order the turn is kept.
        settings: the settings of the question, with its address.
        setup: the settings of its request, before the address is known.
    """

    ask: Ask
    prepared: Prepared
    notes: tuple[str, ...]
    order: tuple[str, ...] | None
    settings: RequestSettings
    setup: ServiceSetup


@dataclass(frozen=True, slots=True)
class Preview:
    """Request as it would be sent.

    Args:
        request: the request.
        parts: its parts with their sizes.
        endpoint: endpoint of the request; ``None`` in a replay without a service.
        answers: the chosen file of recorded answers; ``None`` for none.
        extra_headers: names of the headers beside the connection's own.
        rate: tokens for each character, for an estimate; ``None`` if unknown.
        notes: notes on the request, a line each.
    """

    request: Request
    parts: tuple[Part, ...]
    endpoint: Endpoint | None
    answers: AnswerFile | None
    extra_headers: tuple[str, ...]
    rate: float | None
    notes: tuple[str, ...]


class AskingSession(Protocol):
    """Session as the steps of its questions see it."""

    conversation: Conversation
    environment: Environment
    clients: ClientPool
    features: tuple[Feature, ...]
    ledger: Ledger
    state_lock: Lock

    @property
    def place(self) -> Place:
        """The place whose words its lines have."""


class Asker:
    """The steps of the questions of a session.

    Args:
        session: the session.
    """

    def __init__(self, session: AskingSession) -> None:
        """Do nothing yet."""
        self._session = session

    def threads_of(self, ask: Ask) -> tuple[str, ...]:
        """Return the name of a question's thread, then the names of threads that share its turns.

        In these threads only one question is asked at a time.

        Args:
            ask: the question.

        Raises:
            InputError: the turn to ask again is no longer in the conversation.
        """
        if not ask.history:
            # It carries and keeps no turn, so it waits for no other question.
            return (f"without history {ask.live}",)
        name = ask.thread_in(self._session.conversation, order_of(ask, self.layout_of(ask)))
        threads = self._session.conversation.threads
        own = {turn.number for turn in threads.get(name, ())}
        others = (
            other
            for other, turns in threads.items()
            if other != name and any(turn.number in own for turn in turns)
        )
        return name, *others

    def layout_of(self, ask: Ask) -> Layout | None:
        """Return the order of the cells for an ask; ``None`` if the ask has its own, or needs none.

        Args:
            ask: the ask.
        """
        if not ask.history or ask.order is not None:
            return None
        # The panel is no cell, so the page that reported last counts.
        return self._session.environment.layout(None if ask.entry == "panel" else ask.owner)

    def admitted(self, ask: Ask) -> Admitted:
        """Prepare a question, and find the source of its answer.

        Args:
            ask: the question.

        Raises:
            ChatError: it cannot be sent, or may not be.
        """
        settings = self._settings()
        environment = self._session.environment
        has_answers = self._has_answers()
        layout = self.layout_of(ask)
        aside = None if layout is None else self._session.conversation.follow(layout)
        order = order_of(ask, layout)
        window = ask.window_in(self._session.conversation, order) if ask.history else NOTHING
        window = ask.instruct(window)
        setup = _request_setup(settings, has_answers=has_answers)
        prepared = prepare(ask, window, environment.named, setup)
        admitted = self._looked_up(Admitted(ask, prepared, (), order, settings, setup))
        place = self._session.place
        news = [
            note_at(note, place) for feature in self._session.features for note in feature.news()
        ]
        source = admitted.prepared.source
        changed = self._notes(prepared, settings.service) if source.is_service else []
        notes = (*removal_note(aside), *news, *source.notes, *prepared.notes, *changed)
        return replace(admitted, notes=notes)

    def _has_answers(self) -> bool:
        """Let each feature prepare itself; return whether one has answers of its own."""
        environment = self._session.environment
        started = [feature.start_question(environment) for feature in self._session.features]
        return any(started)

    def _notes(self, prepared: Prepared, service: ServiceSetup | None) -> list[str]:
        """Return the notes of the features on a question that a service answers."""
        request = prepared.request
        return [
            note
            for feature in self._session.features
            for note in feature.notes(request, prepared.ask, service)
        ]

    def _looked_up(self, admitted: Admitted) -> Admitted:
        """Return a question with the source of its answer, if it may be sent there."""
        prepared = admitted.prepared
        settings = admitted.settings
        for feature in self._session.features:
            prepared = feature.with_source(prepared, settings)
        if prepared.source.is_service:
            self._check(Candidate(prepared, settings.service.endpoint))
        return replace(admitted, prepared=prepared)

    def _check(self, candidate: Candidate) -> None:
        """Raise the error of a feature that does not let a question be sent."""
        for feature in self._session.features:
            feature.check(candidate)

    def _exchanged(self, admitted: Admitted, halt: Halt, receiver: Receiver) -> Answer:
        """Return the answer to a question; a cassette may give it."""
        if halt.reason is not None:
            raise ChatInterrupted("Interrupted before it was sent.")
        prepared = admitted.prepared
        source = prepared.source
        with self._session.state_lock:
            client = self._session.clients.client(
                source.name, partial(source.setup, admitted.settings)
            )
        sending = Sending(
            client=client,
            request=prepared.request,
            digest=prepared.digest,
            entry=prepared.ask.entry,
            cell=prepared.ask.owner,
            halt=halt,
            receiver=receiver,
            question=prepared.ask,
            source=source,
        )
        return exchange(sending, self._session.features)

    def asked(self, admitted: Admitted, halt: Halt, receiver: Receiver) -> Ending:
        """Exchange a question for its reply, whole or in part, and keep it.

        Args:
            admitted: the question.
            halt: stops it from another thread.
            receiver: takes the answer while it arrives.

        Raises:
            ChatError: it was refused before it was sent.
            ChatInterrupted: it was stopped before it was sent.
        """
        answer = self._exchanged(admitted, halt, receiver)
        is_too_long = isinstance(answer.problem, TooLongError) and not answer.reply.text
        if is_too_long and admitted.prepared.ask.fit and admitted.prepared.window.turns:
            admitted, answer = self._asked_shorter(admitted, answer, halt, receiver)
        prepared = admitted.prepared
        problem = answer.problem
        if isinstance(problem, ChatInterrupted):
            problem = interrupted(problem.reply)
        if problem is not None and not answer.reply.text:
            return Ending(prepared, answer.reply, problem=problem)
        with self._session.state_lock:
            outcome = self._kept(admitted, answer, problem)
        return Ending(prepared, answer.reply, outcome, problem)

    def _asked_shorter(
        self, admitted: Admitted, first: Answer, halt: Halt, receiver: Receiver
    ) -> tuple[Admitted, Answer]:
        """Return a shorter question and its answer; the first ones if that cannot be sent."""
        window, left_out = admitted.prepared.shorter()
        try:
            with self._session.state_lock:
                prepared = prepare(
                    admitted.ask,
                    window,
                    self._session.environment.named,
                    admitted.setup,
                    left_out=left_out,
                )
                shorter = self._looked_up(replace(admitted, prepared=prepared))
            second = self._exchanged(shorter, halt, receiver)
        except ChatError as error:
            return admitted, first if first.is_sent else replace(first, problem=error)
        if first.is_sent and isinstance(second.problem, ChatError):
            if not second.is_sent:
                return admitted, first
            again = f"Sent once more without the oldest {counted(left_out, 'turn')}."
            second.problem.advice = sentences(again, second.problem.advice)
        return shorter, second

    def _kept(self, admitted: Admitted, answer: Answer, problem: BaseException | None) -> Outcome:
        """Keep a question's turn with its record, as the last step."""
        prepared = admitted.prepared
        ask = prepared.ask
        reply = replace(answer.reply, took=answer.took)
        turn, record = keep(
            prepared, reply, self._session.conversation.replies.get(ask.again or 0, ())
        )
        for feature in self._session.features:
            feature.take_reply(prepared, reply)
        kept = turn if ask.part is None else continuation.joined_turn(ask.part, turn)
        if isinstance(problem, ChatError | ChatInterrupted):
            problem.reply = kept.reply
            if ask.history and reply.text and reply.state != "complete":
                problem.advice = sentences(problem.advice, GOES_ON)
        if ask.history:
            self._session.conversation.add(kept, order=admitted.order)
        return Outcome(turn.reply, record, None if ask.part is None else kept.reply)

    def preview(self, ask: Ask) -> Preview:
        """Return the request of a question; nothing is sent, kept or changed.

        Args:
            ask: the question.

        Raises:
            ChatError: the ask would fail before it is sent, or it holds a secret.
        """
        ask.refuse_empty()
        settings = self._settings()
        answers = answer_file(self._session.environment)
        service = self._service_of(settings, answers)
        conversation = copy(self._session.conversation)
        layout = self.layout_of(ask)
        if layout is not None:
            conversation.follow(layout)
        order = order_of(ask, layout)
        window = ask.window_in(conversation, order) if ask.history else NOTHING
        window = ask.instruct(window)
        setup = _request_setup(settings, has_answers=answers is not None)
        prepared = prepare(ask, window, self._session.environment.named, setup)
        return self._checked(prepared, service, answers)

    def _settings(self) -> RequestSettings:
        """Return the settings of a question that is asked now."""
        given = self._session.clients.given
        return self._session.environment.current(None if given is None else given.setup)

    def _service_of(
        self, settings: RequestSettings, answers: AnswerFile | None
    ) -> ServiceSetup | None:
        """Return the service of a preview; ``None`` in a replay without one."""
        try:
            return settings.service
        except ChatError as error:
            if answers is None or not answers.is_replayed:
                raise
            log_swallowed(error)
            return None

    def _checked(
        self, prepared: Prepared, service: ServiceSetup | None, answers: AnswerFile | None
    ) -> Preview:
        """Return the preview of a prepared question, if it could be sent."""
        ask = prepared.ask
        request = prepared.request
        endpoint = None if service is None else service.endpoint
        is_replayable = endpoint is None or (answers is not None and answers.may_answer)
        self._check(
            Candidate(prepared, endpoint or NO_SERVICE, is_sent=False, is_replayable=is_replayable)
        )
        # A recorded answer needs no key, and may be there for this request.
        if endpoint is not None and not is_replayable:
            endpoint.require_key()
        for feature in self._session.features:
            request = feature.as_sent(request, ask, service)
        texts = [request.encode().decode(), *(message.content for message in request.messages)]
        refuse_keys(texts, config.known_keys() if endpoint is None else endpoint.known_keys)
        is_given = self._session.clients.given is not None
        headers = None if is_given or service is None else service.extra_headers
        return Preview(
            request=request,
            parts=prepared.parts,
            endpoint=endpoint,
            answers=answers,
            extra_headers=tuple(headers or ()),
            rate=self._session.ledger.token_rate,
            notes=(*prepared.notes, *self._notes(prepared, service)),
        )


def _request_setup(settings: RequestSettings, *, has_answers: bool) -> ServiceSetup:
    """Return the settings of a request, for which recorded answers need no address.

    Raises:
        ChatError: no address is known, or a setting cannot be used.
    """
    if settings.given is not None:
        return settings.given
    return settings.without_service if has_answers else settings.service


def removal_note(change: Change | None) -> list[str]:
    """Return a note that turns were left out before this one was asked.

    Args:
        change: the change; ``None`` if there was none.
    """
    if change is None:
        return []
    turns = [counted(len(change.went), "turn")] if change.went else []
    items = " and ".join([*turns, *(f"the {kind}" for kind in change.steered)])
    return [f"left out {items} of cells that are no longer on the page"]
