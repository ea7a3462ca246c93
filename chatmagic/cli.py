"""The command line: ``chatmagic ask``, ``demo``, ``install``, ``emulator``, ``audit`` and more."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NoReturn

from chatmagic import demo, install
from chatmagic._version import __version__
from chatmagic.conversation.options import MANUAL, OPTIONS, Option
from chatmagic.emulator.service import FAULTS, Settings
from chatmagic.errors import ChatError, InputError

SANITIZE_FILE: Final = Path(__file__).with_name("nbval-sanitize.cfg")
"""File by which nbval leaves out the HTML of chatmagic's outputs and compares their text."""

_HIGHEST_PORT: Final = 65_535
_SIGPIPE: Final = 13
_UNWRITTEN: Final = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: the words after ``chatmagic``; ``None`` takes them from the process.

    Returns:
        The exit code: 0, also after Ctrl-C once the command runs; 1 where something is missing
        or failed; 2 for wrong arguments; 3 where the output cannot be written; 130 for Ctrl-C
        before that; 141 where the output is not read to its end, as of a program that SIGPIPE ends.
    """
    if sys.stderr is None:
        # What is meant for it would be printed to standard output.
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for the whole process
    if sys.stdout is None:
        print("chatmagic: standard output is closed. Nothing was done.", file=sys.stderr)
        return _UNWRITTEN
    try:
        try:
            arguments = vars(_parser().parse_args(argv))
            code: int = arguments.pop("run")(arguments)
        finally:
            # Here, not at Python's end, which would complain of a closed pipe.
            print(end="", flush=True)
    except OSError as error:
        if error.filename is not None:
            raise
        # Of standard output, which Python would try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 128 + _SIGPIPE
        print(f"chatmagic: standard output cannot be written: {error.strerror}.", file=sys.stderr)
        return _UNWRITTEN
    except ChatError as error:
        print(f"chatmagic: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return code


class _Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations and reports an error in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}.", hint=f"{self.prog} --help shows what there is.")


def _parser() -> _Parser:
    parser = _Parser(
        prog="chatmagic",
        description="Chat with a completion service from a Jupyter notebook.",
        epilog="\n".join(("In a notebook %%chat? shows how to ask.", *MANUAL)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"chatmagic {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in (
        _add_ask,
        _add_doctor,
        _add_demo,
        _add_install,
        _add_emulator,
        _add_audit,
        _add_sanitize_file,
    ):
        add(commands.add_parser)
    return parser


def _add_ask(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    parser = add_parser(
        "ask",
        help="put a question from a shell; the reply alone goes to standard output",
        description="Put a question, with the settings, the cassette and the budget of a new "
        "kernel. The reply alone goes to standard output. Braces are sent as typed.",
    )
    add_ask_arguments(parser)
    parser.set_defaults(run=_ask)


def add_ask_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments to the command's parser."""
    add_argument = parser.add_argument
    add_argument(
        "words",
        nargs="*",
        metavar="PROMPT",
        help="the question; - at its end, or none at all, takes standard input",
    )
    add_argument(
        "--continue", action="store_true", help="go on with the last conversation from a shell"
    )
    _add_place(parser)
    for option in OPTIONS:
        if option.in_shell:
            _add_option(parser, option)
    parser.set_defaults(dry=False)


def _add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say where to ask, before what is set."""
    add_argument = parser.add_argument
    add_argument("--connect", metavar="URL", help="ask there: a URL, a server's name, or emulator")
    add_argument("--model", metavar="NAME", help="the model to ask for")


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add an option; where it is not given, its setting holds."""
    form: dict[str, Any] = {"default": argparse.SUPPRESS, "dest": option.dest}
    text = option.help.replace("%", "%%")
    if option.convert is not None:
        parser.add_argument(
            *option.flags, type=_reader(option), metavar=option.metavar, help=text, **form
        )
        return
    parser.add_argument(*option.flags, action="store_const", const=option.on, help=text, **form)
    if option.opposite:
        parser.add_argument(
            option.opposite,
            action="store_const",
            const=not option.on,
            help=f"takes {option.flags[-1]} back where it is set",
            **form,
        )


def _reader(option: Option) -> Callable[[str], object]:
    """Return what reads an option's value."""

    def read(word: str) -> object:
        try:
            return option.convert(word) if option.convert is not None else word
        except ValueError:
            raise argparse.ArgumentTypeError(f"it takes {option.takes}") from None

    return read


def _add_doctor(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    parser = add_parser(
        "doctor",
        help="say what is set, what works and what to do, as lines to paste into a report",
        description="Look at what is set, at the network, the clock, files and the cassette. "
        "Connections are tried; no request is sent without --ask. No key is shown. The exit "
        "status is 1 if something keeps a question from its answer.",
    )
    _add_place(parser)
    parser.add_argument(
        "--ask",
        action="store_true",
        help="send one short question, which costs what a short question costs",
    )
    parser.set_defaults(run=_doctor)


def _add_audit(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    parser = add_parser(
        "audit",
        help="tabulate the turns in notebooks and cassettes, without a kernel",
        description="Compare what the cells of notebooks ask with what stands below them. Nothing "
        "in them is run. The exit status is 1 if something does not agree, or a file cannot be "
        "read. A seal is no signature: who knows the code can make another one.",
    )
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="a notebook, a cassette, or a folder")
    add("--summary", action="store_true", help="a line for each file, and no more")
    add(
        "--values",
        action="store_true",
        help="also list what the files give away: values that were put into prompts, paths, "
        "hosts, when cells ran",
    )
    add("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=_audit)


def _add_demo(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    parser = add_parser(
        "demo",
        help="open the lesson notebooks in JupyterLab, without a key or a network",
        description="Copy the lesson notebooks that FOLDER lacks, and open them in "
        "JupyterLab, connected to an emulator: no account, no key, no network.",
    )
    add = parser.add_argument
    add(
        "folder",
        nargs="?",
        type=Path,
        default=Path(demo.FOLDER),
        metavar="FOLDER",
        help=f"where the notebooks go; nothing in it is overwritten (default: {demo.FOLDER})",
    )
    add("--no-browser", dest="browser", action="store_false", help="only print the address")
    add("--port", type=_port, default=0, metavar="N", help="JupyterLab's (default: any free one)")
    parser.set_defaults(run=lambda arguments: demo.run(**arguments))


def _add_install(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    parser = add_parser(
        "install",
        help="make %%%%chat work without %%load_ext in the notebooks of this environment",
        description="Add chatmagic to the extensions that IPython loads by itself, in this "
        "environment's own configuration, after showing the file and the lines.",
    )
    add = parser.add_argument
    add("--uninstall", action="store_true", help="remove the lines that it has added")
    add("--system", action="store_true", help="for all users and environments: in /etc/ipython")
    parser.set_defaults(run=lambda arguments: install.run(**arguments))


def _add_sanitize_file(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    add_parser(
        "sanitize-file",
        help="print where the file for nbval's --nbval-sanitize-with is",
        description="Print where the file is that makes nbval leave out the HTML of "
        "chatmagic's outputs, and compare their text: "
        'pytest --nbval --nbval-sanitize-with "$(chatmagic sanitize-file)"',
    ).set_defaults(run=_sanitize_file)


def _port(word: str) -> int:
    port = int(word) if word.isdecimal() else -1
    if not 0 <= port <= _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"a port is from 0 to {_HIGHEST_PORT}, not {word!r}")
    return port


def _time(word: str) -> datetime:
    try:
        return datetime.fromisoformat(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"write it as 2026-01-31T12:00Z, not {word!r}") from None


def _add_emulator(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command with its port, and an option for each field of :class:`Settings`."""
    parser = add_parser(
        "emulator",
        help="run a local server that speaks the whole interface",
        description="Run a server on this machine that speaks the whole interface. "
        "It is for practice and for tests. Any word is a key that does not begin with "
        "'invalid', and has credits of its own.",
    )
    add = parser.add_argument
    add("--port", type=_port, default=0, metavar="N", help="default: any free one")
    add(
        "--credits",
        type=int,
        default=100,
        metavar="N",
        help="credit limit of a key (default: %(default)s)",
    )
    add(
        "--cost",
        type=int,
        default=1,
        metavar="N",
        help="credits a request takes (default: %(default)s)",
    )
    add(
        "--delay",
        type=float,
        default=0.01,
        metavar="SECONDS",
        help="pause between fragments (default: %(default)s)",
    )
    add("--now", type=_time, metavar="ISO", help="stop the clock at this time, with its zone")
    add("--fault", choices=FAULTS, help="what goes wrong with each accepted request")
    add(
        "--fault-after",
        type=int,
        default=0,
        metavar="N",
        help="fragments before the fault; -1 is before the headers (default: %(default)s)",
    )
    parser.set_defaults(run=_emulator)


def _emulator(arguments: Mapping[str, Any]) -> int:
    settings = emulator_settings(arguments)
    # Loads the server, which the demo and the help do without.
    from chatmagic.emulator.server import serve  # noqa: PLC0415

    # A shell may have told a background process to ignore Ctrl-C, which is how to end this one.
    with demo.on_signals(signal.default_int_handler):
        serve(settings, arguments["port"])
    return 0


def emulator_settings(arguments: Mapping[str, Any]) -> Settings:
    """Return the emulator's settings as the command line asks for them.

    Args:
        arguments: those of the command, by field; others are ignored.

    Raises:
        InputError: a value makes no sense.
    """
    return Settings(**{field.name: arguments[field.name] for field in fields(Settings)})


def _ask(given: Mapping[str, Any]) -> int:
    # Loads IPython's settings and the session, which the other commands do without.
    from chatmagic.shell import commands  # noqa: PLC0415

    # A closed terminal, too, ends it as Ctrl-C does, so that what came is kept.
    with demo.on_signals(signal.default_int_handler):
        return commands.ask(given)


def _doctor(given: Mapping[str, Any]) -> int:
    # As for a question.
    from chatmagic.shell import commands  # noqa: PLC0415

    return commands.examine(given)


def _audit(arguments: Mapping[str, Any]) -> int:
    # Loads nbformat, which the other commands do without.
    from chatmagic.audit import audit  # noqa: PLC0415

    audits = audit.audit_all(arguments["files"])
    values = arguments["values"]
    print(
        audit.as_json(audits, values=values)
        if arguments["json"]
        else audit.table(audits, values=values, summary=arguments["summary"])
    )
    return 0 if all(item.in_order for item in audits) else 1


def _sanitize_file(_: Mapping[str, Any]) -> int:
    print(SANITIZE_FILE)
    return 0
