"""Arrays of numpy: shape, type, a summary of the values, and the corners."""

from __future__ import annotations

import math
import sys
from typing import Any, Final

from chatmagic.jupyter.values.description import (
    Description,
    cell,
    ends,
    gap_of,
    is_a,
    places,
)
from chatmagic.text import counted

SUMMED_WHOLE: Final = 1_000_000
"""Up to how many values the summary is of all of them."""
SAMPLE: Final = 100_000
"""Of about how many it is otherwise, at equal distances."""
_LINE: Final = 30
_EDGE: Final = 9
_CELL: Final = 24


def describe(value: Any) -> Description | None:
    """Return the description of an array or of a number of numpy; ``None`` of anything else."""
    if is_a(value, "numpy", "generic") or (is_a(value, "numpy", "ndarray") and not value.shape):
        return Description(str(value))
    if not is_a(value, "numpy", "ndarray"):
        return None
    if is_a(value, "numpy", "matrix"):
        value = sys.modules["numpy"].asarray(value)  # a row of a matrix is a matrix
    lines = [f"numpy array: shape {value.shape}, type {cell(str(value.dtype))}"]
    if value.size:
        lines += [*summary(value), *_corners(value)]
    return Description("\n".join(lines), f"array of shape {value.shape}")


def summary(value: Any) -> list[str]:
    """Return minimum, maximum and mean of an array of numbers, and how many are missing.

    Args:
        value: an array of any type, with at least one value; of times there is no mean.
    """
    numpy: Any = sys.modules["numpy"]
    if value.dtype.kind not in "biufmM":
        return []
    step = -(-value.size // SAMPLE) if value.size > SUMMED_WHOLE else 1
    while math.gcd(step, value.size // len(value)) > 1:
        step += 1  # with a factor in common it would meet some of the columns alone
    taken = value.flat[::step]
    values = numpy.asarray(taken)
    missing = numpy.isnat(values) if value.dtype.kind in "mM" else numpy.isnan(values)
    if is_a(taken, "numpy.ma", "MaskedArray"):
        missing = missing | numpy.ma.getmaskarray(taken)
    known, total = values[~missing], len(values)
    of = f" (of a sample of {total:,} values, one in every {step:,})" if step > 1 else ""
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


def _corners(value: Any) -> list[str]:
    """Return the first and last values of a line, or of the first plane's rows and columns."""
    if value.ndim == 1:
        at = ends(len(value), _LINE)
        return [f"{places('value', at, len(value))}:", _line(value, at)]
    planes, where = 1, (0,) * (value.ndim - 2)
    for size in value.shape[:-2]:
        planes *= size
    plane = value[where]
    rows, columns = (ends(size, _EDGE) for size in plane.shape)
    named = (("row", rows, plane.shape[0]), ("column", columns, plane.shape[1]))
    words = ", ".join(places(*each) for each in named)
    if where:
        words += f" of {list(where)}, the first of {counted(planes, 'plane')}"
    return [f"{words}:", *(_line(plane[row], columns) for row in rows)]


def _line(values: Any, at: list[int]) -> str:
    cells = [cell(values[place], _CELL) for place in at]
    if (gap := gap_of(at)) < len(at):
        cells.insert(gap, "…")
    return f"[{', '.join(cells)}]"
