"""The gauge, as words and as HTML."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from cases import each_case

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
        self.seen = self.heard = ""
        self._hidden: list[bool] = []
        self.feed(html)
        self.close()
        assert self._hidden == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of whether the tag is for eyes only."""
        assert tag in {"div", "p", "span", "strong"}
        self._hidden.append(("aria-hidden", "true") in attrs or any(self._hidden))

    def handle_endtag(self, _: str) -> None:
        """Close the innermost tag."""
        self._hidden.pop()

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.seen += data
        self.heard += "" if any(self._hidden) else data


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (None, ""),
        (Usage(1200, 34, 1234), "1,200 tokens sent, 34 received"),
        (Usage(5, 34, 39, 30), "5 tokens sent, 34 received (30 for thoughts)"),
        (Usage(total_tokens=5), "5 tokens"),
        (Usage(completion_tokens=0), "0 tokens received"),
        (Usage(prompt_tokens=7), "7 tokens sent"),
        (Usage(), ""),
    ],
)
def test_tokens_in_words(usage: Usage | None, words: str) -> None:
    """What was told is said; what was not is left out."""
    assert gauge.usage_words(usage) == words


@each_case(
    ("parameters", "model", "words"),
    [
        ({}, None, ""),
        ({"temperature": 1.0}, None, "temperature 1"),
        ({"temperature": 1}, None, "temperature 1"),
        ({"temperature": -0.0}, None, "temperature 0"),
        ({"temperature": 10**17}, None, "temperature 1e+17"),
        ({}, "a\n\x1b" + "b" * 100, f"model a \u241b{'b' * 56}…"),
        (
            {"temperature": 0.2, "max_tokens": 2000},
            "small",
            "temperature 0.2 · at most 2,000 tokens · model small",
        ),
        ({"last": 3, "stream": False, "history": False}, None, ""),
    ],
)
def test_the_settings_of_a_request(
    parameters: dict[str, object], model: str | None, words: str
) -> None:
    """Those that the service has values of its own for, written in one way after any saving."""
    assert gauge.settings_words(parameters, model) == words


def test_the_line_says_credits_tokens_and_settings() -> None:
    """Of its own response; no word of somebody's is a tag, and HTML adds a bar for eyes alone."""
    known, settings = Usage(1, 2, 3), "temperature 0.2 · model <b>"
    for credits, words in (
        (figures(1000, 750), "750 of 1,000 credits left · reset unknown · "),
        (None, ""),
        (Credits(None, None, None, None, NOW, spent=0.5), "spent 0.5 (the gateway's figure) · "),
    ):
        html, line = gauge.line(credits, known, settings)
        assert line == f"{words}1 token sent, 2 received · {settings}"
        assert Page(html).heard.strip() == line
    assert gauge.line(None, None) == ("", "")
    # The time stands where no credits do.
    assert gauge.line(figures(1, 1), None, seconds=2.0)[1].endswith("reset unknown")
    assert (
        gauge.line(None, known, "temperature 0", 3.21)[1]
        == "1 token sent, 2 received · 3.2 s · temperature 0"
    )
    assert Page(gauge.line(None, None, seconds=72.4)[0]).heard.strip() == "1 min 12 s"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, ""), (0, "0.1 s"), (59.4, "59.4 s"), (59.97, "1 min 0 s"), (7_265, "121 min 5 s")],
)
def test_a_time_in_words(seconds: float | None, words: str) -> None:
    """Tenths matter below a minute alone."""
    assert gauge.time_words(seconds) == words


@each_case(
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
    line = Page(gauge.line(credits, None)[0]).seen
    html, large = gauge.large(credits, None)
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
        (0, "0 of 1,000 credits left", "error"),
    ],
)
def test_low_and_empty_are_told_by_words(remaining: int, words: str, colour: str) -> None:
    """Colour only adds to what the words say, and comes from the page's own theme."""
    credits = figures(1000, remaining)
    for text in (
        gauge.line(credits, None)[1],
        gauge.large(credits, None)[1],
        Page(gauge.large(credits, None)[0]).heard,
    ):
        assert words in text
    for html in (gauge.line(credits, None)[0], gauge.large(credits, None)[0]):
        assert f"var(--jp-{colour}-color1, var(--vscode-charts-" in html


@pytest.mark.parametrize("took", [None, 0, 1234])
def test_the_large_gauge_says_what_the_last_turn_cost_and_when(took: int | None) -> None:
    """It is about so much, none, or not said; the bar is for the eyes alone."""
    html, words = gauge.large(figures(10, 5), took)
    page = Page(html)
    assert page.seen == f"▰▰▰▰▰▱▱▱▱▱{page.heard}"
    for text in (words, page.heard):
        assert text.endswith("As of 2026-03-01 12:00:00 UTC.")
        assert ("cost" in text) == (took is not None)
        assert took is None or f"The last turn cost about {took:,} credit" in text


def test_unknown_is_never_zero() -> None:
    """Without a figure the gauge says so, large and small."""
    assert gauge.large(None, 3) == ("", "")
    half = Page(gauge.large(figures(1000, None), None)[0]).heard
    assert "unknown how many of 1,000 credits are left" in half
    assert not re.search(r"\b0\b", half)


def test_the_large_gauge_is_a_named_group() -> None:
    """A screen reader is told what the figures are of."""
    assert 'role="group" aria-label="Credits"' in gauge.large(figures(10, 5), None)[0]


def test_the_plot_has_a_bar_for_each_request() -> None:
    """On a scale, no wider than a finger; unknown is dashed; colours are the gauge's."""
    html = gauge.plot(
        [(4, figures(10, 9)), (0, figures(10, 1)), (None, None), (2, None)], "credits"
    )
    bars = re.findall(r"flex: 1; border-bottom: ([\d.]+)em solid (.*?);", html)
    assert [height for height, _ in bars] == ["4.02", "0.10", "2.06"]
    assert [re.findall("success|warn|^var", colour)[0] for _, colour in bars] == [
        "success",
        "warn",
        "var",
    ]
    assert html.count("1px dashed") == html.count('title="? credits"') == 1
    assert html.count("max-width: 1.2em") == 4
    words = "Credits of each request (the latest 4, oldest first): 4 at most; dashed is not known."
    assert Page(html).heard == f"50{words}"
    assert f'role="img" aria-label="{words}"' in html
    assert 'title="0 credits; credits low: 1 of 10 left"' in html
    assert "0.10em" in gauge.plot([(0, None)], "tokens")
    for most, top in ((0, "1"), (1, "1"), (3, "5"), (12, "20"), (99, "100"), (5_001, "10,000")):
        plot = Page(gauge.plot([(most, None)], "tokens")).heard
        assert (
            plot == f"{top}0Tokens of each request (the latest 1, oldest first): {most:,} at most."
        )
    assert gauge.plot([(None, None)], "tokens") == gauge.plot([], "tokens") == ""


def test_the_progress_of_a_map() -> None:
    """A bar for eyes, and words for all; text is no HTML, and no bar is drawn of the unknown."""
    page = Page(gauge.progress(0.26, "26/100 rows, <b>"))
    assert page.seen == f"{'▰' * 5}{'▱' * 15} 26/100 rows, <b>"
    assert page.heard == " 26/100 rows, <b>"
    assert Page(gauge.progress(None, "26 rows")).seen == "26 rows"
    assert Page(gauge.progress(1.0, "")).seen == f"{'▰' * 20} "
