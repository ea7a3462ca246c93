"""The command line: ``chatmagic ask``, ``demo``, ``install``, ``emulator``, ``audit`` and more."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from chatmagic import demo, install
from chatmagic._standard_output import UnwritableReplaced
from chatmagic._version import __version__
from chatmagic.conversation.options import MANUAL, OPTIONS, Option
from chatmagic.emulator.service import Settings
from chatmagic.errors import ChatError, InputError
from chatmagic.other_tools import command_advice, option_advice
from chatmagic.safe_text import one_line, to_terminal

if TYPE_CHECKING:
    from chatmagic.study.compare import Comparison

SANITIZE_FILE: Final = Path(__file__).with_name("nbval-sanitize.cfg")
"""File by which nbval leaves out the HTML of chatmagic's outputs and compares their text."""

_HIGHEST_PORT: Final = 65_535
_SIGPIPE: Final = 13
_UNWRITTEN: Final = 3
_SHOWN: Final = 40
"""Most characters of a wrong word that an error shows."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: the words after ``chatmagic``; ``None`` takes them from the process.

    Returns:
        The exit code: 0, also after Ctrl-C in a running command; 1 if something is missing or
        failed; 2 for wrong arguments; 3 if the output cannot be written; 130 for Ctrl-C before the
        command runs; 141 if the output is not read to its end, like a program that SIGPIPE ends.
    """
    if sys.stderr is None:
        # Messages of the other commands would be printed to standard output.
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for the whole process
    if sys.stdout is None:
        print("chatmagic: standard output is closed. Nothing was done.", file=sys.stderr)
        return _UNWRITTEN
    UnwritableReplaced()  # until the process ends
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except OSError as error:
        if error.filename is not None:
            raise
        return _code_without_output(error)
    except ChatError as error:
        print(f"chatmagic: {error.line_at('shell')}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _run(words: Sequence[str]) -> int:
    """Return the exit code of the command that the words name, after its output is written.

    Raises:
        OSError: standard output cannot be written, or nobody reads it.
    """
    try:
        _refuse_unknown(words)
        arguments = vars(_parser().parse_args(words))
        run: Callable[[Mapping[str, Any]], int] = arguments.pop("run")
        return run(arguments)
    finally:
        # Here, as Python would complain about a closed pipe when it ends.
        print(end="", flush=True)


def _code_without_output(error: OSError) -> int:
    """Return the exit code for lost output, after a line on it unless a reader ended a pipe."""
    # Else Python would try once more to write to standard output.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 128 + _SIGPIPE
    print(f"chatmagic: standard output cannot be written: {error.strerror}.", file=sys.stderr)
    return _UNWRITTEN


def _refuse_unknown(words: Sequence[str]) -> None:
    """Raise an error for a first word that is no command, such as a question."""
    first = words[0] if words else None
    if first is not None and first not in {*_COMMANDS, "-h", "--help", "--version"}:
        raise InputError(
            f"{one_line(first, _SHOWN)} is not a command. Nothing was sent.",
            hint=command_advice(first),
        )


def _refuse_options_of_others(words: Iterable[str]) -> None:
    """Raise an error for a known option of another tool, before ``--``.

    argparse takes an option that it does not know for a part of the question, if it has a space in
    its value.
    """
    for word in takewhile("--".__ne__, words):
        flag = word.partition("=")[0]
        if flag.startswith("-") and (hint := option_advice(flag)):
            raise InputError(f"{flag} is not an option. Nothing was sent.", hint=hint)


class _Parser(argparse.ArgumentParser):
    """Parser that reports an error in one line."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a line; an option of another tool is an error with advice."""
        if self.prog.endswith(" ask"):
            _refuse_options_of_others(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise an error of one line."""
        raise InputError(f"{message}.", hint=f"{self.prog} --help shows the usage.")


def _parser() -> _Parser:
    """Return the parser of all commands; the help of each is its function's docstring."""
    parser = _Parser(
        prog="chatmagic",
        description="Chat with a completion service from a Jupyter notebook.",
        epilog="\n".join(("In a notebook %%chat? shows how to ask.", *MANUAL)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"chatmagic {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (run, add_arguments) in _COMMANDS.items():
        text = inspect.getdoc(run) or ""
        summary = text.split("\n")[0].rstrip(".").replace("%", "%%")
        command = commands.add_parser(name, help=summary, description=text, allow_abbrev=False)
        add_arguments(command)
        command.set_defaults(run=run)
    return parser


def add_ask_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``chatmagic ask``.

    Args:
        parser: the command's parser.
    """
    add = parser.add_argument
    text = "the question; - at its end, or none at all, takes standard input"
    add("words", nargs="*", metavar="PROMPT", help=text)
    add("--continue", action="store_true", help="continue the last conversation from a shell")
    _add_place(parser)
    for option in OPTIONS:
        if option.in_shell:
            _add_option(parser, option)
    # An option that is not given is absent, but this one is always read.
    parser.set_defaults(dry=False)


def _add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the service, which precede the settings."""
    add = parser.add_argument
    add("--connect", metavar="URL", help="ask there: a URL, a server's name, or emulator")
    add("-m", "--model", metavar="NAME", help="the model to ask for")


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add an option; if it is not given, its setting applies."""
    form: dict[str, Any] = {"default": argparse.SUPPRESS, "dest": option.dest}
    text = option.help.replace("%", "%%")
    if (kind := option.kind) is not None:

        def read(word: str) -> object:
            try:
                return kind.convert(word)
            except ValueError:
                raise argparse.ArgumentTypeError(f"it takes {kind.words}") from None

        parser.add_argument(*option.flags, type=read, metavar=option.metavar, help=text, **form)
        return
    form["action"] = "store_const"
    parser.add_argument(*option.flags, const=option.on, help=text, **form)
    if option.opposite:
        text = f"the opposite of {option.flags[-1]}, where a setting has that"
        parser.add_argument(option.opposite, const=not option.on, help=text, **form)


def _add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``chatmagic doctor``."""
    _add_place(parser)
    text = "send one short question, which costs credits"
    parser.add_argument("--ask", action="store_true", help=text)


def _add_audit_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``chatmagic audit``."""
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="a notebook, a cassette, or a folder")
    add("--summary", action="store_true", help="a line for each file, and no more")
    text = "also list private texts in the files: values of prompts, paths, hosts"
    add("--values", action="store_true", help=text)
    text = "check only for texts that look like keys or passwords; nothing else is reported"
    add("--secrets", action="store_true", help=text)
    text = "also write a page on the notebooks, and a table beside it (PAGE.csv)"
    add("--html", type=Path, metavar="PAGE.html", help=text)
    add("--json", action="store_true", help="as JSON")


def _add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``chatmagic compare``."""
    add = parser.add_argument
    text = "two notebooks, cassettes or files of maps, in any mixture; or a cassette"
    add("files", nargs="+", type=Path, metavar="FILE", help=text)
    add("--all", action="store_true", help="also list the questions that do not differ")
    add("--json", action="store_true", help="as JSON, with the whole texts")


def _add_refresh_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``chatmagic refresh``."""
    add = parser.add_argument
    add("--all", action="store_true", help="also list the questions that do not differ")
    add("--json", action="store_true", help="as JSON, with the whole texts")
    add("file", type=Path, metavar="CASSETTE", help="the cassette")
    text = "the command that asks again, such as: jupyter execute paper.ipynb"
    add("command", nargs=argparse.REMAINDER, metavar="COMMAND …", help=text)


def _add_methods_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``chatmagic methods``."""
    add = parser.add_argument
    text = "a notebook, a cassette, a map's file, a review, an agreement, or a folder"
    add("files", nargs="+", type=Path, metavar="FILE", help=text)
    forms = ("worldbank", "plain")
    text = "the World Bank's log as Markdown, or text without markup (default: %(default)s)"
    add("--form", choices=forms, default=forms[0], help=text)
    add("--json", action="store_true", help="as JSON, with the whole texts")


def _add_demo_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``chatmagic demo``."""
    add = parser.add_argument
    folder = Path(demo.FOLDER)
    text = "where the notebooks go; nothing in it is overwritten (default: %(default)s)"
    add("folder", nargs="?", type=Path, default=folder, metavar="FOLDER", help=text)
    add("--no-browser", dest="browser", action="store_false", help="only print the address")
    add("--port", type=_port, default=0, metavar="N", help="JupyterLab's (default: any free one)")


def _add_install_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``chatmagic install``."""
    add = parser.add_argument
    add("--uninstall", action="store_true", help="remove the lines that it has added")
    add("--system", action="store_true", help="for all users and environments: in /etc/ipython")


def _add_emulator_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the port, and the options of the credits and the pace."""
    add = parser.add_argument
    default = "(default: %(default)s)"
    add("--port", type=_port, default=0, metavar="N", help="default: any free one")
    add("--credits", type=int, default=100, metavar="N", help=f"credit limit of a key {default}")
    add("--cost", type=int, default=1, metavar="N", help=f"credits that a request costs {default}")
    text = f"pause between fragments {default}"
    add("--delay", type=float, default=0.01, metavar="SECONDS", help=text)


def _port(word: str) -> int:
    port = int(word) if word.isdecimal() else -1
    if not 0 <= port <= _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"a port is from 0 to {_HIGHEST_PORT}, not {word!r}")
    return port


def _ask(given: Mapping[str, Any]) -> int:
    """Put a question from a shell; the reply alone goes to standard output.

    It is asked with the settings of a new kernel. Braces are sent as typed. The conversation is
    kept in a private file, which is named behind the reply; with --no-history nothing is kept.
    """
    # Loads IPython's settings and the session, which the other commands do without.
    from chatmagic.shell import commands  # noqa: PLC0415

    # A closed terminal ends it as Ctrl-C does, so that the text so far is kept.
    with demo.on_signals(signal.default_int_handler):
        return commands.ask(given)


def _doctor(given: Mapping[str, Any]) -> int:
    """Report the settings, the connection and any faults, as lines to paste into a report.

    It checks the settings, the network, files and the cassette. Connections are tried;
    no request is sent without --ask. No key is shown. The exit status is 1 if a fault prevents an
    answer.
    """
    # As for a question.
    from chatmagic.shell import commands  # noqa: PLC0415

    return commands.examine(given)


def _demo(given: Mapping[str, Any]) -> int:
    """Open the lesson notebooks in JupyterLab, without a key or a network.

    The notebooks that FOLDER lacks are copied, and opened in JupyterLab, connected to an emulator:
    no account, no key, no network.
    """
    return demo.run_demo(given["folder"], port=given["port"], browser=given["browser"])


def _install(given: Mapping[str, Any]) -> int:
    """Make %%chat work without %load_ext in the notebooks of this environment.

    It adds chatmagic to the extensions that IPython loads by itself, in this environment's own
    configuration, after showing the file and the lines.
    """
    return install.run_install(system=given["system"], uninstall=given["uninstall"])


def _emulator(given: Mapping[str, Any]) -> int:
    """Run a practice server that answers like a chat service.

    It is for practice and for tests. Any word is a key that does not begin with 'invalid', and has
    credits of its own.
    """
    settings = Settings(given["credits"], given["cost"], given["delay"])
    # Loads the server, which the demo and the help do without.
    from chatmagic.emulator.server import serve  # noqa: PLC0415

    # A shell may have set a background process to ignore Ctrl-C, which is the way to end this one.
    with demo.on_signals(signal.default_int_handler):
        serve(settings, given["port"])
    return 0


def _audit(given: Mapping[str, Any]) -> int:
    """Check and list the turns in notebooks and cassettes, without a kernel.

    The questions of the cells of notebooks are compared with the outputs below them. Nothing in
    them is run. The exit status is 1 if something does not agree, or a file cannot be read. A seal
    is no signature: someone who knows the code can make another one.
    """
    # Loads nbformat, which the other commands do without.
    from chatmagic.audit import audit, findings_text  # noqa: PLC0415

    if given["secrets"]:
        audits = audit.secrets_of_all(given["files"])
        print(findings_text.problems_text(audits))
        return 1 if any(item.problems for item in audits) else 0
    audits = audit.audit_all(given["files"])
    if given["html"]:
        from chatmagic.audit.class_report import write_report  # noqa: PLC0415 - as above

        for path in write_report(given["html"], audits):
            print(f"({to_terminal(str(path))} is written.)", file=sys.stderr)
    values = given["values"]
    if given["json"]:
        print(findings_text.as_json(audits, values=values))
    else:
        print(findings_text.findings_text(audits, values=values, summary=given["summary"]))
    return 1 if any(item.problems for item in audits) else 0


def _compare(given: Mapping[str, Any]) -> int:
    """Show what changed between two files with questions, and why: the cause before the effect.

    Each file is a notebook, a cassette, or the file of a map; a question stands beside its earlier
    self. Nothing is sent. With a cassette alone, it is compared with itself before its last
    refresh. The exit status is 0 if no question differs, 1 if one does, and 2 if a file cannot be
    read.
    """
    # Loads the readers of all files, which the other commands do without.
    from chatmagic.study import compare  # noqa: PLC0415

    comparison = compare.of_files(given["files"])
    _print_comparison(comparison, given)
    return int(comparison.differs)


def _print_comparison(comparison: Comparison, given: Mapping[str, Any]) -> None:
    """Print a comparison in the form that was asked for."""
    from chatmagic.study import comparison_output  # noqa: PLC0415 - as above

    if given["json"]:
        print(json.dumps(comparison_output.comparison_json(comparison), indent=1))
    else:
        print(comparison_output.comparison_text(comparison, every=given["all"]))


def _refresh(given: Mapping[str, Any]) -> int:
    """Run a command with a cassette in the mode refresh, and show what changed.

    Everything that the command asks through chatmagic is sent again, and counts: each new answer
    takes the recorded one's place, which stays in a copy beside the cassette. The table of
    chatmagic compare follows. The exit status is 0 if no question differs, 1 if one does, and 2 if
    the command failed or asked nothing again.
    """
    # Loads the readers of all files, which the other commands do without.
    from chatmagic.shell.refresh import refresh  # noqa: PLC0415

    comparison, status = refresh(given["file"], given["command"])
    _print_comparison(comparison, given)
    if status:
        print(f"chatmagic: the command ended with status {status}.", file=sys.stderr)
        return 2
    return int(comparison.differs)


def _methods(given: Mapping[str, Any]) -> int:
    """Write how a model was used, for a paper: a paragraph, a log and an appendix.

    Everything comes from the files; no model is asked, and the same files give the same report.
    What only a person knows is a marked blank. The exit status is 0, 1 if one of the files cannot
    be read, and 2 if none holds a question.
    """
    # Loads the readers of all files, which the other commands do without.
    from chatmagic.study import methods, study_files  # noqa: PLC0415

    study = study_files.read_study(given["files"])
    if given["json"]:
        print(json.dumps(methods.report_json(study, given["form"]), indent=1))
    else:
        print(methods.report(study, given["form"]), end="")
    return 1 if study.unread else 0


def _sanitize_file(_: Mapping[str, Any]) -> int:
    """Print the path of the file for nbval's --nbval-sanitize-with.

    The file makes nbval leave out the HTML of chatmagic's outputs, and compare their text:
    pytest --nbval --nbval-sanitize-with="$(chatmagic sanitize-file)"
    """
    print(SANITIZE_FILE)
    return 0


_COMMANDS: Final = {
    "ask": (_ask, add_ask_arguments),
    "doctor": (_doctor, _add_doctor_arguments),
    "demo": (_demo, _add_demo_arguments),
    "install": (_install, _add_install_arguments),
    "emulator": (_emulator, _add_emulator_arguments),
    "audit": (_audit, _add_audit_arguments),
    "methods": (_methods, _add_methods_arguments),
    "compare": (_compare, _add_compare_arguments),
    "refresh": (_refresh, _add_refresh_arguments),
    "sanitize-file": (_sanitize_file, lambda _: None),
}
"""Each command's function, whose docstring is its help, and the function for its arguments."""
