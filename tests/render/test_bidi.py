"""In which direction the parts of a reply are read."""

from __future__ import annotations

import pytest

from chatmagic.render.markdown import to_html

HEBREW, ARABIC = "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627"
TURNED_LIST = 'style="padding-left: 0; padding-right: 2em;"'


@pytest.mark.parametrize("word", [HEBREW, ARABIC])
@pytest.mark.parametrize("start", ["", "1. ", "# ", "> ", "12 **", "`code` ", "$x$ ", "- - "])
def test_a_reply_reads_from_the_right_by_its_first_word(word: str, start: str) -> None:
    """Marks, figures, code and formulas before it say nothing."""
    root = to_html(start + word).partition(">")[0]
    assert 'dir="rtl"' in root
    assert to_html(f"{start}word, then {word}").count('dir="rtl"') == 0


def test_each_part_has_its_own_direction() -> None:
    """A paragraph, a heading or a point that differs from what it stands in says so."""
    html = to_html(f"{ARABIC}\n\nEnglish\n\n# Title\n\n- {ARABIC}\n- point\n\n> quoted")
    for part in (
        f'\n<p style="text-align: right;">{ARABIC}</p>',
        '<p dir="ltr">English</p>',
        'font-weight: 600;" dir="ltr">Title</h4>',
        f"<ul {TURNED_LIST}>\n<li>{ARABIC}</li>",
        '<li><span dir="ltr">point</span></li>',
        '<blockquote dir="ltr">\n<p>quoted</p>',
    ):
        assert part in html
    html = to_html(f"English\n\n{HEBREW}\n\n- {HEBREW}\n  1. one\n\n> {HEBREW}")
    assert html.startswith("<div") and 'dir="auto"' in html.partition(">")[0]  # noqa: PT018 - one start
    for part in (
        f'<p dir="rtl" style="text-align: right;">{HEBREW}</p>',
        f'<ul dir="rtl" {TURNED_LIST}>',
        '<ol dir="ltr">\n<li>one',
        '<blockquote dir="rtl" style="border-left: none; border-right: 5px solid',
    ):
        assert part in html, (part, html)


def test_a_table_starts_on_its_own_side() -> None:
    """Cells stand by the side where the table begins, if they do not say another."""
    html = to_html(
        f"words\n\n| {HEBREW} | b |\n|---|:---|\n| 1 | c |\n\n| x |\n|---|\n| {HEBREW} |"
    )
    assert (
        'class="chatmagic-scroll" style="overflow-x: auto; margin-bottom: 1em;" dir="rtl"' in html
    )
    assert f'<th style="text-align: right;">{HEBREW}</th>' in html
    assert '<th dir="ltr" style="text-align: left;">b</th>' in html
    assert '<td style="text-align: right;">1</td>' in html
    assert f'<td dir="rtl" style="text-align: left;">{HEBREW}</td>' in html


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
