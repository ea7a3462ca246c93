"""List of a server's models, asked for by one request.

The interface has no such list (fact 1), so only the names in the answer are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Self

from chatmagic import advice
from chatmagic.client.service_call import ServiceCall
from chatmagic.errors import ChatError, NotUnderstoodError
from chatmagic.models import Credits, Origin, Reply
from chatmagic.protocol.api_key import Secret, redacted
from chatmagic.protocol.json_decoder import JSON_DECODER

_LARGEST: Final = 8 * 2**20
"""Largest number of bytes of an answer that are read."""
_NO_LIST: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}


@dataclass(frozen=True, slots=True)
class ModelList:
    """Models that a server lists.

    Args:
        names: their names, in the server's order.
        credits: the credits in the answer's headers; ``None`` if there are none.
        origin: source of the answer.
    """

    names: tuple[str, ...]
    credits: Credits | None = None
    origin: Origin = "live"


class ModelStream(ServiceCall):
    """One request for a list of models: enter it to send, then iterate; it has no fragments."""

    models = ModelList(())
    """The list; empty before the loop."""

    def __enter__(self) -> Self:
        """Send the request; return when the answer has begun.

        Raises:
            ChatError: as for a reply; a server without a list is not understood.
        """
        try:
            return super().__enter__()
        except ChatError as error:
            if error.status not in _NO_LIST:
                raise
            raise NotUnderstoodError(
                f"{self._endpoint.origin} lists no models (HTTP {error.status}).",
                hint=advice.UNLISTED_MODELS,
                status=error.status,
                credits=error.credits,
            ) from None

    def __iter__(self) -> Iterator[str]:
        """Read the whole list, and return no fragments.

        Raises:
            ChatError: the answer is cut off, or is no list.
        """
        names = _listed_names(self.text(_LARGEST), self._endpoint.known_keys)
        self.models = ModelList(names, self.header_facts["credits"], self.exchange.origin)
        return iter(())

    @property
    def reply(self) -> Reply[ModelList]:
        """The answer as a reply without text; its value is the list."""
        listed = self.models
        return Reply("", credits=listed.credits, origin=listed.origin, parsed=listed)


def _listed_names(text: str, keys: tuple[Secret, ...]) -> tuple[str, ...]:
    """Return the names in a list of models, without any of the keys."""
    try:
        value = JSON_DECODER.decode(text)
    except (ValueError, RecursionError):
        value = None
    listed = value.get("data") if isinstance(value, dict) else value
    # Together AI's list is the whole value (danielmiessler/Fabric 1602).
    if isinstance(value, list) and not all(isinstance(item, dict) for item in value):
        listed = None
    if not isinstance(listed, list):
        raise NotUnderstoodError("The answer is no list of models.", hint=advice.UNLISTED_MODELS)
    names = (item.get("id") for item in listed if isinstance(item, dict))
    texts = (redacted(name, keys) for name in names if isinstance(name, str) and name)
    return tuple(dict.fromkeys(texts))
