"""Descriptions of objects in the namespace, for ``{{ expression }}`` in a prompt.

The kind of an object determines its description: a table of pandas, an array of numpy, a figure of
matplotlib, a picture, a function or class, or anything else as IPython shows it. No library is
imported for that: an object of a library exists only if the library has been imported.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from numbers import Number
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.lib.pretty import pretty
from IPython.utils.dir2 import get_real_method

from chatmagic._log import log_swallowed, swallowed
from chatmagic.models import Reply
from chatmagic.safe_text import counted, one_line, without_memory_addresses

LIMIT: Final = 4_000
"""Largest number of characters of a description, with its line on the omitted part."""
_AS_IT_IS: Final = (str, Number, Reply, type(None))
_SIZED: Final = (list, tuple, set, frozenset, dict)
_NAME: Final = 40
_CUT_WORD: Final = re.compile(r"(?<![\w.+=-])([\w.+=-]{12})[\w.+=-]{1,200}\Z")
"""A word that was cut. Most of it is left out, as no check would find the rest of a password."""


class Descriptions:
    """Texts of the expressions of one prompt, and the note on them for the person who asks.

    Args:
        shell: the shell with the namespace of their evaluation.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Start without texts."""
        self._shell = shell
        self._words: list[str] = []

    def text(self, expression: str) -> str:
        """Evaluate an expression, and return the text that stands for its value.

        Args:
            expression: the text between the braces, as typed.

        Raises:
            Exception: any exception of the user's own code.
        """
        names = self._shell.user_ns
        value = eval(expression, self._shell.user_global_ns, names)  # noqa: S307 - the user's own code
        text, subject = describe(value, names)
        if subject:
            size = counted(len(text), "character")
            self._words.append(f"{one_line(expression, _NAME)}: {subject}, sent as {size}")
        return text

    @property
    def notes(self) -> tuple[str, ...]:
        """A line on the described values; none if all are texts and numbers."""
        return ("; ".join(dict.fromkeys(self._words)),) if self._words else ()


def describe(value: object, names: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text that stands for an object in a prompt, and its subject, such as ``80 rows``.

    A text stays as it is, and a number is its ``str()``, both without a subject. Any other
    description is
    at most :data:`LIMIT` long. If an object's own methods fail, the next way to describe it is
    tried.

    Args:
        value: any object; nothing is written to it.
        names: the user's namespace, with the sources of the cells.

    Raises:
        Exception: any exception of ``str()`` for a text or a number.
    """
    if issubclass(type(value), _AS_IT_IS) or is_a(value, "numpy", "generic"):
        return value.text if isinstance(value, Reply) else str(value), ""
    code = functools.partial(_code, names=names)
    ways = (_own_words, _table, _figure, _array, _display, _picture, code, _as_ipython_shows_it)
    for way in ways:
        with swallowed():  # an object's own methods may raise anything
            if (described := way(value)) is not None:
                return bounded(described[0]), described[1]
    kind = kind_of(value)
    return f"<{kind}, which cannot be shown as text>", kind


def bounded(text: str) -> str:
    """Return a text, cut at :data:`LIMIT` with a last line on the cut.

    Args:
        text: the text.
    """
    if len(text) <= LIMIT:
        return text
    line = f"\n[cut: the first {{:,}} of {len(text):,} characters]"
    kept = _CUT_WORD.sub(r"\1", text[: LIMIT - len(line.format(LIMIT))])
    return kept + line.format(len(kept))


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


def _own_words(value: object) -> tuple[str, str] | None:
    """Return an object's own words for a model, if it has any."""
    method = get_real_method(value, "_repr_llm_")
    text = None if method is None else method()
    return (text, f"own words of {kind_of(value)}") if isinstance(text, str) else None


def _as_ipython_shows_it(value: object) -> tuple[str, str]:
    """Return the description of any value: as IPython shows it."""
    return without_memory_addresses(pretty(value)), kind_of(value)


# --- Arrays of numpy -----------------------------------------------------------------------------


def _array(value: Any) -> tuple[str, str] | None:
    """Return the description of an array of numpy; ``None`` of anything else."""
    if not is_a(value, "numpy", "ndarray"):
        return None
    head = f"numpy array: shape {value.shape}, type {value.dtype}"
    pixels = [NO_PIXELS] if _is_like_a_picture(value) else []
    shown = without_memory_addresses(repr(value))
    return "\n".join([head, *pixels, *_summary(value), shown]), f"array of shape {value.shape}"


def _is_like_a_picture(value: Any) -> bool:
    """Return whether an array has the shape and type that pictures have."""
    *sides, channels = value.shape if value.ndim == _COLOURED else (*value.shape, 1)
    is_large = len(sides) == _FLAT and min(sides) >= _SMALLEST_SIDE
    return value.dtype == "uint8" and is_large and channels in _CHANNELS


NO_PIXELS: Final = "[no picture is sent: these are some of the numbers]"
_FLAT: Final = 2
_COLOURED: Final = 3
_CHANNELS: Final = (1, 3, 4)
"""Numbers of values of a pixel: grey, colours, and colours with opacity."""
_SMALLEST_SIDE: Final = 16


def _summary(value: Any) -> list[str]:
    """Return minimum, maximum and mean of an array of numbers, and the number of missing values.

    Args:
        value: an array of any type; times have no mean.
    """
    numpy: Any = sys.modules["numpy"]
    if not value.size or value.dtype.kind not in "biufmM":
        return []
    missing = numpy.isnat(value) if value.dtype.kind in "mM" else numpy.isnan(value)
    known = numpy.ma.array(value, mask=missing)
    count = int(known.count())
    if not count:
        return ["all missing"]
    mean = "" if value.dtype.kind in "mM" else f"mean {known.mean(dtype='float64'):.6g}, "
    return [f"min {known.min()}, max {known.max()}, {mean}missing {value.size - count:,}"]


# --- Tables of pandas ----------------------------------------------------------------------------

_MOST_COLUMNS: Final = 40
_CELL: Final = 60
_SAMPLES: Final = ((20, 40), (20, 20), (10, 10), (6, 6), (4, 4))
"""Numbers of shown rows and columns; the largest pair that fits is taken."""
_CUT_CELL: Final = re.compile(r"(?<![\w.+=-])([\w.+=-]{12})[\w.+=-]*\.\.\.")
"""A word that pandas has cut, whose beginning is kept, as for :data:`_CUT_WORD`."""


def _table(value: Any) -> tuple[str, str] | None:
    """Return the description of a DataFrame or Series; ``None`` of anything else."""
    if not is_a(value, "pandas", "DataFrame", "Series"):
        return None
    is_series = is_a(value, "pandas", "Series")
    frame = value.to_frame() if is_series else value
    rows = counted(len(frame), "row")
    shape = f"{rows}, {counted(frame.shape[1], 'column')}"
    head = f"pandas {'Series' if is_series else 'DataFrame'}: {shape}"
    columns = frame.dtypes.to_frame("type").assign(missing=frame.isna().sum().to_numpy())
    head += f"\n\n{columns.to_string(max_rows=_MOST_COLUMNS)}\n\n"
    for most_rows, most_columns in _SAMPLES:
        sample = frame.to_string(max_rows=most_rows, max_cols=most_columns, max_colwidth=_CELL)
        if len(head) + len(sample) <= LIMIT:
            break
    return without_memory_addresses(head + _CUT_CELL.sub(r"\1...", sample)), rows


# --- Figures of matplotlib -----------------------------------------------------------------------

NO_PICTURE: Final = "[no picture is sent: this describes the figure]"
_MOST_AXES: Final = 100
_POINTS: Final = 12
"""Largest number of points of a mark that are all listed."""


def _figure(value: Any) -> tuple[str, str] | None:
    """Return the description of a figure or of its axes; ``None`` of anything else."""
    if is_a(value, "seaborn.axisgrid", "Grid", "JointGrid"):
        value = value.figure
    is_figure = is_a(value, "matplotlib.figure", "FigureBase")
    axes = value.axes if is_figure else _axes(value)
    if not (is_figure or axes):
        return None
    title = value.get_suptitle() if is_figure else ""
    subject = f"figure with {counted(len(axes), 'plot')}"
    lines = [f"matplotlib {subject}{f': {one_line(title)}' if title else ''}", NO_PICTURE]
    for number, plot in enumerate(axes, 1):
        lines += ["", f"Plot {number} of {len(axes)}", *_plot(plot)]
    return "\n".join(lines), subject


def _axes(value: Any) -> list[Any]:
    """Return axes: one, or those in an array, as ``subplots`` gives them; empty for others."""
    if is_a(value, "numpy", "ndarray") and value.dtype == "object" and value.size <= _MOST_AXES:
        items = list(value.flat)
    else:
        items = [value]
    return items if all(is_a(item, "matplotlib.axes", "Axes") for item in items) else []


def _plot(axes: Any) -> list[str]:
    """Return the description of one plot of a figure, line by line."""
    named = ("title", axes.get_title()), ("x", axes.get_xlabel()), ("y", axes.get_ylabel())
    lines = [f"{name}: {one_line(text)}" for name, text in named if text]
    data = [("line", mark, mark.get_xdata(), mark.get_ydata()) for mark in axes.lines]
    data += [
        ("scatter", mark, *mark.get_offsets().T)
        for mark in axes.collections
        if is_a(mark, "matplotlib.collections", "PathCollection")
    ]
    data += [
        ("bars", mark, _bar_names(axes, mark), mark.datavalues)
        for mark in axes.containers
        if is_a(mark, "matplotlib.container", "BarContainer")
    ]
    lines += [_points(*points) for points in data]
    others = (*axes.images, *axes.texts, *axes.collections, *axes.patches)
    kinds = {type(mark).__name__ for mark in others} - {"PathCollection", "Rectangle"}
    if kinds:
        lines.append(f"also drawn: {', '.join(sorted(kinds))}")
    return lines


def _points(word: str, mark: Any, x: Any, y: Any) -> str:
    """Return the number of points that a mark draws, the first and last of them, and a summary."""
    numpy: Any = sys.modules["numpy"]
    label = str(mark.get_label())
    if label and not label.startswith("_"):  # matplotlib's own begin with an underscore
        word += f" “{one_line(label)}”"
    coordinates = {"x": numpy.asarray(x), "y": numpy.asarray(y)}
    texts = {
        name: numpy.array2string(
            array, sys.maxsize, separator=", ", formatter={"object": str}, threshold=_POINTS
        )
        for name, array in coordinates.items()
    }
    facts = [f"x: {texts['x']}", f"y: {', '.join([texts['y'], *_summary(coordinates['y'])])}"]
    return f"{word}: {'; '.join([counted(len(y), 'point'), *facts])}"


def _bar_names(axes: Any, bars: Any) -> list[Any]:
    """Return the names that an axis has for its bars: categories, labels, dates or numbers."""
    is_horizontal = bars.orientation == "horizontal"
    axis = axes.yaxis if is_horizontal else axes.xaxis
    coordinate = 1 if is_horizontal else 0
    formatter = axis.get_major_formatter()
    positions = [round(float(bar.get_center()[coordinate]), 6) for bar in bars.patches]
    if type(formatter).__module__ == "matplotlib.dates":
        num2date = sys.modules["matplotlib.dates"].num2date
        return [f"{num2date(position)}" for position in positions]
    if is_a(formatter, "matplotlib.ticker", "ScalarFormatter"):
        return positions
    # Bars that stand side by side have their label between them, at a whole number.
    return [
        formatter(position) or formatter(round(position)) or f"{position}" for position in positions
    ]


# --- Pictures, sounds and films ------------------------------------------------------------------

_NOT_SENT: Final = "[no {0} is sent: this describes the {0}]"
_SOURCE: Final = "[no picture is sent: this is its source]"
_MEDIA: Final = {"Image": "picture", "Audio": "sound", "Video": "film"}
"""What the classes of IPython and of ipywidgets show, by their names."""
_PICTURES: Final = {
    "PNG": rb"\x89PNG",
    "JPEG": rb"\xff\xd8\xff",
    "GIF": rb"GIF8",
    "WebP": rb"(?s:RIFF.{4}WEBP)",
}
"""Patterns of the first bytes of pictures, by their format."""
_SHOWN_AS_PICTURES: Final = ("_repr_png_", "_repr_jpeg_", "_repr_svg_", "_repr_mimebundle_")
_MOST_ITEMS: Final = 100
"""Largest number of items of a container that are searched for pictures."""


def _display(value: Any) -> tuple[str, str] | None:
    """Return the description of an object of ``IPython.display``; ``None`` of anything else."""
    kind = one_line(type(value).__name__, _NAME)
    for medium, word in _MEDIA.items():
        if is_a(value, "IPython.display", medium) or is_a(value, "ipywidgets", medium):
            return _medium(value, kind, word)
    if is_a(value, "IPython.display", "IFrame"):
        return f"{kind}: a frame that shows {value.src}", "words on a frame"
    if not is_a(value, "IPython.display", "DisplayObject"):
        return None
    text = value.data if isinstance(value.data, str) else pretty(value.data)
    is_picture = is_a(value, "IPython.display", "SVG")
    return (f"{_SOURCE}\n{text}" if is_picture else text), f"source of {kind}"


def _medium(value: Any, kind: str, word: str) -> tuple[str, str]:
    """Return the description of a picture, a sound or a film by its own facts."""
    facts = [
        f"{name}: {one_line(str(known))}"
        for name in ("format", "width", "height", "alt", "filename", "url")
        if (known := getattr(value, name, None))
    ]
    return "\n".join([f"{kind} of a notebook", _NOT_SENT.format(word), *facts]), _words_on(word)


def _words_on(word: str) -> str:
    """Return the subject of a description of a medium."""
    return f"words on a {word}, which is not sent"


def _picture(value: Any) -> tuple[str, str] | None:
    """Return the description of a picture of another library; ``None`` of anything else."""
    if is_a(value, "PIL.Image", "Image"):
        width, height = value.size
        words = f"PIL image: {width:,} by {height:,} pixels, mode {value.mode}"
        return f"{words}\n{_NOT_SENT.format('picture')}", _words_on("picture")
    if isinstance(value, bytes | bytearray):
        form = next((name for name, first in _PICTURES.items() if re.match(first, value)), None)
        if form is None:
            return None
        words = f"{type(value).__name__}: {counted(len(value), 'byte')} of a picture ({form})"
        return f"{words}\n{_NOT_SENT.format('picture')}", _words_on("picture")
    if not _holds_pictures(value):
        return None
    text, subject = _as_ipython_shows_it(value)
    return f"{text}\n{_NOT_SENT.format('picture')}", f"{subject}, without a picture"


def _holds_pictures(value: Any) -> bool:
    """Return whether a page shows an object, or an item of a container, as a picture alone."""
    if type(value) in _SIZED:
        items = value.values() if type(value) is dict else value
        first = [item for item, _ in zip(items, range(_MOST_ITEMS), strict=False)]
        return any(
            is_a(item, "PIL.Image", "Image") or is_a(item, "IPython.display", *_MEDIA)
            for item in first
        )
    # What has words of its own, such as an expression of sympy, is no picture alone.
    is_nameless = getattr(type(value), "__repr__", None) is object.__repr__
    return is_nameless and any(get_real_method(value, name) for name in _SHOWN_AS_PICTURES)


# --- Functions, classes and modules --------------------------------------------------------------

_CACHED: Final = type(functools.cache(lambda: None))


def _code(value: Any, names: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the source of a function or class, or its signature; ``None`` of anything else."""
    if inspect.ismodule(value):  # its repr has the path of its file
        return f"module {value.__name__}", "module"
    if not (inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, _CACHED)):
        return None
    source = _source(value, names)
    if source is not None:
        return source, "source"
    parameters = "(…)"
    with suppress(TypeError, ValueError):
        parameters = str(inspect.signature(value))
    return f"{value.__qualname__}{parameters}\n{inspect.getdoc(value) or ''}", "signature"


def _source(value: Any, names: Mapping[str, Any]) -> str | None:
    """Return the source of a function or class; ``None`` if it has none in Python."""
    if inspect.isclass(value) and value.__module__ == "__main__":
        # Python looks for a class in its module's file, which a notebook's classes have not.
        return _class_of_a_cell(value, names)
    try:
        return textwrap.dedent(inspect.getsource(value)).rstrip("\n")
    except (OSError, TypeError) as error:
        log_swallowed(error)
        return None


def _class_of_a_cell(value: type, names: Mapping[str, Any]) -> str | None:
    """Return the source of a class from the latest cell that defines one of its name.

    It is ``None`` for a class that is no longer in the namespace, as its cell is not known.
    """
    name = value.__qualname__
    if names.get(name) is not value:
        return None
    pattern = re.compile(rf"^(?:[ \t]*@.*\n)*[ \t]*class {name}\b", re.MULTILINE)
    for source in reversed(names.get("In", ())):
        if places := [match.start() for match in pattern.finditer(source)]:
            lines = source[places[-1] :].splitlines(keepends=True)
            return textwrap.dedent("".join(inspect.getblock(lines))).rstrip("\n")
    return None
