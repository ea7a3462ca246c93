"""The line of ``%%chat`` and ``%chat``: its options, then the prompt.

Options stand before the first other word; from there the line is the prompt, byte for byte,
and ``--`` ends the options. There are no quotes and no escapes: a word is what stands between
white space. An option's value is the next word (``-t 0.5``), or stands after ``=``
(``--last=2``) or right behind a short flag (``-t0.5``). :mod:`argparse` reads options so, too,
but keeps no prompt as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from chatmagic.conversation import suggestions
from chatmagic.conversation.options import BY_FLAG, OPTIONS, unset
from chatmagic.conversation.request_facts import Parameters
from chatmagic.errors import InputError
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmagic.conversation.options import Option

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_SHOWN: Final = 40
_SHORT_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({"-m": "model"})
_UNSENT: Final = "Nothing was sent."
_HINT: Final = "A prompt that begins with a dash goes after --; %chat? shows the options."


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


def end(line: str) -> LineEnd:
    """Return what stands at the end of a line, by the rules of :func:`parse`.

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
    return unset(option) if value is None else value


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
    near = suggestions.near(typed, list(BY_FLAG))
    question = "." if near is None else f": did you mean {near}?"
    return InputError(f"{shown} is not an option{question} {_UNSENT}", hint=_HINT)
