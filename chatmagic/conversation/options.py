"""The line of ``%%chat`` and ``%chat``: its options, then the prompt; and what was meant by it.

One table makes the parser, the help, Tab and the manual. Options stand before the first other word;
from there the line is the prompt, byte for byte, and ``--`` ends the options. There are no quotes
and no escapes: a word is what stands between white space. An option's value is the next word
(``-t 0.5``), or stands after ``=`` (``--last=2``) or right behind a short flag (``-t0.5``).
:mod:`argparse` reads options so, too, but keeps no prompt as it is.
"""

from __future__ import annotations

import difflib
import keyword
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, get_args

from chatmagic._json import exact_count, exact_number, word_of
from chatmagic.conversation.request_facts import (
    A_NAME,
    Above,
    Format,
    Parameters,
    cells_above,
    model_name,
    thread_name,
)
from chatmagic.errors import InputError
from chatmagic.text import one_line

_UNSET: Final = Parameters()
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_SHOWN: Final = 40
_UNSENT: Final = "Nothing was sent."
_HINT: Final = "A prompt that begins with a dash goes after --; %chat? shows the options."
_TAKEN: Final = (
    r"(?:(?:--model[ =]\S+|--[a-z-]+|all|emulator|\d+|https?://\S+"
    r"|['\"]?\S+\.(?:jsonl?|ipynb|md)['\"]?)(?: |\Z))*"
)
"""What may follow a command's name, in lower case: options, numbers, files, and the like."""
COMMENT: Final = r"\s*(#+\s*(?:NBVAL|PYTEST_VALIDATE)_\w*|#\|.*)"
"""A comment that is meant for a tool, at the beginning of a prompt."""
_MAGIC_LINE: Final = r"%{1,2}chat(?:_\w+)?(?!\S)"
_DIVIDES: Final = r"(?m)^[ \t]*%chat_thread[ \t]+(?!.*--delete\b)\S"
_ASKS: Final = (
    r"(?m)^[ \t]*(?:[^\n=()]+=)?[ \t]*%chat(?:_(?:fix|retry|continue)\b|[ \t]+\S)|\bask\s*\("
)
_ALIKE: Final = 0.8
"""How alike a misspelt name has to be: ``--temprature`` is, ``--system`` is not ``--stream``."""


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a command's line.

    Args:
        flags: as typed, the short one first.
        help: what it does, in a few words.
        opposite: the flag that takes a configured switch back for one cell.
        convert: reads its value, or raises :exc:`ValueError`; ``None`` for a switch.
        metavar: its value's name in the help.
        takes: what its value is, for messages.
        suggested: the values that Tab offers; a ``FILE`` is completed by the names of files, a
            ``NAME`` by those of the namespace, a ``MODEL`` by those that were listed, a
            ``THREAD`` by those of the threads.
        in_shell: whether ``chatmagic ask`` has it, where there are no cells and no names.
        configurable: whether a ``ChatMagics`` trait gives its default.
        field: the field of :class:`ParsedLine` that it sets, where that has not its long name.
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


def _above(word: str) -> int | Above:
    return cells_above(int(word) if word.isdigit() else word)


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
        ("-m", "--model"),
        "ask this model, for one question",
        convert=model_name,
        metavar="MODEL",
        takes="the name of a model",
        configurable=False,
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
        "send the N nearest cells above along; or new, or all",
        convert=_above,
        metavar="N",
        takes="a whole number, 0 or more, or new or all",
        suggested=("new", "all", "0", "1", "2", "3"),
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


def typed_options(parameters: Parameters) -> list[str]:
    """Return the options that ask with these parameters, as they are typed.

    Args:
        parameters: of a question.
    """
    words = []
    for option in OPTIONS:
        value = getattr(parameters, option.dest, None)
        if option.convert is not None and value != getattr(_UNSET, option.dest, None):
            words.append(f"{option.flags[0]} {value}")
        elif option.convert is None and value is option.on:
            words.append(option.flags[0])
    return words


def help_lines(options: Sequence[Option]) -> list[str]:
    """Return a line of help for each of some options.

    Args:
        options: in the order of the lines.
    """
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
        *help_lines(OPTIONS),
        "",
        "Defaults: %config ChatMagics.temperature = 0.2, and so on. What takes a configured",
        f"switch back for one cell: {opposites}.",
    ]
    for example in examples:
        lines += ["", *(f"    {line}" for line in example.splitlines())]
    lines += ["", *MANUAL]
    return "\n".join(lines)


def flags_starting(beginning: str) -> list[str]:
    """Return the flags that begin so, in the order of the table, the long ones first.

    Args:
        beginning: as typed so far.
    """
    longest_first = sorted(BY_FLAG, key=lambda flag: not flag.startswith("--"))
    return [flag for flag in longest_first if flag.startswith(beginning)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedLine(Parameters):
    """The options and the prompt of a magic line.

    Args:
        output: name of the variable that gets the reply; ``None`` for none.
        raw: whether ``{{ }}`` is sent as typed.
        quiet: whether the reply is not shown.
        background: whether the cell may end before its reply.
        allow_secrets: whether it is sent although it holds a secret.
        dry: whether the request is shown and not sent.
        prompt: the rest of the line, byte for byte; may be empty.
    """

    output: str | None
    raw: bool
    quiet: bool
    background: bool = False
    allow_secrets: bool = False
    dry: bool = False
    prompt: str


def parse_line(line: str, defaults: Mapping[str, Any] = _NOTHING) -> ParsedLine:
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
    prompt = line.strip()
    while _is_like_an_option(word := _first(prompt)[0]):
        prompt = _first(prompt)[1]
        if word == "--":
            break
        flag, value = _flag(word)
        option = BY_FLAG.get(flag)
        if option is None:
            raise _unknown(flag, defaults)
        if option.convert is not None and value is None:
            following, behind = _first(prompt)
            if following and not _is_like_an_option(following):
                value, prompt = following, behind
        fields[option.dest] = _value(option, flag, value)
    return ParsedLine(**fields, prompt=prompt)


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


def line_end(line: str) -> LineEnd:
    """Return what stands at the end of a line, by the rules of :func:`parse_line`.

    Args:
        line: what stands after the magic's name, up to the cursor.
    """
    words = line.split()
    last = words.pop() if line[-1:].strip() else ""
    option = None
    for word in words:
        is_value = option is not None and not _is_like_an_option(word)
        if not is_value and (word == "--" or not _is_like_an_option(word)):
            return LineEnd(last, in_prompt=True)
        option = None if is_value else _waiting(*_flag(word))
    if last == "-" or _is_like_an_option(last):
        flag, value = _flag(last)
        option = BY_FLAG.get(flag)
        has_value = value is not None and option is not None and option.convert is not None
        return LineEnd(value or "", option) if has_value else LineEnd(last)
    return LineEnd(last, option, in_prompt=bool(last) and option is None)


def _first(text: str) -> tuple[str, str]:
    """Return the first word of a text, and what stands behind it; both may be empty."""
    word, *behind = text.split(maxsplit=1) or [""]
    return word, "".join(behind)


def _is_like_an_option(word: str) -> bool:
    letter = word[1:].removeprefix("-")[:1]
    return word.startswith("-") and (word == "--" or (letter.isascii() and letter.isalpha()))


def _waiting(flag: str, value: str | None) -> Option | None:
    """Return the option that takes the next word as its value, if it does."""
    option = BY_FLAG.get(flag)
    return option if value is None and option is not None and option.convert is not None else None


def _default(option: Option, defaults: Mapping[str, Any]) -> object:
    value = None if option.trait is None else defaults.get(option.trait)
    if option.convert is None:
        return bool(value) is option.on
    return getattr(_UNSET, option.dest, None) if value is None else value


def _flag(word: str) -> tuple[str, str | None]:
    """Return the flag of a word, and the value that is attached to it."""
    flag, equals, value = word.partition("=")
    if flag not in BY_FLAG and word[:2] in BY_FLAG:
        return word[:2], word[2:]
    return flag, value if equals else None


def _value(option: Option, flag: str, word: str | None) -> object:
    """Return what an option sets its field to.

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


_IN_BODY: Final = re.compile(
    "(?:top|min)_[pk]|seed|stop|user|logprobs|logit_bias|(?:frequency|presence)_penalty|"
    "reasoning_effort|response_format"
)
"""Fields of a request that other clients have as options, and ``extra_body`` alone sets here."""


def _unknown(flag: str, settings: Mapping[str, Any]) -> InputError:
    """Return the error for a flag that does not exist, with the nearest one or its setting."""
    typed = flag.casefold()
    shown = one_line(flag, _SHOWN)
    setting = typed.removeprefix("--").replace("-", "_")
    if typed in {"--system", "--system-prompt"}:
        words, hint = "", "%%chat_instructions gives instructions to the questions below it."
    elif typed in {"--image", "--file", "--attach", "--audio"}:
        words, hint = "", "Text alone is sent, as the service's interface has it."
    elif _IN_BODY.fullmatch(setting):
        words = ""
        hint = f'%config ChatMagics.extra_body = {{"{setting}": VALUE}} sends it with each request.'
    elif setting in settings:
        words, hint = f": {setting} is a setting", f"%config ChatMagics.{setting} = VALUE sets it."
    else:
        meant = nearest_flag(typed, list(BY_FLAG))
        words, hint = "" if meant is None else f": did you mean {meant}?", _HINT
    end = "" if words.endswith("?") else "."
    return InputError(f"{shown} is not an option{words}{end} {_UNSENT}", hint=hint)


def refuse_thread_and_ask(source: str) -> None:
    """Refuse a cell that begins a thread and asks beside it, whatever comes first.

    Args:
        source: what the cell says; the body of ``%%chat`` is text.

    Raises:
        InputError: it does both.
    """
    is_prompt = source.lstrip().startswith("%%chat")
    if is_prompt or "%chat_thread" not in source:
        return
    if all(re.search(pattern, source) for pattern in (_DIVIDES, _ASKS)):
        raise InputError(
            "A cell that begins a thread asks nothing beside it. Nothing was sent.",
            hint="Put %chat_thread into a cell of its own; or ask with --thread NAME.",
        )


def mistaken_command(prompt: str, commands: Sequence[str]) -> str | None:
    """Return the magic that was meant by a prompt which is only a command.

    ``%chat undo`` and ``%chat load talk.json`` would be sent and paid for, so such a prompt
    is refused first. A sentence never is.

    Args:
        prompt: the whole prompt, as typed.
        commands: the names of the commands that there are.

    Returns:
        The magic's name, such as ``chat_undo``; ``None`` for any other prompt.
    """
    words = prompt.casefold().lstrip("%").rstrip("?!. ").split()
    for length in (1, 2):
        name = "_".join(words[:length]).replace("-", "_")
        for command in (name, f"chat_{name}"):
            if command in commands and re.fullmatch(_TAKEN, " ".join(words[length:])):
                return command
    name = "_".join(words).replace("-", "_")
    if len(words) > 1 or not name.startswith("chat_"):
        return None
    return next(iter(_alike(name, commands)), None)


def is_only_help(line: str, body: str | None) -> bool:
    """Return whether a question is the word ``help`` alone, which asks for the help.

    Args:
        line: the line after the magic's name.
        body: what stands below it; ``None`` for nothing.
    """
    return line.casefold().strip(" \t?!.") == "help" and not (body or "").strip()


def refuse_cell_comments(body: str, instead: str = "; --raw sends it") -> None:
    """Refuse a body that begins with a comment which is meant for a tool, not for the model.

    Args:
        body: what stands under ``%%chat``.
        instead: what the hint ends with: what sends it all the same.

    Raises:
        InputError: it begins with ``# NBVAL_…`` or ``#| …``.
    """
    comment = re.match(COMMENT, body) if body.lstrip().startswith("#") else None
    if comment is not None:
        shown = one_line(comment[1])
        raise InputError(
            f"{shown} would be sent to the model. Nothing was sent.",
            hint=f"Use a cell tag instead (raises-exception, nbval-skip){instead}.",
        )


def nearest_flag(typed: str, flags: Sequence[str]) -> str | None:
    """Return the option that was meant: one that begins so, holds that word, or is misspelt.

    Args:
        typed: what was typed, in lower case.
        flags: the options there are.
    """
    name = typed.removeprefix("--")
    long = {flag.removeprefix("--"): flag for flag in flags if flag.startswith("--")}
    begun = [flag for flag in flags if flag.startswith(typed)]
    held = [flag for word, flag in long.items() if name in word.split("-")]
    alike = [long[word] for word in _alike(name, long)]
    return next(iter([*begun, *held, *alike]), None)


def _alike(typed: str, words: Iterable[str]) -> list[str]:
    """Return the word that is spelt most like what was typed, if any is spelt much like it."""
    return difflib.get_close_matches(typed, list(words), 1, _ALIKE)


def merged_cell_notes(prompt: str) -> list[str]:
    """Return a note that a command stands within the prompt, as where a page merged two cells.

    Args:
        prompt: the prompt as typed.
    """
    lines = [line for line in prompt.splitlines() if line.startswith("%")]
    match = next((match for line in lines if (match := re.match(_MAGIC_LINE, line))), None)
    if match is None:
        return []
    return [f"a line with {match[0]} is sent as text; split the cell if it is to run by itself"]
