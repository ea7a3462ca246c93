"""Page on the notebooks of a class: one HTML file, without scripts, which loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from chatmagic.render.markdown import as_text
from chatmagic.render.reply_forms import reply_html
from chatmagic.safe_text import counted, one_line

BEGINNING: Final = "<!doctype html>\n<!-- chatmagic audit -->\n"
"""Beginning of each page, by which an earlier one is known."""
_LONGEST: Final = 300

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem;
  background: Canvas; color: CanvasText; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2rem; } h3 { font-size: 1.05rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { border: 1px solid GrayText; padding: 0.3rem 0.5rem; text-align: left;
  vertical-align: top; overflow-wrap: normal; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.words { min-width: 11rem; }
td:first-child { min-width: 8rem; overflow-wrap: anywhere; }
article { border-left: 3px solid GrayText; margin: 1rem 0; padding-left: 0.75rem; }
article.fault { border-left-color: #c62828; }
.facts { color: color-mix(in srgb, CanvasText 70%, Canvas); font-size: 0.85rem; margin: 0.25rem 0; }
details { margin: 0.25rem 0; }
summary { cursor: pointer; }
pre { overflow-x: auto; }
"""
_HEAD: Final = (
    '<html lang="en"><head><meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'\">\n"
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta name="referrer" content="no-referrer">\n'
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a student, with its reply.

    Args:
        cell: number of its cell.
        prompt: the prompt as typed.
        reply: the text of the reply; ``None`` if it is not in the file.
        format: the form of the reply, as for :func:`reply_html`.
        facts: what is known of it, such as its model, in words.
        is_fault: whether it is not as it was asked.
    """

    cell: int
    prompt: str
    reply: str | None
    format: str
    facts: str
    is_fault: bool = False


@dataclass(frozen=True, slots=True)
class Student:
    """A notebook of a class.

    Args:
        name: the path of its file.
        figures: the row of the table, by the heads of its columns.
        notes: a line for each problem, remark and copy.
        questions: its questions in their order.
    """

    name: str
    figures: Sequence[tuple[str, int | str]]
    notes: Sequence[str] = ()
    questions: Sequence[Question] = ()


def class_page(
    students: Sequence[Student], common: Sequence[tuple[str, int]], limits: Sequence[str]
) -> str:
    """Return the page.

    Args:
        students: the notebooks, in their order.
        common: questions that several notebooks have, with the number of these.
        limits: sentences on what the page cannot show.
    """
    parts = [
        BEGINNING,
        _HEAD,
        f"<title>{counted(len(students), 'notebook')}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{counted(len(students), 'notebook')}</h1>",
        *_table(students),
        *_common(common),
        *(f"<p class='facts'>{_line(line)}</p>" for line in limits),
        *(line for at, student in enumerate(students, 1) for line in _student(at, student)),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _table(students: Sequence[Student]) -> Iterable[str]:
    """Yield the lines of the table, a row for each notebook."""
    if not students:
        return
    heads = "".join(f"<th>{_line(head)}</th>" for head, _ in students[0].figures)
    yield f'<div class="wide" tabindex="0"><table><tr><th>Notebook</th>{heads}</tr>'
    for at, student in enumerate(students, 1):
        cells = "".join(_cell(value) for _, value in student.figures)
        yield f'<tr><td><a href="#n{at}">{_line(student.name)}</a></td>{cells}</tr>'
    yield "</table></div>"


def _cell(value: int | str) -> str:
    """Return a cell of the table."""
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f'<td class="words">{_line(value)}</td>' if value else "<td></td>"


def _common(common: Sequence[tuple[str, int]]) -> Iterable[str]:
    """Yield the lines on the questions that several notebooks have."""
    if common:
        yield "<h2>Asked in several notebooks</h2><ul>"
        for prompt, count in common:
            yield f"<li>{counted(count, 'notebook')}: {_line(prompt)}</li>"
        yield "</ul>"


def _student(at: int, student: Student) -> Iterable[str]:
    """Yield the lines on one notebook."""
    yield f'<section id="n{at}"><h2>{_line(student.name)}</h2>'
    if student.notes:
        yield "<ul>" + "".join(f"<li>{_line(note)}</li>" for note in student.notes) + "</ul>"
    for question in student.questions:
        kind = ' class="fault"' if question.is_fault else ""
        yield f"<article{kind}><h3>Cell {question.cell:,}</h3>{as_text(question.prompt)}"
        yield f'<p class="facts">{_line(question.facts)}</p>'
        if question.reply is None:
            yield '<p class="facts">Its reply is not in the file.</p></article>'
        else:
            reply = reply_html(question.reply, question.format)
            yield f"<details><summary>Reply</summary>{reply}</details></article>"
    yield "</section>"


def _line(text: str) -> str:
    return escape(one_line(text, _LONGEST))
