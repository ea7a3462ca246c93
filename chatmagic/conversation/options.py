"""The options of ``%%chat`` and ``%chat``, for the parser, the help, Tab and the manual."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from chatmagic._cached import cached_property
from chatmagic._json import exact_count, exact_number, word_of
from chatmagic.conversation.question import (
    A_MODEL,
    A_NAME,
    Format,
    Parameters,
    cells_above,
    model_name,
    thread_name,
    unquoted,
)

_UNSET: Final = Parameters()


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of the values that an option takes.

    Args:
        convert: returns the value for a word, or raises :exc:`ValueError`.
        words: description of a value, for messages.
        suggested: the values that Tab offers.
    """

    convert: Callable[[str], object]
    words: str
    suggested: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """Option of a command's line.

    Args:
        spelling: its flags, the short one first, then the name of its value. Tab completes a
            ``FILE``, a ``NAME`` of the namespace, a listed ``MODEL`` and a ``THREAD``. A name in
            lower case is the value itself.
        help: its effect, in a few words.
        kind: the kind of its value, which :func:`parse_line` reads; ``None`` for a switch, or if
            its command reads the text of the value.
        configurable: whether a ``ChatMagics`` trait gives its default. A switch then has an
            opposite, which overrides the trait for one cell.
        in_shell: whether ``chatmagic ask`` has it, which has no cells and no names.
        field: the field of :class:`ParsedLine` that it sets, if its name is not the option's.
    """

    spelling: str
    help: str
    kind: Kind | None = None
    configurable: bool = False
    in_shell: bool = True
    field: str = ""

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Its flags, the short one first."""
        return tuple(word.rstrip(",") for word in self.spelling.split() if word[0] == "-")

    @property
    def metavar(self) -> str | None:
        """The name of its value in the help; ``None`` for a switch."""
        word = self.spelling.split()[-1]
        return None if word[0] == "-" else word

    @property
    def opposite(self) -> str | None:
        """The flag that overrides a configured switch; ``None`` for any other option."""
        if self.metavar or not self.configurable:
            return None
        name = self.flags[-1].removeprefix("--")
        return f"--no-{name}" if self.on else f"--{name.removeprefix('no-')}"

    @cached_property
    def dest(self) -> str:
        """The field that it sets."""
        name = self.flags[-1].removeprefix("--").removeprefix("no-")
        return self.field or name.replace("-", "_")

    @cached_property
    def trait(self) -> str | None:
        """The trait that gives its default: the long name with underscores, or ``None``."""
        return self.flags[-1][2:].replace("-", "_") if self.configurable else None

    @cached_property
    def on(self) -> bool:
        """Value to which a switch sets its field."""
        return not self.flags[-1].startswith("--no-")

    @property
    def default(self) -> object:
        """The value of its field without a setting."""
        return getattr(_UNSET, self.dest, None if self.metavar else not self.on)


def _name(word: str) -> str:
    """Return the name of a variable as Python has it; any other word raises a ``ValueError``."""
    # Python normalizes names in this way.
    name = unicodedata.normalize("NFKC", word)
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError
    return name


def _names(words: str) -> str:
    """Return the name of a variable, or of an attribute of one, as Python has it."""
    return ".".join(_name(word) for word in words.split("."))


_NUMBER: Final = Kind(
    lambda word: exact_number(float(word)), "a finite number", ("0", "0.2", "0.7", "1")
)
_TOKENS: Final = Kind(int, "a whole number", ("100", "500", "2000"))
_TURNS: Final = Kind(
    lambda word: exact_count(int(word)), "a whole number, 0 or more", ("0", "1", "2", "4", "8")
)
_CELLS: Final = Kind(
    lambda word: cells_above(int(word) if word.isdigit() else word),
    f"{_TURNS.words}, or new or all",
    ("new", "all", "0", "1", "2", "3"),
)
_FORMAT: Final = Kind(word_of(Format), f"one of {', '.join(get_args(Format))}", get_args(Format))
_MODEL: Final = Kind(lambda word: model_name(unquoted(word)), A_MODEL)
_THREAD: Final = Kind(thread_name, A_NAME)
_LABEL: Final = Kind(str, "the label or tag of a cell")
_SCHEMA: Final = Kind(_names, "the name of a variable")
_OUTPUT: Final = Kind(_name, _SCHEMA.words)

OPTIONS: Final = (
    Option("-t, --temperature NUMBER", "sampling temperature", _NUMBER, configurable=True),
    Option("-n, --max-tokens N", "upper limit on the generated tokens", _TOKENS, configurable=True),
    Option("-m, --model MODEL", "ask this model, for one question", _MODEL, in_shell=False),
    Option("--last N", "send only the newest N turns before this one", _TURNS, configurable=True),
    Option("--thread THREAD", "ask in the thread of this name", _THREAD),
    Option("--hide", "leave this turn out of later requests"),
    Option("--no-history", "send the prompt alone and keep nothing of it", configurable=True),
    Option("--no-stream", "ask for the reply in one piece", configurable=True),
    Option(
        "--format FORM",
        f"form of the reply: {', '.join(get_args(Format))}",
        _FORMAT,
        configurable=True,
    ),
    Option(
        "--schema NAME",
        "ask for JSON by the schema NAME, and check the reply",
        _SCHEMA,
        in_shell=False,
    ),
    Option(
        "-o, --output NAME",
        "put the reply into the variable NAME; of JSON, its value",
        _OUTPUT,
        in_shell=False,
    ),
    Option(
        "--above N",
        "send the N nearest cells above along; or new, or all",
        _CELLS,
        configurable=True,
        in_shell=False,
    ),
    Option("--no-markdown", "send no Markdown cells along with --above", in_shell=False),
    Option(
        "--tag LABEL", "send the cells along that have this label or tag", _LABEL, in_shell=False
    ),
    Option("--error", "send the last error of a cell along", in_shell=False, field="with_error"),
    Option("--raw", "send {{ }} as typed", configurable=True, in_shell=False),
    Option("-q, --quiet", "do not show the reply", configurable=True, in_shell=False),
    Option(
        "--no-credits", "show no credits under the reply", configurable=True, field="credit_line"
    ),
    Option("--background", "let the cell end while the reply still comes", in_shell=False),
    Option("--allow-secrets", "send it although it holds a secret"),
    Option("--dry", "show the request and send nothing"),
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
"""Places of the manual, for the help of ``%%chat?`` and of the command line. The wheel has only the
lessons.
"""


def help_lines(options: Sequence[Option]) -> list[str]:
    """Return a line of help for each option.

    Args:
        options: the options, in order.
    """
    width = max(len(option.spelling) for option in options)
    return [f"    {option.spelling:<{width}}  {option.help}" for option in options]


def help_text(examples: Sequence[str] = ()) -> str:
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
        "Options come before the prompt; after -- a prompt can begin with a dash:",
        "",
        *help_lines(OPTIONS),
        "",
        "%config ChatMagics.temperature = 0.2 sets a default, and so on. For one cell, these turn",
        f"a default off: {opposites}.",
    ]
    for example in examples:
        lines += ["", *(f"    {line}" for line in example.splitlines())]
    lines += ["", *MANUAL]
    return "\n".join(lines)


def flags_starting(beginning: str) -> list[str]:
    """Return the flags with a beginning, in the order of the table, the long ones first.

    Args:
        beginning: the text that is typed so far.
    """
    longest_first = sorted(BY_FLAG, key=lambda flag: not flag.startswith("--"))
    return [flag for flag in longest_first if flag.startswith(beginning)]
