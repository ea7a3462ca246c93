"""What stands for an object in a prompt: of each kind, within a bound, whatever fails."""

from __future__ import annotations

import functools
import hashlib
import re
import textwrap
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn, cast

import pytest
from IPython.core.interactiveshell import InteractiveShell
from libraries import library
from logged import Emulator
from shells import Shell, asked

from chatmagic.jupyter.values import (
    COUNTED,
    LIMIT,
    cell,
    describe,
    whole_or_cut,
)
from chatmagic.models import Reply


class Named:
    """An object with words for a model.

    Args:
        words: what a method of a name returns.
    """

    def __init__(self, **words: Any) -> None:
        """Keep the words."""
        for name, value in words.items():
            vars(self)[name] = lambda value=value, **_: value

    def __repr__(self) -> str:
        """Return what a person sees."""
        return "Named()"


def fail(*_: object, **__: object) -> NoReturn:
    """Fail.

    Raises:
        ZeroDivisionError: always.
    """
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "value",
    [
        "x" * (3 * LIMIT),
        "",
        "{{ y }} {% raw %} $x$ \\alpha\r\n\t ",
        "\ud800",
        True,
        None,
        3,
        10**400,
        0.1,
        1e22,
        float("nan"),
        2 + 1j,
        Decimal("1.50"),
        Fraction(1, 3),
        Reply("word " * LIMIT),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_text_or_a_number_goes_in_as_it_is(bare: Shell, value: object) -> None:
    """A text whole, however long, a number as ``str``; neither has a line under the cell."""
    description = describe(value, bare.shell)
    assert description.text == str(value)
    assert description.words("x") == ""


class Every:
    """An object with every attribute."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        """Return a method, whatever its name is."""
        return lambda **_: name

    def __repr__(self) -> str:
        """Return its text."""
        return "Every()"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"_repr_llm_": "for a model"}, "for a model"),
        ({"_repr_llm_": None}, "Named()"),
        ({"_repr_mimebundle_": {"text/plain": "for a person"}}, "Named()"),
        ({"_repr_llm_": 7}, "Named()"),
    ],
)
def test_an_objects_own_words_for_a_model_come_first(
    bare: Shell, words: dict[str, Any], text: str
) -> None:
    """By ``_repr_llm_``; what is no text counts as none, and an object has not every attribute."""
    assert describe(Named(**words), bare.shell).text == text
    assert describe(Every(), bare.shell).text == "Every()"


@pytest.mark.parametrize(
    ("value", "text", "words"),
    [
        ([1, "a", None], "[1, 'a', None]", "x: list of 3 items in 14 characters"),
        ({3, 1, 2}, "{1, 2, 3}", "x: set of 3 items in 9 characters"),
        ({"b": 1, "a": 2}, "{'b': 1, 'a': 2}", "x: dict of 2 items in 16 characters"),
        ([7], "[7]", "x: list of 1 item in 3 characters"),
        (b"\x00", "b'\\x00'", "x: bytes in 7 characters"),
        (range(3), "range(0, 3)", "x: range in 11 characters"),
        # An address differs in each kernel.
        ([object()], "[<object at 0x…>]", "x: list of 1 item in 17 characters"),
        (Named(), "Named()", "x: Named in 7 characters"),
    ],
)
def test_anything_else_is_as_ipython_shows_it(
    bare: Shell, value: object, text: str, words: str
) -> None:
    """In text, with the printers of the shell."""
    description = describe(value, bare.shell)
    assert (description.text, description.words("x")) == (text, words)


def test_the_printers_of_the_shell_count_and_stay(bare: Shell) -> None:
    """What the user registered is used; a description changes nothing in the formatter."""
    formatter = bare.shell.display_formatter
    assert formatter is not None
    plain = formatter.formatters["text/plain"]
    plain.for_type(Named, lambda _value, printer, _cycle: printer.text("registered"))
    plain.for_type_by_name("fractions", "Nothing", fail)
    before = [dict(plain.type_printers), dict(plain.deferred_printers)]
    assert describe([Named()], bare.shell).text == "[registered]"
    assert [plain.type_printers, plain.deferred_printers] == before


def endless() -> list[Any]:
    """Give a list that holds itself."""
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("make", "end"),
    [
        (lambda: "x", None),
        (
            lambda: list(range(3_000_000)),
            f"of more than {COUNTED:,} characters of this list of 3,000,",
        ),
        (lambda: ["x" * 10**8], "of more than 100,000 characters of this list of 1 item]"),
        (endless, "[[...]]"),
    ],
    ids=range(4),
)
def test_no_object_takes_long(bare: Shell, make: Callable[[], object], end: str | None) -> None:
    """An object is printed so far, and says how much of how much is there."""
    value = make()
    began = time.thread_time()
    text = describe(value, bare.shell).text
    assert time.thread_time() - began < 1
    assert len(text) <= LIMIT
    assert end is None or end in text


class Silent:
    """An object without a text."""

    __repr__ = fail


class Closed:
    """An object none of whose attributes can be read."""

    def __getattribute__(self, name: str) -> NoReturn:
        """Fail.

        Args:
            name: of the attribute.
        """
        fail(name)


def deep() -> list[Any]:
    """Give a list in a list, and so on."""
    made: list[Any] = []
    for _ in range(100_000):
        made = [made]
    return made


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Silent(), "<Silent, which cannot be shown as text>"),
        ([Silent()], "<list of 1 item, which cannot be shown as text>"),
        (
            type("Liar", (), {"__repr__": lambda _: 7})(),
            "<Liar, ",
        ),
        (type("Own", (), {"_repr_llm_": fail, "__repr__": lambda _: "own"})(), "own"),
        (type("Many", (), {"_repr_mimebundle_": fail, "__repr__": lambda _: "many"})(), "many"),
        (Closed(), "Closed"),
        (deep(), "<list of 1 item, which"),
    ],
    ids=range(7),
)
def test_an_object_whose_methods_fail_is_described_all_the_same(
    bare: Shell, value: object, text: str
) -> None:
    """By the next way, and in the end by its type."""
    assert text in describe(value, bare.shell).text


def test_an_interrupt_while_describing_sends_nothing(shell: Shell, emulator: Emulator) -> None:
    """The conversation is as before."""
    shell.do("class Slow:\n    def __repr__(self):\n        raise KeyboardInterrupt\nslow = Slow()")
    ran = shell.fails("%%chat\necho:{{ slow }}")
    assert "The conversation is intact" in ran.traceback[0]
    assert not emulator.requests


def test_nothing_is_written_to_the_object(bare: Shell) -> None:
    """No attribute is set, and what can be read once is not read."""

    class Guarded:
        __setattr__ = fail
        __delattr__ = fail

    guarded, numbers = Guarded(), iter([1, 2])
    describe(guarded, bare.shell)
    describe(numbers, bare.shell)
    describe((number for number in numbers), bare.shell)
    assert vars(guarded) == {}
    assert list(numbers) == [1, 2]


def test_a_prompt_has_the_description(shell: Shell, emulator: Emulator) -> None:
    """What was put in is sent and digested; nothing in it is evaluated."""
    shell.do("class Trap:\n    def _repr_llm_(self):\n        return '{{ 1 / 0 }}'\nxs = [1, 2]")
    ran = shell.machine("%%chat\necho:{{ Trap() }} {{ xs }} {x}")
    assert asked(emulator) == [["echo:{{ 1 / 0 }} [1, 2] {x}"]]
    sizes = [(value["size"], value["sha256"]) for value in ran.records[0]["values"]]
    texts = ("{{ 1 / 0 }}", "[1, 2]")
    assert sizes == [(len(text), hashlib.sha256(text.encode()).hexdigest()) for text in texts]


def test_inputs_and_outputs_are_names_of_the_namespace(shell: Shell, emulator: Emulator) -> None:
    """``In[n]`` puts in a cell's source, whole, ``Out[n]`` what it gave."""
    first = shell.shell.execution_count
    shell.do("sum(\n    [1, 2])")
    shell.do("[3] * 2")
    shell.machine(f"%%chat\necho:{{{{ In[{first}] }}}} {{{{ Out[{first}] }}}}")
    shell.machine(f"%chat --no-history echo:{{{{ Out[{first + 1}] }}}}")
    assert asked(emulator) == [["echo:sum(\n    [1, 2]) 3"], ["echo:[3, 3]"]]
    ran = shell.fails("%chat {{ Out[99] }}")
    assert "{{ Out[99] }} has no value: KeyError: 99. Nothing was sent." in ran.traceback[0]


def test_the_live_line_says_what_went_in(shell: Shell) -> None:
    """One line while the reply is awaited, of what is no text or number; no output keeps it."""
    shell.do("xs, n, text = list(range(2_000)), 7, 'words'")
    ran = shell.page("%chat echo:{{ n }} {{ text }} {{ xs }} {{ [n] }} {{ xs }}", "a")
    line = (
        "xs: list of 2,000 items described in 4,000 characters; [n]: list of 1 item in 3 characters"
    )
    assert line in ran.messages[0]["data"]["text/html"]
    assert "2,000 items described" not in ran.outputs[0]["data"]["text/html"]
    assert f"({line})\n" in shell.do("%chat echo:{{ xs }} {{ [n] }}").printed
    many = " ".join(f"{{{{ [{number}] }}}}" for number in range(7))
    ran = shell.page(f"%chat echo:{many}", "b")
    assert (
        "[4]: list of 1 item in 3 characters; and 2 more values"
        in (ran.messages[0]["data"]["text/html"])
    )
    assert "characters" not in shell.do("%chat echo:{{ n }} {{ text }}").printed


def test_a_cut_leaves_no_more_than_the_beginning_of_a_word() -> None:
    """Most of a password would be sent, and no check of what is sent would know it."""
    password = "pass-" + "w0rd.+=_" * 10
    assert cell(f"its {password}") == "its pass-w0rd.+=…"
    assert cell({"key": password}) == "{'key': 'pass-w0rd.+=…"
    assert cell(password[:60]) == password[:60]
    cut = whole_or_cut(" " * 3_900 + password + " " * 200, "w", "it").text
    assert cut.endswith("  pass-w0rd.+=\n[cut: the first 3,912 of 4,185 characters of it]")
    long = whole_or_cut("x" * 5_000, "w", "it").text
    assert len(long) == LIMIT


def test_a_cell_is_short_and_in_one_line() -> None:
    """A text without quotes, a number or date by ``str``, anything else by ``repr``."""
    assert cell("a\n b") == "a b"
    assert cell(1.50) == "1.5"
    assert cell(date(2026, 1, 2)) == "2026-01-02"
    assert cell(["a", None]) == "['a', None]"
    assert cell("x" * 50, 10) == f"{'x' * 9}…"
    assert cell("word " * 50, 12) == "word word w…"
    assert cell("word " * 50, 11) == "word word…"
    assert cell(10**5_000) == "<int>"


@pytest.fixture(scope="module")
def numpy() -> Any:
    """Give numpy."""
    return library("numpy")


def lines(bare: Shell, value: object) -> list[str]:
    """Give the lines of an array's description, which keeps to its bound."""
    text = describe(value, bare.shell).text
    assert len(text) <= LIMIT
    return text.splitlines()


def test_an_array_is_described(numpy: Any, bare: Shell) -> None:
    """Its shape, type and summary stand above what numpy prints of it."""
    assert lines(bare, numpy.arange(6).reshape(2, 3)) == [
        "numpy array: shape (2, 3), type int64",
        "min 0, max 5, mean 2.5, missing 0",
        "array([[0, 1, 2],",
        "       [3, 4, 5]])",
    ]
    assert describe(numpy.arange(3), bare.shell).words("a") == (
        "a: array of shape (3,) described in 84 characters"
    )
    number = describe(numpy.float64(1.5), bare.shell)
    assert (number.text, number.words("x")) == ("1.5", "")
    assert "shape" in lines(bare, numpy.full((50, 50), "x" * 1_000))[0]
    assert "   1,    2, ..., 9997, 9998, 9999]" in "".join(lines(bare, numpy.arange(10_000))[2:])


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
    numpy: Any, bare: Shell, values: list[Any], kind: str, line: str | None
) -> None:
    """Least, greatest and mean where there are such; nothing of texts and objects."""
    array = numpy.array(values, dtype=kind)
    made = lines(bare, array)
    assert made[0] == f"numpy array: shape ({len(values)},), type {made[0].split('type ')[1]}"
    assert made[1:] == [*([] if line is None else [line]), *repr(array).splitlines()]


def test_masked_values_are_missing(numpy: Any, bare: Shell) -> None:
    """And are neither the minimum nor shown; a matrix has the summary of an array."""
    masked = lines(bare, numpy.ma.array([1, 2, 3], mask=[True, False, False]))
    assert masked[1:3] == ["min 2, max 3, mean 2.5, missing 1", "masked_array(data=[--, 2, 3],"]
    assert "true: 1 of 2" in lines(bare, numpy.ma.array([True, True], mask=[True, False]))
    matrix = numpy.arange(4).reshape(2, 2).view(numpy.matrix)
    assert lines(bare, matrix)[:2] == lines(bare, numpy.arange(4).reshape(2, 2))[:2]


def test_over_a_million_values_the_summary_is_of_a_sample(numpy: Any, bare: Shell) -> None:
    """Which is named with its size; it takes no time, however many there are."""
    value = numpy.broadcast_to(numpy.arange(1_000.0), (100_000, 1_000))
    began = time.thread_time()
    made = lines(bare, value)
    assert time.thread_time() - began < 1
    # Not one column alone, as with every thousandth value.
    assert made[1].startswith("min 0.0, max 999.0, mean 499")
    assert made[1].endswith("missing 0 (of a sample of 100,000 of 100,000,000 values)")
    assert "sample" not in lines(bare, numpy.zeros(1_000_000))[1]
    masked = numpy.ma.masked_less(numpy.arange(2_000_000), 1_000_000)
    assert "missing 50,000 (of a sample" in lines(bare, masked)[1]


@pytest.fixture(scope="module")
def pandas() -> Any:
    """Give pandas."""
    return library("pandas")


def table_text(value: object) -> str:
    """Give the description of a table, which keeps to its bound."""
    text = describe(value, cast("InteractiveShell", None)).text
    assert len(text) <= LIMIT
    return text


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
    assert table_text(frame) == SMALL


def test_a_series_and_an_empty_table_are_described(pandas: Any) -> None:
    """The one as a table of one column; without rows there is no sample."""
    described = table_text(pandas.Series(range(30), name="n"))
    assert described.startswith("pandas Series: 30 rows, 1 column\n\n| column | type | missing |\n")
    assert "| n | int64 | 0 |\n\nRows 1 to 14 and 25 to 30 of 30:\n\n|  | n |\n" in described
    assert table_text(pandas.DataFrame()) == "pandas DataFrame: 0 rows, 0 columns"
    assert table_text(pandas.DataFrame({"a": []})).endswith("| a | float64 | 0 |")


def test_a_wide_table_says_which_columns_it_shows(pandas: Any) -> None:
    """Forty in the list, and as many as there is room for in the sample."""
    names = [f"c{number}" for number in range(1_000)]
    described = table_text(pandas.DataFrame([["word " * 20] * 1_000] * 50, columns=names))
    assert "50 rows, 1,000 columns" in described
    assert "| c39 |" in described
    assert "| c40 |" not in described
    assert "[columns 1 to 40 of 1,000; no others are listed]" in described
    assert "Rows 1 to 4 and 50 of 50, columns 1 to 9 of 1,000:" in described
    assert "word word word word word word word word word word word word…" in described


def test_columns_of_one_name_and_names_of_many_parts(pandas: Any) -> None:
    """Columns and rows are taken by their place, their names are whatever they are."""
    frame = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    assert table_text(frame).endswith("|  | a | a |\n|---|---|---|\n| 0 | 1 | 2 |")
    index = pandas.MultiIndex.from_tuples([("u", 1), ("v", 2)], names=["region", "year"])
    described = table_text(pandas.DataFrame({("x", "y"): [3, 4]}, index=index))
    assert "| x, y | int64 | 0 |" in described
    assert "| region, year | x, y |" in described
    assert described.endswith("| u, 1 | 3 |\n| v, 2 | 4 |")


def test_hostile_cells_stay_cells(pandas: Any) -> None:
    """What fails is named by its type, what is long is cut, what would act is shown."""

    class Silent:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    cells = pandas.Series([Silent(), "x" * 10**7, ["y"] * 10**6, "\x1b[2J{{ z }}"], dtype=object)
    described = table_text(cells)
    assert "| 0 | <Silent> |" in described
    assert f"| 1 | {'x' * 12}… |" in described
    assert "| 2 | ['y', 'y'" in described
    assert "| 3 | \u241b[2J{{ z }} |" in described


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


@pytest.fixture(scope="module")
def figure_of() -> Any:
    """Give the class of the figures, which needs no screen."""
    return library("matplotlib.figure").Figure


def figure_text(bare: Shell, value: object) -> str:
    """Give the description of a figure, which keeps to its bound."""
    described = describe(value, bare.shell).text
    assert len(described) <= LIMIT
    return described


def test_a_figure_is_described(bare: Shell, figure_of: Any) -> None:
    """By its titles, labels and lines, with a line that no picture is sent."""
    figure = figure_of()
    figure.suptitle("Both years")
    left, right = figure.subplots(1, 2)
    left.plot([1, 2, 3], [4.0, 5.0, 9.0], label="rising")
    left.set(title="2025", xlabel="month", ylabel="sales")
    right.scatter([1, 2], [3, 4], label="seen")
    right.imshow([[1, 2, 3], [4, 5, 6]])
    right.pie([1, 3], labels=["few", "many"])
    assert figure_text(bare, figure) == (
        "matplotlib figure with 2 plots: Both years\n"
        "[no picture is sent: this describes the figure]\n"
        "\nPlot 1 of 2\ntitle: 2025\nx: month\ny: sales\n"
        "line “rising”: 3 points; y: min 4.0, max 9.0, mean 6, missing 0; all 3 points: "
        "(1, 4.0), (2, 5.0), (3, 9.0)\n"
        "\nPlot 2 of 2\n"
        "scatter “seen”: 2 points; y: min 3.0, max 4.0, mean 3.5, missing 0; all 2 points: "
        "(1.0, 3.0), (2.0, 4.0)\n"
        "also drawn: AxesImage, Text, Wedge"
    )
    words = describe(figure, bare.shell).words("fig")
    assert words.startswith("fig: figure with 2 plots described")
    assert figure_text(bare, left).startswith("matplotlib figure with 1 plot\n[no picture is sent")


def test_bars_are_named_as_the_axis_names_them(bare: Shell, figure_of: Any) -> None:
    """By category, by label, by date, or by their place."""
    axes = figure_of().subplots(2, 3).flat
    axes[0].bar(["p", "q"], [3, 4.5], label="named")
    axes[1].barh(["p", "q"], [3, 4])
    axes[2].bar([0, 1], [3, 4])
    axes[2].set_xticks([0, 1], ["zero", "one"])
    axes[3].bar([date(2026, 1, day) for day in (1, 2)], [3, 4])
    axes[4].bar([0.5, 2], [3, 4])
    for side in (-0.2, 0.2):  # side by side, as pandas draws two columns
        axes[5].bar([side, 1 + side], [3, 4], width=0.4)
    axes[5].set_xticks([0, 1], ["east", "west"])
    described = figure_text(bare, axes[0].figure)
    assert "bars “named”: 2 points; y: min 3.0, max 4.5, mean 3.75, missing 0" in described
    assert re.findall("all 2 points: (.*)", described) == [
        "(p, 3.0), (q, 4.5)",
        "(p, 3), (q, 4)",
        "(zero, 3), (one, 4)",
        "(2026-01-01 00:00:00+00:00, 3), (2026-01-02 00:00:00+00:00, 4)",
        "(0.5, 3), (2.0, 4)",
        "(east, 3), (west, 4)",
        "(east, 3), (west, 4)",
    ]
    assert "also drawn" not in described


def test_a_figure_of_very_much_is_bounded(bare: Shell, figure_of: Any) -> None:
    """It says how many lines and points are described, and how much of the text was cut."""
    numpy = library("numpy")
    axes = figure_of().subplots()
    for _ in range(30):
        axes.plot([])
    axes.lines[0].set_data(numpy.arange(1_000_001), numpy.arange(1_000_001))
    described = figure_text(bare, axes.figure)
    assert "points 1 to 8 and 999,998 to 1,000,001 of 1,000,001: (0, 0), " in described
    assert "(of a sample of 100,000 of 1,000,001 values)" in described
    assert "line: 0 points" in described
    assert "[20 of 30 are described]" in described
    many = figure_of()
    for axes in many.subplots(2, 40).flat:
        axes.set_title("A title that takes its room in the description")
    assert figure_text(bare, many).endswith(" characters of the description]")


CELL = '''\
import dataclasses, functools

@dataclasses.dataclass
class Point:
    """A point."""

    x: int

class Old:
    was = 1

before = Old

@functools.cache
def twice(x):
    return 2 * x

half = lambda x: x / 2
'''


@pytest.mark.parametrize(
    ("expression", "source"),
    [
        ("Point", '@dataclasses.dataclass\nclass Point:\n    """A point."""\n\n    x: int'),
        ("twice", "@functools.cache\ndef twice(x):\n    return 2 * x"),
        ("half", "half = lambda x: x / 2"),
        ("Old", "class Old:\n    now = 2"),
    ],
)
def test_what_a_cell_defines_goes_in_as_its_source(
    shell: Shell, emulator: Emulator, expression: str, source: str
) -> None:
    """Functions, methods and classes, as the latest cell has them."""
    shell.do(CELL)
    shell.do("class Old:\n    now = 2")
    ran = shell.page(f"%chat echo:{{{{ {expression} }}}}", "a")
    assert asked(emulator) == [["echo:" + source]]
    line = f"{expression}: source in {len(source)} characters"
    assert line in ran.messages[0]["data"]["text/html"]


MADE = type("Made", (), {"__module__": "__main__", "__doc__": "Made by hand."})


@pytest.mark.parametrize(
    ("value", "start", "end"),
    [
        (functools.cache, "def cache(user_function, /):\n", ""),
        (textwrap.TextWrapper, "class TextWrapper:\n", " characters of the source]"),
        (len, "function builtins.len(obj, /)\nReturn the number of items in a container.", ""),
        (dict, "class builtins.dict(…)\ndict() -> new empty", ""),
        (MADE, "class __main__.Made()\nMade by hand.", ""),
        # Without the path of its file, which is private.
        (textwrap, "module textwrap", "module textwrap"),
        (Named(_repr_llm_="w" * 9_000), "www", "3,940 of 9,000 characters of its own words]"),
    ],
    ids=range(7),
)
def test_what_is_described_by_its_text(bare: Shell, value: object, start: str, end: str) -> None:
    """By its source, cut where it is long; without one, by name, parameters and docstring."""
    described = describe(value, bare.shell)
    assert described.text.startswith(start)
    assert described.text.endswith(end)
    assert len(described.text) <= LIMIT


def test_a_class_that_was_defined_again_is_not_given_the_new_source(bare: Shell) -> None:
    """The old one is outlined, for its source is not known."""
    bare.do(CELL)
    bare.do("class Old:\n    now = 2")
    assert describe(bare["before"], bare.shell).text.startswith("class __main__.Old()")
    assert describe(bare["Old"], bare.shell).text == "class Old:\n    now = 2"
