"""Audit of one notebook: sources, outputs, and the order in which its turns were asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chatmagic.archive import output, restore
from chatmagic.archive.notebook import Notebook, SavedOutput
from chatmagic.archive.restore import Restored
from chatmagic.audit.cell_code import Asking, asking
from chatmagic.audit.cell_settings import CellSettings
from chatmagic.audit.compared_sources import SourceComparison
from chatmagic.audit.disclosures import disclosures
from chatmagic.audit.findings import Audit, AuditedTurn
from chatmagic.audit.named_turns import named_turn_findings
from chatmagic.audit.sent_values import value_findings
from chatmagic.audit.turn_order import (
    OrderCause,
    PlacedTurn,
    causes_of,
    followers_of,
    instruction_causes,
)
from chatmagic.conversation.cell_magics import MagicCall
from chatmagic.conversation.record import Record
from chatmagic.conversation.steering import Instructions
from chatmagic.safe_text import numbered


def audit_notebook(audit: Audit, notebook: Notebook) -> None:
    """Add the findings in a notebook.

    Args:
        audit: gets the findings.
        notebook: the notebook.
    """
    restored = restore.restore(notebook, changed=True, as_recorded=True)
    audit.problems += restored.problems
    audit.remarks += restore.gaps(restored, notebook)
    code = asking({cell.number: cell.source for cell in notebook.cells})
    settings = CellSettings(notebook.cells, code.shows)
    comparison = SourceComparison(audit, notebook, code, settings)
    comparison.compare()
    unseen = _first_unseen(notebook, code, settings)
    places = _places(notebook, restored)
    rendered = {saved: _rendered(saved, record) for saved, record in notebook.turns}
    for saved, record in notebook.turns:
        agrees = comparison.agrees[saved]
        if rendered[saved] is False:
            audit.wrong(saved.cell, "its HTML or Markdown differs from its rendered reply")
        if saved.fault or rendered[saved] is False:
            agrees = False
        row = _row(saved, record, restored, places.get(saved), unseen)
        audit.turns.append(replace(row, agrees=agrees))
    _judge_places(audit, notebook, places, comparison, unseen=unseen)
    for finding in value_findings(notebook, code.shows):
        audit.add(finding)
    _add_unchecked(audit, comparison, unseen)
    unrendered = [saved.cell for saved in rendered if rendered[saved] is None and not saved.fault]
    audit.remark(unrendered, "HTML not checked: other versions rendered it")
    practice = [saved.cell for saved, record in notebook.turns if record.origin == "emulator"]
    audit.remark(practice, "the emulator answered, practice only")
    audit.values += disclosures(notebook)


def _add_unchecked(audit: Audit, comparison: SourceComparison, unseen: float) -> None:
    """Add the cells whose source, or whose place, the file does not show."""
    hidden = [saved.cell for saved, agreed in comparison.agrees.items() if agreed is None]
    audit.not_checked(hidden, "their code may ask, and nothing in the file shows what")
    later = [row.cell_number or 0 for row in audit.turns if row.in_order is None and row.thread]
    words = (
        f"their requests had turns that cell {unseen}, or one below it, may have asked "
        "without an output"
    )
    audit.not_checked(later, words)


def _places(notebook: Notebook, restored: Restored) -> dict[SavedOutput, PlacedTurn]:
    """Return the places of a notebook's turns in its restored conversation."""
    numbers = {saved: restored.numbers.get(saved, 0) for saved, _ in notebook.turns}
    return {
        saved: PlacedTurn(saved.cell, *restored.asked[number])
        for saved, number in numbers.items()
        if number in restored.asked
    }


def _row(
    saved: SavedOutput,
    record: Record,
    restored: Restored,
    place: PlacedTurn | None,
    unseen: float,
) -> AuditedTurn:
    """Return the row of a turn, without a judgement of its source.

    Args:
        saved: its output.
        record: its record.
        restored: the conversation of the notebook.
        place: its place there; ``None`` if it is no part of it.
        unseen: number of the first cell that may have asked without an output.
    """
    number = restored.numbers.get(saved, 0)
    replies = [reply.number for reply in restored.conversation.replies.get(number, ())]
    return replace(
        AuditedTurn.of_record(record),
        reply_number=replies.index(number) + 1 if number in replies else None,
        reply_count=len(replies) or None,
        cell_number=saved.cell,
        thread=None if place is None else place.window.thread,
        in_order=None if place is None else _is_in_order(place, unseen),
    )


def _is_in_order(place: PlacedTurn, unseen: float) -> bool | None:
    """Return whether a turn was asked after those above it; ``None`` if some may be unseen."""
    if place.window.carries_as(place.turn):
        return True
    # No output shows the turns that were asked unseen, or loaded, in a cell above.
    return None if unseen <= place.cell else False


def _judge_places(
    audit: Audit,
    notebook: Notebook,
    places: Mapping[SavedOutput, PlacedTurn],
    comparison: SourceComparison,
    *,
    unseen: float,
) -> None:
    """Add the faults of turns that were asked elsewhere, each at its cause.

    Args:
        audit: gets the faults.
        notebook: the notebook.
        places: the turns with their places, by their outputs.
        comparison: the comparison of the cells with their outputs.
        unseen: number of the first cell that may have asked without an output.
    """
    turns = [*places.values()]
    edited = _edited_turns(notebook, places)
    for finding in named_turn_findings(notebook, places, comparison.commands, unseen):
        audit.add(finding)
        at_cell = [place for place in turns if finding.cells == (place.cell,)]
        edited |= {place.turn.recorded_digest: place.cell for place in at_cell}
    different = [place for place in turns if _is_in_order(place, unseen) is False]
    _add_causes(audit, causes_of(different, turns, edited, comparison.lost))
    edited_cells = {saved.cell for saved in places if saved.fault}
    _add_causes(audit, followers_of(edited_cells, turns))
    # Below an unseen cell, instructions may hold that no output shows.
    seen = [place for place in turns if place.cell < unseen]
    instructed_otherwise = [place for place in seen if not place.window.instructs_as(place.turn)]
    _add_causes(audit, instruction_causes(instructed_otherwise, _edited_instructions(notebook)))


def _edited_instructions(notebook: Notebook) -> dict[str, int]:
    """Return the cells of edited instructions, by the digests of the instructions."""
    return {
        saved.steering.value.sha256: saved.cell
        for saved in notebook.outputs
        if saved.fault and isinstance(saved.steering, Instructions)
    }


def _edited_turns(notebook: Notebook, places: Mapping[SavedOutput, PlacedTurn]) -> dict[str, int]:
    """Return the cells of edited turns, by the turns' digests as recorded and as they are now."""
    edited: dict[str, int] = {}
    for saved in notebook.outputs:
        if not saved.fault:
            continue
        if saved.record is not None and saved.record.turn is not None:
            edited[saved.record.turn] = saved.cell
        if saved in places:
            edited[places[saved].turn.digest] = saved.cell
    return edited


def _add_causes(audit: Audit, causes: Sequence[OrderCause]) -> None:
    """Add causes: a fault of its cell with what follows, or a remark on what follows from one."""
    for cause in causes:
        if cause.words:
            audit.wrong(cause.cell, cause.line)
        else:
            words = f"{numbered(cause.followers, 'cell')} carried it as it was before the edit"
            audit.remark([cause.cell], words)


def _rendered(saved: SavedOutput, record: Record) -> bool | None:
    """Return whether an output is the rendering of its reply; ``None`` if that was not tried."""
    if saved.versions != output.renderer_versions() or saved.fault or saved.text is None:
        return None
    try:
        reply = restore.turn_of(record, saved.text, owner=None).reply
    except ValueError:
        return None
    shown = output.bundle(reply, record)
    return all(text == shown[kind] for kind, text in saved.rendered.items())


def _first_unseen(notebook: Notebook, code: Asking, settings: CellSettings) -> float:
    """Return the number of the first cell that may have asked without an output; infinity for none.

    It asks quietly, from Python, by a load, or its output went elsewhere.
    """
    shown = {saved.cell for saved, _ in notebook.turns}
    by_code = code.asks | (code.captures - shown)
    for cell in notebook.cells:
        commands = cell.plan.commands
        may_be_quiet = settings.may_be_quiet(cell.number)
        by_setting = may_be_quiet and any(command.asks for command in commands)
        by_command = any(map(_asks_unseen, commands))
        if by_setting or by_command or cell.number in by_code or "live" in cell.others:
            return cell.number
    return math.inf


def _asks_unseen(command: MagicCall) -> bool:
    """Return whether a magic may add turns without an output of its cell that shows them."""
    return command.is_quiet or command.name in {"chat_panel", "chat_load"}
