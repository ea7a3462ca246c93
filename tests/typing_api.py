"""The public types, as mypy --strict sees them from outside: a program that is never run.

``assert_type`` holds what each public name gives. A line with ``# type: ignore[code]`` is wrong
in just that way: mypy reports the comment, too, once such a line passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, assert_type

import chatmagic
from chatmagic import Client, Credits, Limits, Message, Reply, Session, Timeout, Usage, errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chatmagic.client.halt import Halt
    from chatmagic.client.transport import Exchange

State = Literal["complete", "interrupted", "cut off"]
Origin = Literal["live", "replay", "emulator"]
Which = Literal["connect", "first_byte", "silence", "total"]


class Gateway:
    """A transport of a user's own."""

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Send a request and return the answer as it comes."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what is open."""


def a_client_takes_its_arguments(headers: Mapping[str, str], gateway: Gateway) -> None:
    """An address, a key and a place for it, time-outs in three forms, and what a server wants."""
    assert_type(Client(), Client)
    Client("https://chat.example.org", "key", auth="x-api-key", timeout=10, model="m")
    Client(timeout={"connect": 1.5, "total": None}, extra_headers=headers)
    Client(timeout=Timeout(first_byte=None), extra_body={"seed": 1, "stop": ["\n"]})
    Client(transport=gateway, limits=Limits(text=1_000))
    Client(limits={"body": 1_000})
    assert_type(Limits().text, int)
    Client("https://chat.example.org", transport=gateway, timeout=None)
    Client(transport=print)  # type: ignore[arg-type]
    Client(auth="basic")  # type: ignore[arg-type]
    Client(base_url=443)  # type: ignore[arg-type]
    Client(extra_headers={"X-Team": 1})  # type: ignore[dict-item]
    Client("https://chat.example.org", "key", "bearer")  # type: ignore[call-arg]
    Client(timeout="10")  # type: ignore[arg-type]
    Client(verify=False)  # type: ignore[call-arg]


def a_client_asks(mixed: Sequence[Message | dict[str, str]]) -> None:
    """Messages are ours or plain mappings, also mixed; a bare string is no conversation."""
    with Client() as client:
        assert_type(client, Client)
        assert_type(client.complete([Message("user", "Why?")]), Reply)
        assert_type(client.complete([{"role": "user", "content": "Why?"}], max_tokens=9), Reply)
        assert_type(client.complete(mixed, temperature=1), Reply)
        assert_type(client.credits, Credits | None)
        assert_type(client.close(), None)
        client.complete("Why?")  # type: ignore[arg-type]
        client.complete([{"role": "user", "content": 1}])  # type: ignore[dict-item]
        client.complete(mixed, 9)  # type: ignore[call-arg]
        client.complete(mixed, max_tokens="9")  # type: ignore[arg-type]
        client.credits = None  # type: ignore[misc]


def a_client_streams(messages: tuple[Message, ...]) -> None:
    """A stream is entered, gives strings and has a reply, whole or in part."""
    with Client() as client, client.stream(messages, max_tokens=9) as stream:
        assert_type(iter(stream), Iterator[str])
        for fragment in stream:
            assert_type(fragment, str)
        assert_type(stream.reply, Reply)
        assert_type(stream.close(), None)
        next(stream)  # type: ignore[call-overload]
        stream.reply = Reply("")  # type: ignore[misc]


def a_reply_tells(reply: Reply) -> None:
    """What a reply has of itself; nothing of it can be set."""
    assert_type(reply.text, str)
    assert_type(
        [(block.code, block.language) for block in reply.code_blocks], list[tuple[str, str]]
    )
    assert_type(str(reply), str)
    assert_type(reply.model, str | None)
    assert_type(reply.finish_reason, str | None)
    assert_type(reply.usage, Usage | None)
    assert_type(reply.credits, Credits | None)
    assert_type(reply.state, State)
    assert_type(reply.refusal, str | None)
    assert_type(reply.date, datetime | None)
    assert_type(reply.origin, Origin)
    assert_type(reply.recorded, Origin | None)
    assert_type(reply.by_order, bool)
    reply.parsed.anything.at.all  # noqa: B018 - what a schema gives is not known to mypy
    reply.text = ""  # type: ignore[misc]
    reply.usage.total_tokens  # type: ignore[union-attr]  # noqa: B018 - what mypy is to find
    len(reply)  # type: ignore[arg-type]
    Reply("", state="done")  # type: ignore[arg-type]


def figures_may_be_unknown(usage: Usage, credits: Credits) -> None:
    """Every figure may be unknown; only when it was seen is not."""
    assert_type(usage.prompt_tokens, int | None)
    assert_type(usage.completion_tokens, int | None)
    assert_type(usage.total_tokens, int | None)
    assert_type(credits.limit, int | None)
    assert_type(credits.remaining, int | None)
    assert_type(credits.used, int | None)
    assert_type(credits.resets_at, datetime | None)
    assert_type(credits.seen_at, datetime)
    assert_type(credits.lapsed_at, datetime | None)
    credits.limit + 1  # type: ignore[operator]
    usage.total_tokens = 1  # type: ignore[misc]
    credits.remaining = 1  # type: ignore[misc]


def a_message_has_two_strings(message: Message) -> None:
    """A role and a text, which cannot be set."""
    assert_type(message.role, str)
    assert_type(message.content, str)
    Message("user")  # type: ignore[call-arg]
    Message("user", None)  # type: ignore[arg-type]
    message.content = ""  # type: ignore[misc]


def time_outs_are_seconds_or_none(timeout: Timeout) -> None:
    """A whole or a broken number of seconds; None waits for ever."""
    assert_type(timeout.connect, float | None)
    assert_type(timeout.first_byte, float | None)
    assert_type(timeout.silence, float | None)
    assert_type(timeout.total, float | None)
    Timeout(connect=timedelta(seconds=1))  # type: ignore[arg-type]
    Timeout(read=1.0)  # type: ignore[call-arg]
    timeout.total = 1.0  # type: ignore[misc]


def a_session_keeps_a_conversation(heard: Callable[[str], None]) -> None:
    """A session asks with or without a client of its own, and its turns can be gone through."""
    session = Session(Client())
    assert_type(Session().ask("Why?"), Reply)
    assert_type(session.ask("Why?", max_tokens=9, temperature=0, last=2, history=False), Reply)
    assert_type(session.ask("Why?", stream=True, on_fragment=heard), Reply)
    assert_type(session.credits, Credits | None)
    assert_type(session.took, int | None)
    assert_type(session.close(), None)
    for turn in session.conversation:
        assert_type(turn.prompt, str)
        assert_type(turn.reply, Reply)
    session.ask(["Why?"])  # type: ignore[arg-type]
    session.ask("Why?", 9)  # type: ignore[call-arg]
    session.ask("Why?", max_token=9)  # type: ignore[call-arg]
    Session("https://chat.example.org")  # type: ignore[arg-type]


def the_kernel_has_one_session() -> None:
    """The magics' session, and asking in it in short."""
    assert_type(chatmagic.current_session(), Session)
    assert_type(chatmagic.turns("*.ipynb", Path("a.ipynb")), Any)
    assert_type(chatmagic.current_session().to_dataframe(), Any)
    assert_type(chatmagic.current_session().ledger.to_dataframe(), Any)
    assert_type([row.took for row in chatmagic.current_session().ledger.rows], list[int | None])
    chatmagic.turns(5)  # type: ignore[arg-type]
    assert_type(chatmagic.ask("Why?"), Reply)
    assert_type(chatmagic.ask("Why?", max_tokens=9), Reply)
    chatmagic.ask()  # type: ignore[call-arg]
    chatmagic.ask("Why?", temprature=1)  # type: ignore[call-arg]
    chatmagic.map("{{ it }}", [], temprature=1)  # type: ignore[call-overload]
    replies = chatmagic.map("{{ it }}", ["Why?"], yes=True)
    assert_type(replies[0], chatmagic.RowReply)
    assert_type(replies[1:].to_dataframe(), Any)
    label = chatmagic.mapper("{{ a }}", "answers", workers=8, repeats=5, schema=None, columns=False)
    assert_type(label, chatmagic.Mapper)
    assert_type(label({"a": ["Why?"]}), dict[str, list[str]])
    assert_type(label.answers()[0], chatmagic.RowReply)
    repeated = chatmagic.map("{{ it }}", ["Why?"], repeats=5)[0]
    if isinstance(repeated, chatmagic.RepeatedReply):
        assert_type(repeated.agree, float | None)
        assert_type(repeated.replies, tuple[chatmagic.RowReply, ...])
    assert_type(replies.to_dataframe(), Any)
    assert_type([reply.text for reply in replies], list[str | None])
    table = {"a": ["Why?"]}
    assert_type(chatmagic.map("{{ a }}", table, column="label"), dict[str, list[str]])
    job = chatmagic.current_session().map("{{ it }}", iter("ab"), workers=8, block=False)
    assert_type(job.answered, int)
    chatmagic.current_session().map("{{ it }}", [], retry=3)  # type: ignore[call-overload]
    assert_type(chatmagic.ask("Why?").code_blocks[0], chatmagic.CodeBlock)
    chatmagic.asks("Why?")  # type: ignore[attr-defined]
    assert_type(chatmagic.__version__, str)


def a_study_has_its_agreement(frame: object) -> None:
    """Any table, or several by name; true labels by their column or as they are."""
    found = chatmagic.agreement(frame, "replies", "label", "ordinal", labels=["low", "high"])
    assert_type(found, chatmagic.Agreement)
    assert_type(found.measures[0].low, float | None)
    assert_type(found.table, Any)
    assert_type(found.notes, tuple[str, ...])
    chatmagic.agreement({"a": frame, "b": frame}, gold=["yes", None])
    chatmagic.agreement(frame, level="ratio")  # type: ignore[arg-type]
    found.level = "nominal"  # type: ignore[misc]
    review = chatmagic.review(frame, ["yes", "no"], n=20, seed=1, reviewer="ann")
    assert_type(review, chatmagic.Review)
    assert_type(review.gold, list[str | None])
    assert_type(review.read_csv("labels.csv"), int)
    chatmagic.agreement(frame, gold=review)
    chatmagic.review(frame)  # type: ignore[call-arg]


class Person(TypedDict):
    """A schema."""

    name: str


class WholeNumber:
    """A schema that reads a value itself, as pydantic's ``TypeAdapter`` does."""

    def validate_python(self, value: object, /, *, strict: bool | None = None) -> int:
        """Return what was read."""
        raise NotImplementedError


async def a_schema_types_its_reply(reader: WholeNumber) -> None:
    """What is parsed is of the schema's type, in each way to ask."""
    assert_type(chatmagic.ask("Who?", schema=Person), Reply[Person])
    assert_type(chatmagic.ask("Who?", schema=list[Person]).parsed, list[Person])
    assert_type(chatmagic.ask("Who?", schema=reader).parsed, int)
    assert_type(chatmagic.ask("Who?", schema={"type": "object"}), Reply[Any])
    assert_type(Session().ask("Who?", schema=Person).parsed["name"], str)
    assert_type(await chatmagic.aask("Who?", schema=Person), Reply[Person])
    assert_type(await Session().aask("Who?"), Reply)
    assert_type(Session().messages("main"), list[dict[str, str]])
    chatmagic.ask("Who?", schema=Person).parsed["age"]  # type: ignore[typeddict-item]
    chatmagic.ask("Who?", schema="Person")  # type: ignore[arg-type]
    await chatmagic.aask("Who?", temprature=1)  # type: ignore[call-arg]


def an_error_carries_what_is_known(error: errors.ChatError | errors.ChatInterrupted) -> None:
    """Errors and an interrupt say the same things of themselves."""
    assert_type(error.message, str)
    assert_type(error.hint, str | None)
    assert_type(error.status, int | None)
    assert_type(error.credits, Credits | None)
    assert_type(error.reply, Reply | None)
    assert_type(error.retry_after, datetime | None)
    error.code  # type: ignore[union-attr]  # noqa: B018 - what mypy is to find


def every_error_is_caught_as_one() -> None:
    """ChatError catches each error; an interrupt is a KeyboardInterrupt, and no Exception."""
    caught: tuple[type[errors.ChatError], ...] = (
        errors.InputError,
        errors.BudgetError,
        errors.NotRecordedError,
        errors.AuthenticationError,
        errors.RateLimitError,
        errors.RequestRejectedError,
        errors.ServiceError,
        errors.TooLongError,
        errors.ConnectError,
        errors.NotConnectedError,
        errors.RequestTimeoutError,
        errors.CutOffError,
        errors.NotUnderstoodError,
        errors.ReplyFormatError,
    )
    assert_type(caught[0]("What happened.", hint="What to do."), errors.ChatError)
    late = errors.RequestTimeoutError("It took too long.", which="total")
    assert_type(late.which, Which)
    errors.ConnectError()  # type: ignore[call-arg]
    errors.RequestTimeoutError("It took too long.", which="read")  # type: ignore[arg-type]
    try:
        chatmagic.ask("Why?")
    except errors.CutOffError as error:
        assert_type(error.reply, Reply | None)
    by_kind: list[type[ValueError]] = [errors.InputError]
    by_kind.append(errors.ConnectError)  # type: ignore[arg-type]
    stops: list[type[KeyboardInterrupt]] = [errors.ChatInterrupted]
    stops.append(errors.ChatError)  # type: ignore[arg-type]
    caught += (errors.ChatInterrupted,)  # type: ignore[operator]
