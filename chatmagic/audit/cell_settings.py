"""Settings that the cells of a notebook make, read as literals and compared with the records.

A setting holds for the cells below it: ``%config ChatMagics.temperature = 0.5``, and the model of
``%chat_connect URL --model NAME``. Nothing is evaluated; a value that is no literal is unknown.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from chatmagic.archive.notebook import NotebookCell
from chatmagic.conversation.cell_magics import MagicCall, in_one_line, statements
from chatmagic.conversation.options import OPTIONS, Option
from chatmagic.conversation.question import Parameters, unquoted
from chatmagic.conversation.record import Record
from chatmagic.safe_text import numbered, one_line

_SHOWN: Final = 32
_UNKNOWN: Final = object()
"""The value of a setting that is no literal."""
_MODEL: Final = "model"
_QUIET: Final = "quiet"
_CONFIG: Final = re.compile(
    r"(?P<indent>[ \t]*)%?config[ \t]+ChatMagics\.(?P<name>\w+)[ \t]*=(?P<value>.*)"
)
_NAMED_MODEL: Final = r"--model(?:=|[ \t]+)(\S+)"
_FACTS: Final[Mapping[str, Option]] = {
    option.trait: option
    for option in OPTIONS
    if option.trait and option.dest in {item.name for item in fields(Parameters)}
}
"""The options whose default a setting gives, and that a record keeps, by the setting."""


@dataclass(frozen=True, slots=True)
class AskedCell:
    """Question of a cell, and the facts that its source gives itself.

    Args:
        cell: the cell's number.
        record: the record of its turn.
        typed: names of the fields that its source gives.
    """

    cell: int
    record: Record
    typed: frozenset[str]

    def fact(self, setting: str) -> object:
        """Return the recorded value of what a setting gives.

        Args:
            setting: the setting's name.
        """
        if setting == _MODEL:
            return self.record.asked_model
        option = _FACTS[setting]
        return self.record.parameters.get(option.dest, option.default)


@dataclass(frozen=True, slots=True)
class Finding:
    """Fault, or a remark.

    Args:
        cells: the numbers of its cells; of a fault there is one.
        words: the words for it.
        is_fault: whether it is a fault.
        is_checked: whether its cells could be judged.
    """

    cells: tuple[int, ...]
    words: str
    is_fault: bool
    is_checked: bool = True


@dataclass(frozen=True, slots=True)
class _Setting:
    """Setting that holds at a cell.

    Args:
        cell: number of the cell that made it; 0 for none.
        value: its value.
    """

    cell: int = 0
    value: object = None


_UNSET: Final = _Setting()


class CellSettings:
    """Settings at each cell of a notebook.

    Args:
        cells: its code cells.
        unknown: numbers of the cells whose code may set anything.
    """

    def __init__(self, cells: Sequence[NotebookCell], unknown: Collection[int]) -> None:
        """Read the cells from top to bottom."""
        self._at: dict[int, dict[str, _Setting]] = {}
        in_force: dict[str, _Setting] = {}
        for cell in cells:
            number = cell.number
            if number in unknown:
                # Whether it makes the questions quiet, too, is not supposed.
                in_force |= dict.fromkeys([*_FACTS, _MODEL], _Setting(number, _UNKNOWN))
            below = {**in_force}
            for name, value in _settings_made_by(cell, below):
                below[name] = _Setting(number, value)
            # Whether a question of this cell comes before its own setting is not known.
            changed = [name for name in below if below[name] != in_force.get(name)]
            self._at[number] = in_force | dict.fromkeys(changed, _Setting(number, _UNKNOWN))
            in_force = below

    def may_be_quiet(self, cell: int) -> bool:
        """Return whether the questions of a cell may be asked without showing their replies.

        Args:
            cell: the cell's number.
        """
        value = self._at[cell].get(_QUIET, _UNSET).value
        return value is _UNKNOWN or bool(value)

    def findings(self, asked: Sequence[AskedCell]) -> list[Finding]:
        """Return the differences between settings and records.

        Args:
            asked: the questions, in the order of the cells.
        """
        return [finding for name in [*_FACTS, _MODEL] for finding in self._findings_of(name, asked)]

    def _findings_of(self, name: str, asked: Sequence[AskedCell]) -> Iterator[Finding]:
        """Yield the differences between one setting and the records."""
        option = _FACTS.get(name)
        field = name if option is None else option.dest
        others: dict[int, list[AskedCell]] = defaultdict(list)
        unset: list[AskedCell] = []
        is_typed = False
        for question in asked:
            setting = self._at[question.cell].get(name, _UNSET)
            if field in question.typed:
                is_typed = is_typed or not setting.cell
            elif not setting.cell:
                unset.append(question)
            elif setting.value is not _UNKNOWN and (
                question.fact(name) != _effect(option, setting.value)
            ):
                others[setting.cell].append(question)
        for questions in others.values():
            yield _set_otherwise(name, self._at[questions[0].cell][name], questions)
        default = None if option is None else option.default
        yield from _set_nowhere(name, unset, default, is_typed=is_typed)


def _settings_made_by(
    cell: NotebookCell, in_force: Mapping[str, _Setting]
) -> Iterator[tuple[str, object]]:
    """Yield the settings that a cell makes, each with its value.

    Args:
        cell: the cell.
        in_force: the settings above it, by name.
    """
    for command in cell.plan.commands:
        if command.name == "chat_connect":
            yield from _connected_model(command, in_force)
    if cell.source.lstrip().startswith("%%"):
        return
    for line in map(in_one_line, statements(cell.source)):
        setting = _CONFIG.fullmatch(line)
        if setting is None:
            continue
        is_conditional = bool(setting["indent"])
        value = _UNKNOWN if is_conditional else _literal(setting["value"])
        if setting["name"] != "extra_body":
            yield setting["name"], value
        else:
            yield from _model_of_extra_body(value, in_force)


def _model_of_extra_body(
    value: object, in_force: Mapping[str, _Setting]
) -> Iterator[tuple[str, object]]:
    """Yield the model that the setting ``extra_body`` names among other fields of a request."""
    if not isinstance(value, dict):
        yield _MODEL, _UNKNOWN
    elif _MODEL in value or _MODEL in in_force:
        yield _MODEL, value.get(_MODEL, _UNKNOWN)


def _connected_model(
    command: MagicCall, in_force: Mapping[str, _Setting]
) -> Iterator[tuple[str, object]]:
    """Yield the model of ``%chat_connect``; a model that is set belongs to its address."""
    named = re.search(_NAMED_MODEL, command.line)
    address = re.sub(rf"{_NAMED_MODEL}|--\S+", "", command.line)
    is_literal = command.is_once and not re.search(r"[${]", command.line)
    if named is not None and address.strip():
        yield _MODEL, unquoted(named[1]) if is_literal else _UNKNOWN
    elif address.strip() and _MODEL in in_force:
        yield _MODEL, _UNKNOWN


def _literal(text: str) -> object:
    """Return the value of a literal; :data:`_UNKNOWN` for other code."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return _UNKNOWN


def _effect(option: Option | None, value: object) -> object:
    """Return the field's value that a setting gives."""
    if option is None:
        return value or None
    if option.kind is None:
        return bool(value) is option.on
    return option.default if value is None else value


def _set_otherwise(name: str, setting: _Setting, asked: Sequence[AskedCell]) -> Finding:
    """Return the fault of a cell that sets another value than cells below were asked with."""
    facts = {_in_words(question.fact(name)) for question in asked}
    recorded = facts.pop() if len(facts) == 1 else "other values"
    cells = numbered((question.cell for question in asked), "cell")
    value = _in_words(setting.value)
    words = f"it sets {name} to {value}, but the record of {cells} has {recorded}"
    return Finding((setting.cell,), words, is_fault=True)


def _set_nowhere(
    name: str, asked: Sequence[AskedCell], default: object, *, is_typed: bool
) -> Iterator[Finding]:
    """Yield findings on a value that no source gives: all cells have it, or it is a fault.

    Args:
        name: the setting's name.
        asked: the questions without an option for it, and without a setting above.
        default: the value without a setting.
        is_typed: whether another cell has the option, as this one may have had.
    """
    cells = tuple(question.cell for question in asked if question.fact(name) != default)
    if not cells:
        return
    values = {_in_words(question.fact(name)) for question in asked}
    if name == _MODEL or (len(values) == 1 and not is_typed):
        value = values.pop() if len(values) == 1 else "several values"
        words = f"asked with {name} {value}, which no source says: configured elsewhere, or edited"
        yield Finding(cells, words, is_fault=False)
        return
    for question in asked:
        if question.fact(name) != default:
            value = _in_words(question.fact(name))
            words = f"it was asked with {name} {value}, which its source does not say"
            yield Finding((question.cell,), words, is_fault=True)


def _in_words(value: object) -> str:
    """Return the value of a setting in one line."""
    return "none" if value is None else one_line(str(value), _SHOWN)
