"""What a reply's Markdown means, and how much of it a page is shown."""

from __future__ import annotations

import logging
import time

import pytest
from cases import each_case
from test_markdown import checked, page

from chatmagic import Reply
from chatmagic.models import CodeBlock
from chatmagic.render import markdown
from chatmagic.render.markdown import to_html
from chatmagic.render.markdown_parser import code_and_prose


def test_tasks_are_boxes_with_a_word() -> None:
    """For a screen reader, and a number stays a number; nothing else is a task."""
    html = to_html("- [ ] open *it*\n- [x] shut\n  1. [X] shut")
    open_, shut = (
        f'<span role="img" aria-label="{words}" title="{words}">{box}</span>'
        for box, words in (("☐", "not done"), ("☑", "done"))
    )
    item = '<li style="list-style-type: none;">'
    assert f"{item}{open_} open <em>it</em></li>" in html
    assert f"{item}{shut} shut\n<ol>\n<li>{shut} shut</li>" in html
    for text in (
        "- [x]",
        "- [x]shut",
        "- [y] what",
        "[x] no item",
        "- `[x] code`",
        "- **[x] bold**",
    ):
        assert "☑" not in to_html(text)


def test_footnotes_are_superscripts() -> None:
    """Where they are marked and where they are said; what is defined nowhere is text."""
    html = to_html("A fact[^1], [^a-z].\n\n[^1]: https://x.example\n[^n]: More[^1]: *two*")
    assert "<p>A fact<sup>1</sup>, [^a-z].</p>" in html
    assert (
        "<p><sup>1</sup> https://x.example<br>\n<sup>n</sup> More<sup>1</sup>: <em>two</em></p>"
        in html
    )
    assert "<a " not in html
    assert "[^1]: x" in to_html("`[^1]: x`[^1]: x")
    assert "A [^1]" in to_html("A [^1]", live=True)
    assert "A <sup>1</sup>" in to_html("A [^1]\n\n> [^1]:", live=True)
    assert 'href="https://x.example"' in to_html("[a]\n\n[a]: https://x.example")
    assert page("![a[^1]](https://x.example)\n\n[^1]: x").links == ["https://x.example"]


def table(columns: int, rows: int) -> str:
    """Give a table of so many cells in its head and in each row below it."""
    return "\n".join(
        [f"|{' h |' * columns}", f"|{'---|' * columns}", *[f"|{' c |' * columns}"] * rows]
    )


@pytest.mark.unmeasured
@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (table(5, 99), 500),
        (table(5, 100), 0),
        (table(1_000, 10), 0),
        ("\n\n".join([table(1, 249)] * 2), 500),
        ("\n\n".join([table(1, 249)] * 2 + ["words"]), 0),
        (f"> {table(7, 80)}".replace("\n", "\n> "), 0),
    ],
)
def test_a_reply_with_too_many_cells_is_plain_text(
    monkeypatch: pytest.MonkeyPatch, text: str, cells: int, *, live: bool
) -> None:
    """Whole, and it says why; while it streams, its newest part. A tenth of the limit does."""
    monkeypatch.setattr(markdown, "MOST_BLOCKS", 500)
    html = to_html(text, live=live)
    assert html.count("<th ") + html.count("<td ") == cells
    why = "more than 5,000 paragraphs, list items, blocks and table cells"
    assert (f"Shown as plain text: it has {why}" in html) == (not cells)
    if not live:
        assert checked(html).text.count("c") >= text.count("c")


@pytest.mark.unmeasured
def test_rows_that_lack_cells_are_not_read_for_long() -> None:
    """Each of 40 tables would be filled up to 65,000 cells."""
    started = time.thread_time()
    assert "as plain text" in to_html("\n\n".join([table(256, 0) + "\n" + "x\n" * 256] * 40))
    assert time.thread_time() - started < 10


def test_another_librarys_lines_are_not_logged() -> None:
    """Logging at DEBUG shows no rule of Markdown's reader."""
    assert not logging.getLogger("markdown_it").isEnabledFor(logging.DEBUG)


HEBREW, ARABIC = "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627"
TURNED_LIST = 'style="padding-left: 0; padding-right: 2em;"'


@each_case("word", [HEBREW, ARABIC])
@each_case("start", ["", "1. ", "# ", "> ", "12 **", "`code` ", "$x$ ", "- - "])
def test_a_reply_reads_from_the_right_by_its_first_word(word: str, start: str) -> None:
    """Marks, figures, code and formulas before it say nothing."""
    root = to_html(start + word).partition(">")[0]
    assert 'dir="rtl"' in root
    assert to_html(f"{start}word, then {word}").count('dir="rtl"') == 0


def test_each_block_has_its_own_direction() -> None:
    """A paragraph, a heading, a list or a table that differs from the reply says so."""
    html = to_html(f"{ARABIC}\n\nEnglish\n\n# Title\n\n- {ARABIC}\n- point\n\n> quoted")
    for part in (
        f'\n<p style="text-align: right;">{ARABIC}</p>',
        '<p dir="ltr">English</p>',
        'font-weight: 600;" dir="ltr">Title</h4>',
        f"<ul {TURNED_LIST}>\n<li>{ARABIC}</li>\n<li>point</li>",
        '<blockquote dir="ltr">\n<p>quoted</p>',
    ):
        assert part in html
    html = to_html(f"English\n\n{HEBREW}\n\n- {HEBREW}\n\n  two\n\n> {HEBREW}")
    assert html.startswith("<div") and 'dir="auto"' in html.partition(">")[0]  # noqa: PT018 - one start
    for part in (
        f'<p dir="rtl" style="text-align: right;">{HEBREW}</p>',
        f'<ul dir="rtl" {TURNED_LIST}>',
        '<p style="text-align: right;">two</p>',
        '<blockquote dir="rtl" style="border-left: none; border-right: 5px solid',
    ):
        assert part in html, (part, html)


def test_a_table_starts_on_its_own_side() -> None:
    """Cells stand by the side where the table begins, if they do not say another."""
    html = to_html(f"words\n\n| {HEBREW} | b |\n|---|:---|\n| 1 | c |\n\n| x |\n|---|\n| 2 |")
    assert (
        'class="chatmagic-scroll" style="overflow-x: auto; margin-bottom: 1em;" dir="rtl"' in html
    )
    assert f'<th style="text-align: right;">{HEBREW}</th>' in html
    assert '<th style="text-align: left;">b</th>' in html
    assert '<td style="text-align: right;">1</td>' in html
    assert '<td style="text-align: left;">2</td>' in html


def test_code_reads_from_the_left() -> None:
    """Code and the source of a formula do, in whatever they stand."""
    html = to_html(f"{HEBREW} `x = 1` $y$\n\n```python\nx = 1\n```\n\n$$\nz\n$$", live=True)
    for part in (
        '<code dir="ltr">x = 1</code>',
        '<code dir="ltr">$y$</code>',
        'dir="ltr" tabindex="0" role="group" aria-label="Code, python"',
        'dir="ltr" tabindex="0" role="group" aria-label="Formula"',
    ):
        assert part in html, (part, html)
    assert 'dir="ltr" tabindex' in to_html(f"words\n\n    {HEBREW} = 1\n")
    assert "dir" not in to_html("words `x`\n\n    y = 1\n").partition(">")[2]


IN_PARTS = """First:

```python
x = 1

y = "`"
```

- then, in a list:

  ~~~ {Bash} title
  ls
  ~~~

    indented

Last.
"""


def test_a_reply_is_cut_into_its_parts() -> None:
    """In order, without blank ones; what a list indents is not indented any more."""
    assert code_and_prose(IN_PARTS) == [
        "First:",
        CodeBlock('x = 1\n\ny = "`"', "python"),
        "- then, in a list:",
        CodeBlock("ls", "{Bash}"),
        "indented\n\nLast.",
    ]
    assert code_and_prose("") == []
    assert code_and_prose("a\n```py\n\n```\nb") == ["a", "b"]
    assert code_and_prose("a\r\n\r\n    b\r\n") == ["a", CodeBlock("b")]


def test_a_block_that_was_cut_off_is_one() -> None:
    """As far as it came; and a reply has its blocks as a value."""
    reply = Reply("Do\n```py\nprint(1)\npri")
    assert reply.code_blocks == (CodeBlock("print(1)\npri", "py"),)
    assert [str(block) for block in Reply(IN_PARTS).code_blocks][1:] == ["ls"]
    assert Reply("none").code_blocks == ()
