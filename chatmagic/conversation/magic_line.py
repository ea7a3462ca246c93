"""The line of ``%%chat`` and ``%chat``: the parser of its options and of the prompt.

Options stand before the first other word.
From that word on the line is the prompt, byte for byte, and ``--`` ends the options. There are no
quotes and no escapes: a word is the text between white space. Only a model's name loses the quotes
around it, which no such name has. An option's value is the next word (``-t 0.5``), or follows ``=``
(``--last=2``) or a short flag (``-t0.5``). :mod:`argparse` reads such options, but does not keep a
prompt unchanged.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Number
from types import MappingProxyType
from typing import Any, Final

from chatmagic.conversation.likely_mistakes import HINT, refuse_dash, unknown_option
from chatmagic.conversation.options import BY_FLAG, OPTIONS, Option
from chatmagic.conversation.question import Parameters
from chatmagic.errors import InputError
from chatmagic.safe_text import one_line

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_VARIABLE: Final = r"\$([^\W\d]\w*)|\{([^\W\d]\w*)\}"
"""The name of a variable that gives a word."""
_IN_A_WORD: Final = r"[{}]|\$[^\W\d]"
"""What asks for a variable, or for more than a variable, within another word."""


_END: Final = "--"
"""The word that ends the options."""
_SHOWN: Final = 40
_UNSENT: Final = "Nothing was sent."


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


def parse_line(
    line: str,
    settings: Mapping[str, Any] = _NOTHING,
    recorded: Mapping[str, Any] = _NOTHING,
    names: Mapping[str, Any] | None = None,
    hint: str = HINT,
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
    last_flag = ""
    for typed in _typed_flags(prompt):
        prompt = typed.rest
        last_flag = typed.flag
        option = typed.option
        if option is None:
            if typed.flag != _END:
                raise unknown_option(typed.flag, settings)
        elif names is None and typed.is_variable:
            # Its value is not known here, so that of the record counts.
            fields[option.dest] = recorded.get(option.dest, fields[option.dest])
        else:
            fields[option.dest] = _value(typed, option, names, hint)
    if last_flag != _END:
        refuse_dash(prompt)
    return ParsedLine(**fields, prompt=prompt)


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
    options = (typed.option for typed in _typed_flags(line.strip()))
    return frozenset(option.dest for option in options if option is not None)


def output_name(line: str) -> str | None:
    """Return the variable that the options of a line put the reply into; ``None`` for none.

    Args:
        line: as for :func:`parse_line`.
    """
    for typed in _typed_flags(line.strip()):
        if typed.option is not None and typed.option.dest == "output":
            return typed.value
    return None


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
    previous = _TypedFlag("", None, None, before)
    for typed in _typed_flags(before):
        previous = typed
    if previous.rest or previous.flag == _END:
        return LineEnd(last, in_prompt=True)
    if last == "-" or _is_like_an_option(last):
        flag = _flag(last)
        is_value = flag.value is not None and flag.takes_value
        return LineEnd(flag.value or "", flag.option) if is_value else LineEnd(last)
    if previous.takes_value and previous.value is None:
        return LineEnd(last, previous.option)
    return LineEnd(last, in_prompt=bool(last))


@dataclass(frozen=True, slots=True)
class _TypedFlag:
    """Flag as it stands in a line.

    Args:
        flag: the flag; ``--`` ends the options.
        option: its option; ``None`` if there is none of this flag.
        value: the text of its value; ``None`` without one.
        rest: the line behind it and its value.
    """

    flag: str
    option: Option | None
    value: str | None
    rest: str = ""

    @property
    def takes_value(self) -> bool:
        """Whether its option takes a value."""
        return self.option is not None and self.option.kind is not None

    @property
    def is_variable(self) -> bool:
        """Whether its value is that of a variable which it names."""
        return re.fullmatch(_VARIABLE, self.value or "") is not None


def _typed_flags(line: str) -> Iterator[_TypedFlag]:
    """Yield the flags of a line in their order, and the ``--`` that ends the options."""
    word, rest = _first(line)
    while _is_like_an_option(word):
        typed = _flag(word)
        following, after = _first(rest)
        if typed.takes_value and typed.value is None and not _is_like_an_option(following):
            typed = replace(typed, value=following or None)
            rest = after
        yield replace(typed, rest=rest)
        if typed.flag == _END:
            return
        word, rest = _first(rest)


def _first(text: str) -> tuple[str, str]:
    """Return the first word of a text, and the rest; both may be empty."""
    word, *after = text.split(maxsplit=1) or [""]
    return word, "".join(after)


def _is_like_an_option(word: str) -> bool:
    """Return whether a word is a dash or two before a letter, or the end of the options."""
    letter = word[1:].removeprefix("-")[:1]
    return word.startswith("-") and (word == _END or (letter.isascii() and letter.isalpha()))


def _default(option: Option, settings: Mapping[str, Any], recorded: Mapping[str, Any]) -> object:
    """Return the value of an option's field if the option is not typed."""
    if option.configurable and option.dest in recorded:
        return recorded[option.dest]
    value = None if option.trait is None else settings.get(option.trait)
    if option.kind is None:
        return bool(value) is option.on
    return option.default if value is None else value


def _flag(word: str) -> _TypedFlag:
    """Return the flag of a word, with the value that is attached to it."""
    flag, equals, value = word.partition("=")
    if flag not in BY_FLAG and word[:2] in BY_FLAG:
        # A short flag with its value, such as -t0.5.
        return _TypedFlag(word[:2], BY_FLAG[word[:2]], word[2:])
    return _TypedFlag(flag, BY_FLAG.get(flag), value if equals else None)


def _value(typed: _TypedFlag, option: Option, names: Mapping[str, Any] | None, hint: str) -> object:
    """Return the value to which an option sets its field.

    Args:
        typed: its flag as typed.
        option: the option.
        names: the variables that its value may name; ``None`` if unknown.
        hint: the second line of the error.

    Raises:
        InputError: the option takes another value, or none.
    """
    word = typed.value
    if word is not None and names is not None:
        try:
            word = with_variable(word, names)
        except ValueError as error:
            raise InputError(f"{typed.flag} {error}. {_UNSENT}", hint=IN_A_VARIABLE) from None
    name = "/".join(option.flags)
    is_opposite = typed.flag == option.opposite
    if option.kind is None:
        if word is None:
            return not option.on if is_opposite else option.on
        raise InputError(
            f"{typed.flag if is_opposite else name} takes no value. {_UNSENT}", hint=hint
        )
    if word is None:
        shown = "; none was given"
    else:
        with contextlib.suppress(ValueError):
            return option.kind.convert(word)
        # The value of a variable may be secret.
        given = f"the value of {typed.value}" if typed.is_variable else repr(one_line(word, _SHOWN))
        shown = f", not {given}"
    raise InputError(f"{name} takes {option.kind.words}{shown}. {_UNSENT}", hint=hint)
