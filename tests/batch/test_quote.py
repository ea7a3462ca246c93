"""The quote of a job: one line with rows, tokens and credits, and what is not known of them."""

from __future__ import annotations

import pytest

from chatmagic.batch.quote import Quote


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        (
            Quote(file="f.jsonl", rows=1000, to_ask=985, failed=3, tokens=4500, cheapest=1,
                  dearest=1, left=1200),
            ("1,000 rows, 985 to ask (3 of them failed before and come first); answers go to "
            "f.jsonl. About 4,500 tokens of prompts and 985 credits, as requests took lately. "
            "1,200 credits left; others may share them."),
        ),
        (
            Quote(file="f.jsonl", rows=2, to_ask=2, characters=90, cheapest=1, dearest=3),
            (
                "2 rows, 2 to ask; answers go to f.jsonl. 90 characters of prompts and 2 to 6 "
                "credits, as requests took lately."
            ),
        ),
        (
            Quote(file="f.jsonl", rows=1, to_ask=1, unsent=1, problem="Row 0 is bad."),
            ("1 row, 0 to ask; answers go to f.jsonl. 0 characters of prompts; what they take in "
            "credits is not known before the first answers. 1 row will not be sent: Row 0 is bad."),
        ),
        (
            Quote(file="f.jsonl", cheapest=1, dearest=2, left=7),
            ("The rows are read as they are needed, so how many there are is not known. Answers go "
            "to f.jsonl. A request took 1 to 2 credits lately. 7 credits left; others may share "
            "them."),
        ),
        (
            Quote(file="f.jsonl"),
            ("The rows are read as they are needed, so how many there are is not known. Answers go "
            "to f.jsonl."),
        ),
    ],
)  # fmt: skip
def test_the_words(quote: Quote, words: str) -> None:
    """What is not known is said, never guessed."""
    assert str(quote) == words
