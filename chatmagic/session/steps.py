"""The steps of one ask, from what is asked to the turn that is kept."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from chatmagic._json import shared
from chatmagic._log import log_swallowed
from chatmagic.cassette import reproducibility, transports
from chatmagic.cassette.cassette import CASSETTE
from chatmagic.cassette.file import Interaction
from chatmagic.cassette.match import Query
from chatmagic.conversation import options, template
from chatmagic.conversation.request_facts import Parameters
from chatmagic.conversation.steering import instructed, instructions_note
from chatmagic.conversation.turn import MAIN
from chatmagic.errors import ChatError, ChatInterrupted, InputError
from chatmagic.models import Message
from chatmagic.session import forms
from chatmagic.session.ask import AskState, interrupted, read, set_aside_note
from chatmagic.session.environment import setup_for
from chatmagic.session.events import Answer, Began, Fragment, Sent
from chatmagic.session.ledger import Reservation
from chatmagic.session.preview import Preview
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from chatmagic.cassette.cassette import AnswerSource
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.client.halt import Halt
    from chatmagic.client.stream import ReplyStream
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.slots import Change
    from chatmagic.conversation.turn import Turn
    from chatmagic.session.events import Ask, View
    from chatmagic.session.state import SessionState


class AskSteps:
    """Steps of one ask, each of which fills in of its state what the next ones need.

    Args:
        session: what it shares with the other asks of the session.
        ask: what is asked.
        halt: stops it from another thread.
    """

    def __init__(self, session: SessionState, ask: Ask, halt: Halt) -> None:
        """Do nothing yet."""
        self.session = session
        self.state = AskState(ask, halt)

    def run(self, view: View) -> Answer:
        """Do the ask under the lock; whatever ends it, release the lock and the connection.

        Raises:
            ChatError: see :meth:`chatmagic.session.session.Session.ask`.
            ChatInterrupted: the same.
        """
        session, state = self.session, self.state
        ask = state.ask  # as followers know it, whatever is put in front of its prompt

        def action() -> None:
            self._prepare()
            view.began(state.notes)
            turns, thread = session.conversation.turns, state.context.thread
            session.followers.tell(Began(ask, tuple(state.notes), turns, state.halt, thread))
            self._receive(self._send(), view)

        state.ask.refuse_empty()
        try:
            session.lock.alone(state.ask.asker, action, view.waiting, state.halt)
            return state.deliver(view)
        except BaseException as error:
            state.abandon(view, error)
            raise

    def preview(self) -> Preview:
        """Return what the ask would send; nothing is sent, kept or changed.

        Raises:
            ChatError: it would fail before it is sent, or it holds a secret.
        """
        session, state = self.session, self.state
        state.ask.refuse_empty()
        state.cassette = setup = session.environment.cassette()
        endpoint: Endpoint | None = None
        # A replay needs no service; where one is set, its key is not shown either.
        try:
            endpoint = self._endpoint()
        except ChatError as error:
            if setup is None or setup.config.mode != "replay":
                raise
            log_swallowed(error)
        conversation = copy(session.conversation)
        self._compose(conversation)
        self._refuse_secrets(endpoint or CASSETTE, is_sent=False)
        return Preview.of(state, endpoint, session.token_rate)

    @property
    def _source(self) -> AnswerSource:
        """What answers: the cassette, the service or the emulator."""
        return "service" if self.state.lookup is None else self.state.lookup.source

    def _prepare(self) -> None:
        """Decide what is sent, and what answers it; nothing is sent yet."""
        session, state = self.session, self.state
        state.cassette = setup = session.environment.cassette()
        session.cassette.insert(setup)
        if setup is None and session.clients.given is None:
            state.service = session.environment.service()
        aside = self._compose(session.conversation)
        self._look_up()
        if self._source == "service":
            self._refuse_secrets(self._endpoint())
        news = [*session.cassette.news(), *session.ledger.news()]
        state.notes = [*set_aside_note(aside), *news, *self._what_is_sent()]

    def _refuse_secrets(self, endpoint: Endpoint, *, is_sent: bool = True) -> None:
        state = self.state
        given = state.ask, state.context, state.request
        self.session.secret_check.refuse(*given, endpoint, is_sent=is_sent)

    def _compose(self, conversation: Conversation) -> Change | None:
        """Make the request; return the change of a conversation that follows its page."""
        state = self.state
        aside = self._follow_page(conversation)
        above: tuple[Turn, ...] = ()
        if state.ask.history:
            state.context = state.ask.context_in(conversation, state.order, last=state.ask.last)
            above = replace(state.context, last=None).turns
        self._ask_for_form(above)
        self._make_request()
        return aside

    def _follow_page(self, conversation: Conversation) -> Change | None:
        """Put the turns in the order of the page's cells, by which the ask goes."""
        ask = self.state.ask
        self.state.order = ask.order
        if not ask.history or ask.order is not None:
            return None
        # The panel is in no page's list; the page that reported last counts.
        layout = self.session.environment.layout(None if ask.entry == "panel" else ask.owner)
        if layout is None:
            return None
        self.state.order = layout.order
        return conversation.follow(layout)

    def _ask_for_form(self, above: tuple[Turn, ...]) -> None:
        """Put what asks for the form of the reply in front of the prompt."""
        ask = self.state.ask
        options = Parameters(**shared(ask, Parameters))
        value, name, schema = forms.asked_for(
            options, ask.form, above, self.state.context.turns, self.session.environment.named
        )
        if value is not None and ask.again is None:
            self.state.took_schema = name is not None and ask.schema is None
            self.state.ask = replace(
                ask,
                prompt=template.in_front([value], ask.prompt),
                typed=ask.as_typed,
                values=(value, *ask.values),
                schema=name,
                form=schema,
            )

    def _make_request(self) -> None:
        """Make the request and its digest, before anything is spent on it."""
        state, _session, given = self.state, self.session, self.session.clients.given
        setup = given.setup if given is not None else state.cassette or state.service
        extra_body = (setup and setup.extra_body) or {}
        system_role = setup is not None and setup.system_role
        try:
            ask, context = state.ask.as_sent(state.context)
            state.request = ask.request(context.messages, extra_body)
            if (instructions := state.context.instructions) is not None:
                messages = instructed(state.request.messages, instructions, system_role=system_role)
                state.request = replace(state.request, messages=messages)
            state.digest = state.request.digest()
        except ValueError as error:
            raise InputError(f"{error}. Nothing was sent.") from None

    def _look_up(self) -> None:
        """Look up what answers the request while a cassette is active."""
        cassette = self.session.cassette.current
        if cassette is None:
            return
        state, conversation = self.state, self.session.conversation
        ask, context = state.ask.as_sent(state.context)
        messages = (*context.messages, Message("user", ask.prompt))
        asked = Interaction.asked(
            state.request, messages, context.instructions, typed=ask.typed, owner=ask.owner
        )
        again = ask.again is not None
        place = ask.place_in(conversation, state.order) if again else context
        above = {turn.number for turn in place.above}
        below = [
            turn
            for turn in conversation.threads.get(place.thread, ())
            if ask.owner is not None and turn.owner != ask.owner and turn.number not in above
        ]
        warnings = reproducibility.warnings(
            conversation,
            context,
            below if ask.history else [],
            ask.prompt if ask.values or ask.entry == "python" else "",
        )
        state.lookup = cassette.look_up(
            Query(asked, ask.execution, state.order, messages),
            warnings=warnings,
            is_emulator=lambda: self._endpoint().is_emulator,
        )

    def _what_is_sent(self) -> list[str]:
        """Return what to say of the request, where it is not simply what stands above."""
        ask, context, lookup = self.state.ask, self.state.context, self.state.lookup
        carried, total, panel = len(context.turns), context.total, context.from_panel
        notes = [] if lookup is None else [*lookup.notes]
        if ask.again is not None:
            does = "asked again" if ask.part is None else "continued"
            notes.append(f"{does}: {one_line(ask.as_typed)}")
        if carried < total:
            notes.append(f"sent the last {carried:,} of {total:,} turns")
        if context.hidden_above:
            notes.append(f"sent without {counted(context.hidden_above, 'hidden turn')}")
        if context.thread != MAIN:
            notes.append(f"in the thread {context.thread}")
        if context.instructions is not None:
            notes.append(instructions_note(context.instructions))
        if panel and ask.entry != "panel":
            notes.append(f"with {counted(panel, 'turn')} from the panel")
        front = [value for value in ask.values if value.kind is not None]
        if front:
            sizes = (f"{one_line(v.name)} ({counted(v.size, 'character')})" for v in front)
            notes.append(f"in front of the question: {', '.join(sizes)}")
        return [*notes, *ask.notes, *options.merged_cell_notes(ask)]

    def _endpoint(self) -> Endpoint:
        """Return where the service is asked, where that is what answers."""
        if self.session.clients.given is not None:
            return self.session.clients.given.endpoint
        state = self.state
        state.service = state.service or self.session.environment.service()
        return state.service.endpoint

    def _send(self) -> ReplyStream:
        """Hand the request to a client; the cassette stands between that and its transport."""
        session, state, source = self.session, self.state, self._source
        client = session.clients.client(
            source, lambda: state.service or setup_for(source, session.environment, state.cassette)
        )
        through, cassette = None, session.cassette.current
        if state.lookup is not None and cassette is not None:
            through = transports.through(
                state.lookup,
                cassette,
                lambda: (
                    session.ledger.settled(session.request, stream.reply),
                    client.endpoint.key,
                ),
            )
        state.added = session.conversation.added
        state.sent_to = None if source == "cassette" else client.endpoint
        state.stream = stream = client.send(state.request, state.halt, through)
        return stream

    def _send_shortened(self) -> ReplyStream:
        """Hand over the request once more without the oldest turns, as the user has set."""
        self.state.shorten()
        self._make_request()
        self._look_up()
        return self._send()

    def _receive(self, stream: ReplyStream, view: View) -> None:
        """Read the reply to its end, or to what ends it early; keep what came."""
        state = self.state
        try:
            state.problem = self._read(view)
            if state.may_be_shortened() and not stream.reply.text:
                with state.sending_again():
                    stream = self._send_shortened()
                    state.problem = self._read(view)
            if state.problem is not None and not stream.reply.text:
                raise state.problem
            state.keep(stream.reply, self.session)
            state.parse()
        except KeyboardInterrupt:
            stream.close()
            reply = stream.reply
            if not reply.text:
                raise
            # Stop came when the reply had come: it is paid for, so it is kept all the same.
            state.keep(reply, self.session)
            state.problem = interrupted(cast("Answer", state.answer).reply)

    def _read(self, view: View) -> BaseException | None:
        """Send the request within the budgets, and show its reply; return what ended it early."""
        session, state, ledger = self.session, self.state, self.session.ledger
        stream, problem = cast("ReplyStream", state.stream), None

        def show(fragment: str) -> None:
            view.fragment(fragment)
            session.followers.tell(Fragment(fragment))

        # Where an interrupt came before the end of the request before was noted.
        ledger.end(session.request, None, ChatInterrupted("Interrupted."))
        session.request = None
        try:
            if (to := state.sent_to) is not None:
                entry, cell = state.ask.entry, state.ask.owner
                session.request = Reservation(to, entry, cell, state.digest)
                ledger.begin(session.request)
            view.sent()
            session.followers.tell(Sent(state.ask))
            problem = read(stream, show)
            return problem
        finally:
            ledger.end(session.request, stream.reply, problem)
