"""The panel's code as anywidget takes it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from node import node

from chatmagic.jupyter.page.anywidget_panel import AnywidgetPanel
from chatmagic.jupyter.page.joined_module import script


def test_the_widget_has_the_style_sheets() -> None:
    """Those of the panel, its code and its gauge."""
    for style in ("@keyframes cm-dots", ":where(.chatmagic-panel, .cm-in-cell", "--cm-level:"):
        assert style in AnywidgetPanel._css


def test_the_joined_module_is_whole(tmp_path: Path) -> None:
    """It imports nothing, has each name once and gives `render`."""
    text = script("panel.js")
    assert not re.search("^import ", text, re.MULTILINE)
    named = re.findall(r"^(?:async )?(?:class|const|function) (\w+)", text, re.MULTILINE)
    assert [name for name, count in Counter(named).items() if count > 1] == []
    (tmp_path / "panel.mjs").write_text(text, encoding="utf-8")
    look = "import('./panel.mjs').then(({default: it}) => console.log(typeof it.render))"
    assert node("-e", look, cwd=tmp_path).printed.strip() == "function"
