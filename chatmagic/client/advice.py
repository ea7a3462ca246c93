"""Next steps for a refused request: its address, how the key is sent, which model was asked for."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from chatmagic.client.endpoint import SET_AUTH
from chatmagic.errors import (
    HTTPS_WANTED,
    KEY_REFUSED,
    NO_KEY_SENT,
    AuthenticationError,
    ChatError,
    NotUnderstoodError,
    RequestRejectedError,
    ServiceError,
)
from chatmagic.text import one_line

if TYPE_CHECKING:
    from chatmagic.client.endpoint import Endpoint

HOW_TO_SET_A_MODEL: Final = (
    '%config ChatMagics.model = "NAME", %chat_connect URL --model NAME, or Client(model="NAME")'
)
_MAY_LACK_A_MODEL: Final = {400, 404, 422}


def advised(
    error: ChatError, endpoint: Endpoint, model: object, *, replayed: bool = False
) -> ChatError:
    """Return an error of an answer, with what its reader can do about the connection.

    Args:
        error: what the answer was made into.
        endpoint: where the request was posted, and with which key.
        model: the request's ``model``; ``None`` where it named none.
        replayed: whether a recording answered, so that nothing was posted.
    """
    steps, status = [error.hint], None if replayed else error.status
    if status == HTTPStatus.NOT_FOUND and isinstance(error, NotUnderstoodError):
        steps.insert(0, f"It was posted to {endpoint.posted_to()}.")
    if status == HTTPStatus.UNAUTHORIZED and isinstance(error, AuthenticationError):
        if endpoint.auth == "none":
            error.message = error.message.replace(KEY_REFUSED, NO_KEY_SENT)
            error.args = (error.message,)
        other = "bearer" if endpoint.auth in ("none", "x-api-key") else "x-api-key"
        steps.append(f"Or is it to be sent in another way? {SET_AUTH.format(other)}")
    if _is_about_a_model(error, model):
        # A wrong address answers 404 too, whether or not a model was named.
        is_last = status == HTTPStatus.NOT_FOUND and model is None
        steps.insert(len(steps) if is_last else 0, _about_the_model(model))
    error.hint = " ".join(step for step in steps if step) or None
    return error


def _is_about_a_model(error: ChatError, model: object) -> bool:
    """Return whether a model may be what the answer lacks, where nothing else is known to be."""
    kinds = (AuthenticationError, NotUnderstoodError, RequestRejectedError, ServiceError)
    if not isinstance(error, kinds) or "--last" in (error.hint or "") or error.hint == HTTPS_WANTED:
        return False
    if model is None and error.status in _MAY_LACK_A_MODEL:
        return True
    is_refusal = not isinstance(error, NotUnderstoodError) or error.status == HTTPStatus.NOT_FOUND
    return is_refusal and re.search(r"\bmodels?\b", error.message, re.IGNORECASE) is not None


def _about_the_model(model: object) -> str:
    if model is None:
        return f"No model was named: {HOW_TO_SET_A_MODEL} names one."
    shown = one_line(str(model))
    return f"The model asked for was {shown}: {HOW_TO_SET_A_MODEL} names another."
