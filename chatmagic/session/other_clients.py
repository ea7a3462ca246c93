"""Names that other clients have for asking, and the words for them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, Final, ParamSpec, TypeVar

from chatmagic.advice import missing_name, note_at
from chatmagic.conversation.likely_mistakes import counterpart
from chatmagic.errors import InputError

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

_ASKS: Final = "session.ask(text) asks and returns the reply"
METHODS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("chat", "complete", "completion", "generate", "invoke", "prompt", "query"),
            *("send", "send_message"),
        ),
        _ASKS,
    ),
    **dict.fromkeys(
        ("stream", "stream_async"),
        "session.ask(text, on_fragment=…) calls a function with each fragment",
    ),
    "chat_async": "await session.aask(text) asks and returns the reply",
    "chat_structured": "session.ask(text, schema=…).parsed is the value",
    **dict.fromkeys(
        ("system", "system_prompt"), "session.ask(text, instructions=…) has instructions of its own"
    ),
    **dict.fromkeys(
        ("history", "turns", "get_turns", "responses"),
        "session.conversation has the turns, and session.messages() the messages",
    ),
    **dict.fromkeys(("register_tool", "tools"), "chatmagic calls no tools"),
    "export": "a command of notebooks saves the conversation: chat_save FILE.md",
}
"""Methods of other clients' conversations (llm, chatlas, LangChain), and what does it here."""
_OPTIONS: Final[Mapping[str, str]] = {
    "max_output_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "model_name": "model",
    "response_model": "schema",
    "data_model": "schema",
    "response_format": "schema",
    "output_type": "schema",
    "conversation": "thread",
}
"""Options of other clients that have another name here."""


def missing_method(kind: str, name: str) -> AttributeError:
    """Return the error for an attribute that an object does not have.

    Args:
        kind: the object, in words.
        name: the attribute.
    """
    return missing_name(kind, name, METHODS)


def refuses_other_options(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Return a method that names the word here for an option of another client.

    Any other unknown option is Python's own error.

    Args:
        method: the method.
    """
    known = frozenset(signature(method).parameters)

    @wraps(method)
    def call(*args: _Given.args, **options: _Given.kwargs) -> _Result:
        for name in options.keys() - known:
            _refuse(method.__name__, name)
        return method(*args, **options)

    return call


def _refuse(method: str, name: str) -> None:
    """Raise an error for an option of another client.

    Raises:
        InputError: it has another name here, or none.
    """
    other = _OPTIONS.get(name)
    advice: Any = counterpart(f"--{name}") if other is None else f"It is {other}=… here."
    if advice is not None:
        raise InputError(
            f"{method} has no option {name}. Nothing was sent.", hint=note_at(advice, "python")
        )
