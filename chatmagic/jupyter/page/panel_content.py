"""Content of the panel's messages: log entries, the gauge, and turns as cells.

:mod:`chatmagic.render.markdown` makes all HTML that a page inserts. Everything else is plain text,
with the characters that act made visible, and the page inserts it as text.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from html import escape
from typing import Any, Final, TypeAlias

from chatmagic import _json, models
from chatmagic.archive import output
from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.conversation import cell_magics, magic_line
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import Record, owner_of
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.page.messages import Message
from chatmagic.protocol import credits as crediting
from chatmagic.render import gauge, markdown, reply_forms
from chatmagic.safe_text import PROSE, one_line, visible

PAGE: Final = 30
"""Smallest number of turns in a view, and number of turns that it requests at once."""

MOST_PROMPT_DRAWN: Final = 20_000
"""Largest number of characters of a prompt that is drawn as Markdown: pages wait for it."""

MOST_DRAWN: Final = 128
"""Number of replies kept as HTML: the saved transcript is made again with each turn."""
_reply_html: Final = lru_cache(maxsize=MOST_DRAWN)(reply_forms.reply_html)


TOP: Final = 0
"""The number in place of a turn's for an aside above all turns."""
Aside: TypeAlias = tuple[int, Message]
"""Entry of an ask that failed or was not kept, behind the number of the turn that it follows.

The entry's id is below 0.
"""
EntryVersion: TypeAlias = tuple[int, str]
"""Id of an entry of the log, and the version of what it shows."""


class LogEntries:
    """The entries of the log at one moment: the live turns, and after each its asides.

    Args:
        conversation: the conversation; asks may add to it meanwhile.
        asides: the asides, in the order of their arrival.
    """

    def __init__(self, conversation: Conversation, asides: Sequence[Aside]) -> None:
        """Note which turns are live now."""
        still = copy(conversation)
        self._turns = still.turns
        self._end = still.window()
        self._causes = still.causes()
        self._replies = still.replies
        self._asides = asides

    def window(self, count: int = 0) -> tuple[list[EntryVersion], int]:
        """Return ids and versions of the newest entries, and the number of earlier turns.

        Args:
            count: smallest number of listed turns. By default the window moves only by whole pages,
                so that a view that follows never asks again.
        """
        whole_pages = (len(self._turns) - PAGE) // PAGE * PAGE
        first = max(0, min(whole_pages, len(self._turns) - count))
        listed: list[EntryVersion] = []
        if first == 0:
            listed += self._asides_after([TOP])
        for turn in self._turns[first:]:
            listed.append((turn.number, self._version(turn)))
            listed += self._asides_after([turn.number])
        # What followed a turn that is not live any more stands at the end.
        live = {TOP, *(turn.number for turn in self._turns)}
        removed = {after for after, _ in self._asides} - live
        return listed + self._asides_after(removed), first

    def draw(self, ids: Collection[int]) -> list[Message]:
        """Return the wanted entries that still exist, the newest page of them.

        Args:
            ids: ids that a window lists, or any value from a page.
        """
        turns = [turn for turn in self._turns if turn.number in ids]
        asides = [entry for _, entry in self._asides if entry["id"] in ids]
        return [*map(self._entry, turns[-PAGE:]), *asides]

    def _asides_after(self, turns: Collection[int]) -> list[EntryVersion]:
        """Return ids and versions of the asides that follow these turns; an aside never changes."""
        return [(entry["id"], "") for after, entry in self._asides if after in turns]

    def _version(self, turn: Turn) -> str:
        """Return the version of what is shown of a turn."""
        shown = turn.digest, turn.entry, turn.asker, turn.reply.state, self._facts(turn)
        return hashlib.blake2b(repr(shown).encode(), digest_size=4).hexdigest()

    def _facts(self, turn: Turn) -> Message:
        """Return the special facts of a turn, and its replies if it has several."""
        cause = self._causes.cause_of(turn.number)
        is_hidden = self._end.hides(turn)
        replies = self._replies[turn.number]
        return {
            "notes": output.turn_notes(turn, cause, is_hidden=is_hidden),
            "took": turn.reply.took,
            "replies": [reply.number for reply in replies] if len(replies) > 1 else [],
        }

    def _entry(self, turn: Turn) -> Message:
        """Return the entry of a turn."""
        return {
            "id": turn.number,
            "version": self._version(turn),
            **prompt(turn.as_typed, turn.asker, turn.entry),
            **self._facts(turn),
            "reply": reply(turn.reply, turn.format),
            "problem": None,
        }


def reply(reply: models.Reply, format: str = "markdown") -> Message:
    """Return a reply, whole or in part.

    Args:
        reply: the reply.
        format: the requested form.
    """
    # The gauge above the log shows the credits, once and as they are now.
    time = "" if crediting.has_credit_figures(reply.credits) else gauge.time_words(reply.seconds)
    return {
        "html": _reply_html(reply.text, format),
        "text": visible(reply.text),
        "states": [visible(line) for line in output.state_lines(reply)],
        "tokens": " · ".join(filter(None, (gauge.usage_words(reply.usage), time))),
    }


def prompt(text: str, asker: str, entry: str) -> Message:
    """Return a prompt.

    Args:
        text: the prompt as typed.
        asker: the asker, in words.
        entry: place of the question, as in :class:`~chatmagic.conversation.turn.Turn`.
    """
    mine = entry == "panel"
    by = "the panel" if mine else one_line(asker or entry, 40)
    return {"by": by, "mine": mine, "prompt": visible(text), "prompt_html": prompt_html(text)}


@lru_cache(maxsize=MOST_DRAWN)
def prompt_html(text: str) -> str:
    """Return a prompt as safe HTML: its Markdown, line for line, and each formula as typed.

    Args:
        text: the prompt as typed.
    """
    if len(text) > MOST_PROMPT_DRAWN:
        return f'<pre dir="auto" style="{PROSE}">{escape(visible(text))}</pre>'
    return markdown.to_html(text, live=True, breaks=True)


def credits(state: CreditTracker, took: int | None, *, now: datetime) -> Message:
    """Return the figures of the gauge.

    Args:
        state: the latest credits, and the number of requests left.
        took: approximate cost of the last turn in credits; ``None`` if unknown.
        now: the time by which the page counts, aware.
    """
    figures = state.credits
    requests = state.requests
    words = crediting.left_words if crediting.has_credit_figures(figures) else crediting.spent_words
    known = figures or models.Credits(None, None, None, None, now)
    return {
        "words": words(figures),
        "level": crediting.level(figures),
        "limit": known.limit,
        "left": known.remaining,
        "took": took,
        "resets": _json.iso(known.resets_at),
        "seen": None if figures is None else _json.iso(figures.seen_at),
        "now": str(_json.iso(now)),
        "requests": "" if requests is None else crediting.request_words(requests),
        "until": None if requests is None else _json.iso(requests.ends_at),
    }


def cells_for_turns(
    turns: Sequence[Turn], wanted: Collection[int] | None, on_page: Sequence[str]
) -> list[Message]:
    """Return the cells to make, in order, each with its place.

    Args:
        turns: the live turns, in order.
        wanted: numbers of the panel's turns that are wanted; ``None`` is all.
        on_page: ids of the page's cells, from top to bottom.
    """
    ids: dict[str | None, str] = {owner_of(id): id for id in on_page}
    owners = [turn.owner for turn in turns]
    put = [turn.entry == "panel" and (wanted is None or turn.number in wanted) for turn in turns]
    shown = {
        turn.recorded_digest
        for turn, is_put in zip(turns, put, strict=True)
        if is_put or turn.shown
    }
    new: list[Message] = []
    for place, turn in enumerate(turns):
        if not put[place]:
            continue
        above = [ids[owner] for owner in owners[:place] if owner in ids]
        below = [ids[owner] for owner in owners[place + 1 :] if owner in ids]
        own = str(uuid.uuid4())
        ids[turn.owner] = own
        record = turn.record
        if record is not None:
            record = turn.carried.listed_in(replace(record, owner=owner_of(own)), shown)
        cell = {"turn": turn.number, "cell": _cell(turn, own, record)}
        if above:
            cell["after"] = above[-1]
        elif below:
            cell["before"] = below[0]
        new.append(cell)
    return new


def _cell(turn: Turn, own: str, record: Record | None) -> dict[str, Any]:
    """Return the cell of a turn, as a notebook file has it."""
    data, metadata = (
        (output.bundle(turn.reply), {}) if record is None else output.of_turn(turn.reply, record)
    )
    return {
        "cell_type": "code",
        "id": own,
        "source": cell_magics.source_for(turn.as_typed, *magic_line.typed_options(turn)),
        "metadata": {},
        "outputs": [{"output_type": "display_data", "data": data, "metadata": metadata}],
        "execution_count": None,
    }
