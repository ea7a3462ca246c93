"""Property that is computed once for an object, in every version of Python as in the newest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_T = TypeVar("_T")


class cached_property(Generic[_T]):  # noqa: N801 - as the one of functools
    """Property that is computed once for an object, without a lock.

    Up to Python 3.11, the one of :mod:`functools` has a lock for all objects of a class. A child
    that is forked while a thread holds it would wait for ever. Threads that read the property of
    one object for the first time at once each compute it, as from Python 3.12 on.

    Args:
        compute: returns the value for an object.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        """Compute nothing yet."""
        self.func = compute
        """The function that computes it, as the one of functools has it."""
        self._name = ""
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name under which the class has the property."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> _T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Self | _T:
        """Return the value, and keep it in the object, where Python finds it from now on."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self.func(instance)
        return value
