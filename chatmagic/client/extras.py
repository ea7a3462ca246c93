"""Fields and headers that a request has beside the interface's own, such as a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from chatmagic.errors import InputError
from chatmagic.protocol.auth import is_secret_name
from chatmagic.text import one_line

OF_AN_ADDRESS: Final = ("model", "extra_headers", "system_role")
"""The settings that belong to the address that they were set for, as a key does."""

OWN_HEADERS: Final = (
    r"(?i)accept-encoding|connection|content-(?:encoding|length|type)|expect|host|keep-alive|te|trailer"
    "|transfer-encoding|upgrade"
)
"""Headers that the connection sets itself."""

# A name and a value (RFC 9110, 5.6.2 and 5.5).
_NAME: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_VALUE: Final = r"[!-~](?:[ -~]*[!-~])?"


def fields(
    extra_body: object, model: object = None, *, stream_usage: bool = False
) -> dict[str, Any]:
    """Return the fields that a request has beside the interface's own.

    Args:
        extra_body: a mapping of names to values; ``None`` is empty.
        model: the request's ``model``; ``None`` leaves it to ``extra_body``.
        stream_usage: whether it asks for token counts with a stream, unless ``extra_body`` says.

    Raises:
        InputError: one of them is of the wrong kind, or they name two models.
    """
    if model is not None and not (isinstance(model, str) and model.strip()):
        raise InputError("A model is named by a text that is not empty.")
    if extra_body is not None and not isinstance(extra_body, Mapping):
        raise InputError(
            "extra_body is a mapping of field names to values, such as {'model': 'small'}, "
            f"not {type(extra_body).__name__}."
        )
    given: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream_usage else {}
    given |= extra_body or {}
    if model is None:
        return given
    if given.setdefault("model", model) != model:
        raise InputError(
            "extra_body names another model than the one that is set.",
            hint="Name it in one of the two places.",
        )
    return given


def headers(extra_headers: object) -> dict[str, str]:
    """Return the headers that a request has beside those of the connection.

    Args:
        extra_headers: a mapping of names to values; ``None`` is empty.

    Raises:
        InputError: one of them cannot be sent, is the connection's own, or is a secret's.
    """
    if extra_headers is not None and not isinstance(extra_headers, Mapping):
        raise InputError(
            "extra_headers is a mapping of names to texts, such as {'X-Team': 'a'}, "
            f"not {type(extra_headers).__name__}."
        )
    given = dict(extra_headers or {})
    are_texts = all(isinstance(text, str) for item in given.items() for text in item)
    are_headers = are_texts and all(
        re.fullmatch(_NAME, name) and re.fullmatch(_VALUE, value) for name, value in given.items()
    )
    if not are_headers or len({name.lower() for name in given}) < len(given):
        raise InputError(
            "extra_headers holds a name or a value that no header can have: a name is one word and "
            "stands there once, a value is printable ASCII text without spaces around it."
        )
    for name in given:
        if is_secret_name(name) or re.fullmatch(OWN_HEADERS, name):
            raise InputError(
                f"extra_headers cannot set {one_line(name)}, which the connection sets.",
                hint="A key is set by %chat_login or CHATMAGIC_API_KEY, how it is sent by "
                "ChatMagics.auth.",
            )
    return given
