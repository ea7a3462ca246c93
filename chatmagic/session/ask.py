"""The state of one ask: how far it has come, what it says of itself, and how it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from chatmagic import _json
from chatmagic._json import shared
from chatmagic.cassette import reproducibility
from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.matching import Query
from chatmagic.conversation import template
from chatmagic.conversation.instructions import in_words, instructed
from chatmagic.conversation.request_facts import Parameters, RequestFacts
from chatmagic.conversation.request_parts import TokenRate
from chatmagic.conversation.turn import Context, Turn
from chatmagic.errors import ChatError, ChatInterrupted, InputError, ReplyFormatError, TooLongError
from chatmagic.models import Message
from chatmagic.session import forms
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chatmagic.cassette.active import CassetteSetup
    from chatmagic.cassette.cassette import AnswerSource, Cassette, Lookup
    from chatmagic.client.endpoint import ServiceSetup
    from chatmagic.client.halt import Halt
    from chatmagic.client.stream import ReplyStream
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.history import Change
    from chatmagic.models import Reply
    from chatmagic.protocol.wire import Request
    from chatmagic.session.environment import Environment
    from chatmagic.session.events import Answer, Ask, View

_SHOWN: Final = 60
_MAGIC_LINE: Final = re.compile(r"%{1,2}chat(?:_\w+)?(?!\S)")

EMPTY: Final = "The prompt is empty. Nothing was sent."
NOTHING: Final = Context(turns=(), total=0)
"""What an ask without history carries."""


@dataclass(slots=True)
class AskState:
    """Progress of one ask: each step fills in what the next ones need.

    Args:
        ask: what is asked.
        halt: stops it from another thread.
        cassette: the cassette that is chosen; ``None`` for none.
        service: where and how the service is asked; ``None`` until that is needed.
        order: hashes of the page's cells from top to bottom, which the ask goes by.
        context: the turns that the request carries.
        left_out: how many of the oldest turns it does not carry as they made it too long.
        request: the request; from :meth:`make_request` on.
        digest: the request's digest.
        lookup: what the cassette says of the request.
        notes: what to say while the reply is awaited, a line each.
        added: how many turns had been added to the conversation before.
        stream: the reply on its way.
        problem: what ended the reply early.
        answer: the reply that is kept.
        shown: whether the view has received the end.
    """

    ask: Ask
    halt: Halt
    cassette: CassetteSetup | None = None
    service: ServiceSetup | None = None
    order: tuple[str, ...] | None = None
    context: Context = NOTHING
    left_out: int = 0
    request: Request = field(init=False, repr=False)
    digest: str = ""
    lookup: Lookup | None = None
    notes: list[str] = field(default_factory=list)
    added: int = 0
    stream: ReplyStream | None = None
    problem: BaseException | None = None
    answer: Answer | None = None
    shown: bool = False

    @property
    def source(self) -> AnswerSource:
        """What answers: the cassette, the service or the emulator."""
        return "service" if self.lookup is None else self.lookup.source

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the turns that go along and the prompt, without any instructions."""
        return (*self.context.messages, Message("user", self.ask.prompt))

    def follow_page(self, conversation: Conversation, environment: Environment) -> Change | None:
        """Put the turns in the order of the page's cells; the ask goes by it.

        Args:
            conversation: whose turns they are.
            environment: knows the page.

        Returns:
            The change, if turns of cells that are gone were set aside.
        """
        ask = self.ask
        self.order = ask.order
        if not ask.history or ask.order is not None:
            return None
        # The panel is in no page's list; the page that reported last counts.
        layout = environment.layout(None if ask.entry == "panel" else ask.owner)
        if layout is None:
            return None
        self.order = layout.order
        return conversation.follow(layout)

    def ask_for_form(self, above: Sequence[Turn], named: Callable[[str], object]) -> None:
        """Put what asks for the form of the reply in front of the prompt.

        Args:
            above: the turns above it, of which a question for JSON takes the nearest schema.
            named: gives what a name of the namespace stands for.

        Raises:
            InputError: the schema does not go with the form, or cannot be used.
        """
        ask = self.ask
        options = Parameters(**shared(ask, Parameters))
        value, name, schema = forms.asked_for(options, ask.form, above, self.context.turns, named)
        if value is not None:
            self.ask = replace(
                ask,
                prompt=template.in_front([value], ask.prompt),
                typed=ask.as_typed,
                values=(value, *ask.values),
                schema=name,
                form=schema,
            )

    def look_up(
        self, cassette: Cassette, conversation: Conversation, is_emulator: Callable[[], bool]
    ) -> Lookup:
        """Return what answers the request while a cassette is active.

        Args:
            cassette: the active one.
            conversation: the turns that the request may carry.
            is_emulator: returns whether the service is this kernel's emulator.
        """
        ask = self.ask
        asked = Interaction.asked(
            self.request,
            self.messages,
            self.context.instructions,
            typed=ask.typed,
            owner=ask.owner,
        )
        query = Query(asked, ask.execution, self.order, self.messages)
        before = conversation.context(ask.owner, ask.execution, order=self.order).turns
        below = [
            turn
            for turn in conversation
            if ask.owner is not None and turn.owner != ask.owner and turn not in before
        ]
        warnings = reproducibility.warnings(
            conversation,
            self.context,
            below if ask.history else [],
            ask.prompt if ask.values or ask.entry == "python" else "",
            by_number=ask.cells is not None,
        )
        return cassette.look_up(query, warnings=warnings, is_emulator=is_emulator)

    def make_request(self, extra_body: Mapping[str, Any], *, system_role: bool) -> None:
        """Make the request and its digest, before anything is spent on it.

        Args:
            extra_body: fields beside the interface's own.
            system_role: whether instructions are a message of the role ``system``.

        Raises:
            InputError: it cannot be sent.
        """
        try:
            self.request = self.ask.request(self.context.messages, extra_body)
            if (instructions := self.context.instructions) is not None:
                messages = instructed(self.request.messages, instructions, system_role=system_role)
                self.request = replace(self.request, messages=messages)
            self.digest = self.request.digest()
        except ValueError as error:
            raise InputError(f"{error}. Nothing was sent.") from None

    def may_be_shortened(self) -> bool:
        """Return whether the service refused the request for its length, and it may go shorter."""
        may = self.ask.fit and not self.left_out and bool(self.context.turns)
        return may and isinstance(self.problem, TooLongError)

    def shorten(self) -> None:
        """Leave out the oldest turns, at least one, so that half of the request's text is left."""
        turns = self.context.turns
        size = sum(len(message.content) for message in self.request.messages)
        left = size
        while self.left_out < len(turns) and (not self.left_out or left > size // 2):
            left -= sum(len(message.content) for message in turns[self.left_out].messages)
            self.left_out += 1
        self.context = replace(self.context, turns=turns[self.left_out :])

    def say_shortened(self) -> None:
        """Say with an error that the request was sent a second time, and without what."""
        if self.left_out and isinstance(self.problem, ChatError):
            again = f"Sent once more without the oldest {counted(self.left_out, 'turn')}."
            self.problem.hint = " ".join(filter(None, [again, self.problem.hint]))

    def what_is_sent(self) -> list[str]:
        """Return what to say of the request, where it is not simply what stands above."""
        carried, total, panel = len(self.context.turns), self.context.total, self.context.from_panel
        notes = [] if self.lookup is None else [*self.lookup.notes]
        if carried < total:
            notes.append(f"sent the last {carried:,} of {total:,} turns")
        if self.context.instructions is not None:
            notes.append(in_words(self.context.instructions))
        if panel and self.ask.entry != "panel":
            notes.append(f"with {counted(panel, 'turn')} from the panel")
        front = [value for value in self.ask.values if value.kind is not None]
        if front:
            sizes = (f"{one_line(v.name, _SHOWN)} ({counted(v.size, 'character')})" for v in front)
            notes.append(f"in front of the question: {', '.join(sizes)}")
        if self.ask.cells is not None:
            notes.append("the numbers of --cells hold in this kernel alone")
        return [*notes, *self.ask.notes, *merged(self.ask)]

    def turn(self, reply: Reply) -> Turn:
        """Return the turn that the ask makes: the question, what it carried, and what came.

        Args:
            reply: what came.
        """
        facts = shared(self.ask, RequestFacts)
        facts["asked_model"] = _json.word(self.request.extra.get("model"))
        instructions = self.context.instructions
        if self.left_out:
            # It stands in the conversation as a turn that was asked with --last.
            facts["last"] = len(self.context.turns)
            reply = replace(reply, left_out=self.left_out)
        return Turn(
            **facts,
            reply=reply,
            carried=self.context.numbers,
            instructions=instructions and instructions.bare,
        )

    def token_rate(self, reply: Reply) -> TokenRate | None:
        """Return the tokens that the service counted for the request; ``None`` if it told none.

        Args:
            reply: what came.
        """
        tokens = None if reply.usage is None else reply.usage.prompt_tokens
        size = sum(len(message.content) for message in self.request.messages)
        return None if tokens is None else TokenRate(size, tokens)

    def parse(self) -> None:
        """Give the answer the value of its JSON, or note why there is none; its turn is kept."""
        if self.problem is not None or self.answer is None or self.ask.format != "json":
            return
        try:
            reply = forms.parsed(self.answer.reply, self.ask.form, kept=self.ask.history)
        except ReplyFormatError as problem:
            self.problem = problem
            return
        self.answer = replace(self.answer, reply=reply)

    def deliver(self, view: View) -> Answer:
        """Pass the end to the view, and return the answer or raise what ended it early."""
        answer = cast("Answer", self.answer)
        view.ended(answer)
        self.shown = True
        if self.problem is not None:
            raise self.problem from None
        return answer

    def abandon(self, view: View, error: BaseException) -> None:
        """Close the stream and pass the failure to the view, after an error.

        Args:
            view: what shows the ask.
            error: what was raised.

        Raises:
            ChatInterrupted: in place of a bare interrupt.
        """
        stopped = isinstance(error, KeyboardInterrupt)
        if self.stream is not None:
            self.stream.close()
        if self.answer is None:
            view.failed()
        elif stopped and not self.shown:
            # Stop came while the last state was being drawn; the turn is kept, so draw it.
            view.ended(self.answer)
        if stopped and error is not self.problem:
            raise interrupted(None if self.answer is None else self.answer.reply) from None


def refuse_empty(ask: Ask) -> None:
    """Refuse a prompt that is empty, or no text.

    Raises:
        InputError: it is.
    """
    if not isinstance(ask.prompt, str):
        raise InputError(f"The prompt is text, not {type(ask.prompt).__name__}. Nothing was sent.")
    if not ask.prompt.strip():
        raise InputError(EMPTY)


def read(stream: ReplyStream, show: Callable[[str], object]) -> BaseException | None:
    """Send a request and show its reply to the end; return what ended it early, if anything."""
    try:
        with stream as fragments:
            for fragment in fragments:
                show(fragment)
    except ChatInterrupted as error:
        return interrupted(error.reply)
    except KeyboardInterrupt:
        return interrupted(stream.reply)
    except BaseException as error:  # noqa: BLE001 - the part that came is kept whatever ended it
        return error
    return None


def interrupted(reply: Reply | None) -> ChatInterrupted:
    """Return the error for an ask that a person stopped, with the part that came."""
    if reply is None or not reply.text:
        return ChatInterrupted("Interrupted before the reply began; the conversation is as it was.")
    words = len(reply.text.split())
    after = f"Interrupted after {counted(words, 'word')}; what came is kept, marked."
    return ChatInterrupted(
        after if reply.state != "complete" else "Interrupted after the reply's end; it is kept.",
        reply=reply,
        credits=reply.credits,
    )


def merged(ask: Ask) -> list[str]:
    """Return a note that a command stands within the prompt, as where a page merged two cells."""
    if ask.entry != "cell":
        return []
    lines = ask.as_typed.splitlines()
    match = next((match for match in map(_MAGIC_LINE.match, lines) if match), None)
    if match is None:
        return []
    return [f"a line with {match[0]} is sent as text; split the cell if it is to run by itself"]


def set_aside_note(change: Change | None) -> list[str]:
    """Return a note that turns were set aside before this one was asked."""
    if change is None:
        return []
    turns = [counted(len(change.went), "turn")] if change.went else []
    what = " and ".join([*turns, *(["the instructions"] if change.instructions else [])])
    return [f"set aside {what} of cells gone from the page"]
