"""``%chat_save`` and ``%chat_load``: a conversation to a file and back, by the file's suffix.

A file is written whole or not at all, and nothing is overwritten that somebody may miss.
What cannot be read leaves the conversation as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chatmagic import text as plain
from chatmagic._json import digest
from chatmagic.archive import archive, notebook_file, output, restore
from chatmagic.conversation import seal, template
from chatmagic.conversation.record import VERSION, NewerVersionError
from chatmagic.errors import InputError
from chatmagic.text import unlinked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.record import Record
    from chatmagic.conversation.turn import Turn
    from chatmagic.session.session import Session

FORMATS: Final = "FILE.json (all of it), FILE.ipynb (a notebook) or FILE.md (to read)"
FORCE: Final = "--force"
IN_VS_CODE: Final = "__vsc_ipynb_file__"
"""The variable in which VS Code tells a kernel the path of its notebook."""
IN_JUPYTER: Final = "JPY_SESSION_NAME"
"""The environment variable in which a Jupyter server tells it."""

_MARK: Final = re.compile(r"\n<!-- chatmagic ([0-9a-f]{64}) -->\n\Z")
_SHOWN: Final = 200


def save(line: str, session: Session, shell: InteractiveShell, *, keep_values: bool) -> None:
    """Do ``%chat_save FILE``.

    Args:
        line: what stands after the magic's name.
        session: whose conversation is saved.
        shell: the kernel's shell.
        keep_values: whether what ``{{ }}`` put in is written, too.

    Raises:
        InputError: it was not saved; nothing was overwritten.
    """
    path, force = _asked(line, "chat_save")
    if path is None:
        raise InputError(f"Say where to: %chat_save {FORMATS}.")
    content = _CONTENTS.get(path.suffix.lower())
    if content is None:
        raise InputError(f"%chat_save writes {FORMATS}, not {_name(path)}.")
    conversation = session.conversation
    if not len(conversation):
        raise InputError("There is no turn to save yet; nothing was written.")
    here = this_notebook(shell.user_ns, os.environ)
    if here is not None and path.exists() and path.samefile(here):
        raise InputError(f"{_name(path)} is this notebook; save the conversation beside it.")
    if not force:
        _spare(path)
    written = content(conversation, keep_values=keep_values)
    _write(path, written.encode("utf-8", "surrogatepass"))
    count = len(conversation)
    print(f"Saved {count:,} turn{'' if count == 1 else 's'} to {_name(path)}.")
    valued = [value.expression for turn in conversation for value in turn.values]
    if valued and (not keep_values or path.suffix.lower() == ".md"):
        shown = plain.one_line(", ".join(dict.fromkeys(valued)), _SHOWN)
        keeps = "" if keep_values else "; %config ChatMagics.keep_values = True keeps values"
        print(f"Values that were put in ({shown}) are not in it, only their expressions{keeps}.")


def load(line: str, session: Session, shell: InteractiveShell) -> None:
    """Do ``%chat_load [FILE]``; without a file, this notebook.

    Args:
        line: what stands after the magic's name.
        session: whose conversation is replaced.
        shell: the kernel's shell.

    Raises:
        InputError: it was not loaded; the conversation is as it was.
    """
    path, force = _asked(line, "chat_load")
    here = this_notebook(shell.user_ns, os.environ)
    path = path or here
    if path is None:
        raise InputError(
            "This front end does not tell which notebook this is.",
            hint="Save it, and give its name: %chat_load NOTEBOOK.ipynb.",
        )
    suffix = path.suffix.lower()
    if suffix == ".md":
        raise InputError("Markdown is for reading; %chat_load takes a .json or a .ipynb.")
    if suffix not in {".json", ".ipynb"}:
        raise InputError(f"%chat_load reads FILE.json or FILE.ipynb, not {_name(path)}.")
    if suffix == ".json" and force:
        raise InputError(f"%chat_load takes {FORCE} for a notebook alone.")
    if suffix == ".json":
        conversation, lines = _from_json(path)
    else:
        # VS Code knows a cell by another name than the one on disk.
        is_here = here is not None and path.exists() and path.samefile(here)
        by_id = is_here and IN_VS_CODE not in shell.user_ns
        conversation, lines = _from_notebook(path, by_id=by_id, changed=force)
    session.change(lambda current: current.load(conversation))
    print("\n".join(unlinked(plain.to_terminal(line)) for line in lines))


def this_notebook(variables: Mapping[str, Any], environ: Mapping[str, str]) -> Path | None:
    """Find out which notebook this kernel is of; ``None`` where the front end does not tell.

    Args:
        variables: the user's own, among which VS Code puts the path.
        environ: the environment, in which a Jupyter server puts it.
    """
    for told in (variables.get(IN_VS_CODE), environ.get(IN_JUPYTER)):
        if isinstance(told, str) and told.endswith(".ipynb"):
            # A server may tell it from its own folder; a kernel starts beside its notebook.
            for path in (Path(told), Path(Path(told).name)):
                with contextlib.suppress(OSError, ValueError):
                    if path.is_file():
                        return path
    return None


def _asked(line: str, magic: str) -> tuple[Path | None, bool]:
    """Read the line: a file's name, quoted or not, and ``--force`` before or after it."""
    words = line.strip()
    force = bool(re.match(rf"{FORCE}(\s|\Z)", words) or re.search(rf"\s{FORCE}\Z", words))
    if force:
        words = words.removeprefix(FORCE).removesuffix(FORCE).strip()
    if words.startswith("-"):
        raise InputError(f"%{magic} takes a file's name, not {plain.one_line(words, _SHOWN)}.")
    if len(words) > 1 and words[0] == words[-1] and words[0] in "'\"":
        words = words[1:-1]
    try:
        return (Path(words).expanduser() if words else None), force
    except RuntimeError:
        raise InputError(f"There is no home folder for {plain.one_line(words, _SHOWN)}.") from None


def _from_json(path: Path) -> tuple[Conversation, list[str]]:
    content = notebook_file.content_of(path)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    try:
        conversation = archive.load(value)
    except NewerVersionError as error:
        raise InputError(f"{_name(path)} was not loaded: {error}.") from None
    except ValueError as error:
        raise InputError(
            f"{_name(path)} was not loaded: {error}. The conversation is as it was."
        ) from None
    count = len(conversation)
    lines = [f"Loaded {count:,} turn{'' if count == 1 else 's'} from {_name(path)}."]
    for number, turn in enumerate(conversation, 1):
        if turn.missing:
            lines.append(f"turn {number}: {restore.named(turn)}: {restore.NOT_KEPT}")
    return conversation, lines


def _from_notebook(path: Path, *, by_id: bool, changed: bool) -> tuple[Conversation, list[str]]:
    read = notebook_file.read(path)
    restored = restore.restore(read, by_id=by_id, changed=changed)
    faults = [] if changed else [told for told in read.told if told.fault]
    insist = [f"%chat_load {_name(path)} {FORCE} takes that as it stands."] if faults else []
    if not restored.conversation.added:
        problems = [*restored.problems[:1], *insist] or [read.missing]
        raise InputError(
            f"{_name(path)} holds no turn of a conversation, so nothing was loaded.",
            hint=plain.one_line(" ".join(problems), _SHOWN) or None,
        )
    return restored.conversation, [*restore.summary(restored, read), *insist]


def _json(conversation: Conversation, *, keep_values: bool) -> str:
    dumped = archive.dump(conversation, keep_values=keep_values)
    return json.dumps(dumped, ensure_ascii=True, indent=1) + "\n"


def _ipynb(conversation: Conversation, *, keep_values: bool) -> str:
    records = archive.records_of(conversation, keep_values=keep_values)
    cells = [notebook_file.Cell("chat-0", "%load_ext chatmagic")]
    for number, turn in enumerate(conversation, 1):
        record = records[turn.number]
        cells.append(
            notebook_file.Cell(
                f"chat-{number}-{turn.digest[:8]}",
                _source(turn, record),
                *output.of(turn.reply, record),
            )
        )
    return notebook_file.written(cells)


def _markdown(conversation: Conversation, *, keep_values: bool) -> str:  # noqa: ARG001 - it holds none
    text = archive.markdown(conversation)
    return f"{text}\n<!-- chatmagic {digest(text)} -->\n"


_CONTENTS: Final = {".json": _json, ".ipynb": _ipynb, ".md": _markdown}


def _source(turn: Turn, record: Record) -> str:
    """Give the cell that asks a turn's question again."""
    options = []
    if turn.temperature is not None:
        options.append(f"-t {turn.temperature}")
    if turn.max_tokens is not None:
        options.append(f"-n {turn.max_tokens}")
    if turn.last is not None:
        options.append(f"--last {turn.last}")
    if not turn.stream:
        options.append("--no-stream")
    if not record.values and template.OPEN in record.prompt:
        options.append("--raw")
    # A cell's last line end is not part of its prompt.
    end = "\n" if record.prompt.endswith("\n") else ""
    return f"{' '.join(['%%chat', *options])}\n{record.prompt}{end}"


def _spare(path: Path) -> None:
    """Refuse to overwrite what is not as we wrote it."""
    if not path.exists():
        return
    content = notebook_file.content_of(path)
    suffix = path.suffix.lower()
    if suffix == ".ipynb":
        ours = notebook_file.is_untouched(content)
    elif suffix == ".md":
        ours = _is_markdown(content)
    else:
        ours = _is_archive(content)
    if not ours:
        raise InputError(
            f"{_name(path)} exists, and is not as %chat_save wrote it; it was left alone.",
            hint=f"Take another name, or overwrite it by {FORCE}.",
        )


def _is_markdown(content: bytes) -> bool:
    try:
        text = content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    seal = _MARK.search(text)
    return seal is not None and digest(text[: seal.start()]) == seal[1]


def _is_archive(content: bytes) -> bool:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False
    known = {"chatmagic": archive.KIND, "version": VERSION}
    return (
        isinstance(value, dict)
        and known.items() <= value.items()
        and seal.check(value, {}) == "sealed"
    )


def _write(path: Path, content: bytes) -> None:
    """Put a file in place in one step, with the rights that a new file has here."""
    target = path.resolve()
    name = None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode & 0o777)
        Path(name).replace(target)
    except OSError as error:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        raise InputError(f"{_name(path)} was not written: {error.strerror}.") from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _name(path: Path) -> str:
    return plain.one_line(str(path), _SHOWN)
