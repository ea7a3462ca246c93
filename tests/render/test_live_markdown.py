"""A reply under way, block by block: the same as the whole, rendered once, whatever comes how."""

from __future__ import annotations

import re
from unittest.mock import Mock

import pytest
from cases import each_case
from hypothesis import example, given
from hypothesis import strategies as st

from chatmagic.render import markdown, markdown_parser
from chatmagic.render.live_markdown import LONGEST, LiveMarkdown, LiveText

_MARKS = r"* ** _ ~~ ` `` ``` ~~~ $ $$ \( \) \[ \] [ ] ( ) ]( ![ < > <b> \ &lt; | # - + 1. 2) >"
SIGNS = [
    *_MARKS.split(),
    *["\n", "\n\n", "\n\n", "\n \n", "\r\n", "\r", " ", "    ", "\t", "a", "b c d", "[^1]"],
    *["- a\n\n", "  b", "1. ", "2. ", "> q\n", "```\n", "| a | b |\n", "|---|---|\n", "# H\n"],
    *["---\n", "$$\nx\n$$\n\n", "\\[x\\]\n", "- [x] ", "\u05d0", "\u202e", "\ud83d\ude00"],
    "word " * 9,
]
HEBREW = "\u05d0\u05d1\u05d2"


def show(pieces: list[str], opening: str = "") -> list[str]:
    """Return the blocks that are shown, as a page puts them together."""
    live = LiveMarkdown(opening)
    shown: list[str] = []
    for piece in pieces:
        keep, blocks = live.feed(piece)
        assert 0 <= keep <= len(shown)
        shown[keep:] = blocks
        assert shown == live.blocks
    return shown


def whole(text: str) -> str:
    """Return what a page shows of a whole reply within its box, without colours."""
    html = markdown.to_html(text, live=True)
    return html.partition(">\n")[2].removesuffix("</div>")


def cut(text: str, sizes: list[int]) -> list[str]:
    """Return a text in pieces of these sizes, in turn."""
    pieces = []
    while text:
        sizes = [*sizes[1:], sizes[0]]
        pieces.append(text[: sizes[0]])
        text = text[sizes[0] :]
    return pieces


@given(
    st.lists(st.sampled_from(SIGNS), max_size=60).map("".join),
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
)
@example("1. a\n\n2. b", [1])
@example("- a\n\n  b\n\n- c", [1])
@example("    a\n\n    b", [3])
@example("a\n$$\n- b\n$$\n\nc", [2])
@example("- a\n\nlonger than any mark of a list is\n\n* * *\n\nb", [1])
def test_the_blocks_are_those_of_the_whole(text: str, sizes: list[int]) -> None:
    """Whatever a reply is made of, and wherever it is cut."""
    assert "".join(show(cut(text, sizes))) == whole(re.sub("[\r\ud83d]\\Z", "", text))


@given(st.text(st.characters(exclude_categories=())), st.integers(1, 9))
def test_any_text_is_shown(text: str, size: int) -> None:
    """No piece raises, and each block is one element."""
    for block in show(cut(text, [size])):
        assert re.fullmatch(r"<(\w+)\b.*(</\1>|<hr>)\n|<hr>\n", block, re.DOTALL)


@pytest.mark.parametrize(
    "text",
    [
        "a\n\n# b\n\nc **d**\n\n- e\n- f\n\n1. g\n\n   h\n\n```python\ni = 1\n```\n\n> j\n\nk\n",
        "# a\n\n### b\n\n## c\n\n$$\nd\n$$\n\n| e | f |\n|:-:|--:|\n| g | h |\n\n---\n\ni",
        "[a]: http://b.c\n\n[^d]: e\n\n[a] and [^d]\n\n[a] again",
        f"{HEBREW}\n\n- {HEBREW}\n\nlatin\n\n`x`",
    ],
)
def test_what_is_finished_is_sent_once(text: str) -> None:
    """Only the block that is open changes; numbers, levels and names go on behind it."""
    live = LiveMarkdown()
    sent = sum(len("".join(live.feed(char).blocks)) for char in text)
    open_part = max(map(len, live.blocks))
    assert sent <= len(text) * 2 * open_part
    assert live.finished >= 2
    assert "".join(live.blocks) == whole(text)
    assert live.side == ("rtl" if text.startswith(HEBREW) else "auto")


def test_a_definition_that_comes_later_leaves_text() -> None:
    """Until the last state; what stands below it is a link."""
    first, second = show(cut("See [a].\n\n[a]: http://b.c\n\nSee [a].", [5]))
    assert "See [a]." in first
    assert 'href="http://b.c"' in second


@each_case(
    ("opening", "part", "tag"),
    [
        ("", "word **bold** ", "p"),
        ("", "x" * 10, "p"),
        ("", "a line\n", "p"),
        ("```python\n", "value = 1\n", "div"),
        ("```python\n", "word ", "div"),
        (f"```{'x' * 300}\n", "y ", None),
        ("- ", "item of a list\n- ", "ul"),
        ("7. ", "item\n\n1. ", "ol"),
        ("- ", "one item ", None),
        ("> ", "quote\n> ", "blockquote"),
        ("| a | b |\n|---|---|\n", "| c | d |\n", "div"),
        ("", "[a]: http://b.c\n", None),
        ("", "# heading\ntext\n", None),
        ("> " * 25, "deep\n" + "> " * 25, "pre"),
    ],
)
def test_an_endless_block_takes_linear_time(opening: str, part: str, tag: str | None) -> None:
    """It is cut, and goes on as a block of its kind; no message is long, nothing is lost."""
    live = LiveMarkdown()
    live.feed(opening)
    piece = part * (250 // len(part))
    count = 5_000 // len(piece)
    sizes = [sum(len(block) for block in live.feed(piece).blocks) for _ in range(count)]
    assert max(sizes) < 12 * LONGEST
    text = re.sub(r"<[^>]*>", "", "".join(live.blocks))
    word = re.findall(r"[a-z]+", part)[-1]
    if "[a]:" not in part:
        assert text.count(word) >= (piece * count).count(word)
        assert len(live.blocks) > 2
    if tag is not None:
        assert {re.match(r"<(\w+)", block)[1] for block in live.blocks[:-1]} == {tag}  # type: ignore[index] # each begins so


def test_parts_of_code_look_like_one_block() -> None:
    """All but the last have no room below, and the first alone has the language's name."""
    *parts, last, other = show(["```py\n", *["code\n"] * 500, "```\n```py\n1"])
    assert parts
    named = [">py</div>" in part for part in (*parts, last, other)]
    assert named == [True, *[False] * len(parts), True]
    assert all("margin-bottom: 1em" not in part for part in parts)
    assert "margin-bottom: 1em" in last


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{'a ' * 50}\n\n" * 510, "it has more than 50,000 characters"),
        ("- a\n" * 510, markdown.TOO_MANY),
    ],
    ids=["long", "many"],
)
@pytest.mark.parametrize("size", [900, 10**9])
def test_what_a_page_cannot_bear_is_shown_when_it_has_ended(
    monkeypatch: pytest.MonkeyPatch, text: str, why: str, size: int
) -> None:
    """A line says so; and of what comes then nothing is sent. A tenth of each limit does."""
    monkeypatch.setattr(markdown, "MOST_MARKDOWN", 50_000)
    monkeypatch.setattr(markdown, "MOST_BLOCKS", 500)
    live = LiveMarkdown()
    shown: list[str] = []
    for piece in [*cut(text, [size]), *["more\n" * 90] * 100]:
        keep, blocks = live.feed(piece)
        shown[keep:] = blocks
    assert shown[-1] == f"<p><em>The rest is shown when the reply has ended: {why}.</em></p>\n"
    assert shown == live.blocks
    assert "more" not in "".join(shown[:-1])
    assert live.feed("more") == (len(shown), [])


def test_text_is_shown_as_it_came() -> None:
    """In parts that end with their lines, where they can."""
    live = LiveText()
    text = "a *line* <b>\n" * 1_000 + "x" * 5_000
    for piece in cut(text, [7, 500]):
        live.feed(piece)
    parts = [re.sub(r"<pre[^>]*>|</pre>\n", "", block) for block in live.blocks]
    assert "".join(parts).replace("\n", "").count("a *line* &lt;b&gt;") == 1_000
    assert "".join(parts).count("x") == 5_000
    assert max(map(len, parts)) < 2 * LONGEST


def test_a_fault_in_the_reader_costs_no_reply(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What cannot be read is shown as it is; the log says why."""
    caplog.set_level("DEBUG", "chatmagic")
    live = LiveMarkdown()
    live.feed("*a*\n\nb")
    fails = Mock(side_effect=RecursionError("too deep"))
    monkeypatch.setattr(markdown_parser, "set_directions", fails)
    live.feed(" *c*")
    assert "<em>a</em>" in live.blocks[0]
    assert "b *c*</pre>" in live.blocks[1]
    assert "RecursionError" in caplog.text
