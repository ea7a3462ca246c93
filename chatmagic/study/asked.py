"""Questions in files, with their answers, as values. A fact that a file lacks is ``None``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from chatmagic._json import digest
from chatmagic.archive.interaction import DIGITS
from chatmagic.conversation.question import Value
from chatmagic.conversation.template import split_form
from chatmagic.models import BodyFacts, Origin, State
from chatmagic.session.map.job_head import JobHead
from chatmagic.study.recorded_agreement import RecordedAgreement

Kind = Literal["notebook", "cassette", "map"]

UNITS: Final = {"notebook": "cell", "cassette": "exchange", "map": "row"}
"""The word for the place of a question in a file of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(BodyFacts):
    """A question in a file, with its answer.

    Args:
        file: the file's path, as it was given.
        kind: the kind of file.
        place: number of the cell or of the exchange, from 1; of a row, from 0.
        repeat: number of the answer among those to a row, from 1.
        cell: hash of its cell; ``None`` if it is unknown.
        thread: name of its thread; ``None`` if it is unknown.
        typed: the prompt as typed, with its ``{{ }}``.
        prompt: the prompt as sent, without what stands in front; ``None`` if the file lacks it.
        prompt_digest: digest of the prompt as sent, in a map without the words on its form;
            ``None`` if it is unknown.
        values: the inserted values, and what stands in front.
        context: short names of the turns that the request carried, oldest first.
        name: short name of its own turn, by which later requests name it; ``None`` for none.
        instructions: short digest of its instructions; ``None`` for none.
        system: text of its instructions; ``None`` for none, or if the file lacks it.
        settings: the options and the fields of the request, without the model.
        asked_model: the model that was asked for; ``None`` for none.
        request: digest of the request, without its Markdown cells.
        text: the reply; ``None`` if there is none.
        error: the error in place of a reply; ``None`` for none.
        state: the end of the reply.
        origin: the source of the reply, also of a replayed one; ``None`` if it is unknown.
        is_replay: whether the reply was replayed from a recording.
        date: time of the answer, in UTC; ``None`` if it is unknown.
        is_local_time: whether ``date`` is by the clock of the asking machine.
        service: address of the service; ``None`` if the file does not have it.
        call: name of the call of a map; ``None`` without one.
        is_hidden: whether later requests leave the turn out.
        is_again: whether it is another reply to a question that was asked before.
        is_rest: whether it continues an earlier reply.
        is_by_order: whether the reply was replayed by its position, for another request.
        is_described: whether the file tells the settings and the instructions.
        requests: number of requests that were sent for it; ``None`` is unknown.
        fault: the reason why the file is not as it was written here; empty for none.
    """

    file: str
    kind: Kind
    place: int
    repeat: int = 1
    cell: str | None = None
    thread: str | None = None
    typed: str = ""
    prompt: str | None = None
    prompt_digest: str | None = None
    values: tuple[Value, ...] = ()
    context: tuple[str, ...] = ()
    name: str | None = None
    instructions: str | None = None
    system: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    asked_model: str | None = None
    request: str = ""
    text: str | None = None
    error: str | None = None
    state: State = "complete"
    origin: Origin | None = None
    is_replay: bool = False
    date: datetime | None = None
    is_local_time: bool = False
    service: str | None = None
    call: str | None = None
    is_hidden: bool = False
    is_again: bool = False
    is_rest: bool = False
    is_by_order: bool = False
    is_described: bool = True
    requests: int | None = None
    fault: str = ""

    @property
    def digest_without_form(self) -> str | None:
        """The digest of the prompt as sent, without the words on its form; ``None`` if unknown."""
        return self.prompt_digest if self.prompt is None else digest(split_form(self.prompt)[1])

    @property
    def where(self) -> str:
        """Its place in words, such as ``cell 3`` or ``row 4, answer 2``."""
        words = f"{UNITS[self.kind]} {self.place:,}"
        return f"{words}, answer {self.repeat:,}" if self.repeat > 1 else words


@dataclass(slots=True)
class Source:
    """A file with questions.

    Args:
        path: the path, as it was given.
        kind: the kind of file.
        sha256: digest of its content.
        size: its size in bytes.
        asked: its questions, in their order.
        heads: the descriptions of the calls of a map, by their names.
        agreements: the agreements that a notebook shows.
        problems: a line for each fault.
        counts: numbers of what is no answered question, by the words for them.
    """

    path: str
    kind: Kind
    sha256: str = ""
    size: int = 0
    asked: list[Asked] = field(default_factory=list)
    heads: dict[str, JobHead] = field(default_factory=dict)
    agreements: list[RecordedAgreement] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The file's name, without its folders."""
        return Path(self.path).name


def short_names(digests: Iterable[str | None]) -> tuple[str, ...]:
    """Return the short names of turns, by which files of all kinds name them.

    Args:
        digests: their digests; ``None`` for one that is unknown.
    """
    return tuple((name or "")[:DIGITS] for name in digests)


def settings_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request as settings; ``stream`` is one only if it is off.

    Args:
        fields: the fields.
    """
    return {name: value for name, value in fields.items() if (name, value) != ("stream", True)}
