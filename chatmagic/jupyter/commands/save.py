"""``%chat_save`` and ``%chat_load``: a conversation to a file and back, by the file's suffix.

A file is written whole or not at all. A file that was changed since ``%chat_save`` wrote it is not
overwritten. If a file cannot be read, the conversation stays as it is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from chatmagic._files import replace_content
from chatmagic._json import digest
from chatmagic.archive import conversation_file, notebook, output, restore
from chatmagic.conversation import cell_magics, magic_line, template
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.options import Option
from chatmagic.conversation.state import Change
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError
from chatmagic.jupyter.cells.cells_above import IN_VS_CODE, this_notebook
from chatmagic.jupyter.commands.command import Arguments, Command, path_from_words
from chatmagic.jupyter.kernel import Kernel
from chatmagic.safe_text import counted, one_line, to_terminal, unlinked

FORMATS: Final = "FILE.json (all of it), FILE.ipynb (a notebook) or FILE.md (to read)"
FORCE: Final = "--force"
REASONING: Final = "--reasoning"
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class _Options:
    """What a file keeps beside the turns.

    Args:
        keep_values: whether it keeps the values of ``{{ }}`` themselves.
        reasoning: whether a text to read has the model's thoughts.
    """

    keep_values: bool
    reasoning: bool


def _save(kernel: Kernel, given: Arguments) -> None:
    """Save the conversation, by the file's suffix, whole or not at all.

    ``%chat_save FILE.json`` keeps all of it, ``FILE.ipynb`` makes a notebook of it, ``FILE.md`` a
    text to read. A file that was changed since it was written is not overwritten. For the values of
    ``{{ }}`` only the expression is saved, except with ``%config ChatMagics.keep_values = True``.
    A model's thoughts are in each file but FILE.md, which has them with ``--reasoning``.
    """
    path = path_from_words(given.words)
    form = _FORMS.get(path.suffix.lower())
    if form is None:
        raise InputError(f"%chat_save writes {FORMATS}, not {_name(path)}.")
    conversation = kernel.session.conversation
    if not len(conversation):
        raise InputError("There is no turn to save yet; nothing was written.")
    if _is_this_notebook(kernel, path):
        raise InputError(f"{_name(path)} is this notebook; save the conversation beside it.")
    write, is_as_written = form
    if FORCE not in given.options and path.exists():
        _refuse_changed(path, is_as_written)
    options = _Options(kernel.settings.keep_values, REASONING in given.options)
    text = write(conversation, options)
    try:
        replace_content(path, text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise InputError(f"{_name(path)} was not written: {error.strerror}.") from None
    print(f"Saved {counted(len(conversation), 'turn')} to {_name(path)}.")
    if not options.keep_values and _has_kept_values(conversation):
        print(
            "Values that were put in are not in it, only their expressions; "
            "%config ChatMagics.keep_values = True keeps values."
        )


def _is_this_notebook(kernel: Kernel, path: Path) -> bool:
    """Return whether a file is the notebook of this kernel, as far as its front end reports it."""
    own_file = this_notebook(kernel.shell.user_ns, os.environ)
    return own_file is not None and path.exists() and path.samefile(own_file)


def _refuse_changed(path: Path, is_as_written: Callable[[bytes], bool]) -> None:
    """Raise an error for a file that was changed since it was written, or is another program's."""
    if not is_as_written(notebook.notebook_content(path)):
        raise InputError(
            f"{_name(path)} exists, and is not as %chat_save wrote it; it was left alone.",
            hint=f"Use another name, or {FORCE} to overwrite it.",
        )


def _has_kept_values(conversation: Conversation) -> bool:
    """Return whether a prompt has a value that a file without values lacks."""
    values = [value.bare for turn in conversation for value in turn.values]
    return any(template.with_known_text(value) == value for value in values)


def _load(kernel: Kernel, given: Arguments) -> None:
    """Load a conversation in place of this one; nothing is sent, ``%chat_undo`` undoes it.

    ``%chat_load FILE.json`` loads a file of ``%chat_save``, ``%chat_load FILE.ipynb`` the outputs
    of a notebook. ``%chat_load`` alone loads this notebook, as last saved, if the front end reports
    its file. A turn that was changed since it was asked is left out.
    """
    own_file = this_notebook(kernel.shell.user_ns, os.environ)
    force = FORCE in given.options
    path = path_from_words(given.words) if given.words else own_file
    if path is None:
        raise given.command.refusal(
            "This front end does not report the notebook's file, or it was renamed since.",
            "Save it, and give its name: %chat_load NOTEBOOK.ipynb.",
        )
    suffix = path.suffix.lower()
    if suffix not in {".json", ".ipynb"}:
        raise InputError(f"%chat_load reads FILE.json or FILE.ipynb, not {_name(path)}.")
    # In VS Code a cell has another name than in the file.
    by_id = _is_this_notebook(kernel, path) and IN_VS_CODE not in kernel.shell.user_ns
    lines: list[str] = []

    def load(current: Conversation) -> Change:
        """Return the change of the conversation, and keep the lines to print."""
        if suffix == ".json":
            loaded, summary = _from_json(path, current.added)
        else:
            loaded, summary = _from_notebook(path, by_id=by_id, changed=force, after=current.added)
        lines.extend(summary)
        return current.load(loaded)

    kernel.session.changes.make(load)
    print("\n".join(unlinked(to_terminal(line)) for line in lines))


def _from_json(path: Path, after: int) -> tuple[Conversation, list[str]]:
    """Return the conversation of a JSON archive, and the lines to print."""
    try:
        conversation = conversation_file.loads(notebook.notebook_content(path), after)
    except ValueError as error:
        raise InputError(
            f"{_name(path)} was not loaded: {str(error).rstrip('.')}. "
            "The conversation is as it was."
        ) from None
    lines = [f"Loaded {counted(len(conversation), 'turn')} from {_name(path)}."]
    for number, turn in enumerate(conversation, 1):
        if turn.missing:
            lines.append(f"turn {number}: {restore.named(turn)}: {restore.NOT_KEPT}")
    return conversation, [*lines, *restore.speaking(conversation)]


def _from_notebook(
    path: Path, *, by_id: bool, changed: bool, after: int
) -> tuple[Conversation, list[str]]:
    """Return the conversation in a notebook's outputs, and the lines to print.

    Args:
        path: the notebook.
        by_id: as for :func:`restore.restore`.
        changed: as for :func:`restore.restore`.
        after: as for :func:`restore.restore`.
    """
    read = notebook.read_notebook(path)
    restored = restore.restore(read, by_id=by_id, changed=changed, after=after)
    faults = [] if changed else [saved for saved in read.outputs if saved.fault]
    insist = [f"%chat_load {_name(path)} {FORCE} loads that as it is."] if faults else []
    if not restored.numbers:
        problems = [*restored.problems[:1], *insist] or [read.missing]
        raise InputError(
            f"{_name(path)} holds no turn of a conversation, so nothing was loaded.",
            hint=one_line(" ".join(problems), _SHOWN) or None,
        )
    return restored.conversation, [*restore.summary(restored, read), *insist]


def _ipynb(conversation: Conversation, options: _Options) -> str:
    """Return a conversation as a notebook: a cell for each turn and each steering item."""
    records = conversation_file.records_of(conversation, keep_values=options.keep_values)
    cells: list[tuple[Any, ...]] = [("chat-0", "%load_ext chatmagic", None)]
    items = [item for _, slot in conversation.slots for item in slot]
    for number, item in enumerate(items, 1):
        name = item.digest if isinstance(item, Turn) else digest(item.facts)
        id = f"chat-{number}-{name[:8]}"
        if not isinstance(item, Turn):
            # An item that names a missing turn has no source.
            if item.source:
                cells.append((id, item.source, output.of_steering(item)))
            continue
        record = records[item.number]
        flags = magic_line.typed_options(item)
        has_values = any(value.kind is None for value in record.values)
        source = cell_magics.source_for(record.prompt, *flags, has_values=has_values)
        cells.append((id, source, output.of_turn(item.reply, record)))
    return notebook.notebook_json(cells)


def _markdown(conversation: Conversation, options: _Options) -> str:
    """Return a conversation as Markdown, with a digest by which an edit is seen."""
    return _sealed(conversation_file.markdown(conversation, reasoning=options.reasoning))


def _json(conversation: Conversation, options: _Options) -> str:
    """Return a conversation as JSON."""
    return conversation_file.dumps(conversation, keep_values=options.keep_values)


def _sealed(text: str) -> str:
    """Return Markdown with its digest at the end."""
    return f"{text}\n<!-- chatmagic {digest(text)} -->\n"


def _is_markdown(content: bytes) -> bool:
    """Return whether a file is Markdown of ours, as it was written."""
    text = content.decode("utf-8", "replace")
    return text == _sealed(text.rpartition("\n<!-- chatmagic ")[0])


def _is_archive(content: bytes) -> bool:
    """Return whether a file is JSON of ours."""
    with contextlib.suppress(ValueError):
        conversation_file.loads(content)
        return True
    return False


_Write: TypeAlias = Callable[[Conversation, _Options], str]
_FORMS: Final[Mapping[str, tuple[_Write, Callable[[bytes], bool]]]] = {
    ".json": (_json, _is_archive),
    ".ipynb": (_ipynb, notebook.is_untouched),
    ".md": (_markdown, _is_markdown),
}
"""Functions for saving, by a file's suffix, and for checking that the file is unchanged."""


def _name(path: Path) -> str:
    """Return a file's name for a message."""
    return one_line(str(path), _SHOWN)


SAVE: Final = Command(
    "chat_save",
    _save,
    (Option(FORCE, "overwrite any file"), Option(REASONING, "write thoughts into FILE.md, too")),
    forms=("FILE [--force] [--reasoning]",),
)
LOAD: Final = Command(
    "chat_load",
    _load,
    (Option(FORCE, "load turns that were changed, too"),),
    forms=("[FILE] [--force]",),
)
