"""Base URLs: the address of requests, the place of a key, and warnings about a URL.

An address is built anew from its checked parts, so that no parser can reach a host or a path other
than the key's. A host that two parsers might read differently (letters beyond ASCII, escapes, odd
characters) is refused, and so is a path (dot segments, escaped slashes).
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from chatmagic import advice
from chatmagic.advice import Note, sentences
from chatmagic.errors import InputError
from chatmagic.protocol.api_key import is_secret_name, looks_like_a_key
from chatmagic.protocol.request import PATH
from chatmagic.safe_text import one_line

EMULATOR: Final = "emulator"
"""Text in place of the address of the emulator in this process."""

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_FORBIDDEN: Final = frozenset("\\\x7f" + "".join(map(chr, range(ord(" ")))))
"""Characters that no address holds; white space is not allowed either."""
_DIGITS: Final = "0123456789"
_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyz_-." + _DIGITS)
_SHOWN: Final = 300
_WHOLE: Final = "/chat/completions"
_VERSION: Final = r"/v\d+(?:\.\d+)?(?:(?:alpha|beta)\d*)?(?:/openai)?"
"""Pattern of the end of a path that is a version of the interface, and no name."""
_DOTS: Final = r"\.{1,2}(?:;.*)?"
"""Pattern of a segment that means another one: this or the parent (RFC 3986, 3.3 and 5.2.4)."""


def request_url(base_url: str) -> str:
    """Return the address that requests are posted to (fact 1).

    A base URL that ends in ``/chat/completions`` is that address, and may have a query. To one that
    ends in a version (``/v1``, ``/v1beta``), or in ``openai`` after a version, only that ending is
    added.

    Args:
        base_url: the service's address, whose path may end in a slash.

    Raises:
        InputError: it is not an http or https address, or holds a forbidden part.
    """
    parts = _split(base_url)
    path = parts.path.rstrip("/")
    if _is_versioned(path):
        path += _WHOLE
    elif not path.endswith(_WHOLE):
        path += PATH
    query = f"?{parts.query}" if parts.query else ""
    server = origin(base_url).removesuffix(f":{DEFAULT_PORTS[parts.scheme]}")
    return f"{server}{path}{query}"


def models_url(base_url: str) -> str:
    """Return the address at which compatible servers list their models.

    Args:
        base_url: as for :func:`request_url`.

    Raises:
        InputError: as :func:`request_url`.
    """
    path, mark, query = request_url(base_url).partition("?")
    return f"{path.removesuffix(_WHOLE)}/models{mark}{query}"


def shown_url(base_url: str) -> str:
    """Return the address of requests for a message, without a possible key.

    Args:
        base_url: as for :func:`request_url`.

    Raises:
        InputError: as :func:`request_url`.
    """
    return shown_place(request_url(base_url))


def shown_place(url: str) -> str:
    """Return an address, or the place of a key, for a message, without a possible key.

    Args:
        url: the address, as :func:`request_url` or :func:`key_place` returns it.
    """
    parts = urlsplit(url)
    words = (parts.path + (f"?{parts.query}" if parts.query else "")).split("/")
    path = "/".join("…" if looks_like_a_key(unquote(word)) else word for word in words)
    return one_line(f"{parts.scheme}://{parts.netloc}{path}", _SHOWN)


@lru_cache(maxsize=256)
def origin(url: str) -> str:
    """Return the scheme, host and port of an address, in one spelling.

    Args:
        url: the address.

    Raises:
        InputError: as :func:`request_url`.
    """
    parts = _split(url)
    host = _host(parts)
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{parts.port or DEFAULT_PORTS[parts.scheme]}"


def origin_or_none(url: str) -> str | None:
    """Return the origin of an address; ``None`` for a text that is no address.

    Args:
        url: a possible address.
    """
    try:
        return origin(url)
    except InputError:
        return None


def path_of(url: str) -> str:
    """Return the path of an address, without a slash at its end.

    Args:
        url: the address.

    Raises:
        InputError: as :func:`request_url`.
    """
    return _split(url).path.rstrip("/")


def key_place(url: str) -> str:
    """Return the place that a key for an address belongs to: its origin and path, in one spelling.

    Services of several people may share a host, each below a path of its own. Not part of the place
    are a slash at the end, ``/chat/completions``, a version, and ``openai`` after a version.

    Args:
        url: the address.

    Raises:
        InputError: as :func:`request_url`.
    """
    path = path_of(url).removesuffix(_WHOLE).rstrip("/")
    if version := re.search(rf"{_VERSION}\Z", path):
        path = path[: version.start()].rstrip("/")
    return f"{origin(url)}{path}"


def key_place_or_none(url: str) -> str | None:
    """Return the place of a key for an address; ``None`` for a text that is no address.

    Args:
        url: a possible address.
    """
    try:
        return key_place(url)
    except InputError:
        return None


@lru_cache(maxsize=64)
def is_loopback(url: str) -> bool:
    """Return whether an address is on this machine.

    Args:
        url: the address.
    """
    host = _host(_split(url))
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # Before Python 3.13 ``is_loopback`` ignores an IPv4 address inside an IPv6 address.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    address = mapped or address
    # Servers print 0.0.0.0 as their address, which is this machine, too.
    return address.is_loopback or address.is_unspecified


def usable_url(url: str, name: str = "base address") -> tuple[str, tuple[Note, ...]]:
    """Return an address without a user name and a password, and warnings about it.

    Args:
        url: the address.
        name: its name in an error, without an article.

    Returns:
        The address, otherwise as it was given; and warnings, a line each, without the password.

    Raises:
        InputError: as :func:`request_url`.
    """
    parts = _split(url, name)
    _, at, place = parts.netloc.rpartition("@")
    warnings: list[Note] = []
    if at:
        warnings.append(
            f"The address of {origin(url)} holds a user name or a password, which is not used: "
            "leave it out. " + advice.KEY_PLACE
        )
    if parts.scheme == "http" and not is_loopback(url):
        warnings.append(
            f"{origin(url)} is not encrypted: the key and the conversation can be read on the way."
        )
    return parts._replace(netloc=place).geturl(), tuple(warnings)


_BARE_HERE: Final = (
    r"(?i)(?:(?:[a-z0-9-]{1,60}\.)?localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])"
    r"(?::\d{1,5})?(?:/\S*)?"
)
"""Pattern of an address on this machine without its scheme, which is taken as meant."""
_BARE_HOST: Final = (
    r"(?=.{4,60}\Z)(?:[a-z][a-z0-9-]{0,20}\.){1,4}[a-z]{2,10}(?::\d{1,5})?(?:/v\d{1,2})?/?"
)
"""Pattern of another host without its scheme; a longer text might be a key."""


def _split(url: str, name: str = "base address") -> SplitResult:
    """Return the parts of an address; no error repeats it, for it may hold a secret."""
    word = url.strip()
    if re.fullmatch(_BARE_HERE, word):
        word = f"http://{word}"
    parts = _parsed(word, name)
    if parts is None:
        meant = f"Did you mean https://{word}?" if re.fullmatch(_BARE_HOST, word) else None
        raise InputError(f"The {name} is not a URL like https://chat.example.org.", hint=meant)
    # Two readers of a URL must not differ about its host or its path.
    if _is_other_number(_host(parts)):
        raise InputError(
            f"The host of the {name} is a number that programs read as different addresses.",
            hint="Write an IP address as four numbers from 0 to 255: http://127.0.0.1.",
        )
    if not _is_one_path(parts.path):
        raise InputError(
            f"The path of the {name} can be read as another path: it holds . or "
            ".. as a segment, or an escaped dot, slash, backslash or percent sign.",
            hint="Write the path that is meant.",
        )
    if parts.fragment or (parts.query and not _may_have_query(parts)):
        raise InputError(
            f"The {name} holds a query or a fragment; leave them out.",
            hint=sentences(
                advice.KEY_PLACE,
                f"A query without a secret may follow a path that ends in {_WHOLE}.",
            ),
        )
    return parts


def _parsed(word: str, name: str) -> SplitResult | None:
    """Return the parts of an http or https address with a host; ``None`` for any other text.

    Args:
        word: the text, without white space around it.
        name: name of the address in an error.

    Raises:
        InputError: its host has characters beyond ASCII.
    """
    if len(word.split()) > 1 or not _FORBIDDEN.isdisjoint(word):
        return None
    try:
        parts = urlsplit(word)
        is_usable = parts.scheme in DEFAULT_PORTS and parts.port != 0 and _is_a_host(parts)
    except ValueError:
        return None
    if not parts.netloc.rpartition("@")[2].isascii():
        raise InputError(
            f"The host of the {name} has characters beyond ASCII.",
            hint="Write it in its ASCII form (xn--…): two hosts can look alike.",
        )
    return parts if is_usable else None


def _is_versioned(path: str) -> bool:
    """Return whether a path ends in a version, such as ``/v1``, or in ``/openai`` after it."""
    # Google's compatible paths have "openai" after the version.
    name = path.removesuffix("/openai").rpartition("/")[2]
    return name.startswith("v") and name[1:2] in {*_DIGITS}


def _may_have_query(parts: SplitResult) -> bool:
    """Return whether an address is a whole endpoint, with a query that holds no secret."""
    if not parts.path.rstrip("/").endswith(_WHOLE) or looks_like_a_key(unquote(parts.query)):
        return False
    return not any(
        is_secret_name(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)
    )


def _is_one_path(path: str) -> bool:
    """Return whether all readers of a path, with or without its escapes, reach the same place."""
    if re.search(r"(?i)%(?:2e|2f|5c|25)|%(?![0-9a-f]{2})", path):
        return False
    try:
        path = unquote(path, errors="strict")
    except UnicodeDecodeError:
        return False
    return not any(re.fullmatch(_DOTS, word) for word in path.split("/"))


def _is_a_host(parts: SplitResult) -> bool:
    """Return whether the network location is a host, with at most a port."""
    host = _host(parts)
    rest = parts.netloc.rpartition("@")[2].lower()
    if rest.startswith("["):
        ipaddress.IPv6Address(host)
        return "%" not in host and re.fullmatch(r"\[[0-9a-f:.]+\](?::[0-9]*)?", rest) is not None
    name, _, port = rest.partition(":")
    is_name = _NAME.issuperset(host) and "" not in host.split(".")
    return is_name and name != "" and not port.strip(_DIGITS)


def _is_other_number(host: str) -> bool:
    """Return whether a host is a number that is no IP address in its usual notation.

    A browser and curl read it in others, too (octal, hexadecimal, fewer parts), and differ (URL
    Standard, section 3.5).
    """
    if ":" in host or not re.fullmatch(r"(?a)(?:.*\.)?(?:0x[0-9a-f]*|\d+)", host):
        return False
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return True
    return False


def _host(parts: SplitResult) -> str:
    """Return the host in lower case; the dot that may end a name is no part of it."""
    return (parts.hostname or "").removesuffix(".")
