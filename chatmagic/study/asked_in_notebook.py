"""Questions in a notebook: the turns of its cells, and what else its cells tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chatmagic._json import digest, json_at, shared_fields
from chatmagic.archive import restore
from chatmagic.archive.interaction import DIGITS
from chatmagic.archive.notebook import Notebook
from chatmagic.conversation.question import ASKED_FOR_THE_REST
from chatmagic.conversation.record import Record
from chatmagic.conversation.steering import Instructions
from chatmagic.models import BodyFacts
from chatmagic.study.agreement import METADATA
from chatmagic.study.asked import Asked, Source, short_names
from chatmagic.study.recorded_agreement import agreement_from

NOT_SETTINGS: Final = frozenset({"model", "thread", "credit_line"})
"""Options of a question that change neither its request nor its turn's use."""


def add_notebook(read: Notebook, source: Source) -> None:
    """Add the questions of a notebook to a source.

    Args:
        read: the notebook.
        source: the source, which gets its questions, agreements, problems and numbers.
    """
    restored = restore.restore(read, changed=True, as_recorded=True)
    texts: dict[str, str] = {}
    for saved in read.outputs:
        if isinstance(saved.steering, Instructions):
            texts[saved.steering.value.sha256] = saved.steering.text
        if saved.kind in {"undo", "redo", "reset"}:
            source.counts[f"commands {saved.kind}"] += 1
        source.counts["earlier answers that were put back"] += saved.kind == "pick"
    window = restored.conversation.window()
    for saved, record in read.turns:
        placed = restored.asked.get(restored.numbers.get(saved, 0))
        asked = of_record(record, saved.text, source.path, saved.cell)
        hidden = record.parameters.get("hide") is True
        if placed is not None:
            turn, place = placed
            root = turn.carried.root.chain
            names = [*([] if root is None else [root]), *turn.carried.digests]
            names += [] if record.continues is None else [record.continues]
            asked = replace(asked, context=short_names(names), thread=place.thread)
            live = {each.number: each for each in restored.conversation}
            now = live.get(restored.numbers.get(saved, 0))
            hidden = hidden or (now is not None and window.hides(now))
        system = None if record.instructions is None else texts.get(record.instructions.sha256)
        source.asked.append(
            replace(asked, cell=saved.own, system=system, is_hidden=hidden, fault=saved.fault)
        )
    _count_silent(read, source)
    for cell in read.cells:
        for output in cell.outputs:
            if (value := json_at(output, "metadata", METADATA)) is not None:
                _add_agreement(value, source, cell.number)


def _add_agreement(value: object, source: Source, cell: int) -> None:
    """Add the agreement of an output of a cell."""
    try:
        source.agreements.append(agreement_from(value, f"{source.name}, cell {cell}"))
    except ValueError:
        source.problems.append(f"cell {cell}: its agreement cannot be read, and was left out.")


def _count_silent(read: Notebook, source: Source) -> None:
    """Count the cells of a notebook that ask, and have no reply."""
    shown = {saved.cell for saved in read.outputs if saved.kind in {"turn", "pick"}}
    for cell in read.cells:
        if cell.number in shown or not cell.plan.asks:
            continue
        if "error" in cell.others:
            source.counts["cells whose question failed"] += 1
        else:
            source.counts["cells whose question has no reply in the file"] += 1
    quiet = sum(command.is_quiet for cell in read.cells for command in cell.plan.commands)
    source.counts["quiet questions, whose replies are not in the file"] += quiet


def of_record(record: Record, text: str | None, file: str, place: int) -> Asked:
    """Return the question of a turn's record.

    Args:
        record: the record.
        text: the reply's text; ``None`` if it is gone.
        file: path of its file.
        place: number of its cell.
    """
    known = restore.turn_of(record, text or "", owner=None) if _is_consistent(record) else None
    sent = None if known is None or known.missing else known.prompt
    digests = [*([] if record.earlier[1] is None else [record.earlier[1]]), *record.carried]
    digests += [] if record.continues is None else [record.continues]
    instructions = None if record.instructions is None else record.instructions.sha256[:DIGITS]
    is_rest = record.continues is not None
    typed = ASKED_FOR_THE_REST if is_rest else record.prompt
    sent = typed if is_rest else sent
    return Asked(
        file=file,
        kind="notebook",
        place=place,
        cell=record.owner,
        typed=typed,
        prompt=sent,
        prompt_digest=None if sent is None else digest(sent),
        values=() if is_rest else record.values,
        context=short_names(digests),
        name=None if is_rest or record.turn is None else record.turn[:DIGITS],
        instructions=instructions,
        settings={
            name: item for name, item in record.parameters.items() if name not in NOT_SETTINGS
        },
        asked_model=record.asked_model,
        request=record.request,
        text=text,
        state=record.state,
        origin=record.recorded or (None if record.origin == "replay" else record.origin),
        is_replay=record.origin == "replay",
        date=record.date,
        is_hidden=record.parameters.get("hide") is True,
        is_again=bool(record.in_place_of) and not is_rest,
        is_rest=is_rest,
        is_by_order=record.by_order,
        **shared_fields(record, BodyFacts),
    )


def _is_consistent(record: Record) -> bool:
    """Return whether the values of a record are those of its prompt."""
    try:
        restore.turn_of(record, "", owner=None)
    except ValueError:
        return False
    return True
