"""An exchange: the links in their order, the one sending, and what is left of a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from loopback import Server, document, playing
from row_service import RowService
from served import Played

from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.client.listed_models import ModelList
from chatmagic.client.transport import Transport
from chatmagic.errors import ChatInterrupted, CutOffError, InputError, ServiceError
from chatmagic.models import Message
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.request import Request
from chatmagic.protocol.sse import encode_event
from chatmagic.session.exchange import Answer, Receiver, Sending, exchange

REQUEST = Request((Message("user", "a"),), stream=False)


@dataclass
class Noted(Receiver):
    """A receiver, and a link, that note what they come to."""

    seen: list[str] = field(default_factory=list)
    act: Callable[[], object] = str

    def sent(self) -> None:
        """Note it."""
        self.seen.append("sent")

    def begun(self) -> None:
        """Note it."""
        self.seen.append("begun")

    def fragment(self, text: str) -> None:
        """Note the text, and act."""
        self.seen.append(text)
        self.act()

    def link(self, name: str) -> Callable[[Sending, Callable[[Sending], Answer]], Answer]:
        """Return a link that notes when it is come to, and when it is left."""

        def step(sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
            self.seen.append(f"to {name}")
            answer = proceed(replace(sending, digest=f"{sending.digest}{name}"))
            self.seen.append(f"from {name}")
            return replace(answer, took=(answer.took or 0) + 1)

        return step


def sending(transport: Transport, receiver: Receiver) -> Sending:
    """Return a request that is ready."""
    client = Client(transport=transport)
    return Sending(client, REQUEST, "d", "python", None, receiver=receiver)


def test_each_link_is_called_with_the_next_and_the_last_step_sends() -> None:
    """In their order on the way, and in reverse on the way back."""
    service, noted = RowService(), Noted()
    answer = exchange(sending(service, noted), [noted.link("one"), noted.link("two")])
    assert noted.seen == ["to one", "to two", "sent", "begun", "A", "from two", "from one"]
    assert (answer.whole().text, answer.took, answer.problem) == ("A", 2, None)
    assert service.prompts == ["a"]


def test_a_link_that_refuses_has_nothing_sent() -> None:
    """Its error comes out as it is."""
    service, noted = RowService(), Noted()

    def refuse(_: Sending, proceed: object) -> Answer:
        del proceed
        raise InputError("No.")

    with pytest.raises(InputError, match="No"):
        exchange(sending(service, noted), [noted.link("one"), refuse, noted.link("two")])
    assert noted.seen == ["to one"]
    assert service.prompts == []


@pytest.mark.parametrize("error", [CutOffError("Cut."), OSError("gone")])
def test_what_came_is_in_the_answer_whatever_ended_it(error: Exception) -> None:
    """With the error, which is raised only where the whole reply is wanted."""
    noted = Noted()
    begun = encode_event(Chunk("one ").to_json())
    request = replace(REQUEST, stream=True)
    asked = replace(sending(Played(200, begun, error), noted), request=request)
    answer = exchange(asked, [])
    assert (answer.reply.text, answer.problem) == ("one ", error)
    assert noted.seen == ["sent", "begun", "one "]
    with pytest.raises(type(error)):
        answer.whole()


def test_a_receiver_that_fails_ends_the_answer() -> None:
    """As any other error does."""

    def fail() -> None:
        raise LookupError("here")

    answer = exchange(sending(RowService(), Noted(act=fail)), [])
    assert isinstance(answer.problem, LookupError)
    assert answer.reply.text == "A"


def test_a_stop_counts_at_the_next_fragment() -> None:
    """Though the transport does not look."""
    halt = Halt()
    asked = replace(sending(RowService(), Noted(act=halt.stop)), halt=halt)
    answer = exchange(asked, [])
    assert isinstance(answer.problem, ChatInterrupted)
    assert (answer.reply.text, answer.reply.state) == ("A", "interrupted")


def test_a_list_of_models_goes_the_same_way() -> None:
    """It is the value of a reply without text; an error is in the answer."""
    noted = Noted()
    listed = document({"data": [{"id": "small"}, {"id": "large"}]})
    with Server(playing(listed, document({}, "500 Oops"))) as server:
        client = Client(server.origin, "k")
        asked = Sending(client, None, "d", "models", None, receiver=noted)
        reply = exchange(asked, [noted.link("one")]).whole()
        answer = exchange(asked, [])
        client.close()
    assert reply.text == ""
    assert reply.parsed == ModelList(("small", "large"))
    assert noted.seen == ["to one", "sent", "begun", "from one", "sent"]
    assert isinstance(answer.problem, ServiceError)
    assert answer.reply.parsed == ModelList(())
    assert len(server.asked) == 2
