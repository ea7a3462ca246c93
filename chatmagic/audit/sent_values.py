"""Values that were sent with a question, compared with the cells that the notebook shows now.

A record keeps the size and the digest of each value. A variable is known if one cell binds it, as a
literal, and nothing else does; a cell that went along, if its output in the file is plain text.
"""

from __future__ import annotations

import ast
import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chatmagic._json import json_at
from chatmagic.archive.notebook import Notebook, NotebookCell, text_from_json
from chatmagic.audit.cell_code import python_of
from chatmagic.audit.cell_settings import Finding
from chatmagic.conversation import template
from chatmagic.conversation.cell_magics import parsed_python
from chatmagic.conversation.magic_line import output_name
from chatmagic.conversation.question import Schema, Value
from chatmagic.conversation.record import Record
from chatmagic.safe_text import numbered, one_line

_PLAIN: Final = (str, int, float, type(None))
"""Types of the literals whose text in a prompt is their ``str()``."""
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Literal:
    """Literal that one cell gives a name.

    Args:
        cell: the cell's number.
        value: its value.
    """

    cell: int
    value: object

    def sent_as(self, value: Value, record: Record) -> Value | None:
        """Return the value that a question would send now; ``None`` if that is not known.

        Args:
            value: the value that it sent, of the same name.
            record: the record of its turn.
        """
        if value.kind is None and isinstance(self.value, _PLAIN):
            return Value.of_text(value.expression, str(self.value))
        schema = record.parameters.get("schema")
        if value.kind == "format" and schema is not None and isinstance(self.value, dict):
            document = json.loads(json.dumps(self.value))
            return template.words_on_form("json", Schema(schema, document, str), ())
        return None


def value_findings(notebook: Notebook, unknown: Collection[int]) -> Iterator[Finding]:
    """Yield the differences between the values that questions sent and the cells above them.

    Args:
        notebook: the notebook.
        unknown: numbers of the cells whose code may bind anything.
    """
    first_unknown = min(unknown, default=len(notebook.texts) + 1)
    literals = _literals(notebook.cells)
    edited: dict[tuple[int, str], list[int]] = defaultdict(list)
    for saved, record in notebook.turns:
        if saved.fault:
            continue
        for value in record.values:
            is_schema = value.kind == "format"
            name = str(record.parameters.get("schema")) if is_schema else value.expression
            literal = literals.get(name)
            if literal is None or not literal.cell < saved.cell < first_unknown:
                continue
            now = literal.sent_as(value, record)
            if now is not None and now.sha256 != value.sha256:
                edited[literal.cell, name].append(saved.cell)
    for (cell, name), cells in edited.items():
        asked = numbered(cells, "cell")
        words = f"it gives {one_line(name, _SHOWN)} another value than {asked} sent: edited"
        yield Finding((cell,), words, is_fault=True)
    yield from _cell_findings(notebook)


def _literals(cells: Iterable[NotebookCell]) -> dict[str, Literal]:
    """Return the literals that one cell gives a name that nothing else binds or may change."""
    times_bound: Counter[str] = Counter()
    names_read: set[str] = set()
    literals: dict[str, Literal] = {}
    for cell in cells:
        tree = parsed_python(python_of(cell.source)) or ast.Module([], [])
        variables = (output_name(call.line) for call in cell.plan.commands)
        times_bound.update(name for name in variables if name)
        times_bound.update(_bound_names(tree))
        names_read |= _read_names(tree)
        literals |= _assigned_literals(cell.number, tree)
    return {
        name: literal
        for name, literal in literals.items()
        # Code that reads a dict may change it.
        if times_bound[name] == 1 and not (isinstance(literal.value, dict) and name in names_read)
    }


def _read_names(tree: ast.AST) -> set[str]:
    """Return the names that code reads."""
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _bound_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code binds, or deletes, as often as it does."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Load()):
                pass
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case _:
                pass


def _assigned_literals(cell: int, tree: ast.Module) -> dict[str, Literal]:
    """Return the literals that the statements of a cell give names, by these names."""
    literals: dict[str, Literal] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                with contextlib.suppress(ValueError, TypeError, RecursionError, MemoryError):
                    literals[name] = Literal(cell, ast.literal_eval(value))
            case _:
                pass
    return literals


# --- Cells that went along -----------------------------------------------------------------------


def _cell_findings(notebook: Notebook) -> Iterator[Finding]:
    """Yield the differences of cells that went along."""
    sent = [
        (saved.cell, value)
        for saved, record in notebook.turns
        for value in record.values
        if value.kind in {"cell", "markdown"} and not saved.fault
    ]
    if not sent:
        return
    texts = {cell.number: [*_texts(cell)] for cell in notebook.cells}
    """The texts that each cell may have had in a request; none where its output is not plain."""
    digests = {_digest(text) for forms in texts.values() for text in forms}
    digests |= {_digest(template.markdown_text(source)) for source in notebook.markdown.values()}
    numbers = {cell.own: cell.number for cell in notebook.cells if cell.own}
    edited: dict[int, list[int]] = defaultdict(list)
    unknown: list[int] = []
    for asking, value in sent:
        if value.sha256 in digests:
            continue
        number = numbers.get(value.cell or "")
        candidates = [number] if number is not None else [cell for cell in texts if cell < asking]
        if value.kind == "markdown" or all(texts[cell] for cell in candidates):
            edited[asking if number is None else number].append(asking)
        else:
            unknown.append(asking)
    for number, cells in edited.items():
        yield Finding((number,), _edit_words(number, cells), is_fault=True)
    if unknown:
        words = "they sent a cell along whose output the file does not have as plain text"
        yield Finding(tuple(unknown), words, is_fault=False, is_checked=False)


def _edit_words(place: int, asking: Sequence[int]) -> str:
    """Return the fault of a cell that was edited after cells sent it along.

    Args:
        place: number of the cell; of the only cell that sent it, if the file does not name it.
        asking: numbers of the cells that sent it.
    """
    if all(cell == place for cell in asking):
        return "a cell that it sent along was removed or edited, or ran again"
    return f"it was edited, or ran again, after {numbered(asking, 'cell')} sent it along"


def _texts(cell: NotebookCell) -> Iterator[str]:
    """Yield the texts of a cell in a request, with and without its output; none if unknown.

    By its release and its kind, a kernel keeps results, prints and displays, or only some of them.
    """
    if "clear_output" in cell.source or "display_id" in cell.source:
        return
    shown: list[str] = []
    prints: list[str] = []
    results: list[str] = []
    for output in cell.outputs:
        text = _plain_text(output)
        if text is None:
            return
        kind = json_at(output, "output_type")
        if kind == "execute_result":
            results.append(text)
        else:
            shown.append(text)
        if kind == "stream":
            prints.append(text)
    for parts in ([*shown, *results], ["".join(prints), *results], results, []):
        whole = "\n".join(filter(None, (template.as_shown(part).strip("\n") for part in parts)))
        yield template.cell_text(cell.source, whole[: template.MOST], len(whole))
        yield template.cell_text(cell.source, "", len(whole))


def _plain_text(output: Any) -> str | None:
    """Return an output's text if it is plain text; ``None`` for any other."""
    kind = json_at(output, "output_type")
    if kind == "stream":
        is_printed = json_at(output, "name") == "stdout"
        return text_from_json(json_at(output, "text")) if is_printed else None
    data = json_at(output, "data")
    if not isinstance(data, Mapping) or any(str(name).startswith("image/") for name in data):
        return None
    text = text_from_json(data.get("text/plain"))
    is_named = text is not None and text.startswith("<IPython.core.display.")
    return None if not text or is_named else text


def _digest(text: str) -> str:
    """Return the digest of a text, as a value of a prompt has it."""
    return Value.of_text("", text).sha256
