"""Many small cases in one test, whose failure names each case that failed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

MOST_SHOWN: Final = 200
"""The characters of a case's name in a failure."""


def each_case(
    names: str | tuple[str, ...], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that has one test try all cases.

    To collect a test in each worker of ``-n``, to run it and to report it takes some 5 ms, which is
    more than most cases of a pure function take. All cases share what the fixtures give.

    Args:
        names: the test's arguments that a case fills, as those of ``parametrize``.
        cases: the arguments of each case: a tuple, or the only one.

    Returns:
        The decorator. The test raises a group of the failures, which name their cases.
    """
    arguments = (names,) if isinstance(names, str) else names
    tried = [(case,) if isinstance(names, str) else case for case in cases]
    assert tried

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def all_cases(*instance: Any, **fixtures: Any) -> None:
            failures: list[BaseException] = []
            for case in tried:
                try:
                    test(*instance, **fixtures, **dict(zip(arguments, case, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - raised below
                    error.add_note(f"The case: {case!r}"[:MOST_SHOWN])
                    failures.append(error)
            if failures:
                message = f"{len(failures)} of {len(tried)} cases failed"
                raise BaseExceptionGroup(message, failures)

        given = inspect.signature(test)
        left = [of for of in given.parameters.values() if of.name not in arguments]
        assert len(left) + len(arguments) == len(given.parameters)
        all_cases.__signature__ = given.replace(parameters=left)  # type: ignore[attr-defined]
        return all_cases

    return decorate
