"""Source of the answer to a request: the cassette, the service or the emulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from chatmagic.advice import HIDES, Note
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.choice import MAGIC, CassetteConfig
from chatmagic.cassette.difference import difference, nearest
from chatmagic.cassette.item import Query
from chatmagic.cassette.match import Matcher
from chatmagic.errors import ChatError, NotRecordedError

_DOING: Final = {"record": "recording into", "refresh": "refreshing"}


@dataclass(frozen=True, slots=True)
class Lookup:
    """Source of the answer to one request while a cassette is active.

    Args:
        source: the cassette, the service or the emulator.
        query: the request.
        notes: lines to show while the cell is live.
        interaction: the recorded answer; ``None`` if the cassette does not answer.
        by_order: whether the answer was chosen by its position, for a request that differs from
            the recorded one.
        has_other_markdown: whether the answer is to a request with other Markdown cells.
        news: line for the user that is shown after the ask; ``None`` for none.
    """

    source: Literal["cassette", "service", "emulator"]
    query: Query
    notes: tuple[str, ...]
    interaction: Interaction | None = None
    by_order: bool = False
    has_other_markdown: bool = False
    news: Note | None = None


def lookup_while_recording(
    query: Query, matcher: Matcher, config: CassetteConfig, is_emulator: Callable[[], bool]
) -> Lookup:
    """Return the source of an answer in the modes ``record`` and ``refresh``.

    Args:
        query: the request.
        matcher: the recorded interactions.
        config: the cassette and its mode.
        is_emulator: returns whether the configured service is the emulator.

    Raises:
        ChatError: no service is configured.
    """
    name = config.name
    is_refresh = config.mode == "refresh"
    if not is_refresh and (recorded := matcher.answer(query, recording=True)) is not None:
        note = f"not sent: answered from {name}, where it is recorded"
        return Lookup("cassette", query, (note,), recorded)
    try:
        is_practice = is_emulator()
    except ChatError as error:
        if is_refresh:
            raise
        event = f"This request is not in {name}. {error.message}"
        raise type(error)(event, hint=error.advice) from None
    if is_practice and not matcher.admits(replace(query.asked, origin="emulator")):
        note = f"not recorded: {name} holds a service's replies, not the emulator's"
        return Lookup("service", query, (note,))
    notes = [f"{_DOING[config.mode]} {name}"]
    if not is_refresh and matcher.is_changed_cell(query):
        notes.append(f"this cell's earlier exchange stays in {name} until {MAGIC} --prune")
    return Lookup("service", query, tuple(notes))


def lookup_in_replay(query: Query, matcher: Matcher, config: CassetteConfig) -> Lookup:
    """Return the source of an answer in the mode ``replay``, in which nothing is sent.

    Args:
        query: the request.
        matcher: the recorded interactions.
        config: the cassette.

    Raises:
        NotRecordedError: the cassette does not hold the request.
    """
    if (interaction := matcher.answer(query)) is not None:
        return _replayed(query, interaction, config)
    if config.by_order and (interaction := matcher.by_order(query)) is not None:
        return _replayed_by_order(query, interaction, config)
    like = nearest(query.asked, matcher.interactions)
    hint = "The cassette is empty." if like is None else difference(query.asked, like)
    if config.fallback == "emulator":
        is_known_prompt = like is not None and like.as_typed == query.asked.as_typed
        return _answered_by_emulator(query, config, hint if is_known_prompt else None)
    if config.is_notebook:
        hint += " A notebook does not hold turns without a reply in an output (-q, Python, errors)."
    raise NotRecordedError(
        f"This request is not in {config.name}, which is replayed. Nothing was sent.", hint=hint
    )


def _replayed(query: Query, interaction: Interaction, config: CassetteConfig) -> Lookup:
    """Return the lookup of a request that is recorded."""
    note = f"replayed from {config.name}: nothing is sent"
    has_other_markdown = not interaction.has_markdown_of(query.asked)
    if has_other_markdown:
        note += "; the Markdown cells that it carries are not those that were recorded"
    return Lookup("cassette", query, (note,), interaction, has_other_markdown=has_other_markdown)


def _replayed_by_order(query: Query, interaction: Interaction, config: CassetteConfig) -> Lookup:
    """Return the lookup of a request in whose place another one is recorded."""
    differs = difference(query.asked, interaction)
    note = f"replayed from {config.name} by order, though another request was recorded: {differs}"
    return Lookup("cassette", query, (note,), interaction, by_order=True)


def _answered_by_emulator(
    query: Query, config: CassetteConfig, difference_from_recorded: str | None
) -> Lookup:
    """Return the lookup of a request that the emulator answers in place of the cassette.

    Args:
        query: the request.
        config: the cassette.
        difference_from_recorded: the difference from the recorded request with the same prompt;
            ``None`` if the prompt is not recorded, as for a reader's own question.
    """
    name = config.name
    news = None
    if difference_from_recorded is not None:
        news = (
            f"This question is recorded in {name}, but not this request, so the emulator "
            f"answered. {difference_from_recorded} " + HIDES
        )
    note = f"not in {name}: the emulator answers, practice only"
    return Lookup("emulator", query, (note,), news=news)
