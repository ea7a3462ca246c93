"""Each view of ours in both themes, 400 pixels wide and by touch, as pictures show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from chat import Chat
from contrast import CONTRAST
from logged import Emulator, Settings
from rig import Book, wait

LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
REPLY: Final = """\
Use the **population** form of `np.std`, *not* the sample one:

1. Read the data.
   - It has two columns, of which the second one is `value`.
   - > A quotation in a list that is long enough to take more than one line.
2. Compute:

   ```python
   import numpy as np
   spread = np.std(values, ddof=0)  # the population's; this line is longer than a page
   ```

| city | people | note |
|---|--:|---|
| Lima | 10,092,000 | a capital with a long note |
"""
JSON: Final = """\
{
  "cities": [
    {
      "name": "Lima <b>x</b>",
      "people": 10.5,
      "capital": true,
      "tags": []
    },
    null
  ],
  "of": "Peru"
}"""
CELLS: Final = {
    "setup": "%load_ext chatmagic",
    "reply": f"%%chat\necho:{REPLY}",
    "json": f"%%chat --format json\necho:{JSON}",
    "retry": "%chat_retry 1 -t 0 -t 1",
    "retries": "%chat_retry --list 1",
    "history": "%chat_history",
    "turn": "%chat_history 2",
    "chat": "%chat",
    "gauge": "%chat_credits",
    "usage": "%chat_credits --usage",
    "check": "%chat_connect --check",
    "dry": "%%chat --dry\nWhat *then*?",
    "panel": "%chat_panel",
    "error": "%%chat\nOnce more?",
}
TOUCH: Final = "(hover: none), (pointer: coarse)"
MEDIA: Final = """([before, now]) => {
  const change = rules => { for (const rule of rules) {
    if (rule.media?.mediaText === before) rule.media.mediaText = now;
    change(rule.cssRules ?? []);
  } };
  for (const sheet of document.styleSheets) {
    if (sheet.href?.includes('/chatmagic/')) change(sheet.cssRules);
  }
}"""
"""Give our rules for one kind of page to another: what Chromium emulates of touch, it keeps."""
COPIED: Final = """code => {
  getSelection().selectAllChildren(code.parentElement);
  return getSelection().toString();
}"""
"""The text that is copied of a block of code, whose box is selected."""
OURS: Final = ".chatmagic, .chatmagic-panel, .cm-error"
SMALL: Final = """() => [...document.querySelectorAll('.cm-button, .chatmagic summary')]
  .filter(node => node.checkVisibility({opacityProperty: true}))
  .map(node => [node.textContent || node.title, node.getBoundingClientRect()])
  .filter(([, {width, height}]) => width < 24 || height < 24).map(([name]) => name)"""
"""The visible targets that a finger would miss (WCAG 2.5.8)."""
PALE: Final = f"""() => [...document.querySelectorAll('.chatmagic, .chatmagic-panel')]
  .flatMap({CONTRAST})"""
WIDER: Final = f"""() => [...document.querySelectorAll({OURS!r})].filter(node => {{
  const {{left, right}} = node.getBoundingClientRect();
  return left < 0 || right > innerWidth || node.scrollWidth > node.clientWidth + 1;
}}).map(node => node.className)"""
"""Those of our elements that are wider than their place."""
TOPS: Final = """() => new Set(Array.from(document.querySelectorAll('.chatmagic-compared'),
  node => node.getBoundingClientRect().top)).size"""
"""Whether the two compared replies stand side by side (1) or one below the other (2)."""
BROKEN: Final = """() => [...document.querySelectorAll('.chatmagic table:not(:has(thead)) th')]
  .filter(node => { const range = new Range(); range.selectNodeContents(node);
    return range.getClientRects().length > 1; }).map(node => node.textContent)"""
"""Names of facts that take more than one line."""


@pytest.mark.release
def test_each_view_fits_and_can_be_read(notebook7: Callable[..., Book], service: Emulator) -> None:
    """Nothing of ours is too wide, too pale or too small; the code's language is said once."""
    book = notebook7(list(CELLS.values()))
    page = book.page
    for number in range(len(CELLS) - 1):
        book.run(number)
    history = book.text(5)
    assert "Use the population form of np.std, not the sample one" in history
    assert "**" not in history.partition("echo:")[2].partition("\n")[2]
    chat = Chat(book)
    chat.ask("echo:A reply with **code**:\n```python\nx = 1\n```")
    service.settings = Settings(credits=3)
    chat.send("Why?")
    chat.root.locator(".cm-failed").wait_for()
    book.run(len(CELLS) - 1)
    page.locator(".cm-error").wait_for()
    # Told in the box and by the gauge; the status line is read out and not seen.
    assert chat.until("No credits left")
    assert chat.root.locator(".cm-status").evaluate("node => node.offsetWidth") == 1
    assert page.locator(".cm-error pre").evaluate("pre => getComputedStyle(pre).wordBreak") == (
        "normal"
    )
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    page.locator(".cm-in-cell:has(.chatmagic-json)").first.hover()
    page.get_by_role("button", name="Copy this JSON").first.click()
    book.until("window.copied")
    assert page.evaluate("window.copied") == JSON
    page.evaluate("delete navigator.clipboard.writeText")
    assert page.locator(".chatmagic-json").first.locator("details[open]").count() == 2
    said = page.get_by_role("group", name="Reply").first.aria_snapshot()
    assert said.count("python") == 1
    assert page.locator(".highlight").first.evaluate(COPIED).startswith("import numpy")
    page.evaluate("getSelection().removeAllRanges()")
    for width in (1200, 400):
        page.set_viewport_size({"width": width, "height": 900})
        wait(page, "width => innerWidth === width", arg=width)
        for theme in (LIGHT, DARK):
            book.front.theme(theme)
            assert page.evaluate(PALE) == []
            assert page.evaluate(TOPS) == (1 if width == 1200 else 2)
            if width == 400:
                page.evaluate(MEDIA, [TOUCH, "all"])
                assert page.evaluate(WIDER) == page.evaluate(BROKEN) == []
                assert page.evaluate(SMALL) == []
            for place, name in enumerate(CELLS):
                book.screenshot(f"view-{name}-{theme[11:].lower()}-{width}", place)
    page.evaluate(MEDIA, ["all", TOUCH])
    page.set_viewport_size({"width": 1200, "height": 900})
    book.front.theme(LIGHT)
    assert book.front.heard.errors == []
