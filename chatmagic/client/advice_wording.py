"""Words of advice: they are written for a notebook, and read in Python and in a shell, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from chatmagic.errors import GOES_ON, ChatError, ChatInterrupted

_BY_ENVIRONMENT: Final = (
    (", or run %chat_cassette FILE(?=;)|%chat_cassette FILE --record, or (?=CHATMAGIC)", ""),
    ("%chat_cassette tries again, | %chat_cassette --prune removes exchanges.", ""),
    (r"%chat_cassette (\w+)(?: --record)? (makes|saves)", r"CHATMAGIC_CASSETTE=\1 \2"),
    ("lost with this kernel", "lost with this process"),
)
"""Advice on cassettes, which the environment chooses in plain Python and in a shell."""
IN_PYTHON: Final = (
    *_BY_ENVIRONMENT,
    (r"%config ChatMagics\.(\w+) = (\{.*?\}|\".*?\")", r"Client(\1=\2)"),
    (r"%env CHATMAGIC_AUTH=([\w-]+)", r'Client(auth="\1")'),
    ("%chat shows (?:the settings|it)", "Client(base_url=…) sets the address"),
    ("; %chat shows that|%chat shows where it comes from; ", ""),
    (r"%chat_login asks for (\w+)", r"Client(api_key=…) takes \1"),
    ("connect to it: %chat_connect URL", "Client(base_url=URL) asks it"),
    ("%chat_connect URL --model NAME", "Client(model=NAME)"),
    ("--last N, or %chat_reset", "last=N, or a new Session"),
    (r"\(--last N\)", "(last=N)"),
    ("%chat_credits --usage shows", "The session's ledger shows"),
    ("%chat_history shows it", "session.messages() has it"),
    (GOES_ON, 'ask("Go on.") asks for the rest.'),
    ("--schema object takes", "schema={} takes"),
    ("a higher one, --max-tokens", "a higher one, max_tokens"),
)
"""Patterns of advice for a notebook, and plain Python's words in their place."""
IN_SHELL: Final = (
    *_BY_ENVIRONMENT,
    (GOES_ON, 'chatmagic ask --continue "Go on." asks for the rest.'),
    ("Run %chat_connect URL and %chat_login", "Give --connect URL"),
    ("%chat_connect ", "--connect "),
    (r"%%chat_instructions gives [\w ]+", "The question itself can begin with instructions"),
    ("%chat_history shows it", "--continue goes on with it"),
    ("or %chat_reset", "or leave out --continue"),
    ("%chat shows that", "--dry shows that"),
    ("%chat shows", "chatmagic doctor shows"),
    ("allow_secrets=True sends it", "--allow-secrets sends it"),
    ("%chat_credits --usage shows what was used. ", ""),
    ("counts as it was when chatmagic was first imported", "sets another one"),
    (", or %chat_login asks for one", ""),
    (r"%chat_login asks for (\w+)", r"CHATMAGIC_API_KEY beside CHATMAGIC_BASE_URL gives \1"),
    (r"%config ChatMagics\.auth = \"(.+?)\"|%env CHATMAGIC_AUTH=([\w-]+)", r"CHATMAGIC_AUTH=\1\2"),
    ('%config ChatMagics.model = "NAME"', "--model NAME"),
    (r"%config (ChatMagics\.\w+(?: = (?:\{[^}]*\}|[\w\"]+))?)", r"c.\1 in ipython_config.py"),
)
"""Patterns of advice for a notebook, and a shell's words in their place; the longer ones first."""


def _said(table: Iterable[tuple[str, str]], words: str) -> str:
    for pattern, here in table:
        words = re.sub(pattern, here, words)
    return words


words_for_python: Final = partial(_said, IN_PYTHON)
"""Returns advice for a notebook, in plain Python's words."""
words_for_shell: Final = partial(_said, IN_SHELL)
"""Returns a message for a notebook, in a shell's words."""


@contextmanager
def advice_in(words_here: Callable[[str], str]) -> Iterator[None]:
    """Return a context that errors of chatmagic leave with their advice in the words of a place.

    Args:
        words_here: returns advice for a notebook, in the words of the place.
    """
    try:
        yield
    except (ChatError, ChatInterrupted) as error:
        error.hint = error.hint and words_here(error.hint)
        raise
