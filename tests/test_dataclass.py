"""A dataclass of ours is as the standard library's, and compiles nothing while it is defined."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import pickle
import sys
from dataclasses import KW_ONLY, FrozenInstanceError, field, fields, replace
from typing import Any, Final

import pytest

from chatmagic import _dataclass

RUN: Final = exec


def made(dataclass: Any) -> dict[str, Any]:
    """Return classes of every shape that the package has, made by one decorator."""

    @dataclass(frozen=True, slots=True)
    class Place:
        """Frozen, with slots and a default."""

        cell: str
        row: int = 0

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Below(Place):
        """Frozen, derived, by name."""

        notes: list[str] = field(default_factory=list, compare=False)
        hidden: str = field(default="", repr=False)

    @dataclass(frozen=True)
    class Asked:
        """Frozen, without slots, with a value that it finds itself."""

        text: str
        _: KW_ONLY
        size: int = 1

        def __post_init__(self) -> None:
            object.__setattr__(self, "text", self.text.strip())

    @dataclass(slots=True)
    class State:
        """It changes; a field comes later, another one begins as it is."""

        name: str
        later: int = field(init=False, repr=False, compare=False)
        count: int = field(default=3, init=False)
        parts: list[str] = field(default_factory=list, init=False)

    @dataclass(slots=True, eq=False, repr=False)
    class Own:
        """It has none of what can be left out."""

        value: int

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True, slots=True)
    class Nothing:
        """It has no fields, and its own hash."""

        def __hash__(self) -> int:
            return 7

    classes = (Place, Below, Asked, State, Own, Nothing)
    return {each.__name__: each for each in classes}


OURS, THEIRS = made(_dataclass.dataclass), made(dataclasses.dataclass)
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Place", ("a",), {}),
    ("Place", ("a", 2), {}),
    ("Place", (), {"row": 2, "cell": "b"}),
    ("Place", (), {}),
    ("Place", ("a", 2, 3), {}),
    ("Place", ("a",), {"cell": "b"}),
    ("Place", ("a",), {"column": 1}),
    ("Below", ("a",), {}),
    ("Below", ("a", 1), {"notes": ["x"], "hidden": "y"}),
    ("Below", ("a", 1, ["x"]), {}),
    ("Asked", (" a ",), {"size": 2}),
    ("Asked", (" a ", 2), {}),
    ("State", ("a",), {}),
    ("State", ("a", 2), {}),
    ("Own", (1,), {}),
    ("Nothing", (), {}),
]


def with_alike(dataclass: Any) -> dict[str, Any]:
    """Return classes that have fields in ``ALIKE``, and one to compare them with."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Told:
        """A base with two fields that most instances have alike."""

        ALIKE = "model state"

        model: str | None = None
        count: int | None = None
        state: str = "whole"

    @dataclass(frozen=True, slots=True)
    class Asked(Told):
        """A derived one, with one field more that is alike."""

        ALIKE = f"{Told.ALIKE} place"

        text: str  # type: ignore[misc]
        place: float = 1

        def __post_init__(self) -> None:
            object.__setattr__(self, "state", self.state.strip())

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Listed(Told):
        """A derived one, which wants to be told what has a default in its base."""

        text: str  # type: ignore[misc]
        state: str  # type: ignore[misc]

    return {each.__name__: each for each in (Told, Asked, Listed)} | {"Place": Told}


PLAIN: Final = with_alike(dataclasses.dataclass)


def facts(classes: dict[str, Any], name: str, args: Any, named: Any) -> Any:
    """Return what an instance of a class is like, or the kind of the error of making it."""
    try:
        it, again, other = (classes[name](*args, **named) for _ in range(3))
    except TypeError as error:
        return type(error)
    for each in fields(other):
        if each.compare and each.init:
            other = replace(other, **{each.name: "another"})
    try:
        is_hashed_by_value = hash(it) == hash(again)
    except TypeError:
        is_hashed_by_value = None
    compared = [it == again, it == other, it == classes["Place"]("x"), it.__eq__(1)]
    signature = [str(each) for each in inspect.signature(type(it)).parameters.values()]
    shown = [str(each) for each in signature if "factory" not in each and "MISSING" not in each]
    return (repr(it), compared, is_hashed_by_value, shown, type(it).__match_args__)


@pytest.mark.parametrize("uncompiled", [0, 1_000])
@pytest.mark.parametrize(("name", "args", "named"), CASES)
def test_an_instance_is_as_the_standard_librarys(
    name: str, args: Any, named: Any, uncompiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows, compares and hashes the same, or is refused the same, whoever makes it."""
    monkeypatch.setattr(_dataclass, "UNCOMPILED", uncompiled)
    ours = made(_dataclass.dataclass)
    assert facts(ours, name, args, named) == facts(THEIRS, name, args, named)


@pytest.mark.parametrize("uncompiled", [0, 1_000])
@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("Told", {}),
        ("Told", {"model": "m", "count": 2}),
        ("Told", {"place": 2}),
        ("Asked", {"text": "a"}),
        ("Asked", {"text": "a", "place": 2, "state": " cut off "}),
        ("Listed", {"text": "a"}),
        ("Listed", {"text": "a", "state": "cut off"}),
    ],
)
def test_an_instance_whose_fields_are_alike_is_as_the_standard_librarys(
    name: str, named: Any, uncompiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all that its attributes show."""
    monkeypatch.setattr(_dataclass, "UNCOMPILED", uncompiled)
    classes = with_alike(_dataclass.dataclass)
    classes["Place"] = PLAIN["Place"] = lambda _: None
    assert facts(classes, name, (), named) == facts(PLAIN, name, (), named)


@pytest.mark.parametrize("uncompiled", [0, 1_000])
def test_what_neighbours_have_alike_is_held_once(
    uncompiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is the same, of the same kind; also of a copy."""
    monkeypatch.setattr(_dataclass, "UNCOMPILED", uncompiled)
    cls = with_alike(_dataclass.dataclass)["Asked"]

    def held(it: object) -> int:
        (values,) = [each for each in gc.get_referents(it) if isinstance(each, tuple)]
        return id(values)

    first, second = cls("a", model="m"), cls("b", count=3, model="m")
    other = replace(second, place=1.0)
    assert sys.getsizeof(first) < sys.getsizeof(PLAIN["Asked"]("a"))
    assert held(first) == held(second) != held(other)
    assert (first.place, other.place) == (1, 1.0)
    assert (type(first.place), type(other.place)) == (int, float)
    assert (held(copy.copy(other)), copy.copy(other)) == (held(other), other)
    with pytest.raises(FrozenInstanceError):
        first.state = "cut off"


@pytest.mark.parametrize("name", OURS)
def test_a_class_tells_of_itself_what_the_standard_librarys_does(name: str) -> None:
    """Its fields in order, with all that is documented of them; its slots and its defaults."""
    told = ("name", "type", "default", "init", "repr", "compare", "hash", "metadata", "kw_only")

    def of(cls: type) -> list[Any]:
        shown = [[getattr(each, what) for what in told] for each in fields(cls)]
        makes = [each.default_factory for each in fields(cls)]
        attributes = [getattr(cls, each.name, None) for each in fields(cls)]
        plain = [None if inspect.ismemberdescriptor(each) else each for each in attributes]
        return [shown, makes, plain, vars(cls).get("__slots__"), cls.__qualname__, cls.__doc__]

    assert dataclasses.is_dataclass(OURS[name])
    assert of(OURS[name]) == of(THEIRS[name])


def test_a_class_of_the_standard_librarys_may_derive_from_one() -> None:
    """As a user's own may from a public value."""
    named = dataclasses.make_dataclass("Named", [("title", str, "a")], bases=(OURS["Own"],))
    assert named(1, title="b") == replace(named(1), title="b") != named(1)
    assert [each.name for each in fields(named)] == ["value", "title"]


@pytest.mark.parametrize(
    "change", [lambda it: setattr(it, "cell", 1), lambda it: delattr(it, "row")]
)
def test_what_is_frozen_does_not_change(change: Any) -> None:
    """Neither is an attribute set, nor deleted."""
    with pytest.raises(FrozenInstanceError):
        change(OURS["Place"]("a"))


def test_what_is_not_frozen_changes() -> None:
    """A field that comes later is missing until then."""
    state = OURS["State"]("a")
    assert not hasattr(state, "later")
    state.later = state.count = 5
    assert (state.later, state.count) == (5, 5)


@_dataclass.dataclass(frozen=True, slots=True)
class Kept:
    """A value that is copied."""

    text: str
    parts: tuple[Any, ...] = ()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_frozen_instance_is_copied_and_pickled(protocol: int) -> None:
    """By each way, as the standard library's."""
    kept = Kept("a", (Kept("b"),))
    assert kept == copy.copy(kept) == copy.deepcopy(kept)
    assert pickle.loads(pickle.dumps(kept, protocol)) == kept  # noqa: S301 - made here


def test_an_instance_that_holds_itself_is_shown() -> None:
    """The inner one as dots."""
    parts: list[Any] = []
    kept = Kept("a", (parts,))
    parts.append(kept)
    assert repr(kept) == "Kept(text='a', parts=([...],))"


def test_nothing_is_compiled_for_a_few_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while a class is defined, nor for what is hardly used; and once for each class."""
    compiled: list[str] = []

    def compile_it(code: str, *scopes: dict[str, Any]) -> None:
        if "self" in code:  # Python 3.13 compiles an empty function, too
            compiled.append(code)
        RUN(code, *scopes)

    monkeypatch.setattr("builtins.exec", compile_it)
    classes = made(_dataclass.dataclass)
    for _ in range(_dataclass.UNCOMPILED):
        classes["Place"]("a")
    assert not compiled
    for _ in range(2):
        repr(classes["Place"]("a") == classes["Place"]("b"))
    assert [code.splitlines()[0] for code in compiled] == [
        "def __init__(self, cell, row=_default_row):"
    ]


def test_what_is_often_compared_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hash stays, by which it is found; so does a method that the class has itself."""
    compiled: list[str] = []

    def compile_it(code: str, *scopes: dict[str, Any]) -> None:
        compiled.append(code.splitlines()[0])
        RUN(code, *scopes)

    monkeypatch.setattr(_dataclass, "UNCOMPILED", 1_000)
    classes = made(_dataclass.dataclass)
    monkeypatch.setattr("builtins.exec", compile_it)
    place, nothing, state = classes["Below"]("a", 1), classes["Nothing"](), classes["State"]("a")
    known = {place: "it"}
    for _ in range(50):
        assert known[classes["Below"]("a", 1, notes=["x"])] == "it"
        assert place != classes["Below"]("a", 2)
        assert place != classes["Place"]("a", 1)
        assert (nothing, hash(nothing)) == (classes["Nothing"](), 7)
        assert state == classes["State"]("a")
        with pytest.raises(TypeError, match="unhashable"):
            hash(state)
    assert compiled == ["def __eq__(self, other):"] * 3


@_dataclass.dataclass(frozen=True, slots=True)
class Row:
    """A value of which many are kept."""

    name: str
    sha256: str | None = field(default=None, metadata=_dataclass.DIGEST)


@pytest.mark.parametrize("uncompiled", [0, 1_000])
@pytest.mark.parametrize(
    "sha256", [None, "", "0a" * 32, "0A" * 32, "0a " * 32, "0a" * 31 + "0", "à" * 64, "asked"]
)
def test_a_digest_is_kept_as_bytes(
    sha256: str | None, uncompiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads, compares, shows and is pickled as the text that it was, whatever that is."""
    monkeypatch.setattr(_dataclass, "UNCOMPILED", uncompiled)
    row = Row("a", sha256)
    for each in (row, replace(row, name="a"), copy.copy(row), pickle.loads(pickle.dumps(row))):  # noqa: S301 - made here
        assert (each.sha256, repr(each)) == (sha256, f"Row(name='a', sha256={sha256!r})")
        assert (each, hash(each)) == (row, hash(row))
    assert (bytes(b"\n" * 32) in gc.get_referents(row)) is (sha256 == "0a" * 32)
    with pytest.raises(FrozenInstanceError):
        row.sha256 = ""  # type: ignore[misc]
