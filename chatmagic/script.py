"""The text of a cassette: recorded exchanges, written to be read, compared and merged.

A cassette is JSON Lines. Its first line says what it is; then, for each exchange:

- one line that says what was asked: the digest of the request, its parameters, and the
  messages before the prompt, a turn that the cassette holds itself by its digest alone;
- a line for each line of the prompt (``you``);
- one line with the status, the few headers that are kept, and the facts of the reply;
- a line for each line of the reply (``reply``).

So a changed word is a changed line. No key, no request header and no address is in it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from chatmagic import digests, scalars
from chatmagic.accounting import Usage
from chatmagic.errors import InputError
from chatmagic.tape import KEPT_HEADERS, Recorded
from chatmagic.wire import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VERSION: Final = 1
REFERENCE: Final = 16
"""How many digits of a turn's digest name it within a cassette."""

_REQUIRED: Final = object()
_TURN: Final = ("user", "assistant")
_Said: TypeAlias = tuple[str, str | None]


def write(exchanges: Iterable[Recorded]) -> str:
    """Give the text of a cassette.

    Args:
        exchanges: in their order.
    """
    held = tuple(exchanges)
    # A long talk carries each turn many times over; its digest is made once.
    turns = {(one.prompt, one.text): turn for one in held if (turn := one.turn) is not None}
    lines: list[Mapping[str, Any]] = [{"chatmagic": "cassette", "version": VERSION}]
    for one in held:
        lines.append(_question(one, turns))
        lines += [{"you": line} for line in _lines(one.prompt) or [""]]
        lines.append(_answer(one))
        lines += [{"reply": line} for line in _lines(one.text or "")]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    # Half a surrogate pair has no UTF-8; as JSON writes it, it has.
    return text.encode("utf-8", "backslashreplace").decode()


def read(text: str, name: str) -> tuple[Recorded, ...]:
    """Read the text of a cassette, and check that it is what was written.

    Args:
        text: the whole of it.
        name: what to call it in a message.

    Raises:
        InputError: a line is not as it was written, or of a newer version; says which.
    """
    blocks = _blocks(text, name)
    drafts = [_draft(block, name) for block in blocks]
    turns: dict[str, tuple[Message, Message]] = {}
    for draft in drafts:
        if draft.text is not None and (turn := draft.turn) is not None:
            turns[turn[:REFERENCE]] = (
                Message("user", draft.prompt),
                Message("assistant", draft.text),
            )
    return tuple(
        _checked(replace(draft, before=_resolved(draft.before, turns)), block, name)
        for draft, block in zip(drafts, blocks, strict=True)
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


def _question(one: Recorded, turns: Mapping[_Said, str]) -> dict[str, Any]:
    known = {"owner": one.owner, "typed": one.typed}
    return {
        "ask": one.request,
        **{name: value for name, value in known.items() if value is not None},
        **({"parameters": dict(one.parameters)} if one.parameters else {}),
        **({"before": _referred(one.before, turns)} if one.before else {}),
    }


def _answer(one: Recorded) -> dict[str, Any]:
    known = {
        "model": one.model,
        "finish_reason": one.finish_reason,
        "usage": None if one.usage is None else one.usage.to_json(),
        "refusal": one.refusal,
        "took": one.took,
        "sha256": None if one.text is None else digests.digest(one.text),
        "error": one.error,
    }
    return {
        "status": one.status,
        "from": one.origin,
        "headers": dict(one.headers),
        **{name: value for name, value in known.items() if value is not None},
    }


def _referred(before: Sequence[Message | str], turns: Mapping[_Said, str]) -> list[Any]:
    """Give the messages before a prompt: turns that the cassette holds, by their digests."""
    found: list[Any] = []
    is_said = False
    for item, after in zip(before, [*before[1:], None], strict=True):
        if is_said:
            # It is the reply of a turn that stands there already.
            is_said = False
        elif isinstance(item, str):
            found.append(item)
        else:
            turn = None
            if isinstance(after, Message) and (item.role, after.role) == _TURN:
                turn = turns.get((item.content, after.content))
            found.append(item.to_json() if turn is None else turn[:REFERENCE])
            is_said = turn is not None
    return found


def _resolved(
    before: Sequence[Message | str], turns: Mapping[str, tuple[Message, Message]]
) -> tuple[Message | str, ...]:
    """Put the turns' messages in the place of their digests, where the cassette has them."""
    found: list[Message | str] = []
    for item in before:
        found += turns.get(item[:REFERENCE], (item,)) if isinstance(item, str) else (item,)
    return tuple(found)


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
    if version != VERSION:
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


def _draft(block: _Block, name: str) -> Recorded:
    """Read one exchange, its references as they stand."""
    question, answer = block.question, block.answer
    if not block.you or not answer:
        raise _damaged(name, block.number, "its exchange is not whole")
    text = "".join(block.reply)
    told = answer.get("sha256")
    if told is None and not isinstance(answer.get("error"), dict):
        raise _damaged(name, block.answer_number, "it is neither a reply nor an error")
    if told != (None if told is None else digests.digest(text)):
        raise _damaged(name, block.answer_number, "the reply is not the one that was recorded")
    try:
        return Recorded(
            request=_of(question, "ask", str),
            prompt="".join(block.you),
            before=tuple(map(_earlier, _of(question, "before", list, []))),
            parameters=_of(question, "parameters", dict, {}),
            typed=_of(question, "typed", str, None),
            owner=_of(question, "owner", str, None),
            status=_of(answer, "status", int),
            headers=_headers(_of(answer, "headers", dict, {})),
            text=None if told is None else text,
            error=answer.get("error") if told is None else None,
            model=_of(answer, "model", str, None),
            finish_reason=_of(answer, "finish_reason", str, None),
            usage=Usage.from_json(answer.get("usage")),
            refusal=_of(answer, "refusal", str, None),
            took=scalars.whole_number(answer.get("took")),
            origin="emulator" if answer.get("from") == "emulator" else "live",
        )
    except ValueError as error:
        raise _damaged(name, block.number, str(error)) from None


def _checked(one: Recorded, block: _Block, name: str) -> Recorded:
    """Give an exchange whose request is still the one that its digest says."""
    try:
        body = one.body
        if body is None or body.digest() == one.request:
            return one
    except ValueError as error:
        raise _damaged(name, block.number, str(error)) from None
    raise _damaged(name, block.number, "the request is not the one that was recorded")


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
