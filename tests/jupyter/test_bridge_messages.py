"""The bridge's messages: what both sides have alike. ``panel/test_messages.py`` has their types."""

from __future__ import annotations

import json
import re
from pathlib import Path

from chatmagic._version import __version__
from chatmagic.conversation.cell_order import report_from
from chatmagic.demo import LABEXTENSIONS
from chatmagic.jupyter import bridge_messages

SAMPLES = Path(__file__).parents[1] / "samples" / "messages.json"


def test_the_bridge_reads_its_example() -> None:
    """The code cells, from top to bottom."""
    sample, *_ = json.loads(SAMPLES.read_text(encoding="utf-8"))["of the bridge"]
    word = report_from(sample)
    assert word is not None
    assert [cell.id for cell in word.cells.values()] == ["a", "c"]


def test_the_page_has_the_protocol_and_the_version() -> None:
    """Its half is files that no build writes."""
    folder = LABEXTENSIONS / "chatmagic"
    package = json.loads((folder / "package.json").read_text("utf-8"))
    assert (package["name"], package["version"]) == ("chatmagic", __version__)
    link = (folder / "page" / "link.js").read_text("utf-8")
    named = dict(re.findall(r'^(?:export )?const (\w+) = "?([^";]+)"?;$', link, re.MULTILINE))
    assert named["VERSION"] == __version__
    for name in ("PROTOCOL", "TARGET", "URGENT"):
        assert named[name] == str(getattr(bridge_messages, name))


def test_every_module_is_in_the_page() -> None:
    """What the extension does not import, by whichever way, is dead."""
    folder = LABEXTENSIONS / "chatmagic" / "page"
    texts = {path.name: path.read_text("utf-8") for path in folder.glob("*.js")}
    seen = ["extension.js"]
    for name in seen:
        found = re.findall(
            r'^import (?:\w+|\{[^}]*\}) from "\./(\w+\.js)";$', texts[name], re.MULTILINE
        )
        seen += [other for other in found if other not in seen]
    assert set(seen) == texts.keys() - {"messages.js"}  # types alone
    styles = re.findall(r'"(\w+\.css)"', texts["extension.js"])
    assert set(styles) == {path.name for path in folder.glob("*.css")}
