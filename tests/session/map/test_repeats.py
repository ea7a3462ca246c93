"""Rows that are asked several times: the most frequent answer, its share, and ties."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from libraries import library
from row_service import RowService

import chatmagic
from chatmagic.errors import InputError
from chatmagic.session.map.repeats import RepeatedReply, together
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.session import Session

KEY = "ab" * 32
SCHEMA = {"properties": {"label": {"type": "string"}}}


class Flipping(RowService):
    """A service whose answers to one prompt are those of a list, in turn."""

    def __init__(self, *answers: str) -> None:
        """Begin with the first one."""
        super().__init__()
        rounds = itertools.cycle(answers)
        self.answers = lambda _: next(rounds)


@pytest.fixture
def service() -> Flipping:
    """Give a service that answers good three times of five."""
    return Flipping("good", "bad", "good", "bad", " good\n")


@pytest.fixture
def asking(
    service: RowService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """Give a session that asks it, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    with chatmagic.Client(transport=service) as client:
        yield Session(client)


def replies(*texts: str | None) -> list[RowReply]:
    """Give replies with some texts; ``None`` is one that failed."""
    return [
        RowReply(row=0, key=KEY, request=KEY, occurrence=1, text=text, error=None if text else "No")
        for text in texts
    ]


def test_five_then_seven_ask_the_missing_two(asking: Session, service: RowService) -> None:
    """The result is the most frequent answer, its share, and all replies."""
    (reply,) = asking.map("{{ it }}", ["a"], repeats=5, yes=True, workers=1)
    assert isinstance(reply, RepeatedReply)
    assert (reply.text, reply.agree, reply.error, reply.tied) == ("good", 0.6, None, ())
    assert reply.answers == ["good", "bad", "good", "bad", "good"]
    assert [each.text for each in reply.replies][-1] == " good\n"
    assert len(service.bodies) == 5
    more: Any
    (more,) = asking.map("{{ it }}", ["a"], repeats=7, yes=True, workers=1)
    assert (len(service.bodies), more.answers[:5]) == (7, reply.answers)
    assert len(more.answers) == 7
    # Equal rows have replies of their own, and a map without repeats the first of them.
    asking.map("{{ it }}", ["a", "a"], repeats=5, yes=True, workers=1)
    assert len(service.bodies) == 10
    assert asking.map("{{ it }}", ["a"])[0].text == "good"


def test_columns_of_a_table(asking: Session, service: RowService) -> None:
    """And of a Series, which becomes a table."""
    pandas, polars = library("pandas"), library("polars")
    frame = pandas.DataFrame({"t": ["a", "b"]}, index=[7, 5])
    made = asking.map("{{ t }}", frame, file="q.jsonl", repeats=5, yes=True, workers=1)
    assert list(made.columns) == ["t", "reply", "agree", "replies", "error"]
    assert list(made["agree"]) == [0.6, 0.6]
    assert made["replies"][7] == ["good", "bad", "good", "bad", "good"]
    assert len(service.bodies) == 10
    made = asking.map("{{ it }}", frame["t"], file="q.jsonl", repeats=5, column="label")
    assert list(made.columns) == ["label", "label_agree", "label_replies", "label_error"]
    assert list(made.index) == [7, 5]
    made = asking.map("{{ it }}", polars.Series(["a"]), file="q.jsonl", repeats=5)
    assert made["replies"].to_list() == [["good", "bad", "good", "bad", "good"]]
    found = asking.map("{{ it }}", ["a"], file="q.jsonl", repeats=5).to_dataframe()
    assert list(found["agree"]) == [0.6]


def test_values_are_compared_and_fields_are_of_the_most_frequent(tmp_path: Path) -> None:
    """Whatever the order of the fields in the text."""
    service = Flipping('{"label": "a", "n": 1}', '{"n": 1, "label": "a"}', '{"label": "b", "n": 1}')
    how: dict[str, Any] = {"schema": SCHEMA, "repeats": 3, "yes": True, "workers": 1}
    how["file"] = tmp_path / "q.jsonl"
    with chatmagic.Client(transport=service) as client:
        session = Session(client)
        frame = library("pandas").DataFrame({"t": ["a"]})
        made = session.map("{{ t }}", frame, columns=True, **how)
        assert list(made.columns) == ["t", "reply", "label", "agree", "replies", "error"]
        assert made["label"][0] == "a"
        assert made["agree"][0] == pytest.approx(2 / 3)
        assert [value["label"] for value in made["replies"][0]] == ["a", "a", "b"]
        taken: dict[str, Any] = {"properties": {"agree": {}}}
        with pytest.raises(InputError, match="none of them reply, replies, agree or error"):
            session.map("{{ t }}", frame, schema=taken, columns=True, repeats=2)


def test_a_tie_is_said(asking: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not broken: there is no most frequent answer."""
    told: list[str] = []
    monkeypatch.setattr(asking.environment, "notify", told.append)
    frame = library("pandas").DataFrame({"t": ["a"]})
    made = asking.map("{{ t }}", frame, repeats=4, yes=True, workers=1)
    assert made["reply"].isna().all()
    assert made["error"][0] == "A tie of 2 answers, 2 times each: good, bad."
    assert made["agree"][0] == 0.5
    assert told == ["1 row without a most frequent answer: a tie; see the column error."]


def test_replies_that_failed_are_left_out_of_the_share() -> None:
    """Their number is in the error, and the list has None in their places."""
    (some,) = together(replies("a", None, "a", "b"), 4)
    assert (some.text, some.agree, some.answers) == ("a", 2 / 3, ["a", None, "a", "b"])
    assert some.error == "1 of 4 failed: No"
    (none,) = together(replies(None, None), 2)
    assert (none.text, none.agree, none.tied, none.error) == (None, None, (), "2 of 2 failed: No")
    (tied,) = together(replies("a", "b", None), 3)
    assert (tied.text, tied.tied) == (None, ("a", "b"))
    assert tied.error == "1 of 3 failed: No. A tie of 2 answers, 1 times each: a, b."
    assert "answer='a', agree=0.667, replies=4" in repr(some)


def test_one_is_not_true() -> None:
    """Though Python says so."""
    pair = [
        RowReply(row=0, key=KEY, request=KEY, occurrence=1, text="x", value=value)
        for value in (1, True)
    ]
    assert together(pair, 2)[0].tied == (1, True)


def test_the_quote_counts_all_of_them(asking: Session, service: RowService) -> None:
    """Also where not all rows are read, and where some are answered."""
    asking.map("{{ it }}", ["a"], repeats=3, yes=True, file="q.jsonl")
    with pytest.raises(InputError) as caught:
        asking.map("{{ it }}", ["a", "bc"], repeats=5, file="q.jsonl")
    assert "2 rows, 5 times each, 7 to ask; answers go to q.jsonl. About" in str(caught.value)
    rows = [f"{number:03}" for number in range(143)]
    with pytest.raises(InputError) as caught:
        asking.map("{{ it }}", rows, repeats=7)
    assert "143 rows, 7 times each, up to 1,001 to ask" in str(caught.value)
    assert len(service.bodies) == 3


@pytest.mark.parametrize("repeats", [0, 1.5, True])
def test_no_number_of_repeats(asking: Session, repeats: Any) -> None:
    """Nothing is sent."""
    with pytest.raises(InputError, match=r"repeats is a number from 1 on\. Nothing was sent\."):
        asking.map("{{ it }}", ["a"], repeats=repeats)
