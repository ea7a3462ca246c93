"""``%chat_methods``: how a model was used, for a paper."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Final

from chatmagic.conversation.options import Option
from chatmagic.errors import InputError
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.safe_text import unlinked


def _methods(kernel: Kernel, given: Arguments) -> None:
    """Show how a model was used, for a paper: a paragraph, a log and an appendix.

    ``%chat_methods FILE …`` reads notebooks, cassettes, files of maps and reviews, and folders of
    them; ``%chat_methods`` alone reads this kernel's conversation. No model is asked. What only a
    person knows is a marked blank. In a terminal ``chatmagic methods`` writes the same.
    """
    # Loads the readers of all files, which a first question does without.
    from chatmagic.study import methods, study_files  # noqa: PLC0415

    if given.words:
        study = study_files.read_study(_paths(given))
    else:
        study = study_files.study_of_conversation(kernel.session.conversation)
    form: methods.Form = "plain" if given.options.get("--form") else "worldbank"
    if "--json" in given.options:
        print(unlinked(json.dumps(methods.report_json(study, form), indent=1)))
    else:
        print(unlinked(methods.report(study, form).rstrip("\n")))


def _paths(given: Arguments) -> list[Path]:
    """Return the files that a line names; a name with blanks may stand without quotes alone."""
    whole = Path(given.words).expanduser()
    if whole.exists():
        return [whole]
    try:
        return [Path(word).expanduser() for word in shlex.split(given.words)]
    except ValueError:
        raise InputError("A quotation mark is not closed. Nothing was sent.") from None


METHODS: Final = Command(
    "chat_methods",
    _methods,
    (
        Option("--form plain", "text without markup, in place of Markdown with tables"),
        Option("--json", "as JSON, with the whole texts"),
    ),
    forms=("[FILE] [--form] [--json]",),
)
