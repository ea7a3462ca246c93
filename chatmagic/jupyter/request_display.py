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
    turn = conversation.turns[place - 1]
    above = [conversation.known_turns.get(number) for number in turn.carried]
    requests = _requests(turn, above)
    as_sent = _request_as_sent(turn, above, requests)
    asked = [turn, *(carried for carried in above if carried is not None)]
    words = _how_exact(asked, is_known=as_sent is not None)
    parts = parts_of(_carried_sizes(conversation, turn), turn.instructions, turn)
    lines = [f"Turn {place:,} was sent with:"]
    return _shown(lines, parts, None, [words], as_sent or requests[0])


def _carried_sizes(conversation: Conversation, turn: Turn) -> list[tuple[int, int]]:
    """Return place and size of each known turn that a turn carried; 0 for a turn not live now."""
    places = {live.number: place for place, live in enumerate(conversation.turns, 1)}
    sizes = []
    for number in turn.carried:
        carried = conversation.known_turns.get(number)
        if carried is not None:
            size = sum(len(message.content) for message in carried.messages)
            sizes.append((places.get(number, 0), size))
    return sizes


def _request_as_sent(
    turn: Turn, above: Sequence[Turn | None], requests: Sequence[Request]
) -> Request | None:
    """Return the one of the possible requests that has the recorded digest; ``None`` for none.

    Args:
        turn: the turn.
        above: the turns that it carried; ``None`` for one that is not known.
        requests: what :func:`_requests` returns for both.
    """
    if turn.record is None:
        return None
    # The digest leaves out what a value holds.
    bare_above = [None if carried is None else bare(carried) for carried in above]
    digested = _requests(bare(turn), bare_above)
    for request, bare_request in zip(requests, digested, strict=True):
        if bare_request.digest() == turn.record.request:
            return request
    return None


def _how_exact(asked: Sequence[Turn], *, is_known: bool) -> str:
    """Return a sentence on whether a request is shown as it was sent.

    Args:
        asked: the turn, and the known turns that it carried.
        is_known: whether the request has the recorded digest.
    """
    values = [value for turn in asked for value in turn.values]
    cells = [value for value in values if value.kind == "markdown"]
    if not is_known or any(cell.text is None for cell in cells):
        return "Not all of it is kept: names stand for values, and instructions may be missing."
    if cells:
        return "By its digest, which leaves Markdown cells out, this is the request as it was sent."
    return "By its digest, this is the request as it was sent."


def _requests(turn: Turn, carried: Sequence[Turn | None]) -> list[Request]:
    """Return the requests that a turn may have been sent as.

    Args:
        turn: the turn.
        carried: the turns that it carried; ``None`` for one that is not known.
    """
    before: list[Message] = []
    for above in carried:
        before += _LOST if above is None else above.messages
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
    total = sum(size for _, size in parts)
    heads: tuple[str, ...] = ("Part", "Characters")
    rows: list[tuple[str, ...]] = [
        (one_line(name), f"{size:,}") for name, size in (*parts, ("in all", total))
    ]
    if rate is not None:
        heads += ("Tokens, about",)
        tokens = [f"{round(rate * size):,}" for size in (*(size for _, size in parts), total)]
        rows = [(*row, count) for row, count in zip(rows, tokens, strict=True)]
    shown = f'<pre dir="auto" style="{PROSE}">{escape(visible(body))}</pre>', to_terminal(body)
    details = folded(f"The request, {counted(len(body), 'character')} as JSON", shown)
    sizes = table(heads, rows, "Parts of the request")
    return page(*lines, sizes, *end, details, name="Request")
