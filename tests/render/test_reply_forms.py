"""A reply as HTML and as text, in each form."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any, Final

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic._json_reply import DEEPEST
from chatmagic.render import markdown
from chatmagic.render.reply_forms import (
    MOST_OPEN,
    MOST_TREE,
    MOST_VALUES,
    OPEN_LEVELS,
    excerpt,
    json_tree,
    live_reply,
    reply_html,
    reply_markdown,
    reply_text,
)

HOSTILE = '<img src=x onerror=alert(1)>\u202e</pre>"\x1b[31m'


def so_far(text: str, format: str, opening: str = "") -> str:
    """Return what is shown of a reply that comes character by character."""
    live = live_reply(format, opening)
    shown: list[str] = []
    for char in text:
        keep, blocks = live.feed(char)
        shown[keep:] = blocks
    assert live.box("mark").endswith("".join([">\n", *shown, "</div>"]))
    return live.box("mark")


@each_case("format", ["markdown", "text", "code", "json"])
@each_case("live", [True, False])
@each_case("text", [HOSTILE, f'["{HOSTILE[:30]}"]', f"```\n{HOSTILE}\n```", ""])
def test_no_form_lets_a_reply_act(format: str, text: str, *, live: bool) -> None:
    """Each escapes what it shows."""
    html = so_far(text, format) if live else reply_html(text, format)
    assert "<img" not in html
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert html.count("<pre") == html.count("</pre>")


def test_markdown_is_markdown_and_text_is_shown_as_it_came() -> None:
    """As without any form; nothing in a text is Markdown."""
    assert reply_html("*a*", "markdown") == markdown.to_html("*a*")
    assert "*a*\n# b" in reply_html("*a*\n# b", "text")
    assert reply_text("*a*", "markdown") == reply_text("*a*", "text") == "*a*"


def test_code_without_a_fence_is_code() -> None:
    """Also where it holds what looks like one; as it comes it is so in a block that goes on."""
    assert "*a* = 1" in reply_html("*a* = 1", "code")
    assert reply_html("```python\nx\n```", "code") == markdown.to_html("```python\nx\n```")
    assert reply_html("~~~\nx", "code") == markdown.to_html("~~~\nx")
    assert reply_html("", "code") == markdown.to_html("")
    assert so_far("``` py\n*x*", "code") == so_far("``` py\n*x*", "markdown")
    assert "<em>" not in so_far("*x*", "code", opening="```python")


def test_json_is_a_tree() -> None:
    """While it comes it is code; where its text is another one, that is there too."""
    whole = '{\n  "a": 1\n}'
    assert "As it came" not in reply_html(whole, "json")
    assert "<summary>1 field</summary>" in reply_html(whole, "json")
    assert "As it came" in reply_html('{"a":1}', "json")
    assert "<summary>" not in so_far('{"a":1', "json")
    assert 'aria-label="Code, json"' in so_far('{"a":1', "json")
    assert reply_text('{"a":1}', "json") == whole


def test_what_is_no_json_is_shown_with_where_it_fails() -> None:
    """As it came, fences and all."""
    html = reply_html('{"a"\n1}', "json")
    assert "<strong>No JSON at line 2, column 1.</strong>" in html
    assert "{&quot;a&quot;\n1}" in html or '{"a"\n1}' in html
    assert "<strong>No JSON.</strong>" in reply_html("[1e999]", "json")
    assert reply_text("```", "json") == "```"


@pytest.mark.parametrize(
    ("format", "text", "markdown"),
    [
        ("markdown", "a *b*", "a *b*"),
        ("text", "*a*", "&#42;a&#42;"),
        ("json", '{"a": 1}', '```json\n{\n  "a": 1\n}\n```'),
        ("code", "*a* = 1", "```\n*a* = 1\n```"),
        ("code", "```py\na\n```", "```py\na\n```"),
    ],
)
def test_each_form_as_markdown(format: str, text: str, markdown: str) -> None:
    """What is no Markdown is fenced, or its signs are escaped."""
    assert reply_markdown(text, format).strip() == markdown


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


AS_TYPED: Final = (
    "__init__, a * b * c, 2**3**4, $x_1$, $a*b*c$",
    'f(*args, **kwargs) *.py and *.txt, "*.py", "*.txt"',
    "count(*), * int *p,*q; \\*no\\* a `b ** c",
    "```python x = a *b* c ```",
    "```python x = a *b* c",
)
"""Prompts with signs that are no marks."""


@each_case(
    ("format", "text", "shown"),
    [
        ("markdown", "# **Two**\n\n- [x] `a`\n  b $x^2$", "Two a b x^2"),
        ("markdown", "[a](http://b.c) ![d](http://e.f)\n```py\n1\n```", "a d 1"),
        ("markdown", "*a* " + "b " * 600, f"a {'b ' * 28}b…"),
        ("text", "**a**\nb", "**a** b"),
        ("prompt", "Why **`np.std`** of\n*it*, not `__init__`?", "Why np.std of it, not __init__?"),
        ("prompt", "**Bold *in* it** ***both*** (*a*) *b*: **c**", "Bold in it both (a) b: c"),
        ("prompt", "`**kwargs` and ``a`b`` **`a*b` c**", "**kwargs and a`b a*b c"),
        *(("prompt", text, text) for text in AS_TYPED),
    ],
)
def test_an_excerpt_is_text_without_signs(format: str, text: str, shown: str) -> None:
    """On one line; what is no Markdown stays as it came."""
    assert excerpt(text, format) == shown


@given(st.text())
def test_any_reply_has_an_excerpt(text: str) -> None:
    """It is one short line."""
    for format in ("markdown", "prompt"):
        assert len(excerpt(text, format).splitlines()) <= 1
        assert len(excerpt(text, format)) <= 60


def test_lists_and_objects_fold() -> None:
    """Each says how much it holds; a name and a text stand as in JSON, in its type's colour."""
    html = json_tree({"a": [1, None, "x", 1.5, True], "b": {}, "c": []})
    assert "<summary>3 fields</summary>" in html
    assert "<summary><strong>&quot;a&quot;</strong>: 5 items</summary>" in html
    for name, value, kind in (
        ("0", "1", "number"),
        ("1", "null", "keyword"),
        ("2", "&quot;x&quot;", "string"),
        ("3", "1.5", "number"),
        ("4", "true", "keyword"),
        ("&quot;b&quot;", "{}", "keyword"),
        ("&quot;c&quot;", "[]", "keyword"),
    ):
        shown = f'<span style="color: var(--cm-{kind});">{value}</span>'
        assert f'padding-inline-start: 1.2em;"><strong>{name}</strong>: {shown}</span>' in html
    assert json_tree("a").endswith("&quot;a&quot;</span></span></div>")


def test_what_is_deep_is_folded_at_first() -> None:
    """And the deepest that is read can be drawn."""
    value: Any = 1
    for _ in range(DEEPEST):
        value = [value]
    html = json_tree(value)
    assert html.count("<details open>") == OPEN_LEVELS
    assert html.count("<details>") == DEEPEST - OPEN_LEVELS


@given(values)
def test_no_value_acts(value: Any) -> None:
    """Whatever a name or a text holds, only these tags are there."""
    read = Tags(json_tree(value))
    assert read.tags <= {"div", "span", "strong", "details", "summary", "ul", "li"}
    assert read.attributes <= {"class", "style", "dir", "open"}


def test_too_much_for_a_page_is_text() -> None:
    """It is all there, and says why."""
    html = json_tree(list(range(MOST_VALUES)))
    assert f"Shown as plain text: it has {MOST_VALUES + 1:,} values." in html
    assert json.dumps(list(range(MOST_VALUES)), indent=2) in html
    long = json.dumps(["x" * MOST_TREE])
    assert f"it has {len(long):,} characters" in reply_html(long, "json")


def test_a_long_list_is_folded_at_first() -> None:
    """As are the levels far inside."""
    many, few = json_tree([0] * (MOST_OPEN + 1)), json_tree([0] * MOST_OPEN)
    assert (many.count("<details open>"), few.count("<details open>")) == (0, 1)
