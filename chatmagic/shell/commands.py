"""``chatmagic ask`` and ``chatmagic doctor``, as functions of their arguments.

A shell has its own environment of a session, and its own words in messages. It keeps each
conversation in a private file in the user's state folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import platformdirs

from chatmagic._files import PRIVATE, content_of, folder_lock, replace_content
from chatmagic.advice import Note, Place, note_at
from chatmagic.archive import conversation_file
from chatmagic.client import config
from chatmagic.conversation import magic_line, options
from chatmagic.conversation.conversation import Conversation
from chatmagic.doctor.doctor import Examination
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    InputError,
    NotConnectedError,
    NotRecordedError,
    RateLimitError,
)
from chatmagic.jupyter.settings import FileSettings
from chatmagic.safe_text import to_terminal
from chatmagic.session import current
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.feature import DoctorLine
from chatmagic.session.features import sends_nothing
from chatmagic.session.session import Session
from chatmagic.session.views import TextView


class _Shell(ConfiguredEnvironment):
    """Environment of a shell, whose lines go to standard error."""

    place: Place = "shell"

    def notify(self, line: Note) -> None:
        """Write a line to standard error.

        Args:
            line: the line, which is shown in the words of a shell.
        """
        say(note_at(line, self.place))


@contextlib.contextmanager
def session_in_shell(
    arguments: Mapping[str, Any],
) -> Iterator[tuple[Session, ConfiguredEnvironment]]:
    """Return a context with a session in a shell's environment; it closes both.

    Args:
        arguments: the command's arguments; ``connect`` and ``model`` precede the settings.
    """
    environment = _Shell(FileSettings())
    environment.choose(arguments["connect"], "--connect", arguments["model"])
    current.use_environment(environment)
    session = Session(environment=environment)
    try:
        yield session, environment
    finally:
        # A failure to save a cassette is reported, and nothing is left open.
        for line in session.late_news():
            environment.notify(line)
        session.close()
        environment.close()
        current.use_environment(None)


def say(line: str) -> None:
    """Write a line to standard error.

    Args:
        line: the line of text.
    """
    print(f"({to_terminal(line)})", file=sys.stderr, flush=True)


def _unwritable(path: Path, error: OSError) -> str:
    """Return the line on a file that cannot be written."""
    return f"{path} cannot be written: {error.strerror or type(error).__name__}."


NO_REPLY = 1
NOT_SENT = 2
IN_PART = 3
USED_UP = 4
STOPPED = 128 + signal.SIGINT
"""The exit codes of a question without a whole reply; the reference page has the table."""


def ask(arguments: Mapping[str, Any]) -> int:
    """Ask a question.

    Args:
        arguments: the command's arguments, by name, without options that were not given.

    Returns:
        The exit code.

    Raises:
        OSError: standard output cannot be written, or nobody reads it; the text so far is kept.
    """
    try:
        with session_in_shell(arguments) as (session, environment):
            question = _question(environment, arguments, _text(arguments["words"]))
            _offer_variable(environment)
            with _kept(session, question, goes_on=arguments["continue"]):
                if arguments["dry"]:
                    return _preview(session, question)
                session.run(question, ShellView())
                return 0
    except ChatInterrupted as error:
        _complain(error)
        return STOPPED
    except ChatError as error:
        _complain(error)
        return _code(error)


def _offer_variable(environment: ConfiguredEnvironment) -> None:
    """Ask at a terminal whether the key in the variable of a service's own tools may go to it.

    That key was given for those tools, so it goes nowhere before a person agrees.
    """
    if sends_nothing(environment) or not all(map(_is_terminal, (sys.stdin, sys.stderr))):
        return
    with contextlib.suppress(ChatError):  # the question itself reports it
        endpoint = environment.endpoint()
        variable = config.offered_variable(endpoint)
        if variable is not None:
            print(config.use_of(variable, endpoint.shown_place()), end="", file=sys.stderr)
            sys.stderr.flush()
            if config.is_yes(sys.stdin.readline()):
                environment.agreed[endpoint.key_place] = variable


def _is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal."""
    return stream is not None and stream.isatty()


@contextlib.contextmanager
def _kept(session: Session, ask: Ask, *, goes_on: bool) -> Iterator[None]:
    """Return a context that keeps the turn asked in it, whole or in part, in a private file.

    Args:
        session: the session.
        ask: the question.
        goes_on: whether the file is that of the last conversation, which is read first; otherwise
            it is new, unless the question is asked without history.
    """
    conversation = session.conversation
    if goes_on:
        folder = _private_folder()
        waiting = partial(say, "waiting for another --continue to end")
        # One command after the other, so that none overwrites another's turn.
        with folder_lock(folder, waiting, longest=None):
            path = _latest(folder)
            conversation.load(_read(path))
            with _saved(conversation, path, "with the conversation"):
                yield
    elif ask.history:
        name = f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}-{secrets.token_hex(4)}.json"
        with _saved(conversation, _private_folder() / name, "and --continue goes on with it"):
            yield
    else:
        yield


def _private_folder() -> Path:
    """Return the user's folder of conversations from a shell, which nobody else can read."""
    folder: Path = platformdirs.user_state_path("chatmagic", appauthor=False) / "shell"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{_unwritable(folder, error)} Nothing was sent.") from None
    return folder


@contextlib.contextmanager
def _saved(conversation: Conversation, path: Path, words: str) -> Iterator[None]:
    """Return a context behind which a conversation is saved, if a turn was added in it.

    Args:
        conversation: the conversation.
        path: its file.
        words: words on the file, for the line that names it.
    """
    before = conversation.added
    is_output_read = True
    try:
        yield
    except BrokenPipeError:
        is_output_read = False
        raise
    finally:
        if conversation.added > before:
            _save(path, conversation)
            if is_output_read:
                say(f"kept, {words}: {path}")


def _latest(folder: Path) -> Path:
    """Return the file of the conversation that was written last."""
    files = list(folder.glob("*.json"))
    if not files:
        raise InputError(
            "There is no conversation from a shell to continue. Nothing was sent.",
            hint="Without --continue a question begins one.",
        )
    return max(files, key=lambda path: (path.stat().st_mtime_ns, path.name))


def _read(path: Path) -> Conversation:
    """Return the conversation in a file, or raise an error for any other file."""
    try:
        return conversation_file.loads(content_of(path) or b"")
    except InputError:
        raise
    except ValueError:
        raise InputError(
            f"{path} cannot be read: it is no conversation, or it was changed. Nothing was sent.",
            hint="Without --continue a question begins a new one.",
        ) from None


def _save(path: Path, conversation: Conversation) -> None:
    """Write a conversation, whole or not at all."""
    try:
        replace_content(path, conversation_file.dumps(conversation).encode(), mode=PRIVATE)
    except OSError as error:
        message = f"{_unwritable(path, error)} This reply is not kept."
        raise ChatError(message, reply=conversation.turns[-1].reply) from None


def _text(words: list[str]) -> str:
    """Return the prompt: the words, then standard input if it is named, or without words.

    Raises:
        InputError: standard input is no text.
    """
    takes_input = not words or words[-1] == "-"
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
        text = sys.stdin.buffer.read().decode("utf-8-sig").removesuffix("\n")
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


def _question(environment: ConfiguredEnvironment, arguments: Mapping[str, Any], text: str) -> Ask:
    """Return the question, with the options of the settings and of the command."""
    settings = environment.settings
    parsed = magic_line.parse_line("", settings.trait_values(config=True))
    fields = {option.dest for option in options.OPTIONS if option.in_shell}
    parsed = replace(parsed, **{name: arguments[name] for name in fields & set(arguments)})
    return replace(
        Ask.with_options(text, parsed),
        allow_secrets=parsed.allow_secrets,
        fit=settings.fit,
        asker="the shell",
    )


def _preview(session: Session, ask: Ask) -> int:
    """Show the request and its address on standard output; nothing is sent."""
    preview = session.preview(ask)
    print(to_terminal(json.dumps(preview.request.to_json(), ensure_ascii=False, indent=2)))
    where = "the cassette" if preview.endpoint is None else preview.endpoint.posted_to()
    print(f"(It would go to {where}. Nothing was sent.)", file=sys.stderr)
    return 0


def _complain(error: ChatError | ChatInterrupted) -> None:
    """Print an error."""
    print(f"chatmagic: {to_terminal(error.line_at('shell'))}", file=sys.stderr)


def _code(error: ChatError) -> int:
    """Return the exit code for the error that ended a question early."""
    if isinstance(error, RateLimitError | BudgetError):
        return USED_UP
    if error.reply is not None and error.reply.text:
        return IN_PART
    unsent = isinstance(error, InputError | NotRecordedError | NotConnectedError) or (
        isinstance(error, AuthenticationError) and error.status is None
    )
    return NOT_SENT if unsent else NO_REPLY


class ShellView(TextView):
    """View that writes a reply as it arrives, into a terminal and a pipe alike.

    No character of a reply acts in a terminal. A pipe may end in a terminal, too.
    """

    place: Place = "shell"

    def began(self, notes: Sequence[str]) -> None:
        """Print the notes on this question.

        Args:
            notes: lines on the request.
        """
        for note in notes:
            say(note)

    def ended(self, outcome: Outcome) -> None:
        """End the reply's last line, and print the known facts.

        Args:
            outcome: the end of the ask, with its reply.
        """
        super().ended(outcome)
        # Even an empty text: it raises the error of an earlier text that could not be written.
        self.write("" if (outcome.reply.text or "\n").endswith("\n") else "\n")
        for line in self.lines(outcome):
            say(line)


def examine(arguments: Mapping[str, Any]) -> int:
    """Print the doctor's block, each line as soon as it is known.

    Args:
        arguments: the command's arguments.

    Returns:
        The exit code: 1 where something is wrong.
    """
    shows = f"a shell: a reply goes to standard output, in {sys.stdout.encoding}"
    with session_in_shell(arguments) as (session, environment):
        examination = Examination(
            environment,
            session,
            DoctorLine("ok", "front end", shows),
            _print_line,
            is_asking=arguments["ask"],
            place="doctor",
        )
        return 0 if examination.run() else 1


def _print_line(line: DoctorLine | str) -> None:
    """Print a line of the doctor."""
    print(to_terminal(str(line)), flush=True)
