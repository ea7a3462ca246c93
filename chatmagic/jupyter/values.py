"""Descriptions of the namespace's objects, as ``{{ expression }}`` puts them into a prompt.

The kind of an object says how it is described: a table of pandas, an array of numpy, a figure of
matplotlib, a function or class, or anything else as IPython shows it. No library
is imported for that: an object of a library's is only there where that has been imported.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from numbers import Number
from typing import Any, Final

from IPython.core.formatters import PlainTextFormatter
from IPython.core.interactiveshell import InteractiveShell
from IPython.lib.pretty import RepresentationPrinter
from IPython.utils.dir2 import get_real_method

from chatmagic._log import log_swallowed, swallowed
from chatmagic.models import Reply
from chatmagic.text import counted, one_line, without_memory_addresses

_AS_IT_IS: Final = (str, Number, Reply, type(None))
_NAMED: Final = 5


class Descriptions:
    """Texts of the expressions of one prompt, and the note on them for the person who asks.

    Args:
        shell: the shell in whose namespace they are evaluated.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Begin with none."""
        self._shell = shell
        self._words: list[str] = []

    def text(self, expression: str) -> str:
        """Evaluate an expression, and return the text that stands for its value.

        Args:
            expression: as typed between the braces.

        Raises:
            Exception: what the user's own code raises.
        """
        shell = self._shell
        value = eval(expression, shell.user_global_ns, shell.user_ns)  # noqa: S307 - the user's own words
        description = describe(value, shell)
        if words := description.words(expression):
            self._words.append(words)
        return description.text

    @property
    def notes(self) -> tuple[str, ...]:
        """A line on the described values; none where all were texts and numbers."""
        words = list(dict.fromkeys(self._words))
        if len(words) > _NAMED:
            words[_NAMED:] = [f"and {counted(len(words) - _NAMED, 'more value')}"]
        return ("; ".join(words),) if words else ()


def describe(value: object, shell: InteractiveShell) -> Description:
    """Return the description of an object for a prompt.

    A text goes in as it is, a number as ``str()``. Nothing else is longer than
    :data:`LIMIT`. Where an object's own methods fail, the
    next way to describe it is taken.

    Args:
        value: any object; nothing is written to it.
        shell: the shell whose printers and cells count.

    Raises:
        Exception: what ``str()`` raises for a text or a number.
    """
    if issubclass(type(value), _AS_IT_IS):
        return Description(str(value))
    for way in (_own_words, _table, _array, _figure, _code, _as_ipython_shows_it):
        with swallowed():  # an object's own methods may raise anything
            description = way(value, shell)
            if description is not None and len(description.text) > LIMIT:
                return whole_or_cut(description.text, description.what, "the description")
            if description is not None:
                return description
    kind = kind_of(value)
    return Description(f"<{kind}, which cannot be shown as text>", kind)


def _own_words(value: object, _shell: InteractiveShell) -> Description | None:
    """Return an object's own words for a model, if it has any."""
    method = get_real_method(value, "_repr_llm_")
    text = None if method is None else method()
    if not isinstance(text, str):
        return None
    return whole_or_cut(str(text), f"own words of {kind_of(value)}", "its own words")


def _as_ipython_shows_it(value: object, shell: InteractiveShell) -> Description:
    text, complete = printed(value, shell)
    kind = kind_of(value)
    return whole_or_cut(text, kind, f"this {kind}", complete=complete)


# --- The text of a description, and its bound ----------------------------------------------------

LIMIT: Final = 4_000
"""The most characters of a description, with its line on the omitted part."""
COUNTED: Final = 100_000
"""How far a text is made to tell how long it is; a longer one is longer than that."""
_CELL: Final = 60
_NAME: Final = 40
_CELL_READ: Final = 1_000
_WORD: Final = 12
_CUT_WORD: Final = re.compile(rf"(?<![\w.+=-])([\w.+=-]{{{_WORD}}})[\w.+=-]{{1,200}}\Z")
"""A word that a cut goes through: of a password, most of it would be one that no check knows."""
_SCALARS: Final = (Number, date, time, timedelta)
_PLAIN: Final = PlainTextFormatter()
_SIZED: Final = (list, tuple, set, frozenset, dict)


@dataclass(frozen=True, slots=True)
class Description:
    """Text that stands for an object in a prompt.

    Args:
        text: the text, at most :data:`LIMIT` characters of an object that is no text.
        what: its subject, such as ``80 rows``; empty for a text or a number.
        whole: whether it is all of the object's text or source, not a selection.
    """

    text: str
    what: str = ""
    whole: bool = False

    def words(self, expression: str) -> str:
        """Return subject and size for a person, in one line; empty for a text or a number.

        Args:
            expression: as typed between the braces.
        """
        if not self.what:
            return ""
        size = counted(len(self.text), "character")
        how = "in" if self.whole else "described in"
        return f"{one_line(expression, _NAME)}: {self.what} {how} {size}"


def whole_or_cut(text: str, what: str, of: str, *, complete: bool = True) -> Description:
    """Return a text as a description, cut where it is too long.

    Args:
        text: the text.
        what: its subject.
        of: the subject in the line that says how much was left out.
        complete: whether there is no more of the text; otherwise it is of unknown length.
    """
    if complete and len(text) <= LIMIT:
        return Description(text, what, whole=True)
    total = f"{len(text):,}" if complete else f"more than {COUNTED:,}"
    line = f"\n[cut: the first {{:,}} of {total} characters of {of}]"
    kept = _CUT_WORD.sub(r"\1", text[: LIMIT - len(line.format(LIMIT))])
    return Description(kept + line.format(len(kept)), what)


def is_a(value: object, package: str, *names: str) -> bool:
    """Return whether an object is of a class of a library, which is not imported for that.

    Args:
        value: any object.
        package: the library's module.
        names: names of its classes.
    """
    module = sys.modules.get(package)
    kinds = (getattr(module, name, None) for name in names)
    return issubclass(type(value), tuple(kind for kind in kinds if isinstance(kind, type)))


def kind_of(value: object) -> str:
    """Return the name of an object's type, with its size where that is a built-in container.

    Args:
        value: any object.
    """
    name = one_line(type(value).__name__, _NAME)
    return f"{name} of {counted(len(value), 'item')}" if type(value) in _SIZED else name  # type: ignore[arg-type]


class _Full(Exception):  # noqa: N818 - it ends the printing, nothing is wrong
    """More was written than is wanted."""


class _Bounded(io.StringIO):
    """Stream that takes so many characters."""

    def __init__(self, limit: int) -> None:
        """Begin empty."""
        super().__init__()
        self._limit = limit

    def write(self, text: str) -> int:
        """Keep a piece as far as it fits.

        Args:
            text: the piece.

        Raises:
            _Full: it does not fit.
        """
        kept = super().write(text[: self._limit - self.tell()])
        if kept < len(text):
            raise _Full
        return kept


def printed(
    value: object, shell: InteractiveShell | None = None, limit: int = COUNTED
) -> tuple[str, bool]:
    """Return an object as IPython shows it in text, and whether that is all of it.

    A long one is printed no further than the limit, and no sequence is shortened before. It
    has no address of an object.

    Args:
        value: any object.
        shell: the shell whose printers count; ``None`` for IPython's own.
        limit: the most characters of the text.
    """

    def start(text: Any, printer: RepresentationPrinter, _cycle: object) -> None:
        # The repr of a whole text would be made before any of it is written.
        printer.text(repr(text if len(text) <= limit else text[: limit + 1]))

    stream = _Bounded(limit)
    display = None if shell is None else shell.display_formatter
    plain = _PLAIN if display is None else display.formatters["text/plain"]
    printer = RepresentationPrinter(
        stream,
        max_width=plain.max_width,
        max_seq_length=limit,
        singleton_pprinters=plain.singleton_printers,
        type_pprinters={**plain.type_printers, str: start, bytes: start, bytearray: start},
        # A copy: printing moves what is deferred to the types.
        deferred_pprinters={**plain.deferred_printers},
    )
    try:
        printer.pretty(value)
        printer.flush()
    except _Full:
        return without_memory_addresses(stream.getvalue()), False
    return without_memory_addresses(stream.getvalue()), True


def cell(value: object, limit: int = _CELL) -> str:
    """Return an object in a few characters, for a cell of a table; it never fails.

    Args:
        value: any object.
        limit: the most characters.
    """
    try:
        if issubclass(type(value), str):
            return _short(str(value)[:_CELL_READ], limit)
        if issubclass(type(value), _SCALARS) or is_a(value, "numpy", "generic"):
            return _short(str(value), limit)
        return _short(printed(value, limit=_CELL_READ)[0], limit)
    except Exception as error:  # noqa: BLE001 - an object's own methods may raise anything
        log_swallowed(error)
        return one_line(f"<{kind_of(value)}>", limit)


def _short(text: str, limit: int) -> str:
    line = one_line(text, limit + 1)
    if len(line) <= limit:
        return line
    return _CUT_WORD.sub(r"\1", line[: limit - 1]).rstrip() + "…"


def ends(total: int, most: int) -> list[int]:
    """Return the places of the first and the last of so many, two thirds of them first.

    Args:
        total: how many there are.
        most: how many places to give at most.
    """
    if total <= most:
        return list(range(total))
    last = most // 3
    return [*range(most - last), *range(total - last, total)]


def places(noun: str, shown: Sequence[int], total: int) -> str:
    """Return places in words, counted from 1: ``rows 1 to 7 and 78 to 80 of 80``.

    Args:
        noun: what stands there, in the singular.
        shown: the places, from 0, with one gap at most.
        total: how many there are.
    """
    if len(shown) == total:
        return f"all {counted(total, noun)}"
    gap = next((at for at, place in enumerate(shown) if at != place), len(shown))
    runs = [run for run in (shown[:gap], shown[gap:]) if run]
    named = " and ".join(
        f"{run[0] + 1:,} to {run[-1] + 1:,}" if len(run) > 1 else f"{run[0] + 1:,}" for run in runs
    )
    return f"{noun}s {named} of {total:,}"


# --- Arrays of numpy -----------------------------------------------------------------------------

SUMMED_WHOLE: Final = 1_000_000
"""Up to how many values the summary is of all of them."""
SAMPLE: Final = 100_000
"""Of how many it is otherwise, at about equal distances."""


def _array(value: Any, shell: InteractiveShell) -> Description | None:
    """Return the description of an array or of a number of numpy; ``None`` of anything else."""
    if is_a(value, "numpy", "generic") or (is_a(value, "numpy", "ndarray") and not value.shape):
        return Description(str(value))
    if not is_a(value, "numpy", "ndarray"):
        return None
    lines = [f"numpy array: shape {value.shape}, type {cell(str(value.dtype))}", *_summary(value)]
    text, complete = printed(value, shell)
    what = f"array of shape {value.shape}"
    whole = whole_or_cut("\n".join([*lines, text]), what, "the description", complete=complete)
    return replace(whole, whole=False)


def _summary(value: Any) -> list[str]:
    """Return minimum, maximum and mean of an array of numbers, and how many are missing.

    Args:
        value: an array of any type; of times there is no mean.
    """
    numpy: Any = sys.modules["numpy"]
    if not value.size or value.dtype.kind not in "biufmM":
        return []
    taken, of = value, ""
    if value.size > SUMMED_WHOLE:
        # Not at one distance, which might meet some of the columns alone.
        taken = value.flat[numpy.linspace(0, value.size - 1, SAMPLE, dtype=int)]
        of = f" (of a sample of {SAMPLE:,} of {value.size:,} values)"
    values = numpy.asarray(taken)
    missing = numpy.isnat(values) if value.dtype.kind in "mM" else numpy.isnan(values)
    if is_a(taken, "numpy.ma", "MaskedArray"):
        missing = missing | numpy.ma.getmaskarray(taken)
    known, total = values[~missing], values.size
    if value.dtype.kind == "b":
        return [f"true: {int(known.sum()):,} of {total:,}{of}"]
    if not len(known):
        return [f"all missing{of}"]
    words = [f"min {cell(known.min())}", f"max {cell(known.max())}"]
    if value.dtype.kind in "iuf":
        with numpy.errstate(all="ignore"):
            words.append(f"mean {float(known.mean(dtype='float64')):.6g}")
    words.append(f"missing {int(missing.sum()):,}")
    return [", ".join(words) + of]


# --- Tables of pandas ----------------------------------------------------------------------------

_COLUMNS: Final = 40
_ROWS: Final = 20
_FEW_ROWS: Final = 5


def _table(value: Any, _shell: InteractiveShell) -> Description | None:
    """Return the description of a DataFrame or Series; ``None`` of anything else."""
    if not is_a(value, "pandas", "DataFrame", "Series"):
        return None
    is_series = is_a(value, "pandas", "Series")
    frame = value.to_frame() if is_series else value
    rows = counted(len(frame), "row")
    shape = f"{rows}, {counted(frame.shape[1], 'column')}"
    text = f"pandas {'Series' if is_series else 'DataFrame'}: {shape}\n"
    if frame.shape[1]:
        text += _columns(frame)
        text += _sample(frame, LIMIT - len(text)) if len(frame) else ""
    return Description(text.rstrip("\n"), rows)


def _columns(frame: Any) -> str:
    """Return the list of the columns, with the number of missing values in each."""
    part, total = frame.iloc[:, :_COLUMNS], frame.shape[1]
    lines = ["", "| column | type | missing |", "|---|---|---|"]
    for at, (name, kind) in enumerate(zip(part.columns, part.dtypes, strict=True)):
        missing = f"{int(part.iloc[:, at].isna().sum()):,}"
        lines.append(_row([_place_label(name), cell(str(kind)), missing]))
    if total > _COLUMNS:
        lines += ["", f"[{places('column', range(_COLUMNS), total)}; no others are listed]"]
    return "\n".join(lines) + "\n"


def _sample(frame: Any, room: int) -> str:
    """Return as many columns and rows as a number of characters has room for."""
    part = frame.iloc[:, :_COLUMNS]  # a view, nothing is copied
    total, columns = frame.shape
    index = ", ".join(cell(name) for name in frame.index.names if name is not None)
    head = [index, *map(_place_label, part.columns)]
    across = range(part.shape[1])
    grid = {
        row: [_place_label(part.index[row]), *(cell(part.iloc[row, at]) for at in across)]
        for row in ends(total, _ROWS)
    }

    def text(rows: int, width: int) -> str:
        shown = ends(total, rows)
        words = places("row", shown, total)
        if width < columns:
            words += f", {places('column', range(width), columns)}"
        title, rule = f"{words[0].upper()}{words[1:]}:", "|---" * (width + 1) + "|"
        table = [_row(cells[: width + 1]) for cells in (head, *(grid[at] for at in shown))]
        return "\n".join(["", title, "", table[0], rule, *table[1:]])

    rows, width = len(grid), len(across)
    while len(text(rows, width)) > room and width > 1:
        rows, width = (rows - 1, width) if rows > _FEW_ROWS else (rows, width - 1)
    return text(rows, width)


def _place_label(name: object) -> str:
    """Return the name of a row or column, which has several parts where there are levels."""
    return ", ".join(map(cell, name)) if type(name) is tuple else cell(name)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


# --- Figures of matplotlib -----------------------------------------------------------------------

NO_PICTURE: Final = "[no picture is sent: this describes the figure]"
_POINTS: Final = 12
_MARKS: Final = 20
"""How many lines, scatters and bar charts of a plot are described."""


def _figure(value: Any, _shell: InteractiveShell) -> Description | None:
    """Return the description of a figure or of its axes; ``None`` of anything else."""
    if is_a(value, "matplotlib.figure", "Figure"):
        axes, title = value.axes, value.get_suptitle()
    elif is_a(value, "matplotlib.axes", "Axes"):
        axes, title = [value], ""
    else:
        return None
    what = f"figure with {counted(len(axes), 'plot')}"
    lines = [f"matplotlib {what}{f': {one_line(title)}' if title else ''}", NO_PICTURE]
    for number, each in enumerate(axes, 1):
        lines += ["", f"Plot {number} of {len(axes)}", *_plot(each)]
    return Description("\n".join(lines), what)


def _plot(axes: Any) -> list[str]:
    """Return the description of one plot of a figure, line by line."""
    named = ("title", axes.get_title()), ("x", axes.get_xlabel()), ("y", axes.get_ylabel())
    lines = [f"{name}: {one_line(text)}" for name, text in named if text]
    # The data as given: the processed ones are made, and kept, when they are asked for.
    data = [("line", mark, mark.get_xdata(), mark.get_ydata()) for mark in axes.lines]
    others, in_bars = [*axes.images, *axes.texts], set()
    for mark in axes.collections:
        if is_a(mark, "matplotlib.collections", "PathCollection"):
            data.append(("scatter", mark, *mark.get_offsets().T))
        else:
            others.append(mark)
    for mark in axes.containers:
        if is_a(mark, "matplotlib.container", "BarContainer"):
            data.append(("bars", mark, _bar_names(axes, mark), mark.datavalues))
            in_bars |= {*map(id, mark.patches)}
    others += [patch for patch in axes.patches if id(patch) not in in_bars]
    lines += [_points(*each) for each in data[:_MARKS]]
    if len(data) > _MARKS:
        lines.append(f"[{_MARKS:,} of {len(data):,} are described]")
    if others:
        lines.append(f"also drawn: {', '.join(sorted({type(mark).__name__ for mark in others}))}")
    return lines


def _points(word: str, mark: Any, x: Any, y: Any) -> str:
    """Return the number of points that a mark draws, a summary, and the first and last of them."""
    label = str(mark.get_label())  # matplotlib's own begin with an underscore
    label = "" if not label or label.startswith("_") else f" “{one_line(label)}”"
    at = ends(len(y), _POINTS)
    points = ", ".join(f"({cell(x[place])}, {cell(y[place])})" for place in at)
    summary = "".join(f"; y: {words}" for words in _summary(sys.modules["numpy"].asarray(y)))
    size = counted(len(y), "point")
    return f"{word}{label}: {size}{summary}; {places('point', at, len(y))}: {points}"


def _bar_names(axes: Any, bars: Any) -> list[Any]:
    """Return the names that an axis has for its bars: categories, labels, dates or numbers."""
    lies = bars.orientation == "horizontal"
    formatter = (axes.yaxis if lies else axes.xaxis).get_major_formatter()
    # A bar's own centre is worked out, and kept, when it is asked for.
    sides = [
        round(bar.get_y() + bar.get_height() / 2 if lies else bar.get_x() + bar.get_width() / 2, 6)
        for bar in bars.patches
    ]
    if type(formatter).__module__ == "matplotlib.dates":
        return [sys.modules["matplotlib.dates"].num2date(side) for side in sides]
    if is_a(formatter, "matplotlib.ticker", "ScalarFormatter"):
        return sides
    # Bars that stand side by side are beside the place that has the label.
    return [formatter(side) or formatter(round(side)) or side for side in sides]


# --- Functions, classes and modules --------------------------------------------------------------

_CACHED: Final = type(functools.cache(lambda: None))


def _code(value: Any, shell: InteractiveShell) -> Description | None:
    """Return the description of a function, class or module; ``None`` of anything else."""
    if inspect.ismodule(value):  # its repr has the path of its file
        return Description(f"module {value.__name__}", "module", whole=True)
    if not (inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, _CACHED)):
        return None
    source = _source(value, shell)
    if source is not None:
        return whole_or_cut(source, "source", "the source")
    return whole_or_cut(_outline(value), "signature", "signature and docstring")


def _source(value: Any, shell: InteractiveShell) -> str | None:
    """Return the source of a function or class; ``None`` where there is none in Python."""
    if inspect.isclass(value) and value.__module__ == "__main__":
        # Python looks for a class in its module's file, which a notebook's classes have not.
        return _class_of_a_cell(value, shell)
    try:
        return textwrap.dedent(inspect.getsource(value)).rstrip("\n")
    except (OSError, TypeError) as error:
        log_swallowed(error)
        return None


def _class_of_a_cell(value: type, shell: InteractiveShell) -> str | None:
    """Return the source of a class from the latest cell that defines one of its name.

    A class that the namespace has no more was defined by an earlier cell, which is not known.
    """
    name = value.__qualname__
    if shell.user_ns.get(name) is not value:
        return None
    for source in reversed(shell.user_ns.get("In", ())):
        if f"class {name}" not in source:
            continue
        nodes: list[ast.AST] = []
        with swallowed(SyntaxError, ValueError, RecursionError, MemoryError):
            nodes = list(ast.walk(ast.parse(source)))
        for node in reversed(nodes):
            if isinstance(node, ast.ClassDef) and node.name == name:
                begin = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                return textwrap.dedent("\n".join(source.splitlines()[begin - 1 : node.end_lineno]))
    return None


def _outline(value: Any) -> str:
    """Return name, parameters and docstring of an object without source in Python."""
    kind = "class" if inspect.isclass(value) else "function"
    try:
        parameters = str(inspect.signature(value))
    except (TypeError, ValueError):
        parameters = "(…)"
    name = ".".join(filter(None, [getattr(value, "__module__", None), value.__qualname__]))
    return f"{kind} {name}{parameters}\n{inspect.getdoc(value) or ''}".rstrip()
