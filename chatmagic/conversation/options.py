"""The options of ``%%chat`` and ``%chat``: one table for parser, help and manual."""

from __future__ import annotations

import keyword
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, get_args

from chatmagic._json import exact_count, exact_number, word_of
from chatmagic.conversation.request_facts import A_NAME, Format, Parameters, thread_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_UNSET: Final = Parameters()


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Args:
        flags: as typed, the short one first.
        help: what it does, in a few words.
        opposite: the flag that takes a configured switch back for one cell.
        convert: reads its value, or raises :exc:`ValueError`; ``None`` for a switch.
        metavar: its value's name in the help.
        takes: what its value is, for messages.
        suggested: the values that Tab offers; a ``FILE`` is completed by the names of files, a
            ``NAME`` by those of the namespace, a ``LABEL`` by those of the cells that have run,
            a ``THREAD`` by those of the threads.
        in_shell: whether ``chatmagic ask`` has it, where there are no cells and no names.
        configurable: whether a ``ChatMagics`` trait gives its default.
        field: the field of :class:`~chatmagic.conversation.chat_line.ParsedLine` that it sets,
            where that has not its long name.
    """

    flags: tuple[str, ...]
    help: str
    opposite: str | None = None
    convert: Callable[[str], object] | None = None
    metavar: str | None = None
    takes: str = ""
    suggested: tuple[str, ...] = ()
    in_shell: bool = False
    configurable: bool = True
    field: str = ""

    @property
    def dest(self) -> str:
        """The field that it sets."""
        name = self.flags[-1].removeprefix("--").removeprefix("no-")
        return self.field or name.replace("-", "_")

    @property
    def trait(self) -> str | None:
        """The trait that gives its default: the long name with underscores, or ``None``."""
        return self.flags[-1][2:].replace("-", "_") if self.configurable else None

    @property
    def on(self) -> bool:
        """What a switch sets its field to."""
        return not self.flags[-1].startswith("--no-")

    @property
    def spelling(self) -> str:
        """The flags with their argument, as the help shows them."""
        shown = ", ".join(self.flags)
        return shown if self.metavar is None else f"{shown} {self.metavar}"


def _name(word: str) -> str:
    # Python itself reads a name in this form, so the variable is found under it.
    name = unicodedata.normalize("NFKC", word)
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError
    return name


def _positive(word: str) -> int:
    number = exact_count(int(word))
    if number == 0:
        raise ValueError
    return number


def _names(words: str) -> str:
    return ".".join(_name(word) for word in words.split("."))


OPTIONS: Final[tuple[Option, ...]] = (
    Option(
        ("-t", "--temperature"),
        "sampling temperature",
        convert=lambda word: exact_number(float(word)),
        metavar="NUMBER",
        takes="a finite number",
        suggested=("0", "0.2", "0.7", "1"),
        in_shell=True,
    ),
    Option(
        ("-n", "--max-tokens"),
        "upper limit on the generated tokens",
        convert=int,
        metavar="N",
        takes="a whole number",
        suggested=("100", "500", "2000"),
        in_shell=True,
    ),
    Option(
        ("--last",),
        "send only the newest N turns before this one",
        convert=lambda word: exact_count(int(word)),
        metavar="N",
        takes="a whole number, 0 or more",
        suggested=("0", "1", "2", "4", "8"),
        in_shell=True,
    ),
    Option(
        ("--thread",),
        "ask in the thread of this name",
        convert=thread_name,
        metavar="THREAD",
        takes=A_NAME,
        configurable=False,
        in_shell=True,
    ),
    Option(("--hide",), "leave this turn out of later requests", in_shell=True, configurable=False),
    Option(
        ("--no-history",),
        "send the prompt alone and keep nothing of it",
        "--history",
        in_shell=True,
    ),
    Option(("--no-stream",), "ask for the reply in one piece", "--stream", in_shell=True),
    Option(
        ("--format",),
        f"form of the reply: {', '.join(get_args(Format))}",
        convert=word_of(Format),
        metavar="FORM",
        takes=f"one of {', '.join(get_args(Format))}",
        suggested=get_args(Format),
        in_shell=True,
    ),
    Option(
        ("--schema",),
        "ask for JSON by the schema NAME, and check the reply",
        convert=_names,
        metavar="NAME",
        takes="the name of a variable",
        configurable=False,
    ),
    Option(
        ("-o", "--output"),
        "put the reply into the variable NAME; of JSON, its value",
        convert=_name,
        metavar="NAME",
        takes="the name of a variable",
        configurable=False,
    ),
    Option(
        ("--above",),
        "send the N nearest cells above along, with their outputs",
        convert=_positive,
        metavar="N",
        takes="a whole number, 1 or more",
        suggested=("1", "2", "3", "5"),
        configurable=False,
    ),
    Option(
        ("--tag",),
        "send the cells along that have this label or tag",
        convert=str,
        metavar="LABEL",
        takes="the label or tag of a cell",
        configurable=False,
    ),
    Option(
        ("--error",), "send the last error of a cell along", field="with_error", configurable=False
    ),
    Option(("--raw",), "send {{ }} as typed", "--no-raw"),
    Option(("-q", "--quiet"), "do not show the reply", "--no-quiet"),
    Option(
        ("--no-credits",),
        "show no credits under the reply",
        "--credits",
        in_shell=True,
        field="credit_line",
    ),
    Option(("--background",), "let the cell end while the reply still comes", configurable=False),
    Option(
        ("--allow-secrets",),
        "send it although it holds a secret",
        configurable=False,
        in_shell=True,
    ),
    Option(("--dry",), "show the request and send nothing", in_shell=True, configurable=False),
)
"""The options, in the order in which the help shows them."""

BY_FLAG: Final = {
    flag: option for option in OPTIONS for flag in (*option.flags, option.opposite) if flag
}
"""Each option by each of its flags."""

MANUAL: Final = (
    "Lessons: chatmagic demo copies them and opens them in JupyterLab.",
    "Reference: notebooks/reference/index.md in the source of chatmagic.",
)
"""Where the manual is, for the help of ``%%chat?`` and of the command line: the wheel has the
lessons alone.
"""


def typed(parameters: Parameters) -> list[str]:
    """Return the options that ask with these parameters, as they are typed."""
    words = []
    for option in OPTIONS:
        value = getattr(parameters, option.dest, None)
        if option.convert is not None and value != unset(option):
            words.append(f"{option.flags[0]} {value}")
        elif option.convert is None and value is option.on:
            words.append(option.flags[0])
    return words


def listed(options: Sequence[Option]) -> list[str]:
    """Return a line of help for each of some options."""
    width = max(len(option.spelling) for option in options)
    return [f"    {option.spelling:<{width}}  {option.help}" for option in options]


def usage(examples: Sequence[str] = ()) -> str:
    """Return the help text of ``%%chat?``.

    Args:
        examples: cells to show as they are, each a text of one or more lines.
    """
    opposites = ", ".join(option.opposite for option in OPTIONS if option.opposite)
    lines = [
        "Ask the model; the reply is shown below the cell.",
        "",
        "    %%chat [options]              %chat [options] prompt",
        "    prompt",
        "",
        "Options stand before the first other word; -- ends them:",
        "",
        *listed(OPTIONS),
        "",
        "Defaults: %config ChatMagics.temperature = 0.2, and so on. What takes a configured",
        f"switch back for one cell: {opposites}.",
    ]
    for example in examples:
        lines += ["", *(f"    {line}" for line in example.splitlines())]
    lines += ["", *MANUAL]
    return "\n".join(lines)


def flags(beginning: str) -> list[str]:
    """Return the flags that begin so, in the order of the table, the long ones first."""
    longest_first = sorted(BY_FLAG, key=lambda flag: not flag.startswith("--"))
    return [flag for flag in longest_first if flag.startswith(beginning)]


def unset(option: Option) -> object:
    """Return what an option's field is where nothing sets it."""
    return getattr(_UNSET, option.dest, None)
