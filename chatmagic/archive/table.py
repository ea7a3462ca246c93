"""Turns as rows of a table: of a conversation, and of notebook files, read without a kernel.

The ledger of a session names a request by the same digests, ``request`` and ``reply``.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Self

from chatmagic._json import shared_fields
from chatmagic.archive import notebook, restore
from chatmagic.archive.conversation_file import records_of
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import Record
from chatmagic.errors import InputError
from chatmagic.models import Credits, Usage
from chatmagic.safe_text import one_line, without_lone_surrogates

_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """Row of one turn; an unknown fact, or an unset option, is ``None``.

    Args:
        file: the notebook's path, as it was given; ``None`` for a turn of a session.
        cell_number: place of the cell in the notebook, from 1.
        thread: name of its thread; ``None`` if it is not in the conversation.
        number: its number in its thread, as in ``%chat_history``.
        prompt: the prompt as typed.
        reply_text: the reply's text, exactly as it arrived.
        date: the response's own date, aware, in UTC.
        state: ``complete``, ``interrupted`` or ``cut off``.
        origin: ``live``, ``replay`` or ``emulator``.
        entry: place of the question: ``cell``, ``panel`` or ``python``; unknown in a file.
        model: name of the model that answered.
        asked_model: name of the model that was asked for.
        finish_reason: the reason for the end of the reply, in the service's own words.
        refusal: the model's text in place of an answer.
        prompt_tokens: tokens of the request.
        completion_tokens: tokens of the reply.
        total_tokens: the tokens of both.
        took: approximate cost in credits.
        seconds: from the sending of the request to the end of the reply.
        credits_left: the credits left by its response.
        credits_limit: the limit of the credits.
        temperature: the option of the question.
        max_tokens: the option of the question.
        last: the option of the question.
        history: whether the request carried the turns before.
        format: form of the reply that was asked for.
        schema: name of the schema that was asked for.
        carried: number of turns that its request carried.
        is_stale: whether its request would be different now.
        cell: hash of the cell.
        request: digest of the request.
        reply: digest of the reply's text.
        turn: digest by which later records name the turn.
        error: fault of the turn, or of its file.
    """

    file: str | None = None
    cell_number: int | None = None
    thread: str | None = None
    number: int | None = None
    prompt: str | None = None
    reply_text: str | None = None
    date: datetime | None = None
    state: str | None = None
    origin: str | None = None
    entry: str | None = None
    model: str | None = None
    asked_model: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    took: int | None = None
    seconds: float | None = None
    credits_left: int | None = None
    credits_limit: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    last: int | None = None
    history: bool | None = None
    format: str | None = None
    schema: str | None = None
    carried: int | None = None
    is_stale: bool | None = None
    cell: str | None = None
    request: str | None = None
    reply: str | None = None
    turn: str | None = None
    error: str | None = None

    @classmethod
    def of_record(cls, record: Record) -> Self:
        """Return the row of a turn: its record's facts, and its figures one by one.

        Args:
            record: the turn's record.
        """
        facts = {**shared_fields(record, Record), "history": True, "format": "markdown"}
        facts |= record.parameters
        facts |= {"carried": len(record.carried) + record.earlier[0], "cell": record.owner}
        return cls.of_facts(facts)

    @classmethod
    def of_facts(cls, known: Mapping[str, Any]) -> Self:
        """Return the row of a reply: its facts, and its tokens and credits one by one.

        Args:
            known: the facts by name; those that no column has are ignored.
        """
        facts = {**known, **shared_fields(known.get("usage") or Usage(), Usage)}
        credits: Credits | None = known.get("credits")
        if credits is not None:
            facts |= {"credits_left": credits.remaining, "credits_limit": credits.limit}
        columns = {item.name for item in fields(cls)}
        return cls(**{name: value for name, value in facts.items() if name in columns})


def of_conversation(conversation: Conversation) -> list[TurnRow]:
    """Return the live turns of a conversation, in their order.

    Args:
        conversation: the conversation; the values of ``{{ }}`` are not in the rows.
    """
    records = records_of(conversation, keep_values=False)
    places = _places(conversation)
    rows: list[TurnRow] = []
    for turn in conversation:
        row = places[turn.number].put_in(TurnRow.of_record(records[turn.number]))
        rows.append(replace(row, reply_text=turn.reply.text, entry=turn.entry, cell=turn.owner))
    return rows


def turns(*patterns: str | os.PathLike[str]) -> Any:
    """Return the turns in notebook files as a pandas DataFrame, one row each; nothing is run.

    A fault of a turn, or of its file, stands in the column ``error``. So does a pattern that names
    no file, beside others that do.

    Args:
        *patterns: paths, such as ``"*.ipynb"`` or ``"work/**/*.ipynb"``.

    Raises:
        InputError: no file has any of these names.
        ImportError: pandas is not installed.
    """
    files = {pattern: _files_named(pattern) for pattern in patterns}
    if patterns and not any(files.values()):
        raise InputError(_no_file(patterns[0]))
    rows: list[TurnRow] = []
    for pattern in patterns:
        for file in files[pattern]:
            rows += of_file(file)
        if not files[pattern]:
            rows.append(TurnRow(file=str(pattern), error=_no_file(pattern)))
    return dataframe(TurnRow, rows)


def _files_named(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the paths that a pattern names, sorted."""
    name = os.path.expanduser(pattern)  # noqa: PTH111 - a pattern, which is no path
    return sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - it may be absolute


def _no_file(pattern: str | os.PathLike[str]) -> str:
    """Return the fault of a pattern that names no file."""
    return f"No file is named {one_line(str(pattern), _SHOWN)}."


def of_file(file: str) -> Iterator[TurnRow]:
    """Yield the turns of a notebook file, and a row for each thing in it that cannot be read.

    Args:
        file: the file's path, as it was given.
    """
    try:
        read = notebook.read_notebook(Path(file))
    except InputError as error:
        yield TurnRow(file=file, error=str(error))
        return
    restored = restore.restore(read, changed=True)
    places = _places(restored.conversation)
    for saved, record in read.turns:
        place = places.get(restored.numbers.get(saved, 0), TurnPlace())
        fault = "its reply is gone" if saved.text is None else saved.fault
        yield replace(
            place.put_in(TurnRow.of_record(record)),
            file=file,
            cell_number=saved.cell,
            reply_text=saved.text,
            error=fault or None,
        )
    for problem in read.problems:
        yield TurnRow(file=file, error=problem)


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Place of a turn in its conversation; of a turn that is in none, nothing is known.

    Args:
        thread: as in :class:`TurnRow`.
        number: as in :class:`TurnRow`.
        is_stale: as in :class:`TurnRow`.
    """

    thread: str | None = None
    number: int | None = None
    is_stale: bool | None = None

    def put_in(self, row: TurnRow) -> TurnRow:
        """Return a turn's row with this place.

        Args:
            row: the row.
        """
        return replace(row, thread=self.thread, number=self.number, is_stale=self.is_stale)


def _places(conversation: Conversation) -> dict[int, TurnPlace]:
    """Return the place of each turn by the turns' numbers."""
    stale = {turn.number for turn in conversation.stale_turns()}
    return {
        turn.number: TurnPlace(window.thread, window.index + 1, turn.number in stale)
        for turn, window in conversation.windows
    }


_LARGEST: Final = 2**63
_TYPES: Final = {
    "int": "Int64",
    "float": "Float64",
    "bool": "boolean",
    "datetime": "datetime64[us, UTC]",
}


def dataframe(kind: type, rows: Iterable[Any]) -> Any:
    """Return rows as a DataFrame; unknown values are missing, and times are in UTC.

    Args:
        kind: the dataclass, whose fields are the columns; its annotations are texts.
        rows: its instances.

    Raises:
        ImportError: pandas is not installed.
    """
    pd = import_module("pandas")  # an optional package
    columns = {item.name: str(item.type).split(" ", 1)[0] for item in fields(kind)}
    types = {name: _TYPES.get(type_, "string") for name, type_ in columns.items()}
    cells = [{name: _held(value) for name, value in asdict(row).items()} for row in rows]
    return pd.DataFrame(cells, columns=list(columns)).astype(types)


def _held(value: Any) -> Any:
    """Return a value that a column can hold; a file may have huge numbers and lone surrogates."""
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return None
    return without_lone_surrogates(value) if isinstance(value, str) else value
