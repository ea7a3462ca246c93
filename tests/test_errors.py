"""The exceptions: their tree, their one line, what they carry, and pickling."""

from __future__ import annotations

import copy
import copyreg
import inspect
import pickle
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st
from served import in_ipython

from chatmagic import errors
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.models import Credits, Reply

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATA: dict[str, Any] = {
    "hint": "Wait\n a little.",
    "status": 429,
    "credits": Credits(100, 0, 100, NOW, NOW),
    "reply": Reply("so far", state="cut off"),
}
OWN: dict[str, dict[str, Any]] = {
    "RateLimitError": {"retry_after": NOW},
    "RequestTimeoutError": {"which": "silence"},
}
KINDS: list[type[Any]] = [
    kind
    for name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, BaseException) and not name.startswith("_")
]


def make(kind: type[Any], message: str = "It\tfailed.", **data: Any) -> Any:
    """Make an error of this kind, with what this kind alone needs."""
    return kind(message, **data, **OWN.get(kind.__name__, {}))


def drawn() -> dict[str, tuple[str, ...]]:
    """Read the tree in the docstring: each class, and the classes above it."""
    tree: dict[str, tuple[str, ...]] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").split("::", 1)[1].splitlines():
        drawing = re.match(r"    ([ │├└─]*)(\w+)(?: \(a (\w+)\))?", line)
        if drawing:
            branch, name, also = drawing.groups()
            del above[len(branch) // 4 :]
            tree[name] = (*above, also) if also else tuple(above)
            above.append(name)
    return tree


def test_the_docstring_draws_the_tree() -> None:
    """Every class stands in the docstring, exactly where it is in the tree."""
    tree = drawn()
    assert {kind.__name__ for kind in KINDS} == set(tree) - {"Exception", "KeyboardInterrupt"}
    for kind in KINDS:
        above = {base.__name__ for base in kind.__mro__[1:]}
        ordinary = {"BaseException", "object", "_ErrorBase"}
        implied = {"Exception"} if "ValueError" in above else set()
        assert above - ordinary == set(tree[kind.__name__]) | implied


@each_case("kind", KINDS)
def test_an_error_is_one_line(kind: type[Any]) -> None:
    """The text is one line; in a notebook it is one line, or two with a hint."""
    bare, full = make(kind), make(kind, "It \u2028\x85\r\n failed.", **DATA)
    assert str(bare) == "It failed."
    assert str(full) == "It failed. Wait a little."
    assert in_ipython(bare) == [f"{kind.__name__}: It failed."]
    assert in_ipython(full) == [f"{kind.__name__}: It failed.", "Wait a little."]
    assert bare.args == full.args == ("It failed.",)


@each_case("kind", KINDS)
def test_an_error_knows_what_is_known(kind: type[Any]) -> None:
    """Each error carries what is known; the rest is ``None``."""
    bare, full = make(kind), make(kind, **DATA)
    assert (bare.hint, bare.status, bare.credits, bare.reply) == (None, None, None, None)
    assert full.status == 429
    assert full.credits is DATA["credits"]
    assert full.reply is DATA["reply"]
    for name, value in OWN.get(kind.__name__, {}).items():
        assert getattr(bare, name) == value


def pickled(protocol: int) -> Callable[[Any], Any]:
    """Give the way there and back by one protocol of pickle."""
    return lambda error: pickle.loads(pickle.dumps(error, protocol))  # noqa: S301 - our own bytes


COPIES = [*map(pickled, range(pickle.HIGHEST_PROTOCOL + 1)), copy.copy, copy.deepcopy]


@each_case("again", COPIES)
@each_case("kind", KINDS)
def test_an_error_survives_pickling(kind: type[Any], again: Any) -> None:
    """A copy is of the same kind and carries the same data."""
    error = make(kind, **DATA)
    restored = again(error)
    assert type(restored) is kind
    assert vars(restored) == vars(error)
    assert str(restored) == str(error)
    assert restored.args == error.args


def test_pickling_leaves_behind_what_was_chained(monkeypatch: pytest.MonkeyPatch) -> None:
    """What caused an error may hold anything, and is not pickled along with it."""
    # Dask, where another test has loaded it, has all exceptions pickled with their tracebacks.
    monkeypatch.delitem(copyreg.dispatch_table, errors.ConnectError, raising=False)
    unpicklable = RuntimeError(sys._getframe())
    try:
        try:
            raise unpicklable
        except RuntimeError as cause:
            raise errors.ConnectError("No connection.") from cause
    except ChatError as error:
        restored = pickled(pickle.DEFAULT_PROTOCOL)(error)
    assert restored.__cause__ is None
    assert restored.__traceback__ is None


@given(message=st.text(), hint=st.none() | st.text())
def test_any_message_is_one_line(message: str, hint: str | None) -> None:
    """Whatever it quotes, an error is one line and survives pickling."""
    error = errors.ServiceError(message, hint=hint)
    assert len(str(error).splitlines()) <= 1
    assert all(len(line.splitlines()) == 1 for line in in_ipython(error)[:1])
    assert str(copy.copy(error)) == str(error)


def test_an_error_can_be_cut_loose() -> None:
    """Neither causes nor frames stay; what it says and carries does."""
    error = errors.ConnectError("No connection.", **DATA)
    with pytest.raises(errors.ConnectError) as caught:
        raise error from RuntimeError("bytes of the wire")
    assert caught.value.__traceback__ is not None
    assert error.alone() is error
    assert (error.__cause__, error.__context__, error.__traceback__) == (None, None, None)
    assert error.credits is DATA["credits"]


def test_an_error_makes_no_links_but_of_the_web() -> None:
    """A front end makes links of what stands in a traceback."""
    error = errors.ServiceError(
        "It said javascript://x%0ay", hint="See https://a.b or data:text/html,z"
    )
    assert in_ipython(error) == [
        "ServiceError: It said javascript:/\u2060/x%0ay",
        "See https://a.b or data\u2060:text/html,z",
    ]


def test_an_interrupt_is_told_once() -> None:
    """Where the reply above says it already, the error's lines only say what to do."""
    error = ChatInterrupted("Interrupted after 2 words.", hint="Ask again.")
    assert error._render_traceback_() == [
        "ChatInterrupted: Interrupted after 2 words.",
        "Ask again.",
    ]
    error.is_shown = True
    assert error._render_traceback_() == [
        "ChatInterrupted: the text so far is kept.",
        "Ask again.",
    ]
    assert str(error) == "Interrupted after 2 words. Ask again."
