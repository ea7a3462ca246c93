"""The numbers of a map's run, and the sentences that tell them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from chatmagic.session.map.run_counts import RunCounts

NOTHING = RunCounts(
    file_name="q.jsonl",
    total=None,
    read=0,
    from_file=0,
    from_others=0,
    sent=0,
    answered=0,
    failed=0,
    lost=0,
    credits_left=None,
    waiting="",
)
MUCH = RunCounts(
    file_name="q.jsonl",
    total=2_000,
    read=1_500,
    from_file=1_000,
    from_others=5,
    sent=210,
    answered=200,
    failed=10,
    lost=1,
    credits_left=1,
    waiting="limit reached",
)


def test_the_bar() -> None:
    """What is not known, and what there is none of, is not shown."""
    assert (NOTHING.done, NOTHING.state) == (0, "")
    assert (MUCH.done, MUCH.state) == (1_215, "10 failed, 1 credit left, limit reached")


def test_the_handle() -> None:
    """Rows of the file count as answered, too."""
    assert NOTHING.summary == "0 rows answered, 0 failed; q.jsonl"
    assert MUCH.summary == "1,200 of 2,000 rows answered, 10 failed, 1 credit left; q.jsonl"


def test_the_end_by_an_error() -> None:
    """It says how to go on, and what was paid for in vain."""
    resumes = "kept in q.jsonl: the same call resumes."
    assert NOTHING.so_far == f"0 rows answered by this run, {resumes}"
    assert MUCH.so_far == (
        f"200 rows answered by this run, 10 failed, {resumes} 1 row lost whose reply had come."
    )


def test_the_lines_at_the_end() -> None:
    """The file's part is told with its day."""
    day = datetime(2026, 8, 29, 12, tzinfo=UTC)
    again = "Another file=… asks all rows anew."
    assert MUCH.from_file_line("m.jsonl", day) == (
        f"1,000 of 1,500 answers from m.jsonl, of 29 August 2026; 210 requests sent. {again}"
    )
    all_there = replace(MUCH, read=1_000, sent=0)
    assert all_there.from_file_line("m.jsonl and 1 file beside it", None) == (
        f"1,000 of 1,000 answers from m.jsonl and 1 file beside it; nothing was sent. {again}"
    )
    assert MUCH.failed_line("column error") == "1,490 of 1,500 answered, 10 failed: column error."
