"""A request shown: what would be sent (``--dry``), and what went with a turn (``--request``)."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Final

from chatmagic.conversation.request_facts import TokenRate, parts_of
from chatmagic.conversation.steering import instructed
from chatmagic.jupyter import transcript
from chatmagic.models import Message
from chatmagic.protocol import credits as crediting
from chatmagic.render.live_box import QUIET
from chatmagic.text import PROSE, UNTYPESET, counted, one_line, to_terminal, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.client.endpoint import Endpoint
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.request_facts import Part, Value
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.kernel import Kernel
    from chatmagic.protocol.auth import Auth
    from chatmagic.protocol.wire import Request
    from chatmagic.session.preview import Preview

MOST_SHOWN: Final = 100_000
"""How many characters of a body are shown at most."""
_KEY_AS: Final[dict[Auth, str]] = {
    "bearer": "Authorization: Bearer …",
    "x-api-key": "X-API-Key: …",
    "query": "api_key=… in the address",
}


def of_preview(preview: Preview, kernel: Kernel) -> tuple[str, str]:
    """Return the request of a dry run, as HTML and as text.

    Args:
        preview: what would be sent.
        kernel: knows the credits.
    """
    lines = ["Dry run: nothing was sent, and nothing is kept.", *_where(preview), *preview.notes]
    rate = preview.rate
    estimate = "Tokens: no estimate, as no reply has told its tokens yet."
    if rate is not None:
        estimate = (
            f"Tokens are an estimate: the last request whose tokens were told had "
            f"{counted(rate.characters, 'character')} and {counted(rate.tokens, 'token')}."
        )
    credits = f"Before it: {crediting.words(kernel.session.credits)}."
    body = json.dumps(preview.request.to_json(), ensure_ascii=False, indent=2)
    return _shown(lines, preview.parts, rate, [estimate, credits], body)


def of_turn(conversation: Conversation, place: int) -> tuple[str, str]:
    """Return what went with a turn, as HTML and as text.

    Args:
        conversation: whose turn it is.
        place: its place among the live turns, from 1.
    """
    turns = conversation.turns
    turn, known = turns[place - 1], conversation.known_turns()
    places = {turn.number: place for place, turn in enumerate(turns, 1)}
    sizes: list[tuple[int, int]] = []
    before: list[Message] = []
    for number in turn.carried:
        carried = known.get(number)
        messages = _LOST if carried is None else carried.messages
        before += messages
        size = 0 if carried is None else sum(len(message.content) for message in messages)
        sizes.append((places.get(number, 0), size))
    extra = {} if turn.asked_model is None else {"model": turn.asked_model}
    request = turn.request(before, extra)
    notes = [f"What went with turn {place:,}:"]
    if turn.instructions is not None:
        given = conversation.known_instructions().get(turn.instructions.sha256)
        if given is not None:
            request = _instructed(request, given, turn)
        else:
            name = turn.instructions.name
            notes.append(f"Its {name} went in front; the text below is without them.")
    if turn.missing:
        notes.append("The values whose text was not kept are named in their place.")
    is_whole = turn.record is not None and request.digest() == turn.record.request
    end = ["By its digest, this is the request as it was sent."] if is_whole else []
    usage = turn.reply.usage
    tokens = None if usage is None else usage.prompt_tokens
    if turn.record is not None and turn.record.continues is not None:
        end.append("Its reply was continued: later requests carried what had come, and more.")
    elif tokens is not None:
        end.append(f"The service counted {counted(tokens, 'token')} for it.")
    parts = parts_of(sizes, turn.instructions, turn)
    body = json.dumps(request.to_json(), ensure_ascii=False, indent=2)
    return _shown(notes, parts, None, end, body)


def _instructed(request: Request, given: Value, turn: Turn) -> Request:
    """Return a turn's request with its instructions, in the role in which they went along.

    Args:
        request: without them.
        given: the instructions, with their text.
        turn: the turn, whose record tells the request's digest.
    """
    in_user, in_system = (
        replace(request, messages=instructed(request.messages, given, system_role=role))
        for role in (False, True)
    )
    is_system = turn.record is not None and in_system.digest() == turn.record.request
    return in_system if is_system else in_user


_LOST: Final = (
    Message("user", "[a turn that is not known here]"),
    Message("assistant", "[its reply]"),
)


def _where(preview: Preview) -> list[str]:
    """Return where the request would go, with which headers; of the key nothing is shown."""
    cassette, endpoint = preview.cassette, preview.endpoint
    if cassette is not None and cassette.mode == "replay":
        return [f"{cassette.name} is replayed here, so nothing would be sent."]
    lines = (
        [] if endpoint is None else [f"POST {endpoint.posted_to()}", _headers(preview, endpoint)]
    )
    if cassette is not None and cassette.mode == "record":
        lines.append(f"What {cassette.name} holds is answered from it.")
    return lines


def _headers(preview: Preview, endpoint: Endpoint) -> str:
    key = "no key" if endpoint.auth == "none" else _KEY_AS[endpoint.auth]
    others = (f"{one_line(name)}: …" for name in preview.extra_headers)
    return ", ".join([key, *others])


def _shown(
    lines: Sequence[str],
    parts: Sequence[Part],
    rate: TokenRate | None,
    end: Sequence[str],
    body: str,
) -> tuple[str, str]:
    """Return lines, a table of the parts, more lines and a body, as HTML and as text."""
    rows = [(one_line(part.name), part.size) for part in parts]
    rows.append(("all of it", sum(part.size for part in parts)))
    cells = [
        (name, f"{size:,}", *([] if rate is None else [f"{rate.tokens_of(size):,}"]))
        for name, size in rows
    ]
    heads = ("Part", "Characters", *([] if rate is None else ["Tokens, about"]))
    cut = len(body) - MOST_SHOWN
    shown = body if cut <= 0 else f"{body[:MOST_SHOWN]}\n… and {counted(cut, 'more character')}"
    tag = '<td dir="auto">'
    html = (
        f'<div class="chatmagic {UNTYPESET}" role="group" aria-label="Request">'
        + "".join(f"<p>{escape(visible(line))}</p>" for line in lines)
        + transcript.grid(heads, cells, "Parts of the request", first=tag, others=tag)
        + "".join(f'<p style="{QUIET}">{escape(visible(line))}</p>' for line in end)
        + f"<details><summary>The request, {counted(len(body), 'character')} as JSON</summary>"
        f'<pre dir="auto" style="{PROSE}">{escape(visible(shown))}</pre></details></div>'
    )
    table_words = [
        f"  {': '.join(row[:2])}{''.join(f', {cell}' for cell in row[2:])}" for row in cells
    ]
    words = [*lines, f"{', '.join(heads)}:", *table_words, *end, shown]
    return html, "\n".join(map(to_terminal, words))
