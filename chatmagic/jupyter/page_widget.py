"""Base of the widgets: one whose script can ask the page for its model."""

from __future__ import annotations

import secrets
from typing import Any

import anywidget
from traitlets import Unicode

__all__ = ["PageWidget"]


class PageWidget(anywidget.AnyWidget):
    """Widget with a script in the page, which knows its own model.

    anywidget 0.11 hands a model no message of the kernel if its script took longer than two
    seconds to start, as in a page that loads on a slow machine; the script mends that in
    ``keepHearing`` of ``static/notebook.js``.
    """

    own_id = Unicode(help="The id of the model.").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        """Open the model in every page of this kernel."""
        own_id = secrets.token_hex(16)
        super().__init__(model_id=own_id, own_id=own_id, **traits)
