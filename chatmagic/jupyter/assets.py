"""The page's code as anywidget takes it: one module of JavaScript, one style sheet.

The sources in ``static`` are modules that import each other. They are joined here, when a
widget is defined, so that installing needs no build step. To be joined, a module imports by
name from ``"./other.js"`` and does not rename; names at the top of modules are unique.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

_IMPORT: Final = re.compile(
    r'^import \{(?:(?! as )[^}])*\} from "\./([a-z_]+\.js)";\n', re.MULTILINE
)
_EXPORT: Final = re.compile(
    r"^export (?=async |class |const |function )|^export \{\};\n", re.MULTILINE
)


def source(name: str) -> str:
    """Return a file of ``static``."""
    return (files("chatmagic.jupyter") / "static" / name).read_text(encoding="utf-8")


def script(name: str) -> str:
    """Return a module and all that it imports, joined, each after what it imports itself.

    Args:
        name: the module's file name; its default export is that of the whole.
    """
    joined: dict[str, str] = {}

    def add(module: str) -> None:
        text = source(module)
        for imported in _IMPORT.findall(text):
            if imported not in joined:
                add(imported)
        joined[module] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(name)
    return "\n".join(joined.values())


def styles(*names: str) -> str:
    """Return style sheets, joined."""
    return "\n".join(map(source, names))
