"""The messages' types and their examples, which the tests of the page's code read, too."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

from cases import each_case
from message_types import conforms, types

from chatmagic._version import __version__
from chatmagic.conversation.cell_order import report_from
from chatmagic.conversation.record import owner_of
from chatmagic.demo import LABEXTENSIONS
from chatmagic.jupyter.page import messages

SAMPLES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "samples" / "messages.json").read_text(encoding="utf-8")
)
FORMS: dict[str, Any] = {
    "to the panel": types()["FromKernel"],
    "to the bridge": types()["ToBridge"],
}
EACH = [(form, sample) for name, form in FORMS.items() for sample in SAMPLES[name]]


OPTIONAL = {"view", "reloaded", "ended", "last", "cell", "box", "replaces"}


def kinds(form: Any) -> set[str]:
    """Return the kinds of messages of a type."""
    return {kind for one in get_args(form) for kind in get_args(get_type_hints(one)["kind"])}


def test_each_message_has_an_example() -> None:
    """A message that is added has one, and one that is taken out leaves none behind."""
    for name, form in FORMS.items():
        assert {sample["kind"] for sample in SAMPLES[name]} == kinds(form), name


@each_case(("form", "sample"), EACH)
def test_examples_are_of_their_type(form: Any, sample: dict[str, Any]) -> None:
    """With all that is required; nothing may lack, be of another type, or be there besides."""
    assert conforms(sample, form)
    for name in sample.keys() - OPTIONAL - ({"nonce"} if sample["kind"] == "notice" else set()):
        lacking = {key: value for key, value in sample.items() if key != name}
        assert not conforms(lacking, form), name
    assert not conforms({**sample, "more": 1}, form)
    assert not conforms({**sample, "kind": [sample["kind"]]}, form)


def test_the_bridge_reads_its_example() -> None:
    """The code cells, from top to bottom."""
    sample, *_ = SAMPLES["of the bridge"]
    word = report_from(sample)
    assert word is not None
    assert [cell.id for cell in word.cells.values()] == ["a", "c"]
    assert word.markdown == {owner_of("b"): "# Title"}


def test_the_page_has_the_protocol_and_the_version() -> None:
    """Its half is files that no build writes."""
    folder = LABEXTENSIONS / "chatmagic"
    package = json.loads((folder / "package.json").read_text("utf-8"))
    assert (package["name"], package["version"]) == ("chatmagic", __version__)
    link = (folder / "page" / "comm.js").read_text("utf-8")
    named = dict(re.findall(r'^(?:export )?const (\w+) = "?([^";]+)"?;$', link, re.MULTILINE))
    assert named["VERSION"] == __version__
    for name in ("PROTOCOL", "TARGET", "URGENT"):
        assert named[name] == str(getattr(messages, name))


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
