"""Questions in a notebook: the turns of its cells, and what else its cells tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from chatmagic._json import digest, json_at, with_shared_fields
from chatmagic.archive import restore
from chatmagic.archive.interaction import DIGITS
from chatmagic.archive.notebook import Notebook
from chatmagic.conversation.question import ASKED_FOR_THE_REST
from chatmagic.conversation.record import Record
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Window
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
    for saved in read.outputs:
        if saved.kind in {"undo", "redo", "reset"}:
            source.counts[f"commands {saved.kind}"] += 1
        if saved.kind == "pick":
            source.counts["earlier answers that were put back"] += 1
    texts = _instructions_in(read)
    restored = restore.restore(read, changed=True, as_recorded=True)
    window = restored.conversation.window()
    hidden = {turn.number for turn in restored.conversation if window.hides(turn)}
    for saved, record in read.turns:
        asked = of_record(record, saved.text, source.path, saved.cell)
        number = restored.numbers.get(saved, 0)
        if number in restored.asked:
            asked = _in_its_place(asked, record, *restored.asked[number])
        system = None if record.instructions is None else texts.get(record.instructions.sha256)
        source.asked.append(
            replace(
                asked,
                cell=saved.own,
                system=system,
                is_hidden=asked.is_hidden or number in hidden,
                fault=saved.fault,
            )
        )
    _count_silent(read, source)
    for cell in read.cells:
        for output in cell.outputs:
            if (value := json_at(output, "metadata", METADATA)) is not None:
                _add_agreement(value, source, cell.number)


def _instructions_in(read: Notebook) -> dict[str, str]:
    """Return the texts of the instructions in a notebook, by their digests."""
    return {
        saved.steering.value.sha256: saved.steering.text
        for saved in read.outputs
        if isinstance(saved.steering, Instructions)
    }


def _in_its_place(asked: Asked, record: Record, turn: Turn, place: Window) -> Asked:
    """Return a question with what its place in the conversation tells of it."""
    context = _carried_names(turn.carried.root.chain, turn.carried.digests, record.continues)
    return replace(asked, context=context, thread=place.thread)


def _carried_names(
    root: str | None, digests: Iterable[str | None], continues: str | None
) -> tuple[str, ...]:
    """Return the short names of the turns that a request carried.

    Args:
        root: digest of those before the digests; ``None`` for none.
        digests: their digests, oldest first.
        continues: digest of the turn whose reply is continued; ``None`` for none.
    """
    names = [*digests]
    if root is not None:
        names.insert(0, root)
    if continues is not None:
        names.append(continues)
    return short_names(names)


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
    is_rest = record.continues is not None
    prompt = ASKED_FOR_THE_REST if is_rest else _prompt_as_sent(record)
    asked = Asked(
        file=file,
        kind="notebook",
        place=place,
        cell=record.owner,
        typed=ASKED_FOR_THE_REST if is_rest else record.prompt,
        prompt=prompt,
        prompt_digest=None if prompt is None else digest(prompt),
        values=() if is_rest else record.values,
        context=_carried_names(record.earlier[1], record.carried, record.continues),
        name=None if is_rest or record.turn is None else record.turn[:DIGITS],
        instructions=None if record.instructions is None else record.instructions.sha256[:DIGITS],
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
    )
    return with_shared_fields(asked, record, BodyFacts)


def _prompt_as_sent(record: Record) -> str | None:
    """Return the prompt as sent; ``None`` if a value is missing, or is not that of the prompt."""
    try:
        turn = restore.turn_of(record, "", owner=None)
    except ValueError:
        return None
    return None if turn.missing else turn.prompt
