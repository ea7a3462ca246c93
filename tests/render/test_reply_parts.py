"""The parts of a reply: blocks of code, and Markdown that neither fetches nor restyles."""

from __future__ import annotations

import pytest
from hostile import CORPUS
from markdown_it import MarkdownIt

from chatmagic import Reply
from chatmagic.models import CodeBlock
from chatmagic.render import reply_parts
from chatmagic.text import JOINER

REPLY = """First:

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
    assert reply_parts.parts(REPLY) == [
        "First:",
        CodeBlock('x = 1\n\ny = "`"', "python"),
        "- then, in a list:",
        CodeBlock("ls", "{Bash}"),
        "indented\n\nLast.",
    ]
    assert reply_parts.parts("") == []
    assert reply_parts.parts("a\n```py\n\n```\nb") == ["a", "b"]
    assert reply_parts.parts("a\r\n\r\n    b\r\n") == ["a", CodeBlock("b")]


def test_a_block_that_was_cut_off_is_one() -> None:
    """As far as it came; and a reply has its blocks as a value."""
    reply = Reply("Do\n```py\nprint(1)\npri")
    assert reply.code_blocks == (CodeBlock("print(1)\npri", "py"),)
    assert [str(block) for block in Reply(REPLY).code_blocks][1:] == ["ls"]
    assert Reply("none").code_blocks == ()


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("a < b, *so* `x<y`", f"a < b, *so* `x<{JOINER}y`"),
        ("![x](https://e.org/a.png)", f"!{JOINER}[x](https://e.org/a.png)"),
        ("<img src=x> <!-- <?", f"<{JOINER}img src=x> <{JOINER}!-- <{JOINER}?"),
        ("> ```mermaid", f"> ``{JOINER}`mermaid"),
        ("~~~", f"~~{JOINER}~"),
        ("$x<y^2$ and \\( a \\)", "$x< y^2$ and $a$"),
        ("\\[\na\n\\] $$b$$", "$$a$$ $$b$$"),
        (r"\(a\)\(b\)", f"$a${JOINER}$b$"),
        (r"from $5 to \$6", "from \uff045 to \uff046"),
        (r"$\href{x}{y}$ C:\x", f"\uff04\\{JOINER}href{{x}}{{y}}\uff04 C:\\{JOINER}x"),
        (r"\(\href{x}{y}\)", rf"\{JOINER}(\{JOINER}href{{x}}{{y}}\)"),
        (r"\begin{align}a", rf"\{JOINER}begin{{align}}a"),
        (r"$a\!b$", "\uff04a\\!b\uff04"),
        # Each of these would end elsewhere, and its last dollar begin a formula.
        ("`\\(a` \\)", f"`\\{JOINER}(a` \\)"),
        ("\\(a\n\nb\\)", f"\\{JOINER}(a\n\nb\\)"),
        (r"\(\text{$a$}\)", f"\\{JOINER}(\\{JOINER}text{{\uff04a\uff04}}\\)"),
        ("\u202ex", "\ufffdx"),
    ],
)
def test_the_text_between_is_made_safe(text: str, made: str) -> None:
    """HTML, images, fences and formulas that no page may typeset begin nowhere."""
    assert reply_parts.markdown(text) == made


ANOTHER = MarkdownIt("gfm-like", {"html": True, "linkify": False})


@pytest.mark.unmeasured
@pytest.mark.parametrize("hostile_text", [each.text for each in CORPUS])
def test_another_parser_finds_nothing_that_acts(hostile_text: str) -> None:
    """One that reads HTML and images, of whatever a model may write."""
    for part in reply_parts.parts(hostile_text):
        if isinstance(part, str):
            tokens = ANOTHER.parse(reply_parts.markdown(part))
            found = {child.type for token in tokens for child in [token, *(token.children or [])]}
            assert not found & {"html_block", "html_inline", "image", "fence"}


def test_code_of_another_language_stays_in_its_fence() -> None:
    """However many backticks it has."""
    assert reply_parts.fenced("ls") == "```\nls\n```"
    assert reply_parts.fenced("```` x") == "`````\n```` x\n`````"
