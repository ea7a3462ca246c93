"""Questions in the file of a map: its rows, each as it ended last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from chatmagic._files import LARGEST, open_file
from chatmagic._json import digest, with_shared_fields
from chatmagic.archive.interaction import DIGITS
from chatmagic.conversation.question import Value
from chatmagic.conversation.template import split_form
from chatmagic.errors import InputError
from chatmagic.models import BodyFacts
from chatmagic.protocol.url import EMULATOR
from chatmagic.session.map.job_head import JobHead, head_name
from chatmagic.session.map.row_reply import EditedError, RowReply
from chatmagic.study.asked import Asked, Source, settings_of


def add_map(path: Path, source: Source) -> None:
    """Add the rows of a map's file to a source; of several lines for a request the last one counts.

    Args:
        path: the file.
        source: the source, which gets its rows, descriptions, problems and numbers.

    Raises:
        InputError: it has no row.
    """
    last: dict[str, RowReply] = {}
    for line in _rows(path, source):
        row = line
        if row.head is not None and row.head.startswith("{"):
            _add_head(row.head, source)
        before = last.pop(row.key, None)
        if before is not None and before.ended_at != row.ended_at:
            source.counts["rows that were asked again"] += 1
            if before.requests is not None and row.requests is not None:
                row = replace(row, requests=before.requests + row.requests)
        last[row.key] = row
    if not last:
        raise InputError(f"{path} is no file of a map, and no cassette.")
    repeats: Counter[tuple[str, int, str]] = Counter()
    for row in sorted(last.values(), key=lambda row: (row.row, row.occurrence)):
        call = head_name(row.head or row.call or "")
        place = call, row.row, row.request
        repeats[place] += 1
        head = source.heads.get(call)
        asked = _of_row(row, head, source.path, repeats[place])
        source.asked.append(replace(asked, call=call or None))


def _rows(path: Path, source: Source) -> Iterator[RowReply]:
    """Yield the lines of a map's file that can be read."""
    with open_file(path) as file:
        number = 0
        while line := file.readline(LARGEST):
            number += 1
            try:
                if line.strip():
                    yield RowReply.from_line(line)
            except EditedError:
                source.problems.append(f"line {number:,} was edited, and was left out.")
            except (ValueError, RecursionError):
                source.problems.append(f"line {number:,} cannot be read, and was left out.")


def _add_head(text: str, source: Source) -> None:
    """Add the description of a call."""
    try:
        source.heads[head_name(text)] = JobHead.from_text(text)
    except ValueError:
        source.problems.append("a description of a call cannot be read, and was left out.")


def _of_row(row: RowReply, head: JobHead | None, file: str, repeat: int) -> Asked:
    """Return the question of a row."""
    settings = {} if head is None else settings_of(head.parameters)
    model = settings.pop("model", None)
    if head is not None and head.schema is not None:
        settings["schema"] = head.schema
    system = None if head is None else head.instructions
    form = "" if head is None else split_form(head.front)[0]
    failed = row.error is not None and not row.text
    asked = Asked(
        file=file,
        kind="map",
        place=row.row,
        repeat=repeat,
        typed="" if head is None else head.template,
        prompt=row.prompt,
        prompt_digest=row.prompt_digest,
        values=(Value.of_text("form", form, "format"),) if form else (),
        instructions=None if system is None else digest(system)[:DIGITS],
        system=system,
        settings=settings,
        asked_model=model if isinstance(model, str) else None,
        request=row.request,
        text=None if failed else row.text,
        error=row.error,
        origin="emulator" if row.service == EMULATOR else None,
        date=row.ended_at,
        is_local_time=True,
        service=row.service,
        is_described=head is not None,
        requests=row.requests,
    )
    return with_shared_fields(asked, row, BodyFacts)
