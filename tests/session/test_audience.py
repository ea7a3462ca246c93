"""The audience of a question."""

from __future__ import annotations

from chatmagic.session.ask import Ask
from chatmagic.session.audience import Audience
from chatmagic.session.ending import Ending
from chatmagic.session.events import Event, Followers, Fragment, Thought
from chatmagic.session.views import Listener
from chatmagic.session.worker import Worker


def test_a_fragment_goes_to_the_view_and_the_followers_and_a_thought_to_these_alone() -> None:
    """The view is called in the thread that waits."""
    shown: list[str] = []
    heard: list[Event] = []
    followers = Followers()
    followers.add(heard.append)
    ask = Ask("a")

    def work(worker: Worker[Ending]) -> Ending:
        audience = Audience(ask, followers, Listener(shown.append), worker)
        audience.sent()
        audience.thought("hm")
        audience.fragment("A")
        return Ending()

    Worker(work, bool).wait()
    assert shown == ["A"]
    assert heard == [Thought(ask, "hm"), Fragment(ask, "A")]
