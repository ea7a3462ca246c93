"""The review's code as anywidget takes it."""

from __future__ import annotations

from chatmagic.jupyter.page.anywidget_review import AnywidgetReview


def test_the_widget_has_the_style_sheet() -> None:
    """That of the review alone."""
    assert ".chatmagic-review {" in AnywidgetReview._css
