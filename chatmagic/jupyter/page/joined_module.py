"""Modules and style sheets of the labextension as anywidget takes them.

anywidget needs one module of JavaScript, so the modules of the labextension are joined here. This
requires that a module imports by name from ``"./other.js"`` without renaming, and that names at the
top of modules are unique.
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
    """Return a file of the labextension.

    Args:
        name: name of the file, in ``page``.
    """
    folder = files("chatmagic.jupyter") / "labextensions" / "chatmagic" / "page"
    return (folder / name).read_text(encoding="utf-8")


def script(name: str) -> str:
    """Return a module and all of its imports, joined, each after its own imports.

    Args:
        name: the module's file name; its default export becomes that of the whole.
    """
    joined: dict[str, str] = {}

    def add(module: str) -> None:
        """Add a module, after those that it imports."""
        text = source(module)
        for imported in _IMPORT.findall(text):
            if imported not in joined:
                add(imported)
        joined[module] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(name)
    return "\n".join(joined.values())
