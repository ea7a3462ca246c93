"""Any reply as our Markdown: to readers that allow HTML it is as harmless as our HTML is."""

from __future__ import annotations

import json
import os
import re
import subprocess
from html.parser import HTMLParser
from importlib.util import find_spec
from typing import Any, Final

import pytest
from cases import each_case
from hostile import CORPUS
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chatmagic.render import markdown
from chatmagic.render.safe_markdown import to_markdown

HTML: Final = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TAGS: Final = set(
    """a blockquote br code em h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr
    ul""".split()  # noqa: SIM905 - a word a line would be a page
)
WORDS: Final = r"""* ** _ ~~ ` `` ``` $ $$ \( \) \[ \] [ ] ( ) ]( ![ { } {=html} {{< >}} < > <b>
    <!-- --> \ \\
    &lt; &#36; | |-| # #### - + 1. 2) > : :: ::: --- === % ^ @ ! [^1] [a] [a]: www.a.b m@n.o x_1 é
    http://a.b/c_d <http://x.y> ](http://a.b/c_d) javascript:x \href{x}{y} \frac{a}{b} \begin{align}
    \end{align} \end{verbatim} <script> <img/src=x> ```{=html} ```mermaid " '"""
SIGNS: Final = [
    *WORDS.split(),
    *["\n", "\n\n", "\n[^1]: ", "\n|-|\n", "\n    ", "\t", " ", " ", "- [x] ", "a", "1", "\n- "],
]
REPLIES: Final = st.lists(st.sampled_from(SIGNS), max_size=40).map("".join)
HOSTILE: Final = [kind.armed(1, "http://127.0.0.1:9") for kind in CORPUS]
NEW: Final = {"RawInline", "RawBlock", "Image", "Cite", "Note", "Span", "Div", "Figure"}
"""What pandoc makes of what no reply of ours has."""


class Page(HTMLParser):
    """Its tags, its attributes but those of a list or a table, and its links."""

    def __init__(self, html: str) -> None:
        """Read ``html``."""
        super().__init__()
        self.tags: set[str] = set()
        self.links: set[str | None] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags |= {tag, *(name for name, _ in attrs)} - {"href", "class", "start", "style"}
        self.links |= {value for name, value in attrs if name == "href"}

    def handle_comment(self, data: str) -> None:
        """Note a comment."""
        self.tags.add(data)


def check(reply: str) -> None:
    """Check that a page that takes HTML shows nothing of a reply that ours does not show."""
    page = Page(HTML.render(to_markdown(reply)))
    assert page.tags <= TAGS
    assert page.links <= Page(markdown.to_html(reply)).links


@each_case("reply", HOSTILE)
def test_no_hostile_reply_acts(reply: str) -> None:
    """No tag, no attribute, no picture and no other link comes of it."""
    check(reply)


@given(REPLIES | st.text(st.characters(exclude_categories=())))
def test_no_reply_acts(reply: str) -> None:
    """Whatever it is made of."""
    check(reply)


def test_pandoc_reads_nothing_into_a_reply() -> None:
    """No raw LaTeX or HTML, no picture, no citation, and no link but ours."""
    if find_spec("pypandoc") is None:
        assert not os.environ.get("CI"), "pypandoc-binary is not installed"
        pytest.skip("pypandoc-binary is not installed")
    import pypandoc  # noqa: PLC0415 - of the extra test-all

    replies: list[str] = [reply for reply in HOSTILE if len(reply) < 1_500]

    @given(REPLIES)
    def add(reply: str) -> None:
        replies.append(reply)

    add()
    source = "\n\n".join(f"REPLY{number}\n\n{to_markdown(r)}" for number, r in enumerate(replies))
    command = [pypandoc.get_pandoc_path(), "-t", "json", "-f"]
    done = subprocess.run(
        [*command, "markdown+tex_math_double_backslash+autolink_bare_uris"],
        input=source.encode(),
        capture_output=True,
        check=True,
    )
    read = json.loads(done.stdout)
    assert not read["meta"]
    nodes = list(parts(read["blocks"]))
    assert NEW.isdisjoint(node["t"] for node in nodes)
    links = {node["c"][2][0] for node in nodes if node["t"] == "Link"}
    assert links <= {link for reply in replies for link in Page(markdown.to_html(reply)).links}
    marks = [node["c"] for node in nodes if node["t"] == "Str" and mark(node["c"])]
    assert marks == [f"REPLY{number}" for number in range(len(replies))]


def mark(text: str) -> bool:
    """Tell whether a text is what stands before a reply."""
    return re.fullmatch(r"REPLY\d+", text) is not None


def parts(value: Any) -> Any:
    """Give each part of a document as pandoc read it."""
    if isinstance(value, dict):
        if "t" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from parts(item)
