"""A session beside a simple model of it: whatever is asked, and however an answer ends."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from chatmagic._json import turn_digest
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.conversation.question import Entry
from chatmagic.errors import ChatError, ChatInterrupted, ConnectError, CutOffError
from chatmagic.models import Origin
from chatmagic.protocol import sse
from chatmagic.protocol.chunk import Chunk
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.session import Session
from chatmagic.session.views import View

FATES = [
    "whole",
    "whole",
    "whole in one piece",
    "nothing to say",
    "cut off",
    "broken off",
    "an error in the stream",
    "garbage",
    "stopped at the first fragment",
    "stopped while waiting",
    "refused",
    "no connection",
]
TEXTLESS = {"nothing to say", "stopped while waiting", "refused", "no connection"}
WHOLE = {"whole", "whole in one piece", "nothing to say"}
STREAM = (("Content-Type", "text/event-stream"),)


class Service:
    """A transport whose next answer a test decides, and that counts what it is asked."""

    def __init__(self) -> None:
        """Have been asked nothing."""
        self.bodies: list[Any] = []
        self.fate = "whole"
        self.text = ""
        self.origin: Origin = "live"

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Service:
        """Take a request, and prepare its answer."""
        assert halt.reason is None
        assert json.loads(body)["stream"] is stream
        self.bodies.append(json.loads(body))
        if self.fate == "no connection":
            raise ConnectError("No connection.")
        self.status = 503 if self.fate == "refused" else 200
        self.headers = [*STREAM, ("X-RateLimit-Limit", "9")]
        self._pieces = self._answer()
        self._halt, self._count = halt, len(self._pieces)
        return self

    def read(self) -> bytes:
        """Give the next piece; break or be stopped where that is the fate."""
        if self.fate == "stopped at the first fragment" and len(self._pieces) < self._count:
            while self._halt.reason is None:
                time.sleep(0.0001)
            raise ChatInterrupted("Interrupted.")
        if self._pieces:
            return self._pieces.pop(0)
        if self.fate == "broken off":
            raise CutOffError("The connection broke.")
        if self.fate == "stopped while waiting":
            raise ChatInterrupted("Interrupted.")
        return b""

    def close(self, *, ended: bool = False) -> None:
        """Have nothing to close."""

    def _answer(self) -> list[bytes]:
        if self.fate in {"refused", "stopped while waiting"}:
            return []
        if self.fate == "whole in one piece":
            chunk = Chunk(self.text, whole=True, finish_reason="stop")
            return [json.dumps(chunk.to_json()).encode()]
        if self.fate == "nothing to say":
            return [sse.encode_event(Chunk("").to_json()), sse.encode_done()]
        pieces = [sse.encode_event(Chunk(self.text[:1]).to_json())]
        if self.text[1:]:
            pieces.append(sse.encode_event(Chunk(self.text[1:]).to_json()))
        if self.fate == "an error in the stream":
            pieces.append(sse.encode_event({"error": {"message": "overloaded"}}))
        if self.fate == "garbage":
            pieces.append(b"data: <html>\n\n")
        return pieces if self.fate in {"cut off", "broken off"} else [*pieces, sse.encode_done()]


class Viewer(View):
    """A view that counts what it is told, and presses Stop where that is the fate."""

    def __init__(self, *, stops: bool) -> None:
        """Have been told nothing."""
        self.text = ""
        self.ends: list[Outcome | None] = []
        self.stops = stops

    def waiting(self, holder: str) -> None:
        """Nobody waits here."""
        pytest.fail(f"waits for {holder}")

    def began(self, notes: Sequence[str]) -> None:
        """The request is about to be sent."""

    def fragment(self, text: str) -> None:
        """A fragment came."""
        self.text += text
        if self.stops:
            raise KeyboardInterrupt

    def ended(self, answer: Outcome) -> None:
        """There is a reply."""
        self.ends.append(answer)

    def failed(self) -> None:
        """There is none."""
        self.ends.append(None)


Said = tuple[str, str, str]
"""A turn of the model: prompt, reply, and the execution that asked it."""


class Machine(RuleBasedStateMachine):
    """Places in the order of their first turn."""

    def __init__(self) -> None:
        """Begin with both empty."""
        super().__init__()
        self.service = Service()
        self.session = Session(Client(transport=self.service))
        self.owners: list[str | None] = []
        self.places: list[list[Said]] = []
        self.asks = 0

    def carried(self, owner: str | None, execution: str, last: int | None) -> list[Said]:
        """Give what the model says that a request carries."""
        if owner is None or owner not in self.owners:
            found = [said for place in self.places for said in place]
        else:
            at = self.owners.index(owner)
            found = [said for place in self.places[:at] for said in place]
            found += [said for said in self.places[at] if said[2] == execution]
        return found if last is None else found[max(0, len(found) - last) :]

    def keep(self, owner: str | None, said: Said) -> None:
        """Put a turn where it belongs."""
        if owner is None or owner not in self.owners:
            self.owners.append(owner)
            self.places.append([said])
            return
        place = self.places[self.owners.index(owner)]
        place[:] = [*(other for other in place if other[2] == said[2]), said]

    @rule(
        owner=st.sampled_from(["a", "b", "c", None]),
        entry=st.sampled_from(["cell", "panel", "python"]),
        again=st.booleans(),
        fate=st.sampled_from(FATES),
        text=st.text("xé {\n", min_size=1, max_size=3),
        history=st.sampled_from([True, True, True, False]),
        last=st.sampled_from([None, None, 0, 1, 2]),
        stream=st.booleans(),
    )
    def ask(  # noqa: PLR0917 - hypothesis gives them by name
        self,
        owner: str | None,
        entry: Entry,
        again: bool,
        fate: str,
        text: str,
        history: bool,
        last: int | None,
        stream: bool,
    ) -> None:
        """Ask; with any text the turn is kept, without it the conversation is as it was."""
        if fate == "stopped at the first fragment":
            text = text.lstrip() or "x"  # white space waits: thoughts may follow it
        self.asks += 1
        owner = None if entry == "panel" else owner
        execution = str(self.asks - (again and self.asks > 1))
        prompt = f"prompt {self.asks}"
        carried = self.carried(owner, execution, last) if history else []
        self.service.fate, self.service.text = fate, text
        view = Viewer(stops=fate == "stopped at the first fragment")
        asked = Ask(
            prompt,
            stream=stream,
            history=history,
            last=last,
            owner=owner,
            execution=execution,
            entry=entry,
        )
        failed = self.run(asked, view)
        assert (failed is None) == (fate in WHOLE)
        assert isinstance(failed, ChatInterrupted) == fate.startswith("stopped")
        kept = "" if fate in TEXTLESS else text[:1] if view.stops else text
        assert len(view.ends) == 1
        answer = view.ends[0]
        assert (answer is None) == (failed is not None and not kept)
        if answer is not None:
            self.check(answer, carried, kept)
            if history:
                self.keep(owner, (prompt, kept, execution))
        messages = [
            {"role": role, "content": content}
            for said in carried
            for role, content in zip(("user", "assistant"), said[:2], strict=True)
        ]
        messages.append({"role": "user", "content": prompt})
        assert self.service.bodies[-1] == {"messages": messages, "stream": stream}

    def run(self, asked: Ask, view: Viewer) -> BaseException | None:
        """Ask; only errors of ours may leave."""
        try:
            assert self.session.run(asked, view) is view.ends[0]
        except (ChatError, ChatInterrupted) as error:
            return error
        return None

    def check(self, answer: Outcome, carried: list[Said], text: str) -> None:
        """Compare an answer and its record with what came and what was carried."""
        whole = self.service.fate in WHOLE
        stopped = self.service.fate.startswith("stopped")
        assert answer.reply.text == text
        assert answer.record.state == answer.reply.state
        expected = "complete" if whole else "interrupted" if stopped else "cut off"
        assert answer.reply.state == expected
        assert list(answer.record.carried) == [turn_digest(*said[:2]) for said in carried]
        json.dumps(answer.record.to_json())

    @invariant()
    def same(self) -> None:
        """The turns are the model's, each ask was sent once, and nothing holds the lock."""
        said = [
            (turn.prompt, turn.reply.text, turn.execution) for turn in self.session.conversation
        ]
        assert said == [turn for place in self.places for turn in place]
        assert len(self.service.bodies) == self.asks
        assert self.session.lock.is_free()


TestMachine = Machine.TestCase
TestMachine.settings = hypothesis_settings(stateful_step_count=20)
