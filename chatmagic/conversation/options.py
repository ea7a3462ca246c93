"""The options of ``%%chat`` and ``%chat``: one table for parser, help and manual.

Options stand before the first other word; from there the line is the prompt, byte for byte,
and ``--`` ends the options. There are no quotes and no escapes: a word is what stands between
white space. An option's value is the next word (``-t 0.5``), or stands after ``=``
(``--last=2``) or right behind a short flag (``-t0.5``). :mod:`argparse` reads options so, too,
but keeps no prompt as it is.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, get_args

from chatmagic._json import exact_count, exact_number, word_of
from chatmagic.conversation import suggestions
from chatmagic.conversation.blocks import ASKED_OF_AN_ERROR
from chatmagic.conversation.request_facts import Format, Parameters
from chatmagic.errors import InputError
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_WORD: Final = re.compile(r"\S+")
_LIKE_AN_OPTION: Final = re.compile(r"--?[A-Za-z]|--\Z")
_SHOWN: Final = 40
_SHORT_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({"-m": "model"})
_UNSET: Final = Parameters()
_UNSENT: Final = "Nothing was sent."


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Args:
        flags: as typed, the short one first.
        dest: the field of :class:`ParsedLine` that it sets.
        help: what it does, in a few words.
        opposite: the flag that takes a configured switch back for one cell.
        convert: reads its value, or raises :exc:`ValueError`; ``None`` for a switch.
        metavar: its value's name in the help.
        takes: what its value is, for messages.
        suggested: the values that Tab offers; a ``FILE`` is completed by the names of files, a
            ``NAME`` by those of the namespace, a ``LABEL`` by those of the cells that have run.
        configurable: whether a ``ChatMagics`` trait gives its default.
    """

    flags: tuple[str, ...]
    dest: str
    help: str
    opposite: str | None = None
    convert: Callable[[str], object] | None = None
    metavar: str | None = None
    takes: str = ""
    suggested: tuple[str, ...] = ()
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedLine(Parameters):
    """The options and the prompt of a magic line.

    Args:
        output: name of the variable that gets the reply; ``None`` for none.
        raw: whether ``{{ }}`` is sent as typed.
        quiet: whether the reply is not shown.
        allow_secrets: whether it is sent although it holds a secret.
        dry: whether the request is shown and not sent.
        prompt: the rest of the line, byte for byte; may be empty.
    """

    output: str | None
    raw: bool
    quiet: bool
    allow_secrets: bool = False
    dry: bool = False
    prompt: str

    def question(self, body: str) -> str:
        """Return the question of a line and a body; about an error it need not be typed.

        Args:
            body: what stands under the line, without its last line end.
        """
        text = "\n".join(part for part in (self.prompt, body) if part)
        return ASKED_OF_AN_ERROR if self.with_error and not text.strip() else text


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


def ranges(numbers: str) -> list[tuple[int, int]]:
    """Return the first and the last number of each part of ``3-5,7``.

    Args:
        numbers: as typed.

    Raises:
        ValueError: it is no such list.
    """
    parts = []
    for part in numbers.split(","):
        first, dash, last = part.partition("-")
        begin, end = exact_count(int(first)), exact_count(int(last if dash else first))
        if begin > end:
            raise ValueError
        parts.append((begin, end))
    return parts


def _numbers(word: str) -> str:
    ranges(word)
    return word


def _names(words: str) -> str:
    return ".".join(_name(word) for word in words.split("."))


OPTIONS: Final[tuple[Option, ...]] = (
    Option(
        ("-t", "--temperature"),
        "temperature",
        "sampling temperature",
        convert=lambda word: exact_number(float(word)),
        metavar="NUMBER",
        takes="a finite number",
        suggested=("0", "0.2", "0.7", "1"),
    ),
    Option(
        ("-n", "--max-tokens"),
        "max_tokens",
        "upper limit on the generated tokens",
        convert=int,
        metavar="N",
        takes="a whole number",
        suggested=("100", "500", "2000"),
    ),
    Option(
        ("--last",),
        "last",
        "send only the newest N turns before this one",
        convert=lambda word: exact_count(int(word)),
        metavar="N",
        takes="a whole number, 0 or more",
        suggested=("0", "1", "2", "4", "8"),
    ),
    Option(
        ("--no-history",), "history", "send the prompt alone and keep nothing of it", "--history"
    ),
    Option(("--no-stream",), "stream", "ask for the reply in one piece", "--stream"),
    Option(
        ("--format",),
        "format",
        f"form of the reply: {', '.join(get_args(Format))}",
        convert=word_of(Format),
        metavar="FORM",
        takes=f"one of {', '.join(get_args(Format))}",
        suggested=get_args(Format),
    ),
    Option(
        ("--schema",),
        "schema",
        "ask for JSON by the schema NAME, and check the reply",
        convert=_names,
        metavar="NAME",
        takes="the name of a variable",
        configurable=False,
    ),
    Option(
        ("-o", "--output"),
        "output",
        "put the reply into the variable NAME; of JSON, its value",
        convert=_name,
        metavar="NAME",
        takes="the name of a variable",
        configurable=False,
    ),
    Option(
        ("--above",),
        "above",
        "send the N nearest cells above along, with their outputs",
        convert=_positive,
        metavar="N",
        takes="a whole number, 1 or more",
        suggested=("1", "2", "3", "5"),
        configurable=False,
    ),
    Option(
        ("--tag",),
        "tag",
        "send the cells along that have this label or tag",
        convert=str,
        metavar="LABEL",
        takes="the label or tag of a cell",
        configurable=False,
    ),
    Option(
        ("--cells",),
        "cells",
        "send the cells with these numbers along, to explore",
        convert=_numbers,
        metavar="3-5",
        takes="numbers of cells, such as 3, 3-5 or 3-5,7",
        configurable=False,
    ),
    Option(("--error",), "with_error", "send the last error of a cell along", configurable=False),
    Option(("--raw",), "raw", "send {{ }} as typed", "--no-raw"),
    Option(("-q", "--quiet"), "quiet", "do not show the reply", "--no-quiet"),
    Option(
        ("--allow-secrets",),
        "allow_secrets",
        "send it although it holds a secret",
        configurable=False,
    ),
    Option(("--dry",), "dry", "show the request and send nothing", configurable=False),
)
"""The options, in the order in which the help shows them."""

_BY_FLAG: Final = {
    flag: option for option in OPTIONS for flag in (*option.flags, option.opposite) if flag
}

MANUAL: Final = (
    "Lessons: chatmagic demo copies them and opens them in JupyterLab.",
    "Reference: notebooks/reference/index.md in the source of chatmagic.",
)
"""Where the manual is, for the help of ``%%chat?`` and of the command line: the wheel has the
lessons alone.
"""

_HINT: Final = "A prompt that begins with a dash goes after --; %chat? shows the options."


def parse(line: str, defaults: Mapping[str, Any] = _NOTHING) -> ParsedLine:
    """Read the line of ``%chat`` or ``%%chat``.

    Args:
        line: what stands after the magic's name.
        defaults: the configured values by trait name (``no_history``, …); what is missing
            has the built-in default.

    Returns:
        The options and the prompt, without the white space before and after it.

    Raises:
        InputError: an option does not exist, or its value is missing or wrong.
    """
    fields: dict[str, Any] = {option.dest: _default(option, defaults) for option in OPTIONS}
    words = list(_WORD.finditer(line))
    at = 0
    while at < len(words) and _LIKE_AN_OPTION.match(words[at][0]):
        word, at = words[at][0], at + 1
        if word == "--":
            break
        flag, value = _flag(word)
        option = _BY_FLAG.get(flag)
        if option is None:
            raise _unknown(flag, defaults)
        if option.convert is not None and value is None and at < len(words):
            following = words[at][0]
            if not _LIKE_AN_OPTION.match(following):
                value, at = following, at + 1
        fields[option.dest] = _value(option, flag, value)
    prompt = line[words[at].start() :].rstrip() if at < len(words) else ""
    return ParsedLine(**fields, prompt=prompt)


def typed(parameters: Parameters) -> list[str]:
    """Return the options that ask with these parameters, as they are typed."""
    words = []
    for option in OPTIONS:
        value = getattr(parameters, option.dest, None)
        if option.convert is not None and value != _unset(option):
            words.append(f"{option.flags[0]} {value}")
        elif option.convert is None and value is option.on:
            words.append(option.flags[0])
    return words


def usage(examples: Sequence[str] = ()) -> str:
    """Return the help text of ``%%chat?``.

    Args:
        examples: cells to show as they are, each a text of one or more lines.
    """
    width = max(len(option.spelling) for option in OPTIONS)
    opposites = ", ".join(option.opposite for option in OPTIONS if option.opposite)
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
        f"switch is taken back by its opposite: {opposites}.",
    ]
    for example in examples:
        lines += ["", *(f"    {line}" for line in example.splitlines())]
    lines += ["", *MANUAL]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class LineEnd:
    """End of a magic line that is being typed.

    Args:
        word: the word at the end as far as it is typed; empty behind white space.
        option: the option whose value the word is; ``None`` for any other word.
        in_prompt: whether the word belongs to the prompt.
    """

    word: str
    option: Option | None = None
    in_prompt: bool = False


def end(line: str) -> LineEnd:
    """Return what stands at the end of a line, by the rules of :func:`parse`.

    Args:
        line: what stands after the magic's name, up to the cursor.
    """
    words = _WORD.findall(line)
    last = words.pop() if line[-1:].strip() else ""
    option = None
    for word in words:
        is_value = option is not None and not _LIKE_AN_OPTION.match(word)
        if not is_value and (word == "--" or not _LIKE_AN_OPTION.match(word)):
            return LineEnd(last, in_prompt=True)
        option = None if is_value else _waiting(*_flag(word))
    if last == "-" or _LIKE_AN_OPTION.match(last):
        flag, value = _flag(last)
        option = _BY_FLAG.get(flag)
        has_value = value is not None and option is not None and option.convert is not None
        return LineEnd(value or "", option) if has_value else LineEnd(last)
    return LineEnd(last, option, in_prompt=bool(last) and option is None)


def flags(beginning: str) -> list[str]:
    """Return the flags that begin so, in the order of the table, the long ones first."""
    longest_first = sorted(_BY_FLAG, key=lambda flag: not flag.startswith("--"))
    return [flag for flag in longest_first if flag.startswith(beginning)]


def _waiting(flag: str, value: str | None) -> Option | None:
    """Return the option that takes the next word as its value, if it does."""
    option = _BY_FLAG.get(flag)
    return option if value is None and option is not None and option.convert is not None else None


def _default(option: Option, defaults: Mapping[str, Any]) -> object:
    value = None if option.trait is None else defaults.get(option.trait)
    if option.convert is None:
        return bool(value) is option.on
    return _unset(option) if value is None else value


def _unset(option: Option) -> object:
    """Return what an option's field is where nothing sets it."""
    return getattr(_UNSET, option.dest, None)


def _flag(word: str) -> tuple[str, str | None]:
    """Return the flag of a word, and the value that is attached to it."""
    flag, equals, value = word.partition("=")
    if flag not in _BY_FLAG and word[:2] in _BY_FLAG:
        return word[:2], word[2:]
    return flag, value if equals else None


def _value(option: Option, flag: str, word: str | None) -> object:
    """Return what an option sets its field to.

    Args:
        option: the option.
        flag: how it is spelt.
        word: its value as typed, if any.

    Raises:
        InputError: it takes another value, or none.
    """
    name = "/".join(option.flags)
    if option.convert is None:
        is_opposite = flag == option.opposite
        if word is not None:
            shown = flag if is_opposite else name
            raise InputError(f"{shown} takes no value. {_UNSENT}", hint=_HINT)
        return option.on is not is_opposite
    if word is None:
        raise InputError(f"{name} takes {option.takes}; none was given. {_UNSENT}", hint=_HINT)
    try:
        return option.convert(word)
    except ValueError:
        shown = repr(one_line(word, _SHOWN))
        raise InputError(
            f"{name} takes {option.takes}, not {shown}. {_UNSENT}", hint=_HINT
        ) from None


def _unknown(flag: str, settings: Mapping[str, Any]) -> InputError:
    """Return the error for a flag that does not exist, with the nearest one or its setting."""
    typed = flag.casefold()
    shown = one_line(flag, _SHOWN)
    setting = _SHORT_SETTINGS.get(typed, typed.removeprefix("--").replace("-", "_"))
    if setting in settings:
        value = '"NAME"' if setting == "model" else "VALUE"
        return InputError(
            f"{shown} is not an option: {setting} is a setting. {_UNSENT}",
            hint=f"%config ChatMagics.{setting} = {value} sets it.",
        )
    near = suggestions.near(typed, list(_BY_FLAG))
    question = "." if near is None else f": did you mean {near}?"
    return InputError(f"{shown} is not an option{question} {_UNSENT}", hint=_HINT)
