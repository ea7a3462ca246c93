"""Fields that the classes of :mod:`chatmagic._dataclass` declare."""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, field
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Declaration = tuple[str, Any, bool]
"""Type of a field as text; its default, its ``Field``, or ``MISSING``; whether it is by name."""


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Sample:
    """Class that the standard library has made, for what it notes and does not document."""

    field: int


SAMPLE: Final[Any] = _Sample
_NOTED: Final = {
    name: getattr(SAMPLE.__dataclass_fields__["field"], name)
    for name in Field.__slots__
    if name.startswith("_")
}


def declared(plain: type, *, kw_only: bool) -> dict[str, Declaration]:
    """Return the fields that a class declares itself, in their order.

    Raises:
        ValueError: a default can change, and would be the same for all instances.
    """
    own: dict[str, Declaration] = {}
    attributes = vars(plain)
    for name, hint in attributes.get("__annotations__", {}).items():
        if hint == "KW_ONLY":
            kw_only = True
        elif not hint.startswith("ClassVar"):
            value = default = attributes.get(name, MISSING)
            by_name = kw_only
            if value.__class__ is Field:
                default = value.default
                by_name = kw_only if value.kw_only is MISSING else value.kw_only
            if default is not None and default.__class__.__hash__ is None:
                raise ValueError(f"{name} of {plain.__qualname__} wants a default_factory")
            own[name] = hint, value, by_name
    return own


class Fields:
    """Fields of a class, of which the standard library's ``Field`` objects are made when read.

    Most of the classes that a first ``%%chat`` needs are never asked for them.

    Args:
        plain: the class before it is decorated.
        own: the fields that it declares itself.
    """

    def __init__(self, plain: type, own: Mapping[str, Declaration]) -> None:
        """Put them behind those of the class's bases."""
        self.cls = plain
        self.declared: dict[str, Declaration] = {}
        for base in plain.__mro__[-2:0:-1]:
            known = vars(base).get("__dataclass_fields__", {})
            self.declared |= (
                known.declared
                if isinstance(known, Fields)
                else {name: (item.type, item, item.kw_only) for name, item in known.items()}
            )
        self.declared |= own
        self.by_place = tuple(
            [
                name
                for name, (_, value, by_name) in self.declared.items()
                if not by_name and (value.__class__ is not Field or value.init)
            ]
        )

    @cached_property
    def compared(self) -> list[str]:
        """The names of those by which instances are compared."""
        declared = self.declared.items()
        return [n for n, (_, value, _) in declared if not isinstance(value, Field) or value.compare]

    def __get__(self, _instance: object, _owner: type) -> dict[str, Field[Any]]:
        """Return them by name, as ``__dataclass_fields__``; from now on the class has them so."""
        made: dict[str, Any] = {}
        for name, (hint, value, by_name) in self.declared.items():
            made[name] = item = value if isinstance(value, Field) else field(default=value)
            item.name, item.type, item.kw_only = name, hint, by_name
            for noted in _NOTED.items():
                setattr(item, *noted)
        type.__setattr__(self.cls, "__dataclass_fields__", made)
        return made


def alike(plain: type, own: Mapping[str, object]) -> dict[str, object]:
    """Return the attributes that ``ALIKE`` makes in a class: its own fields that it names.

    Args:
        plain: the class before it is decorated.
        own: the fields that it declares itself.
    """
    names = getattr(plain, "ALIKE", "").split()
    made: dict[str, object] = {name: _part(at) for at, name in enumerate(names) if name in own}
    if "ALIKE" in vars(plain):
        made["_once"] = staticmethod(_keeper())
    return made


def _part(at: int) -> property:
    """Return the attribute of a field whose value stands at a place of the shared tuple."""

    def put(self: Any, value: object) -> None:
        kept = self._alike
        object.__setattr__(self, "_alike", self._once((*kept[:at], value, *kept[at + 1 :])))

    return property(lambda self: self._alike[at], put)


def _keeper() -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a function that returns a tuple, or its last result where that has the same items."""
    last: tuple[Any, ...] = (object(),)

    def once(values: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal last
        known = last  # another thread may put its own there
        # Equal values may differ in kind, as 1 and 1.0 do.
        if not all(map(is_, values, known)):
            known = last = values
        return known

    return once
