"""Words of messages in a shell, which has options where a notebook has commands."""

from __future__ import annotations

from typing import Final

from chatmagic.errors import GOES_ON

_HERE: Final = (
    (GOES_ON, 'chatmagic ask --continue "Go on." asks for the rest.'),
    ("or run %chat_connect URL and", "or give --connect URL and run"),
    ("%chat_connect ", "--connect "),
    ("%chat_history shows it", "--continue goes on with it"),
    ("or %chat_reset", "or leave out --continue"),
    ("%chat shows that", "--dry shows that"),
    ("%chat shows", "chatmagic doctor shows"),
    ("allow_secrets=True sends it", "--allow-secrets sends it"),
    ("%chat_credits --usage", "%chat_credits --usage in a notebook"),
    ("%chat_login here", "%chat_login"),
    ("%chat_login", "%chat_login in a notebook"),
)
"""What a message says for a notebook, and for a shell; the longer ones first."""


def in_shell(words: str) -> str:
    """Return a message with what a shell has in place of what a notebook has.

    Args:
        words: the message, as a notebook shows it.
    """
    for there, here in _HERE:
        words = words.replace(there, here)
    return words
