"""Each error that a person can meet has its words on the page of troubleshooting."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from project import ROOT, files

from chatmagic import errors

PAGE: Final = (ROOT / "notebooks" / "reference" / "troubleshooting.md").read_text("utf-8")
ERRORS: Final = {name for name in vars(errors) if name.endswith(("Error", "Interrupted"))}
ENDINGS: Final = r"Nothing was (?:sent|changed|written|recorded)(?: again| or changed)?\.|[….\s]"
"""What a message says behind its event, and what a value stands for."""


def phrases() -> list[str]:
    """Return the words that the page names, under all headings."""
    quotes = re.findall(r"(?:^> .*\n)+", PAGE, re.MULTILINE)
    return [words for quote in quotes for words in quote.replace("\n> ", " ")[2:-1].split("; ")]


def texts(node: ast.expr, named: dict[str, list[str]]) -> list[str]:
    """Return the texts that an expression may be, with ``…`` for each value in them."""
    match node:
        case ast.Constant(value=str(text)):
            return [re.sub(r"\{\w*\}", "…", text)]
        case ast.JoinedStr(values=values):
            return ["".join(texts(value, named)[0] for value in values)]
        case ast.Name(id=name):
            return named.get(name, ["…"])
    return [text for part in alternatives(node) for text in texts(part, named)] or ["…"]


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


def messages(path: Path) -> Iterator[str]:
    """Yield the first lines of the errors that a module raises."""
    tree = ast.parse(path.read_text("utf-8"))
    named: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named.setdefault(name, []).extend(texts(value, named))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                named.setdefault(name, []).extend(texts(value, named))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in ERRORS:
                yield from texts(first, named)
            case ast.Call(func=ast.Name(id="_Rule"), args=[_, event, *_]):
                yield from texts(event, named)
            case ast.keyword(arg="event", value=event):
                yield from texts(event, named)
            case ast.Constant(value=str(text)) if "{at}" in text:
                yield from texts(node, named)


def test_each_message_leads_to_a_heading() -> None:
    """A message has words of the page, and the page has no words of no message."""
    found = {
        " ".join(message.split())
        for path in files("chatmagic/**/*.py")
        for message in messages(path)
    }
    raised = {message for message in found if re.search(r"[a-z]{2}", re.sub(ENDINGS, "", message))}
    listed = phrases()
    assert len(raised) > len(listed) > 100
    assert [message for message in raised if not any(words in message for words in listed)] == []
    assert [words for words in listed if not any(words in message for message in found)] == []
    assert len(listed) == len(set(listed))
