"""Proxy of an address, by the environment or by the settings of the system."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from requests.utils import get_environ_proxies, select_proxy

from chatmagic.protocol.url import is_loopback, origin_or_none

_SCHEME: Final = r"(?i)[a-z][a-z0-9+.-]*"


@dataclass(frozen=True, slots=True)
class Proxy:
    """Proxy of an address, as a message shows it.

    Args:
        shown: its scheme, host and port, without a name and a password.
        source: the variable of the environment that names it, or other words for the source.
    """

    shown: str
    source: str

    def __str__(self) -> str:
        """Return the proxy and its source."""
        return f"{self.shown}, by {self.source}"


def proxies_for(url: str) -> dict[str, str]:
    """Return the proxies from which ``requests`` chooses one for an address.

    Args:
        url: the address; one on this machine has none.
    """
    return {} if is_loopback(url) else get_environ_proxies(url)


def proxy_of(url: str) -> Proxy | None:
    """Return the proxy through which an address is reached; ``None`` for none.

    Args:
        url: the address.
    """
    chosen = select_proxy(url, proxies_for(url))
    return None if chosen is None else Proxy(_shown(chosen), _source(urlsplit(url).scheme, chosen))


def _shown(proxy: str) -> str:
    """Return the proxy without its name and password; no doubtful text is repeated."""
    scheme, mark, rest = proxy.rpartition("://")
    scheme = scheme if mark else "http"
    url = f"http://{rest}"
    # Some readers take a slash for a part of the password, and the last @ for its end.
    is_doubtful = origin_or_none(url) is None or "@" in urlsplit(url).path
    if is_doubtful or not re.fullmatch(_SCHEME, scheme):
        return "a text that is no URL"
    return f"{scheme}://{urlsplit(url).netloc.rpartition('@')[2]}"


def _source(scheme: str, proxy: str) -> str:
    """Return the source of the proxy, in the order of ``urllib.request.getproxies``.

    A variable in lower case precedes one in upper case.
    """
    variables = (f"{scheme.lower()}_proxy", "all_proxy")
    named = [
        name for name, value in os.environ.items() if name.lower() in variables and value == proxy
    ]
    named.sort(key=lambda name: (variables.index(name.lower()), not name.endswith("_proxy")))
    return named[0] if named else "the settings of the system"
