"""The asker of rows: what is sent again, what fails, and what ends the map."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import (
    FakeClock,
    Refusing,
    Rig,
    limited,
    raising,
)

from chatmagic.client.halt import Halt
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    CutOffError,
    NotUnderstoodError,
    RateLimitError,
    ReplyFormatError,
    RequestRejectedError,
    RequestTimeoutError,
    ServiceError,
)
from chatmagic.models import Reply
from chatmagic.session.map import row_asker
from chatmagic.session.map.pace import Pace


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Give a maker of jobs with a file."""
    return Rig(tmp_path / "job.jsonl")


def test_ten_failures_of_the_service_in_succession_end_it(rig: Rig) -> None:
    """A row that was not sent does not count, and one that succeeds begins anew."""
    rows = [*map(str, range(9)), "ok", " ", *map(str, range(9, 30))]
    answer = raising(lambda: ServiceError("Down."), {str(n) for n in range(30)})
    with pytest.raises(ServiceError, match="The map ended, as 10 rows in succession failed"):
        rig.job(rows, answer, workers=1).run(is_watched=False)
    assert len(rig.asking.asked) == 20
    assert len(rig.kept()) == 21


@pytest.mark.parametrize(
    "error",
    [
        ReplyFormatError("The reply is no JSON.", reply=Reply("x")),
        RequestRejectedError("Filtered.", status=400),
        ServiceError("Filtered.", status=200),
        CutOffError("Filtered.", reply=Reply("x")),
    ],
)
def test_bad_rows_never_block_good_ones(rig: Rig, error: ChatError) -> None:
    """A row's own failure does not count, and rows that failed are asked last."""
    rows = [*map(str, range(20)), *(f"bad {n}" for n in range(12)), *map(str, range(20, 120))]
    bad = {row for row in rows if row.startswith("bad")}
    job = rig.job(rows, raising(lambda: error, bad), workers=1)
    job.run(is_watched=False)
    assert (job.answered, job.failed) == (120, 12)


def blocked() -> NotUnderstoodError:
    """Give the error of an answer in JSON that has no reply, as for a content that is refused."""
    error = NotUnderstoodError("No reply.", status=200)
    error.holds_json = True
    return error


def test_json_without_a_reply_counts_only_before_an_answer(rig: Rig) -> None:
    """Then the service is there, in this run or in the next one; a wrong address ends it."""
    rows = ["good", *(f"bad {n}" for n in range(12)), "last"]
    for asked in (14, 12):
        rig.asking.asked.clear()
        job = rig.job(rows, raising(blocked, rows[1:13]), workers=1)
        job.run(is_watched=False)
        assert len(rig.asking.asked) == asked
    assert job.failed == 12
    with pytest.raises(NotUnderstoodError, match="10 rows in succession"):
        rig.job(rows[1:13], raising(blocked, rows[1:13]), workers=1).run(is_watched=False)


def test_a_row_that_alone_is_refused_fails_in_the_end(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overloaded service that answers all the others is no limit."""
    monkeypatch.setattr(Pace, "refused", lambda *_: True)  # as if others were answered meanwhile
    busy = Refusing(lambda: ServiceError("Busy.", status=503), a=10**6)
    job = rig.job(["a", "b"], busy, workers=1)
    job.run(is_watched=False)
    assert (job.answered, job.failed) == (1, 1)
    assert rig.asking.asked == [*"aab", *"a" * 9]


def test_a_repeat_that_was_put_off_keeps_its_requests(rig: Rig) -> None:
    """Its row has the number of the other repeats."""
    rig.clock = FakeClock()
    job = rig.job(["a"], Refusing(lambda: limited(1), a=3), workers=1)
    (first,) = job.to_ask
    asker = job.pool.asker
    with job.sender.connect() as client:
        for row in (first, first._replace(occurrence=2, full_key=b"another")):
            assert asker.line(client, row) is None
        lines = [asker.line(client, row) for row in asker.take_put_off()]
    job.file.close()
    assert [line.requests for line in lines if line is not None] == [3, 2]


def test_a_row_that_is_always_refused_never_blocks_others(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is larger than a limit gives way to all others, as far as rows can wait."""
    rig.clock = FakeClock()
    rows = ["good", *(f"large {n}" for n in range(5)), *map(str, range(50))]
    large = raising(lambda: RateLimitError("Large.", status=429), rows[1:6])
    with pytest.raises(RateLimitError, match=r"for a minute\. .* 51 rows answered"):
        rig.job(rows, large, workers=2).run(is_watched=False)
    assert [reply.error for reply in rig.kept().values()] == [None] * 51
    monkeypatch.setattr(row_asker, "MOST_PUT_OFF", 0)
    rig.asking.asked.clear()
    with pytest.raises(RateLimitError, match="for a minute"):
        rig.job([*rows, "last"], large, workers=2).run(is_watched=False)
    assert "last" not in rig.asking.asked


@pytest.mark.parametrize(
    "error",
    [
        ServiceError("Broken.", status=500),
        ServiceError("Broken.", status=502),
        ServiceError("Closed."),
        CutOffError("Cut."),
        RequestTimeoutError("Late.", which="first_byte"),
    ],
)
@pytest.mark.parametrize("retries", [0, 2])
def test_what_may_have_been_paid_is_asked_again_as_often_as_is_said(
    rig: Rig, error: ChatError, retries: int
) -> None:
    """And not at all by itself."""
    rig.clock = FakeClock()
    job = rig.job(list("abc"), Refusing(lambda: error, b=2), workers=1, retries=retries)
    job.run(is_watched=False)
    assert rig.asking.asked.count("b") == 1 + retries
    assert job.failed == (0 if retries else 1)


def test_refusals_do_not_use_up_the_retries(rig: Rig) -> None:
    """They are no failures."""
    rig.clock = FakeClock()
    errors = [ServiceError("Broken.", status=500), *[RateLimitError("Wait.")] * 3]
    refusing = Refusing(errors.pop, a=4)
    job = rig.job(["a"], refusing, workers=1, retries=1)
    job.run(is_watched=False)
    assert job.answered == 1


def test_a_row_that_is_begun_as_all_are_cut_off_is_cut_off_too(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its halt was not known to what stopped the others."""

    def answer(prompt: str, halt: Halt) -> str:
        assert halt.reason is not None
        raise ChatInterrupted("Interrupted.", reply=Reply(prompt, state="interrupted"))

    job = rig.job(["a", "b"], answer, workers=1)

    def make_room(_: int) -> None:
        job.interrupt()
        job.interrupt()

    monkeypatch.setattr(job.file, "make_room", make_room)
    with pytest.raises(ChatInterrupted, match="Stopped"):
        job.run(is_watched=False)
    assert [reply.error for reply in rig.kept().values()] == ["Interrupted."]
