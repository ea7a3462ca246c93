"""Numbers, times and texts as JSON tells them: read leniently, written plainly."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{8}T\d{4}", re.ASCII)


def whole_number(value: object) -> int | None:
    """Read an integer that may come as text; anything else, or below 0, is ``None``."""
    if isinstance(value, str) and value.strip().isdecimal() and value.isascii():
        # Figures longer than this are nobody's; and int() refuses 4,300 digits.
        value = int(value) if len(value) <= 18 else None  # noqa: PLR2004
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def timestamp(value: object) -> datetime | None:
    """Read an ISO 8601 timestamp as an aware time in UTC; anything else is ``None``.

    A timestamp without a zone is taken as UTC, as the interface says they are (§8).
    """
    if not isinstance(value, str) or not _TIMESTAMP.match(text := value.strip().upper()):
        return None
    try:
        when = datetime.fromisoformat(text)
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def iso(when: datetime | None) -> str | None:
    """Write a time as the interface does: ISO 8601 in UTC with a ``Z``."""
    return None if when is None else when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def without_lone_surrogates(text: str) -> str:
    """Give ``text`` with surrogate pairs joined and each lone one as U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text(value: object) -> str | None:
    """Read a text; anything else, and an empty one, is ``None``."""
    return value if isinstance(value, str) and value else None


def word(value: object) -> str | None:
    """Read a text that comes whole; half a surrogate pair has no other half to wait for."""
    found = text(value)
    return None if found is None else without_lone_surrogates(found)


def known(**items: Any) -> dict[str, Any]:
    """Give the items that are not ``None``."""
    return {name: item for name, item in items.items() if item is not None}
