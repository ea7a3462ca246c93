"""A JSON value as a tree."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatmagic._json_reply import DEEPEST
from chatmagic.render.json_tree import MOST, OPEN, to_html

leaves = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


class Tags(HTMLParser):
    """The tags and the attributes of HTML."""

    def __init__(self, html: str) -> None:
        """Read it."""
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_lists_and_objects_fold() -> None:
    """Each says how much it holds; a name and a text stand as in JSON."""
    html = to_html({"a": [1, None, "x"], "b": {}, "c": []})
    assert "<summary>3 fields</summary>" in html
    assert "<summary><strong>&quot;a&quot;</strong>: 3 items</summary>" in html
    assert "<strong>1</strong>: null" in html
    assert "<strong>&quot;b&quot;</strong>: {}" in html
    assert "<strong>&quot;c&quot;</strong>: []" in html
    assert to_html("a").endswith('<span dir="auto">&quot;a&quot;</span></div>')


def test_what_is_deep_is_folded_at_first() -> None:
    """And the deepest that is read can be drawn."""
    value: Any = 1
    for _ in range(DEEPEST):
        value = [value]
    html = to_html(value)
    assert html.count("<details open>") == OPEN
    assert html.count("<details>") == DEEPEST - OPEN


@given(values)
def test_no_value_acts(value: Any) -> None:
    """Whatever a name or a text holds, only these tags are there."""
    read = Tags(to_html(value))
    assert read.tags <= {"div", "span", "strong", "details", "summary", "ul", "li"}
    assert read.attributes <= {"class", "style", "dir", "open"}


def test_too_much_for_a_page_is_text() -> None:
    """It is all there, and says why."""
    html = to_html(list(range(MOST)))
    assert f"Shown as text: it has {MOST + 1:,} values." in html
    assert json.dumps(list(range(MOST)), indent=2) in html
