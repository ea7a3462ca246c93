"""A turn's output: its data, its sealed record, and what is said of how it ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from cases import each_case

from chatmagic.advice import ALL_THOUGHT, AT_LIMIT
from chatmagic.archive import output
from chatmagic.conversation.question import Value
from chatmagic.conversation.record import Record, is_sealed
from chatmagic.conversation.staleness import Cause
from chatmagic.conversation.turn import NOTHING, Carried, Turn
from chatmagic.models import Credits, Reply, Usage

TURN = Turn(prompt="p", reply=Reply("*r*", model="m", finish_reason="stop"))
REQUEST = "0" * 64

USAGE = Usage(1, 9, 10, reasoning_tokens=6)


def test_an_output_holds_the_reply_and_its_sealed_record() -> None:
    """The exact text, safe HTML, the record and the versions that rendered it."""
    record = TURN.to_record(REQUEST)
    data, metadata = output.of_turn(TURN.reply, record)
    assert data["text/plain"] == "*r*"
    assert "<em>r</em>" in data["text/html"]
    saved = metadata["chatmagic"]
    assert is_sealed(saved, data)
    assert not is_sealed(saved, {**data, "text/plain": "r"})
    assert Record.from_json(saved) == record
    assert set(saved["versions"]) == {"chatmagic", *output.RENDERERS}


def test_a_value_that_is_kept_is_shown() -> None:
    """Nothing in the record is hidden; one that is not kept is not there."""
    kept = Value.of_text("x", "<secret>")
    turn = replace(TURN, prompt="p <secret>", typed="p {{ x }}", values=(kept,))
    shown = output.bundle(turn.reply, turn.to_record(REQUEST))["text/html"]
    assert "&lt;secret&gt;" in shown
    assert "secret" not in output.bundle(turn.reply, turn.to_record(REQUEST).bare)["text/html"]


def test_a_command_within_the_prompt_is_named_under_the_reply() -> None:
    """Two cells that a page has merged went out as one question."""
    note = "A line with %%chat is sent as text; split the cell if it is to run by itself."
    for prompt, is_noted in (("one\n%%chat\ntwo", True), ("one", False)):
        turn = replace(TURN, prompt=prompt)
        html = output.of_turn(turn.reply, turn.to_record(REQUEST))[0]["text/html"]
        assert (note in html) is is_noted


def test_a_variable_that_was_sent_as_typed_is_named_above_the_reply() -> None:
    """As text that cannot act, whatever a file's record has in its place; the text has no line."""
    turn = replace(TURN, placeholder="{<b>*x*}\n# y")
    data = output.bundle(turn.reply, turn.to_record(REQUEST))
    note, _, rest = data["text/html"].partition("<em>r</em>")
    assert "{&lt;b&gt;*x*}\n# y is sent as typed; {{ &lt;b&gt;*x*}\n# y }} puts" in note
    assert "sent" not in rest + data["text/plain"]
    assert data["text/markdown"].startswith(
        "*&#123;&#60;b&#62;&#42;x&#42;&#125; &#35; y is sent as typed; "
    )


def test_paper_shows_what_a_page_shows() -> None:
    """Safe Markdown: the reply, how it ended, the values that are kept, and the gauge in words."""
    reply = Reply("*a* <b>", refusal="No *b*", usage=Usage(1, 2, 3))
    turn = replace(
        TURN, prompt="x", typed="{{ y }}", values=(Value.of_text("y", "x"),), reply=reply
    )
    record = replace(turn.to_record(REQUEST), in_place_of=("0" * 64,))
    assert output.bundle(reply, record)["text/markdown"] == (
        "*Asked again: “&#123;&#123; y &#125;&#125;”*\n\n"
        "*a* &#60;b&#62;\n\n"
        "**The model refused: No &#42;b&#42;**\n\n"
        "Value of y, kept with this output: 1 character\n\n```\nx\n```\n\n"
        "*1 token sent, 2 received*\n\n"
        "[//]: # (chatmagic)"
    )


def test_thoughts_are_folded_above_the_reply() -> None:
    """As text that cannot act; not in what is read elsewhere. A record keeps them."""
    turn = Turn(prompt="p", reply=Reply("Yes", reasoning="<b>Hm</b>\n\n# so", usage=USAGE))
    record = turn.to_record("0" * 64)
    data, metadata = output.of_turn(turn.reply, record)
    folded, _, rest = data["text/html"].partition("</details>")
    assert '<details class="chatmagic-value"><summary>Thought: 3 words</summary>' in folded
    assert "&lt;b&gt;Hm&lt;/b&gt;\n\n# so" in folded
    assert "Yes" in rest
    assert "1 token sent, 9 received (6 for thoughts)" in rest
    assert data["text/plain"] == "Yes"
    assert "Hm" not in data["text/markdown"]
    assert Record.from_json(metadata["chatmagic"]).reasoning == turn.reply.reasoning
    assert [message.content for message in turn.messages] == ["p", "Yes"]


def test_without_the_line_of_the_credits_equal_replies_look_alike() -> None:
    """Whatever was left, and however many tokens it took; the record has the figures."""
    runs = []
    for left in (9, 7):
        credits = Credits(10, left, None, None, datetime(2026, 1, 1, tzinfo=UTC))
        reply = replace(TURN.reply, credits=credits, usage=Usage(1, left, 1 + left))
        turn = replace(TURN, reply=reply, credit_line=False, temperature=0.5)
        runs.append(output.of_turn(reply, turn.to_record(REQUEST)))
        assert output.credit_line(reply, turn.to_record(REQUEST)) == ("", "")
        assert runs[-1][1]["chatmagic"]["credits"]["remaining"] == left
    (first, _), (second, _) = runs
    assert first == second
    assert first["text/markdown"] == "*r*\n\n[//]: # (chatmagic)"


@each_case(
    ("reply", "lines"),
    [
        (Reply("r", finish_reason="stop"), []),
        (Reply("r", state="cut off"), ["Cut off: this reply is not complete."]),
        (Reply("r", finish_reason="length"), [AT_LIMIT.notebook]),
        (Reply("", finish_reason="length"), [AT_LIMIT.notebook]),
        (
            Reply("", finish_reason="tool_calls"),
            ["The model asked for a tool, and chatmagic runs none."],
        ),
        (Reply("", finish_reason="length", reasoning="Hm"), [ALL_THOUGHT.notebook]),
        (Reply("", refusal="No."), ["The model refused: No."]),
        (Reply(""), ["The reply is empty."]),
    ],
)
def test_how_a_reply_ended(reply: Reply, lines: list[str]) -> None:
    """A normal end needs no words."""
    assert output.state_lines(reply) == lines


def test_what_is_particular_about_a_turn() -> None:
    """In the order in which a list of turns shows it; an ordinary turn needs no words."""
    assert output.turn_notes(TURN, None) == []
    reply = replace(TURN.reply, origin="replay", recorded="emulator", by_order=True)
    turn = replace(
        TURN,
        reply=reply,
        max_tokens=7,
        last=1,
        carried=Carried.from_turns([(1, "")]),
        asked_model="big",
    )
    lacking = replace(
        turn, typed="{{ x }}", values=(Value.of_text("x", "1").bare,), last=0, carried=NOTHING
    )
    assert output.turn_notes(turn, Cause("because cell [3] was run again")) == [
        "stale, because cell [3] was run again",
        "at most 7 tokens · model big",
        "sent with only 1 turn before it",
        "replay",
        "recorded from the emulator",
        "chosen by its place: another request was recorded here",
    ]
    notes = output.turn_notes(lacking, None)
    assert notes[0].startswith("sent without the value of x, which was not kept")
    assert "sent with none before it" in notes
