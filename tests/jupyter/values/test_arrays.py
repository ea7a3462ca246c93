"""Arrays of numpy in a prompt: shape, type, summary, corners."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from libraries import library

from chatmagic.jupyter.values import arrays
from chatmagic.jupyter.values.describe import describe
from chatmagic.jupyter.values.description import LIMIT

if TYPE_CHECKING:
    from shells import Shell


@pytest.fixture(scope="module")
def numpy() -> Any:
    """Give numpy."""
    return library("numpy")


def lines(value: object) -> list[str]:
    """Give the lines of an array's description, which keeps to its bound."""
    description = arrays.describe(value)
    assert description is not None
    assert len(description.text) <= LIMIT
    return description.text.splitlines()


def test_an_array_is_described(numpy: Any) -> None:
    """A small one has all of its values."""
    assert lines(numpy.arange(6).reshape(2, 3)) == [
        "numpy array: shape (2, 3), type int64",
        "min 0, max 5, mean 2.5, missing 0",
        "all 2 rows, all 3 columns:",
        "[0, 1, 2]",
        "[3, 4, 5]",
    ]


def test_a_large_array_shows_its_corners(numpy: Any) -> None:
    """And says which; of more than two dimensions the first plane."""
    square = numpy.arange(10_000).reshape(100, 100)
    assert lines(square)[2:5] == [
        "rows 1 to 6 and 98 to 100 of 100, columns 1 to 6 and 98 to 100 of 100:",
        "[0, 1, 2, 3, 4, 5, …, 97, 98, 99]",
        "[100, 101, 102, 103, 104, 105, …, 197, 198, 199]",
    ]
    assert lines(square)[-1] == "[9900, 9901, 9902, 9903, 9904, 9905, …, 9997, 9998, 9999]"
    assert lines(numpy.arange(40))[2] == "values 1 to 20 and 31 to 40 of 40:"
    assert lines(numpy.zeros((3, 4, 1, 2)))[2:] == [
        "all 1 row, all 2 columns of [0, 0], the first of 12 planes:",
        "[0.0, 0.0]",
    ]


@pytest.mark.parametrize(
    ("values", "kind", "line"),
    [
        ([1.5, float("nan"), 3], "f8", "min 1.5, max 3.0, mean 2.25, missing 1"),
        ([float("nan")], "f8", "all missing"),
        ([500] * 200, "f2", "min 500.0, max 500.0, mean 500, missing 0"),
        ([True, False, True], "?", "true: 2 of 3"),
        (["2026-01-01", "NaT"], "M8[D]", "min 2026-01-01, max 2026-01-01, missing 1"),
        ([2, 1], "m8[s]", "min 1 seconds, max 2 seconds, missing 0"),
        (["b", "a"], "U1", None),
        ([1j], "c16", None),
        ([{}, None], "O", None),
        ([(1, 2.5)], "i4,f8", None),
    ],
)
def test_the_summary_is_what_the_type_has(
    numpy: Any, values: list[Any], kind: str, line: str | None
) -> None:
    """Least, greatest and mean where there are such; nothing of texts and objects."""
    made = lines(numpy.array(values, dtype=kind))
    assert made[0] == f"numpy array: shape ({len(values)},), type {made[0].split('type ')[1]}"
    assert made[1:-2] == ([] if line is None else [line])


def test_masked_values_are_missing(numpy: Any) -> None:
    """And are neither the minimum nor shown; a matrix is described as an array."""
    masked = numpy.ma.array([1, 2, 3], mask=[True, False, False])
    assert lines(masked)[1:] == [
        "min 2, max 3, mean 2.5, missing 1",
        "all 3 values:",
        "[masked, 2, 3]",
    ]
    assert "true: 1 of 2" in lines(numpy.ma.array([True, True], mask=[True, False]))
    matrix = numpy.arange(4).reshape(2, 2).view(numpy.matrix)
    assert lines(matrix) == lines(numpy.arange(4).reshape(2, 2))


def test_an_array_without_values_has_its_shape(numpy: Any) -> None:
    """Whatever dimension is empty."""
    assert lines(numpy.empty((0, 3))) == ["numpy array: shape (0, 3), type float64"]


def test_over_a_million_values_the_summary_is_of_a_sample(numpy: Any) -> None:
    """Which is named with its size; it takes no time, however many there are."""
    value = numpy.broadcast_to(numpy.arange(1_000.0), (100_000, 1_000))
    began = time.thread_time()
    made = lines(value)
    assert time.thread_time() - began < 1
    # Not one column alone, as with every thousandth value.
    assert made[1].startswith("min 0.0, max 999.0, mean 499.")
    assert made[1].endswith("missing 0 (of a sample of 99,901 values, one in every 1,001)")
    assert "sample" not in lines(numpy.zeros(1_000_000))[1]
    assert "sample of 90,910 values" in lines(numpy.zeros(1_000_001))[1]


@pytest.mark.parametrize("dimensions", [1, 2, 3, 32])
def test_no_array_is_longer_than_the_bound(numpy: Any, dimensions: int) -> None:
    """Not of long texts, nor of many dimensions or fields."""
    shape = (2,) * dimensions if dimensions > 2 else (50,) * dimensions
    narrow = (1,) * 30 + (2, 2) if dimensions == 32 else shape
    lines(numpy.full(narrow, "x" * 1_000))
    fields = [(f"field{number}", "f8") for number in range(500)]
    lines(numpy.zeros(narrow, dtype=fields))


def test_numbers_of_numpy_go_in_as_numbers(numpy: Any, bare: Shell) -> None:
    """As ``str``, without a line under the cell."""
    for value in (numpy.float64(1.5), numpy.int8(3), numpy.bool_(1), numpy.array(7)):
        description = describe(value, bare.shell)
        assert description.text == str(value)
        assert not description.words("x")
    assert describe(numpy.arange(3), bare.shell).words("a") == (
        "a: array of shape (3,) described in 91 characters"
    )
