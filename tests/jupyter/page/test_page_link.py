"""The link between the kernel and its pages: what is heard, answered and left out."""

from __future__ import annotations

from typing import Any

import comm
import pytest
from bridged import PATIENCE, Front
from comms import page_comms

from chatmagic.jupyter.page.messages import ID, URGENT
from chatmagic.jupyter.page.page_link import PageLink


@pytest.fixture
def sent() -> list[Any]:
    """What the pages are sent."""
    return []


def test_each_message_has_its_handler(monkeypatch: pytest.MonkeyPatch, sent: list[Any]) -> None:
    """By its kind, also of a message that may not wait; what no handler knows is left out."""
    opened = page_comms(monkeypatch, sent.append)
    heard: list[Any] = []
    link = PageLink({"hello": heard.append})
    link.open({"kind": "state"})
    page = opened[0]
    assert page.opened_with == {"kind": "state"}
    assert page.comm_id.startswith(ID)
    unknown: list[Any] = [{"kind": []}, {"kind": "other"}, {}, None, "hello"]
    for content in ({"kind": "hello"}, *unknown):
        page.say(content)
    comm.get_comm_manager().targets[URGENT](page, {"content": {"data": {"kind": "hello", "n": 1}}})
    assert heard == [{"kind": "hello"}, {"kind": "hello", "n": 1}]
    link.close()
    assert not page.is_open
    assert URGENT not in comm.get_comm_manager().targets


def test_an_answer_is_taken_once_and_only_to_the_last_request(
    monkeypatch: pytest.MonkeyPatch, sent: list[Any]
) -> None:
    """A page that is gone does not answer, and what it says later is of no request."""
    opened = page_comms(monkeypatch, sent.append)
    answers: list[Any] = []
    link = PageLink({})
    link.open({})
    link.ask({"kind": "run"}, answers.append)
    link.ask({"kind": "code"}, answers.append)
    assert sent[-2:] == [{"kind": "run", "key": 1}, {"kind": "code", "key": 2}]
    for kind, key in (("started", 1), ("coded", 2), ("coded", 2), ("coded", None)):
        opened[0].say({"kind": kind, "key": key})
    assert answers == [{"kind": "coded", "key": 2}]
    link.close()


def test_a_front_end_that_closes_the_comm_closes_it_for_itself(front: Front) -> None:
    """One without our script does so; the kernel goes on listening to the others.

    What it cannot read it leaves out.
    """
    front.ask("a")
    front.comm.say({"kind": "cells"})
    front.comm.say(None)
    assert front.bridge.pages.reports == ()
    manager = comm.get_comm_manager()
    manager.comm_close(None, "", {"content": {"comm_id": front.comm.comm_id, "data": {}}})
    assert manager.get_comm(front.comm.comm_id) is front.comm
    front.say("a", opened=True)
    front.is_marked({})


def test_a_page_that_cannot_be_reached_ends_nothing(front: Front) -> None:
    """The bridge goes on, and says the next thing to the pages that are there then."""
    front.ask("a")
    front.comm.lost = True
    front.say("a", opened=True)
    assert front.comm.failed.wait(PATIENCE)
    front.comm.lost = False
    front.say("a", page="q", opened=True)
    front.is_marked({})
