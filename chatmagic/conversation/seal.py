"""The seal of a record: one digest over all its values and every form of its output.

Whatever saves a notebook may write it otherwise without changing it: a text as a list of its
lines, ``1.0`` as ``1``, fields in another order. So the seal is made of parsed values, in one
form. It is no signature: an edited record that is sealed again is not noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from chatmagic._json import digest

FIELD: Final = "seal"
"""The field of a record that holds its seal."""
EXACT: Final = 2**53
"""Up to this a page keeps an integer exactly; it reads every number as a double."""

Sealed = Literal["sealed", "not sealed", "changed"]


def sealed(record: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with its seal, in a form that no page changes.

    Args:
        record: the record as JSON.
        data: the output's data by type, such as ``text/html``.
    """
    kept = {name: _portable(item) for name, item in record.items()}
    return {**kept, FIELD: _seal(kept, data)}


def check(record: Mapping[str, Any], data: object) -> Sealed:
    """Return whether a record and its output are as they were sealed.

    Args:
        record: the record as JSON, from whatever file.
        data: the output's data by type, in any form that a notebook keeps it in.
    """
    if FIELD not in record:
        return "not sealed"
    try:
        seal = _seal(record, data if isinstance(data, Mapping) else {})
    except RecursionError:
        return "changed"
    return "sealed" if record[FIELD] == seal else "changed"


def joined(value: object) -> object:
    """Return a text that may stand as a list of its lines; anything else as it is."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    return value


def _seal(record: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    values = {name: item for name, item in record.items() if name != FIELD}
    return digest(canonical([values, {kind: joined(item) for kind, item in data.items()}]))


def canonical(value: Any) -> Any:
    """Return a JSON value in the one form that all who save it agree on."""
    if isinstance(value, Mapping):
        return {name: canonical(item) for name, item in value.items()}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    # What a page saves is a whole number wherever the value is one.
    return _portable(int(value) if isinstance(value, float) and value.is_integer() else value)


def _portable(value: Any) -> Any:
    """Return a JSON value with integers that a page would round as texts."""
    if isinstance(value, Mapping):
        return {name: _portable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        return str(value)
    return value
