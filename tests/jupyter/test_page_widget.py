"""The base of the widgets."""

from __future__ import annotations

from chatmagic.jupyter.page_widget import PageWidget


def test_a_script_is_told_the_id_of_its_model() -> None:
    """The one under which the front end knows it, and another for each widget."""
    widgets = [PageWidget(), PageWidget()]
    assert [widget.get_state()["own_id"] for widget in widgets] == [
        widget.model_id for widget in widgets
    ]
    assert widgets[0].model_id != widgets[1].model_id
    for widget in widgets:
        widget.close()
