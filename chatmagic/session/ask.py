"""The state of one ask: how far it has come, what becomes of its reply, and how it ends."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from chatmagic import _json
from chatmagic._json import shared
from chatmagic.conversation import continuation
from chatmagic.conversation.request_facts import RequestFacts
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Window
from chatmagic.errors import GOES_ON, ChatError, ChatInterrupted, ReplyFormatError, TooLongError
from chatmagic.session import forms
from chatmagic.session.events import Answer
from chatmagic.session.state import note_tokens
from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmagic.cassette.cassette import CassetteSetup, Lookup
    from chatmagic.client.endpoint import Endpoint, ServiceSetup
    from chatmagic.client.halt import Halt
    from chatmagic.client.stream import ReplyStream
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.record import Record
    from chatmagic.conversation.slots import Change
    from chatmagic.models import Reply
    from chatmagic.protocol.wire import Request
    from chatmagic.session.events import Ask, View
    from chatmagic.session.state import SessionState

_UNSENT: Final = "Nothing was sent."
_NOT_SENT_AGAIN: Final = "The request was sent once, and was too long; it was not sent again."
NOTHING: Final = Window()
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
        request: the request, once it is made.
        digest: the request's digest.
        lookup: what the cassette says of the request.
        took_schema: whether the question's schema is that of a turn above.
        notes: what to say while the reply is awaited, a line each.
        added: how many turns had been added to the conversation before.
        sent_to: where the request goes; ``None`` where the cassette answers it.
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
    context: Window = NOTHING
    left_out: int = 0
    request: Request = field(init=False, repr=False)
    digest: str = ""
    lookup: Lookup | None = None
    took_schema: bool = False
    notes: list[str] = field(default_factory=list)
    added: int = 0
    sent_to: Endpoint | None = None
    stream: ReplyStream | None = None
    problem: BaseException | None = None
    answer: Answer | None = None
    shown: bool = False

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
        self.context = replace(self.context, last=len(turns) - self.left_out)

    @contextlib.contextmanager
    def sending_again(self) -> Iterator[None]:
        """Say with what goes wrong that the request was sent before, and what is sent again."""
        was_sent = self.sent_to is not None
        try:
            yield
        except ChatError as error:
            self.problem = error
            raise
        finally:
            if isinstance(self.problem, ChatError) and was_sent:
                self._say_sent_before(self.problem)

    def _say_sent_before(self, problem: ChatError) -> None:
        if _UNSENT in problem.message:
            problem.message = problem.message.replace(_UNSENT, _NOT_SENT_AGAIN)
            return
        again = f"Sent once more without the oldest {counted(self.left_out, 'turn')}."
        problem.hint = " ".join(filter(None, [again, problem.hint]))

    def keep(self, reply: Reply, session: SessionState) -> None:
        """Write the turn's record and put it into the conversation, once, as the last step.

        Args:
            reply: what came.
            session: what the ask shares with others.
        """
        ask, request = self.ask, session.request
        session.took = None if request is None else request.took
        if self.lookup is not None and (recorded := self.lookup.interaction) is not None:
            session.took = recorded.took
            reply = replace(reply, recorded=recorded.origin, by_order=self.lookup.by_order)
        turn = self._turn(replace(reply, took=session.took))
        note_tokens(session, self.request, reply)
        if ask.allow_secrets:
            session.secret_check.allow(reply.text)
        record = self._record_of(turn, session.conversation)
        record = record if ask.keep_values else record.bare
        kept = replace(turn, record=record)
        if ask.part is not None:
            kept = continuation.joined(ask.part, kept)
        if isinstance(self.problem, ChatError | ChatInterrupted):
            self.problem.reply = kept.reply
            if ask.history and reply.text and reply.state != "complete":
                hints = [self.problem.hint, GOES_ON]
                self.problem.hint = " ".join(filter(None, hints))
        whole = None if ask.part is None else kept.reply
        answer = Answer(turn.reply, record, whole)
        if ask.history and session.conversation.added == self.added:
            self._put_into(session.conversation, kept)
        self.answer = answer

    def _turn(self, reply: Reply) -> Turn:
        """Return the turn that the ask makes: the question, what it carried, and what came."""
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
            carried=self.context.carried,
            instructions=instructions and instructions.bare,
        )

    def _record_of(self, turn: Turn, conversation: Conversation) -> Record:
        """Return the record of the turn that the ask makes."""
        record = turn.to_record(self.digest, self.context.shown)
        again = self.ask.again
        earlier = () if again is None else conversation.replies(again).latest
        digests = dict.fromkeys(other.recorded_digest for other in earlier)
        record = replace(record, in_place_of=tuple(digests))
        if (part := self.ask.part) is None:
            return record
        texts = part.reply.text, turn.reply.text
        record = replace(record, continues=part.recorded_digest, cut=continuation.cut_size(*texts))
        whole = continuation.joined(part, replace(turn, record=record))
        block = continuation.block_opening(*texts, self.ask.format)
        return replace(record, turn=whole.digest, block=block)

    def _put_into(self, conversation: Conversation, turn: Turn) -> None:
        """Put the turn that the ask makes into a conversation, in its place."""
        again = self.ask.again
        if again is None:
            conversation.add(turn, order=self.order)
        else:
            conversation.replace_reply(turn, again, asker=turn.owner, order=self.order)

    def parse(self) -> None:
        """Give the answer the value of its JSON, or note why there is none; its turn is kept."""
        if self.problem is not None or self.answer is None or self.ask.format != "json":
            return
        try:
            reply = forms.parsed(self.answer.kept, self.ask.form, kept=self.ask.history)
        except ReplyFormatError as problem:
            if self.took_schema:
                problem.hint = f"{problem.hint} {forms.TOOK_SCHEMA}"
            self.problem = problem
            return
        if self.answer.whole is None:
            self.answer = replace(self.answer, reply=reply)
        else:
            self.answer = replace(self.answer, whole=reply)

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


def set_aside_note(change: Change | None) -> list[str]:
    """Return a note that turns were set aside before this one was asked."""
    if change is None:
        return []
    turns = [counted(len(change.went), "turn")] if change.went else []
    what = " and ".join([*turns, *(f"the {kind}" for kind in change.steered)])
    return [f"set aside {what} of cells gone from the page"]
