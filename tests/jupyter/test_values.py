"""What stands for an object in a prompt: of each kind, within a bound, whatever fails."""

from __future__ import annotations

import functools
import re
import sys
import textwrap
import types
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, NoReturn

import pytest
from cases import each_case
from IPython import display
from libraries import library
from logged import Emulator
from shells import Shell, asked

from chatmagic.jupyter.values import LIMIT, bounded, describe
from chatmagic.models import Reply


def fail(*_: object, **__: object) -> NoReturn:
    """Fail.

    Raises:
        ZeroDivisionError: always.
    """
    raise ZeroDivisionError


def named(**methods: Any) -> Any:
    """Give an object with these methods."""
    return type("Named", (), {"__repr__": lambda _: "Named()", **methods})()


def deep() -> list[Any]:
    """Give a list in a list, and so on."""
    made: list[Any] = []
    for _ in range(100_000):
        made = [made]
    return made


@each_case(
    "value",
    [
        "x" * (3 * LIMIT),
        "{{ y }} {% raw %} $x$ \\alpha\r\n\t ",
        "\ud800",
        True,
        None,
        10**400,
        0.1,
        Decimal("1.50"),
        Reply("word " * LIMIT),
    ],
)
def test_a_text_or_a_number_goes_in_as_it_is(value: object) -> None:
    """A text whole, however long, a number as ``str``; neither has a line under the cell."""
    assert describe(value, {}) == (str(value), "")


@each_case(
    ("value", "text"),
    [
        (named(_repr_llm_=lambda _: "for a model"), "for a model"),
        (named(_repr_llm_=None), "Named()"),
        (named(_repr_llm_=lambda _: 7), "Named()"),
        (named(_repr_llm_=fail), "Named()"),
        (named(__getattr__=lambda _, name: lambda **_: name), "Named()"),
        (named(_repr_mimebundle_=lambda _, **__: {"text/plain": "for a person"}), "Named()"),
        (named(_repr_mimebundle_=fail), "Named()"),
        (named(__repr__=fail), "<Named, which cannot be shown as text>"),
        (named(__repr__=lambda _: 7), "<Named, which cannot be shown as text>"),
        (named(__getattribute__=fail), "Named()"),
        ([named(__repr__=fail)], "<list of 1 item, which cannot be shown as text>"),
    ],
)
def test_an_objects_own_words_for_a_model_come_first(value: object, text: str) -> None:
    """By ``_repr_llm_``; what is no text counts as none, and in the end it is named by its type."""
    assert describe(value, {})[0] == text


def test_what_is_too_deep_is_named_by_its_type() -> None:
    """Python has no text of it."""
    assert describe(deep(), {})[0] == "<list of 1 item, which cannot be shown as text>"


def endless() -> list[Any]:
    """Give a list that holds itself."""
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("value", "text", "what"),
    [
        ([1, "a", None], "[1, 'a', None]", "list of 3 items"),
        # In order, whatever the hashes of a kernel are.
        ({*"fedcba"}, "{'a', 'b', 'c', 'd', 'e', 'f'}", "set of 6 items"),
        ({"b": 1, "a": 2}, "{'b': 1, 'a': 2}", "dict of 2 items"),
        (b"\x00", "b'\\x00'", "bytes"),
        # An address differs in each kernel.
        ([object()], "[<object at 0x…>]", "list of 1 item"),
        (endless(), "[[...]]", "list of 1 item"),
        (named(), "Named()", "Named"),
    ],
)
def test_anything_else_is_as_ipython_shows_it(value: object, text: str, what: str) -> None:
    """In text, with its kind and size for the line under the cell."""
    assert describe(value, {}) == (text, what)


@pytest.mark.parametrize("make", [lambda: list(range(3_000_000)), lambda: ["x" * 10**7]])
def test_what_is_long_is_cut(make: Callable[[], object]) -> None:
    """Its last line says how much of it is there."""
    text = describe(make(), {})[0]
    assert len(text) <= LIMIT
    assert re.search(r"\n\[cut: the first [\d,]+ of [\d,]+ characters\]\Z", text)


def test_an_interrupt_while_describing_sends_nothing(shell: Shell, emulator: Emulator) -> None:
    """The conversation is as before."""
    shell.do("class Slow:\n    def __repr__(self):\n        raise KeyboardInterrupt\nslow = Slow()")
    ran = shell.fails("%%chat\necho:{{ slow }}")
    assert "The conversation is intact" in ran.traceback[0]
    assert not emulator.requests


def test_nothing_is_written_to_the_object() -> None:
    """No attribute is set, and what can be read once is not read."""
    guarded, numbers = named(__setattr__=fail, __delattr__=fail), iter([1, 2])
    describe(guarded, {})
    describe(numbers, {})
    assert vars(guarded) == {}
    assert list(numbers) == [1, 2]


def test_the_live_line_says_what_went_in(shell: Shell) -> None:
    """One line while the reply is awaited, of what is no text or number; no output keeps it."""
    shell.do("xs, n, text = list(range(2_000)), 7, 'words'")
    ran = shell.page("%chat echo:{{ n }} {{ text }} {{ xs }} {{ [n] }} {{ xs }}", "a")
    sizes = "list of 2,000 items, sent as 4,000 characters", "list of 1 item, sent as 3 characters"
    line = f"xs: {sizes[0]}; [n]: {sizes[1]}"
    assert line in ran.messages[0]["data"]["text/html"]
    assert "2,000 items, sent" not in ran.outputs[0]["data"]["text/html"]
    assert f"({line})\n" in shell.do("%chat echo:{{ xs }} {{ [n] }}").printed
    assert "characters" not in shell.do("%chat echo:{{ n }} {{ text }}").printed


def test_a_cut_leaves_no_more_than_the_beginning_of_a_word() -> None:
    """Most of a password would be sent, and no check of what is sent would know it."""
    password = "pass-" + "w0rd.+=_" * 10
    cut = bounded(" " * 3_900 + password + " " * 200)
    assert cut.endswith("  pass-w0rd.+=\n[cut: the first 3,912 of 4,185 characters]")
    assert len(bounded("x" * 5_000)) == LIMIT


@pytest.fixture(scope="module")
def numpy() -> Any:
    """Give numpy."""
    return library("numpy")


def lines(value: object) -> list[str]:
    """Give the lines of an array's description, which keeps to its bound."""
    text = describe(value, {})[0]
    assert len(text) <= LIMIT
    return text.splitlines()


def test_an_array_is_described(numpy: Any) -> None:
    """Its shape, type and summary stand above what numpy prints of it."""
    assert lines(numpy.arange(6).reshape(2, 3)) == [
        "numpy array: shape (2, 3), type int64",
        "min 0, max 5, mean 2.5, missing 0",
        "array([[0, 1, 2],",
        "       [3, 4, 5]])",
    ]
    assert describe(numpy.arange(3), {})[1] == "array of shape (3,)"
    assert describe(numpy.float64(1.5), {}) == ("1.5", "")
    assert "shape" in lines(numpy.full((50, 50), "x" * 1_000))[0]
    assert "   1,    2, ..., 9997, 9998, 9999]" in "".join(lines(numpy.arange(10_000))[2:])


@pytest.mark.parametrize(
    ("values", "kind", "line"),
    [
        ([1.5, float("nan"), 3], "f8", "min 1.5, max 3.0, mean 2.25, missing 1"),
        ([float("nan")], "f8", "all missing"),
        ([500] * 200, "f2", "min 500.0, max 500.0, mean 500, missing 0"),
        ([True, False, True], "?", "min False, max True, mean 0.666667, missing 0"),
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
    array = numpy.array(values, dtype=kind)
    made = lines(array)
    assert made[0] == f"numpy array: shape ({len(values)},), type {made[0].split('type ')[1]}"
    assert made[1:] == [*([] if line is None else [line]), *repr(array).splitlines()]


def test_masked_values_are_missing(numpy: Any) -> None:
    """And stay as they are; a matrix has the summary of an array."""
    masked = numpy.ma.array([1, 2, 3, numpy.nan], mask=[True, False, False, False])
    assert lines(masked)[1:3] == [
        "min 2.0, max 3.0, mean 2.5, missing 2",
        "masked_array(data=[--, 2.0, 3.0, nan],",
    ]
    assert list(masked.mask) == [True, False, False, False]
    matrix = numpy.arange(4).reshape(2, 2).view(numpy.matrix)
    assert lines(matrix)[:2] == lines(numpy.arange(4).reshape(2, 2))[:2]


@pytest.fixture(scope="module")
def pandas() -> Any:
    """Give pandas."""
    return library("pandas")


def table_text(value: object) -> str:
    """Give the description of a table, which keeps to its bound."""
    text = describe(value, {})[0]
    assert len(text) <= LIMIT
    return text


SMALL = """\
pandas DataFrame: 3 rows, 2 columns

        type  missing
n    float64        1
a|b   object        1

     n         a|b
5  1.5  two\\nlines
6  NaN         x|y
7  3.0        None"""


def test_a_frame_of_pandas_is_described(pandas: Any) -> None:
    """Each column with its type and what is missing, and the rows as pandas prints them."""
    index = [5, 6, 7]
    column = pandas.Series(["two\nlines", "x|y", None], dtype=object, index=index)
    frame = pandas.DataFrame({"n": pandas.Series([1.5, None, 3], index=index), "a|b": column})
    assert table_text(frame) == SMALL
    assert describe(frame, {})[1] == "3 rows"
    described = table_text(pandas.Series(range(30), name="n"))
    assert described.startswith("pandas Series: 30 rows, 1 column\n\n    type  missing\n")
    assert "\n9    9\n..  ..\n20  20\n" in described


@pytest.mark.parametrize("columns", [[], ["a"], ["a", "a"], [("x", "y"), ("x", "z")]])
def test_a_table_of_any_columns_is_described(pandas: Any, columns: list[Any]) -> None:
    """Without columns or rows, with columns of one name, and with names of many parts."""
    for rows in (0, 2):
        frame = pandas.DataFrame([range(len(columns))] * rows, columns=columns)
        assert table_text(frame).startswith("pandas DataFrame: ")


def test_a_wide_table_shows_its_first_and_last_columns(pandas: Any) -> None:
    """Forty of the list, and as many as there is room for in the sample."""
    names = [f"c{number}" for number in range(1_000)]
    described = table_text(pandas.DataFrame([["word " * 20] * 1_000] * 50, columns=names))
    assert "50 rows, 1,000 columns" in described
    assert re.search(r"\nc19 .*\n\.\.\. .*\nc980 ", described)
    assert re.search(r"\n *c0 +c1 +c2 +\.\.\. +c997 +c998 +c999\n0  ", described)
    assert f" {'word ' * 11}w... " in described


def test_a_cell_of_a_table_is_cut_as_a_text_is(pandas: Any) -> None:
    """A cut password is no more than its beginning; an address is left out."""
    password = "pass-" + "w0rd.+=_" * 10
    cells = [f"its {password}", {"key": password}, "x" * 10**6, ["y"] * 10**5, object()]
    described = table_text(pandas.Series(cells, dtype=object))
    assert "  its pass-w0rd.+=...\n" in described
    assert "  {'key': 'pass-w0rd.+=...\n" in described
    assert f" {'x' * 12}...\n" in described
    assert "  [y, y, y, " in described
    assert "<object object at 0x…>" in described


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


def figure_text(value: object) -> str:
    """Give the description of a figure, which keeps to its bound."""
    described = describe(value, {})[0]
    assert len(described) <= LIMIT
    return described


def test_a_figure_is_described(figure_of: Any) -> None:
    """By its titles, labels and lines, with a line that no picture is sent."""
    figure = figure_of()
    figure.suptitle("Both years")
    left, right = figure.subplots(1, 2)
    left.plot([1, 2, 3], [4.0, 5.0, 9.0], label="rising")
    left.set(title="2025", xlabel="month", ylabel="sales")
    right.scatter([1, 2], [3, 4], label="seen")
    right.imshow([[1, 2, 3], [4, 5, 6]])
    right.pie([1, 3], labels=["few", "many"])
    assert figure_text(figure) == (
        "matplotlib figure with 2 plots: Both years\n"
        "[no picture is sent: this describes the figure]\n"
        "\nPlot 1 of 2\ntitle: 2025\nx: month\ny: sales\n"
        "line “rising”: 3 points; x: [1, 2, 3]; y: [4., 5., 9.], "
        "min 4.0, max 9.0, mean 6, missing 0\n"
        "\nPlot 2 of 2\n"
        "scatter “seen”: 2 points; x: [1., 2.]; y: [3., 4.], "
        "min 3.0, max 4.0, mean 3.5, missing 0\n"
        "also drawn: AxesImage, Text, Wedge"
    )
    assert describe(figure, {})[1] == "figure with 2 plots"
    assert figure_text(left).startswith("matplotlib figure with 1 plot\n[no picture is sent")


def test_bars_are_named_as_the_axis_names_them(figure_of: Any) -> None:
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
    described = figure_text(axes[0].figure)
    assert "bars “named”: 2 points; x: ['p', 'q']; y: [3. , 4.5], min 3.0, max 4.5, " in described
    assert re.findall("2 points; x: (.*); y", described) == [
        "['p', 'q']",
        "['p', 'q']",
        "['zero', 'one']",
        "['2026-01-01 00:00:00+00:00', '2026-01-02 00:00:00+00:00']",
        "[0.5, 2. ]",
        "['east', 'west']",
        "['east', 'west']",
    ]
    assert "also drawn" not in described


def test_a_figure_of_very_much_is_bounded(figure_of: Any) -> None:
    """Of many points there are the first and the last, and of many plots the first."""
    axes = figure_of().subplots()
    axes.plot([date(2026, 1, 1 + day) for day in range(30)], range(30))
    assert "x: [2026-01-01, 2026-01-02, 2026-01-03, ..., 2026-01-28, " in figure_text(axes.figure)
    many = figure_of()
    for axes in many.subplots(2, 40).flat:
        axes.set_title("A title that takes its room in the description")
    assert figure_text(many).endswith(" characters]")


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
    line = f"{expression}: source, sent as {len(source)} characters"
    assert line in ran.messages[0]["data"]["text/html"]


MADE = type("Made", (), {"__module__": "__main__", "__doc__": "Made by hand."})


@pytest.mark.parametrize(
    ("value", "start", "end"),
    [
        (functools.cache, "def cache(user_function, /):\n", ""),
        (textwrap.TextWrapper, "class TextWrapper:\n", " characters]"),
        (len, "len(obj, /)\nReturn the number of items in a container.", ""),
        (dict, "dict(…)\ndict() -> new empty", ""),
        (MADE, "Made()\nMade by hand.", ""),
        # Without the path of its file, which is private.
        (textwrap, "module textwrap", "module textwrap"),
        (named(_repr_llm_=lambda _: "w" * 9_000), "www", " of 9,000 characters]"),
    ],
    ids=range(7),
)
def test_what_is_described_by_its_text(value: object, start: str, end: str) -> None:
    """By its source, cut where it is long; without one, by name, parameters and docstring."""
    described = describe(value, {})[0]
    assert described.startswith(start)
    assert described.endswith(end)
    assert len(described) <= LIMIT


def test_a_class_that_was_defined_again_is_not_given_the_new_source(bare: Shell) -> None:
    """The old one is outlined, for its source is not known."""
    bare.do(CELL)
    bare.do("class Old:\n    now = 2")
    names = bare.shell.user_ns
    assert describe(bare["before"], names)[0].startswith("Old()")
    assert describe(bare["Old"], names)[0] == "class Old:\n    now = 2"


PNG = b"\x89PNG\r\n\x1a\n" + bytes(400)
NO_PICTURE = "[no picture is sent: this describes the picture]"


class Drawn:
    """An object that a page shows as a picture alone."""

    def _repr_svg_(self) -> str:
        """Return the picture, which a description does not ask for."""
        return fail()


def pictures() -> dict[str, tuple[object, str]]:
    """Return objects by their kind, each with the text that stands for it."""
    pil = library("PIL.Image").new("RGB", (1_200, 800))
    widget = library("ipywidgets").Image(value=PNG, width="30")
    return {
        "PIL": (pil, f"PIL image: 1,200 by 800 pixels, mode RGB\n{NO_PICTURE}"),
        "IPython": (
            display.Image(data=PNG, width=30, alt="a cat"),
            f"Image of a notebook\n{NO_PICTURE}\nformat: png\nwidth: 30\nalt: a cat",
        ),
        "URL": (
            display.Image(url="https://a.example/b.png"),
            f"Image of a notebook\n{NO_PICTURE}\nformat: png\nurl: https://a.example/b.png",
        ),
        "widget": (widget, f"Image of a notebook\n{NO_PICTURE}\nformat: png\nwidth: 30"),
        "film": (
            display.Video(url="https://a.example/b.mp4"),
            (
                "Video of a notebook\n[no film is sent: this describes the film]\n"
                "url: https://a.example/b.mp4"
            ),
        ),
        "sound": (
            display.Audio(data=b"RIFF"),
            "Audio of a notebook\n[no sound is sent: this describes the sound]",
        ),
        "bytes": (PNG, f"bytes: 408 bytes of a picture (PNG)\n{NO_PICTURE}"),
        "WebP": (
            bytearray(b"RIFF\n\n\n\nWEBPVP8 "),
            f"bytearray: 16 bytes of a picture (WebP)\n{NO_PICTURE}",
        ),
        "drawn": (Drawn(), f"<test_values.Drawn at 0x…>\n{NO_PICTURE}"),
    }


@each_case("kind", pictures())
def test_a_picture_is_not_sent(kind: str) -> None:
    """Its own facts are, with a line that says so to the model; the note says so to the person."""
    value, text = pictures()[kind]
    described, subject = describe(value, {})
    assert described == text
    assert "which is not sent" in subject or "without a picture" in subject


def test_a_list_with_a_picture_says_that_none_is_sent() -> None:
    """In whatever container, up to a bound; bytes that are no picture are as IPython shows them."""
    picture, _ = pictures()["PIL"]
    for value in ([1, picture], {"a": picture}, (picture,), {"a": [1]}.keys(), [1]):
        text, subject = describe(value, {})
        has_picture = "PIL.Image" in text
        assert text.endswith(f"\n{NO_PICTURE}") is has_picture
        assert subject.endswith(", without a picture") is has_picture
    assert describe(b"RIFF\n\n\n\nWAVE", {})[0] == "b'RIFF\\n\\n\\n\\nWAVE'"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            display.SVG("<svg><g/></svg>"),
            "[no picture is sent: this is its source]\n<svg><g/></svg>",
        ),
        (display.HTML("<b>bold</b>"), "<b>bold</b>"),
        (display.Markdown("**bold**"), "**bold**"),
        (display.JSON({"a": 1}), "{'a': 1}"),
        (display.IFrame("https://a.example", 1, 2), "IFrame: a frame that shows https://a.example"),
    ],
)
def test_what_has_a_source_is_sent_as_that(value: object, text: str) -> None:
    """And not as the name of its class."""
    assert describe(value, {})[0] == text


def test_an_array_like_a_picture(numpy: Any) -> None:
    """A line says that the numbers are no picture; of other arrays there is none."""
    line = "[no picture is sent: these are some of the numbers]"
    for shape in ((20, 30), (20, 30, 1), (20, 30, 3), (20, 30, 4)):
        assert lines(numpy.zeros(shape, "uint8"))[1] == line
    for value in (
        numpy.zeros((20, 30, 3)),
        numpy.zeros((20, 30, 2), "uint8"),
        numpy.zeros((4, 4, 3), "uint8"),
        numpy.zeros(400, "uint8"),
        numpy.array(1, "uint8"),
    ):
        assert line not in lines(value)


def test_axes_in_an_array(figure_of: Any, numpy: Any) -> None:
    """As ``subplots`` gives them they are plots; other objects in an array stay an array."""
    axes = figure_of().subplots(2, 2)
    assert figure_text(axes).startswith("matplotlib figure with 4 plots\n[no picture is sent")
    mixed = numpy.array([axes[0, 0], None], dtype=object)
    assert figure_text(mixed).startswith("numpy array: shape (2,), type object")
    assert figure_text(numpy.array([], dtype=object)).startswith("numpy array: shape (0,)")


def test_a_grid_of_seaborn(figure_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its figure is described."""
    module = types.ModuleType("seaborn.axisgrid")
    grid = type("Grid", (), {"figure": figure_of()})
    vars(module)["Grid"] = grid
    monkeypatch.setitem(sys.modules, "seaborn.axisgrid", module)
    assert figure_text(grid()).startswith("matplotlib figure with 0 plots\n[no picture is sent")


def test_a_picture_in_a_prompt(shell: Shell, emulator: Emulator) -> None:
    """The person sees that it is not sent, and no byte of it is."""
    shell.shell.user_ns["img"] = pictures()["IPython"][0]
    ran = shell.do("%%chat\nwhat is this?\n{{ img }}", cell="a")
    assert "img: words on a picture, which is not sent, sent as " in str(ran.messages)
    assert NO_PICTURE in asked(emulator)[0][-1]
    assert "PNG" not in asked(emulator)[0][-1]
