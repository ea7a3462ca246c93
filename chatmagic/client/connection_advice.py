"""Advice about the address, the key or the model, for the error of an answer."""

from __future__ import annotations

import re
from http import HTTPStatus

from chatmagic import advice
from chatmagic.advice import sentences
from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    NotUnderstoodError,
    RequestRejectedError,
    ServiceError,
)
from chatmagic.protocol.api_key import Auth
from chatmagic.protocol.response_errors import ABOUT_A_MODEL
from chatmagic.safe_text import one_line


def add_connection_advice(
    error: ChatError, endpoint: Endpoint, model: object, *, is_replay: bool
) -> None:
    """Add advice about the connection to the error of an answer.

    Args:
        error: the error.
        endpoint: the endpoint that was asked.
        model: the model that the request named; ``None`` if it named none.
        is_replay: whether a recording answered, so that nothing was posted.
    """
    status = None if is_replay else error.status
    is_unknown = status == HTTPStatus.NOT_FOUND and isinstance(error, NotUnderstoodError)
    if _is_about_the_model(error, model, status, is_unknown=is_unknown):
        was = f"The model was {one_line(str(model))}"
        named = "No model was named" if model is None else was
        error.advice = sentences(advice.model_choice(named))
    elif is_unknown:
        error.advice = sentences(f"It was posted to {endpoint.posted_to()}.", error.advice)
    elif status == HTTPStatus.UNAUTHORIZED and isinstance(error, AuthenticationError):
        _add_key_advice(error, endpoint)


def _is_about_the_model(
    error: ChatError, model: object, status: int | None, *, is_unknown: bool
) -> bool:
    """Return whether an error complains of the model that was asked for, or of none."""
    # A service that fails for another reason may mention the requested model.
    refusals: set[type] = {RequestRejectedError, AuthenticationError}
    if model is None:
        refusals.add(ServiceError)
    is_refusal = type(error) in refusals and status != HTTPStatus.FORBIDDEN
    if not (is_unknown or is_refusal):
        return False
    return re.search(ABOUT_A_MODEL, error.message) is not None


def _add_key_advice(error: AuthenticationError, endpoint: Endpoint) -> None:
    """Add advice on the key that is missing, or on another way to send it."""
    other: Auth = "bearer" if endpoint.auth in ("none", "x-api-key") else "x-api-key"
    way = endpoint.how_to_set_auth(other)
    if endpoint.is_keyless:
        is_set = endpoint.auth != "none"
        error.advice = sentences(advice.key_wanted(None if is_set else way))
    else:
        error.advice = sentences(error.advice, "To send the key in another way: " + way)
