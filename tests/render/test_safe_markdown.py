"""A reply as Markdown of our own: what it keeps, and that nothing in it acts."""

from __future__ import annotations

import logging

import pathological
import pytest
from cases import each_case
from hostile import CORPUS
from markdown_it import MarkdownIt
from shares import each_time

from chatmagic.render import formula_allowlist, markdown
from chatmagic.render.safe_markdown import as_typed, code_block, escaped, to_markdown
from chatmagic.safe_text import JOINER

REPLY = r"""# Head
### Sub
Para *em* __str__ ~~gone~~ `co|de`
[link](http://x.y/a_b?c=1&d=$2 "t") ![pic](http://e.z/p.png)\
<https://a.b/c>[^1]

- a
  1. b
  2. c
- [x] done
- [ ] todo

3) x

   y

> quote
>
> more

* * *

| a | b | c |
|---|:-:|--:|
| `x\|y` | $\lvert z \rvert$ | \| |

```Python
x = 1

```

[^1]: note
"""
WRITTEN = r"""#### Head

##### Sub

Para *em* __str__ ~~gone~~ `co|de`
[link (x.y)](<http://x.y/a&#95;b?c=1&#38;d=&#36;2>) [image: pic (e.z)](<http://e.z/p.png>)\
[https&#58;//a.b/c](<https://a.b/c>)&#91;1&#93;

- a
  1. b
  2. c
- [x] done
- [ ] todo

3) x

   y

> quote
>
> more

___

| a | b | c |
|:--|:-:|--:|
| x&#124;y | $\lvert z \rvert$ | &#124; |

```python
x = 1

```

&#91;1&#93; note"""


def test_a_reply_is_written_as_it_was_read() -> None:
    """Each part of it as what it is; headings begin at level 4, and pictures are links."""
    written = to_markdown(REPLY)
    assert written.replace("|---|", "|:--|") == WRITTEN


@each_case(
    ("text", "written"),
    [
        (r"\(x_1\)2 and $n$", "$x_1$&#50; and $n$"),
        (r"\(x\)\(y\)", f"$x${JOINER}$y$"),
        ("$$\na\n+ b\n$$", "$$a + b$$"),
        (r"$\int\!\!\int f$", r"$\int{}{}\int f$"),
        (r"$a<b$ \(n![k](http://a.b)\)", r"$a< b$ $n! [k] (http://a.b)$"),
        (r"\(x{<}\)", r"$x{ <}$"),
        (r"\[\href{javascript:x}{y}\]", "```\n\\[\\href{javascript:x}{y}\\]\n```"),
        ("a \\(\\href{x}\n{y}\\)", r"a `\(\href{x} {y}\)`"),
        (r"\(\text{$x$}\)", r"`\(\text{$x$}\)`"),
        (
            r"$$\begin{align*} a &= b \\ c &= d \end{align*}$$",
            r"$$\begin{aligned} a &= b \\ c &= d \end{aligned}$$",
        ),
        (
            r"$$\begin{xalignat}{2} a & b \end{xalignat}$$",
            r"$$\begin{alignedat}{2} a & b \end{alignedat}$$",
        ),
        (r"$$\begin{gather} a \end{gather}$$", r"$$\begin{gathered} a \end{gathered}$$"),
        (
            r"$$\begin{eqnarray} a &=& b \end{eqnarray}$$",
            r"$$\begin{array}{rcl} a &=& b \end{array}$$",
        ),
        (r"$$\begin{equation} a \tag{1} \end{equation}$$", r"$$a \tag{1}$$"),
        (
            "\\begin{align}\na &= b \\\\\nc \\label{x}\n\\end{align}",
            "$$\\begin{aligned} a &= b \\\\ c \\end{aligned}$$",
        ),
        ("\\begin{bad}\na \\\\\n\\end{bad}", "```\n\\begin{bad}\na \\\\\n\\end{bad}\n```"),
        (r"\(a \tag{1}\)", r"`\(a \tag{1}\)`"),
        (
            "|a|\n|-|\n|$\\set{a\\|b}$|",
            "| a |\n|---|\n| &#36;&#92;\u2060set&#123;a&#124;b&#125;&#36; |",
        ),
    ],
)
def test_formulas_stand_in_dollars(text: str, written: str) -> None:
    """On one line, of listed commands, and so that no page takes them for anything else."""
    assert to_markdown(text) == written


@each_case(
    ("text", "written"),
    [
        ("<b> &lt;b&gt; &#x202e;", "&#60;b&#62; &#60;b&#62; \ufffd"),
        (r"\* \_ \` \~ \# @x $5", "&#42; &#95; &#96; &#126; &#35; &#64;x &#36;5"),
        ("a^[b]", "a&#94;&#91;b&#93;"),
        ("--all -- a-b", "&#45;&#45;all &#45;&#45; a-b"),
        ("\\- a\n\\+ b\n= c\n% d\n: e", "&#45; a\n&#43; b\n&#61; c\n&#37; d\n&#58; e"),
        ("a) b", "a&#41; b"),
        ("(iv) b\nIt. is", "(iv&#41; b\nIt. is"),
        (
            "javascript:1 http://a.b www.c.d 9:30",
            "javascript&#58;1 http&#58;//a.b www&#46;c.d 9:30",
        ),
        ("!\\[a](b)", "&#33;&#91;a&#93;(b)"),
        ("{{< include x >}}", "&#123;&#123;&#60; include x &#62;&#125;&#125;"),
        (r"\\(x\\)", f"&#92;{JOINER}(x&#92;)"),
        (r"\begin{a} $$", f"&#92;{JOINER}begin&#123;a&#125; &#36;{JOINER}&#36;"),
        (
            "[a <http://x.y> ![i](e:f)](http://c.d)",
            "[a http&#58;//x.y image: i (c.d)](<http://c.d>)",
        ),
        ("[a](javascript:x)", "a (javascript&#58;x)"),
        ("` `` ` a `` ` ``", "` `` ` a `` ` ``"),
        ("`` ` ``` ``", "&#96; &#96;&#96;&#96;"),
        ("`  `x", "&#160;x"),
        ("` a`", "`  a `"),
    ],
)
def test_no_sign_acts(text: str, written: str) -> None:
    """What a page or a converter could read as more than words is a reference."""
    assert to_markdown(text) == written


def test_code_ends_no_block_of_latex_and_reads_no_file() -> None:
    """A word joiner stands in what would; a page that draws a language is not told it."""
    assert code_block("a\n```", "Mermaid") == "````\na\n```\n````"
    assert code_block("x", "PY") == "```py\nx\n```"
    assert (
        code_block("\\end{verbatim}{{< env X")
        == f"```\n\\end{JOINER}{{verbatim}}{{{{{JOINER}< env X\n```"
    )
    assert to_markdown("`{{< env`") == f"`{{{{{JOINER}< env`"


def test_text_keeps_its_lines() -> None:
    """And its indents; nothing in it is Markdown."""
    assert as_typed("  *a*\r\n1. b\n\nc\n") == "&#160;&#160;&#42;a&#42;\\\n1&#46; b\n\nc"
    assert escaped(" - a\n*b* ") == "&#45; a &#42;b&#42;"


def test_what_is_no_page_is_written_as_it_came(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is too long or too deep, and what fails: no reply is lost."""
    assert to_markdown("> " * 30 + "*a*").endswith("&#62; &#42;a&#42;")
    monkeypatch.setattr(markdown, "MOST_BLOCKS", 50)
    assert to_markdown("*a*\n\n" * 51).startswith("&#42;a&#42;\n\n")
    monkeypatch.undo()
    monkeypatch.setattr(markdown, "MOST_MARKDOWN", 9)
    assert to_markdown("*a* is too long") == "&#42;a&#42; is too long"
    monkeypatch.undo()
    monkeypatch.setattr(formula_allowlist, "typeset_form", None)
    with caplog.at_level(logging.DEBUG, "chatmagic"):
        assert to_markdown("*a* $x$") == "&#42;a&#42; &#36;x&#36;"


ANOTHER = MarkdownIt("gfm-like", {"html": True, "linkify": False})


@pytest.mark.unmeasured
@each_case("hostile_text", [each.text for each in CORPUS])
def test_another_parser_finds_nothing_that_acts(hostile_text: str) -> None:
    """One that reads HTML and images, of whatever a model may write."""
    tokens = ANOTHER.parse(to_markdown(hostile_text))
    found = {child.type for token in tokens for child in [token, *(token.children or [])]}
    assert not found & {"html_block", "html_inline", "image"}


@pytest.mark.parametrize("name", each_time(pathological.CASES, 4))
def test_a_pathological_text_takes_linear_time(name: str) -> None:
    """Of calls for each character, built-in ones included: no level copies the ones inside it."""
    small, large = (pathological.CASES[name](size) for size in (100, 500))
    costs = [pathological.calls(to_markdown, text) / len(text) for text in (small, large)]
    assert costs[1] < 1.2 * costs[0]


def test_a_long_address_does_not_stand_in_thousands_of_links(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is defined once; a link after the limit, here a tenth of it, is its text alone."""
    monkeypatch.setattr(markdown, "MOST_ADDRESSES", 100_000)
    written = to_markdown(f"[a]: http://{'u' * 20_000}\n\n" + "[a] ![][a] " * 100)
    assert len(written) < 200_000
    assert written.endswith("a image: http&#58;//" + "u" * 72 + "…")
