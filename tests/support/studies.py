"""Files of reviews and agreements, which a report of methods reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chatmagic.study.asked import Asked, Source
from chatmagic.study.report_fields import log_fields
from chatmagic.study.study_files import Study

DRAWN = {"review": 1, "seed": 7, "n": 50, "rows": 300, "labels": ["a"], "show": ["t"], "at": ""}
AGREEMENT = {
    "level": "nominal",
    "measures": [
        {
            "of": "",
            "name": "pairs",
            "value": 0.5,
            "low": 0.4,
            "high": 0.6,
            "n": 9,
            "interval": "BCa",
        },
        {"of": "m", "name": "alpha", "value": None, "low": None, "high": None, "n": 0},
    ],
    "confusion": [],
    "notes": ["All answers are the same."],
}


def label(key: str, given: object, name: str = "Ann", **more: Any) -> dict[str, Any]:
    """Give the line of a label."""
    at = "2026-02-03T10:00:00Z"
    return {
        "key": key,
        "reviewer": name,
        "label": given,
        "note": "",
        "seen": False,
        "at": at,
        **more,
    }


def written(path: Path, *lines: Any) -> Path:
    """Write lines of JSON; a text is written as it is."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def study_of(*asked: Asked) -> Study:
    """Return the study of questions of one file."""
    source = Source("paper.ipynb", "notebook", "ab" * 32, 10, [*asked])
    return Study([source], asked=[*asked])


def field(study: Study, name: str) -> str:
    """Return the value of a field of its report."""
    return "\n".join(next(item.lines for item in log_fields(study) if item.name == name))


ONE = Asked(file="paper.ipynb", kind="notebook", place=3, typed="QUESTION", text="ANSWER")
"""A question of a notebook."""
