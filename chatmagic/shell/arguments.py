"""Arguments of ``chatmagic ask``: the words, and those options of ``%chat`` that a shell has."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from chatmagic.conversation.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.conversation.options import Option


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments to the command's parser."""
    add_argument = parser.add_argument
    add_argument(
        "words",
        nargs="*",
        metavar="PROMPT",
        help="the question; - at its end, or none at all, takes standard input",
    )
    add_argument(
        "--continue", action="store_true", help="go on with the last conversation from a shell"
    )
    add_place(parser)
    for option in OPTIONS:
        if option.in_shell:
            _add(parser, option)
    parser.set_defaults(dry=False)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say where to ask, before what is set."""
    add_argument = parser.add_argument
    add_argument("--connect", metavar="URL", help="ask there: a URL, a server's name, or emulator")
    add_argument("--model", metavar="NAME", help="the model to ask for")


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add an option; where it is not given, its setting holds."""
    form: dict[str, Any] = {"default": argparse.SUPPRESS, "dest": option.dest}
    text = option.help.replace("%", "%%")
    if option.convert is not None:
        parser.add_argument(
            *option.flags, type=_reader(option), metavar=option.metavar, help=text, **form
        )
        return
    parser.add_argument(*option.flags, action="store_const", const=option.on, help=text, **form)
    if option.opposite:
        parser.add_argument(
            option.opposite,
            action="store_const",
            const=not option.on,
            help=f"takes {option.flags[-1]} back where it is set",
            **form,
        )


def _reader(option: Option) -> Callable[[str], object]:
    """Return what reads an option's value."""

    def read(word: str) -> object:
        try:
            return option.convert(word) if option.convert is not None else word
        except ValueError:
            raise argparse.ArgumentTypeError(f"it takes {option.takes}") from None

    return read
