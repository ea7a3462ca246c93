"""What the panel and the live gauge show, as values; turns of the panel as cells."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from loopback import document
from panel_views import HOSTILE, Service, View, turn

from chatmagic.archive.output import HIDDEN
from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Value
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.steering import Hiding
from chatmagic.conversation.turn import Carried, Turn
from chatmagic.jupyter.page import panel_content
from chatmagic.jupyter.page.messages import Message
from chatmagic.models import Credits, Reply
from chatmagic.protocol.credits import RequestLimit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def drawn(conversation: Conversation) -> list[Message]:
    """Return the entries of a conversation."""
    entries = panel_content.LogEntries(conversation, ())
    listed, _ = entries.window()
    return entries.draw([id for id, _ in listed])


def test_a_hidden_turn_says_so() -> None:
    """Its entry is drawn anew; a turn below that carried it not is not stale."""
    conversation = Conversation()
    conversation.add(replace(turn(1, entry="panel"), hide=True))
    conversation.add(turn(2, entry="panel"))
    hidden, below = drawn(conversation)
    assert hidden["notes"] == [HIDDEN]
    assert below["notes"] == []
    conversation.add(Hiding(1, "", show=True, turn=1))
    shown, below = drawn(conversation)
    assert (shown["notes"], below["notes"]) == ([], [])
    assert shown["version"] != hidden["version"]


def test_a_prompt_is_shown_as_markdown_that_cannot_act(page: View, service: Service) -> None:
    """Line for line, with its formulas as typed; under way, as a turn, and as what failed."""
    text = f"**bold**\nand $x$\n- point\n\n{HOSTILE}"
    key = page.ask(text)
    ask = page.until("pending", live=key, stage="asked")
    (new,) = page.until("snapshot", live=key)["new"]
    service.reply = lambda peer: peer.send(document({"error": "down"}, "500 Down"))
    (aside,) = page.asked(text)["new"]
    for shown in (ask, new, aside):
        assert shown["prompt"].startswith("**bold**\nand $x$")
        assert "<strong>bold</strong><br>\nand <code>$x$</code>" in shown["prompt_html"]
        assert "<li>point" in shown["prompt_html"]
        assert "&lt;script&gt;" in shown["prompt_html"]
        assert not re.search("<(script|img)|href=.javascript|\u202e", shown["prompt_html"])


def one_of(prompt: str) -> Conversation:
    """Give a conversation of one turn."""
    conversation = Conversation()
    conversation.add(Turn(prompt=prompt, reply=Reply("fine"), entry="panel"))
    return conversation


def test_a_long_prompt_is_shown_as_typed() -> None:
    """Nobody waits until a pasted file is drawn."""
    (shown,) = drawn(one_of("**x** & y\n" * 5_000))
    assert "**x** &amp; y\n" * 5_000 in shown["prompt_html"]
    (shown,) = drawn(one_of("**x** & y"))
    assert "<strong>x</strong> &amp; y" in shown["prompt_html"]


def test_asides_stand_behind_their_turns() -> None:
    """At the top, behind a turn, and in the end where the turn is gone; none without its turn."""
    conversation = Conversation()
    for number in range(65):
        conversation.add(turn(number, carried=conversation.window().carried))
    asides = [(after, aside(-1 - after)) for after in (0, 2, 64, 99)]
    entries = panel_content.LogEntries(conversation, asides)
    newest = [id for id, _ in entries.window()[0]]
    assert newest == [*range(31, 65), -65, 65, -100]
    whole = [id for id, _ in entries.window(65)[0]]
    assert whole == [-1, 1, 2, -3, *range(3, 65), -65, 65, -100]
    assert [entry["id"] for entry in entries.draw(whole)][-4:] == [-1, -3, -65, -100]


def aside(id: int) -> Message:
    """Return an aside."""
    return {
        **panel_content.prompt("p", "", "panel"),
        "id": id,
        "version": "",
        "notes": [],
        "took": None,
        "reply": None,
        "problem": {"what": "w", "hint": "", "failed": True},
        "replies": [],
    }


@pytest.mark.parametrize(("count", "earlier"), [(0, 0), (59, 0), (60, 30), (89, 30), (90, 60)])
def test_a_window_begins_anew_with_each_page(count: int, earlier: int) -> None:
    """Between one page and two of them, so that a view that follows asks for nothing again."""
    conversation = Conversation()
    for number in range(count):
        conversation.add(turn(number))
    listed, before = panel_content.LogEntries(conversation, ()).window()
    assert (len(listed), before) == (count - earlier, earlier)


def test_where_cells_go() -> None:
    """Below the cell of the turn above, else above that of the turn below, else anywhere."""
    turns = [
        turn(1, number=1, entry="panel", owner="p1"),
        turn(2, number=2, owner=owner_of("A")),
        turn(3, number=3, entry="panel", owner="p3"),
    ]
    plan = panel_content.cells_for_turns(turns, None, ["A"])
    assert [(one.get("before"), one.get("after")) for one in plan] == [("A", None), (None, "A")]
    (alone_,) = panel_content.cells_for_turns(turns, [3], [])
    assert "before" not in alone_
    assert "after" not in alone_
    assert alone_["cell"]["outputs"][0]["metadata"] == {}  # of a turn without a record


def test_the_records_of_cells_do_not_grow_with_the_panel() -> None:
    """Each lists the turn whose cell stands before it, and those that no cell shows."""
    turns = [turn(number, number=number, entry="panel", owner=f"p{number}") for number in range(5)]
    digests = [one.digest for one in turns]
    turns = [
        replace(one, carried=carried, record=replace(one, carried=carried).to_record("0" * 64))
        for number, one in enumerate(turns)
        for carried in [Carried.from_turns(enumerate(digests[:number]))]
    ]
    for wanted, expected in (
        (None, [[], *([digest] for digest in digests[:4])]),
        ([0, 2, 4], [[], digests[:2], digests[2:4]]),
    ):
        plan = panel_content.cells_for_turns(turns, wanted, [])
        told = [one["cell"]["outputs"][0]["metadata"]["chatmagic"] for one in plan]
        assert [one["carried"] for one in told] == expected


def test_a_cell_has_the_options_of_its_turn() -> None:
    """Run, it sends what the panel sent."""
    asked = turn(1, number=1, entry="panel", owner="p1", temperature=0.5, last=2)
    (cell,) = panel_content.cells_for_turns([asked], None, [])
    assert cell["cell"]["source"].splitlines()[0] == "%%chat -t 0.5 --last 2"


def test_a_cell_asks_as_typed_in_the_form_of_its_turn() -> None:
    """What goes in front of a question for its form is no part of its cell."""
    form = Value.of_text("json", "Reply with JSON.", "format")
    asked = replace(
        turn(1, number=1, entry="panel", owner="p1", format="json"),
        prompt="Reply with JSON.\n\nwhy?",
        typed="why?",
        values=(form,),
    )
    (cell,) = panel_content.cells_for_turns([asked], None, [])
    assert cell["cell"]["source"] == "%%chat --format json\nwhy?"


def test_the_gauge_has_a_line_of_its_own_for_a_window_of_requests() -> None:
    """Beside the credits, of which none may be known."""
    tracker = CreditTracker()
    figures = panel_content.credits(tracker, None, now=NOON)
    assert (figures["level"], figures["requests"], figures["until"]) == ("unknown", "", None)
    tracker.credits = Credits(100, 10, 90, None, NOON)
    tracker.requests = RequestLimit(100, 93, NOON)
    figures = panel_content.credits(tracker, 2, now=NOON)
    assert (figures["level"], figures["took"], figures["left"]) == ("low", 2, 10)
    assert figures["requests"] == "93 of 100 requests left in this window"
    assert figures["until"] == figures["seen"] == "2026-01-01T12:00:00Z"
