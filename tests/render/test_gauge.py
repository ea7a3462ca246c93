"""The gauge, as words and as HTML."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from chatmagic.models import Credits, Usage
from chatmagic.render import gauge

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def figures(limit: int | None, remaining: int | None) -> Credits:
    """Give credits as of now, without a reset."""
    used = None if limit is None or remaining is None else max(limit - remaining, 0)
    return Credits(limit, remaining, used, None, NOW)


class Page(HTMLParser):
    """Collects what a reader sees, and what a reader without eyes hears."""

    def __init__(self, html: str) -> None:
        """Read the HTML, in which every tag must be closed."""
        super().__init__()
        self.seen = ""
        self.heard = ""
        self.styles: list[str] = []
        self._hidden: list[bool] = []
        self.feed(html)
        self.close()
        assert self._hidden == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of whether the tag is for eyes only."""
        assert tag in {"div", "p", "span", "strong"}
        found = dict(attrs)
        self._hidden.append(found.get("aria-hidden") == "true" or any(self._hidden))
        self.styles.append(found.get("style") or "")

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost tag."""
        del tag
        self._hidden.pop()

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.seen += data
        if not any(self._hidden):
            self.heard += data


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (None, ""),
        (Usage(1200, 34, 1234), "1,200 + 34 tokens"),
        (Usage(5, 34, 39, 30), "5 + 34 tokens (30 of thought)"),
        (Usage(total_tokens=5), "5 tokens"),
        (Usage(completion_tokens=0), "0 tokens"),
        (Usage(prompt_tokens=7), "7 tokens"),
        (Usage(), ""),
    ],
)
def test_tokens_in_words(usage: Usage | None, words: str) -> None:
    """What was told is said; what was not is left out."""
    assert gauge.usage_words(usage) == words


def test_the_line_says_credits_and_tokens() -> None:
    """Under a reply stand the credits of its own response, and the tokens."""
    assert gauge.line_words(figures(1000, 750), Usage(1, 2, 3)) == (
        "750 of 1,000 credits left · reset unknown · 1 + 2 tokens"
    )
    assert gauge.line_words(None, None) == ""


@pytest.mark.parametrize(
    ("parameters", "model", "words"),
    [
        ({}, None, ""),
        ({"temperature": 0.2}, None, "t 0.2"),
        ({"temperature": 0}, None, "t 0"),
        ({"temperature": 1.0}, None, "t 1"),
        ({"temperature": 1}, None, "t 1"),
        ({"temperature": -0.0}, None, "t 0"),
        ({"temperature": 1e300}, None, "t 1e+300"),
        ({"temperature": 1e17}, None, "t 1e+17"),
        ({"temperature": 10**17}, None, "t 1e+17"),
        ({"max_tokens": 2000}, None, "max 2,000"),
        ({}, "small", "model small"),
        ({}, "a\n\x1b" + "b" * 100, f"model a \u241b{'b' * 56}…"),
        ({"temperature": 2, "max_tokens": 9}, "small", "t 2 · max 9 · model small"),
        ({"last": 3, "stream": False, "history": False}, None, ""),
    ],
)
def test_the_settings_of_a_request(
    parameters: dict[str, object], model: str | None, words: str
) -> None:
    """Those that the service has values of its own for, written in one way after any saving."""
    assert gauge.settings_words(parameters, model) == words


def test_the_line_ends_with_the_settings() -> None:
    """They are words of ours and a name of somebody's, so nothing of them is a tag."""
    line = gauge.line_words(None, Usage(1, 2, 3), "t 0.2 · model <b>")
    assert line == "1 + 2 tokens · t 0.2 · model <b>"
    html = gauge.line_html(None, Usage(1, 2, 3), "t 0.2 · model <b>")
    assert Page(html).seen == line


@pytest.mark.parametrize("remaining", [None, 0, 1, 150, 1000])
def test_the_line_as_html_says_the_same(remaining: int | None) -> None:
    """HTML adds a bar for the eyes alone; its words are those of the text."""
    credits = figures(1000, remaining)
    assert Page(gauge.line_html(credits, None)).heard.strip() == gauge.line_words(credits, None)
    assert gauge.line_html(None, None) == ""


@pytest.mark.parametrize(
    ("limit", "remaining", "full"),
    [
        (1000, 1000, 10),
        (1000, 500, 5),
        (1000, 1, 1),
        (1000, 0, 0),
        (0, 0, 0),
        (100, 300, 10),
        (None, 5, None),
        (5, None, None),
    ],
)
def test_the_bar_has_a_shape(limit: int | None, remaining: int | None, full: int | None) -> None:
    """The bar is full as far as credits are left, never empty while any is, or it is not there."""
    credits = figures(limit, remaining)
    line = Page(gauge.line_html(credits, None)).seen
    large = gauge.large(credits, None)[1]
    html = gauge.large(credits, None)[0]
    if full is None:
        assert "▰" not in line + large + html
        assert "[" not in large
    else:
        for drawn in (line, html):
            assert (drawn.count("▰"), drawn.count("▱")) == (full, 10 - full)
        assert f"[{'#' * full}{'.' * (10 - full)}] " in large


@pytest.mark.parametrize(
    ("remaining", "words", "colour"),
    [
        (800, "800 of 1,000 credits left", "success"),
        (100, "credits low: 100 of 1,000 left", "warn"),
        (0, "no credits left of 1,000", "error"),
    ],
)
def test_low_and_empty_are_told_by_words(remaining: int, words: str, colour: str) -> None:
    """Colour only adds to what the words say, and comes from the page's own theme."""
    credits = figures(1000, remaining)
    for text in (
        gauge.line_words(credits, None),
        gauge.large(credits, None)[1],
        Page(gauge.large(credits, None)[0]).heard,
    ):
        assert words in text
    for html in (gauge.line_html(credits, None), gauge.large(credits, None)[0]):
        assert f"var(--jp-{colour}-color1, var(--vscode-charts-" in html


@pytest.mark.parametrize("took", [None, 0, 1, 1234])
def test_what_the_last_turn_took(took: int | None) -> None:
    """It is about so much, none, or not said."""
    said = {None: "", 0: "The last turn took about 0.", 1: "about 1.", 1234: "about 1,234."}[took]
    for text in (
        gauge.large(figures(10, 5), took)[1],
        Page(gauge.large(figures(10, 5), took)[0]).heard,
    ):
        assert said in text
        assert ("took" in text) == (took is not None)


def test_unknown_is_never_zero() -> None:
    """Without a figure the gauge says so, large and small."""
    assert gauge.large(None, None)[1].startswith("Credits: unknown.")
    assert "unknown" in Page(gauge.large(None, 3)[0]).heard
    half = Page(gauge.large(figures(1000, None), None)[0]).heard
    assert "unknown how many of 1,000 credits are left" in half
    assert not re.search(r"\b0\b", half)


def test_the_large_gauge_is_a_named_group() -> None:
    """A screen reader is told what the figures are of; the bar is for the eyes alone."""
    for credits in (None, figures(10, 5)):
        assert 'role="group" aria-label="Credits"' in gauge.large(credits, None)[0]
    page = Page(gauge.large(figures(10, 5), None)[0])
    assert page.seen == f"▰▰▰▰▰▱▱▱▱▱{page.heard}"
