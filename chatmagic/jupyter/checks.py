"""Checks of the settings' values: each raises an error in one line for a wrong one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, cast

from chatmagic.cassette.mode import MODES
from chatmagic.client import config
from chatmagic.client.endpoint import Timeout, request_fields, request_headers
from chatmagic.errors import InputError
from chatmagic.models import Message
from chatmagic.protocol import url
from chatmagic.protocol.auth import AUTH_WAYS, redacted, refuse_keys
from chatmagic.protocol.wire import Request
from chatmagic.session.budget import Budget
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from chatmagic.protocol.auth import Secret

_SHOWN: Final = 300


def _base_url(value: str | None) -> None:
    if value and value.strip() and value.strip().lower() != url.EMULATOR:
        url.request_url(config.server_address(value))


def _one_of(words: tuple[str, ...]) -> Callable[[str | None], None]:
    def check(value: str | None) -> None:
        # What was set is not repeated: it might be a key.
        if value and value.strip() and value.strip().lower() not in words:
            raise InputError(f"it is one of {', '.join(words)}, or None.")

    return check


def _model(value: str | None) -> None:
    request_fields(None, value)


def _extra_body(value: object) -> None:
    Request((Message("user", ""),), extra=request_fields(value)).encode()


def _temperature(value: float | None) -> None:
    if value is not None and not math.isfinite(value):
        raise InputError("it is a finite number, or None.")


def _budget(value: str | None) -> None:
    if value and value.strip():
        Budget.parse(value, "it")


CHECKS: Final[Mapping[str, Callable[[Any], object]]] = {
    "base_url": _base_url,
    "auth": _one_of(AUTH_WAYS),
    "timeout": Timeout.of,
    "model": _model,
    "extra_body": _extra_body,
    "extra_headers": request_headers,
    "temperature": _temperature,
    "mode": _one_of(MODES),
    "budget": _budget,
}


def check(name: str, value: object, keys: Iterable[Secret] = ()) -> None:
    """Refuse a value that a setting cannot have.

    Args:
        name: the setting.
        value: of the kind that its trait says.
        keys: the keys that are known, which extra headers must not hold.

    Raises:
        InputError: it cannot.
        ValueError: the same, of a field that cannot be sent.
    """
    CHECKS[name](value)
    if name == "extra_headers":
        given = cast("dict[str, str]", value)
        refuse_keys([*given, *given.values()], keys)


def without_keys(words: str, keys: Iterable[Secret]) -> str:
    """Return the words of an error on one line, without any key.

    Args:
        words: which may quote what a service sent.
        keys: every key that may stand in them.
    """
    return one_line(redacted(words, keys), _SHOWN)
