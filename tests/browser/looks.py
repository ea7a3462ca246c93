"""Colours of the pages that outputs are seen in: those of VS Code, of Jupyter, and of neither."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final


def _page(text: str, background: str, link: str, **variables: str) -> str:
    named = "".join(
        f"--vscode-{name.replace('_', '-')}: {value};" for name, value in variables.items()
    )
    own = f"body {{ color: {text}; background: {background}; {_FONT} }} a {{ color: {link}; }}"
    return f":root {{ {named} }} {own}"


_FONT: Final = "font: 14px/1.5 sans-serif; margin: 8px;"
PAGES: Final = {
    # By the theme reference of VS Code, for its themes Dark Modern and Light Modern.
    "VS Code, dark": _page(
        "#cccccc",
        "#1f1f1f",
        "#4daafc",
        editor_foreground="#cccccc",
        editor_background="#1f1f1f",
        focusBorder="#0078d4",
        errorForeground="#f85149",
        charts_green="#89d185",
        charts_orange="#d18616",
        charts_red="#f14c4c",
        textCodeBlock_background="#2b2b2b",
        debugTokenExpression_name="#c586c0",
        debugTokenExpression_string="#ce9178",
        debugTokenExpression_number="#b5cea8",
    ),
    "VS Code, light": _page(
        "#3b3b3b",
        "#ffffff",
        "#005fb8",
        editor_foreground="#3b3b3b",
        editor_background="#ffffff",
        focusBorder="#005fb8",
        errorForeground="#f85149",
        charts_green="#388a34",
        charts_orange="#d18616",
        charts_red="#e51400",
        textCodeBlock_background="#f8f8f8",
        debugTokenExpression_name="#9b46b0",
        debugTokenExpression_string="#a31515",
        debugTokenExpression_number="#098658",
    ),
    # As Colab's: nothing is defined, and the page says its colours itself.
    "another, dark": _page("#d5d5d5", "#383838", "#8ab4f8"),
    "another, light": _page("#212121", "#ffffff", "#0b57d0"),
}
"""A style sheet for each page that is not Jupyter's."""
JUPYTER: Final = {"Jupyter's, dark": "dark", "Jupyter's, light": "light"}
"""JupyterLab's own themes."""


def sheet(name: str) -> str:
    """Return the style sheet of a page, by its name in :data:`PAGES` or :data:`JUPYTER`."""
    if name in PAGES:
        return PAGES[name]
    themes = Path(sys.prefix) / "share/jupyter/lab/themes/@jupyterlab"
    theme = themes / f"theme-{JUPYTER[name]}-extension" / "index.css"
    colours = "color: var(--jp-ui-font-color1); background: var(--jp-layout-color0);"
    own = f"body {{ {colours} {_FONT} }} a {{ color: var(--jp-content-link-color); }}"
    return f"{theme.read_text(encoding='utf-8')} {own}"
