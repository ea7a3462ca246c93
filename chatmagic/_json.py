"""Readers of numbers, times and texts in JSON, fields of files, and digests of JSON values.

Readers are lenient: a wrong value is ``None``, and raises no error. Only readers made by
:func:`exact` raise one. Writing is canonical.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cache, reduce
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeVar, cast, get_args

from chatmagic.safe_text import without_lone_surrogates

_Value = TypeVar("_Value")

_DIGEST: Final = "[0-9a-f]{64}"
_FRACTION: Final = r"(?a)(.*T\d\d:?\d\d)([.,]\d{1,9})(Z|[+-][\d:]+)?"
"""Time with a fraction of a minute, which Python reads as one of a second."""
MOST_DIGITS: Final = 4300
"""Largest number of digits of a whole number: as many as Python reads by default."""
_TIMESTAMP: Final = r"(?a)\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{8}T\d{4}"


def whole_number(value: object) -> int | None:
    """Return an integer of 0 or more, which may come as text; ``None`` for any other value.

    Args:
        value: any JSON value.
    """
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isdecimal() and value.isascii():
        # No real figure is longer, and int() refuses more than 4,300 digits.
        value = int(value) if len(value) <= 18 else None  # noqa: PLR2004
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def finite_number(value: object) -> float | None:
    """Return a number that a float can hold; ``None`` for any other value.

    Args:
        value: any JSON value.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # NaN is not less than anything.
    return value if abs(value) <= sys.float_info.max else None


def timestamp(value: object) -> datetime | None:
    """Return an ISO 8601 timestamp as an aware time in UTC; ``None`` for any other value.

    A timestamp without a zone is in UTC, as the interface says (fact 11).

    Args:
        value: any JSON value.
    """
    if not isinstance(value, str) or not re.match(_TIMESTAMP, text := value.strip().upper()):
        return None
    minutes = 0.0
    if fraction := re.fullmatch(_FRACTION, text.replace(" ", "T", 1)):
        minutes = float(fraction[2].replace(",", "."))
        text = f"{fraction[1]}{fraction[3] or ''}"
    try:
        when = datetime.fromisoformat(text) + timedelta(minutes=minutes)
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def iso(when: datetime | None) -> str | None:
    """Return a time as the interface writes it: ISO 8601 in UTC with a ``Z``.

    Args:
        when: the time, aware; ``None`` for none.
    """
    return None if when is None else when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def text_or_none(value: object) -> str | None:
    """Return a text that is not empty; ``None`` for any other value.

    Args:
        value: any JSON value.
    """
    return value if isinstance(value, str) and value else None


def whole_text(value: object) -> str | None:
    """Return a whole text that is not empty, without lone surrogates; else ``None``.

    Args:
        value: any JSON value.
    """
    return without_lone_surrogates(value) if isinstance(value, str) and value else None


def known_items(**items: Any) -> dict[str, Any]:
    """Return the items that are not ``None``.

    Args:
        **items: the items by name.
    """
    return {name: item for name, item in items.items() if item is not None}


def exact(
    read: Callable[[object], _Value | None], words: str = "not such a value"
) -> Callable[[object], _Value]:
    """Return a reader that raises :exc:`ValueError` if another reader returns ``None``.

    Args:
        read: the other reader.
        words: the message of the error.
    """

    def read_exactly(value: object) -> _Value:
        result = read(value)
        if result is None:
            raise ValueError(words)
        return result

    return read_exactly


exact_text: Final = exact(lambda value: value if isinstance(value, str) else None)
exact_count: Final = exact(whole_number)
exact_number: Final = exact(finite_number)
exact_time: Final = exact(timestamp)
exact_digest: Final = exact(
    lambda value: value if isinstance(value, str) and re.fullmatch(_DIGEST, value) else None
)


def tuple_of(read: Callable[[Any], _Value]) -> Callable[[object], tuple[_Value, ...]]:
    """Return a reader of a list; any other value raises :exc:`ValueError`.

    Args:
        read: the reader of each item.
    """
    return exact(lambda value: tuple(map(read, value)) if isinstance(value, list) else None)


def word_of(words: Any) -> Callable[[object], Any]:
    """Return a reader of one of a ``Literal``'s words; any other value raises :exc:`ValueError`.

    Args:
        words: the ``Literal``.
    """
    return exact(lambda value: value if value in get_args(words) else None)


def json_field(
    read: Callable[[Any], Any],
    write: Callable[[Any], Any] = lambda value: value,
    default: Any = None,
    *,
    required: bool = False,
) -> Any:
    """Return a dataclass's field that files keep under its name.

    Args:
        read: returns the field's value for a JSON value; raises :exc:`ValueError` for a wrong one.
        write: returns the JSON value of the field's value; ``None`` leaves the field out.
        default: the value if a file lacks the field or has null; :data:`dataclasses.MISSING`
            for none.
        required: whether a file must have the field.
    """
    how = {"read": read, "write": write, "required": required}
    return field(default=default, metadata=how)


def sparse_field(read: Callable[[Any], Any], *, default: Any) -> Any:
    """Return a field that files omit if it has its default.

    Args:
        read: returns its value for a JSON value; raises :exc:`ValueError` for a wrong one.
        default: its value by default.
    """
    return json_field(read, lambda value: None if value == default else value, default)


def fields_from_json(kind: type, value: object) -> dict[str, Any]:
    """Return the values of a dataclass's fields of :func:`json_field`, read from a JSON object.

    Args:
        kind: the dataclass.
        value: the JSON object, or any other JSON value.

    Returns:
        The values by name, of those fields that the object has. Null counts as missing. The
        object's other fields are ignored.

    Raises:
        ValueError: it is no object, or a field is missing or wrong; the message names it.
    """
    if not isinstance(value, Mapping):
        raise ValueError("it is not a JSON object")
    values = {}
    for item in fields(kind):
        if not (read := item.metadata.get("read")):
            continue
        item_value = value.get(item.name)
        try:
            if item_value is not None:
                values[item.name] = read(item_value)
            elif item.metadata["required"]:
                raise ValueError("missing")  # noqa: TRY301 - reworded below
        except ValueError:
            raise ValueError(f"its {item.name!r} cannot be read") from None
    return values


def dataclass_from_json(kind: type[_Value], value: object) -> _Value:
    """Return a dataclass with the fields of :func:`json_field` from a JSON object.

    Args:
        kind: the dataclass, whose other fields have defaults.
        value: the JSON object, or any other JSON value.

    Raises:
        ValueError: as for :func:`fields_from_json`.
    """
    return kind(**fields_from_json(kind, value))


def fields_to_json(value: Any, kind: type | None = None) -> dict[str, Any]:
    """Return a dataclass's fields of :func:`json_field` as a JSON object.

    Args:
        value: an instance.
        kind: a base class, for its fields alone; ``None`` for all fields.
    """
    written = {
        name: write(held)
        for name, write in _writers(kind or type(value))
        if (held := getattr(value, name)) is not None
    }
    return {name: item for name, item in written.items() if item is not None}


@cache
def _writers(kind: type) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Return the names of a dataclass's fields of :func:`json_field`, and what writes each."""
    items = (item for item in fields(kind) if "write" in item.metadata)
    return tuple((item.name, item.metadata["write"]) for item in items)


def shared_fields(value: Any, kind: type) -> dict[str, Any]:
    """Return the fields that a value has from a base class, as arguments for another value.

    Args:
        value: an instance of a dataclass.
        kind: the base class.
    """
    names, values = _names(kind)
    return dict(zip(names, values(value), strict=True))


def with_shared_fields(value: _Value, source: Any, kind: type) -> _Value:
    """Return a value with the fields that another one has from a base class of both.

    Args:
        value: an instance of a dataclass.
        source: an instance of another one.
        kind: the base class.
    """
    changed: _Value = replace(cast("Any", value), **shared_fields(source, kind))
    return changed


@cache
def _names(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the names of a dataclass's fields, and what returns their values."""
    names = tuple(item.name for item in fields(kind))
    return names, attrgetter(*names)


MOST_VALUES: Final = 500_000
"""Largest number of values in JSON that a server sent: each takes up to 200 bytes."""
MOST_IN_FILE: Final = 1_000_000
"""Largest number of values in JSON of a file."""

_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


class TooManyValuesError(ValueError):
    """JSON that is not parsed, because its many values would take much memory."""


def has_many_values(text: str, most: int = MOST_VALUES) -> bool:
    """Return whether JSON may hold so many values that they take much memory.

    Args:
        text: the JSON.
        most: the largest number of values.
    """
    # Signs within strings make no values, but they are counted faster than strings are removed.
    if len(text) <= most or _sign_count(text) <= most:
        return False
    return _sign_count(_STRING.sub("", text)) > most


def _sign_count(text: str) -> int:
    """Return the number of signs with which a value of an array or of an object begins."""
    return sum(map(text.count, ",[{"))


MOST_ESCAPED: Final = 10_000
"""Number of characters beyond 16 bits up to which they are escaped before JSON is parsed."""
_BEYOND: Final = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_BEYOND_BEGINS: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")


def json_text(content: bytes, encoding: str, errors: str = "strict") -> str:
    """Return the text of JSON, in which a few characters beyond 16 bits are escapes.

    One of them makes each character of a text take four bytes, also those of large pictures.

    Args:
        content: the JSON.
        encoding: its encoding.
        errors: as for :meth:`bytes.decode`.

    Raises:
        UnicodeDecodeError: it has another encoding.
    """
    if encoding.startswith("utf-8"):
        count = sum(map(content.count, _BEYOND_BEGINS))
        if 0 < count <= MOST_ESCAPED:
            content = _BEYOND.sub(_escape, content)
    return content.decode(encoding, errors)


def _escape(match: re.Match[bytes]) -> bytes:
    try:
        return json.dumps(match[0].decode())[1:-1].encode()
    except UnicodeDecodeError:
        return match[0]


def json_of_file(
    content: bytes, parse_float: Callable[[str], float] | None = None, most: int = MOST_IN_FILE
) -> Any:
    """Return the JSON value in the content of a file of any origin.

    Args:
        content: the content, or one of its lines.
        parse_float: as for :func:`json.loads`.
        most: the largest number of values.

    Raises:
        TooManyValuesError: it holds more values.
        ValueError: it is no JSON; the text of the error is the reason, and quotes no content.
    """
    if not content or content.isspace():
        raise ValueError("it is empty")
    try:
        text = json_text(content, json.detect_encoding(content), "surrogatepass")
    except UnicodeDecodeError:
        raise ValueError(NOT_UTF_8) from None
    if has_many_values(text, most):
        raise TooManyValuesError(f"it holds more than {most:,} values")
    try:
        return json.loads(text, parse_float=parse_float, parse_int=_whole)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno:,}, column {error.colno:,}"
        raise ValueError(f"{NOT_JSON} ({place})") from None
    except RecursionError as error:
        raise ValueError(json_fault(error)) from None


NOT_UTF_8: Final = "it is not text in UTF-8"


def json_fault(error: Exception) -> str:
    """Return the reason for which JSON could not be read, without a quotation of it.

    Args:
        error: the error of its reading by :mod:`json`.
    """
    if isinstance(error, RecursionError):
        return "its values are nested too deeply"
    return NOT_JSON if isinstance(error, json.JSONDecodeError) else LONG_NUMBER


NOT_JSON: Final = "it is not JSON"
LONG_NUMBER: Final = f"a number in it has more than {MOST_DIGITS:,} digits"


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(LONG_NUMBER)
    return int(digits)


canonical: Final = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":")
).encode
"""Writer of a JSON value's canonical form: sorted names, no spaces."""
quoted: Final = json.encoder.encode_basestring
"""Writer of a text's canonical form."""


def json_at(value: object, *names: str) -> object:
    """Return the value under names within names; ``None`` if there is none.

    Args:
        value: any JSON value.
        names: the outermost first.
    """
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


_PIECE: Final = 100_000
"""Number of characters of a text that are hashed at once."""


def digest(value: object) -> str:
    """Return the SHA-256 of a JSON value's canonical form, in hexadecimal.

    Args:
        value: a JSON value; a text is hashed as it is.
    """
    text = value if isinstance(value, str) else canonical(value)
    if len(text) <= _PIECE:
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return _sha256(_pieces(text))


def turn_digest(prompt: str, reply: str) -> str:
    """Return the digest by which the records of later requests name a turn.

    It is the digest of the JSON array of both texts.

    Args:
        prompt: the turn's prompt.
        reply: the text of its reply.
    """
    first, second = (
        (canonical(piece)[1:-1] for piece in _pieces(text)) for text in (prompt, reply)
    )
    return _sha256(chain(['["'], first, ['","'], second, ['"]']))


def _pieces(text: str) -> Iterator[str]:
    """Return a text in pieces, so that hashing a long reply makes no copy of it."""
    return (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))


def _sha256(pieces: Iterable[str]) -> str:
    hashed = hashlib.sha256()
    for piece in pieces:
        hashed.update(piece.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def chain_digest(before: str | None, turn: str) -> str:
    """Return the digest of a turn together with all turns that its request carried.

    So it names a whole list of turns.

    Args:
        before: chain digest of the turn before it in the list; ``None`` for the first turn.
        turn: the turn's own digest (:func:`turn_digest`).
    """
    return digest([before, turn])


def chain_of(turns: Iterable[str], before: str | None = None) -> str | None:
    """Return the chain digest of a list of turns; ``None`` for an empty one.

    Args:
        turns: the turns' own digests, oldest first.
        before: chain digest of the turns before them in the list; ``None`` for none.
    """
    return reduce(chain_digest, turns, before)
