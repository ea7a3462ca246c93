"""Where links lead, and what a reader is told of that."""

from __future__ import annotations

import pytest
from cases import each_case

from chatmagic.render.links import tags, target


@each_case(
    ("href", "leads"),
    [
        ("https://good.example/a", "good.example"),
        ("https://good.example@evil.example/", "evil.example"),
        ("HTTP://Good.Example:80", "good.example"),
        ("mailto:a@b.example?bcc=c@d.example", "a@b.example"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://0x7f.1/", ""),
        ("http://2130706433/", ""),
        ("http://[::1", ""),
        ("http://good.example:evil/", ""),
        ("http://[::1]:80/", "::1"),
        ("https://%65vil.example/", ""),
        ("https://good.example%00.evil.example/", ""),
        ("https://good.example|evil.example/", ""),
        ("https://\uff45vil.example/", ""),
        ("javascript:x", ""),
        ("//good.example", ""),
        ("https:///good.example", ""),
        ("mailto:", ""),
        ("", ""),
    ],
)
def test_a_link_leads_to_a_host_or_a_mailbox_or_nowhere(href: str, leads: str) -> None:
    """What a browser would read otherwise, or what is no address, leads nowhere."""
    assert target(href) == leads


@pytest.mark.parametrize(
    "text",
    [
        "evil.example",
        "www.EVIL.example",
        "https://evil.example:443",
        "evil.example/path?x#y",
        "\uff45vil.ex\u200bample",
    ],
)
def test_a_text_that_is_the_address_needs_no_note(text: str) -> None:
    """It begins with the host, and holds nothing but an address."""
    assert tags("https://evil.example/", text)[1] == "</a>"


@pytest.mark.parametrize(
    "text",
    [
        "the docs",
        "good.example",
        "evil.example.good.example",
        "evil.example:443@good.example",
        "evil.example/ good.example",
        "evil.example@good.example",
    ],
)
def test_a_text_that_says_something_else_has_the_host_beside_it(text: str) -> None:
    """The note stands inside the link."""
    before, after = tags("https://evil.example/?a&b", text)
    assert 'href="https://evil.example/?a&amp;b"' in before
    assert after == " (evil.example)</a>"


def test_what_may_be_no_link_shows_its_address() -> None:
    """It is text, with what it would have been beside it, once."""
    assert tags("javascript:x", "click") == ("", " (javascript:x)")
    assert tags("javascript:x", "javascript:x") == ("", "")
