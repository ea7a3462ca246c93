"""Writers of a report: no text acts in Markdown, nor in plain text."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from hostile import CORPUS
from studies import ONE, study_of

from chatmagic.study import methods
from chatmagic.study.methods import report, report_json


def test_untrusted_text_cannot_act() -> None:
    """Neither in Markdown nor in plain text: it stands in code, or without signs."""
    for bad in (item.text for item in CORPUS if not item.long):
        told = replace(ONE, typed=bad, text=bad, model=bad, system=bad, error=bad)
        study = study_of(replace(told, settings={bad: bad}))
        for form in methods.FORMS:
            assert not set("\x1b\x07\x9b\u202e\u2066") & set(report(study, form)), bad
        outside = "\n".join(_outside(report(study)))
        assert not re.search(r"<(?!br>)|\]\(|!\[", outside), bad
        json.dumps(report_json(study))


def _outside(text: str) -> list[str]:
    """Return the lines outside of blocks of code."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`"))]
        if not fence and len(mark) >= 3:
            fence = mark
        elif fence and line == fence:
            fence = ""
        elif not fence:
            lines.append(line)
    return lines
