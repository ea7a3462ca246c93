"""Each error that a person can meet has its words on the page of troubleshooting."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final

from project import ROOT, files, syntax_tree

from chatmagic import errors

PAGE: Final = (ROOT / "notebooks" / "reference" / "troubleshooting.md").read_text("utf-8")
ERRORS: Final = {name for name in vars(errors) if name.endswith(("Error", "Interrupted"))}
ENDINGS: Final = r"Nothing was (?:sent|changed|written|recorded)(?: again| or changed)?\.|[….\s]"
"""What a message says behind its event, and what a value stands for."""
SHOWN: Final = ("conversation/magic_line.py", "protocol/request.py", "models.py")
"""Modules whose ``ValueError`` is the first line of an error of another module."""
UNREAD: Final = {
    "_no_file(patterns[0])": "the error of a file's row in the same table",
    "f'{message}.'": "argparse's own words",
    "f'{error}. Nothing was sent.'": "an error of SHOWN",
    "f'{typed.flag} {error}. {_UNSENT}'": "an error of SHOWN",
    "f'{error}'": "a setting that an IPython configuration file has; settings name its words",
    "f'{why or takes} {UNCHANGED}'": "the argument of each call of refusal",
    "message": "an event with the word {at}",
    "unsent": "the problem of a row, which its column error shows",
    "f'{_unwritable(folder, error)} Nothing was sent.'": "as for each file that cannot be written",
}
"""First lines that the test cannot read in place, and where their words are."""


def phrases() -> list[str]:
    """Return the words that the page names, under all headings."""
    quotes = re.findall(r"(?:^> .*\n)+", PAGE, re.MULTILINE)
    return [words for quote in quotes for words in quote.replace("\n> ", " ")[2:-1].split("; ")]


def texts(node: ast.expr, named: Mapping[str, list[str]]) -> list[str]:
    """Return the texts that an expression may be, with ``…`` for each value in them."""
    match node:
        case ast.Constant(value=str(text)):
            return [re.sub(r"\{\w*\}", "…", text)]
        case ast.JoinedStr(values=values):
            text = "".join(texts(value, named)[0] for value in values)
            # Where an f-string has no words of its own, they are in the variables that it joins.
            joined = [text] if is_worded(text) else map("".join, product(*options(values, named)))
            return [*dict.fromkeys(joined)]
        case ast.Call(func=ast.Name(id="joined_sentences"), args=[ast.List(elts=[first, *_])]):
            return texts(first, named)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return named.get(name, ["…"])
    return [text for part in alternatives(node) for text in texts(part, named)] or ["…"]


def options(values: list[ast.expr], named: Mapping[str, list[str]]) -> list[list[str]]:
    """Return the texts that each part of an f-string may be."""
    return [
        texts(part.value if isinstance(part, ast.FormattedValue) else part, named)
        for part in values
    ]


def is_worded(message: str) -> bool:
    """Return whether a message has words that are not those of every message."""
    return re.search(r"[a-z]{2}", re.sub(ENDINGS, "", message)) is not None


def alternatives(node: ast.expr) -> list[ast.expr]:
    """Return the expressions that an expression may be, or is filled in from or begins with."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Dict(values=values):
            return values
        case ast.Subscript(value=value) | ast.Call(func=ast.Attribute(attr="format", value=value)):
            return [value]
        case ast.Call(func=ast.Attribute(attr="join"), args=[ast.List(elts=[first, *_])]):
            return [first]
    return []


@cache
def assigned(path: Path) -> dict[str, list[str]]:
    """Return the texts that each name of a module may have; nobody changes them."""
    named: dict[str, list[str]] = {}
    for node in ast.walk(syntax_tree(path)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named.setdefault(name, []).extend(texts(value, named))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                named.setdefault(name, []).extend(texts(value, named))
    return named


MODULES: Final = files("chatmagic/**/*.py")


@cache
def constants() -> dict[str, list[str]]:
    """Return the texts that a module may import, by their names; nobody changes them."""
    return {
        name: texts for path in MODULES for name, texts in assigned(path).items() if name.isupper()
    }


def messages(path: Path) -> Iterator[str]:
    """Yield the first lines of the errors that a module raises."""
    named = {**constants(), **assigned(path)}
    is_shown = path.as_posix().endswith(SHOWN)
    for node in ast.walk(syntax_tree(path)):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in ERRORS:
                yield from texts(first, named)
            case ast.Call(func=ast.Attribute(attr="refusal"), args=[first, *_]):
                yield from texts(first, named)
            case ast.Call(func=ast.Name(id="ValueError"), args=[first, *_]) if is_shown:
                yield from texts(first, named)
            case ast.Call(func=ast.Name(id="_Rule"), args=[_, event, *_]):
                yield from texts(event, named)
            case ast.keyword(arg="event", value=event):
                yield from texts(event, named)
            case ast.Constant(value=str(text)) if "{at}" in text:
                yield from texts(node, named)


def test_each_message_leads_to_a_heading() -> None:
    """A message has words of the page, and the page has no words of no message."""
    found = {" ".join(message.split()) for path in MODULES for message in messages(path)}
    raised = set(filter(is_worded, found))
    listed = phrases()
    assert len(raised) > len(listed) > 100
    assert [message for message in raised if not any(words in message for words in listed)] == []
    assert [words for words in listed if not any(words in message for message in found)] == []
    assert len(listed) == len(set(listed))


def test_the_words_of_each_error_are_known() -> None:
    """Each call that makes an error has words that the test above compares, or is a known one."""
    unread = {
        ast.unparse(first)
        for path in MODULES
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in ERRORS and node.args
        for first in node.args[:1]
        if not any(map(is_worded, texts(first, {**constants(), **assigned(path)})))
    }
    assert unread == set(UNREAD)
