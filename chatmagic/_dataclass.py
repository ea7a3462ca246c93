"""``dataclass`` whose methods are made when they are first used.

The standard library's compiles up to seven methods of each class while its module is imported,
which was half of what the modules of a first ``%%chat`` took, and searches the text of each
annotation. Here an ``__init__`` is compiled for a class that has some instances, ``__eq__`` and
``__hash__`` for one whose instances are compared often; the other methods are the same code for all
classes. Annotations are texts, of which ``KW_ONLY`` and ``ClassVar`` alone declare no field. For a
type checker, :func:`dataclasses.fields` and :func:`dataclasses.replace` there is no difference.

A frozen class with slots may name fields in ``ALIKE`` that most instances have alike, its base's
first: they are one tuple in one slot, and an instance that has all of them as the one before it
has that one's tuple. As the last tuple is kept for that, no value of a user is among them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import partial
from itertools import count
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, NoReturn

from chatmagic._fields import SAMPLE, Fields, alike, declared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import dataclass

    from chatmagic._fields import Declaration

__all__ = ["DIGEST", "dataclass", "to_bytes"]

UNCOMPILED: Final = 40
"""How many instances of a class are made without a method of its own."""
_CALLS: Final = 20
"""How many values are compared or hashed before that is compiled; most classes have less."""
_SET: Final = "self.{0} = {1}"
_PUT: Final = "_put(self, {0!r}, {1})"
"""As ``_SET``, for a class that refuses it."""


def _dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    repr: bool = True,
    eq: bool = True,
) -> Callable[[type], type]:
    """Return a decorator, as :func:`dataclasses.dataclass` with the same arguments does."""

    def decorate(plain: type) -> type:
        own = declared(plain, kw_only=kw_only)
        its = Fields(plain, own)
        made: dict[str, object] = {
            "__dataclass_fields__": its,
            "__dataclass_params__": SAMPLE.__dataclass_params__,
            "__match_args__": its.by_place,
            "__replace__": dataclasses.replace,
            "__init__": _Init(its, _PUT if frozen else _SET),
        }
        if repr:
            made["__repr__"] = _repr
        if eq:
            equal, hashed = _comparing(its)
            made |= {"__eq__": equal, "__hash__": hashed if frozen else None}
        if frozen:
            made |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if frozen and slots:
            made |= {"__getstate__": _state, "__setstate__": _restore}
            made |= alike(plain, own)
        cls = _slotted(plain, own, made) if slots else _unslotted(plain, own, made)
        its.cls = cls
        for name, (_, value, _) in own.items():
            packing = value.__class__ is Field and value.metadata.get("packing")
            if packing and name in vars(cls):
                setattr(cls, name, _packed(vars(cls)[name], *packing))
        return cls

    return decorate


if not TYPE_CHECKING:
    dataclass = _dataclass


def _slotted(plain: type, own: Mapping[str, object], made: Mapping[str, object]) -> type:
    """Return a class with slots for its own fields; slots are given to a new class alone."""
    body = {**vars(plain)}
    for name in (*own, "__dict__", "__weakref__"):
        body.pop(name, None)
    inherited = {name for base in plain.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
    slots = [*(name for name in own if name not in made), *(["_alike"] if "_once" in made else [])]
    body["__slots__"] = tuple([name for name in slots if name not in inherited])
    # What a class is made with costs a fifth of what it is given later.
    cls = type(plain)(plain.__name__, plain.__bases__, {**made, **body})
    cls.__qualname__ = plain.__qualname__
    return cls


def _unslotted(plain: type, own: Mapping[str, Declaration], made: Mapping[str, object]) -> type:
    """Return a class with the defaults of its own fields in place of their declarations."""
    for name in made.keys() - vars(plain).keys():
        setattr(plain, name, made[name])
    for name, (_, value, _) in own.items():
        if isinstance(value, Field):
            if value.default is MISSING:
                delattr(plain, name)
            else:
                setattr(plain, name, value.default)
    return plain


def to_bytes(digits: str) -> bytes | str:
    """Return digests as bytes, which take half of the room; anything else as it is.

    Args:
        digits: in hexadecimal, one behind the other.
    """
    try:
        packed = bytes.fromhex(digits)
    except ValueError:
        return digits
    return packed if packed.hex() == digits else digits


DIGEST: Final = {
    "packing": (
        lambda _, digits: digits and to_bytes(digits),
        lambda _, kept: kept.hex() if isinstance(kept, bytes) else kept,
    )
}
"""Metadata of a field that holds a digest of which many are kept."""


def _packed(slot: Any, pack: Callable[..., Any], unpack: Callable[..., Any]) -> property:
    """Return an attribute whose slot holds a smaller value, of which it is made when it is read.

    Args:
        slot: the slot.
        pack: returns the smaller value, of the instance and the value.
        unpack: returns the value, of the instance and the smaller value.
    """
    return property(
        lambda it: unpack(it, slot.__get__(it)), lambda it, value: slot.__set__(it, pack(it, value))
    )


def _fill(self: Any, values: Mapping[str, Any]) -> None:
    """Give an instance the values of all its fields."""
    names = getattr(self, "ALIKE", "").split()
    if names:  # first: what packs a field may read them
        object.__setattr__(self, "_alike", self._once(tuple([values[name] for name in names])))
    for name, value in values.items():
        if name not in names:
            object.__setattr__(self, name, value)


class _Init:
    """``__init__`` of a class, which is compiled when some instances were made: most have few.

    Args:
        its: the fields of the class.
        put: a statement that gives an attribute its value.
    """

    def __init__(self, its: Fields, put: str) -> None:
        """Compile nothing yet."""
        self._its = its
        self._put = put
        self._made = 0

    def __get__(self, instance: object, owner: type) -> Any:
        """Return the method of an instance, or the function."""
        self._made += 1
        # To tell the arguments, Python 3.13 asks with the class as an instance.
        if isinstance(instance, self._its.cls) and self._made <= UNCOMPILED:
            return partial(self._fill, instance)
        return self._compiled().__get__(instance, owner)

    def _compiled(self) -> Any:
        init = _compiled(self._its.cls, self._put)
        type.__setattr__(self._its.cls, "__init__", init)
        return init

    def _fill(self, instance: Any, /, *args: object, **named: object) -> None:
        """Give an instance its values, as the function does."""
        by_place, values = self._its.by_place, dict[str, object]()
        given = dict(zip(by_place, args, strict=False))
        is_wrong = len(args) > len(by_place) or bool(given.keys() & named.keys())
        given |= named
        for name, (_, value, _) in self._its.declared.items():
            is_init, default = True, value
            if isinstance(value, Field):
                is_init, default = value.init, value.default
            if is_init and name in given:
                values[name] = given.pop(name)
            elif default is not MISSING:
                values[name] = default
            elif value is not MISSING and value.default_factory is not MISSING:
                values[name] = value.default_factory()
            else:
                is_wrong = is_wrong or is_init
        if is_wrong or given:
            self._compiled()(instance, *args, **named)  # it says what is wrong
        _fill(instance, values)
        if hasattr(self._its.cls, "__post_init__"):
            instance.__post_init__()


def _compiled(cls: type, put: str) -> Any:
    scope: dict[str, Any] = {"_put": object.__setattr__, "_MISSING": MISSING}
    by_place, by_name, does = ["self"], list[str](), list[str]()
    shared = dict.fromkeys(getattr(cls, "ALIKE", "").split(), "")
    hints: dict[str, Any] = {}
    for each in fields(cls):
        name = value = each.name
        default = ""
        if each.default_factory is not MISSING:
            scope[f"_make_{name}"] = each.default_factory
            default, value = "=_MISSING", f"_make_{name}() if {name} is _MISSING else {name}"
        elif each.default is not MISSING:
            scope[f"_default_{name}"] = each.default
            default = f"=_default_{name}"
        if each.init:
            (by_name if each.kw_only else by_place).append(f"{name}{default}")
            hints[name] = each.type
        elif default:
            value = f"_make_{name}()" if default == "=_MISSING" else default.removeprefix("=")
        else:
            continue
        if name in shared:
            shared[name] = value
        else:
            does.append(put.format(name, value))
    if shared:
        does.insert(0, put.format("_alike", f"self._once(({', '.join(shared.values())},))"))
    if hasattr(cls, "__post_init__"):
        does.append("self.__post_init__()")
    takes = ", ".join([*by_place, *(["*", *by_name] if by_name else [])])
    code = "\n ".join([f"def __init__({takes}):", *(does or ["pass"])])
    # Made of names of fields alone, as the standard library's.
    exec(code, scope)  # noqa: S102
    init = scope["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {**hints, "return": None}
    return init


def _comparing(its: Fields) -> tuple[Callable[[Any, object], Any], Callable[[Any], int]]:
    """Return ``__eq__`` and ``__hash__`` of a class, which are compiled when some calls were made.

    Compiled ones take a third of the time, and give the same hash.

    Args:
        its: the fields of the class.
    """
    calls = count(1)

    def values(it: object) -> tuple[Any, ...]:
        if next(calls) == _CALLS:
            compile_them()
        return tuple([getattr(it, name) for name in its.compared])

    def compile_them() -> None:
        mine, others = (
            "".join(f"{it}.{name}, " for name in its.compared) for it in ("self", "other")
        )
        code = f"""def __eq__(self, other):
 return ({mine}) == ({others}) if other.__class__ is self.__class__ else NotImplemented
def __hash__(self):
 return hash(({mine}))"""
        scope: dict[str, Any] = {}
        exec(code, scope)  # noqa: S102 - as above
        for name, plain in (("__eq__", equal), ("__hash__", hashed)):
            if vars(its.cls).get(name) is plain:
                scope[name].__qualname__ = f"{its.cls.__qualname__}.{name}"
                type.__setattr__(its.cls, name, scope[name])

    def equal(self: object, other: object) -> Any:
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    def hashed(self: object) -> int:
        return hash(values(self))

    return equal, hashed


@recursive_repr("...")
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(_self: object, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"{name!r} does not change; dataclasses.replace makes another one")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: Any, state: Sequence[Any]) -> None:
    _fill(self, dict(zip([each.name for each in fields(self)], state, strict=True)))
