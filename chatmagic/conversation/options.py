"""The options of ``%%chat`` and ``%chat``: one table, from which everything else comes.

The parser, the help text and the manual's table are made from :data:`OPTIONS`, so that
they cannot disagree. Options stand before the first other word; from there the line is
the prompt, byte for byte, and ``--`` ends the options. There are no quotes and no
escapes: a word is what stands between white space.
"""

from __future__ import annotations

import argparse
import keyword
import math
import re
import unicodedata
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from chatmagic.conversation import suggestions
from chatmagic.errors import InputError
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_WORD: Final = re.compile(r"\S+")
_LIKE_AN_OPTION: Final = re.compile(r"--?[A-Za-z]|--\Z")
_SHIELD: Final = "\0"
_SHOWN: Final = 40
_SHORT_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({"-m": "model"})
_UNSENT: Final = "Nothing was sent."


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Args:
        flags: as typed, the short one first.
        dest: the field of :class:`Asked` that it sets.
        help: what it does, in a few words.
        opposite: the flag that takes a configured switch back for one cell.
        default: what holds without it, in words.
        kind: reads the word after it, or raises :exc:`ValueError`; ``None`` for a switch.
        metavar: that word's name in the help.
        takes: that word's nature, for messages.
        configurable: whether a ``ChatMagics`` trait gives its default.
    """

    flags: tuple[str, ...]
    dest: str
    help: str
    opposite: str | None = None
    default: str = "off"
    kind: Callable[[str], object] | None = None
    metavar: str | None = None
    takes: str = ""
    configurable: bool = True

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


@dataclass(frozen=True, slots=True)
class Asked:
    """What a magic line asks for.

    Args:
        temperature: sampling temperature (fact 3); ``None`` leaves it out.
        max_tokens: upper limit on generated tokens (fact 3); ``None`` leaves it out.
        last: how many of the newest turns go along; ``None`` is all of them.
        history: whether the turns before go along and this one is kept.
        stream: whether the reply is to come as a stream.
        output: name of the variable that gets the reply; ``None`` for none.
        raw: whether ``{{ }}`` is sent as typed.
        quiet: whether the reply is not shown.
        prompt: the rest of the line, byte for byte; may be empty.
    """

    temperature: float | None
    max_tokens: int | None
    last: int | None
    history: bool
    stream: bool
    output: str | None
    raw: bool
    quiet: bool
    prompt: str


def _number(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError
    return number


def _count(word: str) -> int:
    count = int(word)
    if count < 0:
        raise ValueError
    return count


def _name(word: str) -> str:
    # Python itself reads a name in this form, so the variable is found under it.
    name = unicodedata.normalize("NFKC", word)
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError
    return name


OPTIONS: Final[tuple[Option, ...]] = (
    Option(
        ("-t", "--temperature"),
        "temperature",
        "sampling temperature",
        default="the service's own",
        kind=_number,
        metavar="NUMBER",
        takes="a finite number",
    ),
    Option(
        ("-n", "--max-tokens"),
        "max_tokens",
        "upper limit on the generated tokens",
        default="the service's own",
        kind=int,
        metavar="N",
        takes="a whole number",
    ),
    Option(
        ("--last",),
        "last",
        "send only the newest N turns before this one",
        default="all turns",
        kind=_count,
        metavar="N",
        takes="a whole number, 0 or more",
    ),
    Option(
        ("--no-history",), "history", "send the prompt alone and keep nothing of it", "--history"
    ),
    Option(("--no-stream",), "stream", "ask for the reply in one piece", "--stream"),
    Option(
        ("-o", "--output"),
        "output",
        "put the reply into the variable NAME",
        default="no variable",
        kind=_name,
        metavar="NAME",
        takes="the name of a variable",
        configurable=False,
    ),
    Option(("--raw",), "raw", "send {{ }} as typed", "--no-raw"),
    Option(("-q", "--quiet"), "quiet", "do not show the reply", "--no-quiet"),
)
"""The options, in the order in which the help shows them."""

MANUAL: Final = (
    "Lessons: chatmagic demo copies them and opens them in JupyterLab.",
    "Reference: notebooks/reference/index.md in the source of chatmagic.",
)
"""Where the manual is, for the help of ``%%chat?`` and of the command line: the wheel has the
lessons alone.
"""

_HINT: Final = "A prompt that begins with a dash goes after --; %chat? shows the options."


def parse(line: str, defaults: Mapping[str, Any] = _NOTHING) -> Asked:
    """Read the line of ``%chat`` or ``%%chat``.

    Args:
        line: what stands after the magic's name.
        defaults: the configured values by trait name (``no_history``, …); what is missing
            has the built-in default.

    Returns:
        What is asked for. White space before the prompt and at the line's end is not
        part of the prompt; all within it is.

    Raises:
        InputError: an option does not exist, or its value is missing or wrong.
    """
    words = list(_WORD.finditer(line))
    try:
        found, unknown = _parser().parse_known_args([_shielded(word[0]) for word in words])
    except argparse.ArgumentError as error:
        raise _wrong_value(error) from None
    if unknown:
        raise _no_such(unknown[0], defaults)
    rest = words[len(words) - len(found.prompt) :]
    if rest and rest[0][0] == "--":
        rest = rest[1:]
    fields: dict[str, Any] = {option.dest: _default(option, defaults) for option in OPTIONS}
    fields.update((name, value) for name, value in vars(found).items() if name in fields)
    return Asked(**fields, prompt=line[rest[0].start() :].rstrip() if rest else "")


def usage(examples: Sequence[str] = ()) -> str:
    """Give the help text of ``%%chat?``.

    Args:
        examples: cells to show as they are, each a text of one or more lines.
    """
    width = max(len(option.spelling) for option in OPTIONS)
    lines = [
        "Ask the model; the reply is shown below the cell.",
        "",
        "    %%chat [options]              %chat [options] prompt",
        "    prompt",
        "",
        "Options stand before the first other word; -- ends them:",
        "",
        *(f"    {option.spelling:<{width}}  {option.help}" for option in OPTIONS),
        "",
        "Defaults: %config ChatMagics.temperature = 0.2, and so on. For one cell a configured",
        f"switch is taken back by its opposite: {', '.join(_opposites())}.",
    ]
    for example in examples:
        lines += ["", *(f"    {line}" for line in example.splitlines())]
    lines += ["", *MANUAL]
    return "\n".join(lines)


def markdown_table() -> str:
    """Return the manual's table of the options, a line for each."""
    rows = ["| Option | What it does | Default |", "|---|---|---|"]
    for option in OPTIONS:
        source = "" if option.trait is None else f", or `ChatMagics.{option.trait}`"
        back = "" if option.opposite is None else f" (`{option.opposite}` takes it back)"
        # A pair of braces is set as code: some renderers of Markdown take it for a template.
        does = option.help.replace("{{ }}", "`{{ }}`")
        rows.append(f"| `{option.spelling}` | {does}{back} | {option.default}{source} |")
    return "\n".join(rows)


def _parser() -> argparse.ArgumentParser:
    """Make the parser; fields that no option set stay out of what it finds."""
    parser = argparse.ArgumentParser(
        prog="%chat",
        add_help=False,
        allow_abbrev=False,
        exit_on_error=False,
        argument_default=argparse.SUPPRESS,
    )
    for option in OPTIONS:
        if option.kind is not None:
            parser.add_argument(
                *option.flags, dest=option.dest, type=_reader(option.kind, option.takes)
            )
            continue
        for flags, value in ((option.flags, option.on), (_opposites(option), not option.on)):
            parser.add_argument(*flags, dest=option.dest, action="store_const", const=value)
    parser.add_argument("prompt", nargs=argparse.REMAINDER)
    return parser


def _default(option: Option, defaults: Mapping[str, Any]) -> object:
    value = None if option.trait is None else defaults.get(option.trait)
    return value if option.kind is not None else bool(value) is option.on


def _shielded(word: str) -> str:
    """Mark a word that begins with a dash and is no option, such as ``-5`` or ``->``.

    Versions of argparse differ about which of those are options; none is.
    """
    return _SHIELD + word if word[0] == "-" and not _LIKE_AN_OPTION.match(word) else word


def _reader(kind: Callable[[str], object], takes: str) -> Callable[[str], object]:
    """Give what reads an option's value, with a message of ours for a wrong one."""

    def read(word: str) -> object:
        typed = word.removeprefix(_SHIELD)
        try:
            return kind(typed)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{takes}, not {one_line(typed, _SHOWN)!r}") from None

    return read


def _wrong_value(error: argparse.ArgumentError) -> InputError:
    for option in OPTIONS:
        if option.kind is not None and error.argument_name == "/".join(option.flags):
            given = error.message.startswith(option.takes)
            said = error.message if given else f"{option.takes}; there is none"
            return InputError(f"{error.argument_name} takes {said}. {_UNSENT}", hint=_HINT)
    return InputError(f"{error.argument_name} takes no value. {_UNSENT}", hint=_HINT)


def _no_such(word: str, settings: Mapping[str, Any]) -> InputError:
    flag = word.partition("=")[0]
    typed = flag.casefold()
    shown = one_line(flag, _SHOWN)
    setting = _SHORT_SETTINGS.get(typed, typed.removeprefix("--").replace("-", "_"))
    if setting in settings:
        value = '"NAME"' if setting == "model" else "VALUE"
        return InputError(
            f"{shown} is not an option: {setting} is a setting. {_UNSENT}",
            hint=f"%config ChatMagics.{setting} = {value} sets it.",
        )
    near = suggestions.near(typed, [flag for option in OPTIONS for flag in _flags(option)])
    question = "." if near is None else f": did you mean {near}?"
    return InputError(f"{shown} is not an option{question} {_UNSENT}", hint=_HINT)


def _flags(option: Option) -> tuple[str, ...]:
    return (*option.flags, *_opposites(option))


def _opposites(*of: Option) -> list[str]:
    return [option.opposite for option in of or OPTIONS if option.opposite is not None]
