"""Reviews of rows, in the folder of a test."""

from __future__ import annotations

from typing import Any

from chatmagic.study.review import Review

LABELS = ("good", "bad", "-1")


def rows(count: int = 20) -> list[dict[str, Any]]:
    """Return rows with a text and the model's columns."""
    return [
        {"text": f"=text {n}", "reply": "good", "agree": 1.0, "replies": ["good"]}
        for n in range(count)
    ]


def review(count: int = 20, **options: Any) -> Review:
    """Return a review of five of these rows."""
    return Review(rows(count), LABELS, **{"n": 5, "seed": 1, "file": "r.jsonl", **options})
