"""The text of a cassette: recorded exchanges, written to be read, compared and merged.

A cassette is JSON Lines. Its first line says what it is; then, for each exchange:

- one line that says what was asked: the digest of the request, its parameters, the model that
  was asked, and the messages before the prompt: ``after`` names the longest beginning of them
  that another exchange of the file makes with its prompt and reply (with ``last`` only so many
  of its newest turns), ``before`` lists the rest, a turn that the cassette holds itself by its
  digest alone;
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
from chatmagic._json import fields_from_json, fields_to_json
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
"""How many digits of a digest name a turn, or a list of them, within a cassette."""

_CANDIDATES: Final = 3
_REQUIRED: Final = object()


@dataclass(frozen=True, slots=True)
class _Text:
    """What of an exchange's text is the same in whichever file it stands.

    Args:
        one: the exchange.
        carried: what its request carried; ``None`` is nothing, or not known.
        made: that with its own turn; ``None`` for an error, or where it is not known.
        lines: its lines but the first one.
    """

    one: Interaction
    carried: Prefix | None
    made: Prefix | None
    lines: str


class Writer:
    """Writes the text of a cassette again and again, and works only on what is new in it."""

    def __init__(self) -> None:
        """Have written nothing."""
        self._prefixes = Prefixes()
        self._texts: dict[int, _Text] = {}

    def write(self, exchanges: Iterable[Interaction]) -> str:
        """Return the text of a cassette.

        Args:
            exchanges: in their order.
        """
        texts = [self._texts.get(id(one)) or self._text(one) for one in exchanges]
        self._texts = {id(text.one): text for text in texts}
        made: dict[Prefix, None] = dict.fromkeys(text.made for text in texts if text.made)
        turns: dict[Part, list[Prefix]] = {}
        for prefix in made:
            turns.setdefault(prefix.part, []).append(prefix)
        head = _line({"chatmagic": "cassette", "version": VERSION})
        return head + "".join(_line(_question(text, made, turns)) + text.lines for text in texts)

    def _text(self, one: Interaction) -> _Text:
        carried = made = None
        if one.after is None:
            carried = self._prefixes.of(one.before)
            if one.text is not None:
                made = self._prefixes.turn(carried, one.prompt, one.text)
        lines = [{"you": line} for line in _lines(one.prompt) or [""]]
        lines += [_answer(one), *({"reply": line} for line in _lines(one.text or ""))]
        return _Text(one, carried, made, "".join(map(_line, lines)))


def write(exchanges: Iterable[Interaction]) -> str:
    """Return the text of a cassette.

    Args:
        exchanges: in their order.
    """
    return Writer().write(tuple(exchanges))


def read(text: str, name: str) -> tuple[Interaction, ...]:
    """Read the text of a cassette, and check that it is what was written.

    Args:
        text: the whole of it.
        name: what to call it in a message.

    Raises:
        InputError: a line is not as it was written, or of a newer version; says which.
    """
    blocks = _blocks(text, name)
    drafts = [_draft(block, name) for block in blocks]
    carried = _carried(drafts)
    return tuple(
        _checked(draft, carried.get(number), block, name)
        for number, (draft, block) in enumerate(zip(drafts, blocks, strict=True))
    )


@dataclass(slots=True)
class _Block:
    """The lines of one exchange, and where in the file the first one stands."""

    number: int
    question: Mapping[str, Any]
    you: list[str] = field(default_factory=list)
    answer: Mapping[str, Any] = field(default_factory=dict)
    answer_number: int = 0
    reply: list[str] = field(default_factory=list)


def _question(
    text: _Text, made: Collection[Prefix], turns: Mapping[Part, Sequence[Prefix]]
) -> dict[str, Any]:
    """Return the first line of an exchange.

    Args:
        text: the exchange.
        made: what the exchanges of the file make with their prompts and replies.
        turns: the same by their last turns.
    """
    one = text.one
    after, last, before = one.after, one.last, list(one.before)
    if after is None:
        parts, at = [], text.carried
        while at is not None and at not in made:
            parts.append(at.part)
            at = at.before
        if at is None and (at := _windowed(parts[::-1], turns)) is not None:
            last, parts = len(parts), []
        after = None if at is None else at.name[:REFERENCE]
        before = [item for part in reversed(parts) for item in _referred(part, turns)]
    known = {
        "owner": one.owner,
        "typed": one.typed,
        "model": one.asked_model,
        "superseded": one.superseded or None,
        "parameters": dict(one.parameters) or None,
        "after": after,
        "last": last,
        "before": [i if isinstance(i, str) else i.to_json() for i in before] or None,
    }
    return {
        "ask": one.request,
        **{name: value for name, value in known.items() if value is not None},
    }


def _windowed(parts: Sequence[Part], turns: Mapping[Part, Sequence[Prefix]]) -> Prefix | None:
    """Return what ends with these parts, as where a request left the oldest turns out.

    Args:
        parts: what the request carried, oldest first.
        turns: what the exchanges of the file make, by their last turns.
    """
    if len(parts) < 2:  # noqa: PLR2004 - a turn by itself is as short
        return None
    # Of many that end alike the newest are the likely ones.
    near = turns.get(parts[-1], ())[-_CANDIDATES:]
    return next((one for one in near if one.newest(len(parts)) == list(parts)), None)


def _referred(part: Sequence[Message | str], turns: Collection[Any]) -> Sequence[Message | str]:
    """Return a turn that the cassette holds by its digest, any other part as it is."""
    if part not in turns:
        return part
    prompt, reply = (item.content for item in part if isinstance(item, Message))
    return [_json.turn_digest(prompt, reply)[:REFERENCE]]


def _answer(one: Interaction) -> dict[str, Any]:
    known = {
        **fields_to_json(one, BodyFacts),
        "took": one.took,
        "sha256": None if one.text is None else _json.digest(one.text),
        "error": one.error,
    }
    return {
        "status": one.status,
        "from": one.origin,
        "headers": dict(one.headers),
        **{name: value for name, value in known.items() if value is not None},
    }


def _line(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False) + "\n"
    # Half a surrogate pair has no UTF-8; as JSON writes it, it has.
    return text.encode("utf-8", "backslashreplace").decode()


def _carried(drafts: Sequence[Interaction]) -> dict[int, Prefix | None]:
    """Return what the requests carried, by their places; those of which it is known.

    An exchange may stand before the one that it goes on from, as cells may be run in any order.
    """
    turns: dict[str, Sequence[Message]] = {}
    waiting: dict[str, list[int]] = {}
    for number, draft in enumerate(drafts):
        if draft.text is not None and (turn := draft.turn) is not None:
            said = (Message("user", draft.prompt), Message("assistant", draft.text))
            turns[turn[:REFERENCE]] = said
        if draft.after is not None:
            waiting.setdefault(draft.after, []).append(number)
    prefixes = Prefixes()
    found: dict[int, Prefix | None] = {}
    ready: list[tuple[int, Prefix | None]] = [
        (number, None) for number, draft in enumerate(drafts) if draft.after is None
    ]
    for number, after in ready:
        draft = drafts[number]
        messages, behind = _resolved(draft.before, turns), after
        if after is not None and draft.last is not None:
            newest, behind = after.newest(draft.last), None
            messages = [*(item for part in newest for item in part), *messages]
        found[number] = carried = prefixes.of(messages, behind)
        if draft.text is not None:
            made = prefixes.turn(carried, draft.prompt, draft.text)
            ready += [(other, made) for other in waiting.pop(made.name[:REFERENCE], ())]
    return found


def _resolved(
    before: Sequence[Message | str], turns: Mapping[str, Sequence[Message]]
) -> list[Message | str]:
    """Put the turns' messages in the place of their digests, where the cassette has them."""
    found: list[Message | str] = []
    for item in before:
        found += turns.get(item[:REFERENCE], (item,)) if isinstance(item, str) else (item,)
    return found


def _lines(text: str) -> list[str]:
    """Cut a text behind each line feed, and nowhere else."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _blocks(text: str, name: str) -> list[_Block]:
    """Sort the lines into exchanges."""
    blocks: list[_Block] = []
    headed = False
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        value = _object(line, number, name)
        if not headed:
            _check_head(value, number, name)
            headed = True
        elif "ask" in value:
            blocks.append(_Block(number, value))
        elif not blocks or not _belongs(value, blocks[-1], number):
            raise _damaged(name, number, "it does not belong where it stands")
    if not headed:
        raise _damaged(name, 1, "it is empty")
    return blocks


def _object(line: str, number: int, name: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        is_merge = line.startswith(("<<<<", "||||", "====", ">>>>"))
        raise _damaged(name, number, f"it is {'a conflict of a merge' if is_merge else 'no JSON'}")
    return value


def _check_head(value: Mapping[str, Any], number: int, name: str) -> None:
    if value.get("chatmagic") != "cassette":
        raise InputError(
            f"{name} is not a cassette: its line {number} does not say so.",
            hint="It was left as it is. %chat_cassette FILE makes a new one where there is none.",
        )
    version = value.get("version")
    if version not in READABLE or isinstance(version, bool):
        raise InputError(
            f"{name} is a cassette of version {version!r}, and this chatmagic reads {VERSION}.",
            hint="It was left as it is. A newer chatmagic reads it.",
        )


def _belongs(value: Mapping[str, Any], block: _Block, number: int) -> bool:
    """Put a line into its exchange; tell whether it has a place there."""
    you, reply = value.get("you"), value.get("reply")
    if isinstance(you, str) and not block.answer:
        block.you.append(you)
    elif isinstance(reply, str) and block.answer:
        block.reply.append(reply)
    elif "status" in value and not block.answer:
        block.answer, block.answer_number = value, number
    else:
        return False
    return True


def _draft(block: _Block, name: str) -> Interaction:
    """Read one exchange, its references as they stand."""
    question, answer = block.question, block.answer
    if not block.you or not answer:
        raise _damaged(name, block.number, "its exchange is not whole")
    text = "".join(block.reply)
    told = answer.get("sha256")
    if told is None and not isinstance(answer.get("error"), dict):
        raise _damaged(name, block.answer_number, "it is neither a reply nor an error")
    if told != (None if told is None else _json.digest(text)):
        raise _damaged(name, block.answer_number, "the reply is not the one that was recorded")
    try:
        return Interaction(
            request=_of(question, "ask", str),
            prompt="".join(block.you),
            before=tuple(map(_earlier, _of(question, "before", list, []))),
            after=_of(question, "after", str, None),
            last=_of(question, "last", int, None),
            parameters=_of(question, "parameters", dict, {}),
            asked_model=_of(question, "model", str, None),
            superseded=question.get("superseded") is True,
            typed=_of(question, "typed", str, None),
            owner=_of(question, "owner", str, None),
            status=_of(answer, "status", int),
            headers=_headers(_of(answer, "headers", dict, {})),
            text=None if told is None else text,
            error=answer.get("error") if told is None else None,
            **fields_from_json(BodyFacts, answer),
            took=_json.whole_number(answer.get("took")),
            origin="emulator" if answer.get("from") == "emulator" else "live",
        )
    except ValueError as error:
        raise _damaged(name, block.number, str(error)) from None


def _checked(one: Interaction, carried: Prefix | None, block: _Block, name: str) -> Interaction:
    """Return an exchange whose request is the one that its digest says, as far as it is known."""
    parameters = {
        name: value for name, value in one.parameters.items() if name not in NOT_IN_DIGEST
    }
    found = replace(one, parameters=parameters)
    if one.after is None or carried is not None:
        before = () if carried is None else carried.messages
        found = replace(found, before=before, after=None, last=None)
    try:
        body = _body(found)
    except ValueError as error:
        raise _damaged(name, block.number, str(error)) from None
    if body is None or found.after is not None:
        return found
    told = request_digest(carried, body)
    if told in (None, one.request):
        return found
    if len(parameters) < len(one.parameters):
        # Version 1 had the model in the request's digest.
        model = one.parameters.get("model")
        was = {name: one.parameters[name] for name in one.parameters.keys() - parameters.keys()}
        messages = [item.to_json() for item in found.before if isinstance(item, Message)]
        old = {**body, **was, "messages": [*messages, *body["messages"]]}
        if _json.digest(old) == one.request:
            is_name = isinstance(model, str)
            return replace(found, request=str(told), asked_model=model if is_name else None)
    raise _damaged(name, block.number, "the request is not the one that was recorded")


def _body(one: Interaction) -> dict[str, Any] | None:
    """Return the canonical body of a request with its prompt alone; ``None`` if not known."""
    body = replace(one, before=(), after=None, last=None).body
    return None if body is None else dict(json.loads(body.encode()))


def _of(value: Mapping[str, Any], key: str, kind: type, default: object = _REQUIRED) -> Any:
    """Give a field that has the right type, or the default where it is missing."""
    found = value.get(key, default)
    if found is default and default is not _REQUIRED:
        return default
    if not isinstance(found, kind) or isinstance(found, bool):
        raise ValueError(f"{key!r} is not what it should be")
    return found


def _earlier(item: object) -> Message | str:
    return item if isinstance(item, str) else Message.from_json(item)


def _headers(value: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Give the headers that a cassette keeps; whatever else was written in is left out."""
    return tuple(
        (name, text)
        for name, text in value.items()
        if name.lower() in KEPT_HEADERS and isinstance(text, str)
    )


def _damaged(name: str, number: int, why: str) -> InputError:
    return InputError(
        f"{name}, line {number:,}: {why}.",
        hint="The file was left as it is: mend it, or record into another one.",
    )
