"""Arguments that other tools have for a question, which are refused with the word here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from chatmagic.advice import note_at
from chatmagic.errors import InputError
from chatmagic.other_tools import argument_advice

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def refuses_other_options(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Return a method that names the word here for an argument of another tool.

    Any other unknown argument is Python's own error.

    Args:
        method: the method.
    """
    known = frozenset(signature(method).parameters)

    @wraps(method)
    def call(*args: _Given.args, **options: _Given.kwargs) -> _Result:
        for name in options.keys() - known:
            hint = argument_advice(name)
            if hint is not None:
                options.clear()  # a traceback with its locals shows no key
                raise InputError(
                    f"{method.__name__} has no option {name}. Nothing was sent.",
                    hint=note_at(hint, "python"),
                )
        return method(*args, **options)

    return call
