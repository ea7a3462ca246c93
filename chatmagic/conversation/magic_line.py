"""The line of ``%%chat`` and ``%chat``: its options, the prompt, and hints for likely mistakes.

The parser, the help, Tab and the manual use one table. Options stand before the first other word.
From that word on the line is the prompt, byte for byte, and ``--`` ends the options. There are no
quotes and no escapes: a word is the text between white space. Only a model's name loses the quotes
around it, which no such name has. An option's value is the next word (``-t 0.5``), or follows ``=``
(``--last=2``) or a short flag (``-t0.5``). :mod:`argparse` reads such options, but does not keep a
prompt unchanged.
"""

from __future__ import annotations

import contextlib
import difflib
import keyword
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Number
from types import MappingProxyType
from typing import Any, Final, get_args

from chatmagic import advice
from chatmagic._cached import cached_property
from chatmagic._json import exact_count, exact_number, word_of
from chatmagic.advice import Advice, Note, everywhere
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
from chatmagic.errors import InputError
from chatmagic.safe_text import one_line

_UNSET: Final = Parameters()
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_SHOWN: Final = 40
_UNSENT: Final = "Nothing was sent."
_HINT: Final = "A prompt that begins with a dash goes after --; %chat? shows the options."
_TAKEN: Final = (
    r"(?:(?:--model[ =]\S+|--[a-z-]+|all|emulator|\d+|https?://\S+"
    r"|['\"]?\S+\.(?:jsonl?|ipynb|md)['\"]?)(?: |\Z))*"
)
"""Texts that may follow a command's name, in lower case: options, numbers, files, and the like."""
COMMENT: Final = r"\s*(#+\s*(?:NBVAL|PYTEST_VALIDATE)_\w*|#\|.*)"
"""A comment that is meant for a tool, at the beginning of a prompt."""
_VARIABLE: Final = r"\$([^\W\d]\w*)|\{([^\W\d]\w*)\}"
"""The name of a variable that gives a word."""
_IN_A_WORD: Final = r"[{}]|\$[^\W\d]"
"""What asks for a variable, or for more than a variable, within another word."""
_MAGIC_LINE: Final = r"%{1,2}chat(?:_\w+)?(?!\S)"
_DIVIDES: Final = r"(?m)^[ \t]*%chat_thread[ \t]+(?!.*--delete\b)\S"
_ASKS: Final = (
    r"(?m)^[ \t]*(?:[^\n=()]+=)?[ \t]*%chat(?:_(?:fix|retry|continue)\b|[ \t]+\S)|\bask\s*\("
)
_ALIKE: Final = 0.8
"""Least likeness of a misspelt name: ``--temprature`` has it, ``--system`` not to ``--stream``."""


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
    # Python normalizes names in this way.
    name = unicodedata.normalize("NFKC", word)
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError
    return name


def _names(words: str) -> str:
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

_OUTPUTS: Final = tuple(option for option in OPTIONS if option.dest == "output")

MANUAL: Final = (
    "Lessons: chatmagic demo copies them and opens them in JupyterLab.",
    "Reference: notebooks/reference/index.md in the source of chatmagic.",
)
"""Places of the manual, for the help of ``%%chat?`` and of the command line. The wheel has only the
lessons.
"""


def typed_options(parameters: Parameters) -> list[str]:
    """Return the options with these parameters, as they are typed.

    Args:
        parameters: the parameters of a question.
    """
    words = []
    for option in OPTIONS:
        value = getattr(parameters, option.dest, option.default)
        if value != option.default:
            typed = str(value)
            if re.search(_IN_A_WORD, typed):
                typed = f'"{typed}"'  # what a file names is no variable of the user's
            words.append(f"{option.flags[0]} {typed}" if option.kind else option.flags[0])
    return words


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
        "Options stand before the first other word; -- ends them:",
        "",
        *help_lines(OPTIONS),
        "",
        "Defaults: %config ChatMagics.temperature = 0.2, and so on. These take a configured",
        f"switch back for one cell: {opposites}.",
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


def parse_line(
    line: str,
    settings: Mapping[str, Any] = _NOTHING,
    recorded: Mapping[str, Any] = _NOTHING,
    names: Mapping[str, Any] | None = None,
    hint: str = _HINT,
) -> ParsedLine:
    """Return the options and the prompt of a line of ``%chat`` or ``%%chat``.

    Args:
        line: the text after the magic's name.
        settings: the configured values by trait name (``no_history``, …); a missing one has the
            built-in default.
        recorded: the fields of a recorded question, which take precedence over the settings.
        names: the variables that an option's value may name (:func:`with_variable`); ``None`` if
            unknown.
        hint: the hint of the error for a value that is missing or wrong.

    Returns:
        The options and the prompt, without the white space before and after it.

    Raises:
        InputError: an option does not exist, or its value is missing or wrong.
    """
    fields: dict[str, Any] = {
        option.dest: _default(option, settings, recorded) for option in OPTIONS
    }
    prompt = line.strip()
    is_ended = False
    for flag, option, value, rest in _typed(prompt):
        prompt = rest
        is_ended = flag == "--"
        if option is not None:
            is_variable = re.fullmatch(_VARIABLE, value or "") is not None
            if is_variable and names is None:
                fields[option.dest] = recorded.get(option.dest, fields[option.dest])
                continue
            word = value
            if value is not None and names is not None:
                try:
                    word = with_variable(value, names)
                except ValueError as error:
                    raise InputError(f"{flag} {error}. {_UNSENT}", hint=IN_A_VARIABLE) from None
            shown = f"the value of {value}" if is_variable else None
            fields[option.dest] = _value(option, flag, word, hint, shown)
        elif flag != "--":
            raise _unknown(flag, settings)
    if not is_ended:
        _refuse_dash(prompt)
    return ParsedLine(**fields, prompt=prompt)


_DASHED: Final = r"[\u2010-\u2015\u2212]{1,2}([A-Za-z][\w-]*)"
"""Pattern of an option's word behind a dash of a text, as word processors put it for ``-``."""


def _refuse_dash(prompt: str) -> None:
    """Raise an error for a prompt that begins with an option behind another dash than ``-``.

    Args:
        prompt: the prompt, behind the options.

    Raises:
        InputError: it begins so.
    """
    dashed = re.match(_DASHED, prompt)
    if dashed is None:
        return
    flag = f"-{dashed[1]}" if len(dashed[1]) == 1 else f"--{dashed[1].lower()}"
    if flag in BY_FLAG:
        raise InputError(
            f"The dash before {dashed[1]} is not that of an option. {_UNSENT}",
            hint=f"Type {flag} with the key of the minus sign. {_HINT}",
        )


IN_A_VARIABLE: Final = "Put the text into a variable, such as text = …, and write $text."


def with_variable(word: str, names: Mapping[str, Any], plain: tuple[type, ...] = (Number,)) -> str:
    """Return the text of the variable that a word names, or the word itself if it names none.

    A variable is named by ``$name`` or ``{name}`` as the whole word. Nothing is evaluated: the text
    of a line may come from a server's list of models or from the name of a file.

    Args:
        word: a word of a magic's line, or all of its words.
        names: the variables, by name.
        plain: the types of values, beside a text, whose text is short and has no effect.

    Raises:
        ValueError: there is no such variable, its value is of another type, or the word holds a
            variable or an expression beside other text. The message ends a sentence that begins
            with the option or the command.
    """
    variable = re.fullmatch(_VARIABLE, word)
    if variable is None:
        if re.search(_IN_A_WORD, word):
            raise ValueError("takes a variable as $NAME or {NAME} alone, and no expression")
        return word
    name = variable[1] or variable[2]
    if name not in names:
        raise ValueError("names a variable, and there is none of this name")
    value = names[name]
    # The characters of a text, without a method of a user's own class of texts.
    if isinstance(value, str):
        text = str.__str__(value)
    else:
        text = str(value) if isinstance(value, plain) else ""
    if not text.strip():
        raise ValueError("names a variable that holds no text or number")
    return text


def typed_fields(line: str) -> frozenset[str]:
    """Return the names of the fields that the options of a line set, whatever their values.

    Args:
        line: as for :func:`parse_line`.
    """
    return frozenset(option.dest for _, option, _, _ in _typed(line.strip()) if option is not None)


def output_name(line: str) -> str | None:
    """Return the variable that the options of a line put the reply into; ``None`` for none.

    Args:
        line: as for :func:`parse_line`.
    """
    typed = (value for _, option, value, _ in _typed(line.strip()) if option in _OUTPUTS)
    return next(typed, None)


@dataclass(frozen=True, slots=True)
class LineEnd:
    """End of a magic line that is being typed.

    Args:
        word: the unfinished word at the end; empty after white space.
        option: the option whose value the word is; ``None`` for any other word.
        in_prompt: whether the word belongs to the prompt.
    """

    word: str
    option: Option | None = None
    in_prompt: bool = False


def line_end(line: str) -> LineEnd:
    """Return the end of a line, parsed by the rules of :func:`parse_line`.

    Args:
        line: the text after the magic's name, up to the cursor.
    """
    last = line.rsplit(maxsplit=1)[-1] if line[-1:].strip() else ""
    before = line.removesuffix(last).strip()
    typed = [("", None, None, before), *_typed(before)]
    flag, option, value, prompt = typed[-1]
    if prompt or flag == "--":
        return LineEnd(last, in_prompt=True)
    if last == "-" or _is_like_an_option(last):
        _, option, value = _flag(last)
        takes_it = value is not None and option is not None and option.kind is not None
        return LineEnd(value or "", option) if takes_it else LineEnd(last)
    if option is None or option.kind is None or value is not None:
        return LineEnd(last, in_prompt=bool(last))
    return LineEnd(last, option)


def _typed(line: str) -> Iterator[tuple[str, Option | None, str | None, str]]:
    """Yield each flag of a line with its option, its value, and the rest of the line.

    A ``--``, which ends the options, is yielded, too.
    """
    flag = ""
    word, rest = _first(line)
    while flag != "--" and _is_like_an_option(word):
        flag, option, value = _flag(word)
        following, after = _first(rest)
        if option and option.kind and value is None and not _is_like_an_option(following):
            value = following or None
            rest = after
        yield flag, option, value, rest
        word, rest = _first(rest)


def _first(text: str) -> tuple[str, str]:
    """Return the first word of a text, and the rest; both may be empty."""
    word, *after = text.split(maxsplit=1) or [""]
    return word, "".join(after)


def _is_like_an_option(word: str) -> bool:
    letter = word[1:].removeprefix("-")[:1]
    return word.startswith("-") and (word == "--" or (letter.isascii() and letter.isalpha()))


def _default(option: Option, settings: Mapping[str, Any], recorded: Mapping[str, Any]) -> object:
    if option.configurable and option.dest in recorded:
        return recorded[option.dest]
    value = None if option.trait is None else settings.get(option.trait)
    if option.kind is None:
        return bool(value) is option.on
    return option.default if value is None else value


def _flag(word: str) -> tuple[str, Option | None, str | None]:
    """Return the flag of a word, its option, and the value that is attached to it."""
    flag, equals, value = word.partition("=")
    if flag not in BY_FLAG and word[:2] in BY_FLAG:
        flag = word[:2]
        equals = "="
        value = word[2:]
    return flag, BY_FLAG.get(flag), value if equals else None


def _value(
    option: Option, flag: str, word: str | None, hint: str, source: str | None = None
) -> object:
    """Return the value to which an option sets its field.

    Args:
        option: the option.
        flag: its flag as typed.
        word: the text of its value; ``None`` without one.
        hint: the second line of the error.
        source: the source of a text that is not typed, which the error shows instead of the text.

    Raises:
        InputError: the option takes another value, or none.
    """
    name = "/".join(option.flags)
    if option.kind is None:
        if word is not None:
            shown = flag if flag == option.opposite else name
            raise InputError(f"{shown} takes no value. {_UNSENT}", hint=hint)
        return option.on is not (flag == option.opposite)
    shown = "; none was given"
    if word is not None:
        shown = f", not {source or repr(one_line(word, _SHOWN))}"
    with contextlib.suppress(ValueError):
        if word is not None:
            return option.kind.convert(word)
    raise InputError(f"{name} takes {option.kind.words}{shown}. {_UNSENT}", hint=hint)


_ELSEWHERE: Final[Mapping[str, Callable[[str], Advice]]] = {
    "system(?:_prompt)?": lambda _: advice.INSTRUCTIONS,
    "image|file|attach|audio": lambda _: everywhere(
        "Only text is sent: the service's interface has nothing else."
    ),
    "(?:top|min)_[pk]|seed|stop|user|logprobs|logit_bias|(?:frequency|presence)_penalty|"
    "reasoning_effort|response_format": advice.request_field,
}
"""Options of other clients, written as fields of a request, and the advice for each field."""


def counterpart(flag: str) -> Advice | None:
    """Return the advice for an option that other clients have; ``None`` for any other flag.

    Args:
        flag: the flag, with its dashes.
    """
    name = flag.casefold().removeprefix("--").replace("-", "_")
    for names, advice_for in _ELSEWHERE.items():
        if re.fullmatch(names, name):
            return advice_for(name)
    return None


def _unknown(flag: str, settings: Mapping[str, Any]) -> InputError:
    """Return the error for a flag that does not exist, with the nearest one or its setting."""
    typed = flag.casefold()
    name = typed.removeprefix("--").replace("-", "_")
    words = "."
    hint: Note | None = counterpart(flag)
    if hint is None and name in settings:
        words = f": {name} is a setting."
        hint = f"%config ChatMagics.{name} = VALUE sets it."
    elif hint is None:
        meant = _nearest(typed)
        hint = _HINT
        words = "." if meant is None else f": did you mean {meant}?"
    return InputError(f"{one_line(flag, _SHOWN)} is not an option{words} {_UNSENT}", hint=hint)


def refuse_thread_and_ask(source: str) -> None:
    """Raise an error for a cell that begins a thread and also asks, in any order.

    Args:
        source: source of the cell; the body of ``%%chat`` is text.

    Raises:
        InputError: the cell does both.
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
    """Return the magic that a prompt means if it is only a command.

    ``%chat undo`` and ``%chat load talk.json`` would be sent and paid for, so such a prompt
    is refused first. A sentence never is.

    Args:
        prompt: the whole prompt, as typed.
        commands: the names of all commands.

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


_MODEL_NAME: Final = (
    # A provider before a name, as other magics write it; else a known family with a version.
    r"(?i)(?:openai|openai-chat|anthropic|anthropic-chat|ollama|bedrock|bedrock-chat|vertexai|gemini"
    r"|azure-chat-openai|groq|openrouter|mistralai|mistral|cohere|together|together_ai|nvidia-chat"
    r"|gpt4all|huggingface_hub|hf|deepseek|xai|google|meta-llama|qwen)[:/][\w.:/-]*\w"
    r"|(?:gpt|chatgpt|claude|gemini|gemma|llama|codellama|mistral|mixtral|codestral|qwen|qwq|deepseek"
    r"|phi|command|grok|kimi|glm|granite|nova|olmo|smollm)-?[\w.:-]*\d[\w.:-]*"
    r"|(?:claude|gemini|mistral|deepseek|grok|gpt)-[\w.:-]*\w|o[1-9](?:-[\w.:-]+)?"
)


def named_model(typed: str, known: Collection[str]) -> str | None:
    """Return the model that a line names where the prompt stands; ``None`` for any other prompt.

    ``%%chat gpt-4o`` above a question would send the name, and pay for it. Options may follow it.

    Args:
        typed: the prompt on the line.
        known: the names of models that the server has listed.
    """
    first, *rest = typed.split() or [""]
    if rest and not rest[0].startswith("-"):
        return None
    return first if first in known or re.fullmatch(_MODEL_NAME, first) else None


def is_only_help(line: str, body: str | None) -> bool:
    """Return whether a question is only the word ``help``, which asks for the help.

    Args:
        line: the line after the magic's name.
        body: the text below it; ``None`` without a body.
    """
    return line.casefold().strip(" \t?!.") == "help" and not (body or "").strip()


def refuse_cell_comments(body: str, instead: str = "; --raw sends it") -> None:
    """Raise an error for a body that begins with a comment for a tool, not for the model.

    Args:
        body: the text below ``%%chat``.
        instead: the end of the hint: how to send it in spite of that.

    Raises:
        InputError: the body begins with ``# NBVAL_…`` or ``#| …``.
    """
    comment = re.match(COMMENT, body) if body.lstrip().startswith("#") else None
    if comment is not None:
        shown = one_line(comment[1])
        raise InputError(
            f"{shown} would be sent to the model. Nothing was sent.",
            hint=f"Use a cell tag instead (raises-exception, nbval-skip){instead}.",
        )


def _nearest(typed: str) -> str | None:
    """Return the likely flag: with this beginning, with this word, or with a similar spelling."""
    name = typed.removeprefix("--")
    long = {flag.removeprefix("--"): flag for flag in BY_FLAG if flag.startswith("--")}
    begun = (flag for flag in BY_FLAG if flag.startswith(typed))
    held = (flag for word, flag in long.items() if name in word.split("-"))
    alike = (long[word] for word in _alike(name, long))
    return next(chain(begun, held, alike), None)


def _alike(typed: str, words: Iterable[str]) -> list[str]:
    """Return the known word with the most similar spelling, if one is similar enough."""
    return difflib.get_close_matches(typed, list(words), 1, _ALIKE)


def merged_command(prompt: str) -> str:
    """Return a command that begins a line of the prompt, such as after a merge of two cells.

    Args:
        prompt: the prompt as typed.

    Returns:
        The command's name; empty if there is none.
    """
    lines = [line for line in prompt.splitlines() if line.startswith("%")]
    match = next((match for line in lines if (match := re.match(_MAGIC_LINE, line))), None)
    return "" if match is None else match[0]


def merged_cell_notes(prompt: str) -> list[str]:
    """Return a note on a command within the prompt.

    Args:
        prompt: the prompt as typed.
    """
    if not (name := merged_command(prompt)):
        return []
    return [f"a line with {name} is sent as text; split the cell if it is to run by itself"]


def placeholder_notes(placeholder: str | None) -> list[str]:
    """Return a note on a variable in the form of another template language, which is sent as typed.

    Args:
        placeholder: the variable as typed, ``{name}`` or ``$name``; ``None`` for none.
    """
    name = (placeholder or "").strip("{}$")
    return [f"{placeholder} is sent as typed; {{{{ {name} }}}} puts the value in"] if name else []
