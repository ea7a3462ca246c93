"""Many prompts of one template: quoted, asked beside the conversation, kept, and gone on with."""

from __future__ import annotations

import builtins
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import Mock

import pytest
from environments import GivenEnvironment, variables
from jobs import PATIENCE, Rig, Slow, capitals, full_disk, raising
from libraries import library
from logged import Emulator
from row_service import RowService
from shells import KEY, Shell

import chatmagic
from chatmagic.cassette.cassette import CassetteConfig
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    InputError,
    NotRecordedError,
    RateLimitError,
    ServiceError,
)
from chatmagic.models import Reply
from chatmagic.session.map import Job
from chatmagic.session.session import Session


@dataclass
class Person:
    """What a reply is to be."""

    name: str
    age: int


@pytest.fixture
def service() -> RowService:
    """Give a service that counts."""
    return RowService()


@pytest.fixture
def asking(
    service: RowService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """Give a session that asks it, in a folder of its own, where nobody answers a question."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "input", refusing(EOFError()))
    with chatmagic.Client(transport=service) as client:
        yield Session(client)


def refusing(error: BaseException) -> Callable[[str], str]:
    """Give an ``input`` that cannot be answered."""

    def answer(question: str) -> str:
        del question
        raise error

    return answer


def files() -> list[str]:
    """Give the names of the files in the working folder."""
    return sorted(path.name for path in Path.cwd().iterdir())


def test_a_list(asking: Session, service: RowService) -> None:
    """The replies come in the rows' order; the conversation is as before."""
    asking.ask("before")
    replies = asking.map("Say {{ it }} twice.", ["a", "b"], yes=True)
    assert [reply.text for reply in replies] == ["SAY A TWICE.", "SAY B TWICE."]
    assert [(reply.row, reply.error) for reply in replies] == [(0, None), (1, None)]
    assert replies[0].usage.total_tokens == 3
    assert len(asking.conversation.turns) == 1
    assert [len(body["messages"]) for body in service.bodies] == [1, 1, 1]


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_table(asking: Session, service: RowService, name: str) -> None:
    """It comes back as it was, with two columns more."""
    table = library(name).DataFrame({"n": [1, 2], "t": ["a", "b"]})
    made = asking.map("{{ t }}-{{ n }}: {{ it }}", table, yes=True)
    assert type(made) is type(table)
    assert list(made.columns) == ["n", "t", "reply", "error"]
    assert sorted(service.prompts) == ["a-1: {'n': 1, 't': 'a'}", "b-2: {'n': 2, 't': 'b'}"]
    assert next(iter(made["reply"])) == "A-1: {'N': 1, 'T': 'A'}"
    with pytest.raises(InputError, match="have a column reply already"):
        asking.map("{{ t }}", made, yes=True)


def test_options_are_those_of_an_ask(asking: Session, service: RowService) -> None:
    """The body is the interface's own."""
    options: dict[str, Any] = {"max_tokens": 5, "temperature": 0.5, "stream": False}
    asking.map("{{ it }}", ["a"], yes=True, **options)
    (body,) = service.bodies
    assert body == {"messages": [{"role": "user", "content": "a"}], **options}


def test_a_schema(asking: Session, service: RowService) -> None:
    """The value is the instance; one of another form is an error beside the text."""
    service.answers = lambda prompt: prompt.rpartition("\n\n")[2]
    rows = ['{"name": "A", "age": 1}', '{"name": "B"}', "none"]
    replies = asking.map("{{ it }}", rows, schema=Person, yes=True, file="rows.jsonl")
    assert [reply.value for reply in replies] == [Person("A", 1), None, None]
    assert replies[1].text == '{"name": "B"}'
    assert "age: Field required" in replies[1].error
    assert "no JSON" in replies[2].error
    table = library("pandas").DataFrame({"t": rows})
    made = asking.map("{{ t }}", table, schema=Person, yes=True, file="rows.jsonl")
    assert list(made.columns) == ["t", "reply", "value", "error"]
    assert made["value"][0] == Person("A", 1)
    options: dict[str, Any] = {"yes": True, "file": "rows.jsonl", "columns": True}
    made = asking.map("{{ t }}", table.head(1), schema=Person, **options)
    assert made.drop(columns=["t", "reply"]).to_dict("records") == [
        {"name": "A", "age": 1, "error": None}
    ]
    # The result has columns of these names of its own.
    for names in ([], ["age", "reply"], ["error"]):
        options |= {"format": "json", "schema": {"properties": {key: {} for key in names}}}
        with pytest.raises(InputError, match=r"columns=True takes the fields of a schema, none of"):
            asking.map("{{ t }}", table, **options)
    # Nothing that has an answer is asked again; what failed is.
    assert {prompt.rpartition("\n\n")[2] for prompt in service.prompts[3:]} == {*rows[1:]}


@pytest.mark.parametrize("block", [False, True])
def test_an_interrupt_as_a_thread_is_started_asks_nothing(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch, *, block: bool
) -> None:
    """In the middle of ``Thread.start``: the thread seems to live then, and never runs."""
    asking.ask("before")  # starts the threads of its own
    low = next(name for name in vars(threading) if re.match("_start_(new|joinable)_thread", name))
    with monkeypatch.context() as patch:
        patch.setattr(threading, low, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            asking.map("{{ it }}", ["a", "b"], yes=True, block=block)
    assert service.prompts == ["before"]
    assert [reply.text for reply in asking.map("{{ it }}", ["a", "b"], yes=True)] == ["A", "B"]


def test_a_full_disk_loses_no_reply(asking: Session, service: RowService) -> None:
    """No row is sent whose reply has no room; the same call goes on where there is some."""
    rows = [f"{number} " * 9_000 for number in range(24)]
    with full_disk(300_000), pytest.raises(ChatError, match="cannot be written") as caught:
        asking.map("{{ it }}", rows, workers=3, yes=True)
    assert "lost" not in str(caught.value)
    came = len(service.bodies)
    assert 3 < came < 24
    assert f"{came} rows answered by this run" in str(caught.value)
    replies = asking.map("{{ it }}", rows, workers=3, yes=True)
    assert [reply.text for reply in replies] == [row.upper() for row in rows]
    assert len(service.bodies) == 24


def test_replies_longer_than_their_room_are_counted(asking: Session, service: RowService) -> None:
    """Where a full disk loses some."""
    meet = threading.Barrier(2)
    service.before = lambda _: meet.wait(60)
    service.answers = lambda _: "long " * 100_000
    with full_disk(200_000), pytest.raises(ChatError) as caught:
        asking.map("{{ it }}", ["a", "b", "c"], workers=2, yes=True)
    assert str(caught.value).endswith("2 rows lost whose reply had come.")


def test_a_torn_line_costs_its_row_alone(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and that row is asked again."""
    told: list[str] = []
    monkeypatch.setattr(asking.environment, "notify", told.append)
    path = asking.map("{{ it }}", list("abcd"), workers=1, yes=True, keep=False)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:90] + lines[2][40:] + lines[3])
    replies = asking.map("{{ it }}", list("abcd"), yes=True)
    assert [reply.text for reply in replies] == list("ABCD")
    assert service.prompts[4:] == ["b", "c"]
    assert told == [f"1 line of {path.name} unreadable; such rows are asked again."]


def test_the_rows_of_each_call_are_told_apart(asking: Session, service: RowService) -> None:
    """In one file, where two calls have other rows in the same places; none is asked again."""
    first = asking.map("{{ it }}", ["a", "b"], yes=True, keep=False)
    assert asking.map("{{ it }}", ["c", "b", "a"], yes=True, keep=False) == first
    assert asking.map("{{ it }}", iter(["a", "b"]), yes=True, keep=False) == first
    assert sorted(service.prompts) == ["a", "b", "c"]
    calls: dict[str, dict[int, str]] = {}
    for line in first.read_text().splitlines():
        value = json.loads(line)
        calls.setdefault(value["call"], {})[value["row"]] = value["text"]
    assert [*calls.values()] == [{0: "A", 1: "B"}, {0: "C", 1: "B", 2: "A"}]


@pytest.mark.parametrize("table", [False, True])
def test_failures_are_told_at_the_end(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch, *, table: bool
) -> None:
    """How many, of all rows, and where each is explained."""
    told: list[str] = []
    monkeypatch.setattr(asking.environment, "notify", told.append)
    service.refuses = lambda prompt: 500 if prompt in "bd" else 200
    rows: Any = list("abcd")
    rows = library("pandas").DataFrame({"it": rows}) if table else rows
    asking.map("{{ it }}", rows, yes=True)
    where = "column error" if table else "error of each"
    assert told == [f"2 of 4 answered, 2 failed: {where}."]


def test_run_again_it_goes_on(asking: Session, service: RowService) -> None:
    """Only what has no answer is asked; another row, or another template, is another request."""
    service.refuses = lambda prompt: 500 if prompt == "b" else 200
    first = asking.map("{{ it }}", ["a", "b", "c", "a"], yes=True)
    assert [reply.text for reply in first] == ["A", None, "C", "A"]
    assert "HTTP 500" in first[1].error
    assert files() == [asking_file := files()[0]]
    service.refuses = lambda _: 200
    service.bodies.clear()
    again = asking.map("{{ it }}", ["a", "b", "c", "a", "d"], yes=True, workers=1)
    assert [reply.text for reply in again] == ["A", "B", "C", "A", "D"]
    assert service.prompts == ["b", "d"]
    # A second "a" has its own answer, and a third needs one.
    service.bodies.clear()
    asking.map("{{ it }}", ["c", "a", "a", "a"], yes=True)
    assert service.prompts == ["a"]
    assert files() == [asking_file]
    asking.map("{{ it }}!", ["a"], yes=True)
    assert len(files()) == 2


def test_it_needs_no_yes_where_nothing_is_asked(asking: Session, service: RowService) -> None:
    """A notebook that has its file runs anywhere."""
    asking.map("{{ it }}", ["a"], yes=True, file="rows.jsonl")
    assert asking.map("{{ it }}", ["a"], file="rows.jsonl")[0].text == "A"
    assert asking.map("{{ it }}", [], file="other.jsonl") == []
    assert len(service.bodies) == 1
    assert files() == ["rows.jsonl"]


@pytest.mark.parametrize("error", [EOFError(), NotImplementedError(), OSError()])
def test_nobody_can_answer(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """It is refused in one line, with the quote."""
    monkeypatch.setattr(builtins, "input", refusing(error))
    with pytest.raises(InputError) as caught:
        asking.map("{{ it }}", ["a", "b"], file="rows.jsonl")
    assert str(caught.value) == (
        "A map asks before it starts, and nobody can answer here: 2 rows, 2 to ask; answers go to "
        "rows.jsonl. 2 characters of prompts; their cost in credits is not known before the "
        "first answers. Nothing was sent. yes=True starts it without a question."
    )
    assert service.bodies == []
    assert files() == []


def test_a_person_answers(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a quote by what requests took; anything but a yes starts nothing."""
    service.credits = 20
    for _ in range(3):
        asking.ask("1234", history=False)
    questions: list[str] = []
    answers = ["", "no", "Y"]

    def answer(question: str) -> str:
        questions.append(question)
        return answers.pop(0)

    monkeypatch.setattr(builtins, "input", answer)
    for _ in range(2):
        with pytest.raises(InputError, match=r"The map was not started\. Nothing was sent\."):
            asking.map("{{ it }}", ["abcd", "abcd"], file="rows.jsonl")
    assert len(service.bodies) == 3
    assert len(asking.map("{{ it }}", ["abcd", "abcd"], file="rows.jsonl")) == 2
    assert questions[0] == (
        "2 rows, 2 to ask; answers go to rows.jsonl. About 4 tokens of prompts and 2 credits, as "
        "requests took lately. 17 credits left; others may share them.\nAsk them? [y/N] "
    )


def test_rows_that_are_read_as_they_are_needed(asking: Session) -> None:
    """A generator is not read before the question, which says what is not known."""
    read: list[str] = []

    def rows() -> Iterator[str]:
        for each in "abc":
            read.append(each)
            yield each

    source = rows()
    words = r"read as they are needed, so their number is not known; answers go to .*\.jsonl\. Noth"
    with pytest.raises(InputError, match=words):
        asking.map("{{ it }}", source)
    assert read == []
    assert [reply.text for reply in asking.map("{{ it }}", source, yes=True)] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("template", "rows", "how", "words"),
    [
        ("", ["a"], {}, "The prompt is empty. Nothing was sent."),
        (7, ["a"], {}, "The prompt is text, not int. Nothing was sent."),
        ("Hi", ["a"], {}, "Row 0: The template uses no value of a row"),
        ("{{ x }}", ["a"], {}, "Row 0: {{ x }} is no name of a row. Nothing was sent."),
        ("{{ x }}", [{"x": 1}, {"y": 1}], {}, "Row 1: {{ x }} is no name of a row."),
        ("{{ it + 1 }}", ["a"], {}, "Row 0: {{ it + 1 }} is no name of a row."),
        ("{{ it }}", "text", {}, "The rows are a table, a list or another iterable, not str."),
        ("{{ it }}", ["a"], {"workers": 0}, "workers is a number from 1 to 32. Nothing was sent."),
        ("{{ it }}", ["a"], {"workers": 33}, "workers is a number from 1 to 32."),
        ("{{ it }}", ["a"], {"temperature": float("nan")}, "Row 0: temperature is a finite"),
        ("{{ it }}", ["a"], {"format": "xml"}, "format is one of"),
        ("{{ it }}", ["a"], {"schema": 7}, "Reply is no schema that can be used"),
        ("{{ it }}", ["a"], {"file": "none/rows.jsonl"}, "rows.jsonl cannot be written: No such"),
        ("glpat-abcdefghijklmnopqrst {{ it }}", ["a"], {}, "The template holds a text"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(
    asking: Session, template: Any, rows: Any, how: Any, words: str
) -> None:
    """Nothing is sent and nothing is left behind."""
    with pytest.raises(InputError) as caught:
        asking.map(template, rows, yes=True, **how)
    assert str(caught.value).startswith(words)
    assert "Nothing was sent" in str(caught.value)
    assert files() == []


def test_a_row_with_a_secret_is_not_sent(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error names the place; an empty one is not sent either, and the others are."""
    monkeypatch.setenv("MY_TOKEN", "correct-horse-7")
    rows = ["a", "it is correct-horse-7", " ", "b"]
    replies = asking.map("{{ it }}", rows, yes=True)
    assert sorted(service.prompts) == ["a", "b"]
    assert replies[1].error == (
        "Row 1 holds the value of the environment variable MY_TOKEN, so it is not sent: "
        "allow_secrets=True sends it."
    )
    assert replies[2].error == "Row 2 makes an empty prompt, which is not sent."
    assert b"correct-horse" not in (Path.cwd() / files()[0]).read_bytes()
    allowed = asking.map("{{ it }}", rows[:2], yes=True, allow_secrets=True)
    assert allowed[1].text == "IT IS CORRECT-HORSE-7"


def test_a_row_without_a_value_is_not_sent(asking: Session, service: RowService) -> None:
    """It would be asked about the word nan; what the template does not name may be missing."""
    pandas, numpy = library("pandas"), library("numpy")
    missing = [numpy.nan, None, pandas.NaT, pandas.NA, numpy.float32("nan")]
    table = pandas.DataFrame(
        {"a column": [*missing, "a"], "other": None}, index=range(10, 16), dtype=object
    )
    error = (
        "Row {} has no value for {{{{ a column }}}}, so it is not sent: "
        "fill the value in, or leave the row out."
    )
    with pytest.raises(InputError) as caught:
        asking.map("Rate {{ a column }}", table)
    assert f"5 rows will not be sent: {error.format(0)}" in str(caught.value)
    replies = asking.map("Rate {{ a column }}", table, yes=True)
    assert [*replies.error[:5]] == [*map(error.format, range(5))]
    assert service.prompts == ["Rate a"]
    asking.map("Rate {{ a column }}", table.fillna("none"), yes=True)
    assert sorted(service.prompts[1:]) == ["Rate none"] * 5
    asking.map("{{ t }}", library("polars").DataFrame({"t": [None, "of polars"]}), yes=True)
    asking.map("{{ it }}", [None, "of a list"], yes=True)
    assert service.prompts[6:] == ["of polars", "of a list"]


def test_a_replay_never_sends(service: RowService, tmp_path: Path) -> None:
    """What the file has is given, anything else is refused; nobody is asked a question."""
    with chatmagic.Client(transport=service) as client:
        session = Session(client)
        file = tmp_path / "rows.jsonl"
        session.map("{{ it }}", ["a"], yes=True, file=file)
        session.environment = replaying(tmp_path)
        assert session.map("{{ it }}", ["a"], file=file)[0].text == "A"
        with pytest.raises(NotRecordedError) as caught:
            session.map("{{ it }}", ["a", "b"], file=file)
    assert str(caught.value).startswith(
        "lesson.jsonl is replayed here, and row 1 has no answer in rows.jsonl. Nothing was sent."
    )
    assert len(service.bodies) == 1


def replaying(folder: Path) -> GivenEnvironment:
    """Give an environment that replays a cassette, and knows no address and no key."""
    config = CassetteConfig(folder / "lesson.jsonl", "replay")
    return GivenEnvironment(cassette=lambda: config)


def test_a_replay_needs_no_address_and_no_key(asking: Session, service: RowService) -> None:
    """As on another machine: each row is as it was, also one that failed; nothing is written."""
    service.refuses = lambda prompt: 500 if prompt == "b" else 200
    rows = library("pandas").DataFrame({"t": ["a", "b", "a", ""]})
    made = asking.map("{{ t }}", rows, yes=True)
    (path,) = Path.cwd().iterdir()
    path.chmod(0o400)
    with variables({}):
        elsewhere = Session(environment=replaying(path.parent))
        again = elsewhere.map("{{ t }}", rows)
        assert again.equals(made)
        assert list(again["error"].isna()) == [True, False, True, False]
        assert elsewhere.map("{{ t }}", rows, block=False).result().equals(made)
    assert len(service.bodies) == 3
    assert files() == [path.name]


def test_its_lines_join_with_the_ledger(asking: Session) -> None:
    """By the digest of the request; the service stands beside it."""
    path = asking.map("{{ it }}", ["a", "b"], yes=True, keep=False)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    ledger = {(row.service, row.request) for row in asking.ledger}
    assert {(line["service"], line["request"]) for line in lines} == ledger
    assert [line["occurrence"] for line in lines] == [1, 1]


def test_credits_that_are_used_up(asking: Session, service: RowService) -> None:
    """It ends with what it has; after the reset the same call goes on."""
    service.credits = 3
    with pytest.raises(RateLimitError) as caught:
        asking.map("{{ it }}", list("abcdef"), yes=True, workers=1, file="rows.jsonl")
    assert str(caught.value) == (
        "No credits left (HTTP 429). 100 of 100 used, resets 2026-03-02 00:00 UTC. Ask again "
        "after the reset. wait=True waits for the reset. 3 rows answered by this run, kept in "
        "rows.jsonl: the same call goes on."
    )
    assert asking.credits is not None
    assert asking.credits.remaining == 0
    service.credits = 9
    # One at a time: of several at once the lowest figure counts as the latest until the reset.
    replies = asking.map("{{ it }}", list("abcdef"), yes=True, workers=1, file="rows.jsonl")
    assert [reply.text for reply in replies] == list("ABCDEF")
    assert sorted(service.prompts) == list("abcddef")


def test_threads_have_connections_of_their_own(
    session: Session, emulator: Emulator, tmp_path: Path
) -> None:
    """A server that closes one loses one ask, not one of each thread."""
    replies = session.map(
        "echo:{{ it }}", range(40), yes=True, file=tmp_path / "rows.jsonl", workers=4
    )
    assert [reply.text for reply in replies] == [str(number) for number in range(40)]
    assert 1 < len({request.port for request in emulator.requests}) <= 4
    assert session.credits is not None
    assert session.credits.remaining == 60
    assert KEY not in (tmp_path / "rows.jsonl").read_text()


def test_in_a_cell(shell: Shell, emulator: Emulator, tmp_path: Path) -> None:
    """``chatmagic.map`` asks in the kernel; a machine has to say yes, and sees no bar."""
    shell.do(f"import chatmagic, os; os.chdir({str(tmp_path)!r})")
    code = "replies = chatmagic.map('echo:{{{{ it }}}}', ['a', 'b']{})"
    ran = shell.machine(code.format(", yes=True, file='rows.jsonl'"))
    assert ran.printed == ran.warned == ""
    assert [reply.text for reply in shell["replies"]] == ["a", "b"]
    assert len(emulator.requests) == 2
    ran = shell.do(code.format(", yes=True, file='others.jsonl'"))
    assert "2/2" in ran.warned or "2/2" in repr(ran.messages)


def test_an_interrupt_of_the_question(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts nothing, and leaves nothing behind."""
    monkeypatch.setattr(builtins, "input", refusing(KeyboardInterrupt()))
    with pytest.raises(ChatInterrupted, match=r"^Interrupted before the map started\. Nothing was"):
        asking.map("{{ it }}", ["a"])
    assert service.bodies == []
    assert files() == []


# --- A job by itself ----------------------------------------------------------------------------


@pytest.fixture
def slow() -> Slow:
    """Give answers that wait."""
    return Slow()


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Give a maker of jobs with a file."""
    return Rig(tmp_path / "job.jsonl")


def test_a_key_names_the_whole_request(rig: Rig) -> None:
    """The address, the model and the place among equal requests are part of it."""

    def keys(*rows: str) -> list[str]:
        job = rig.job(rows)
        job.file.close()
        return job.keys

    first = keys("a", "b", "a")
    assert len({*first}) == 3
    assert keys("a", "a") == [first[0], first[2]]
    rig.asking.address = "https://b"
    assert keys("a") != first[:1]
    rig.asking.address, rig.asking.model = "https://a", "n"
    assert keys("a") != first[:1]
    # In a replay it is known by what a cassette goes by: neither the address nor the model.
    rig.asking.address = None
    replayed = keys("a", "b", "a")
    rig.asking.model = "m"
    assert replayed == keys("a", "b", "a")
    assert len({*replayed}) == 3


def test_as_many_are_under_way_as_there_are_workers(rig: Rig) -> None:
    """No more rows are read than these, and one that waits to be handed out; each is asked once."""
    meet = threading.Barrier(3)

    def rows() -> Iterator[int]:
        for number in range(9):
            assert number - job.answered <= 3
            yield number

    def answer(prompt: str, halt: Halt) -> str:
        meet.wait(PATIENCE)
        return capitals(prompt, halt)

    job = rig.job(rows(), answer, workers=3)
    job.run(is_watched=False)
    assert sorted(rig.asking.asked) == [*"012345678"]
    assert [rig.kept()[row].text for row in range(9)] == [*"012345678"]
    assert rig.asking.closed == 3


def test_an_error_stands_beside_the_others(rig: Rig) -> None:
    """A row that is not to be sent, too; the part of a broken reply is kept with its error."""
    problems = {"b": ServiceError("Down."), "d": ChatError("Cut.", reply=Reply("half"))}

    def answer(prompt: str, halt: Halt) -> str:
        if prompt in problems:
            raise problems[prompt]
        return capitals(prompt, halt)

    job = rig.job(["a", "b", "bad", "c", "d"], answer)
    replies = job.run(is_watched=False)
    kept = [("A", None), (None, "Down."), (None, "No."), ("C", None), ("half", "Cut.")]
    assert [(reply.text, reply.error) for reply in replies] == kept
    assert "bad" not in rig.asking.asked
    assert (job.answered, job.failed) == (2, 3)


def limited(seconds: float) -> RateLimitError:
    """Give a refusal that names a time."""
    return RateLimitError("Wait.", retry_after=datetime.now(UTC) + timedelta(seconds=seconds))


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize(
    ("error", "waits", "asked"),
    [
        (lambda: AuthenticationError("Key."), False, "abc"),
        (lambda: BudgetError("Used up."), False, "abc"),
        (lambda: limited(3_600), False, "abc"),
        (lambda: limited(0.01), True, "abcc"),
        (lambda: RateLimitError("No."), True, "abc"),
    ],
)
def test_an_error_of_all_rows_ends_it(
    rig: Rig, error: Callable[[], ChatError], asked: str, *, waits: bool, block: bool
) -> None:
    """The row has no line: it is asked first thing again. A limit that stays ends it, too."""
    job = rig.job(list("abcdefgh"), raising(error, "cdefgh"), workers=1, waits=waits)
    if not block:
        job.start()
    with pytest.raises(type(error())) as caught:
        job.run(is_watched=False) if block else job.result()
    hint = " wait=True waits for the reset." if error().retry_after and not waits else ""
    assert str(caught.value) == (
        f"{error().message}{hint} 2 rows answered by this run, kept in job.jsonl: the same call "
        "goes on."
    )
    assert rig.asking.asked == [*asked]
    assert [*rig.kept()] == [0, 1]


def test_ten_failures_in_succession_end_it(rig: Rig) -> None:
    """A row that was not sent does not count, and one that succeeds begins anew."""
    rows = [*map(str, range(9)), "ok", "bad", *map(str, range(9, 30))]
    answer = raising(lambda: ServiceError("Down."), {str(n) for n in range(30)})
    with pytest.raises(ServiceError, match="The map ended, as 10 rows in succession failed"):
        rig.job(rows, answer, workers=1).run(is_watched=False)
    assert len(rig.asking.asked) == 20
    assert len(rig.kept()) == 21


def test_an_error_of_the_rows_own_ends_it(rig: Rig, slow: Slow) -> None:
    """The row under way ends, and is kept."""

    def rows() -> Iterator[str]:
        yield "a"
        slow.wait(1)
        slow.go.set()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rig.job(rows(), slow).run(is_watched=False)
    assert rig.kept()[0].text == "A"


@pytest.mark.parametrize("start", [False, True])
def test_an_error_of_a_threads_own_ends_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, *, start: bool
) -> None:
    """Such as one of a schema's own code, or of a process with too many threads."""
    job, real = rig.job(list("abcdefgh"), raising(ZeroDivisionError, "a"), workers=4), Thread.start

    def failing(thread: Thread) -> None:
        if thread.name == "chatmagic-map":
            raise ZeroDivisionError
        real(thread)

    if start:
        monkeypatch.setattr(Thread, "start", failing)
    with pytest.raises(ZeroDivisionError):
        job.run(is_watched=False)
    assert not [each for each in threading.enumerate() if each.name == "chatmagic-map"]


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


def test_a_limit_of_a_moment_is_waited_for(rig: Rig) -> None:
    """The row that was refused is sent again, once; no other is sent meanwhile."""
    refused = ["b"]

    def answer(prompt: str, halt: Halt) -> str:
        if prompt in refused:
            refused.remove(prompt)
            raise limited(0.2)
        return capitals(prompt, halt)

    job = rig.job(list("abc"), answer, workers=1)
    job.run(is_watched=False)
    assert job.waiting == ""
    assert rig.asking.asked == ["a", "b", "b", "c"]
    assert len(rig.kept()) == 3


def test_a_row_waits_for_its_place_as_long_as_others_are_answered(rig: Rig) -> None:
    """A window may have room for fewer rows than there are workers."""
    began, ended, refusals = threading.Event(), threading.Event(), [limited(0.01)] * 3

    def answer(prompt: str, halt: Halt) -> str:
        if prompt == "b":
            began.set()
            assert ended.wait(PATIENCE)
        elif refusals:
            assert began.wait(PATIENCE)
            raise refusals.pop()
        ended.set()
        return capitals(prompt, halt)

    rig.job(list("ab"), answer, workers=2).run(is_watched=False)
    assert [reply.text for reply in rig.kept().values()] == ["A", "B"]


def test_a_row_is_not_refused_for_ever(rig: Rig) -> None:
    """While another one is only being sent, a limit that names no real time ends the map."""
    began, released = threading.Event(), threading.Event()

    def answer(prompt: str, halt: Halt) -> str:
        if prompt == "b":
            began.set()
            assert released.wait(PATIENCE)
            return capitals(prompt, halt)
        assert began.wait(PATIENCE)
        if rig.asking.asked.count("a") >= 12:
            released.set()
        raise limited(0)

    with pytest.raises(RateLimitError, match="Wait"):
        rig.job(list("ab"), answer, workers=2).run(is_watched=False)
    assert rig.asking.asked.count("a") == 12


@pytest.mark.parametrize("seconds", [2, 3_600])
def test_a_stop_ends_a_wait(rig: Rig, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """However long that would be; the row is not sent again, though that would be due."""
    job = rig.job(list("ab"), raising(lambda: limited(seconds), "a"), workers=1, waits=True)
    monkeypatch.setattr(job, "_show", lambda: job.stop() if job.waiting else None)
    with pytest.raises(ChatInterrupted, match="Stopped"):
        job.run(is_watched=False)
    assert rig.asking.asked == ["a"]
    assert re.fullmatch(r"waiting until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", job.waiting)


def test_a_row_waits_for_the_others_where_a_budget_has_room_for_one(rig: Rig) -> None:
    """While it is not known what a request takes, the first one reserves all."""
    holder = threading.Lock()

    def answer(prompt: str, halt: Halt) -> str:
        if not holder.acquire(blocking=False):
            raise BudgetError("Not enough.")
        time.sleep(0.05)
        holder.release()
        return capitals(prompt, halt)

    rig.job(list("abcdef"), answer, workers=4).run(is_watched=False)
    assert [reply.error for reply in rig.kept().values()] == [None] * 6


def test_the_notebook_goes_on(rig: Rig, slow: Slow) -> None:
    """The handle says how far it is, and has the result."""
    job = rig.job(["a", "b"], slow)
    job.start()
    assert job.is_running
    assert repr(job) == "<map, running: 0 of 2 rows answered, 0 failed; job.jsonl>"
    slow.wait(1)
    job.waiting = "waiting until noon"
    assert repr(job).startswith("<map, waiting until noon: 0 of")
    slow.go.set()
    assert [reply.text for reply in job.result()] == ["A", "B"]
    assert (job.answered, job.failed, job.credits_left) == (2, 0, None)
    assert repr(job) == "<map, not running: 2 of 2 rows answered, 0 failed; job.jsonl>"


def test_a_stop(rig: Rig, slow: Slow) -> None:
    """The rows under way end; the result is an error that says how to go on."""
    job = rig.job([*"abcd"], slow)
    job.start()
    slow.wait(2)
    job.stop()
    job.stop()
    slow.go.set()
    for _ in range(2):
        with pytest.raises(ChatInterrupted) as caught:
            job.result()
        assert str(caught.value) == (
            "Stopped. 2 rows answered by this run, kept in job.jsonl: the same call goes on."
        )


def test_an_interrupt_of_the_wait_stops_nothing(
    rig: Rig, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, as rows that are asked are paid for."""
    job = rig.job(["a", "b"], slow)
    job.start()
    with monkeypatch.context() as patch:
        patch.setattr("time.sleep", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(ChatInterrupted) as caught:
            job.result()
    assert str(caught.value) == "Interrupted while waiting: the map goes on. stop() ends it."
    assert job.is_running
    slow.go.set()
    assert [reply.text for reply in job.result()] == ["A", "B"]


@pytest.mark.parametrize(("times", "texts"), [(1, "AB"), (2, "ab"), (3, "ab")])
def test_an_interrupt_lets_rows_under_way_end_and_a_second_one_cuts_them_off(
    rig: Rig, slow: Slow, monkeypatch: pytest.MonkeyPatch, times: int, texts: str
) -> None:
    """No other row is begun; all are kept as what they are. A third one does not wait."""
    interrupts, interrupt = [KeyboardInterrupt()] * times, Job.interrupt

    def rows() -> Iterator[str]:
        yield from "ab"
        slow.wait(2)
        raise interrupts.pop()

    def answer(prompt: str, halt: Halt) -> str:
        reply = slow(prompt, halt)
        if halt.reason is not None:
            raise ChatInterrupted("Interrupted.", reply=Reply(prompt, state="interrupted"))
        return reply

    def interrupted(job: Job) -> None:
        interrupt(job)
        if interrupts:
            raise interrupts.pop()
        slow.go.set()

    monkeypatch.setattr(Job, "interrupt", interrupted)
    job = rig.job(rows(), answer)
    with pytest.raises(ChatInterrupted, match=r"^Interrupted\. \d rows? answered by this run"):
        job.run(is_watched=False)
    assert job.is_running == (times == 3)
    slow.go.set()
    with pytest.raises(ChatInterrupted):
        job.result()
    assert sorted(rig.asking.asked) == ["a", "b"]
    kept = [(rig.kept()[row].text, rig.kept()[row].error) for row in range(2)]
    assert kept == [(text, "Interrupted." if times > 1 else None) for text in texts]


def test_a_person_sees_rows_and_credits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of it once it is closed; headless, and without tqdm, nothing at all."""
    library("tqdm")
    monkeypatch.setattr(Job, "credits_left", 7)
    for name, watched in [("a", True), ("b", False), ("c", True)]:
        if name == "c":
            monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        job = Rig(tmp_path / f"{name}.jsonl").job([*"abc"])
        job.waiting = "waiting until noon"
        assert [reply.text for reply in job.run(is_watched=watched)] == [*"ABC"]
        shown = capsys.readouterr()
        assert shown.out == ""
        if name == "a":
            assert "7 credits left, waiting until noon" in shown.err
            assert "3/3" in shown.err
            assert shown.err.rpartition("\r")[0].endswith(" ")
        else:
            assert shown.err == ""
