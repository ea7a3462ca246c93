"""Links of untrusted text: the target of each, and the note that shows it to a reader.

Only addresses on the web and mailboxes become links. A link whose text does not name its target
has its host or mailbox beside it.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from html import escape
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from chatmagic.safe_text import one_line

_ADDRESS: Final = re.compile(r"https?://[^\s/?#\\]|mailto:[^\s@]+@", re.IGNORECASE)
_HOST: Final = re.compile(r"[\w.:-]+", re.ASCII)
"""A host that a browser shows as it is written; hosts that it decodes or refuses do not match."""

_NUMBER: Final = re.compile(r"(?:[^@]*\.)?(?:0x[0-9a-f]*|\d+)\.*", re.IGNORECASE)


def target(href: str) -> str:
    """Return the host or mailbox that an address leads to; empty if no link may have this address.

    Args:
        href: the address, of untrusted text.
    """
    try:
        parts = urlsplit(href if _ADDRESS.match(href) else "")
        _ = parts.port
    except ValueError:  # such as a bracket that opens no IPv6 address, or a port of letters
        return ""
    if parts.scheme == "mailto":
        return parts.path
    host = parts.hostname or ""
    if not _HOST.fullmatch(host):
        return ""
    if _NUMBER.fullmatch(host):
        with contextlib.suppress(ValueError):
            return str(ip_address(host))
        return ""  # a browser reads the number as an IP address in another notation
    return host


def link_note(text: str, href: str) -> str:
    """Return the note beside a link with its target; empty if the link's text names the target.

    Args:
        text: the link's own text, without marks.
        href: the address, of untrusted text.
    """
    host = target(href).removeprefix("www.")
    if not host:
        return "" if text == href else f" ({one_line(href, 80)})"
    plain = unicodedata.normalize("NFKC", text).lower()
    plain = "".join(char for char in plain if unicodedata.category(char) != "Cf").strip()
    shown = re.sub(r"^(?:https?://|mailto:)?(?:www\.)?", "", plain)
    same = re.match(rf"{re.escape(host.lower())}(?:[/?#]\S*|:\d+)?\Z", shown)
    return "" if same else f" ({host})"


def tags(href: str, text: str) -> tuple[str, str]:
    """Return the HTML before and after a link's text; it makes no link of a forbidden address.

    Args:
        href: the address, of untrusted text.
        text: the link's own text, without marks.
    """
    beside = escape(link_note(text, href))
    if not target(href):
        return "", beside
    # JupyterLab removes `noreferrer` again, but not the policy.
    policy = 'referrerpolicy="no-referrer"'
    return f'<a href="{escape(href)}" title="{escape(href)}" {policy}>', f"{beside}</a>"
