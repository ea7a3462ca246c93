"""Audit of notebooks and cassettes; there is no kernel, and nothing is run.

The source of a code cell determines its question, and so its output: one sealed output of that
prompt with those options, and nothing else. Each sealed output needs a source that asks for it.
Each turn must have been asked after those above it at that time. A cassette must
be readable, and must hold each exchange once. With notebooks and cassettes, each reply in a
notebook must be in a cassette.

A seal is no signature: a person who knows the code can make another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from chatmagic._files import open_file
from chatmagic.archive import notebook
from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.archive.interaction import Interaction
from chatmagic.archive.notebook import Notebook
from chatmagic.audit.cassette_audit import audit_cassette, is_cassette
from chatmagic.audit.copied_replies import judge_copies
from chatmagic.audit.findings import LONGEST_NAME, Audit
from chatmagic.audit.notebook_audit import audit_notebook
from chatmagic.audit.recorded_replies import missing, named_cassettes
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
    held: dict[str, tuple[Interaction, ...]] = {}
    notebooks: list[tuple[Audit, Notebook]] = []
    for path in (file for given in paths for file in _files(given)):
        audit = Audit(str(path), "cassette" if is_cassette(path) else "notebook")
        audits.append(audit)
        try:
            if path.is_dir():
                raise InputError(f"{path} holds no notebook and no cassette.")  # noqa: TRY301
            if is_cassette(path):
                held[one_line(path.name, LONGEST_NAME)] = audit_cassette(path, audit)
            else:
                notebooks.append((audit, notebook.read_notebook(path)))
        except InputError as error:
            audit.problems.append(str(error))
    exchanges = [interaction for interactions in held.values() for interaction in interactions]
    for audit, read in notebooks:
        audit_notebook(audit, read)
        # A notebook may name cassettes of its own that are not among the paths.
        named = named_cassettes(read)
        if held and (not named or named & set(held)):
            audit.problems += missing(read, exchanges, ", ".join(held))
    judge_copies(notebooks)
    return audits


def secrets_of_all(paths: Sequence[Path]) -> list[Audit]:
    """Return the audit of each file for secrets alone: a problem for each text that looks like one.

    Args:
        paths: as for :func:`audit_all`.
    """
    audits: list[Audit] = []
    for path in (file for given in paths for file in _files(given)):
        audit = Audit(str(path), "cassette" if is_cassette(path) else "notebook")
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
    if path.is_dir():
        raise InputError(f"{path} holds no notebook and no cassette.")
    if not is_cassette(path):
        return notebook.read_notebook(path).texts
    if not path.exists():
        raise InputError(f"{path} is not there.")
    held = CassetteFile(path).read_interactions()
    return [
        (place, text)
        for place, item in enumerate(held, 1)
        for text in (str(item.as_typed), item.text or "")
    ]


def _files(path: Path) -> list[Path]:
    """Return a path, or the notebooks and cassettes in a folder and those below it."""
    inside = path.rglob("*") if path.is_dir() else ()
    files = [
        file
        for file in inside
        if not any(part.startswith(".") for part in file.relative_to(path).parts)
        and (file.suffix == ".ipynb" or (file.suffix == ".jsonl" and _has_head(file)))
    ]
    return sorted(files) or [path]


def _has_head(path: Path) -> bool:
    """Return whether a file begins like a cassette; others of its kind hold rows of a map."""
    try:
        with open_file(path) as file:
            return b'"cassette"' in file.readline(_HEAD_BYTES)
    except OSError:
        return False
