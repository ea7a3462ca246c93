"""Replies in two parts: what is left out where they are joined, and the turn with both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st
from talks import abc, ask, carries, go_on, prompts

from chatmagic._json import digest
from chatmagic.conversation import continuation
from chatmagic.conversation.turn import Carried, Turn
from chatmagic.models import Reply, Usage

WORDS = "The mean of an empty list is not defined.\n\n"
CODE = "```python\ndef mean(values):\n    return sum(values) / len(values)\n```\n"
TEXT = f"{WORDS}{CODE}\nThat is all."

pieces = st.text("ab `~\n", max_size=12) | st.sampled_from([WORDS, CODE, "```", "```py\n", "x" * 9])
texts = st.lists(pieces, max_size=5).map("".join)


def join(first: str, second: str) -> str:
    """Join two parts."""
    return continuation.joined_text(first, second, continuation.cut_size(first, second))


REPLIES = {
    "code": (
        'Here it is:\n\n```python\ndef mean(values, default=None):\n    """Return the mean."""\n'
        "    if not values:\n        return default\n    total = 0\n    for value in values:\n"
        "        total += value\n    return total / len(values)\n\n\nclass Box:\n"
        "    def get(self):\n        return self.x\n```\n\nThat is all."
    ),
    "table": (
        "The cities:\n\n| City | Country | People |\n|---|---|:---:|\n"
        "| Lima | Peru | 10,151,000 |\n| Cusco | Peru | 428,450 |\n\nAll of them are large."
    ),
    "list": (
        "To do:\n\n1. Buy bread, milk and eggs.\n2. Clean the kitchen:\n   - the floor\n"
        "   - the windows\n3. Write to **Anna** and *Bob*.\n\n- one\n- two\n  - three\n"
    ),
    "prose": (
        "The quick brown fox jumps over the lazy dog. It was the best of times, it was the worst "
        "of times.\n\nIn 1999 there were 12,500 of them, and 0.5 % more in 2001."
    ),
    "script": (
        "1. Install it:\n    ```bash\n    pip install numpy\n    cd /tmp; ls\n    ```\n2. Use:\n\n"
        "```javascript\nfunction wait(fn, ms=20) {\n  let timer = null;\n  return (...args) => {\n"
        "    clearTimeout(timer);\n    timer = setTimeout(() => {\n      fn.apply(this, args);\n"
        "    }, ms);\n  };\n}\n```\n"
    ),
    "formula": (
        "The sum is\n\n$$\n\\sum_{i=1}^{n} i^2 = \\frac{n(n+1)(2n+1)}{6}\n$$\n\n"
        "where $n$ is a number, and $\\alpha_{i} \\le \\beta$ for all $i$."
    ),
}


HEAD = "| a | b |\n|---|---|\n"


@each_case("kind", REPLIES)
@each_case("begins", ["at the cut", "above"])
def test_a_reply_that_is_cut_anywhere_is_whole_again(kind: str, begins: str) -> None:
    """It goes on at the cut, or it repeats the last 44 characters."""
    whole = REPLIES[kind]
    for at in range(44 if begins == "above" else 1, len(whole)):
        second = (whole[at - 44 : at] if begins == "above" else "") + whole[at:]
        assert join(whole[:at], second) == whole, (at, second)


@each_case("kind", REPLIES)
@each_case("begins", ["with the line", "with the word"])
def test_no_character_is_lost(kind: str, begins: str) -> None:
    """A line or a word that begins again stands once, or twice in sight."""
    whole = REPLIES[kind]
    for at in range(1, len(whole)):
        first = whole[:at]
        line = first.rpartition("\n")[2]
        second = (line if begins == "with the line" else line.rpartition(" ")[2]) + whole[at:]
        assert join(first, second) in {whole, first + second, f"{first}\n{second}"}, (at, second)
        assert continuation.restart(first, second) is None


NUMBERS = st.one_of(
    st.integers(0, 10**12).map(str),
    st.floats(0, 1e6, allow_nan=False).map(str),
    st.sampled_from(["1", "11", "1212", "999999", "1,111,111", "0x1111", "1e11"]),
)
AMONG = [
    "The total is {} euros",
    "x = {}\ny = {}",
    "| {} | {} |\n| {} | {} |",
    "{}\n{}\n{}",
    "- {}\n- {}",
]


@given(st.sampled_from(AMONG), st.lists(NUMBERS, min_size=4, max_size=4), st.data())
def test_no_number_loses_digits(among: str, numbers: list[str], data: st.DataObject) -> None:
    """Wherever it is cut: its digits may come again by chance."""
    whole = among.format(*numbers)
    at = data.draw(st.integers(1, len(whole) - 1))
    assert join(whole[:at], whole[at:]) == whole


@each_case(
    ("first", "second", "both"),
    [
        ("The total is 1", "11 euros", "The total is 111 euros"),
        ("x = 1", "1.5", "x = 11.5"),
        (f"{HEAD}| 1 | 2 |", "| 3 | 4 |", f"{HEAD}| 1 | 2 |\n| 3 | 4 |"),
        (f"{HEAD}| 1 | 2", f"{HEAD}| 1 | 2 |\n| 3 | 4 |", f"{HEAD}| 1 | 2| 1 | 2 |\n| 3 | 4 |"),
        (f"{HEAD}| 1 | 2 |", f"{HEAD}| 3 | 4 |", f"{HEAD}| 1 | 2 |\n| 3 | 4 |"),
        (f"{HEAD}| 1 |", " 4 |", f"{HEAD}| 1 | 4 |"),
        (f"{HEAD}| Lima ", "| Lima |\n", f"{HEAD}| Lima | Lima |\n"),
        ("a,b\nsome town,", "some town\n", "a,b\nsome town,some town\n"),
        ("| a | b |", "|---|---|\n| 1 | 2 |", f"{HEAD}| 1 | 2 |"),
        ("  ", "  x", "    x"),
        ("It jum", "jumps", "It jumjumps"),
        ("The quick brown", "brown fox", "The quick brown fox"),
        ("It is very", " very good", "It is very very good"),
        ("The bon", "bon is sweet", "The bonbon is sweet"),
        ("a\n- The wi", "- The windows", "a\n- The windows"),
        ("```\nx = 1", "```\nDone.", "```\nx = 1\n```\nDone."),
        ("```py\nx = 1\n", "```\n\n```py\ny = 2\n```", "```py\nx = 1\ny = 2\n```"),
        ("```py\nx = 1\n", "```\n\n```sh\ny\n```", "```py\nx = 1\n```\n\n```sh\ny\n```"),
        ("See:", "```\nx\n```", "See:\n```\nx\n```"),
        ("````md\n", "```py\nx\n```\n````", "````md\n```py\nx\n```\n````"),
        ("|--------", "--------|", "|----------------|"),
        ("yes\nyes\n", "yes\nno", "yes\nyes\nyes\nno"),
        ("yes\nno", "\nyes\n", "yes\nno\nyes\n"),
        ("- good one\n- bad", "\n- good one\n", "- good one\n- bad\n- good one\n"),
        ("yes, fully agree\nyes", ", fully agree\nyes", "yes, fully agree\nyes, fully agree\nyes"),
        ("a; strongly agree; st", "rongly agree; st", "a; strongly agree; strongly agree; st"),
        ("I know that that", " that that is", "I know that that that that is"),
        ("| Yes please ", "| Yes please |\n|--|--|\n", "| Yes please | Yes please |\n|--|--|\n"),
        ("`", "```md\nx", "````md\nx"),
        ("0\n0\n", "0\n0\n", "0\n0\n0\n0\n"),
        ("", "all", "all"),
    ],
)
def test_only_what_surely_comes_again_is_left_out(first: str, second: str, both: str) -> None:
    """A line, words, a table's head; a new row is a line of its own; a new block stays."""
    assert join(first, second) == both


SKY = "The sky is blue because the short waves of light are scattered more. They reach our eyes"


@each_case(
    ("first", "second", "restart"),
    [
        (SKY, SKY[:40], "nothing new"),
        (SKY, f"{SKY[:40]}\n", "nothing new"),
        (SKY, SKY, None),
        (SKY, f"{SKY} from all sides.", None),
        (SKY, " from all sides.", None),
        (SKY, "The sky", "nothing new"),
        (SKY, "The", None),
        (SKY, "The sky is blue because air scatters.", "differs"),
        ("The capital of Peru is Lima.\n", "The capital of Chile is Santiago.", None),
        (f"{SKY}.", f"{SKY[:70]} less.", "differs"),
        (f"{SKY}.", SKY[:40], "nothing new"),
        ("- id: one\n- id: two\n", "- id: one\n", None),
        ("| Yes | Yes |\n|---|---|\n| Yes please | No |", "\n| Yes please | Yes |", None),
        ("- Good: one\n- Bad: two", "\n- Good: three", None),
    ],
)
def test_a_part_may_begin_the_reply_again(first: str, second: str, restart: str | None) -> None:
    """It brings nothing new, or it is another reply; a sentence may begin like the first one."""
    assert continuation.restart(first, second) == restart
    if restart == "nothing new":
        assert join(first, second) == first


@each_case(
    ("first", "second", "is_alike"),
    [
        ("1\n2\n3\n4", "1\n2\n3\n4\n5", True),
        ("3.14159265", "3.141592653589", True),
        ("1, 2, 3, 4, 5", "1, 2, 3, 4, 5, 6, 7", True),
        ("1\n2\n3\n4", "\n5\n6", False),
        ("The total is 1", "11 euros", False),
        (SKY, SKY[:40], False),
        (SKY, "The sky is blue because air scatters.", False),
        (SKY, f"{SKY} from all sides.", False),
    ],
)
def test_a_beginning_without_words_may_be_the_reply_again(
    first: str, second: str, *, is_alike: bool
) -> None:
    """All of it stays then, and a line tells it."""
    assert continuation.begins_alike(first, second) is is_alike
    if is_alike:
        assert join(first, second) == first + second


def test_the_words_before_a_seam() -> None:
    """On one line; of a long text the last ones."""
    assert continuation.words_before_seam("The\ntotal is 1 ") == "The total is 1"
    assert continuation.words_before_seam(SKY) == f"…{SKY[-40:].strip()}"


def test_a_reply_that_begins_again_stands_alone() -> None:
    """Its text is not joined to the first part."""
    first = Turn(prompt="p", reply=Reply(SKY), owner="a", asker="cell [1]")
    first = replace(first, record=first.to_record(digest("first")))
    turn = part(first, "The sky is")
    assert turn.record is not None
    turn = replace(turn, record=replace(turn.record, afresh=True))
    whole = continuation.joined_turn(first, turn)
    assert whole.reply.text == "The sky is"
    assert whole.record is not None
    assert not whole.record.afresh


@pytest.mark.parametrize("fence", ["```python\n", "```\n", "\n```py\n"])
@pytest.mark.parametrize("again", [0, 20])
def test_a_block_that_is_opened_once_more_stays_one_block(fence: str, again: int) -> None:
    """Also in the middle of a line; without a word, only where what was said before follows."""
    begin, end = (TEXT.index(words) for words in ("    return", "```\n\nThat"))
    for at in range(begin, end):
        is_line = TEXT[at - 1] == "\n"
        if again or (is_line and "py" in fence):
            assert join(TEXT[:at], fence + TEXT[at - again :]) == TEXT
    assert join("```python\nx", fence + "y = 1") == f"```python\nx\n{fence.strip()}\ny = 1".replace(
        "\n```python\n" if "python" in fence else "\n```py\n", "\n"
    )


@given(texts, texts)
def test_nothing_but_a_repetition_is_left_out(first: str, second: str) -> None:
    """The first part stays whole; of the second goes what the first ends with, or a fence."""
    cut, both = continuation.cut_size(first, second), join(first, second)
    assert both.startswith(first)
    assert both.endswith(second[cut:])
    assert len(both) - len(first) - len(second[cut:]) in {0, 1}
    left_out = second[:cut]
    lines = left_out.lstrip("\n").split("\n", 1)
    without_fence = lines[1] if len(lines) > 1 else ""
    is_fence = lines[0].lstrip().startswith(("```", "~~~"))
    if continuation.restart(first, second) == "nothing new":
        assert first.lstrip().startswith(second.strip())
        return
    assert first.endswith(left_out) or (is_fence and first.endswith(without_fence))


@given(texts, texts)
def test_a_part_is_shown_in_the_block_that_it_goes_on_in(first: str, second: str) -> None:
    """But not one that opens it once more, nor where a reply is shown as it stands."""
    line = continuation.block_opening(first, second, "markdown")
    assert continuation.block_opening(first, second, "text") is None
    assert line is None or line in first


def test_the_block_is_that_which_is_open() -> None:
    """With its language."""
    assert continuation.block_opening("a\n```python\nx", "\ny", "markdown") == "```python"
    assert continuation.block_opening("a\n```python\nx", "```python\nx", "code") is None
    assert continuation.block_opening(TEXT, "more", "markdown") is None


def part(first: Turn, text: str, **facts: Any) -> Turn:
    """Give the turn with the second part of a reply, as it is asked for."""
    turn = replace(first, reply=Reply(text, **facts), owner="c", record=None)
    record = replace(turn.to_record(digest("later")), continues=first.recorded_digest)
    return replace(turn, record=record)


def test_the_turn_with_both_parts() -> None:
    """The end is the second's, the figures are summed, and the record is that of the question."""
    first = Turn(
        prompt="p",
        reply=Reply("a", usage=Usage(1, 2, 3), took=4, model="m", finish_reason="length"),
        owner="a",
        carried=Carried.from_turns([(7, digest("above"))]),
        asker="cell [1]",
    )
    first = replace(first, record=first.to_record(digest("first")))
    turn = continuation.joined_turn(first, part(first, "b", usage=Usage(10, None, 30), took=5))
    assert turn.reply == Reply("ab", usage=Usage(11, None, 33), took=9, model="m")
    assert (turn.owner, tuple(turn.carried)) == ("c", (7,))
    assert turn.record is not None
    assert turn.record.continues == first.digest
    assert (turn.record.request, turn.record.carried) == (digest("first"), (digest("above"),))
    assert (turn.record.reply, turn.record.turn) == (digest("ab"), turn.digest)
    unknown = continuation.joined_turn(first, part(first, "b"))
    assert (unknown.reply.usage, unknown.reply.took) == (None, None)


@pytest.mark.parametrize(
    ("reply", "is_incomplete"),
    [
        (Reply("a"), False),
        (Reply("a", finish_reason="stop"), False),
        (Reply("a", finish_reason="length"), True),
        (Reply("a", state="interrupted"), True),
        (Reply("a", state="cut off"), True),
    ],
)
def test_which_replies_may_be_continued(reply: Reply, *, is_incomplete: bool) -> None:
    """Those that ended early, and those that their limit ended."""
    assert continuation.is_incomplete(reply) is is_incomplete


def test_the_turn_stands_where_the_first_part_stood() -> None:
    """Rule 22: what carried the first part is stale; an undo brings that back."""
    talk = abc()
    first = talk.turns[1]
    whole = go_on(talk, "r", "1", number=first.number, order="abrc")
    assert whole.reply.text == f"{first.reply.text}+"
    assert prompts(talk.stale_turns()) == ["c"]
    assert carries(talk, "r") == ["a", "b"]
    assert talk.replies[whole.number] == (first, whole)
    ask(talk, "a", "a", "2")
    # What its first request carried is another turn now.
    assert prompts(talk.stale_turns()) == ["b", "c"]
    more = go_on(talk, "c2", "1", number=whole.number)
    assert more.carried == (1,)
    for _ in range(3):
        talk.undo()
    assert talk.turns[1] == first
    assert talk.stale_turns() == ()


@pytest.mark.parametrize(
    ("text", "above", "line"),
    [
        ("| a | b |\n|---|--:|\n| x | 1 |\n", "|---|--:|\n", "| x"),
        ("| a | b |\n|---|--:|\n| x | 1 |\n", "|---|--:|\n", "|"),
        ("```python\na = 1\n    b = 2\n    c = 3\n```\n", "    b = 2\n", "    c"),
    ],
)
def test_a_line_before_the_unfinished_one_is_repeated_too(text: str, above: str, line: str) -> None:
    """However few letters both have."""
    at = text.index(above)
    first = text[: at + len(above) + len(line)]
    second = text[at:]
    left_out = continuation.cut_size(first, second)
    assert continuation.joined_text(first, second, left_out) == text


@pytest.mark.parametrize(("second", "left_out"), [("```python", 9), ("```python\ny = 2", 10)])
def test_a_block_that_is_opened_again_is_opened_once(second: str, left_out: int) -> None:
    """The line that opens it is left out with its end, if that has arrived."""
    assert continuation.cut_size("Code:\n```python\nx = 1\n", second) == left_out
