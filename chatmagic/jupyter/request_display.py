"""Requests as they are, or would be, sent, for a page and for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import Final

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Part, parts_of
from chatmagic.conversation.steering import instructed
from chatmagic.conversation.template import bare
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.tables import Shown, facts, folded, page, table
from chatmagic.models import Credits, Message
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.request import Request
from chatmagic.safe_text import PROSE, counted, one_line, to_terminal, visible
from chatmagic.session.asker import Preview


def dry_run(preview: Preview, credits: Credits | None) -> Shown:
    """Return the request of a dry run, as HTML and as text.

    Args:
        preview: the request.
        credits: the credits that are left; ``None`` if unknown.
    """
    rows = _where(preview)
    if preview.notes:
        rows.append(("Notes", f"{'; '.join(preview.notes)}."))
    lines = ("Dry run: nothing was sent, and nothing is kept.", facts(rows, "Question"))
    rate = preview.rate
    estimate = "Tokens: no estimate yet, because no reply has reported its tokens."
    if rate is not None:
        estimate = f"The tokens are an estimate: {rate:.2g} per character, as in the last reply."
    left = crediting.words(credits)
    end = [estimate, f"Before this request: {left}."] if left else [estimate]
    return _shown(lines, preview.parts, rate, end, preview.request)


def request_of(conversation: Conversation, place: int) -> Shown:
    """Return the request of a turn, as HTML and as text.

    Args:
        conversation: the conversation of the turn.
        place: its place among the live turns, from 1.
    """
    turns = conversation.turns
    known = conversation.known_turns
    turn = turns[place - 1]
    places = {live.number: at for at, live in enumerate(turns, 1)}
    carried = [(number, known.get(number)) for number in turn.carried]
    sizes = [
        (places.get(number, 0), sum(len(message.content) for message in above.messages))
        for number, above in carried
        if above is not None
    ]
    above = [turn for _, turn in carried]
    requests = _requests(turn, above)
    digested = _requests(bare(turn), [earlier and bare(earlier) for earlier in above])
    sent = None if turn.record is None else turn.record.request
    same = [
        request for request, body in zip(requests, digested, strict=True) if body.digest() == sent
    ]
    cells = [
        value
        for asked in (turn, *above)
        for value in (() if asked is None else asked.values)
        if value.kind == "markdown"
    ]
    end = "By its digest, this is the request as it was sent."
    if not same or any(cell.text is None for cell in cells):
        end = "Not all of it is kept: names stand for values, and instructions may be missing."
    elif cells:
        end = "By its digest, which leaves Markdown cells out, this is the request as it was sent."
    parts = parts_of(sizes, turn.instructions, turn)
    return _shown([f"Turn {place:,} was sent with:"], parts, None, [end], [*same, *requests][0])


def _requests(turn: Turn, carried: Sequence[Turn | None]) -> list[Request]:
    """Return the requests that a turn may have been sent as.

    Args:
        turn: the turn.
        carried: the turns that it carried; ``None`` for one that is not known.
    """
    before = [message for above in carried for message in (above.messages if above else _LOST)]
    extra = {} if turn.asked_model is None else {"model": turn.asked_model}
    request = turn.request(before, extra)
    given = turn.instructions
    if given is None or given.text is None:
        return [request]
    return [
        replace(request, messages=instructed(request.messages, given, system_role=role))
        for role in (False, True)
    ]


_LOST: Final = (
    Message("user", "[a turn that is not known here]"),
    Message("assistant", "[its reply]"),
)


def _where(preview: Preview) -> list[tuple[str, str]]:
    """Return rows on the address and the headers of the request, without the key."""
    answers = preview.answers
    endpoint = preview.endpoint
    if answers is not None and answers.is_replayed:
        return [(answers.title, f"{answers.name} is replayed here, so nothing would be sent.")]
    rows = []
    if endpoint is not None:
        key = "no key" if endpoint.key is None else f"key sent as {endpoint.auth}"
        others = (f"{one_line(name)}: …" for name in preview.extra_headers)
        rows = [("Posted to", endpoint.posted_to()), ("Headers", ", ".join([key, *others]))]
    if answers is not None and answers.may_answer:
        rows.append((answers.title, f"{answers.name} answers the requests that it holds."))
    return rows


def _shown(
    lines: Iterable[str | Shown],
    parts: Sequence[Part],
    rate: float | None,
    end: Iterable[str],
    request: Request,
) -> Shown:
    """Return lines, a table of the parts, more lines and the body, as HTML and as text."""
    body = json.dumps(request.to_json(), ensure_ascii=False, indent=2)
    rows = [
        (one_line(name), f"{size:,}", *([] if rate is None else [f"{round(rate * size):,}"]))
        for name, size in (*parts, ("in all", sum(size for _, size in parts)))
    ]
    heads = ("Part", "Characters", *([] if rate is None else ["Tokens, about"]))
    shown = f'<pre dir="auto" style="{PROSE}">{escape(visible(body))}</pre>', to_terminal(body)
    details = folded(f"The request, {counted(len(body), 'character')} as JSON", shown)
    sizes = table(heads, rows, "Parts of the request")
    return page(*lines, sizes, *end, details, name="Request")
