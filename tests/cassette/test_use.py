"""Use of a cassette in one line."""

from __future__ import annotations

from cassettes import exchange_of

from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.item import Query
from chatmagic.cassette.match import Matcher
from chatmagic.cassette.use import CassetteUse, refresh_words
from chatmagic.models import Message
from chatmagic.protocol.request import Request


def exchange(prompt: str, text: str | None = None, owner: str | None = None) -> Interaction:
    """Return an exchange; without a text it is an error."""
    error = {"error": "no"} if text is None else None
    request = Request((Message("user", prompt),))
    return exchange_of(request, text=text, error=error, owner=owner)


def test_other_markdown_cells_are_told_only_where_there_are_some() -> None:
    """The usual line has two numbers."""
    assert CassetteUse(1_000, 2).words() == "1,000 answered from it, 2 recorded."
    line = "2 answered from it, 0 recorded; 1 with other Markdown cells than recorded."
    assert CassetteUse(2, other_markdown=1).words() == line


def test_a_refresh_counts_what_became_of_each() -> None:
    """Kept word for word, changed, new, not asked; what is new stands at the end."""
    before = [
        exchange("a", "1", "x"),
        exchange("b", "2", "y"),
        exchange("c", "3"),
        exchange("d", "4", "z"),
    ]
    matcher = Matcher([*before, exchange("e", None, "w")])
    for prompt, cell, execution, text in [
        ("a", "x", "1", "1"),
        ("b", "y", "1", "2b"),
        ("b", "y", "2", "2c"),
        ("n", "new", "1", "n"),
        ("n", "new", "2", "n2"),
        ("c", None, "1", "3"),
    ]:
        asked = Query(exchange(prompt, owner=cell), execution)
        assert matcher.add(exchange(prompt, text, cell), asked, refresh=True)
    refused = exchange("e", None, "w")
    assert not matcher.add(refused, Query(refused, "1"))
    assert refresh_words(matcher.items) == (
        "2 kept word for word, 1 changed, 1 new, 2 not asked again, which stay."
    )
    assert [item.text for item in matcher.interactions] == ["1", "2c", "3", "4", None, "n2"]
