"""Code of the labextension, joined to one module."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from node import node

from chatmagic.jupyter.page.joined_module import script


def test_the_joined_module_is_whole(tmp_path: Path) -> None:
    """It imports nothing, has each name once and gives `render`."""
    text = script("review.js")
    assert not re.search("^import ", text, re.MULTILINE)
    named = re.findall(r"^(?:async )?(?:class|const|function) (\w+)", text, re.MULTILINE)
    assert [name for name, count in Counter(named).items() if count > 1] == []
    (tmp_path / "review.mjs").write_text(text, encoding="utf-8")
    look = "import('./review.mjs').then(({default: it}) => console.log(typeof it.render))"
    assert node("-e", look, cwd=tmp_path).printed.strip() == "function"
