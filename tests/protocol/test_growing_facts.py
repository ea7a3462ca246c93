"""Facts beside a reply's text."""

from __future__ import annotations

from chatmagic.models import Usage
from chatmagic.protocol.api_key import REMOVED, Secret
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.growing_facts import GrowingFacts


def test_the_latest_value_of_each_counts() -> None:
    """A chunk without a fact changes none; texts that grow are none of them."""
    facts = GrowingFacts(())
    facts.add(Chunk("one", model="m", response_id="1", reasoning="Hm"))
    facts.add(Chunk(finish_reason="stop", usage=Usage(1, 2, 3)))
    facts.add(Chunk(model="n", refusal="no"))
    assert facts.by_name == {
        "model": "n",
        "response_id": "1",
        "finish_reason": "stop",
        "usage": Usage(1, 2, 3),
    }
    assert facts.names == {"id": "1", "model": "n", "system_fingerprint": None}
    assert not facts.has_removed_key


def test_a_key_is_removed_and_that_is_known_from_then_on() -> None:
    """The names stay as received, for the comparison with later chunks."""
    facts = GrowingFacts([Secret("sk-private-0123")])
    facts.add(Chunk(model="of sk-private-0123"))
    assert facts.by_name == {"model": f"of {REMOVED}"}
    assert facts.names["model"] == "of sk-private-0123"
    facts.add(Chunk(model="m"))
    assert (facts.by_name["model"], facts.has_removed_key) == ("m", True)
