"""The certificate authorities that the environment names, in place of the built-in ones."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chatmagic._log import log_swallowed
from chatmagic.errors import ConnectError
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
"""Those that requests knows, in its order; then the one that OpenSSL and Python know."""

_SHOWN: Final = 120


def bundle(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the variable that names a CA bundle, and its path; ``None`` where none does.

    Args:
        environment: the variables of the environment, by name.
    """
    named = ((name, environment.get(name, "")) for name in _VARIABLES)
    return next(((name, path) for name, path in named if path), None)


def problem(environment: Mapping[str, str]) -> ConnectError | None:
    """Return the error for a CA bundle that is none; ``None`` where it is one, or none is named.

    Args:
        environment: the variables of the environment, by name.
    """
    name, path = bundle(environment) or ("", "")
    if not name or Path(path).is_dir():
        return None  # a folder is looked into when a certificate is verified, and not before
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError as error:
        log_swallowed(error)
        return ConnectError(
            f"{name} names no file of certificate authorities that can be read. Nothing was sent.",
            hint=f"Correct {name}, which is {one_line(path, _SHOWN)}, or unset it.",
            fault="you",
        )
    return None
