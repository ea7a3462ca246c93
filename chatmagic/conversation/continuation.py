"""A reply in two parts: whether it may be continued, how the parts are joined, and their turn.

The rule is the 22nd of :mod:`chatmagic.conversation.conversation`. The record of the part that came
later says how many of its characters say again what the first part says, so that whatever joins
the two from their outputs joins them as they were.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, replace
from itertools import pairwise
from math import prod
from typing import Final, cast

from chatmagic._json import digest, shared_fields
from chatmagic.conversation.record import Record
from chatmagic.conversation.request_facts import Format
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, ReplyFacts, Usage
from chatmagic.text import FENCE, open_fence

_ALIKE: Final = 8
"""How many letters and digits an overlap within a line has at least; fewer may be chance."""
_DIFFERENT: Final = 10
"""How many different characters an overlap has more than, where it has fewer letters and digits."""
_FARTHEST: Final = 20_000
"""The most characters of an overlap."""
_STEPS: Final = [
    *((True, False, change) for change in (2, 4)),
    *((False, False, change) for change in (0, 0, -4)),
    *((False, True, change) for change in (-2, -4)),
]
"""Changes of indent as they are usual; the lines of a reply add theirs."""


def is_incomplete(reply: Reply) -> bool:
    """Return whether a reply may have more text: it was ended early, or by its limit.

    Args:
        reply: the reply.
    """
    return reply.state != "complete" or reply.finish_reason == "length"


def cut_size(first: str, second: str) -> int:
    """Return how many characters of a second part are left out where the parts are joined.

    These are what it repeats of the first part's end, and the line by which it opens once more a
    block of code that the first part left open.

    Args:
        first: the part that came first.
        second: what came when it was continued.
    """
    fence = _opened_again(first, second)
    if fence is None:
        return _overlap(first, second)
    code = fence.end() + second.startswith("\n", fence.end())
    overlap = _overlap(first, second[code:])
    # A block that is opened again goes on in a line of its own.
    return code + overlap if overlap or first.endswith("\n") else fence.end()


def block_opening(first: str, second: str, format: Format) -> str | None:
    """Return the line that opens the block of code in which a second part goes on, if any.

    Args:
        first: the part that came first.
        second: what came when it was continued.
        format: the form in which the reply is shown.
    """
    fence = open_fence(first) if format in {"markdown", "code"} else None
    if fence is None or first.endswith(fence[0]) or _opened_again(first, second):
        return None
    return fence[0].strip()


def joined_text(first: str, second: str, left_out: int) -> str:
    """Return the text of both parts.

    Args:
        first: the part that came first.
        second: what came when it was continued.
        left_out: how many of its characters are left out.
    """
    rest = second[left_out:]
    # A fence is one only at the beginning of a line, and so is a row behind a whole one.
    is_fence = re.match(FENCE, rest) is not None and first.rpartition("\n")[2].strip() != ""
    return f"{first}\n{rest}" if is_fence or _is_new_row(first, rest) else f"{first}{rest}"


def joined(first: Turn, part: Turn) -> Turn:
    """Return the turn with both parts of its reply.

    Its end is that of the second part, and its owner the cell that asked for that; its tokens and
    credits are those of both.

    Args:
        first: the turn with the first part.
        part: the same question with the second part, and the record of that.
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
    # What its first request carried holds for the turn, and so does that request's record.
    turn = replace(
        part,
        reply=reply,
        carried=first.carried,
        last=first.last,
        instructions=first.instructions,
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
    """Return the fence with which a second part opens once more the block that is open."""
    opened, fence = open_fence(first), re.search(FENCE, second)
    if opened is None or fence is None or second[: fence.start()].strip("\n"):
        return None
    if first.endswith(opened[0]) and second.startswith(opened[0].strip("\n")):
        return None  # The line that opens the block is the one that was unfinished.
    # One without a word ends the block, unless what was said before follows it.
    is_end = not fence[2].strip() and not _overlap(first, second[fence.end() + 1 :])
    return fence if fence[1].startswith(opened[1]) and not is_end else None


def _overlap(first: str, second: str) -> int:
    """Return how many characters at the beginning of a second part the first one ends with."""
    header = _header_size(first, second)
    begin, second = second[header : header + _ALIKE], second[header:]
    at = max(0, len(first) - min(len(second), _FARTHEST))
    while begin and (at := first.find(begin, at)) >= 0:
        is_line = first[:at].endswith("\n")
        if second.startswith(end := first[at:]) and _is_telling(end, is_line=is_line):
            return header + len(end)
        at += 1
    return header + _begun_again(first, second)


def _is_telling(end: str, *, is_line: bool) -> bool:
    """Return whether what a second part says again of a first one's end is too much for chance.

    Args:
        end: the end of the first part.
        is_line: whether it begins a line; with a whole line before the unfinished one it is enough.
    """
    above, _, line = end.rpartition("\n")
    is_long = len(re.findall(r"\w", end)) >= _ALIKE or len(set(end)) > _DIFFERENT
    return is_long or (is_line and above.strip() != "" and line.strip() != "")


def _begun_again(first: str, second: str) -> int:
    """Return the size of the unfinished last line or word of a first part, if the second has it."""
    above, _, line = first.rpartition("\n")
    if line and not line.strip():
        return len(line) if _is_indented_again(first, second) else 0
    # A space behind a word ends it.
    is_ended = line[-1:].isspace() or _is_new_row(first, second)
    run = "" if is_ended else line.rpartition(" ")[2]
    letters = re.split(r"\W", run)[-1]
    words = (line, line.lstrip(), run, "" if letters.isdigit() else letters)
    word = next((each for each in words if each and second.startswith(each)), "")
    # A row goes on where it has, with what came, no more columns than the row above.
    columns = (line + second.partition("\n")[0]).count("|")
    is_rest = "|" in word and columns <= above.rpartition("\n")[2].count("|")
    return 0 if is_rest or _is_divided(word, second, line) else len(word)


def _is_divided(marker: str, second: str, line: str) -> bool:
    """Return whether a marker, such as ``**``, goes on in a second part: the one that ends it."""
    if not re.fullmatch(r"([$*`\"'_~#&-])\1*", marker):
        return False
    begin, *others = re.findall(rf"{re.escape(marker[0])}+", second)
    size = len(marker) + len(begin)
    is_alone = line.strip() == marker and size == {"$": 2, "`": 3}.get(marker[0])
    return is_alone or (bool(others) and len(others[0]) == size)


def _is_indented_again(first: str, second: str) -> bool:
    """Return whether a second part says again the white space that a first one ends with.

    The indent that results is to fit the lines above and below as other lines fit theirs.
    """
    above, _, line = first.rpartition("\n")
    block = re.split(FENCE, second)[0] or second
    begun, *below = [each for each in block.split("\n") if each.strip()] or [""]
    lines = [each for each in above.split("\n") if each.strip()]
    if not second.startswith(line):
        return False
    known = [*_STEPS, *(_step(*pair) for part in (lines, below) for pair in pairwise(part))]
    counts, totals = Counter(known), Counter(step[:2] for step in known)

    def fit(written: str) -> tuple[float, bool]:
        steps = [_step(*pair) for pair in pairwise([*lines[-1:], written, *below[:1]])]
        odds = prod((counts[step] + 0.1) / (totals[step[:2]] + 1) for step in steps)
        return odds, _indent(written) % 2 == 0

    return fit(begun) >= fit(line + begun)


def _step(above: str, below: str) -> tuple[bool, bool, int]:
    """Return whether a line opens a block, the next one closes one, and the change of indent."""
    opens = above.rstrip().endswith((":", "(", "[", "{", "|"))
    closes = below.lstrip().startswith((")", "]", "}", "</", "else"))
    return opens, closes, _indent(below) - _indent(above)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_new_row(first: str, second: str) -> bool:
    """Return whether a second part begins with a row of a table, behind the whole row of a first.

    A row below others is whole with as many columns; the first one, where the second part begins
    with the line that stands below it.
    """
    *_, above, line = ["", *first.rstrip(" ").rsplit("\n", 2)]
    columns = line.count("|") if line.startswith("|") and line.endswith("|") else 0
    if above.startswith("|"):
        return columns >= above.count("|") and re.match(r"\|(?!\n|\Z)", second) is not None
    return columns > 1 and re.match(r"\| *:?--", second) is not None


def _header_size(first: str, second: str) -> int:
    """Return the size of the head of a table that is open, where a second part says it again."""
    head = re.match(r"\|.*\n\|[-:| ]+\n", second)
    last = first.rpartition("\n\n")[2]
    return len(head[0]) if head is not None and head[0] in f"{last}\n" else 0


def _usage(first: Usage | None, second: Usage | None) -> Usage | None:
    """Return the tokens of two requests together, as far as both tell them."""
    if first is None or second is None:
        return None
    names = [each.name for each in fields(Usage)]
    return Usage(*(_sum(getattr(first, name), getattr(second, name)) for name in names))


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
