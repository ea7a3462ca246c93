"""A review in a page: a widget that takes a person's labels, one key each.

Its code in the page is ``page/review.js`` of the labextension, or of anywidget where there are no
labextensions. The page has the row that is shown and nothing of the others. The model's label comes
to it only after the person's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from IPython.core.getipython import get_ipython
from IPython.display import display
from ipywidgets import DOMWidget  # type: ignore[import-untyped] # it has no types
from traitlets import Dict, Unicode

from chatmagic.errors import ChatError
from chatmagic.jupyter.cells.running_cell import Execution, running
from chatmagic.safe_text import visible
from chatmagic.study.review import GOLD, KEYS, Review

_MODULE: Final = "_chatmagic"
"""As of the chat panel: no package registry accepts this name."""
_NO_ANYWIDGET: Final = (
    "With anywidget it is a widget here, too: pip install 'chatmagic[anywidget]', and restart the "
    "kernel."
)
_NO_PAGE: Final = (
    "There is no page for it here: review.to_csv('labels.csv') writes a file to fill in, and "
    "review.read_csv('labels.csv') reads it."
)


class ReviewWidget(DOMWidget):  # type: ignore[misc] # as above
    """The row that is labelled now, in a page."""

    _model_name = Unicode("ReviewModel").tag(sync=True)
    _model_module = Unicode(_MODULE).tag(sync=True)
    _model_module_version = Unicode("*").tag(sync=True)
    _view_name = Unicode("ReviewView").tag(sync=True)
    _view_module = Unicode(_MODULE).tag(sync=True)
    _view_module_version = Unicode("*").tag(sync=True)
    shown = Dict(help="The row, its labels and what was said last.").tag(sync=True)


class Reviewing:
    """A review under way in a page: which row is shown.

    Args:
        review: the review.
        widget: the widget, which has a trait ``shown``.
    """

    def __init__(self, review: Review, widget: DOMWidget) -> None:
        """Show the first row without a judgement."""
        self._review = review
        self._widget = widget
        self._at = self._next(0)
        self._said = ""
        widget.on_msg(lambda _widget, message, _buffers: self.take(message))
        self._show()

    def take(self, message: object) -> None:
        """Take a page's message; one about another row than the shown one does nothing.

        Args:
            message: any value from the page.
        """
        if not isinstance(message, Mapping) or message.get("at") != self._at:
            return
        step = message.get("do")
        if step == "back":
            self._said = ""
            self._at = max(self._at - 1, 0)
        elif self._at < len(self._review.sample):
            self._judge(step, message)
        self._show()

    def _judge(self, step: object, message: Mapping[str, Any]) -> None:
        """Record a label, a skipped row or a note."""
        review = self._review
        place = review.sample[self._at]
        before = review.judgement(place)
        note = message.get("note")
        note = note if isinstance(note, str) else ""
        label = message.get("label")
        try:
            if step == "label" and isinstance(label, str):
                review.give(place, label, note)
                self._said = self._comparison(place, label)
            elif step == "skip":
                review.give(place, None, note)
                self._said = f"Row {self._at + 1} was skipped."
            elif step == "note" and before is not None:
                review.give(place, before.label, note)
                self._said = f"The note of row {self._at + 1} is kept."
                return
            else:
                return
        except ChatError as error:
            self._said = str(error)
            return
        self._at = self._next(self._at + 1)

    def _comparison(self, place: int, label: str) -> str:
        """Return the person's label beside the model's, which may be shown now."""
        of_model = self._review.model_label(place)
        yours = f"Row {self._at + 1}: your label is {label}"
        if of_model is None:
            return f"{yours}."
        same = "the same" if of_model == label else of_model
        return f"{yours}, the model's is {same}."

    def _next(self, begin: int) -> int:
        """Return the first row from here that was not judged, or the row after the last one."""
        sample = self._review.sample
        for at in range(begin, len(sample)):
            if self._review.judgement(sample[at]) is None:
                return at
        return len(sample)

    def _show(self) -> None:
        """Send the widget the present row."""
        review = self._review
        count = len(review.sample)
        shown: dict[str, Any] = {
            "at": self._at,
            "count": count,
            "done": review.reviewed,
            "reviewer": visible(review.reviewer),
            "labels": [[key, label, visible(label)] for key, label in _keyed(review.labels)],
            "said": visible(self._said),
            "file": visible(review.file.name),
        }
        if self._at < count:
            place = review.sample[self._at]
            given = review.judgement(place)
            shown["text"] = [[visible(name), visible(text)] for name, text in review.text(place)]
            shown["label"] = None if given is None else given.label
            shown["skipped"] = given is not None and given.label is None
            shown["note"] = "" if given is None else given.note
            shown["model"] = visible(review.model_label(place) or "")
        self._widget.shown = shown


def _keyed(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Return the labels, each behind its key."""
    return list(zip(KEYS, labels, strict=False))


class PageReview(Review):
    """A review that shows itself: in a live page as a widget, elsewhere as a line."""

    def _ipython_display_(self) -> None:
        """Show the review in the output of the running cell."""
        shell = get_ipython()
        execution = None if shell is None else running(shell)
        form = None if execution is None else _widget_class(execution)
        if form is None:
            lines = [repr(self), _NO_PAGE]
            if execution is not None and execution.is_live:
                lines.append(_NO_ANYWIDGET)
            display({"text/plain": "\n".join(lines)}, raw=True)
            return
        widget = form()
        Reviewing(self, widget)
        view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
        bundle = {"application/vnd.jupyter.widget-view+json": view, "text/plain": repr(self)}
        display(bundle, raw=True)


def _widget_class(execution: Execution) -> type[DOMWidget] | None:
    """Return the class of the widget for a page; ``None`` where no page shows widgets."""
    if not execution.is_live:
        return None
    if execution.has_labextensions:
        return ReviewWidget
    if find_spec("anywidget") is None:
        return None
    from chatmagic.jupyter.page.anywidget_review import AnywidgetReview  # noqa: PLC0415 - an extra

    return AnywidgetReview


def review(
    frame: Any,
    labels: Iterable[Any],
    n: int = 50,
    seed: int | None = None,
    *,
    show: str | Sequence[str] | None = None,
    model: str = "reply",
    file: str | Path | None = None,
    reviewer: str = GOLD,
) -> Review:
    """Let a person label a random sample of the rows, without seeing the model's labels.

    In a page it is a widget: a key for each label, ``b`` for back, ``s`` for skip, ``n`` for a
    note. Without a page its ``to_csv`` and ``read_csv`` write and read a file to fill in. Each
    label is saved at once, and the same call resumes. Its ``gold`` is the column for
    ``chatmagic.agreement``.

    Args:
        frame: a table of pandas, polars or pyarrow, a dict of columns, or a list of dicts, such
            as ``chatmagic.map`` returned.
        labels: the labels to choose from.
        n: number of rows to label, drawn at random; all if there are fewer.
        seed: seed of the sample; ``None`` for that of the file, or 0.
        show: the columns that a person reads; ``None`` for the only one that is not the model's.
        model: the column with the model's label, shown after the person's.
        file: the file of the labels; ``None`` for ``review-….jsonl`` in the working folder.
        reviewer: the person's name, which names the column of the labels.

    Raises:
        InputError: the table, the labels or the file do not fit.
    """
    return PageReview(
        frame, labels, n=n, seed=seed, show=show, model=model, file=file, reviewer=reviewer
    )
