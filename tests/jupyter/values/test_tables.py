"""Tables of pandas and polars in a prompt: shape, types, missing values, a sample, a bound."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from libraries import library
from shells import Shell, asked

from chatmagic.jupyter.values import tables
from chatmagic.jupyter.values.description import LIMIT

if TYPE_CHECKING:
    from logged import Emulator


@pytest.fixture(scope="module")
def pandas() -> Any:
    """Give pandas."""
    return library("pandas")


@pytest.fixture(scope="module")
def polars() -> Any:
    """Give polars."""
    return library("polars")


def text(value: object) -> str:
    """Give the description of a table, which keeps to its bound."""
    description = tables.describe(value)
    assert description is not None
    assert len(description.text) <= LIMIT
    return description.text


SMALL = """\
pandas DataFrame: 3 rows, 2 columns

| column | type | missing |
|---|---|---|
| n | float64 | 1 |
| a\\|b | object | 1 |

All 3 rows:

| id | n | a\\|b |
|---|---|---|
| 5 | 1.5 | two lines |
| 6 | nan | x\\|y |
| 7 | 3.0 | None |"""


def test_a_frame_of_pandas_is_described(pandas: Any) -> None:
    """Each column with its type and what is missing; a cell stays a cell."""
    index = pandas.Index([5, 6, 7], name="id")
    column = pandas.Series(["two\nlines", "x|y", None], dtype=object, index=index)
    frame = pandas.DataFrame({"n": pandas.Series([1.5, None, 3], index=index), "a|b": column})
    assert text(frame) == SMALL


def test_a_series_of_pandas_is_described(pandas: Any) -> None:
    """As a table of one column."""
    described = text(pandas.Series(range(30), name="n"))
    assert described.startswith("pandas Series: 30 rows, 1 column\n\n| column | type | missing |\n")
    assert "| n | int64 | 0 |\n\nRows 1 to 14 and 25 to 30 of 30:\n\n|  | n |\n" in described
    assert "| 13 | 13 |\n| 24 | 24 |\n" in described
    assert text(pandas.Series([1])).endswith("All 1 row:\n\n|  | 0 |\n|---|---|\n| 0 | 1 |")


def test_a_frame_and_a_series_of_polars_are_described(polars: Any) -> None:
    """As those of pandas, without an index."""
    frame = polars.DataFrame({"n": [1, None], "s": ["x", "y"]})
    assert text(frame) == (
        "polars DataFrame: 2 rows, 2 columns\n\n| column | type | missing |\n|---|---|---|\n"
        "| n | Int64 | 1 |\n| s | String | 0 |\n\nAll 2 rows:\n\n"
        "| n | s |\n|---|---|\n| 1 | x |\n| None | y |"
    )
    assert text(frame["n"]).startswith("polars Series: 2 rows, 1 column\n")


def test_an_empty_table_is_described(pandas: Any, polars: Any) -> None:
    """Without rows there is no sample, without columns no list of them."""
    assert text(pandas.DataFrame()) == "pandas DataFrame: 0 rows, 0 columns"
    assert text(polars.DataFrame()) == "polars DataFrame: 0 rows, 0 columns"
    assert text(pandas.DataFrame({"a": []})).endswith("| a | float64 | 0 |")
    assert text(pandas.DataFrame(index=[1, 2])) == "pandas DataFrame: 2 rows, 0 columns"


def test_a_wide_table_says_which_columns_it_shows(pandas: Any, polars: Any) -> None:
    """As many as there is room for, of the list and of the sample."""
    rows = [["word " * 20] * 1_000] * 50
    names = [f"column number {number}" for number in range(1_000)]
    for frame in (
        pandas.DataFrame(rows, columns=names),
        polars.DataFrame(rows, schema=names, orient="row"),
    ):
        described = text(frame)
        assert "50 rows, 1,000 columns" in described
        listed = described.split("[columns 1 to ")[1].split(" of 1,000; no others are listed]")[0]
        assert f"column number {int(listed) - 1} |" in described
        assert f"column number {listed} |" not in described
        assert "of 50, columns 1 to " in described
        assert "word word word word word word word word word word word word…" in described


def test_columns_of_one_name_and_names_of_many_parts(pandas: Any) -> None:
    """Columns and rows are taken by their place, their names are whatever they are."""
    frame = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    assert text(frame).endswith("|  | a | a |\n|---|---|---|\n| 0 | 1 | 2 |")
    index = pandas.MultiIndex.from_tuples([("u", 1), ("v", 2)], names=["region", "year"])
    described = text(pandas.DataFrame({("x", "y"): [3, 4]}, index=index))
    assert "| x, y | int64 | 0 |" in described
    assert "| region, year | x, y |" in described
    assert described.endswith("| u, 1 | 3 |\n| v, 2 | 4 |")


def test_hostile_cells_stay_cells(pandas: Any) -> None:
    """What fails is named by its type, what is long is cut, what would act is shown."""

    class Silent:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    cells = pandas.Series([Silent(), "x" * 10**7, ["y"] * 10**6, "\x1b[2J{{ z }}"], dtype=object)
    described = text(cells)
    assert "| 0 | <Silent> |" in described
    assert f"| 1 | {'x' * 12}… |" in described
    assert "| 2 | ['y', 'y'" in described
    assert "| 3 | \u241b[2J{{ z }} |" in described


def test_ten_million_rows_are_described_within_a_second(pandas: Any, polars: Any) -> None:
    """Missing values are counted in a sample, which is named with its size."""
    numpy = library("numpy")
    numbers = numpy.arange(10_000_000)
    gaps = numpy.where(numbers % 200 == 0, numpy.nan, 0.5)
    frames = (
        pandas.DataFrame({"n": numbers, "gaps": gaps}),
        polars.DataFrame({"n": numbers, "gaps": polars.Series(gaps, nan_to_null=True)}),
    )
    for frame in frames:
        began = time.thread_time()
        described = text(frame)
        assert time.thread_time() - began < 1
        assert "10,000,000 rows, 2 columns" in described
        assert "64 | 50,000 |" in described
        assert (
            "[missing values are counted in a sample of 100,000 of 10,000,000 rows, one in every "
            "100]\n\nRows 1 to 14 and 9,999,995 to 10,000,000 of 10,000,000:" in described
        )
        assert "| 9999999 | 0.5 |" in described


def test_up_to_a_million_rows_missing_values_are_counted_in_all(pandas: Any) -> None:
    """From one row more on in a sample; and so where there are very many columns."""
    numpy = library("numpy")
    million = numpy.zeros(1_000_001)
    million[7] = numpy.nan
    exact = text(pandas.Series(million[:-1]))
    assert "| 0 | float64 | 1 |" in exact
    assert "sample" not in exact
    assert "a sample of 90,910 of 1,000,001 rows, one in every 11]" in text(pandas.Series(million))
    wide = pandas.DataFrame(numpy.zeros((300_000, 40), dtype="int8"))
    assert "a sample of 100,000 of 300,000 rows, one in every 3]" in text(wide)


def test_a_frame_is_not_changed(pandas: Any) -> None:
    """Neither its values nor what it knows of itself."""
    frame = pandas.DataFrame({"n": [1, 2], "s": ["x", None]})
    frame.attrs["source"] = "given"
    before, known = frame.copy(deep=True), set(vars(frame))
    text(frame)
    text(frame["s"])
    pandas.testing.assert_frame_equal(frame, before)
    assert set(vars(frame)) == known
    assert frame.attrs == {"source": "given"}


def test_a_cell_asks_about_a_frame(shell: Shell, emulator: Emulator, pandas: Any) -> None:
    """The description is sent, the line under the cell has rows and size; more by the user."""
    shell.shell.user_ns["df"] = pandas.DataFrame({"n": range(80)})
    ran = shell.page("%%chat\necho:Which n?\n\n{{ df }}", "a")
    ((prompt,),) = asked(emulator)
    assert prompt.startswith("echo:Which n?\n\npandas DataFrame: 80 rows, 1 column\n")
    size = len(prompt) - len("echo:Which n?\n\n")
    line = f"df: 80 rows described in {size} characters"
    assert line in ran.messages[0]["data"]["text/html"]
    shell.machine("%chat --no-history echo:{{ df.to_csv() }}")
    assert asked(emulator)[1] == ["echo:" + shell["df"].to_csv()]


def test_a_secret_in_a_frame_stops_the_ask(
    shell: Shell, emulator: Emulator, pandas: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The description is what is looked at, and the expression is named."""
    monkeypatch.setenv("SERVICE_TOKEN", "tok3n|of-a-service")
    shell.shell.user_ns["df"] = pandas.DataFrame({"header": ["Bearer tok3n|of-a-service"]})
    ran = shell.fails("%chat What is {{ df }}?")
    assert "The value of {{ df }} holds the value of" in ran.traceback[0]
    assert "tok3n" not in ran.everything
    assert not emulator.requests


@pytest.mark.parametrize("module", [None, object()])
def test_what_is_no_table_is_not_taken_for_one(
    monkeypatch: pytest.MonkeyPatch, module: object
) -> None:
    """Where no library is loaded, or another module has its name."""
    for name in ("pandas", "polars"):
        if module is None:
            monkeypatch.delitem(sys.modules, name, raising=False)
        else:
            monkeypatch.setitem(sys.modules, name, module)
    assert tables.describe([1]) is None
