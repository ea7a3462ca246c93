"""A reply in two parts: the joined text, and the turn with both parts.

The rule is the 22nd of :mod:`chatmagic.conversation.conversation`. The record of the second part
gives the number of its characters that repeat the first part. So the parts can be joined from their
outputs in the same way.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, replace
from itertools import pairwise
from math import prod
from typing import Final, cast

from chatmagic._json import digest, shared_fields
from chatmagic.conversation.question import Format
from chatmagic.conversation.record import Record
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, ReplyFacts, Usage
from chatmagic.safe_text import FENCE, open_fence

_ALIKE: Final = 8
"""Smallest number of letters and digits in an overlap within a line; fewer may be chance."""
_DIFFERENT: Final = 10
"""Number of different characters that an overlap with fewer letters and digits must exceed."""
_FARTHEST: Final = 20_000
"""Largest number of characters in an overlap."""
_STEPS: Final = [
    *((True, False, change) for change in (2, 4)),
    *((False, False, change) for change in (0, 0, -4)),
    *((False, True, change) for change in (-2, -4)),
]
"""Common changes of indent; the lines of a reply add theirs."""


def is_incomplete(reply: Reply) -> bool:
    """Return whether a reply may have more text: it ended early, or at its limit.

    Args:
        reply: the reply.
    """
    return reply.state != "complete" or reply.finish_reason == "length"


def cut_size(first: str, second: str) -> int:
    """Return the number of characters of a second part that are left out when the parts are joined.

    These are the repeated end of the first part, and a line that opens its open code block again.

    Args:
        first: the first part.
        second: the part from the continuation.
    """
    fence = _opened_again(first, second)
    if fence is None:
        return _overlap(first, second)
    code = fence.end() + second.startswith("\n", fence.end())
    overlap = _overlap(first, second[code:])
    # A block that is opened again continues in a line of its own.
    return code + overlap if overlap or first.endswith("\n") else fence.end()


def block_opening(first: str, second: str, format: Format) -> str | None:
    """Return the line that opens the code block in which a second part continues, if any.

    Args:
        first: the first part.
        second: the part from the continuation.
        format: the form of the reply.
    """
    fence = open_fence(first) if format in {"markdown", "code"} else None
    if fence is None or first.endswith(fence[0]) or _opened_again(first, second):
        return None
    return fence[0].strip()


def joined_text(first: str, second: str, left_out: int) -> str:
    """Return the text of both parts.

    Args:
        first: the first part.
        second: the part from the continuation.
        left_out: number of its characters to leave out.
    """
    rest = second[left_out:]
    # A fence, or a row after a whole row, must begin a line.
    is_fence = re.match(FENCE, rest) is not None and first.rpartition("\n")[2].strip() != ""
    return f"{first}\n{rest}" if is_fence or _is_new_row(first, rest) else f"{first}{rest}"


def joined_turn(first: Turn, part: Turn) -> Turn:
    """Return the turn with both parts of its reply.

    Its end and its owner are those of the second part. Its tokens and credits are those of both.

    Args:
        first: the turn with the first part.
        part: the same question with the second part and its record.
    """
    record = cast("Record", part.record)
    before, came = first.reply, part.reply
    text = joined_text(before.text, came.text, record.cut)
    reply = replace(
        came,
        text=text,
        model=came.model or before.model,
        usage=_usage(before.usage, came.usage),
        took=_sum(before.took, came.took),
        reasoning="\n\n".join(filter(None, (before.reasoning, came.reasoning))) or None,
        by_order=before.by_order or came.by_order,
    )
    # The turn keeps the carried turns, the instructions and the record of its first request.
    turn = replace(
        part, reply=reply, carried=first.carried, last=first.last, instructions=first.instructions
    )
    record = replace(
        first.record or record,
        **shared_fields(reply, ReplyFacts),
        owner=record.owner,
        reply=digest(text),
        turn=record.turn if first.missing else turn.digest,
        in_place_of=record.in_place_of,
        continues=record.continues,
        picked=False,
        cut=0,
        block=None,
    )
    return replace(turn, record=record)


def _opened_again(first: str, second: str) -> re.Match[str] | None:
    """Return the fence with which a second part opens the open block of the first part again."""
    opened = open_fence(first)
    fence = re.search(FENCE, second)
    if opened is None or fence is None or second[: fence.start()].strip("\n"):
        return None
    if first.endswith(opened[0]) and second.startswith(opened[0].strip("\n")):
        return None  # The first part ended within the line that opens the block.
    # A fence without a word ends the block, unless repeated text follows it.
    is_end = not fence[2].strip() and not _overlap(first, second[fence.end() + 1 :])
    return fence if fence[1].startswith(opened[1]) and not is_end else None


def _overlap(first: str, second: str) -> int:
    """Return the number of characters that begin a second part and end the first one."""
    header = _header_size(first, second)
    begin = second[header : header + _ALIKE]
    second = second[header:]
    at = max(0, len(first) - min(len(second), _FARTHEST))
    while begin and (at := first.find(begin, at)) >= 0:
        is_line = first[:at].endswith("\n")
        if second.startswith(end := first[at:]) and _is_telling(end, is_line=is_line):
            return header + len(end)
        at += 1
    return header + _begun_again(first, second)


def _is_telling(end: str, *, is_line: bool) -> bool:
    """Return whether a repeated end of a first part is too long for chance.

    Args:
        end: the end of the first part.
        is_line: whether it begins a line. Then a whole line and a part of the next one are enough.
    """
    above, _, line = end.rpartition("\n")
    is_long = len(re.findall(r"\w", end)) >= _ALIKE or len(set(end)) > _DIFFERENT
    return is_long or (is_line and above.strip() != "" and line.strip() != "")


def _begun_again(first: str, second: str) -> int:
    """Return the size of a first part's unfinished last line or word, if the second repeats it."""
    above, _, line = first.rpartition("\n")
    if line and not line.strip():
        return len(line) if _is_indented_again(first, second) else 0
    # A space after a word ends it.
    is_ended = line[-1:].isspace() or _is_new_row(first, second)
    run = "" if is_ended else line.rpartition(" ")[2]
    letters = re.split(r"\W", run)[-1]
    words = (line, line.lstrip(), run, "" if letters.isdigit() else letters)
    word = next((word for word in words if word and second.startswith(word)), "")
    # A row continues if the new text gives it no more columns than the row above has.
    columns = (line + second.partition("\n")[0]).count("|")
    is_rest = "|" in word and columns <= above.rpartition("\n")[2].count("|")
    return 0 if is_rest or _is_divided(word, second, line) else len(word)


def _is_divided(marker: str, second: str, line: str) -> bool:
    """Return whether a second part completes a marker, such as ``**``, that was cut in two."""
    if not re.fullmatch(r"([$*`\"'_~#&-])\1*", marker):
        return False
    begin, *others = re.findall(rf"{re.escape(marker[0])}+", second)
    size = len(marker) + len(begin)
    is_alone = line.strip() == marker and size == {"$": 2, "`": 3}.get(marker[0])
    return is_alone or (bool(others) and len(others[0]) == size)


def _is_indented_again(first: str, second: str) -> bool:
    """Return whether a second part repeats the white space at the end of a first one.

    It does if the indent without the repetition fits the lines around it better.
    """
    above, _, line = first.rpartition("\n")
    block = re.split(FENCE, second)[0] or second
    begun, *below = [line for line in block.split("\n") if line.strip()] or [""]
    lines = [line for line in above.split("\n") if line.strip()]
    known = [*_STEPS, *(_step(*pair) for part in (lines, below) for pair in pairwise(part))]
    counts = Counter(known)
    totals = Counter(step[:2] for step in known)

    def fit(written: str) -> tuple[float, bool]:
        steps = [_step(*pair) for pair in pairwise([*lines[-1:], written, *below[:1]])]
        odds = prod((counts[step] + 0.1) / (totals[step[:2]] + 1) for step in steps)
        return odds, _indent(written) % 2 == 0

    return second.startswith(line) and fit(begun) >= fit(line + begun)


def _step(above: str, below: str) -> tuple[bool, bool, int]:
    """Return whether a line opens a block, the next one closes one, and the change of indent."""
    opens = above.rstrip().endswith((":", "(", "[", "{", "|"))
    closes = below.lstrip().startswith((")", "]", "}", "</", "else"))
    return opens, closes, _indent(below) - _indent(above)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_new_row(first: str, second: str) -> bool:
    """Return whether a second part begins with a table row after a whole row of the first part.

    A row below others is whole if it has as many columns. The first row is whole if the second part
    begins with the line below it.
    """
    *_, above, line = ["", *first.rstrip(" ").rsplit("\n", 2)]
    columns = line.count("|") if line.startswith("|") and line.endswith("|") else 0
    if above.startswith("|"):
        return columns >= above.count("|") and re.match(r"\|(?!\n|\Z)", second) is not None
    return columns > 1 and re.match(r"\| *:?--", second) is not None


def _header_size(first: str, second: str) -> int:
    """Return the size of the head of an open table, if the second part repeats it."""
    head = re.match(r"\|.*\n\|[-:| ]+\n", second)
    last = first.rpartition("\n\n")[2]
    return len(head[0]) if head is not None and head[0] in f"{last}\n" else 0


def _usage(first: Usage | None, second: Usage | None) -> Usage | None:
    """Return the tokens of two requests together, as far as both report them."""
    if first is None or second is None:
        return None
    names = [field.name for field in fields(Usage)]
    return Usage(*(_sum(getattr(first, name), getattr(second, name)) for name in names))


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
