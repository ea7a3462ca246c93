"""A cassette's text: how exchanges are written in lines, and read from them.

A cassette is a file of JSON Lines. Its first line names the format and the version. Then each
exchange has:

- one line with the facts of the request and of its answer, the fields of ``Interaction``.
  ``after`` names an earlier exchange, and ``before`` the turns that were carried after that one.
  ``check`` is a digest of the whole exchange. Earlier files have two digests of a request with
  Markdown cells: ``request`` is of all of it, and ``without_markdown`` is the one of today;
- a line for each line of the prompt (``you``);
- a line for each line of the reply (``reply``).

In all of them ``in`` is a digest of the question and the reply. So two exchanges share no line
unless they share all of their text, and git merges no part of one into another. Each half of a
conflict has whole exchanges. So has the result of ``merge=union``, in which the text that two
exchanges share may stand once. Exchanges of earlier files have no ``in``, and stay as they are.

The file has no key, no request header and no address.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from chatmagic import _json
from chatmagic._json import (
    MOST_IN_FILE,
    dataclass_from_json,
    exact_text,
    fields_to_json,
    has_many_values,
    json_fault,
    known_items,
)
from chatmagic._log import log_swallowed
from chatmagic.advice import NEW_CASSETTE
from chatmagic.archive.interaction import DIGITS, Interaction, by_identity
from chatmagic.errors import InputError

VERSION: Final = 3
REPAIR: Final = "The file was left as it is: repair it, or record into another one."
"""Advice on a damaged file."""
MARK_DIGITS: Final = 8
"""Number of digits of the digest in each line of a prompt or a reply."""

_CONFLICT: Final = re.compile(r"(([<|=>])\2{6,})(?: .*)?\r?")
"""A line that marks a half of a merge conflict (git-merge(1), "How conflicts are presented"), also
a longer one (gitattributes(5), "conflict-marker-size")."""
_BEFORE: Final = {"<": {""}, "|": {"<"}, "=": {"<", "|"}, ">": {"="}}
"""The marks that may stand before each mark; none stands before a conflict."""

_encoded: Final = json.JSONEncoder(ensure_ascii=False).encode


def cassette_text(interactions: Iterable[Interaction]) -> str:
    """Return the text of a cassette.

    Args:
        interactions: the interactions, in their order.
    """
    items = tuple(interactions)
    head = _line({"chatmagic": "cassette", "version": VERSION})
    return head + exchange_lines(items, exchange_names(items))


ExchangeNames = dict[tuple[str, ...], str]
"""The names of exchanges, by the turns that a request carries if it continues the exchange."""


def exchange_names(
    items: Iterable[Interaction], known: ExchangeNames | None = None
) -> ExchangeNames:
    """Return the names of exchanges.

    The name of an exchange comes from its request's digest, which covers the turns that it carried,
    but not their Markdown cells. Of two that differ in these alone, the first in the file has it.

    Args:
        items: the exchanges, in their order.
        known: the names of those before them in the file.
    """
    names = dict(known or {})
    taken = {*names.values()}
    for item in items:
        if (turn := item.turn) is None:
            continue
        name = _name(item.request, turn)
        if name not in taken:
            names[*item.before, turn] = name
            taken.add(name)
    return names


def _name(request: str, turn: str) -> str:
    """Return the name of an exchange."""
    return _json.digest([request, turn])[:DIGITS]


def exchange_lines(items: Iterable[Interaction], names: ExchangeNames) -> str:
    """Return the lines of some exchanges; ``names`` has the names of all in their file."""
    # A lone surrogate has no UTF-8, but JSON has an escape for it.
    text = "".join(_written(item, names) for item in items)
    return text.encode("utf-8", "backslashreplace").decode()


def _written(item: Interaction, names: ExchangeNames) -> str:
    """Return the lines of an exchange, which names the one that it continues."""
    before = item.before
    # The longest beginning that another exchange in the file has; the rest is listed here.
    named = next((n for n in range(len(before), 0, -1) if before[:n] in names), 0)
    text = item.text or ""
    mark = {"in": _mark(item.request, item.prompt, text)} if item.is_marked else {}
    facts = fields_to_json(replace(item, before=before[named:]))
    facts |= known_items(after=names.get(before[:named]))
    facts |= mark
    facts["check"] = _check(facts, item.prompt, text)
    lines = [facts]
    lines += [{"you": line, **mark} for line in _lines(item.prompt) or [""]]
    lines += [{"reply": line, **mark} for line in _lines(text)]
    return "".join(map(_line, lines))


def _mark(request: object, prompt: str, text: str) -> str:
    """Return the digest of a question and its reply, which their lines have."""
    return _json.digest(json.dumps([request, prompt, text]))[:MARK_DIGITS]


def _check(facts: Mapping[str, Any], prompt: str, text: str) -> str:
    """Return the digest of an exchange, the same when it is written and when it is read."""
    # With JSON's escapes, two halves of a character equal the whole one, as they do when read.
    return _json.digest(json.dumps([facts, prompt, text]))


def _line(value: Mapping[str, Any]) -> str:
    """Return a value as a line of the file."""
    return _encoded(value) + "\n"


def _lines(text: str) -> list[str]:
    """Return the lines of a text, split after line feeds only."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a cassette.

    Args:
        interactions: its interactions, each checked against its digest.
        is_merged: whether it has the marks of a merge conflict, both halves of which were read.
        is_older: whether its exchanges have names of an earlier release, so that none can be added
            behind them.
    """

    interactions: tuple[Interaction, ...] = ()
    is_merged: bool = False
    is_older: bool = False


def from_text(text: str, name: str) -> tuple[Interaction, ...]:
    """Return the interactions of a cassette's text, as for :func:`content_from`.

    Args:
        text: the whole text.
        name: the file's name, for messages.
    """
    return content_from(text, name).interactions


def content_from(text: str, name: str) -> Content:
    """Return the content of a cassette.

    Args:
        text: the whole text.
        name: the file's name, for messages.

    Raises:
        InputError: a line was changed, or is of another version; the message names the line. Or
            there are too many lines or values.
    """
    if text.count("\n") > MOST_IN_FILE or has_many_values(text, MOST_IN_FILE):
        raise InputError(
            f"{name} cannot be read: it holds more than {MOST_IN_FILE:,} lines or values.",
            hint="Record into another file.",
        )
    marks = [number for number, line in _numbered(text) if _CONFLICT.fullmatch(line)]
    if not marks:
        return _content(_drafts(_numbered(text), name))
    return replace(_content(_merged_drafts(text, name, marks[0])), is_merged=True)


def _merged_drafts(text: str, name: str, first_mark: int) -> list[_Draft]:
    """Return the interactions of both halves of a merge conflict.

    Args:
        text: the whole text.
        name: the file's name, for messages.
        first_mark: number of the first line that marks the conflict.
    """
    halves = _halves(_numbered(text))
    why = "it is a merge conflict"
    if halves is None:
        halves = (_without_marks(_numbered(text)),)
    else:
        why += ", and not each half of it holds whole exchanges"
    try:
        return _once(_drafts(half, name) for half in halves)
    except InputError as error:
        log_swallowed(error)
        raise _damaged(name, first_mark, why) from None


def _once(halves: Iterable[list[_Draft]]) -> list[_Draft]:
    """Return the interactions of the halves of a merge, those that both have once."""
    once: dict[object, _Draft] = {}
    for half in halves:
        keys = by_identity(draft.item for draft in half)
        for key, draft in zip(keys, half, strict=True):
            once.setdefault(key, draft)
    return [*once.values()]


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    number = 1
    end = 0
    for match in re.finditer("[^\n]+", text):
        number += text.count("\n", end, match.start())
        end = match.start()
        if match[0].strip():
            yield number, match[0]


def _halves(lines: Iterable[tuple[int, str]]) -> tuple[list[tuple[int, str]], ...] | None:
    """Return the numbered lines of both sides of a merge; ``None`` if marks are missing.

    The common ancestor between the halves of a conflict (git's style ``diff3``) is left out.
    """
    ours: list[tuple[int, str]] = []
    theirs: list[tuple[int, str]] = []
    sides = {"": (ours, theirs), "<": (ours,), "|": (), "=": (theirs,)}
    part = ""
    size = 0
    for line in lines:
        mark = _CONFLICT.fullmatch(line[1])
        # The marks in a common ancestor, which is itself a merge, are longer.
        size = size or len(mark[1] if mark else "")
        if mark is None or (part == "|" and len(mark[1]) > size):
            for side in sides[part]:
                side.append(line)
        elif part in _BEFORE[kind := mark[2]]:
            part = "" if kind == ">" else kind
        else:
            return None
    return None if part else (ours, theirs)


def _without_marks(lines: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the numbered lines of conflicts in each other, whose digests tell their exchanges.

    If a mark is missing, all lines are returned.
    """
    numbered = [*lines]
    marks = [mark for _, line in numbered if (mark := _CONFLICT.fullmatch(line))]
    count = Counter(mark[2] for mark in marks)
    is_whole = count["<"] == count["="] == count[">"]
    return [line for line in numbered if not (is_whole and _CONFLICT.fullmatch(line[1]))]


def _drafts(lines: Iterable[tuple[int, str]], name: str) -> list[_Draft]:
    """Return the interactions of numbered lines."""
    values = ((number, _read_line(line, number, name)) for number, line in lines)
    first, head = next(values, (1, None))
    if head is None:
        raise _damaged(name, 1, "it is empty")
    if head.get("chatmagic") != "cassette" or head.get("version") != VERSION:
        raise InputError(
            f"{name} is not a cassette of version {VERSION}: its line {first} is not the head of "
            "one.",
            hint=NEW_CASSETTE,
        )
    blocks = _blocks(((number, value) for number, value in values if value != head), name)
    shared = {block.facts.get("in"): block.lines for block in blocks if block.lines["you"]}
    return [_read_block(block, shared.get(block.facts.get("in")), name) for block in blocks]


def _blocks(values: Iterable[tuple[int, dict[str, Any]]], name: str) -> list[_Block]:
    """Return the exchanges of the lines below a head, each with its lines.

    Args:
        values: the lines' values with their numbers, without the heads of other files that were
            joined to this one.
        name: the file's name, for messages.
    """
    blocks: list[_Block] = []
    for number, value in values:
        kind = next((kind for kind in ("you", "reply") if isinstance(value.get(kind), str)), None)
        if "request" in value:
            blocks.append(_Block(number, value))
        elif blocks and kind is not None and value == {kind: value[kind], **blocks[-1].mark}:
            blocks[-1].lines[kind].append(value[kind])
        else:
            raise _damaged(name, number, "it is not in its place")
    return blocks


def _read_line(line: str, number: int, name: str) -> dict[str, Any]:
    """Return the JSON object of a line."""
    why = "it is no object of JSON"
    try:
        if isinstance(value := json.loads(line), dict):
            return value
    except (ValueError, RecursionError) as error:
        why = json_fault(error)
    if line.startswith(("<<<<", "||||", "====", ">>>>")):
        why = "it is a merge conflict"
    raise _damaged(name, number, why)


_Lines = dict[str, list[str]]
"""The texts of an exchange's lines, by kind."""


@dataclass(frozen=True, slots=True)
class _Block:
    """An exchange's lines.

    Args:
        number: number of its first line.
        facts: the value of its first line.
        lines: the other lines.
    """

    number: int
    facts: dict[str, Any]
    lines: _Lines = field(default_factory=lambda: {"you": [], "reply": []})

    @property
    def mark(self) -> dict[str, Any]:
        """The field that each of the other lines has."""
        return {"in": self.facts["in"]} if "in" in self.facts else {}


def _damaged(name: str, number: int, why: str) -> InputError:
    """Return the error for a line that cannot be read."""
    return InputError(f"{name}, line {number:,}: {why}.", hint=REPAIR)


@dataclass(frozen=True, slots=True)
class _Draft:
    """Interaction as it stands in a file.

    Args:
        item: the interaction, with those of the turns before it that it names itself.
        after: name of the exchange that it continues; empty for none.
        sent: digest of all of its request, which its name was made of; in a file of today the same
            as the request's.
    """

    item: Interaction
    after: str
    sent: str


def _read_block(block: _Block, shared: _Lines | None, name: str) -> _Draft:
    """Return the interaction of an exchange's lines.

    Args:
        block: the lines.
        shared: the lines of another exchange with the same text, if this one has no own lines.
        name: the file's name, for messages.
    """
    lines = block.lines if block.lines["you"] or shared is None else shared
    prompt = "".join(lines["you"])
    text = "".join(lines["reply"])
    facts = {name: value for name, value in block.facts.items() if name != "check"}
    if block.facts.get("check") != _check(facts, prompt, text):
        why = "the exchange is not the one that was recorded"
        raise _damaged(name, block.number, why)
    try:
        read = dataclass_from_json(Interaction, facts)
        item = replace(
            read,
            prompt=prompt,
            text=text if read.error is None else None,
            request=exact_text(facts.get("without_markdown") or read.request),
            is_marked="in" in facts,
        )
        return _Draft(item, exact_text(facts.get("after", "")), read.request)
    except (ValueError, RecursionError) as error:
        raise _damaged(name, block.number, str(error)) from None


def _content(drafts: Sequence[_Draft]) -> Content:
    """Return the content of the interactions of a file."""
    is_older = any(draft.sent != draft.item.request for draft in drafts)
    return Content(_linked(drafts), is_older=is_older)


def _linked(drafts: Sequence[_Draft]) -> tuple[Interaction, ...]:
    """Return interactions with all known turns that they carried.

    An interaction may stand before the one that it continues, because cells may run in any order.

    Args:
        drafts: the interactions of a file.
    """
    items = [draft.item for draft in drafts]
    turns = [item.turn for item in items]
    first: dict[str, int] = {}
    for index, (draft, turn) in enumerate(zip(drafts, turns, strict=True)):
        if turn is not None:
            first.setdefault(_name(draft.sent, turn), index)
    names = {index: name for name, index in first.items()}
    waiting: dict[str, list[int]] = defaultdict(list)
    for index, draft in enumerate(drafts):
        waiting[draft.after].append(index)
    # The name of an exchange that is not in the file stands for unknown turns.
    ready: list[tuple[int, tuple[str, ...]]] = [
        (index, (after,) if after else ())
        for after in waiting.keys() - first
        for index in waiting[after]
    ]
    while ready:
        index, carried = ready.pop()
        before = (*carried, *items[index].before)
        items[index] = replace(items[index], before=before)
        turn = turns[index]
        if turn is not None and index in names:
            # Those that continue this exchange are waiting for the turns that it carried.
            ready += [(other, (*before, turn)) for other in waiting.pop(names[index], ())]
    return tuple(items)
