"""A reply in two parts: the joined text, and the turn with both parts.

The rule is the 22nd of :mod:`chatmagic.conversation.conversation`. The record of the second part
gives the number of its characters that repeat the first part. So the parts can be joined from their
outputs in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Final, Literal, TypeAlias, cast

from chatmagic._json import digest, with_shared_fields
from chatmagic.conversation.question import Format
from chatmagic.conversation.record import Record
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, ReplyFacts, Usage
from chatmagic.safe_text import FENCE, open_fence

_ALIKE: Final = 8
"""Smallest number of letters in an overlap within a line; fewer may be chance."""
_DIFFERENT: Final = 14
"""Number of different characters without digits that a telling overlap of any kind exceeds."""
_SHORTEST: Final = 3
"""Number of characters by which the beginning of an overlap is found."""
_FARTHEST: Final = 20_000
"""Largest number of characters in an overlap."""
_BEGINNING: Final = 40
"""Number of letters that begin a new reply, after a whole sentence or line, or of characters in an
overlap; fewer may be a parallel."""
_FEW: Final = 6
"""Number of characters with which two parts may begin alike by chance."""
_SEAM: Final = 40
"""Number of characters in the words before a seam."""
_CUT_FENCES: Final = {"`", "``", "~", "~~"}
_WORD: Final = r"[^\W\d_]{3,}"
_SEPARATORS: Final = (r"\|", r"\t", r"[,;](?=\S)")
"""What separates the columns of a row."""

Restart: TypeAlias = Literal["nothing new", "differs"]
"""How a second part begins the reply again: it brings nothing new, or it becomes another reply."""


def is_incomplete(reply: Reply) -> bool:
    """Return whether a reply may have more text: it ended early, or at its limit.

    Args:
        reply: the reply.
    """
    return reply.state != "complete" or reply.finish_reason == "length"


def cut_size(first: str, second: str) -> int:
    """Return the number of characters of a second part that are left out when the parts are joined.

    These are the repeated end of the first part, and a line that opens its open code block again.
    What may be chance stays: a visible repetition is better than a lost character.

    Args:
        first: the first part.
        second: the part from the continuation.
    """
    if restart(first, second) == "nothing new":
        return len(second)
    fence = _opened_again(first, second)
    if fence is None:
        return _overlap(first, second)
    code = fence.end()
    if second.startswith("\n", code):
        code += 1
    overlap = _overlap(first, second[code:])
    # A block that is opened again continues in a line of its own.
    return code + overlap if overlap or first.endswith("\n") else fence.end()


def restart(first: str, second: str) -> Restart | None:
    """Return how a second part begins the reply again; ``None`` if it continues the first part.

    Args:
        first: the first part.
        second: the part from the continuation.
    """
    begins_line = first.endswith("\n") or second.startswith("\n")
    first = first.lstrip()
    second = second.lstrip()
    begun = _same_beginning(first, second)
    if begun == first or not _is_telling(begun, "", second):
        return None
    is_short = len(re.findall(r"[^\W\d_]", begun)) < _BEGINNING
    if second.rstrip() == begun.rstrip():
        # A list of labels has lines like its first one.
        ends_line = second.endswith("\n") or first[len(begun) :].startswith("\n")
        return None if is_short and begins_line and ends_line else "nothing new"
    # Sentences, items and rows often begin alike.
    is_whole = re.search(r"[.:!?|\n][\s*_`\"')]*\Z", first) is not None
    return None if is_short and (begins_line or is_whole) else "differs"


def begins_alike(first: str, second: str) -> bool:
    """Return whether a second part may begin the reply again, without a telling word.

    Nothing of it is left out then, as with a list of numbers that begins twice.

    Args:
        first: the first part.
        second: the part from the continuation.
    """
    if restart(first, second) is not None or cut_size(first, second):
        return False
    begun = _same_beginning(first.lstrip(), second.lstrip())
    return len(re.sub(r"\s", "", begun)) >= _FEW or "\n" in begun.rstrip()


def words_before_seam(first: str) -> str:
    """Return the last words of a first part, on one line, by which the seam is found.

    Args:
        first: the first part.
    """
    line = " ".join(first[-2 * _SEAM :].split())
    return line if len(line) <= _SEAM else f"…{line[-_SEAM:].lstrip()}"


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
    # A fence, or a row after a whole row, must begin a line. Fewer marks begin a cut fence.
    last_line = first.rpartition("\n")[2].strip()
    is_fence = re.match(FENCE, rest) is not None and last_line not in {"", *_CUT_FENCES}
    return f"{first}\n{rest}" if is_fence or _is_new_row(first, rest) else f"{first}{rest}"


def joined_turn(first: Turn, part: Turn) -> Turn:
    """Return the turn with both parts of its reply, or with the second one, if that stands alone.

    Its end and its owner are those of the second part. Its tokens and credits are those of both.

    Args:
        first: the turn with the first part.
        part: the same question with the second part and its record.
    """
    record = cast("Record", part.record)
    # The turn keeps the limit, the carried turns, the instructions and the record of its first
    # request.
    turn = replace(
        part,
        reply=_joined_reply(first.reply, part.reply, record),
        max_tokens=first.max_tokens,
        carried=first.carried,
        last=first.last,
        instructions=first.instructions,
    )
    # The prompt has another text now if its values were not kept.
    name = record.turn if first.missing else turn.digest
    return replace(turn, record=_joined_record(first.record, record, turn.reply, name))


def _joined_reply(first: Reply, second: Reply, record: Record) -> Reply:
    """Return the reply with both parts; the record is that of the second one."""
    text = second.text if record.afresh else joined_text(first.text, second.text, record.cut)
    return replace(
        second,
        text=text,
        model=second.model or first.model,
        usage=_usage(first.usage, second.usage),
        took=_sum(first.took, second.took),
        reasoning="\n\n".join(filter(None, (first.reasoning, second.reasoning))) or None,
        by_order=first.by_order or second.by_order,
    )


def _joined_record(first: Record | None, part: Record, reply: Reply, turn: str | None) -> Record:
    """Return the record of the turn with both parts, which is no part of a reply any more.

    Args:
        first: the record of the first part; ``None`` if the turn has none.
        part: the record of the second part.
        reply: the reply with both parts.
        turn: the digest by which later records name the turn.
    """
    earlier_seams = () if first is None or part.afresh else first.seams
    return replace(
        with_shared_fields(first or part, reply, ReplyFacts),
        owner=part.owner,
        reply=digest(reply.text),
        turn=turn,
        in_place_of=part.in_place_of,
        continues=part.continues,
        picked=False,
        compared=False,
        afresh=False,
        alike=False,
        cut=0,
        seams=(*earlier_seams, *part.seams),
        block=None,
    )


def _same_beginning(first: str, second: str) -> str:
    """Return the characters with which both texts begin."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return first[: sum(1 for _ in alike)]


def _opened_again(first: str, second: str) -> re.Match[str] | None:
    """Return the fence with which a second part opens the open block of the first part again.

    It may close the block first.
    """
    opened = open_fence(first)
    fence = re.search(FENCE, second)
    if opened is None or fence is None or second[: fence.start()].strip("\n"):
        return None
    if first.endswith(opened[0]) and second.startswith(opened[0].strip("\n")):
        return None  # The first part ended within the line that opens the block.
    if not fence[1].startswith(opened[1]):
        return None
    if fence[2].strip():
        return fence
    again = re.compile(rf"\s*\n({re.escape(opened[1])})([^\n]*)$", re.MULTILINE)
    reopened = again.match(second, fence.end())
    if reopened is not None and reopened[2].strip() == opened[2].strip() != "":
        return reopened
    # A fence without a word ends the block, unless repeated text follows it.
    return fence if _overlap(first, second[fence.end() + 1 :]) else None


def _overlap(first: str, second: str) -> int:
    """Return the number of characters that begin a second part and end the first one."""
    header = _header_size(first, second)
    second = second[header:]
    if second.startswith(first.lstrip()) and _is_telling(first.lstrip(), "", second):
        return header + len(first.lstrip())
    for at in _places_of(second[:_SHORTEST], first, min(len(second), _FARTHEST)):
        end = first[at:]
        if second.startswith(end) and _is_telling(end, first[:at], second):
            return header + len(end)
    return header


def _places_of(beginning: str, text: str, most: int) -> Iterator[int]:
    """Yield the places of a beginning among the last characters of a text, from left to right."""
    if not beginning:
        return
    at = text.find(beginning, max(0, len(text) - most))
    while at >= 0:
        yield at
        at = text.find(beginning, at + 1)


def _is_telling(end: str, before: str, second: str) -> bool:
    """Return whether a repeated end of a first part is too long for chance.

    It holds a line end, or a word and a blank beside it, with enough letters. Numbers are no words:
    a number that was cut may go on with the digits that it ends with.

    Args:
        end: the end of the first part, with which the second one begins.
        before: the first part before it.
        second: the second part.
    """
    if "\n" not in end and _completes_row(before + end, second):
        return False
    is_line = not before or before.endswith("\n")
    is_varied = len(set(re.sub(r"[\d\s]", "", end))) > _DIFFERENT
    is_telling = is_varied or len(end) >= _BEGINNING
    if _is_twice(before, end) or (not is_telling and _completes_line(before + end, second)):
        return False
    above, _, line = end.rpartition("\n")
    is_number = re.fullmatch(r"[\W\d_]*", re.sub(r"\|[-:| ]+\|", "a", above)) is not None
    if is_varied or (is_line and above.strip() and line.strip() and not is_number):
        return True
    is_between_blanks = before[-1:].isspace() and second[len(end) :][:1].isspace()
    if is_between_blanks and re.fullmatch(rf"{_WORD}", end) and len(end) > _SHORTEST:
        return True
    is_long = len(re.findall(r"[^\W\d_]", end)) >= _ALIKE
    words = re.search(rf"(?<!\w){_WORD}\s|\s{_WORD}(?!\w)", end)
    return (is_long and "\n" in end.rstrip()) or (words is not None and (is_long or is_line))


def _is_twice(before: str, end: str) -> bool:
    """Return whether a first part ends with the same text twice, and may go on with it again.

    Args:
        before: the first part before its end.
        end: its end, with which the second part begins.
    """
    half = end[: len(end) // 2]
    return before.endswith(end) or end == half + half


def _completes_line(first: str, second: str) -> bool:
    """Return whether the cut line, or the cut word, becomes one that the first part has already.

    Args:
        first: the first part.
        second: the second part.
    """
    *above, line = first.split("\n")
    rest, line_end, _ = second.partition("\n")
    new = line + rest
    may_grow = not line_end
    if line.strip() and any(
        earlier == new or (may_grow and earlier.startswith(new)) for earlier in above
    ):
        return True
    word = re.search(r"\w+\Z", line)
    end = re.match(r"\w+", rest)
    return word is not None and end is not None and word[0] + end[0] in re.findall(r"\w+", first)


def _completes_row(first: str, second: str) -> bool:
    """Return whether the unfinished line and the new text make a row like the one above.

    The first row of a table is like the line below it.
    """
    above, _, line = first.rpartition("\n")
    rest, _, below = second.partition("\n")
    is_head = re.match(r"\|[-:| ]+\n", below) is not None
    row = below.partition("\n")[0] if is_head else above.rpartition("\n")[2]
    return line.strip() != "" and any(
        0 < len(re.findall(separator, row)) == len(re.findall(separator, line + rest))
        for separator in _SEPARATORS
    )


def _is_new_row(first: str, second: str) -> bool:
    """Return whether a second part begins with a table row after a whole row of the first part.

    A row below others is whole if it has as many columns. The first row is whole if the second part
    begins with the line below it.
    """
    before, _, line = first.rstrip(" ").rpartition("\n")
    above = before.rpartition("\n")[2]
    columns = line.count("|") if line.startswith("|") and line.endswith("|") else 0
    if above.startswith("|"):
        begins_row = re.match(r"\|(?!\n|\Z)", second) is not None
        return begins_row and columns >= above.count("|")
    begins_line_of_dashes = re.match(r"\| *:?--", second) is not None
    return begins_line_of_dashes and columns > 1


def _header_size(first: str, second: str) -> int:
    """Return the size of the head of an open table, if the second part repeats it."""
    head = re.match(r"\|.*\n\|[-:| ]+\n", second)
    last = first.rpartition("\n\n")[2]
    return len(head[0]) if head is not None and f"\n{head[0]}" in f"\n{last}\n" else 0


def _usage(first: Usage | None, second: Usage | None) -> Usage | None:
    """Return the tokens of two requests together, as far as both report them."""
    if first is None or second is None:
        return None
    return Usage(
        prompt_tokens=_sum(first.prompt_tokens, second.prompt_tokens),
        completion_tokens=_sum(first.completion_tokens, second.completion_tokens),
        total_tokens=_sum(first.total_tokens, second.total_tokens),
        reasoning_tokens=_sum(first.reasoning_tokens, second.reasoning_tokens),
    )


def _sum(first: int | None, second: int | None) -> int | None:
    """Return the sum of two figures; ``None`` if one of them is unknown."""
    return None if first is None or second is None else first + second
