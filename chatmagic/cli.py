"""The command line: ``chatmagic demo``, ``emulator``, ``audit`` and ``sanitize-file``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from chatmagic import demo
from chatmagic._version import __version__
from chatmagic.conversation.options import MANUAL
from chatmagic.emulator.service import FAULTS, FRESH, Settings
from chatmagic.errors import ChatError, InputError
from chatmagic.protocol.auth import AUTH_WAYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SANITIZE_FILE: Final = Path(__file__).with_name("nbval-sanitize.cfg")
"""What makes nbval leave out the HTML of our outputs, whose text it still compares."""
LINE_ENDS: Final = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}

_HIGHEST_PORT: Final = 65_535
_SIGPIPE: Final = 13


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: the words after ``chatmagic``; ``None`` takes them from the process.

    Returns:
        The exit code: 0, also after Ctrl-C once the command runs; 1 where something is
        missing or failed; 2 for what was asked wrongly; 130 for Ctrl-C before that; 141
        where nobody reads the output to its end, as of a program that SIGPIPE ends.
    """
    try:
        try:
            asked = vars(_parser().parse_args(argv))
            code: int = asked.pop("run")(asked)
        finally:
            # Here, not at Python's end, which would complain of a pipe that is closed.
            sys.stdout.flush()
    except BrokenPipeError:
        # What is left to print goes nowhere, in silence.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + _SIGPIPE
    except InputError as error:
        print(f"chatmagic: {error}", file=sys.stderr)
        return 2
    except ChatError as error:
        print(f"chatmagic: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return code


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}.", hint=f"{self.prog} --help shows what there is.")


def _parser() -> _Parser:
    parser = _Parser(
        prog="chatmagic",
        description="Chat with a completion service from a Jupyter notebook.",
        epilog="\n".join(("In a notebook %%chat? shows how to ask.", *MANUAL)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"chatmagic {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_demo(
        commands.add_parser(
            "demo",
            help="open the lesson notebooks in JupyterLab, without a key or a network",
            description="Copy the lesson notebooks that FOLDER lacks, and open them in "
            "JupyterLab, connected to an emulator: no account, no key, no network.",
            allow_abbrev=False,
        )
    )
    _add_emulator(
        commands.add_parser(
            "emulator",
            help="run a local server that speaks the whole interface",
            description="Run a server on this machine that speaks the whole interface. "
            "It is for practice and for tests. Any word is a key that does not begin with "
            "'invalid', and has credits of its own.",
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )
    )
    _add_audit(
        commands.add_parser(
            "audit",
            help="tabulate the turns in notebooks, without a kernel",
            description="Tabulate what notebooks tell of their conversations. Nothing in them "
            "is run. The exit status is 1 if a reply is not the one that was recorded, a turn "
            "was asked after others than those above it, or a file cannot be read.",
            allow_abbrev=False,
        )
    )
    commands.add_parser(
        "sanitize-file",
        help="print where the file for nbval's --nbval-sanitize-with is",
        description="Print where the file is that makes nbval leave out the HTML of "
        "chatmagic's outputs, and compare their text: "
        'pytest --nbval --nbval-sanitize-with "$(chatmagic sanitize-file)"',
        allow_abbrev=False,
    ).set_defaults(run=_sanitize_file)
    return parser


def _add_audit(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="a notebook, or a cassette")
    add(
        "--values",
        action="store_true",
        help="also list what the files give away: values that were put into prompts, paths, "
        "hosts, when cells ran",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON")
    form.add_argument("--csv", action="store_true", help="as CSV, a row a turn")
    parser.set_defaults(run=_audit)


def _add_demo(parser: argparse.ArgumentParser) -> None:
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
    parser.set_defaults(run=_demo)


def _add_emulator(parser: argparse.ArgumentParser) -> None:
    """Add the port, and one option for each field of :class:`Settings`."""
    add = parser.add_argument
    add("--port", type=_port, default=0, metavar="N", help="default: any free one")
    add(
        "--credits", type=int, metavar="N", help=f"credit limit of a key (default: {FRESH.credits})"
    )
    add("--cost", type=int, metavar="N", help=f"credits a request takes (default: {FRESH.cost})")
    add(
        "--delay",
        type=float,
        metavar="SECONDS",
        help=f"pause between fragments (default: {FRESH.delay})",
    )
    add("--now", type=_time, metavar="ISO", help="stop the clock at this time, with its zone")
    add("--period", type=int, metavar="SECONDS", help="between two resets (default: a day)")
    choices = parser.add_argument_group("where the interface leaves the choice")
    add = choices.add_argument
    add(
        "--rate-limit-status",
        type=int,
        metavar="N",
        help=f"HTTP status of the rate-limit error (default: {FRESH.rate_limit_status})",
    )
    add(
        "--no-headers-on-errors",
        dest="headers_on_errors",
        action="store_false",
        help="errors carry no rate-limit headers",
    )
    add(
        "--no-blank-lines",
        dest="blank_lines",
        action="store_false",
        help="no blank line follows an event",
    )
    add("--line-end", choices=LINE_ENDS, help="what ends a line of a stream (default: lf)")
    add(
        "--no-chunk-extras",
        dest="chunk_extras",
        action="store_false",
        help="chunks carry no model, finish reason and usage",
    )
    add(
        "--precedence",
        nargs="+",
        choices=[way for way in AUTH_WAYS if way != "none"],
        metavar="WAY",
        help="of several ways of the key, the first of these counts: %(choices)s "
        "(default: several are refused)",
    )
    faults = parser.add_argument_group("what goes wrong on demand")
    faults.add_argument("--fault", choices=FAULTS, help="the fault of each accepted request")
    faults.add_argument(
        "--fault-after",
        type=int,
        metavar="N",
        help="fragments before it (default: 0; -1 is before the headers)",
    )
    parser.set_defaults(run=_emulator)


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


def _emulator(asked: Mapping[str, Any]) -> int:
    settings = emulator_settings(asked)
    # The server comes with tornado, which the demo and the help do without.
    from chatmagic.emulator.server import serve  # noqa: PLC0415

    # A shell may have told a background process to ignore Ctrl-C; here it is how to end.
    with demo.on_signals(signal.default_int_handler):
        serve(settings, asked["port"])
    return 0


def emulator_settings(asked: Mapping[str, Any]) -> Settings:
    """Give the settings that the command line asks for.

    Args:
        asked: the options that were given, by field; others are left aside. What is not
            given is as in a kernel's own emulator, but for the clock, which runs.

    Raises:
        InputError: a value makes no sense.
    """
    names = {field.name for field in fields(Settings)}
    given = {name: value for name, value in asked.items() if name in names}
    if "line_end" in given:
        given["line_end"] = LINE_ENDS[given["line_end"]]
    if "precedence" in given:
        given["precedence"] = tuple(given["precedence"])
    return replace(FRESH, **{"now": None, **given})


def _audit(asked: Mapping[str, Any]) -> int:
    # It comes with the first notebook, which the other commands do without.
    from chatmagic.audit import audit, table  # noqa: PLC0415

    found = audit.audit_all(asked["files"])
    if asked["csv"]:
        print(table.as_csv(found), end="")
    elif asked["json"]:
        print(table.as_json(found, values=asked["values"]))
    else:
        print(table.table(found, values=asked["values"]))
    return 0 if all(one.in_order for one in found) else 1


def _sanitize_file(_: Mapping[str, Any]) -> int:
    print(SANITIZE_FILE)
    return 0


def _demo(asked: Mapping[str, Any]) -> int:
    return demo.run(asked["folder"], port=asked["port"], browser=asked["browser"])
