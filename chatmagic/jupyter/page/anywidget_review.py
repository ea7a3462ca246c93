"""The review by anywidget, for pages of VS Code and Colab, which have no labextensions."""

from __future__ import annotations

from anywidget import AnyWidget
from traitlets import Dict

from chatmagic.jupyter.page.joined_module import script, source


class AnywidgetReview(AnyWidget):
    """The row that is labelled now, as :class:`chatmagic.jupyter.review_widget.ReviewWidget`."""

    _esm = script("review.js")
    _css = source("review.css")
    shown = Dict(help="The row, its labels and what was said last.").tag(sync=True)
