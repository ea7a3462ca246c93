"""Many prompts of one template: quoted, asked beside the conversation, kept, and gone on with."""

from __future__ import annotations

import builtins
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from cassette_choice import choosing
from environments import GivenEnvironment, variables
from jobs import full_disk
from libraries import library
from logged import Emulator
from row_service import RowService
from shells import KEY, Shell

import chatmagic
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    InputError,
    NotRecordedError,
    RateLimitError,
)
from chatmagic.session.map.row_index import RowIndex
from chatmagic.session.session import Session

ANEW = "Another file=… asks all rows anew."


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
    assert replies[0].usage is not None
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
    assert "age: Field required" in str(replies[1].error)
    assert "no JSON" in str(replies[2].error)
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
    asking.map("{{ it }}", list("abcd"), workers=1, yes=True)
    (path,) = Path.cwd().iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:90] + lines[2][40:] + lines[3])
    replies = asking.map("{{ it }}", list("abcd"), yes=True)
    assert [reply.text for reply in replies] == list("ABCD")
    assert service.prompts[4:] == ["b", "c"]
    assert told == [
        f"1 unreadable line of {path.name} not used; a row without another answer is asked again.",
        f"2 of 4 answers from {path.name}, of today; 2 requests sent. {ANEW}",
    ]


def test_a_second_call_says_what_it_did(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All came from the file, of that day, and how to ask anew."""
    told: list[str] = []
    monkeypatch.setattr(asking.environment, "notify", told.append)
    asking.map("{{ it }}", range(60), yes=True, file="q.jsonl")
    assert told == []
    asking.map("{{ it }}", range(60), file="q.jsonl")
    assert told == [f"60 of 60 answers from q.jsonl, of today; nothing was sent. {ANEW}"]
    assert len(service.bodies) == 60
    told.clear()
    asking.map("{{ it }}", range(61), yes=True, file="q.jsonl", block=False).result()
    assert told == [f"60 of 61 answers from q.jsonl, of today; 1 request sent. {ANEW}"]
    told.clear()
    monkeypatch.setattr(RowIndex, "latest", datetime(2025, 8, 29, tzinfo=UTC))
    asking.map("{{ it }}", range(61), yes=True, file="q.jsonl")
    assert told == [f"61 of 61 answers from q.jsonl, of 29 August 2025; nothing was sent. {ANEW}"]


def test_rows_that_do_not_fit_are_not_to_be_resumed(asking: Session) -> None:
    """Their number is not known, so the first one is read by the map under way."""
    with pytest.raises(InputError) as caught:
        asking.map("{{ x }}", iter(["a"]), yes=True)
    assert "{{ x }} is no name of a row. Nothing was sent." in str(caught.value)
    assert "resumes" not in str(caught.value)


def test_a_reply_has_the_place_of_its_row_in_this_call(
    asking: Session, service: RowService
) -> None:
    """Also if another call has asked it, in another place, or as often as it repeats rows."""
    asking.map("{{ it }}", list("abc"), yes=True, file="q.jsonl", repeats=2)
    replies = asking.map("{{ it }}", list("ca"), yes=True, file="q.jsonl")
    assert [(reply.row, reply.text) for reply in replies] == [(0, "C"), (1, "A")]
    replies = asking.map("{{ it }}", list("bb"), yes=True, file="q.jsonl")
    assert [reply.row for reply in replies] == [0, 1]
    replies = asking.map("{{ it }}", list("cb"), yes=True, file="q.jsonl", repeats=2)
    assert [reply.row for reply in replies] == [0, 1]
    assert len(service.bodies) == 6


def test_a_text_that_was_edited_is_not_the_models(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row is asked again, and the map says so; the order and the spaces of a line are free."""
    told: list[str] = []
    asking.map("{{ it }}", list("abc"), yes=True, file="q.jsonl", workers=1)
    path = Path("q.jsonl")
    lines = path.read_text("utf-8").splitlines(keepends=True)
    other = json.dumps(dict(sorted(json.loads(lines[0]).items())), separators=(",", ":"))
    path.write_text(other + "\n" + lines[1].replace('"B"', '"X"') + lines[2], "utf-8")
    monkeypatch.setattr(asking.environment, "notify", told.append)
    replies = asking.map("{{ it }}", list("abc"), yes=True, file="q.jsonl")
    assert [reply.text for reply in replies] == list("ABC")
    assert service.prompts == [*"abc", "b"]
    assert told[0] == (
        "1 edited line of q.jsonl not used; a row without another answer is asked again."
    )


def test_a_million_rows_begin_at_once(asking: Session, service: RowService) -> None:
    """The first rows are read, the others as they are needed; the estimate says so."""
    read: list[int] = []

    class Many(list[str]):
        """A list of many texts."""

        def __len__(self) -> int:
            """Give the number of rows."""
            return 10**6

        def __iter__(self) -> Iterator[str]:
            """Note which were read."""
            for number in range(10**6):
                read.append(number)
                yield f"{number:04}"

    with pytest.raises(InputError) as caught:
        asking.map("{{ it }}", Many(), file="q.jsonl")
    assert (
        "1,000,000 rows, up to 1,000,000 to ask; answers go to q.jsonl. About 4,000,000 "
        "characters of prompts; their cost"
    ) in str(caught.value)
    assert len(read) < 1_100
    job = asking.map("{{ it }}", Many(), yes=True, file="q.jsonl", block=False)
    while not service.bodies:
        time.sleep(0.001)
    job.stop()
    with pytest.raises(ChatInterrupted):
        job.result()


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
    where = "see the column error" if table else "see the error of each reply"
    assert told == [f"2 of 4 answered, 2 failed: {where}."]


def test_run_again_it_goes_on(asking: Session, service: RowService) -> None:
    """Only what has no answer is asked; another row, or another template, is another request."""
    service.refuses = lambda prompt: 500 if prompt == "b" else 200
    first = asking.map("{{ it }}", ["a", "b", "c", "a"], yes=True)
    assert [reply.text for reply in first] == ["A", None, "C", "A"]
    assert "HTTP 500" in str(first[1].error)
    assert files() == [asking_file := files()[0]]
    service.refuses = lambda _: 200
    service.bodies.clear()
    again = asking.map("{{ it }}", ["a", "b", "c", "a", "d"], yes=True, workers=1)
    assert [reply.text for reply in again] == ["A", "B", "C", "A", "D"]
    assert service.prompts == ["d", "b"]
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
        "2 rows, 2 to ask; answers go to rows.jsonl. About 4 tokens of prompts and 2 credits, by "
        "the cost of recent requests. 17 credits left; others may share them.\nAsk them? [y/N] "
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
        ("{{ it }}", ["a"], {"workers": 0}, "workers is a number from 1 to 256. Nothing was sent."),
        ("{{ it }}", ["a"], {"workers": 257}, "workers is a number from 1 to 256."),
        ("{{ it }}", ["a"], {"retries": -1}, "retries is a number from 0 on. Nothing was sent."),
        ("{{ it }}", ["a"], {"temperature": float("nan")}, "temperature is a finite"),
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
        "This row holds the value of the environment variable MY_TOKEN, so it is not sent: "
        "allow_secrets=True sends it."
    )
    assert replies[2].error == "This row makes an empty prompt, which is not sent."
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
        "{} has no value for {{{{ a column }}}}, so it is not sent: "
        "fill the value in, or leave the row out."
    )
    with pytest.raises(InputError) as caught:
        asking.map("Rate {{ a column }}", table)
    assert f"5 rows will not be sent: {error.format('Row 0')}" in str(caught.value)
    replies = asking.map("Rate {{ a column }}", table, yes=True)
    assert [*replies.error[:5]] == [error.format("This row")] * 5
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
    return GivenEnvironment(command_choice=choosing(folder / "lesson.jsonl"))


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
    asking.map("{{ it }}", ["a", "b"], yes=True)
    (path,) = Path.cwd().iterdir()
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
        "rows.jsonl: the same call resumes."
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
    # On a busy machine a connection is closed that could not be drained in time.
    assert 1 < len({request.port for request in emulator.requests}) <= 12
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
    ran = shell.page(code.format(", yes=True, file='others.jsonl'"), "one")
    assert "2/2 rows" in repr(ran.messages)


def test_an_interrupt_of_the_question(
    asking: Session, service: RowService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts nothing, and leaves nothing behind."""
    monkeypatch.setattr(builtins, "input", refusing(KeyboardInterrupt()))
    with pytest.raises(ChatInterrupted, match=r"^Interrupted before the map started\. Nothing was"):
        asking.map("{{ it }}", ["a"])
    assert service.bodies == []
    assert files() == []
