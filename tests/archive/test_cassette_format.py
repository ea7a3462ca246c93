"""A cassette's text: lines that people read, that git merges whole, and that are checked."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import each_case
from cassettes import exchange_of, talk
from hypothesis import given
from hypothesis import strategies as st

from chatmagic._json import digest
from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.archive.cassette_format import Content, cassette_text, content_from, from_text
from chatmagic.archive.interaction import Interaction, by_identity
from chatmagic.errors import InputError
from chatmagic.models import Message, Usage
from chatmagic.protocol.request import Request

TALK = (Message("user", "one"), Message("assistant", "1"), Message("user", "two"))


HEADERS = (("Content-Type", "text/event-stream"), ("Date", "Thu, 01 Jan 2026 12:00:00 GMT"))
FIRST = exchange_of(
    Request((Message("user", "What is a mean?\nBe brief."),), temperature=0.0),
    owner="0a1b",
    headers=HEADERS,
    text="The sum,\n\nby the **count**.\n",
    model="m",
    finish_reason="stop",
    usage=Usage(3, 4, 7),
    refusal="no",
    took=2,
    origin="emulator",
)
SECOND = exchange_of(
    Request(
        (
            Message("user", FIRST.prompt),
            Message("assistant", FIRST.text or ""),
            Message("user", "And a median?"),
        )
    ),
    status=429,
    error={"error": "used up", "limit": 1, "used": 1},
    typed="And a {{ word }}?",
)
LONE = replace(exchange_of(Request((Message("user", "hello"),)), text=""), before=("0a" * 8,))
TEXT = cassette_text([FIRST, SECOND, LONE])
LINES = TEXT.split("\n")[:-1]


def test_the_text_is_made_for_people() -> None:
    """Every line is one JSON object, a line of a text is a line, and a turn stands once."""
    assert from_text(TEXT, "talk.jsonl") == (FIRST, SECOND, LONE)
    assert all(isinstance(json.loads(line), dict) for line in LINES)
    assert LINES[3].startswith('{"you": "Be brief.", "in": "')
    assert LINES[6].startswith('{"reply": "by the **count**.\\n", "in": "')
    assert TEXT.count("sum,") == 1
    assert len(json.loads(LINES[7])["after"]) == 16
    assert "before" not in json.loads(LINES[7])
    assert json.loads(LINES[-2])["before"] == ["0a" * 8]


PROSE = st.text(st.characters() | st.sampled_from("\n\r\u2028\x85\ud800\udc00"), max_size=30)

SAID = st.sampled_from("ab") | PROSE


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            SAID,
            SAID,
            st.dictionaries(st.sampled_from(["model", "seed"]), PROSE | st.integers(), max_size=2),
        ),
        max_size=6,
    ),
    st.data(),
)
def test_any_talks_come_back_exactly(asked: list[Any], data: st.DataObject) -> None:
    """Whatever was said, whichever goes on from which, in any order, and with some of them gone."""
    exchanges: list[Interaction] = []
    talks: list[tuple[Message, ...]] = [()]
    for onward, prompt, text, extra in asked:
        question = (*talks[onward % len(talks)], Message("user", prompt))
        sent = Request.from_json(json.loads(Request(question, extra=extra).encode()))
        reply = text.encode("utf-8", "replace").decode()
        exchanges.append(exchange_of(sent, text=reply))
        talks.append((*sent.messages, Message("assistant", reply)))
    held = data.draw(st.permutations(exchanges))
    held = held[: data.draw(st.integers(0, len(held)))]
    written = cassette_text(held)
    assert from_text(written, "talk.jsonl") == tuple(held)
    assert all(line.startswith("{") for line in written.split("\n")[:-1])
    assert from_text(written.replace("\n", "\r\n"), "talk.jsonl") == tuple(held)


@each_case("number", range(1, len(LINES)))
def test_a_changed_character_is_noticed(number: int) -> None:
    """In a prompt, in a reply and in each fact; a line is named."""
    line = LINES[number]
    for place in re.finditer(r"\w", line):
        changed = line[: place.start()] + ("1" if place[0] == "0" else "0") + line[place.end() :]
        text = "\n".join([*LINES[:number], changed, *LINES[number + 1 :]])
        with pytest.raises(InputError, match=r"talk\.jsonl, line \d+: "):
            from_text(text, "talk.jsonl")


def test_a_long_talk_grows_by_what_is_said() -> None:
    """Twice as many turns are twice as long a file, though each request carries all of them."""
    short, long = cassette_text(talk(40)), cassette_text(talk(80))
    assert len(long) < 2.1 * len(short)
    assert from_text(long, "talk.jsonl") == tuple(talk(80))


def test_a_turn_that_is_gone_leaves_the_others_readable() -> None:
    """An exchange may be taken out by hand; the rest is kept, and the turns are not known then."""
    held = talk(4)
    lines = cassette_text(held).split("\n")
    gone = "\n".join([lines[0], *lines[4:]])
    second, *rest = from_text(gone, "talk.jsonl")
    (unknown,) = second.before
    assert [item.request for item in (second, *rest)] == [item.request for item in held[1:]]
    assert rest[-1].before == (unknown, *held[3].before[1:])
    assert from_text(cassette_text([second, *rest]), "talk.jsonl") == (second, *rest)
    assert from_text(f"{gone}" + "\n".join(lines[1:4]), "talk.jsonl") == (*held[1:], held[0])


HEAD = LINES[0]


def conflict(ours: list[str], theirs: list[str], *base: str) -> str:
    """Give a file that git leaves of two branches that both recorded."""
    ancestor = ["||||||| base", *base] if base else []
    lines = [HEAD, "<<<<<<< HEAD", *ours, *ancestor, "=======", *theirs, ">>>>>>> side", ""]
    return "\n".join(lines)


FACTS = '{"request": "00", "parameters": {}}'
YOU = '{"you": "x"}'


def checked(**facts: object) -> str:
    """Give a cassette of one exchange, whose check is right whatever stands in it."""
    facts = {**json.loads(FACTS), **facts}
    check = digest(json.dumps([facts, "x", ""]))
    return "\n".join([HEAD, json.dumps({**facts, "check": check}), YOU])


@each_case(
    ("text", "match"),
    [
        ("", "line 1: it is empty"),
        ("no", "line 1: it is not JSON"),
        ("[" * 100_000, "line 1: its values are nested too deeply"),
        (f"[{'9' * 4301}]", "line 1: a number in it has more than 4,300 digits"),
        ("[]", "line 1: it is no object of JSON"),
        ('{"cells": []}', "is not a cassette of version 3: its line 1"),
        ('{"chatmagic": "cassette", "version": 2}', "is not a cassette of version 3"),
        ("\n".join([*LINES[:3], "<<<<<<< a", LINES[3]]), "line 4: it is a merge conflict."),
        ("\n".join([*LINES[:3], "=======", LINES[3]]), "line 4: it is a merge conflict."),
        (conflict(LINES[:3], LINES[3:7]), "line 2: it is a merge conflict, and not each half"),
        (conflict(LINES[1:7], LINES[7:8]), "line 2: it is a merge conflict, and not each half"),
        (f"{HEAD}\n{YOU}", "line 2: it is not in its place"),
        (f'{HEAD}\n{FACTS}\n{{"you": 1}}', "line 3: it is not in its place"),
        (f"{HEAD}\n{FACTS}", "line 2: the exchange is not the one"),
        (checked(request=1), "line 2: its 'request' cannot be read"),
        (checked(before=[1]), "line 2: its 'before' cannot be read"),
        (checked(after=[]), "line 2: not such a value"),
        (checked(status=True), "line 2: its 'status' cannot be read"),
        (checked(origin="replay"), "line 2: its 'origin' cannot be read"),
        (checked(headers=[]), "line 2: its 'headers' cannot be read"),
    ],
)
def test_what_is_damaged_is_refused_with_its_line(text: str, match: str) -> None:
    """One clear line, and a second one that says that the file was left alone."""
    with pytest.raises(InputError, match=re.escape(match)) as caught:
        from_text(text, "talk.jsonl")
    assert "left as it" in (caught.value.hint or "")


@pytest.mark.parametrize("base", [[], [LINES[7], "<<<<<<<<< older", *LINES[8:]]])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_conflict_of_whole_exchanges_is_read_as_both(base: list[str], end: str) -> None:
    """Each exchange once, in git's two styles; what both halves have is not there twice."""
    text = conflict([*LINES[1:7], *LINES[7:9]], [*LINES[1:7], *LINES[9:]], *base)
    read = content_from(text.replace("\n", end), "talk.jsonl")
    assert read == Content((FIRST, SECOND, LONE), is_merged=True)
    assert from_text(cassette_text(read.interactions), "talk.jsonl") == read.interactions


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_conflict_in_a_conflict_is_read_as_all(end: str) -> None:
    """After a merge with a third branch, whatever the size of the marks."""
    inner = ["<<<<<<< HEAD", *LINES[1:7], "=======", *LINES[7:9], ">>>>>>> side"]
    text = conflict(inner, LINES[9:]).replace("\n", end)
    both = Content((FIRST, SECOND, LONE), is_merged=True)
    assert content_from(text, "talk.jsonl") == both
    longer = re.sub(r"(?m)^([<=>])\1{6}", r"\g<0>\1\1\1", text)
    assert content_from(longer, "talk.jsonl") == both


def test_the_head_may_come_again() -> None:
    """In a union of a file whose line ends have changed, or of two files."""
    other = cassette_text([LONE]).replace("\n", "\r\n")
    assert from_text(cassette_text([FIRST, SECOND]) + other, "talk.jsonl") == (FIRST, SECOND, LONE)


def test_a_conflict_is_written_without_its_marks(tmp_path: Path) -> None:
    """By the next save, even if it adds nothing; until then the file is as git left it."""
    file = CassetteFile(tmp_path / "talk.jsonl")
    text = conflict(LINES[1:7], LINES[7:])
    file.path.write_text(text, encoding="utf-8")
    assert file.read_interactions() == (FIRST, SECOND, LONE)
    assert file.path.read_text("utf-8") == text
    file.save(lambda _, now: now)
    again = CassetteFile(file.path)
    assert again.read_interactions() == (FIRST, SECOND, LONE)
    assert not again.is_merged
    assert file.path.read_text("utf-8") == TEXT


def git(folder: Path, *words: str) -> int:
    """Run git in a folder, as its own user with no settings; return its exit code."""
    user = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]
    alone = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    command = ["git", *user, *words]
    ran = subprocess.run(command, cwd=folder, env=alone, check=False, capture_output=True)
    return ran.returncode


def exchanges(word: str) -> list[Interaction]:
    """Give what one branch records: words of its own, and words that the other has, too."""
    as_said = "Yes.\n\nAs said.\n"
    said = [
        ("same?", as_said),
        (f"one {word}", as_said),
        ("end", ""),
        ("other?", f"Well,\n\n{word}\n\nis so.\n"),
        ("same?", as_said),
    ]
    requests = [(Request((Message("user", prompt),)), text) for prompt, text in said]
    headers = (("Date", word),)
    return [
        *(exchange_of(request, text=text, headers=headers) for request, text in requests),
        *(exchange_of(request, text=text) for request, text in requests),
    ]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3", "union"])
@pytest.mark.parametrize("base", [[FIRST], pytest.param([], marks=pytest.mark.release)])
@pytest.mark.parametrize("is_older", [False, pytest.param(True, marks=pytest.mark.release)])
def test_git_merges_whole_exchanges(
    tmp_path: Path, style: str, base: list[Interaction], *, is_older: bool
) -> None:
    """Two branches that both recorded, also the same questions and replies: nothing is lost."""
    path = tmp_path / "talk.jsonl"
    git(tmp_path, "init", "-q", "-b", "a")
    git(tmp_path, "config", "merge.conflictStyle", "merge" if style == "union" else style)
    driver = "*.jsonl merge=union\n" if style == "union" else ""
    (tmp_path / ".gitattributes").write_text(driver)
    held = [replace(item, is_marked=not is_older) for item in base]
    if held:
        path.write_text(cassette_text(held), encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "base")
    git(tmp_path, "branch", "b")
    recorded = {}
    for branch in ("b", "a"):
        git(tmp_path, "checkout", "-q", branch)
        recorded[branch] = [*held, *exchanges(branch)]
        path.write_text(cassette_text(recorded[branch]), encoding="utf-8")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", branch)
    assert git(tmp_path, "merge", "-q", "b") == (0 if style == "union" else 1)
    read = content_from(path.read_text("utf-8"), path.name)
    assert read.is_merged == (style != "union")
    expected = by_identity(recorded["a"]) | by_identity(recorded["b"])
    merged = by_identity(read.interactions)
    assert merged.keys() >= expected.keys()
    # The same exchange of both branches may stand twice in a union.
    assert {key[:-1] for key in merged} == {key[:-1] for key in expected}


def older(item: Interaction, sent: str, after: str = "") -> tuple[str, str]:
    """Give an exchange with Markdown cells in a file of an earlier release, and its name there."""
    facts = {"request": sent, "parameters": {}, "without_markdown": item.request, "origin": "live"}
    facts |= {"after": after} if after else {}
    facts["check"] = digest(json.dumps([facts, item.prompt, item.text]))
    lines = [facts, {"you": item.prompt}, {"reply": item.text}]
    return "".join(json.dumps(line) + "\n" for line in lines), digest([sent, item.turn])[:16]


def test_an_earlier_file_with_markdown_cells_is_read(tmp_path: Path) -> None:
    """Its second digest is that of today; its links hold, and the next save writes all anew."""
    first = replace(exchange_of(Request(TALK[:1])), parameters={}, prompt="# T one", text="1")
    second = exchange_of(Request(TALK), text="2", parameters={}, before=(first.turn,))
    text, name = older(first, "0" * 64)
    more, _ = older(second, "1" * 64, name)
    file = CassetteFile(tmp_path / "talk.jsonl")
    file.path.write_text(f"{HEAD}\n{more}{text}", encoding="utf-8")
    assert file.read_interactions() == (second, first)
    onward = Request((*TALK, Message("assistant", "2"), Message("user", "three")))
    third = exchange_of(onward, text="3", before=(*second.before, str(second.turn)))
    file.save(lambda _, now: (*now, third))
    written = file.path.read_text("utf-8")
    assert "without_markdown" not in written
    assert from_text(written, "talk.jsonl") == (second, first, third)
    assert written == cassette_text(from_text(written, "talk.jsonl"))
    assert [item.is_marked for item in from_text(written, "talk.jsonl")] == [False, False, True]


def test_exchanges_that_differ_in_markdown_cells_alone_keep_their_turns(tmp_path: Path) -> None:
    """They have one name in a file; whatever goes on from them carries what it carried."""
    held: list[Interaction] = []
    for title in ("", "# T ", "# U "):
        first = exchange_of(Request(TALK[:1]), prompt=f"{title}one", text="1")
        second = exchange_of(Request(TALK), text="2", before=(str(first.turn),))
        carried = (*second.before, str(second.turn))
        held += [first, second, exchange_of(Request(TALK), text=title, before=carried)]
    assert from_text(cassette_text(held), "talk.jsonl") == tuple(held)
    assert from_text(cassette_text(held[::-1]), "talk.jsonl") == tuple(held[::-1])
    file = CassetteFile(tmp_path / "talk.jsonl")
    for count, item in enumerate(held, 1):
        file.save(lambda _, now, item=item: (*now, item))  # type: ignore[misc]
        assert CassetteFile(file.path).read_interactions() == tuple(held[:count])


def test_a_header_that_is_not_kept_does_not_come_in() -> None:
    """Neither by hand nor from another tool."""
    text = checked(headers={"Set-Cookie": "x", "X-Other": 5, "Date": "now"})
    assert from_text(text, "talk.jsonl")[0].headers == (("Date", "now"),)


@pytest.mark.parametrize("many", ["{}\n", "\n", '{"a": [' + "1," * 1_000_000])
def test_a_file_of_many_lines_or_values_is_not_read(many: str) -> None:
    """One line says so, and what to do."""
    head = TEXT.partition("\n")[0]
    with pytest.raises(InputError, match=r"1,000,000 lines or values\. Record into another file"):
        from_text(f"{head}\n" + many * (1 if len(many) > 9 else 1_000_001), "talk.jsonl")


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.release)])
def test_thousands_of_exchanges_are_read(count: int) -> None:
    """Of twenty lines each."""
    text = "Line.\n" * 10
    held = [replace(FIRST, prompt=f"{number}\n{text}", text=text) for number in range(count)]
    assert from_text(cassette_text(held), "talk.jsonl") == tuple(held)
