"""Recorder: the link that answers from a session's cassette, or records the service's answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from chatmagic._fork import Lock, belongs_to_process
from chatmagic.advice import Note, Place, joined_sentences, note_at, sentences
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette import transports
from chatmagic.cassette.active import ActiveCassette
from chatmagic.cassette.cassette import Cassette
from chatmagic.cassette.choice import MODES, CassetteConfig, CassetteOptions, resolve
from chatmagic.cassette.item import Query
from chatmagic.cassette.lookup import Lookup
from chatmagic.cassette.transports import RecordingTransport
from chatmagic.client import config
from chatmagic.client.endpoint import ServiceSetup
from chatmagic.errors import ChatError
from chatmagic.models import Message, Reply
from chatmagic.protocol import url
from chatmagic.safe_text import counted
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.environment import Environment, RequestSettings
from chatmagic.session.exchange import Answer, Sending, send_request
from chatmagic.session.feature import DoctorLine, Feature, Setting, one_of
from chatmagic.session.prepare import Prepared
from chatmagic.session.source import AnswerFile, AnswerSource

CASSETTE_MODES: Final = {
    "record": "recorded requests are answered from it, others are sent and saved",
    "replay": "nothing is sent, and no key is needed",
    "refresh": "every request is sent again and saved",
}
"""The modes of a cassette, and their effects."""
_OTHER_COPY: Final = "Put back a whole copy of the file, or choose another one."


@dataclass(frozen=True, slots=True, kw_only=True)
class CassetteSource(AnswerSource):
    """AnswerSource that the active cassette found for a question.

    Args:
        lookup: the answer that it holds, or the source that it names.
    """

    lookup: Lookup

    def setup(self, settings: RequestSettings) -> ServiceSetup:
        """Return the service's address, the emulator's, or one to which nothing is sent.

        Args:
            settings: the settings of the question.

        Raises:
            ChatError: a setting cannot be used.
        """
        if self.is_service:
            return settings.service
        setup = settings.without_service
        if self.name == "emulator":
            practice = config.first_address([(url.EMULATOR, "--else emulator")])
            setup = replace(setup, endpoint=config.with_local_emulator(practice))
        return setup

    def completed(self, reply: Reply[Any]) -> Reply[Any]:
        """Return a reply; a recorded one has the facts of its recording.

        Args:
            reply: the reply.
        """
        recorded = self.lookup.interaction
        if recorded is None:
            return reply
        return replace(
            reply,
            took=recorded.took,
            recorded=recorded.origin,
            by_order=self.lookup.by_order,
            seconds=recorded.seconds,
        )


def chosen_cassette(environment: Environment) -> CassetteConfig | None:
    """Return the cassette that is chosen in a place, and its mode; ``None`` for none.

    Args:
        environment: the settings of the place.

    Raises:
        InputError: the settings contradict each other.
    """
    names = {setting.name for setting in Recorder.settings}
    return resolve(
        os.environ,
        environment.command_choice(CassetteOptions),
        CassetteOptions(environment.setting("cassette"), environment.setting("mode")),
        changed_later={name for name in names if environment.set_since_chosen(name)},
        interactive=environment.has_person(),
    )


def query_of(prepared: Prepared) -> Query:
    """Return a question as a cassette looks it up.

    Args:
        prepared: the question.
    """
    ask, window = prepared.ask.as_sent(prepared.window)
    asked = Interaction.asked(
        prepared.request,
        (*window.messages, Message("user", ask.prompt)),
        window.instructions,
        digest=prepared.digest,
        typed=ask.typed,
        owner=ask.owner,
    )
    return Query(asked, ask.execution)


class Recorder(Feature):
    """Link that asks a cassette first; without one a request passes unchanged.

    Args:
        notify: shows a line to the user at once.
        lock: held while an answer is recorded, and while unsaved answers are looked for.
    """

    name: ClassVar[str] = "cassette"
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("cassette", "File to record and replay."),
        Setting("mode", f"Use of the cassette: {', '.join(MODES)}.", one_of(MODES)),
    )
    is_standing: ClassVar[bool] = True

    def __init__(self, notify: Callable[[Note], object], lock: Lock) -> None:
        """Start without a cassette."""
        self.cassette = ActiveCassette(notify)
        """The session's cassette."""
        self.lock = lock
        self._notify = notify
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Leave the cassette to the parent, in a forked child: the next ask reads its file."""
        self.cassette = ActiveCassette(self._notify)

    def __call__(self, sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        """Answer a request from the cassette, or pass it on and record the answer.

        Args:
            sending: the request, with the source of its answer.
            proceed: the next step.
        """
        source = sending.source
        cassette = self.cassette.current
        if cassette is None or not isinstance(source, CassetteSource):
            return proceed(sending)
        lookup = source.lookup
        answers: list[RecordingTransport] = []
        passed = replace(sending, through=transports.through(lookup, answers.append))
        if lookup.interaction is not None:
            return send_request(passed)
        answer = proceed(passed)
        # An error has no cost of its own.
        took = answer.took if answer.reply.state == "complete" else None
        reply = replace(answer.reply, took=took)
        if not answers:  # it was refused before it was sent
            return answer
        # A request that was refused for a field was sent again; the last answer is the question's.
        new = transports.recorded(
            lookup.query.asked, answers[-1], reply, sending.client.endpoint.known_keys
        )
        if new is not None:
            try:
                with self.lock:
                    cassette.record(new, lookup.query)
            except ChatError as error:
                return replace(answer, problem=error)
        return answer

    @classmethod
    def answer_file(cls, environment: Environment) -> AnswerFile | None:
        """Return the cassette that is chosen; ``None`` for none.

        Args:
            environment: the settings of the place.

        Raises:
            InputError: the settings contradict each other.
        """
        choice = chosen_cassette(environment)
        if choice is None:
            return None
        return AnswerFile("Cassette", choice.name, choice.mode, choice.mode_from)

    def start_question(self, environment: Environment) -> bool:
        """Insert the chosen cassette, and return whether there is one.

        Args:
            environment: the settings of the place.

        Raises:
            ChatError: the cassette cannot be used.
        """
        choice = chosen_cassette(environment)
        self.cassette.insert(choice)
        return choice is not None

    def with_source(self, prepared: Prepared, settings: RequestSettings) -> Prepared:
        """Return a question as it is looked up in the cassette, if one is active.

        Args:
            prepared: the question.
            settings: the settings of the question.

        Raises:
            NotRecordedError: the cassette is replayed and does not hold the request.
            ChatError: no service is configured.
        """
        cassette = self.cassette.current
        if cassette is None:
            return prepared
        lookup = cassette.look_up(query_of(prepared), lambda: settings.service.endpoint.is_emulator)
        source = CassetteSource(name=lookup.source, notes=lookup.notes, lookup=lookup)
        return replace(prepared, source=source)

    def late_news(self, problem: BaseException | None) -> list[Note]:
        """Return lines on exchanges that the cassette's file lacked, or still lacks.

        Args:
            problem: the error of the ask; one of the cassette's own says so itself.
        """
        current = self.cassette.current
        is_own = problem is not None and current is not None and problem is current.trouble
        # What another thread saves at this moment is not lacking.
        with self.lock:
            return [] if is_own else self.cassette.news()

    def complete(self) -> None:
        """Make the cassette as complete in its file as here."""
        self.cassette.keep()

    def status_rows(self, environment: ConfiguredEnvironment) -> list[tuple[str, str]]:
        """Return the row on the cassette that is chosen; none without one.

        Args:
            environment: the settings of the kernel.

        Raises:
            InputError: the settings contradict each other.
        """
        words = cassette_words(environment)
        return [] if words is None else [("Cassette", words)]

    def examine(self, environment: ConfiguredEnvironment, place: Place) -> Iterator[DoctorLine]:
        """Yield the line on the cassette, which is read anew.

        Args:
            environment: the settings to examine.
            place: the place that shows the line.

        Raises:
            ChatError: the settings contradict each other, or the file cannot be read.
        """
        choice = chosen_cassette(environment)
        if choice is None:
            yield DoctorLine("ok", self.name, "none")
            return
        news: list[Note] = []
        try:
            count = len(Cassette(choice, news).interactions)
        except ChatError as error:
            error.advice = error.advice or sentences(_OTHER_COPY)
            raise
        words = f"{choice.name}, {choice.mode} ({choice.mode_from}), {counted(count, 'exchange')}"
        todo = joined_sentences(note_at(note, place) for note in news)
        yield DoctorLine("!" if news else "ok", self.name, words, todo)


def cassette_words(environment: ConfiguredEnvironment) -> str | None:
    """Return a line on the cassette that is chosen; ``None`` without one.

    Args:
        environment: the settings of the kernel.

    Raises:
        InputError: the settings contradict each other.
    """
    choice = chosen_cassette(environment)
    if choice is None:
        return None
    return (
        f"{choice.name} ({choice.file_from}), {choice.mode} ({choice.mode_from}): "
        f"{CASSETTE_MODES[choice.mode]}."
    )
