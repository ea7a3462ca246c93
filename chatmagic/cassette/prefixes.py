"""Message prefixes: the beginnings of a conversation, each named by its chain digest.

Each request carries the conversation so far. With a name for each prefix a cassette holds a
conversation once, however long it gets, and is read and checked in one pass.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmagic import _json
from chatmagic.models import Message
from chatmagic.protocol.wire import NOT_IN_DIGEST
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Part: TypeAlias = tuple[Message | str, ...]
"""A turn (a prompt and its reply), another message, or the digest of a turn not known here."""


@dataclass(slots=True, eq=False)
class Prefix:
    """The beginning of a conversation.

    Args:
        name: its chain digest.
        before: the prefix without its last part; ``None`` where that is empty.
        part: its last part.
        messages: all its messages.
        hashes: the SHA-256 states of :meth:`hashed`, by the text before the messages.
    """

    name: str
    before: Prefix | None
    part: Part
    messages: Part
    hashes: dict[str, Any] = field(default_factory=dict)

    def newest(self, count: int) -> list[Part]:
        """Return the last parts, oldest first.

        Args:
            count: how many at most.
        """
        parts: list[Part] = []
        at: Prefix | None = self
        while at is not None and len(parts) < count:
            parts.append(at.part)
            at = at.before
        return parts[::-1]

    def hashed(self, head: str) -> Any:
        """Return the SHA-256 state after a text and the messages as JSON.

        Args:
            head: the text before the messages.

        Returns:
            ``None`` where the text of a message is not known.
        """
        todo: list[Prefix] = []
        at: Prefix | None = self
        while at is not None and head not in at.hashes:
            todo.append(at)
            at = at.before
        state = _sha256(head) if at is None else at.hashes[head]
        for prefix in reversed(todo):
            state = prefix.hashes[head] = _extended(state, prefix)
        return state


class Prefixes:
    """Table of prefixes, in which equal prefixes are one object."""

    def __init__(self) -> None:
        """Begin without any."""
        self._made: dict[tuple[Prefix | None, Part], Prefix] = {}
        self._latest: Prefix | None = None

    def of(self, messages: Sequence[Message | str], before: Prefix | None = None) -> Prefix | None:
        """Return a prefix extended by messages; ``None`` where both are empty.

        Args:
            messages: those of a request before its prompt, oldest first.
            before: the prefix before them.
        """
        latest = self._latest
        if before is None and latest is not None:
            # Most requests continue the latest turn; comparing is cheaper than cutting.
            count = len(latest.messages)
            if tuple(messages[:count]) == latest.messages:
                before, messages = latest, messages[count:]
        for part in parts_of(messages):
            before = self._behind(before, part)
        return before

    def turn(self, before: Prefix | None, prompt: str, reply: str) -> Prefix:
        """Return a prefix extended by a turn.

        Args:
            before: the prefix; ``None`` is empty.
            prompt: the turn's prompt.
            reply: its reply.
        """
        turn = (Message("user", prompt), Message("assistant", reply))
        self._latest = made = self._behind(before, turn)
        return made

    def _behind(self, before: Prefix | None, part: Part) -> Prefix:
        made = self._made.get((before, part))
        if made is None:
            name = _json.chain_digest(None if before is None else before.name, part_digest(part))
            messages = part if before is None else (*before.messages, *part)
            made = self._made[before, part] = Prefix(name, before, part, messages)
        return made


def request_digest(before: Prefix | None, body: Mapping[str, Any]) -> str | None:
    """Return the digest of a request, as :meth:`chatmagic.protocol.wire.Request.digest` does.

    Args:
        before: the messages before the prompt.
        body: the request's body as JSON, with the prompt as its only message.
    """
    names = sorted(name for name in body if name not in NOT_IN_DIGEST)
    fields = {name: f"{_json.canonical(name)}:{_json.canonical(body[name])}" for name in names}
    head = "".join(f"{fields[name]}," for name in names if name < "messages")
    tail = "".join(f",{fields[name]}" for name in names if name > "messages")
    head = f'{{{head}"messages":['
    state = _sha256(head) if before is None else before.hashed(head)
    if state is None:
        return None
    whole = state.copy()
    prompt = _json.canonical(body["messages"][0])
    whole.update(f"{'' if before is None else ','}{prompt}]{tail}}}".encode())
    return str(whole.hexdigest())


def parts_of(messages: Sequence[Message | str]) -> Iterator[Part]:
    """Cut messages into parts: a prompt with its reply, or any other message alone.

    Args:
        messages: those of a request before its prompt, oldest first; a turn whose text is not
            known is its digest.
    """
    at = 0
    while at < len(messages):
        pair = tuple(messages[at : at + 2])
        roles = [item.role for item in pair if isinstance(item, Message)]
        part = pair if roles == ["user", "assistant"] else pair[:1]
        at += len(part)
        yield part


def part_digest(part: Part) -> str:
    """Return a turn's own digest, or that of another message.

    Args:
        part: as :func:`parts_of` cuts them.
    """
    first, last = part[0], part[-1]
    if isinstance(first, str):
        return first
    if first is not last and isinstance(last, Message):
        return _json.turn_digest(first.content, last.content)
    return _json.digest(first.to_json())


def _extended(state: Any, prefix: Prefix) -> Any:
    """Return a SHA-256 state extended by the last part of a prefix."""
    if state is None or isinstance(prefix.part[0], str):
        return None
    parts = [
        _json.canonical(
            {
                "role": without_lone_surrogates(message.role),
                "content": without_lone_surrogates(message.content),
            }
        )
        for message in prefix.part
        if isinstance(message, Message)
    ]
    longer = state.copy()
    longer.update(f"{'' if prefix.before is None else ','}{','.join(parts)}".encode())
    return longer


def _sha256(text: str) -> Any:
    return hashlib.sha256(text.encode())
