"""The review's code joined to one module, as anywidget takes it."""

from __future__ import annotations

import re
from pathlib import Path

from node import node

from chatmagic.jupyter.page.anywidget_review import AnywidgetReview
from chatmagic.jupyter.page.joined_module import script


def test_the_joined_module_is_whole(tmp_path: Path) -> None:
    """It imports nothing, and gives `render`; its style is the review's."""
    text = script("review.js")
    assert not re.search("^import ", text, re.MULTILINE)
    (tmp_path / "review.mjs").write_text(text, encoding="utf-8")
    look = "import('./review.mjs').then(({default: it}) => console.log(typeof it.render))"
    assert node("-e", look, cwd=tmp_path).printed.strip() == "function"
    assert ".chatmagic-review {" in AnywidgetReview._css
