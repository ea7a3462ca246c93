"""A reply shown: nothing in it acts, nothing of it is lost, and it looks as it was meant."""

from __future__ import annotations

import re
import time
from html import escape
from html.parser import HTMLParser
from unittest.mock import Mock
from urllib.parse import urlsplit

import pathological
import pytest
from cases import each_case
from hostile import CORPUS
from hypothesis import given
from hypothesis import strategies as st
from log_records import records_of
from markdown_it import MarkdownIt
from shares import each_time

from chatmagic.render import markdown, reply_forms
from chatmagic.render.markdown import to_html
from chatmagic.render.reply_forms import live_reply
from chatmagic.render.sanitize import LANGUAGE
from chatmagic.safe_text import PROSE

# Written out here, so that a slip in the module's own lists is seen.
TAGS = set(
    """a blockquote br code details div em h4 h5 h6 hr li ol p pre s span strong summary sup table
    tbody td th thead tr ul""".split()  # noqa: SIM905 - a word a line would be a page
)
TURNED = {"dir", "style"}
ATTRIBUTES = {
    "a": {"href", "title", "target", "rel", "referrerpolicy"},
    "div": {"class", "dir", "style", "tabindex", "role", "aria-label", "aria-hidden"},
    "details": {"dir"},
    "ol": {"start", *TURNED},
    "li": {"style"},
    "pre": {"style"},
    "table": TURNED,
    **dict.fromkeys(("code", "p", "ul", "blockquote", "h4", "h5", "h6", "td", "th"), TURNED),
    "span": {"class", "role", "aria-label", "title", *TURNED},
}
REPLY = "chatmagic-reply mathjax_ignore tex2jax_ignore"
CLIP = "overflow-x: auto; overflow-y: hidden; overflow-wrap: break-word;"
UNBROKEN = (
    "background-color: transparent; white-space: pre; overflow-x: visible; overflow-y: visible; "
    "width: max-content; min-width: 100%;"
)
COLOURED = (
    rf"{CLIP}( --cm-[a-z]+: var\(--jp-mirror-editor-[a-z]+-color, color-mix\(in srgb, MIX\)\);)+"
)
COLOURED = COLOURED.replace(
    "MIX",
    r"(var\(--vscode-[A-Za-z-]+, #[0-9a-f]{6}\)|currentColor) [0-9]+%, (currentColor|transparent)",
)
PRE = f'<pre style="{UNBROKEN}">'
CODE = '<code style="background-color: transparent;">'
ROOT = f'<div class="{REPLY}" dir="auto" style="{CLIP}">'
FORMULA = "mathjax_process tex2jax_process"
DIVS = {REPLY, "chatmagic-scroll", "chatmagic-language", "highlight", FORMULA}
VALUES = {
    "target": r"_blank",
    "referrerpolicy": r"no-referrer",
    "rel": r"noopener noreferrer nofollow",
    "dir": r"auto|ltr|rtl",
    "tabindex": r"0",
    "role": r"group|img",
    "aria-hidden": r"true",
    "aria-label": r"Code(, .{1,20})?|Table|Formula|Reply as plain text|done|not done",
    "start": r"\d{1,9}",
    "style": r"margin-bottom: 0;|list-style-type: none;|text-align: (left|center|right);|"
    r"overflow-x: auto; margin-bottom: 1em;|"
    r"overflow-y: auto; max-height: 40em; margin-bottom: 1em;|"
    rf"{re.escape(LANGUAGE)}|"
    r"overflow-x: auto; margin-bottom: 1em; padding: 0.4em 0.8em; border-radius: 3px; "
    r"background-color: var\(--jp-cell-editor-background, var\(--vscode-textCodeBlock-background, "
    r"color-mix\(in srgb, currentColor 7%, transparent\)\)\);|"
    r"color: var\(--cm-(keyword|string|number|comment)\);|"
    rf"{CLIP}|{COLOURED}|{UNBROKEN}|{PROSE}|font-size: 1\.\d+em; font-weight: 600;"
    r"|padding-left: 0; padding-right: 2em;|"
    r"display: block; content-visibility: auto; contain-intrinsic-height: auto 4em;|"
    r"background-color: transparent;"
    r"|border-left: none; border-right: 5px solid var\(--jp-border-color2, #bdbdbd\);",
    "class": "|".join(sorted(DIVS)) + r"|[a-z][a-z0-9]{0,2}",  # the last: Pygments' short ones
}
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
MARKS = r"""` ``` $ $$ \( \) \[ \] [ ] ( ) ! < > * ** _ ~~ # | - + 1. > & ; : / \ = " ' |-|
&#x202e; https://a.b javascript:x x@y.z python script \href \\ <b>"""


class Page(HTMLParser):
    """Reads a fragment and fails at anything that is not allowed, or is not closed."""

    def __init__(self, html: str) -> None:
        """Read ``html``."""
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.links: list[str] = []
        self.formulas: list[str] = []
        self.open: list[tuple[str, str | None]] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check a tag."""
        assert tag in TAGS
        found = dict(attrs)
        assert len(found) == len(attrs)
        assert set(found) <= ATTRIBUTES.get(tag, set())
        for name, value in attrs:
            assert value is not None
            assert name not in VALUES or re.fullmatch(VALUES[name], value), (tag, name, value)
        kind = found.get("class")
        if tag == "div":
            assert kind in DIVS
            assert (kind == REPLY) == (not self.open)
        if tag == "span":
            assert kind not in DIVS - {FORMULA}
        if tag == "a":
            self.check_link(found)
        if tag not in {"br", "hr"}:
            self.open.append((tag, kind))

    def check_link(self, found: dict[str, str | None]) -> None:
        """Check that a link leads where it says, and nowhere but the web or a mailbox."""
        href = found["href"]
        assert href is not None
        assert href == found["title"]
        assert urlsplit(href).scheme in {"http", "https", "mailto"}
        assert urlsplit(href).hostname or urlsplit(href).path.count("@")
        assert {"target", "rel"} <= set(found)
        assert "a" not in {tag for tag, _ in self.open}
        self.links.append(href)

    def handle_endtag(self, tag: str) -> None:
        """Check that tags close in order."""
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.text += data
        if self.open[-1][1] == FORMULA:
            self.formulas.append(data)

    def handle_comment(self, data: str) -> None:
        """Refuse comments."""
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        """Refuse declarations."""
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        """Refuse processing instructions."""
        raise AssertionError(data)


def page(text: str, *, live: bool = False) -> Page:
    """Give the checked page of a reply."""
    return checked(to_html(text, live=live))


def checked(html: str) -> Page:
    """Give the checked page of a reply's HTML."""
    assert html.replace('dir="rtl"', 'dir="auto"', 1).startswith(ROOT.removesuffix('">'))
    assert html.endswith("</div>")
    assert not UNSEEN.search(html)
    return Page(html)


HOSTILE = [kind.armed(1, "http://127.0.0.1:9") for kind in CORPUS]
SHORT = [text for text in HOSTILE if len(text) < 1_500]
ACTING_TEX = r"""\href \url \unicode \char202E \class \cssId \style \require \def\x \gdef\x \let\x
\data \newcommand \renewcommand \newenvironment \DeclareMathOperator \providecommand
\mmlToken \htmlData \htmlStyle \bbox[background:url(//evil.example)] \fcolorbox \texttip
\toggle{x}{y}\endtoggle \\\href""".split()  # noqa: SIM905 - as above


@pytest.mark.unmeasured
@each_case("live", [False, True])
@each_case("text", HOSTILE)
def test_a_hostile_reply_cannot_act(text: str, live: bool) -> None:
    """Every payload gives allowed tags, attributes, values and addresses only."""
    page(text, live=live)


@pytest.mark.unmeasured
@each_case("text", SHORT)
def test_hostile_markdown_stays_harmless_inside_other_markdown(text: str) -> None:
    """A payload in a list, a quote, a table cell, a heading, a link or half a fence is the same."""
    flat = " ".join(text.split())
    shapes = [
        f"- {flat}\n  - {flat}",
        f"> {flat}",
        f"|{flat}|\n|-|\n|{flat}|",
        f"# **{flat}**",
        f"[{flat}](https://a.example)",
        f"```\n{text}",
        f"$$\n{text}\n$$",
        f"\\({flat}\\)",
    ]
    for shape in shapes:
        page(shape)


def test_html_is_shown_as_it_was_written() -> None:
    """Nothing of a payload vanishes: the reader sees what the model said."""
    shown = page("<script>alert(1)</script> <!-- hidden -->").text
    assert shown.strip() == "<script>alert(1)</script> <!-- hidden -->"


@each_case("command", ACTING_TEX)
def test_tex_that_reaches_out_is_shown_as_code(command: str) -> None:
    """TeX with commands that act is not given to the page to typeset."""
    tex = f"{command}{{x}}{{y}}"
    for formula in (f"${tex}$", f"$${tex}$$", rf"\({tex}\)", f"text\n\\[\n{tex}\n\\]"):
        found = page(formula)
        assert found.formulas == []
        assert tex in found.text


@pytest.mark.parametrize(
    "tex",
    [
        r"a \\[2pt] b",
        r"x \newline y",
        r"\hat{y} \Uparrow",
        r"\deg \left( \text{if } \ell \right)",
        r"\dots",
    ],
)
def test_ordinary_tex_is_typeset(tex: str) -> None:
    """Commands that only look like dangerous ones are left alone."""
    assert page(f"${tex}$").formulas == [rf"\({tex}\)"]


@each_case(
    ("text", "formulas"),
    [
        ("$5 and $6", []),
        ("It costs $5, or $ 6, or US$7 and 8$.", []),
        ("a \\$x$ and $y\\$", []),
        ("`$x$` and ``\\(y\\)``", []),
        ("cost $5 `x$`", []),
        ("$$$x$$$ $$ $$ \\( \\) \\[\\]", []),
        ("其中$x$是", [r"\(x\)"]),
        ("\\(not closed and \\[nor this", []),
        ("$x$ equals 5", [r"\(x\)"]),
        ("for $x < y$, $5 more", [r"\(x < y\)"]),
        (r"so \( e^{i\pi} \) is", [r"\(e^{i\pi}\)"]),
        (r"so \[ x \] is, and $$y$$ too", [r"\[x\]", r"\[y\]"]),
        ("text\n$$\na\n- b\n+ \\text{if $c$}\n$$\ntext", ["\\[a\n- b\n+ \\text{if $c$}\\]"]),
        ("> \\[\n> x\n> - y\n> \\]", ["\\[x\n- y\\]"]),
        ("- a\n  $$\n  x\n  $$\n\n  b", ["\\[x\\]"]),
        ("- a\n  $$\n  x\n$$", ["\\[x\\]"]),
        ("- a\n\n  $$\n  x\n- y$$", []),
        ("$$\na\n\nb\n$$", []),
        ("    $$x$$", []),
        ("> $$ a\n> b$$ c", ["\\[a\nb\\]"]),
        ("> $$ a\nb$$", ["\\[a\nb\\]"]),
        ("> $$\n>> x$$\n", ["\\[> x\\]"]),
        ("> $$ a $b\n$ c$$", ["\\[a $b\n$ c\\]"]),
        ("$$x", []),
        ("$$x$$ and more", ["\\[x\\]"]),
    ],
)
def test_formulas_are_found(text: str, formulas: list[str]) -> None:
    """Dollars and brackets around TeX are formulas; money, code and halves are text."""
    assert page(text).formulas == formulas


ALIGN = "\\begin{align}\na &= b \\\\\n- c &= d\n\\end{align}"


@each_case(
    ("text", "formulas", "code"),
    [
        (ALIGN, [ALIGN], []),
        (f"It is\n{ALIGN}\nso", [ALIGN], []),
        (f"It is {ALIGN}, so".replace("- c", "c"), [ALIGN.replace("- c", "c")], []),
        (ALIGN.replace("align", "align*"), [ALIGN.replace("align", "align*")], []),
        (ALIGN.replace("\n-", "\n\n-"), [ALIGN.replace("\n-", "\n\n-")], []),
        ("> " + ALIGN.replace("\n", "\n> "), [ALIGN], []),
        ("- a\n\n  " + ALIGN.replace("\n", "\n  "), [ALIGN], []),
        (ALIGN.replace("a &", "a \\label{eq} &"), [ALIGN.replace("a &", "a  &")], []),
        (ALIGN.replace("align", "prooftree"), [], [ALIGN.replace("align", "prooftree")]),
        ("a \\begin{x} \\{ \\\\ \\end{x} b", [], ["\\begin{x} \\{ \\\\ \\end{x}"]),
        ("Use \\begin{align} and \\end{align}.", [], []),
        ("\\begin{a}\n\\end{b}", [], []),
        ("\\begin{}\\end{a}", [], []),
        (
            "\\begin{a}" * 11 + "x_1" + "\\end{a}" * 10,
            [],
            ["\\begin{a}" * 10 + "x_1" + "\\end{a}" * 10],
        ),
        ("- \\begin{a}\nx_1\n\\end{a}", [], ["\\begin{a}\nx_1\n\\end{a}"]),
        ("\\begin{a}\n```\nx\n```\n\\end{a}", [], ["x\n"]),
    ],
)
def test_an_environment_needs_no_delimiters(
    text: str, formulas: list[str], code: list[str]
) -> None:
    """A bare one is a displayed formula; another is shown as typed, with all its backslashes."""
    shown = page(text)
    assert shown.formulas == [f"\\[{tex}\\]" for tex in formulas]
    marked = re.findall("<code[^>]*>(.*?)</code>", to_html(text), re.DOTALL)
    assert marked == [escape(part, quote=False) for part in code]


def test_formulas_stand_where_the_page_typesets_them() -> None:
    """Inline ones are spans, blocks are divs, and TeX is escaped."""
    assert f'<p><span class="{FORMULA}">\\(a&lt;b\\)</span></p>' in to_html("$a<b$")
    assert f'\n<div class="{FORMULA}">\\[a&lt;b\\]</div>\n' in to_html("$$\na<b\n$$")


def test_characters_that_act_are_shown_among_markdown() -> None:
    """They take a sign of their own and disturb nothing around them."""
    assert "<strong>\u2400\ufffd\u241b</strong>" in to_html("**\x00\ud800\x1b**")


def test_a_live_reply_shows_formulas_as_their_source() -> None:
    """While it streams nothing is typeset or coloured."""
    html = to_html("$a_1 b_1$\n\n$$\nx\n$$\n\n```python\nimport os\n```", live=True)
    assert "<code>$a_1 b_1$</code>" in html
    assert f"{PRE}<code>$$\nx\n$$</code></pre>" in html
    assert f'<div class="highlight">{PRE}{CODE}import os\n</code></pre></div>' in html
    assert "mathjax_process" not in html
    assert "<span" not in html


def test_a_page_is_not_frozen_by_formulas() -> None:
    """Past the first 1,000 or so they are shown as code, however short they are."""
    found = page("$x$ " * 1_000)
    assert len(found.formulas) == 909
    assert found.text.strip().endswith("\\) " + "$x$ " * 90 + "$x$")
    assert len(page(("$" + "x + " * 1000 + "x$ ") * 3).formulas) == 2


@pytest.mark.parametrize(
    ("tex", "typeset"),
    [
        (r"\frac{1}{" * 30 + "x" + "}" * 30, True),
        (r"\frac{1}{" * 31 + "x" + "}" * 31, False),
        (r"\left(" * 31 + "x" + r"\right)" * 31, False),
        (r"\begin{matrix}" * 31 + "x" + r"\end{matrix}" * 31, False),
        (r"\rule{1em}{99em}", True),
        (r"\rule{1em}{999em}", False),
    ],
)
def test_a_page_is_not_broken_by_a_formula(tex: str, typeset: bool) -> None:
    """One that is deep enough to crash a tab, or as long as a book, is shown as code."""
    found = page(f"${tex}y$")
    assert bool(found.formulas) == typeset
    assert found.text.count(tex) == 1


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# a\n## b\n### c\n#### d\n###### e\n\nf\n===\n", "h4a h5b h6c h6d h6e"),
        ("### a\n# b\n#### c\n### d\n##### e\n## f\n", "h4a h4b h5c h5d h6e h5f"),
    ],
)
def test_headings_start_at_level_four_and_leave_none_out(text: str, headings: str) -> None:
    """A reply's title is not the page's own; who reads by headings goes down one at a time."""
    found = re.findall(r"<(h\d) [^>]*>(\w)</\1>", to_html(text))
    assert " ".join(map("".join, found)) == headings


def test_lists_quotes_and_emphasis_look_as_meant() -> None:
    """The ordinary shapes of Markdown are there."""
    html = to_html("3. **a**\n4. *b*\n\n- c\n\n> ~~d~~\n\n---\ne  \nf")
    for part in (
        '<ol start="3">\n<li><strong>a</strong></li>\n<li><em>b</em></li>\n</ol>',
        "<ul>\n<li>c</li>\n</ul>",
        "<blockquote>\n<p><s>d</s></p>\n</blockquote>",
        "<hr>",
        "e<br>\nf",
    ):
        assert part in html


def test_a_table_is_aligned_and_can_be_scrolled() -> None:
    """A table stands in a box that takes focus; its columns keep their sides."""
    html = to_html("| a | b | c |\n|---|--:|:-:|\n| 1 | 2 | 3 |")
    assert '<div class="chatmagic-scroll" style="overflow-x: auto; margin-bottom: 1em;"' in html
    assert 'tabindex="0" role="group" aria-label="Table"><table style="margin-bottom: 0;">' in html
    assert '<th style="text-align: left;">a</th>\n<th style="text-align: right;">b</th>' in html
    assert '<td style="text-align: left;">1</td>\n<td style="text-align: right;">2</td>' in html
    assert "</table></div>" in html


def test_code_is_coloured_by_classes_that_the_page_knows() -> None:
    """Pygments' short classes, and colours for others; the box says the language."""
    code = "\n\nimport os  # <b>\n!pip\nx = 'a' + 1\n"
    html = to_html(f"```Python title=x\n{code}```")
    name = f'<div class="chatmagic-language" aria-hidden="true" style="{LANGUAGE}">Python</div>'
    assert f'aria-label="Code, Python">{name}<div class="highlight">{PRE}{CODE}' in html
    for kind, colour, text in (
        ("kn", "keyword", "import"),
        ("c1", "comment", "# &lt;b&gt;"),
        ("s1", "string", "'a'"),
        ("mi", "number", "1"),
    ):
        assert f'<span class="{kind}" style="color: var(--cm-{colour});">{text}</span>' in html
        assert html.count(f" --cm-{colour}: var(--jp-mirror-editor-{colour}-color, ") == 1
    assert '<span class="o">+</span>' in html
    assert 'class="err"' not in html
    assert Page(html).text.strip("\n") == f"Python{code}".strip("\n")
    assert f"{CODE}{code[:2]}" in html


@pytest.mark.parametrize(
    "block",
    [
        "```\nimport os\n```",
        "```mermaid\nimport os\n```",
        "    import os",
        "```python\nimport os\n" + "x" * 500 + "\n```",
        "```python\nimport os" + "\n" * 200 + "```",
        "```python\n" + "import os\n" * 1001 + "```",
    ],
)
def test_code_without_colours_is_still_code(block: str) -> None:
    """Unknown languages, and code that takes long to colour, are shown plain."""
    html = to_html(block)
    assert "<span" not in html
    assert f'<div class="highlight">{PRE}{CODE}' in html
    assert "import os\n" in html


def test_a_link_opens_elsewhere_and_shows_its_address() -> None:
    """A link has its address in the title and gives nothing away to where it leads."""
    assert (
        '<a href="https://docs.python.org/3/?a=1&amp;b=2" '
        'title="https://docs.python.org/3/?a=1&amp;b=2" referrerpolicy="no-referrer" '
        'target="_blank" rel="noopener noreferrer nofollow">the docs (docs.python.org)</a>'
    ) in to_html('[the docs](https://docs.python.org/3/?a=1&b=2 "ignored")')


@each_case(
    ("text", "shown"),
    [
        ("[python.org](https://www.python.org/x)", "python.org"),
        ("<https://python.org>", "https://python.org"),
        ("<me@python.org>", "me@python.org"),
        ("[the docs](https://evil.example)", "the docs (evil.example)"),
        ("[python.org](https://evil.example)", "python.org (evil.example)"),
        ("[**python**.org](https://evil.example)", "python.org (evil.example)"),
        ("<https://python.org@evil.example>", "https://python.org@evil.example (evil.example)"),
        ("[me@python.org](mailto:you@evil.example)", "me@python.org (you@evil.example)"),
        ("[`python.org`](https://evil.example)", "python.org (evil.example)"),
        ("[$a.b$](https://evil.example)", "\\(a.b\\) (evil.example)"),
        ("[guide](docs/guide.md)", "guide (docs/guide.md)"),
        ("![a *plot*](https://a.example/p.png)", "image: a plot (a.example)"),
        ("![](https://a.example/p.png)", "image: https://a.example/p.png"),
        ("![python.org](https://evil.example)", "image: python.org (evil.example)"),
        ("![plot](plot.png)", "image: plot (plot.png)"),
        ("![](plot.png)", "image: plot.png"),
        ("[![a](https://a.example/p)](https://b.example)", "image: a (b.example)"),
        ("[![a](https://a.example/p)](x.md)", "image: a (x.md)"),
    ],
)
def test_a_link_says_where_it_leads(text: str, shown: str) -> None:
    """The true place stands beside a text that is another; images say that they are."""
    assert page(text).text.strip() == shown


def test_an_image_is_a_link_and_is_not_fetched() -> None:
    """Nothing but a link is left of an image."""
    assert page("![x](https://evil.example/pixel.png)").links == ["https://evil.example/pixel.png"]
    assert page("[![x](https://a.example)](https://b.example)").links == ["https://b.example"]
    assert page("[x <https://a.example>](https://b.example)").links == ["https://b.example"]


@each_case(
    ("text", "part"),
    [
        ("```python\nx = 1", f"{PRE}{CODE}x = 1</code></pre>"),
        ("```pyth", f'<div class="highlight">{PRE}{CODE}</code></pre></div>'),
        ("| a | b |\n|--", "<p>| a | b |\n|--</p>"),
        ("| a | b |\n|---|---|\n| 1", '>1</td>\n<td style="text-align: left;"></td>'),
        ("see [the docs](https://docs.py", "<p>see [the docs](https://docs.py</p>"),
        ("**bol", "<p>**bol</p>"),
        ("Some text\n-", "<p>Some text\n-</p>"),
        ("", f"{ROOT}\n</div>"),
    ],
)
def test_half_a_reply_is_shown_as_far_as_it_goes(text: str, part: str) -> None:
    """What is not finished stands there as text and changes nothing around it."""
    assert part in to_html(text, live=True)


@pytest.mark.unmeasured
@pytest.mark.parametrize("step", [11, pytest.param(5, marks=pytest.mark.release)])
def test_every_prefix_of_a_reply_is_safe(step: int) -> None:
    """A reply that streams is never less safe on the way: each block of it, as it comes."""
    for text in SHORT:
        live = live_reply("markdown")
        for at in range(0, len(text), step):
            checked(f"{ROOT}\n{''.join(live.feed(text[at : at + step]).blocks)}</div>")
        checked(live.box("").replace(f"{REPLY} ", REPLY))


SIGNS = st.sampled_from([*MARKS.split(), "\n", "\n\n", " ", "    ", "\t", "\r", "\x1b", "\ud800"])


@given(
    st.text(st.characters(exclude_categories=())) | st.lists(SIGNS, max_size=60).map("".join),
    st.booleans(),
)
def test_any_text_is_shown(text: str, live: bool) -> None:
    """No text raises, acts, or gives two different pages; nor does one of Markdown's own signs."""
    page(text, live=live)
    assert to_html(text, live=live) == to_html(text, live=live)


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "part",
    each_time([
        ">", "[", "*", "![", "_a ", "`a", "<", "&", "\\", "|", "- ", "1. ", "~~", "$", "$a",
        "$$x\n", "\\(", "\\[x\n", "$$\n- a\n", "[a](", "[![", "a\n> ", "[a]: x\n", "[x](http://a.b)",
        "```csharp\na\n\n", "```c\n\n\n\n", "&#x202e;", "| a |\n|---|\n",
    ], 4),
)  # fmt: skip
def test_twenty_thousand_characters_take_no_more_than_a_moment(part: str) -> None:
    """Neither depth nor length blows the stack or the clock (this machine may be busy)."""
    text = part * (20_000 // len(part))
    started = time.thread_time()
    page(text)
    assert time.thread_time() - started < 3


@pytest.mark.parametrize(
    "text", [">" * 30 + " deep", "".join("  " * i + "- x\n" for i in range(12))]
)
def test_what_lies_too_deep_is_shown_plain(text: str) -> None:
    """Nothing is left out: past the reader's depth the whole reply is plain text."""
    found = page(text)
    assert text in found.text
    assert "Shown as plain text: its lists or quotations are nested too deeply" in to_html(text)


@pytest.mark.unmeasured
@pytest.mark.parametrize("live", [True, False])
def test_a_page_is_not_frozen_by_length(*, live: bool) -> None:
    """From half a million characters on a reply is plain text, and says so."""
    words = "**<b>** and more ".ljust(500, ".")
    text = words * 1_000
    assert "<strong>&lt;b&gt;</strong>" in to_html(text[:-1], live=live)
    html = to_html(text, live=live)
    assert "Shown as plain text: it has 500,000 characters.</em>" in html
    assert checked(html).text.count(words) == 1_000
    assert f'<pre style="{PROSE}">' in html
    assert "<strong>" not in html


@pytest.mark.unmeasured
@pytest.mark.parametrize("block", ["- a\n", "# a\n", "a\n\n", "```\na\n```\n", "***\n", "> a\n\n"])
def test_a_page_is_not_frozen_by_many_small_blocks(block: str) -> None:
    """Many thousand points or code blocks are plain text, whole, long before a reply is long."""
    assert "as plain text" not in to_html(block * 500)
    text = block * 5_100
    html = to_html(text)
    what = "5,000 paragraphs, list items, blocks and table cells"
    assert f"Shown as plain text: it has more than {what}." in html
    assert checked(html).text.count("a") >= text.count("a")


PIECE = re.compile(r'<span style="display: block; [^"]*">([^<]*)</span>')
WORD, MARK = "\u05e9\u05dc\u05d5\u05dd ", "\u0301"


@each_case("shape", ["{}", "**{}**", "`{}`", "```\n{}\n```", r"\(\foo {}\)", "> # {}"])
@each_case(("part", "longest"), [(WORD, 1_000), (MARK, 200), (f"a{MARK}", 1_000)])
def test_a_long_line_is_cut_where_a_page_would_be_busy(shape: str, part: str, longest: int) -> None:
    """Chromium takes four minutes for 500,000 marks in one line; nothing of the text is lost."""
    text = part * (4_500 // len(part))
    for count in (1, 5):
        html = to_html("\n\n".join([shape.format(text)] * count))
        pieces = PIECE.findall(html)
        assert checked(html).text.count(text.strip()) == count
        assert bool(pieces) is (count == 5)
        assert max(map(len, pieces), default=0) <= longest
        assert max(map(len, re.split(r"<[^>]*>|\n", html))) <= longest or count == 1


@pytest.mark.parametrize("format", ["text", "json", "markdown"])
def test_a_long_line_of_plain_text_is_cut(format: str) -> None:
    """In a box that is laid out once."""
    text = f'["{WORD * 120_000}"]'
    html = reply_forms.reply_html(text, format)
    assert "".join(PIECE.findall(html)) == escape(text, quote=False)
    assert "max-height: 40em" in html


def test_letters_alone_are_never_cut() -> None:
    """However long a line of them is, a page is quick; and a short text is no work."""
    assert not PIECE.search(to_html("word " * 90_000))
    assert not PIECE.search(to_html(WORD * 3_900))


def test_many_pieces_within_lines_make_it_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page takes a minute for 100,000 of them in one paragraph; a tenth of the limit does."""
    monkeypatch.setattr(markdown, "_MOST_INLINE", markdown._MOST_INLINE // 10)
    assert "<strong>" in to_html("**b** " * 499)
    assert "Shown as plain text: it has more than 20,000 pieces" in to_html("**b** " * 600)
    notes = "[^1]: note\n"
    assert "<sup>" in to_html(notes * 190)
    assert "it has more than 20,000 pieces" in to_html(notes * 210)


def test_one_block_too_many_makes_it_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are allowed are rendered."""
    monkeypatch.setattr(markdown, "MOST_BLOCKS", 2)
    assert "as plain text" not in to_html("a\n\nb")
    assert "Shown as plain text: it has more than " in to_html("a\n\nb\n\nc")
    assert "as plain text" in to_html("```\na\n```")
    assert "as plain text" in to_html("# a")


def test_a_fault_in_the_reader_costs_no_reply(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If Markdown cannot be read for any reason, the text is shown as it is; the log says why."""
    caplog.set_level("DEBUG", "chatmagic")
    monkeypatch.setattr(MarkdownIt, "parse", Mock(side_effect=RuntimeError("a fault")))
    html = to_html("<b> # x \x1b")
    assert f'<pre style="{PROSE}">&lt;b&gt; # x \u241b</pre>' in html
    assert "Shown as plain text: it could not be rendered." in html
    (record,) = records_of(caplog, "chatmagic")
    assert record.getMessage().startswith("Swallowed: builtins.RuntimeError")
    assert "a fault" not in caplog.text


def test_a_language_is_only_a_name() -> None:
    """What a fence says of its language cannot leave the label that names it."""
    html = to_html("```<td><svg/onload=x()>\n1\n```")
    assert 'aria-label="Code, tdsvgonloadx"' in html
    assert 'aria-label="Code, c++"' in to_html("```c++\n1\n```")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("- one\n  two", "<li>one<br>\ntwo</li>"),
        ("`one\ntwo`", "<code>one two</code>"),
        ("```\none\ntwo\n```", "one\ntwo\n</code>"),
    ],
)
def test_lines_as_typed(text: str, html: str) -> None:
    """What a person typed keeps its line ends; a reply's are Markdown's."""
    assert html in markdown.to_html(text, breaks=True)
    assert "<br>" not in markdown.to_html(text)


@pytest.mark.parametrize("name", each_time(pathological.CASES, 4))
def test_a_pathological_text_takes_linear_time(name: str) -> None:
    """Of calls for each character, built-in ones included."""
    small, large = (pathological.CASES[name](size) for size in (100, 500))
    costs = [pathological.calls(to_html, text) / len(text) for text in (small, large)]
    assert costs[1] < 1.2 * costs[0]


@pytest.mark.release
def test_a_long_address_does_not_stand_in_thousands_of_links() -> None:
    """It is defined once; a link after the limit is its text alone, also while a reply streams."""
    text = f"[a]: http://{'u' * 200_000}\n\n" + "[a] ![][a] " * 100
    html = to_html(text)
    assert len(html) < 3_000_000
    assert f"a image: http://{'u' * 72}…</p>" in html
    live = live_reply("markdown")
    live.feed(f"[a]: http://{'u' * 1_400}\n\n" + f"{'[a] ' * 200}\n\n" * 30)
    assert sum(map(len, live.blocks)) < 4_000_000
