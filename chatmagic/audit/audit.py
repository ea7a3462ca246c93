"""Audit of notebooks and cassettes; there is no kernel, and nothing is run.

The source of a code cell determines its question, and so its output: one sealed output of that
prompt with those options, and nothing else. Each sealed output needs a source that asks for it.
Each turn must have been asked after those above it at that time. A cassette must
be readable, and must hold each exchange once. With notebooks and cassettes, each reply in a
notebook must be in a cassette.

A seal is no signature: a person who knows the code can make another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from chatmagic._files import open_file
from chatmagic.archive import notebook
from chatmagic.archive.interaction import Interaction
from chatmagic.archive.notebook import Notebook
from chatmagic.audit.cassette_audit import audit_cassette, is_cassette, read_cassette
from chatmagic.audit.copied_replies import judge_copies
from chatmagic.audit.findings import LONGEST_NAME, Audit
from chatmagic.audit.notebook_audit import audit_notebook
from chatmagic.audit.recorded_replies import unrecorded_replies
from chatmagic.errors import InputError
from chatmagic.protocol.secret_scanner import secret_kinds_in
from chatmagic.safe_text import one_line

_HEAD_BYTES: Final = 300


def audit_all(paths: Sequence[Path]) -> list[Audit]:
    """Return the audit of each file; one that cannot be read has a problem and no turns.

    Args:
        paths: notebooks and cassettes, and folders of them; the replies of the notebooks are
            compared with the cassettes.
    """
    audits: list[Audit] = []
    cassettes: dict[str, Sequence[Interaction]] = {}
    notebooks: list[tuple[Audit, Notebook]] = []
    for path in _files_in(paths):
        audit = _empty_audit(path)
        audits.append(audit)
        try:
            _refuse_folder(path)
            if is_cassette(path):
                file = read_cassette(path)
                audit_cassette(audit, file)
                cassettes[one_line(path.name, LONGEST_NAME)] = file.held
            else:
                notebooks.append((audit, notebook.read_notebook(path)))
        except InputError as error:
            audit.problems.append(str(error))
    # A notebook's cassettes may stand behind it among the paths.
    for audit, content in notebooks:
        audit_notebook(audit, content)
        audit.problems += unrecorded_replies(content, cassettes)
    judge_copies(notebooks)
    return audits


def secrets_of_all(paths: Sequence[Path]) -> list[Audit]:
    """Return the audit of each file for secrets alone: a problem for each text that looks like one.

    Args:
        paths: as for :func:`audit_all`.
    """
    audits: list[Audit] = []
    for path in _files_in(paths):
        audit = _empty_audit(path)
        audits.append(audit)
        try:
            texts = _texts_of(path)
        except InputError as error:
            audit.problems.append(str(error))
            continue
        kinds = ((place, name) for place, text in texts for name in secret_kinds_in(text))
        for place, name in dict.fromkeys(kinds):
            audit.wrong(place, f"it holds a text that looks like {name}")
    return audits


def _texts_of(path: Path) -> list[tuple[int, str]]:
    """Return the texts of a notebook or a cassette, with the numbers of their places."""
    _refuse_folder(path)
    if not is_cassette(path):
        return notebook.read_notebook(path).texts
    return [
        (place, text)
        for place, item in enumerate(read_cassette(path).held, 1)
        for text in (str(item.as_typed), item.text or "")
    ]


def _empty_audit(path: Path) -> Audit:
    """Return the audit of a file that was not read yet."""
    return Audit(str(path), "cassette" if is_cassette(path) else "notebook")


def _refuse_folder(path: Path) -> None:
    """Raise an error for a folder, which :func:`_files_in` leaves only if it has no files."""
    if path.is_dir():
        raise InputError(f"{path} holds no notebook and no cassette.")


def _files_in(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield files, and the notebooks and cassettes in folders and those below them, in order.

    A folder without any is yielded itself.
    """
    for path in paths:
        inside = path.rglob("*") if path.is_dir() else ()
        yield from sorted(file for file in inside if _is_audited(file, path)) or [path]


def _is_audited(file: Path, folder: Path) -> bool:
    """Return whether a file in a folder is a notebook or a cassette, and not hidden there."""
    if any(part.startswith(".") for part in file.relative_to(folder).parts):
        return False
    return file.suffix == ".ipynb" or (file.suffix == ".jsonl" and _begins_as_cassette(file))


def _begins_as_cassette(path: Path) -> bool:
    """Return whether a file begins like a cassette; others of its kind hold rows of a map."""
    try:
        with open_file(path) as file:
            return b'"cassette"' in file.readline(_HEAD_BYTES)
    except OSError:
        return False
