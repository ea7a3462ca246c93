"""The ways to answer a message of a panel's view."""

from __future__ import annotations

from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.panel_feed import Shown
from chatmagic.jupyter.page.view_request import ViewRequest


def test_an_answer_names_the_view_that_asks() -> None:
    """A refusal names its question, too, if the message has one."""
    sent: list[tuple[Shown, Message]] = []
    shown = Shown(lambda _: None, lambda: None)

    def request(message: Message) -> ViewRequest:
        return ViewRequest(shown, message, lambda panel, answer: sent.append((panel, answer)))

    request({"view": "v"}).answer({"kind": "pong"})
    request({}).notify("done")
    request({"view": "v", "nonce": "n"}).refuse("no prompt")
    request({"view": "v"}).refuse("failed")
    assert [panel for panel, _ in sent] == [shown] * 4
    assert [answer for _, answer in sent] == [
        {"kind": "pong", "view": "v"},
        {"kind": "notice", "words": "done", "view": ""},
        {"kind": "notice", "words": "no prompt", "nonce": "n", "view": "v"},
        {"kind": "notice", "words": "failed", "view": "v"},
    ]
