"""A good reply in real pages: beautiful in both themes, and for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from contrast import CONTRAST

from chatmagic.emulator import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from rig import Book

    from chatmagic.emulator import Emulator

    Open = Callable[..., Book]

LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
REPLY: Final = (
    r"""# A title

## A part

Prose with **bold**, *italic*, ~~struck~~, `code` and [the docs](https://docs.python.org/3/).

1. first
2. second
   - a point below it

> A quotation.

```python
def mean(values: list[float]) -> float:
    return sum(values) / len(values)  # the average
```

The mean of $n$ numbers, for $5 or $6, is $\bar{x}$:

$$
\bar{x} = \frac{1}{n} \sum_{i=1}^{n} x_i
$$

| left | middle | right |
|:-----|:------:|------:|
| a    | b      | 1     |

"""
    f"| {' | '.join(f'column {n}' for n in range(40))} |\n|{'---|' * 40}\n"
    f"| {' | '.join('some words' for _ in range(40))} |\n\n"
    f"```\n{'a long line of code; ' * 40}\n```\n\n{'w' * 3000}\n\n$${' + '.join('x' * 300)}$$"
)
ROOT: Final = "document.querySelectorAll('.chatmagic')[given]"
WIDE: Final = """
  const root = document.querySelectorAll('.chatmagic')[given];
  const grown = [];
  for (let node = root.parentElement; node; node = node.parentElement) {
    if (node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== 'inline') {
      grown.push(node.className || node.localName);
    }
  }
  return grown;
"""
BOXES: Final = """
  return [...document.querySelectorAll('.chatmagic')[given].querySelectorAll('.chatmagic-scroll')]
    .map(box => ({
      name: box.getAttribute('aria-label'), role: box.getAttribute('role'), index: box.tabIndex,
      wide: box.scrollWidth > box.clientWidth, overflow: getComputedStyle(box).overflowX,
    }));
"""
COLOURS: Final = """
  const code = document.querySelectorAll('.chatmagic')[given].querySelector('.highlight');
  const of = selector => getComputedStyle(code.querySelector(selector)).color;
  return ['pre code', '.k', '.c1'].map(of);
"""


@pytest.mark.parametrize("front", ["lab", "notebook7"])
def test_a_reply_is_beautiful_in_both_themes(
    front: str, request: pytest.FixtureRequest, service: Emulator
) -> None:
    """All of Markdown, what is too wide in its own box, colours that can be read."""
    opened: Open = request.getfixturevalue(front)
    book = opened(["%load_ext chatmagic", f"%%chat\necho:{REPLY}", "%%chat\necho:x"])
    book.run(0)
    book.run(1)
    assert book.js("return document.querySelectorAll('.chatmagic mjx-container').length") == 4
    for tag in ("h4", "h5", "ol", "ul", "blockquote", "strong", "em", "s", "table", "pre", "a"):
        assert book.page.locator(f".chatmagic {tag}").count() >= 1, tag
    assert book.page.locator(".chatmagic :is(h1, h2, h3)").count() == 0
    assert "$5 or $6" in book.shown(1)

    assert book.js(WIDE, 0) == []
    boxes = book.js(BOXES, 0)
    assert [box["name"] for box in boxes] == ["Code, python", "Table", "Table", "Code"]
    assert [box["wide"] for box in boxes] == [False, False, True, True]
    assert {(box["role"], box["index"], box["overflow"]) for box in boxes} == {
        ("region", 0, "auto")
    }
    group = book.page.get_by_role("group", name="Reply")
    assert group.count() == 1

    book.run(2)
    service.settings = Settings(credits=3)
    book.run(2)
    shades = []
    for theme in (LIGHT, DARK):
        book.front.theme(theme)
        for output in range(book.page.locator(".chatmagic").count()):
            assert book.js(f"return ({CONTRAST})({ROOT})", output) == [], (theme, output)
        colours = book.js(COLOURS, 0)
        assert len(set(colours)) == 3, (theme, colours)
        shades.append(colours)
    book.front.theme(LIGHT)
    assert shades[0] != shades[1]
    assert book.front.heard.fetched == []
    assert book.front.heard.errors == []


def test_math_is_typeset_once_at_the_end(lab: Open, service: Emulator) -> None:
    """While a reply streams its formulas are code; updates are far fewer than fragments."""
    service.settings = Settings(delay=0.002)
    text = "".join(f"The number $x_{{{number}}}$ stands here.\n\n" for number in range(40))
    book = lab(["%load_ext chatmagic", f"%%chat\necho:{text}"])
    book.run(0)
    book.js("""
      window.heard = {updates: 0, early: 0};
      const kernel = panel.sessionContext.session.kernel;
      kernel.iopubMessage.connect((_, {header, content}) => {
        if (header.msg_type === 'update_display_data') window.heard.updates += 1;
      });
      new MutationObserver(() => {
        const node = notebook.widgets[1].outputArea.node;
        if (node.querySelector('.chatmagic') && !node.querySelector('.chatmagic-credits')) {
          window.heard.early += node.querySelectorAll('mjx-container').length;
        }
      }).observe(notebook.node, {childList: true, subtree: true});
    """)
    book.run(1)
    book.until("document.querySelectorAll('.chatmagic mjx-container').length === 40")
    heard = book.js("return window.heard")
    fragments = service.requests[-1].sent
    assert fragments > 200
    assert heard["early"] == 0
    assert 0 < heard["updates"] < fragments
