"""The panel's code as anywidget takes it."""

from __future__ import annotations

from chatmagic.jupyter.page.anywidget_panel import AnywidgetPanel


def test_the_widget_has_the_style_sheets() -> None:
    """Those of the panel, its code and its gauge."""
    for style in ("@keyframes cm-dots", ":where(.chatmagic-panel, .cm-in-cell", "--cm-level:"):
        assert style in AnywidgetPanel._css
