"""Messages in a shell name what a shell has."""

from __future__ import annotations

import pytest

from chatmagic.client import config
from chatmagic.errors import LESS_HINT, ConnectError
from chatmagic.protocol.response_errors import ADDRESS_HINT
from chatmagic.session.forms import KEPT
from chatmagic.shell.shell_words import in_shell


def test_no_address() -> None:
    """What connects is an option; a key is kept by a notebook."""
    with pytest.raises(ConnectError) as raised:
        config.first_address([])
    assert in_shell(str(raised.value)) == (
        "Not connected yet. Set CHATMAGIC_BASE_URL and CHATMAGIC_API_KEY, or give --connect URL "
        "and run %chat_login in a notebook. To try without an account: --connect emulator."
    )


@pytest.mark.parametrize(
    ("words", "here"),
    [
        (ADDRESS_HINT, "Is the base address right? chatmagic doctor shows it."),
        (LESS_HINT, "Send less of it: --last N, or leave out --continue."),
        (KEPT, "Its text was paid for and is kept as a turn: --continue goes on with it."),
        ("what is sent with it; %chat shows that.", "what is sent with it; --dry shows that."),
    ],
)
def test_hints(words: str, here: str) -> None:
    """Each with the words that the package has for a notebook."""
    assert in_shell(words) == here
