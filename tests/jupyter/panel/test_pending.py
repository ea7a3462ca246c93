"""The asks under way, where they stand in the log, and what is kept of those that failed."""

from __future__ import annotations

from message_types import conforms
from panel_views import turn

from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import ServiceError
from chatmagic.jupyter.panel import messages, pending
from chatmagic.jupyter.panel.pending import PendingAsks
from chatmagic.session.events import Ask


def test_an_ask_is_known_by_its_key_until_it_is_over() -> None:
    """Two asks of the same words are two; no number is used twice, for an aside either."""
    asks = PendingAsks()
    one, two = Ask("why?"), Ask("why?")
    first, second = asks.add(one), asks.add(two)
    assert asks.of(two) is asks[second.key] is second
    del asks[second.key]
    assert asks.of(two) is None
    asks.put_aside(second, None, ServiceError("down"), Conversation())
    third = asks.add(Ask("what?"))
    numbers = [first.key, second.key, -asks.asides[0].entry["id"], third.key]
    assert len(set(numbers)) == len(numbers)


def test_an_ask_stands_where_its_turn_will() -> None:
    """Behind its owner's turns, of which it replaces those of other executions; else at the end."""
    turns = [
        turn(1, number=1, owner="a", execution="1"),
        turn(2, number=2, owner="a", execution="2"),
        turn(3, number=3, owner="b", execution="2"),
        turn(4, number=4),
    ]
    asks = PendingAsks()
    again = asks.add(Ask("why?", owner="a", execution="2"))
    again.place(turns)
    assert (again.after, again.replaces) == (2, [1])
    for unowned in (Ask("why?", owner="c"), Ask("why?")):
        new = asks.add(unowned)
        new.place(turns)
        assert (new.after, new.replaces) == (None, ())
    assert conforms(again.values(), messages.Pending)


def test_an_aside_stands_behind_the_turn_that_was_last_then() -> None:
    """Or behind the one that its turn would have followed, or at the top."""
    conversation = Conversation()
    asks = PendingAsks()
    at_top, at_end, behind = (asks.add(Ask("why?")) for _ in range(3))
    asks.put_aside(at_top, None, ServiceError("down"), conversation)
    for number in range(2):
        conversation.add(turn(number))
    behind.after = 1
    for ask in (at_end, behind):
        asks.put_aside(ask, None, ServiceError("down"), conversation)
    assert [aside.after for aside in asks.asides] == [0, 2, 1]
    assert {aside.entry["prompt"] for aside in asks.asides} == {"why?"}


def test_the_newest_asides_are_kept() -> None:
    """A kernel whose service is down for a day does not keep every failure."""
    asks = PendingAsks()
    for number in range(pending.MOST_ASIDES + 3):
        asks.put_aside(asks.add(Ask(f"{number}")), None, ServiceError("down"), Conversation())
    assert [aside.entry["prompt"] for aside in asks.asides][::49] == ["3", "52"]
