"""``chatmagic ask``: the words of a shell become one question, asked as a cell asks."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import stat
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from chatmagic._json import shared
from chatmagic.archive.files import folder_lock
from chatmagic.conversation import options
from chatmagic.conversation.request_facts import Parameters
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    InputError,
    NotRecordedError,
    RateLimitError,
)
from chatmagic.session import current
from chatmagic.session.events import Ask
from chatmagic.shell.kept import KeptConversations, NotKeptError
from chatmagic.shell.shell_environment import ShellEnvironment
from chatmagic.shell.shell_words import in_shell
from chatmagic.shell.view import ShellView, say
from chatmagic.text import to_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chatmagic.session.session import Session

NO_REPLY, NOT_SENT, IN_PART, USED_UP, STOPPED = 1, 2, 3, 4, 128 + signal.SIGINT
"""The exit codes of a question without a whole reply; the reference page has the table."""
STANDARD_INPUT: Final = "-"


def run(arguments: Mapping[str, Any]) -> int:
    """Put a question.

    Args:
        arguments: the command's, by name; options that were not given are not among them.

    Returns:
        The exit code.

    Raises:
        OSError: standard output cannot be written, or nobody reads it; what came is kept.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        with session_in_shell(arguments) as (session, environment):
            ask = _ask(environment, arguments, _text(arguments["words"]))
            with _kept(session, ask, goes_on=arguments["continue"]) as save:
                return _preview(session, ask) if arguments["dry"] else _send(session, ask, save)
    except ChatInterrupted as error:
        _complain(error)
        return STOPPED
    except ChatError as error:
        _complain(error)
        return _code(error)


@contextlib.contextmanager
def _kept(session: Session, ask: Ask, *, goes_on: bool) -> Iterator[Callable[[], object]]:
    """Give what keeps the conversation, a new one or the last one."""
    if not goes_on and not ask.history:
        yield lambda: None
        return
    kept = KeptConversations()
    if not goes_on:
        yield partial(kept.save, kept.new(), session.conversation)
        return
    # One after the other, so that none overwrites the turn of another.
    with folder_lock(kept.folder, partial(say, "waiting for another --continue to end")):
        path = kept.latest()
        session.conversation.load(kept.load(path))
        yield partial(kept.save, path, session.conversation)


def _send(session: Session, ask: Ask, save: Callable[[], object]) -> int:
    """Ask, and keep the turn, whole or in part, before what ended it early is told."""
    before = session.conversation.added
    try:
        session.run(ask, ShellView())
    finally:
        if session.conversation.added > before:
            save()
    return 0


@contextlib.contextmanager
def session_in_shell(
    arguments: Mapping[str, Any],
) -> Iterator[tuple[Session, ShellEnvironment]]:
    """Give this process's session, in a shell's environment, and close what it opened.

    Args:
        arguments: the command's; ``connect`` and ``model`` count before what is set.
    """
    environment = ShellEnvironment()
    addresses = environment.addresses
    addresses.chosen, addresses.chosen_by = arguments["connect"], "--connect"
    if arguments["model"] is not None:
        environment.settings.model = arguments["model"]
        addresses.belong_here({"model"})
    before = current.use_session(None)
    current.use_environment(lambda: environment)
    session = current.current_session()
    try:
        yield session, environment
    finally:
        # What a cassette could not save is told, and nothing is left open.
        session.cassette.eject()
        for line in session.cassette.news():
            environment.notify(line)
        session.close()
        environment.close()
        current.use_environment(None)
        current.use_session(before)


def _text(words: list[str]) -> str:
    """Return the prompt: the words, then standard input where it is named, or without words.

    Raises:
        InputError: standard input is no text.
    """
    takes_input = not words or words[-1] == STANDARD_INPUT
    typed = " ".join(words[:-1] if takes_input else words)
    if not takes_input:
        if _is_piped():
            say("standard input is not read; - at the end takes it")
        return typed
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "There is no question. Nothing was sent.",
            hint='chatmagic ask "…", or … | chatmagic ask; chatmagic ask --help shows more.',
        )
    try:
        text = sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise InputError("Standard input is no text in UTF-8. Nothing was sent.") from None
    return "\n\n".join(part for part in (typed, text) if part)


def _is_piped() -> bool:
    """Return whether standard input is a pipe or a file, so that it may be meant."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _ask(environment: ShellEnvironment, arguments: Mapping[str, Any], text: str) -> Ask:
    """Return the question with its options, as settings and words say."""
    settings = environment.settings
    parsed = options.parse_line("", settings.trait_values(config=True))
    fields = {option.dest for option in options.OPTIONS if option.in_shell}
    parsed = replace(parsed, **{name: arguments[name] for name in fields & set(arguments)})
    return Ask(
        text,
        **shared(parsed, Parameters),
        allow_secrets=parsed.allow_secrets,
        fit=settings.fit,
        asker="the shell",
    )


def _preview(session: Session, ask: Ask) -> int:
    """Show the request on standard output, and where it would go; nothing is sent."""
    preview = session.preview(ask)
    print(to_terminal(json.dumps(preview.request.to_json(), ensure_ascii=False, indent=2)))
    where = "the cassette" if preview.endpoint is None else preview.endpoint.posted_to()
    print(f"(It would go to {where}. Nothing was sent.)", file=sys.stderr)
    return 0


def _complain(error: ChatError | ChatInterrupted) -> None:
    print(f"chatmagic: {to_terminal(in_shell(str(error)))}", file=sys.stderr)


def _code(error: ChatError) -> int:
    """Return the exit code for what ended a question early."""
    if isinstance(error, RateLimitError | BudgetError):
        return USED_UP
    if isinstance(error, NotKeptError) or (error.reply is not None and error.reply.text):
        return IN_PART
    unsent = (
        isinstance(error, InputError | NotRecordedError)
        or (isinstance(error, AuthenticationError) and error.status is None)
        # No address is set.
        or (isinstance(error, ConnectError) and error.fault == "you")
    )
    return NOT_SENT if unsent else NO_REPLY
