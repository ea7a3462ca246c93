"""What stands for an object in a prompt: its own words, IPython's text, a bound, no failure."""

from __future__ import annotations

import enum
import hashlib
import time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from shells import Shell, asked

from chatmagic.jupyter.values.describe import describe
from chatmagic.jupyter.values.description import COUNTED, LIMIT
from chatmagic.models import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from logged import Emulator


class Colour(enum.StrEnum):
    """A text of a kind of its own."""

    RED = "red"


class Level(enum.IntEnum):
    """A number of a kind of its own."""

    HIGH = 3


class Shout(str):
    """A text that is put in otherwise than it is."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return it in capitals."""
        return self.upper()


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
        Colour.RED,
        Shout("loud"),
        Level.HIGH,
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


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"_repr_llm_": "for a model"}, "for a model"),
        ({"_repr_mimebundle_": {"text/llm+plain": "bundled"}}, "bundled"),
        ({"_repr_mimebundle_": ({"text/llm+plain": "bundled"}, {})}, "bundled"),
        ({"_repr_llm_": "first", "_repr_mimebundle_": {"text/llm+plain": "second"}}, "first"),
        ({"_repr_llm_": None, "_repr_mimebundle_": {"text/llm+plain": "second"}}, "second"),
        ({"_repr_mimebundle_": {"text/plain": "for a person"}}, "Named()"),
        ({"_repr_mimebundle_": None}, "Named()"),
        ({"_repr_mimebundle_": 7}, "Named()"),
        ({"_repr_llm_": 7}, "Named()"),
    ],
)
def test_an_objects_own_words_for_a_model_come_first(
    bare: Shell, words: dict[str, Any], text: str
) -> None:
    """By ``_repr_llm_``, or among its displays; what is no text counts as none."""
    assert describe(Named(**words), bare.shell).text == text


def test_own_words_are_bounded_and_those_of_an_instance(bare: Shell) -> None:
    """They say how much was left out; a class and an object with every attribute have none."""
    long = describe(Named(_repr_llm_="w" * 9_000), bare.shell)
    assert len(long.text) == LIMIT
    assert long.text.endswith("w\n[cut: the first 3,940 of 9,000 characters of its own words]")
    assert long.words("x") == "x: own words of Named described in 4,000 characters"

    class Every:
        def __getattr__(self, name: str) -> Callable[..., str]:
            return lambda **_: name

        def __repr__(self) -> str:
            return "Every()"

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
        (lambda: set(range(300_000)), "characters of this set of 300,000 items]"),
        (lambda: list(range(2_000)), "of 12,889 characters of this list of 2,000 items]"),
        (lambda: [[0] * 1_000] * 1_000_000, "characters of this list of 1,000,000 items]"),
        (lambda: ["x" * 10**8], "of more than 100,000 characters of this list of 1 item]"),
        (lambda: b"x" * 10**8, "of more than 100,000 characters of this bytes]"),
        (lambda: {"k": bytearray(10**7)}, "characters of this dict of 1 item]"),
        (endless, "[[...]]"),
    ],
    ids=range(9),
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


class Meta(type):
    """A type that says nothing of itself."""

    __name__ = property(fail)
    __module__ = property(fail)
    __repr__ = fail


class Odd(metaclass=Meta):
    """A class and an object of that type."""

    __repr__ = fail


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
        (Odd, "<Meta, which"),
        (Odd(), "<Odd, which"),
        (deep(), "<list of 1 item, which"),
    ],
    ids=range(9),
)
def test_an_object_whose_methods_fail_is_described_all_the_same(
    bare: Shell, value: object, text: str
) -> None:
    """By the next way, and in the end by its type."""
    assert text in describe(value, bare.shell).text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_ends_a_description(bare: Shell, kind: type[BaseException]) -> None:
    """Stop stops an object that takes long to print."""

    def stop(_: object) -> NoReturn:
        raise kind

    with pytest.raises(kind):
        describe(type("Slow", (), {"__repr__": stop})(), bare.shell)


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
