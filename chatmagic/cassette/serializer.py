"""The text of a cassette: recorded interactions, written to be read, compared and merged.

A cassette is JSON Lines. Its first line says what it is; then, for each interaction:

- one line with the request: its digest, its parameters, the model that was asked for, and the
  messages before the prompt: ``after`` names the longest beginning of them that another
  interaction of the file makes with its prompt and reply (with ``last`` only so many of its
  newest turns), ``before`` lists the rest, a turn that the cassette holds itself by its digest;
- a line for each line of the prompt (``you``);
- one line with the status, the few headers that are kept, and the facts of the reply;
- a line for each line of the reply (``reply``).

So a changed word is a changed line. No key, no request header and no address is in it.
Version 1 listed all the turns before each prompt, and had the model among the parameters.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from chatmagic import _json
from chatmagic._json import fields_from_json, fields_to_json, known
from chatmagic.cassette.interaction import KEPT_HEADERS, Interaction
from chatmagic.cassette.prefixes import Part, Prefix, Prefixes, request_digest
from chatmagic.errors import InputError
from chatmagic.models import BodyFacts, Message
from chatmagic.protocol.wire import NOT_IN_DIGEST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

VERSION: Final = 2
READABLE: Final = (1, 2)
REFERENCE: Final = 16
"""How many digits of a digest name a turn, or a prefix, within a cassette."""

_REQUEST: Final = {
    "ask": ("request", str),
    "owner": ("owner", str),
    "typed": ("typed", str),
    "model": ("asked_model", str),
    "superseded": ("superseded", bool),
    "parameters": ("parameters", dict),
    "after": ("after", str),
    "last": ("last", int),
    "before": ("before", list),
}
"""The fields of a request's line: the attribute of each, and its type in JSON."""
_FOLLOWS: Final = {
    "head": ("ask",),
    "ask": ("ask", "you", "status"),
    "you": ("ask", "you", "status"),
    "status": ("ask", "reply"),
    "reply": ("ask", "reply"),
}
"""Which kinds of lines may follow a line of each kind."""
_CANDIDATES: Final = 3


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of an interaction, as far as it is the same in every file.

    Args:
        interaction: the interaction.
        carried: what its request carried; ``None`` is nothing, or not known.
        made: that with its own turn; ``None`` for an error, or where it is not known.
        lines: its lines but the first one.
    """

    interaction: Interaction
    carried: Prefix | None
    made: Prefix | None
    lines: str


class Writer:
    """Writer of a cassette's text that reuses the lines of interactions it has written before."""

    def __init__(self) -> None:
        """Have written nothing."""
        self._prefixes = Prefixes()
        self._texts: dict[int, _Text] = {}

    def write(self, interactions: Iterable[Interaction]) -> str:
        """Return the text of a cassette.

        Args:
            interactions: in their order.
        """
        texts = [self._texts.get(id(item)) or self._text(item) for item in interactions]
        self._texts = {id(text.interaction): text for text in texts}
        made: dict[Prefix, None] = dict.fromkeys(text.made for text in texts if text.made)
        turns: dict[Part, list[Prefix]] = {}
        for prefix in made:
            turns.setdefault(prefix.part, []).append(prefix)
        head = _line({"chatmagic": "cassette", "version": VERSION})
        return head + "".join(_line(_request(text, made, turns)) + text.lines for text in texts)

    def _text(self, item: Interaction) -> _Text:
        carried = made = None
        if item.after is None:
            carried = self._prefixes.of(item.before)
            if item.text is not None:
                made = self._prefixes.turn(carried, item.prompt, item.text)
        lines = [{"you": line} for line in _lines(item.prompt) or [""]]
        lines += [_answer(item), *({"reply": line} for line in _lines(item.text or ""))]
        return _Text(item, carried, made, "".join(map(_line, lines)))


def write(interactions: Iterable[Interaction]) -> str:
    """Return the text of a cassette.

    Args:
        interactions: in their order.
    """
    return Writer().write(tuple(interactions))


def _request(
    text: _Text, made: Collection[Prefix], turns: Mapping[Part, Sequence[Prefix]]
) -> dict[str, Any]:
    """Return the first line of an interaction.

    Args:
        text: the interaction.
        made: what the interactions of the file make with their prompts and replies.
        turns: the same by their last turns.
    """
    item = text.interaction
    after, last, before = item.after, item.last, list(item.before)
    if after is None:
        parts, prefix = [], text.carried
        while prefix is not None and prefix not in made:
            parts.append(prefix.part)
            prefix = prefix.before
        if prefix is None and (prefix := _windowed(parts[::-1], turns)) is not None:
            last, parts = len(parts), []
        after = None if prefix is None else prefix.name[:REFERENCE]
        before = [message for part in reversed(parts) for message in _referred(part, turns)]
    values = {key: getattr(item, name) for key, (name, _) in _REQUEST.items()}
    values |= {
        "parameters": dict(item.parameters),
        "after": after,
        "last": last,
        "before": [m if isinstance(m, str) else m.to_json() for m in before],
    }
    return {key: value for key, value in values.items() if value or value == ""}


def _windowed(parts: Sequence[Part], turns: Mapping[Part, Sequence[Prefix]]) -> Prefix | None:
    """Return a prefix that ends with these parts, as where a request left out the oldest turns.

    Args:
        parts: what the request carried, oldest first.
        turns: what the interactions of the file make, by their last turns.
    """
    if len(parts) < 2:  # noqa: PLR2004 - a turn by itself is as short
        return None
    # Of many that end alike the newest are the likely ones.
    near = turns.get(parts[-1], ())[-_CANDIDATES:]
    return next((prefix for prefix in near if prefix.newest(len(parts)) == list(parts)), None)


def _referred(part: Part, turns: Collection[Part]) -> Part:
    """Return a turn that the cassette holds by its digest, any other part as it is."""
    if part not in turns:
        return part
    prompt, reply = (item.content for item in part if isinstance(item, Message))
    return (_json.turn_digest(prompt, reply)[:REFERENCE],)


def _answer(item: Interaction) -> dict[str, Any]:
    return {
        "status": item.status,
        "from": item.origin,
        "headers": dict(item.headers),
        **fields_to_json(item, BodyFacts),
        **known(
            took=item.took,
            sha256=None if item.text is None else _json.digest(item.text),
            error=item.error,
        ),
    }


def _line(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False) + "\n"
    # A lone surrogate has no UTF-8, but JSON has an escape for it.
    return text.encode("utf-8", "backslashreplace").decode()


def _lines(text: str) -> list[str]:
    """Cut a text behind each line feed, and nowhere else."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def read(text: str, name: str) -> tuple[Interaction, ...]:
    """Return the interactions of a cassette, checked against their digests.

    Args:
        text: the whole text.
        name: the file's name, for messages.

    Raises:
        InputError: a line is not as it was written, or of a newer version; says which.
    """
    try:
        blocks = _blocks(text, name)
        drafts = [_draft(block) for block in blocks]
        carried = _carried(drafts)
        return tuple(
            _checked(draft, carried.get(index), block.number)
            for index, (draft, block) in enumerate(zip(drafts, blocks, strict=True))
        )
    except _DamagedError as damage:
        raise InputError(
            f"{name}, line {damage.number:,}: {damage.why}.",
            hint="The file was left as it is: repair it, or record into another one.",
        ) from None


class _DamagedError(Exception):
    """A line that is not as it was written."""

    def __init__(self, number: int, why: str) -> None:
        self.number = number
        self.why = why


@dataclass(slots=True)
class _Block:
    """The lines of one interaction.

    Args:
        number: of its first line in the file.
        request: its first line.
        you: the lines of the prompt.
        answer: the line of the status.
        answer_number: of that line.
        reply: the lines of the reply.
    """

    number: int
    request: Mapping[str, Any]
    you: list[str] = field(default_factory=list)
    answer: Mapping[str, Any] = field(default_factory=dict)
    answer_number: int = 0
    reply: list[str] = field(default_factory=list)


def _blocks(text: str, name: str) -> list[_Block]:
    """Sort the lines into interactions."""
    blocks: list[_Block] = []
    previous = ""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        value = _object(line, number)
        if not previous:
            _check_head(value, number, name)
            previous = "head"
            continue
        kind = next((key for key in _FOLLOWS[previous] if key in value), "")
        if kind == "ask":
            blocks.append(_Block(number, value))
        elif kind == "status":
            blocks[-1].answer, blocks[-1].answer_number = value, number
        elif isinstance(value.get(kind), str):
            (blocks[-1].you if kind == "you" else blocks[-1].reply).append(value[kind])
        else:
            raise _DamagedError(number, "it is not in its place")
        previous = kind
    if not previous:
        raise _DamagedError(1, "it is empty")
    return blocks


def _object(line: str, number: int) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        is_merge = line.startswith(("<<<<", "||||", "====", ">>>>"))
        raise _DamagedError(number, f"it is {'a merge conflict' if is_merge else 'not JSON'}")
    return value


def _check_head(value: Mapping[str, Any], number: int, name: str) -> None:
    if value.get("chatmagic") != "cassette":
        raise InputError(
            f"{name} is not a cassette: its line {number} is not the head of one.",
            hint="It was left as it is. %chat_cassette FILE makes a new one where there is none.",
        )
    version = value.get("version")
    if version not in READABLE or isinstance(version, bool):
        raise InputError(
            f"{name} is a cassette of version {version!r}, and this chatmagic reads {VERSION}.",
            hint="It was left as it is. A newer chatmagic reads it.",
        )


def _draft(block: _Block) -> Interaction:
    """Return an interaction with its references as they stand."""
    answer, text = block.answer, "".join(block.reply)
    if not block.you or not answer:
        raise _DamagedError(block.number, "its exchange is not complete")
    digest = answer.get("sha256")
    if digest is None and not isinstance(answer.get("error"), dict):
        raise _DamagedError(block.answer_number, "it is neither a reply nor an error")
    if digest is not None and digest != _json.digest(text):
        raise _DamagedError(block.answer_number, "the reply is not the one that was recorded")
    try:
        values = {
            name: _typed(block.request, key, kind)
            for key, (name, kind) in _REQUEST.items()
            if key in block.request
        }
        values["before"] = tuple(
            item if isinstance(item, str) else Message.from_json(item)
            for item in values.get("before", ())
        )
        return Interaction(
            **values,
            prompt="".join(block.you),
            status=_typed(answer, "status", int),
            headers=tuple(
                (name, value)
                for name, value in _typed({"headers": {}, **answer}, "headers", dict).items()
                if name.lower() in KEPT_HEADERS and isinstance(value, str)
            ),
            text=None if digest is None else text,
            error=answer.get("error") if digest is None else None,
            **fields_from_json(BodyFacts, answer),
            took=_json.whole_number(answer.get("took")),
            origin="emulator" if answer.get("from") == "emulator" else "live",
        )
    except ValueError as error:
        raise _DamagedError(block.number, str(error)) from None


def _typed(value: Mapping[str, Any], key: str, kind: type) -> Any:
    if type(value[key]) is not kind:
        raise ValueError(f"{key!r} is not of the right type")
    return value[key]


def _carried(drafts: Sequence[Interaction]) -> dict[int, Prefix | None]:
    """Return what the requests carried, by their indices, as far as it is known.

    An interaction may stand before the one that it continues, as cells may be run in any order.
    """
    turns: dict[str, Part] = {}
    waiting: dict[str, list[int]] = {}
    for index, draft in enumerate(drafts):
        if draft.text is not None and (turn := draft.turn) is not None:
            messages = (Message("user", draft.prompt), Message("assistant", draft.text))
            turns[turn[:REFERENCE]] = messages
        if draft.after is not None:
            waiting.setdefault(draft.after, []).append(index)
    prefixes = Prefixes()
    carried: dict[int, Prefix | None] = {}
    ready: list[tuple[int, Prefix | None]] = [
        (index, None) for index, draft in enumerate(drafts) if draft.after is None
    ]
    for index, after in ready:
        draft, prefix, before = drafts[index], after, []
        if after is not None and draft.last is not None:
            prefix, before = None, [m for part in after.newest(draft.last) for m in part]
        for item in draft.before:
            before += turns.get(item[:REFERENCE], (item,)) if isinstance(item, str) else (item,)
        carried[index] = prefix = prefixes.of(before, prefix)
        if draft.text is not None:
            made = prefixes.turn(prefix, draft.prompt, draft.text)
            ready += [(other, made) for other in waiting.pop(made.name[:REFERENCE], ())]
    return carried


def _checked(draft: Interaction, carried: Prefix | None, number: int) -> Interaction:
    """Return an interaction with what it carried, its request checked as far as it is known.

    Args:
        draft: the interaction with its references.
        carried: what its request carried.
        number: of its first line.
    """
    parameters = {n: value for n, value in draft.parameters.items() if n not in NOT_IN_DIGEST}
    item = replace(draft, parameters=parameters)
    if draft.after is None or carried is not None:
        before = () if carried is None else carried.messages
        item = replace(item, before=before, after=None, last=None)
    try:
        request = replace(item, before=(), after=None, last=None).body
    except ValueError as error:
        raise _DamagedError(number, str(error)) from None
    if request is None or item.after is not None:
        return item
    body = json.loads(request.encode())
    digest = request_digest(carried, body)
    if digest in (None, item.request):
        return item
    if len(parameters) < len(draft.parameters):
        # Version 1 had the model in the request's digest.
        messages = [message.to_json() for message in item.before if isinstance(message, Message)]
        old = {**draft.parameters, **body, "messages": [*messages, *body["messages"]]}
        if _json.digest(old) == item.request:
            model = draft.parameters.get("model")
            return replace(
                item, request=str(digest), asked_model=model if isinstance(model, str) else None
            )
    raise _DamagedError(number, "the request is not the one that was recorded")
