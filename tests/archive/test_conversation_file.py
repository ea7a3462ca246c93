"""A conversation as JSON, both ways, and as Markdown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from cases import each_case
from forged_json import forged, json_values, texts
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from talks import ask, instructions_of, prompts

from chatmagic._json import digest
from chatmagic.archive import conversation_file
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Value
from chatmagic.conversation.record import NewerVersionError, sealed
from chatmagic.conversation.steering import Hiding, Instructions, Item, ThreadStart
from chatmagic.conversation.turn import Carried, Turn
from chatmagic.conversation.window import QuestionPlace
from chatmagic.models import Reply

PLACE: Any = {
    "owner": st.sampled_from(["a", "b", "c", None]),
    "execution": st.sampled_from(["1", "2"]),
}
replies = st.builds(
    Reply,
    texts,
    model=st.none() | texts,
    finish_reason=st.none() | texts,
    state=st.sampled_from(["complete", "interrupted", "cut off"]),
    refusal=st.none() | texts,
    origin=st.sampled_from(["live", "replay", "emulator"]),
    took=st.none() | st.integers(0, 9),
)
turns = st.builds(
    Turn,
    prompt=texts,
    reply=replies,
    **PLACE,
    entry=st.sampled_from(["cell", "panel", "python"]),
    max_tokens=st.none() | st.integers(1, 9),
    temperature=st.none() | st.floats(0, 2),
    last=st.none() | st.integers(0, 2),
    stream=st.booleans(),
    thread=st.sampled_from([None, None, "main", "x"]),
    hide=st.sampled_from([False, False, True]),
    placeholder=st.none() | texts,
)
starts = st.builds(
    ThreadStart, st.sampled_from(["main", "x"]), st.sampled_from([None, 0, 1]), **PLACE
)
hidings = st.builds(
    Hiding, st.just(1), st.just(digest("any")), show=st.booleans(), turn=st.integers(0, 4), **PLACE
)
items = (
    turns
    | starts
    | hidings
    | st.builds(
        Instructions, st.builds(Value.of_text, texts, texts, st.just("instructions")), **PLACE
    )
)


def talked(given: list[Item]) -> Conversation:
    """Give a conversation to which these were added, each carrying what stood above it."""
    talk = Conversation()
    for turn in given:
        if not isinstance(turn, Turn):
            talk.add(turn)
            continue
        at = QuestionPlace(turn.owner, turn.execution, thread=turn.thread)
        context = talk.window(at, last=turn.last)
        held = context.instructions and context.instructions.bare
        asked = replace(turn, carried=context.carried, instructions=held)
        talk.add(replace(asked, record=asked.to_record("0" * 64)))
    return talk


def dump(talk: Conversation, *, keep_values: bool = False) -> Any:
    """Give the JSON of a conversation's file."""
    return json.loads(conversation_file.dumps(talk, keep_values=keep_values))


def load(value: Any) -> Conversation:
    """Give the conversation in a file of this JSON."""
    return conversation_file.loads(json.dumps(value).encode())


def with_value(*, kept: bool = True) -> Conversation:
    """Give a conversation whose prompt had a value put in."""
    value = Value.of_text("rows", "secret")
    turn = Turn(
        prompt="read secret",
        reply=Reply("done"),
        typed="read {{ rows }}",
        values=(value if kept else value.bare,),
    )
    return talked([turn])


@given(st.lists(items, max_size=5))
@example([Turn(prompt="a", reply=Reply("b"), owner="a", execution="1")] * 3)
def test_what_is_dumped_is_loaded(given: list[Item]) -> None:
    """Through JSON and back, turns, owners and records are the same; nothing can be undone.

    A record lists the turns that were carried from the newest of the file's on.
    """
    talk = talked(given)
    again = load(dump(talk))
    shown = {turn.recorded_digest for turn in talk}
    for before, after in zip(talk, again, strict=True):
        assert after == replace(
            before, number=after.number, carried=after.carried, execution=before.owner
        )
        assert before.record is not None
        assert before.carried.listed_in(before.record, shown) == after.record
        assert after.carried.chain == before.carried.chain
    assert [owner for owner, held in talk.slots if held] == [owner for owner, _ in again.slots]
    assert instructions_of(again) == instructions_of(talk)
    threads = [[window.thread for _, window in each.windows] for each in (talk, again)]
    assert threads[0] == threads[1]
    lines = [[[turn.digest for turn in line] for line in t.threads.values()] for t in (talk, again)]
    assert lines[0] == lines[1]
    carried = [
        [t.window(QuestionPlace(thread=name)).carried.digests for name in t.threads]
        for t in (talk, again)
    ]
    assert carried[0] == carried[1]
    assert again.undo_depth == 0
    assert dump(again) == dump(talk)


@given(st.lists(items, max_size=5))
def test_a_loaded_turn_is_stale_where_other_words_stand_above_it(given: list[Item]) -> None:
    """A turn that was asked again, and answered with the same words, makes none stale."""
    talk = talked(given)
    stale = []
    for index, (turn, window) in enumerate(talk.windows):
        now = window.instructions
        assert turn.record is not None
        above = [other.digest for other in window.above if not window.hides(other)]
        above = above if turn.last is None else above[max(0, len(above) - turn.last) :]
        is_same = list(turn.record.carried) == above and turn.instructions == (now and now.bare)
        stale += [] if is_same else [index]
    again = load(dump(talk))
    assert [again.turns.index(turn) for turn in again.stale_turns()] == stale


def test_the_size_grows_with_the_conversation_alone() -> None:
    """Not with its square, also where an early cell was run again; what was carried is known."""
    talk = Conversation()
    for number in range(40):
        ask(talk, f"p{number}", f"c{number}", "1")
    ask(talk, "again", "c0", "2")
    ask(talk, "more", "new", "2")
    turns = dump(talk)["turns"]
    assert sum(len(turn["record"]["carried"]) for turn in turns) <= 41
    again = load(dump(talk))
    assert prompts(again.stale_turns()) == prompts(talk.stale_turns())
    assert again.turns[-1].carried == tuple(range(1, 41))


def test_a_value_is_kept_only_where_that_is_asked_for() -> None:
    """Else the prompt names it."""
    talk = with_value()
    assert "secret" not in json.dumps(dump(talk))
    (bare,) = load(dump(talk))
    assert bare.prompt == "read [value of rows, not kept]"
    assert [value.name for value in bare.missing] == ["rows"]
    (kept,) = load(dump(talk, keep_values=True))
    assert kept.prompt == "read secret"
    assert "secret" not in conversation_file.markdown(talk)
    lost = dump(with_value(kept=False), keep_values=True)
    assert "secret" not in json.dumps(lost)


@given(json_values, st.data())
def test_whatever_stands_in_a_file_it_is_loaded_or_refused(item: Any, data: st.DataObject) -> None:
    """Any JSON, and any JSON in the place of any part, raises nothing but a ValueError."""
    whole = dump(with_value())
    made = forged(whole, item, data)
    sealed_again = {name: part for name, part in made.items() if name != "seal"}
    for value in (item, made, sealed(sealed_again, {})):
        try:
            read = load(value)
        except ValueError:
            continue
        assert load(dump(read)).slots == read.slots


@each_case(
    ("path", "item", "said", "is_sealed"),
    [
        (["chatmagic"], "x", "not a conversation", False),
        (["turns", 0, "reply"], "changed", "its seal does not match", False),
        (["turns", 0, "record", "took"], 9, "its seal does not match", False),
        (["seal"], None, "its seal does not match", False),
        (["turns"], None, "its list of turns", True),
        (["turns", 0], 1, "a turn", True),
        (["turns", 0, "owner"], 1, "a turn", True),
        (["turns", 0, "entry"], [], "a turn", True),
        (["turns", 0, "reply"], 1, "a turn", True),
        (["turns", 0, "record", "prompt"], "p", "not those of its prompt", True),
    ],
)
def test_what_is_damaged_is_told(path: list[Any], item: Any, said: str, is_sealed: bool) -> None:
    """Each part has its words, also where it was sealed again: a seal is no signature."""
    whole: Any = dump(with_value())
    part = whole
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = item
    if is_sealed:
        whole = sealed({name: part for name, part in whole.items() if name != "seal"}, {})
    with pytest.raises(ValueError, match=said):
        load(whole)


def test_threads_are_numbered_apart() -> None:
    """As Markdown; a start that is damaged is refused."""
    start, owner = ThreadStart("sql", 1, owner="s"), "a"
    talk = talked(
        [
            Turn(prompt="p", reply=Reply("r"), owner=owner, execution="1"),
            start,
            Turn(prompt="q", reply=Reply("r"), owner="b"),
            Turn(prompt="x", reply=Reply("r"), owner="c", thread="main"),
        ]
    )
    text = conversation_file.markdown(talk)
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads[2:3] + heads[4:] == ["## 2. You", "## 2. You", "## 2. Reply (thread main)"]
    assert "\n\nThread sql for the questions below. It begins with the first turn of" in text
    whole = dump(talk)
    whole["turns"][1]["thread"]["name"] = "<b>"
    del whole["seal"]
    with pytest.raises(ValueError, match="'name' cannot be read"):
        load(sealed(whole, {}))


def test_instructions_are_read_as_carefully() -> None:
    """With their text alone; and they are in what is there to read."""
    talk = talked(
        [Instructions.of_text("Be ```terse```.", owner="a"), Turn(prompt="p", reply=Reply("r"))]
    )
    text = conversation_file.markdown(talk)
    assert (
        "for the questions below: 15 characters.\n\n````text\nBe ```terse```.\n````\n\n## 1. You"
        in text
    )
    whole = dump(talk)
    assert load(whole).window().instructions == talk.window().instructions
    del whole["turns"][0]["instructions"]["text"], whole["seal"]
    with pytest.raises(ValueError, match="'instructions' cannot be read"):
        load(sealed(whole, {}))


def test_a_newer_version_is_told_apart() -> None:
    """What a later release wrote is not damaged."""
    with pytest.raises(NewerVersionError, match="newer release"):
        load({**dump(Conversation()), "version": 2})
    for content in (b"[" * 100_000, b"\xff"):
        with pytest.raises(ValueError, match="not a conversation"):
            conversation_file.loads(content)


def test_markdown_stands_as_typed() -> None:
    """No prompt acts, and no reply's open block swallows what follows."""
    talk = talked(
        [
            Turn(prompt="# `````\nx", reply=Reply("~~~\ncode\n\n", state="cut off")),
            Turn(prompt="y", reply=Reply("```py\n1\n```\n````\n```")),
        ]
    )
    assert conversation_file.markdown(talk) == (
        "# Conversation\n\n## 1. You\n\n``````text\n# `````\nx\n``````\n\n"
        "## 1. Reply (cut off)\n\n~~~\ncode\n~~~\n\n"
        "## 2. You\n\n```text\ny\n```\n\n## 2. Reply\n\n```py\n1\n```\n````\n```\n````\n"
    )


def test_markdown_says_that_a_reply_was_continued() -> None:
    """Its text is one, so its head tells that it came in parts."""
    turn = Turn(prompt="p", reply=Reply("ab", state="interrupted"))
    record = replace(turn.to_record(digest("p")), continues=digest("a"))
    talk = Conversation()
    talk.add(replace(turn, record=record))
    assert "\n## 1. Reply (interrupted) (continued)\n\nab\n" in conversation_file.markdown(talk)


def test_thoughts_are_in_markdown_where_they_are_asked_for() -> None:
    """Above their reply, as a quotation in which nothing acts and from which nothing gets out."""
    thoughts = (
        "<b>Hm</b>\n\n# so\n```\n> [a](javascript:b) ![c](https://d.example)\n---\n</details>"
    )
    talk = talked([Turn(prompt="p", reply=Reply("r", reasoning=thoughts))])
    assert "Hm" not in conversation_file.markdown(talk)
    text = conversation_file.markdown(talk, reasoning=True)
    before, quotation, after = re.split(r"(?m)(?<=\n)(>.*(?:\n>.*)*)", text)
    assert before.endswith("\n\n## 1. Thoughts\n\n")
    assert after == "\n\n## 1. Reply\n\nr\n"
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(quotation)
    assert {token.tag for token in tokens} == {"blockquote", "p", ""}
    inner = {part.type for token in tokens for part in token.children or []}
    assert inner <= {"text", "text_special", "hardbreak"}


def test_a_record_is_made_where_there_is_none() -> None:
    """It names what the turn carried, as far as that still stands."""
    talk = Conversation()
    ask(talk, "a")
    ask(talk, "b")
    first, second = conversation_file.records_of(talk, keep_values=False).values()
    assert second.carried == (first.turn,)
    assert second.reply == digest(talk.turns[1].reply.text)


def test_a_hidden_turn_is_found_by_its_place() -> None:
    """Turns are numbered anew when they are loaded; one that was asked again is not hidden."""
    talk = Conversation()
    for name in "aab":
        ask(talk, name, name, name)
    ask(talk, "c", "c", "c")
    talk.add(Hiding(2, digest("any"), turn=3, owner="h", execution="1"))
    talk.add(Hiding(9, digest("any"), turn=2, owner="i", execution="1"))
    ask(talk, "d", "a", "again")
    again = load(dump(talk))
    assert prompts(again.window().turns) == prompts(talk.window().turns) == ["d", "c"]
    assert "Turn 2 is hidden: it does" in conversation_file.markdown(talk)


def test_a_turn_that_carried_one_that_is_gone_as_well_as_those_above() -> None:
    """Its list, of which the first are not known, is not the one that the turns below share."""
    talk = Conversation()
    ask(talk, "a")
    above = talk.turns[0].digest
    carried = Carried.unknown(1, digest("gone")).followed_by(1, above)
    asked = Turn("b", reply=Reply("r"), carried=carried)
    talk.add(replace(asked, record=asked.to_record(digest("request"))))
    ask(talk, "c")
    again = load(dump(talk))
    assert [tuple(turn.carried) for turn in again] == [(), (0, 1), (1, 2)]


def test_a_file_of_many_values_is_not_read() -> None:
    """The words are those of the file, not of another one."""
    many = b'{"chatmagic": "conversation", "turns": [' + b"{}," * 500_000 + b"{}]}"
    with pytest.raises(ValueError, match=r"^it holds more than 1,000,000 values$"):
        conversation_file.loads(many)
