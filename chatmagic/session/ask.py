"""The course of one ask: how far it has come, what it says of itself, and how it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from chatmagic.conversation.turn import Context, Turn
from chatmagic.errors import ChatInterrupted, InputError
from chatmagic.models import Message
from chatmagic.protocol.wire import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from chatmagic.cassette.cassette import Lookup
    from chatmagic.conversation.history import Change
    from chatmagic.models import Reply
    from chatmagic.session.events import Answer, Ask, View

_MAGIC_LINE: Final = re.compile(r"%{1,2}chat(?:_\w+)?(?!\S)")

NOTHING: Final = Context(turns=(), total=0)
"""What an ask without history carries."""


class Stream(Protocol):
    """A reply on its way, as a client gives it."""

    @property
    def reply(self) -> Reply:
        """The reply as far as it has come."""

    def __enter__(self) -> Iterable[str]:
        """Send the request; give the fragments."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Keep the connection if the reply has ended, else close it."""

    def close(self) -> None:
        """Be done, wherever it is."""


@dataclass(slots=True)
class AskState:
    """How far one ask has come, for whoever has to end it."""

    ask: Ask
    context: Context = NOTHING
    digest: str = ""
    asked_model: str | None = None
    added: int = 0
    stream: Stream | None = None
    play: Lookup | None = None
    problem: BaseException | None = None
    answer: Answer | None = None
    shown: bool = False


def delivered(course: AskState, view: View) -> Answer:
    """Tell the view of the end, and give the answer or raise what ended it early."""
    answer = cast("Answer", course.answer)
    view.ended(answer)
    course.shown = True
    if course.problem is not None:
        raise course.problem from None
    return answer


def listen(stream: Stream, view: View) -> BaseException | None:
    """Read a reply to its end; give what ended it early, with the part that came."""
    try:
        with stream as fragments:
            for fragment in fragments:
                view.fragment(fragment)
    except ChatInterrupted as error:
        return interrupted(error.reply)
    except KeyboardInterrupt:
        return interrupted(stream.reply)
    except BaseException as error:  # noqa: BLE001 - the part that came is kept whatever ended it
        return error
    return None


def interrupted(reply: Reply | None) -> ChatInterrupted:
    """Give the error for an ask that a person stopped, with the part that came."""
    if reply is None or not reply.text:
        return ChatInterrupted("Interrupted before the reply began; the conversation is as it was.")
    words = len(reply.text.split())
    after = (
        f"Interrupted after {words:,} word{'' if words == 1 else 's'}; what came is kept, marked."
    )
    return ChatInterrupted(
        after if reply.state != "complete" else "Interrupted after the reply's end; it is kept.",
        reply=reply,
        credits=reply.credits,
    )


def request_of(ask: Ask, context: Context, extra_body: Mapping[str, Any]) -> tuple[Request, str]:
    """Give the request and its digest, before anything is spent on it."""
    try:
        request = Request(
            (*context.messages, Message("user", ask.text)),
            stream=ask.stream,
            max_tokens=ask.max_tokens,
            temperature=ask.temperature,
            extra=extra_body,
        )
        return request, request.digest()
    except ValueError as error:
        raise InputError(f"{error}. Nothing was sent.") from None


def turn_of(course: AskState, reply: Reply, took: int | None) -> Turn:
    """Give the turn that an ask makes: the question, what it carried, and what came."""
    ask = course.ask
    return Turn(
        prompt=ask.text,
        reply=reply,
        owner=ask.owner,
        execution=ask.execution,
        entry=ask.entry,
        asker=ask.asker,
        carried=course.context.numbers,
        typed=ask.typed,
        values=ask.values,
        max_tokens=ask.max_tokens,
        temperature=ask.temperature,
        last=ask.last,
        stream=ask.stream,
        took=took,
        asked_model=course.asked_model,
        shown=ask.shown,
    )


def notes(ask: Ask, context: Context) -> list[str]:
    """Say what is sent, where that is not simply what stands above."""
    sent, total, panel = len(context.turns), context.total, context.from_panel
    notes = [f"sent the last {sent:,} of {total:,} turns"] if sent < total else []
    if panel and ask.entry != "panel":
        notes.append(f"with {panel:,} turn{'' if panel == 1 else 's'} from the panel")
    return notes + merged(ask)


def merged(ask: Ask) -> list[str]:
    """Say that a command stands within the prompt, as where a page has merged two cells."""
    if ask.entry != "cell":
        return []
    lines = (ask.text if ask.typed is None else ask.typed).splitlines()
    found = next((match for match in map(_MAGIC_LINE.match, lines) if match), None)
    if found is None:
        return []
    return [f"a line with {found[0]} is sent as text; split the cell if it is to run by itself"]


def set_aside(change: Change | None) -> list[str]:
    """Say that turns were set aside before this one was asked."""
    if change is None:
        return []
    count = len(change.went)
    what = "1 turn whose cell is" if count == 1 else f"{count:,} turns whose cells are"
    return [f"set aside {what} gone from the page"]
