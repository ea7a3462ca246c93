"""The digests by which requests, replies and turns are known again."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache, reduce
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HASHED_AT_ONCE: Final = 100_000
_KEPT: Final = 2**14
"""How many chain digests are kept: each request of a long talk carries the same turns."""


def digest(value: object) -> str:
    """Give the SHA-256 of a JSON value's canonical form, or of a text, in hexadecimal."""
    return _sha256(_parts(value if isinstance(value, str) else canonical(value)))


def turn_digest(prompt: str, reply: str) -> str:
    """Give the digest by which a later request's record names a turn that it carried.

    It is that of the JSON array of the two.
    """
    quoted = (canonical(part)[1:-1] for part in _parts(prompt))
    replied = (canonical(part)[1:-1] for part in _parts(reply))
    return _sha256(chain(['["'], quoted, ['","'], replied, ['"]']))


@lru_cache(maxsize=_KEPT)
def chain_digest(before: str | None, turn: str) -> str:
    """Return the digest of a turn together with all turns that its request carried.

    It names a whole list of turns in one word: each turn's is made of its predecessor's.

    Args:
        before: chain digest of the turn that stands just before it in the list; ``None`` for
            the first turn.
        turn: the turn's own digest (:func:`turn_digest`).
    """
    return digest([before, turn])


def chain_of(turns: Iterable[str], before: str | None = None) -> str | None:
    """Return the chain digest of a list of turns; ``None`` for an empty one.

    Args:
        turns: the turns' own digests, oldest first.
        before: chain digest of what stands before them in the list.
    """
    return reduce(chain_digest, turns, before)


def canonical(value: object) -> str:
    """Return a JSON value's canonical form: sorted names, no spaces."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _parts(text: str) -> Iterator[str]:
    """Give a text in parts, so that a long one is not held twice."""
    return (text[at : at + _HASHED_AT_ONCE] for at in range(0, len(text), _HASHED_AT_ONCE))


def _sha256(parts: Iterable[str]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode("utf-8", "surrogatepass"))
    return made.hexdigest()
