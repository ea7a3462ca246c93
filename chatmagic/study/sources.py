"""Files with questions: notebooks, cassettes and the files of maps, found and read alike.

The files are untrusted. Nothing in them is run, and nothing is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from chatmagic._files import open_file
from chatmagic.archive import notebook
from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.audit.audit import audit_all
from chatmagic.errors import InputError
from chatmagic.session.map.row_reply import BEGINNING
from chatmagic.study.asked import Kind, Source
from chatmagic.study.asked_in_cassette import from_interactions
from chatmagic.study.asked_in_map import add_map
from chatmagic.study.asked_in_notebook import add_notebook

_SUFFIXES: Final = frozenset({".ipynb", ".jsonl"})
_PIECE: Final = 2**20


def question_files(paths: Iterable[Path]) -> list[Path]:
    """Return files, and in place of each folder the files in it that may hold questions.

    Args:
        paths: files and folders.

    Raises:
        InputError: there is no file of that name, or a folder holds none.
    """
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} is not there.")
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(file for file in path.rglob("*") if _is_shown(file.relative_to(path)))
        if not inside:
            raise InputError(f"{path} holds no notebook, no cassette and no file of a map.")
        files += inside
    return list(dict.fromkeys(files))


def _is_shown(path: Path) -> bool:
    """Return whether a file in a folder may hold questions."""
    is_hidden = any(part.startswith(".") for part in path.parts)
    return path.suffix.lower() in _SUFFIXES and not is_hidden


def kind_of_file(path: Path) -> Kind:
    """Return the kind of a file, by its name and its beginning.

    Args:
        path: the file.

    Raises:
        InputError: it cannot be read.
    """
    if path.suffix.lower() == ".ipynb":
        return "notebook"
    try:
        with open_file(path) as file:
            return "map" if file.read(len(BEGINNING)) == BEGINNING else "cassette"
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_why(error)}.") from None


def read_source(path: Path, *, audited: bool = True) -> Source:
    """Return the questions of a file.

    Args:
        path: a notebook, a cassette, or the file of a map.
        audited: whether the faults that an audit sees are among the problems.

    Raises:
        InputError: it cannot be read, or is none of these.
    """
    source = Source(str(path), kind_of_file(path))
    try:
        source.sha256, source.size = _content_digest(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_why(error)}.") from None
    if source.kind == "map":
        add_map(path, source)
    elif source.kind == "cassette":
        interactions = CassetteFile(path).read_interactions()
        source.asked = from_interactions(interactions, source.path)
    else:
        add_notebook(notebook.read_notebook(path), source)
    if audited and source.kind != "map":
        source.problems += [line for audit in audit_all([path]) for line in audit.problems]
    return source


def _why(error: Exception) -> str:
    """Return the reason why a file cannot be read."""
    return getattr(error, "strerror", None) or "this is not the name of a file"


def _content_digest(path: Path) -> tuple[str, int]:
    """Return the digest of a file's content, and its size."""
    hashed = hashlib.sha256()
    size = 0
    with open_file(path) as file:
        while piece := file.read(_PIECE):
            hashed.update(piece)
            size += len(piece)
    return hashed.hexdigest(), size
