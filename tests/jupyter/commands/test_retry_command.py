"""``%chat_retry``: what it sends, where its reply stands, and what lists and picks replies.

``%chat_retry --stale`` where no page runs cells; ``test_bridge.py`` has those that do.

``%chat_continue``: what it sends, where what comes stands, and what is refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from logged import Emulator
from shells import FIXED, Shell, asked, bodies, models

from chatmagic._json import digest
from chatmagic.advice import ANOTHER_REPLY, NOTHING_NEW
from chatmagic.conversation.question import ASKED_FOR_THE_REST
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import QuestionPlace
from chatmagic.emulator import replies
from chatmagic.models import Reply, Usage
from chatmagic.session.current import current_session


def test_a_turn_is_asked_again_with_what_stands_above_it(shell: Shell, emulator: Emulator) -> None:
    """The number is of a turn above the cell, or it is the last one; run again, it is the same."""
    for name in "abc":
        shell.page(f"%chat echo:{name}", name)
    ran = shell.page("%chat_retry 2", "r")
    assert ran.texts == ["b"]
    assert "Asked again: “echo:b”" in ran.html
    shell.page("%chat echo:d", "d")
    shell.page("%chat_retry", "r")
    assert [each[::2] for each in asked(emulator)[3:]] == [
        ["echo:a", "echo:b"],
        ["echo:a", "echo:b", "echo:c", "echo:d"],
        ["echo:a", "echo:b", "echo:c"],
    ]
    rows = shell.page("%chat_history", "h").texts[0].splitlines()
    assert [row for row in rows if row[0].isdigit()][:4] == [
        "1. echo:a",
        "2. echo:b",
        "3. echo:c",
        "4. echo:d",
    ]
    assert "reply 2 of 2" in "\n".join(rows)


def test_replies_are_listed_and_picked(shell: Shell, emulator: Emulator) -> None:
    """Those of the cell run again, with other settings, and those of a retry; each is a change."""
    shell.page("%chat -n 1 count to 9", "a")
    shell.page("%chat -n 2 count to 9", "a")
    ran = shell.page("reply = %chat_retry", "r")
    assert shell.shell.user_ns["reply"].text.strip() == "one, two,"
    assert ran.records[0]["owner"] != ran.records[0]["turn"]
    assert len(ran.records[0]["in_place_of"]) == 1
    listed = shell.page("%chat_retry --list", "l")
    assert listed.texts[0].splitlines() == [
        "1. one, two,",
        "   (at most 2 tokens; 3 tokens sent, 2 received)",
        "2. one, two,",
        "   (current; at most 2 tokens; 3 tokens sent, 2 received)",
        "Turn 1: count to 9",
    ]
    # As a run of all cells would find it, whatever their numbers were.
    assert not re.search(r"cell|\[\d", repr(listed.outputs))
    picked = shell.page("%chat_retry --pick 1", "p")
    assert picked.texts == ["one, two, "]
    assert picked.records[0]["kind"] == "pick"
    sent = len(asked(emulator))
    assert "1. one, two,\n   (current" in shell.page("%chat_retry --list 1", "l").texts[0]
    assert "reply 1 of 2" in shell.page("%chat_history", "h").texts[0]
    refused = shell.run("%chat_retry --pick 3", cell="p").traceback[0]
    assert "--pick takes the number of a reply, from 1 to 2. Nothing was sent" in refused
    assert shell.page("%chat_undo", "u").texts == ["Undone: the choice of a reply to “count to 9”."]
    assert shell.page("%chat_undo", "u").texts == ["Undone: the new reply to “count to 9”."]
    assert "1. one, two,\n   (current" in shell.page("%chat_retry --list", "l").texts[0]
    # What an undo took back is there; and 1 is of the last run of the question's own cell.
    assert shell.page("%chat_retry --pick 1", "p").texts == ["one, two, "]
    assert len(asked(emulator)) == sent


def test_settings_are_compared(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request for each value, in the place of the turn; many are asked after a yes."""
    shell.page("%chat -n 3 echo:a", "a")
    shell.page("%chat echo:b", "b")
    shell.shell.user_ns["hot"] = 1.5
    ran = shell.page("%chat_retry -t 0.5 --temperature $hot 1", "r")
    assert ran.texts == ["a", "a"]
    assert [record["parameters"] for record in ran.records] == [
        {"max_tokens": 3, "temperature": 0.5},
        {"max_tokens": 3, "temperature": 1.5},
    ]
    assert [(body.get("temperature"), body["messages"]) for body in bodies(emulator)[2:]] == [
        (0.5, bodies(emulator)[0]["messages"]),
        (1.5, bodies(emulator)[0]["messages"]),
    ]
    for message in ran.messages:  # also while they arrive
        assert re.search(
            r'<p class="chatmagic-compared"[^>]*>temperature [01].5', message["data"]["text/html"]
        )
    (first, second) = ran.outputs
    assert ">temperature 0.5 · at most 3 tokens</p>" in first["data"]["text/html"]
    assert "**temperature 1.5 · at most 3 tokens**" in second["data"]["text/markdown"]
    asked_for, answers = list[str](), iter(["no", "yes"])

    def answer(words: str) -> str:
        asked_for.append(words)
        return next(answers)

    monkeypatch.setattr("builtins.input", answer)
    said = shell.fails("%chat_retry -t 0 -t 1 -m A -m B 1").traceback[0]
    assert said.endswith("The question was not asked again. Nothing was sent.")
    shell.page("%chat_retry -t 0 -t {hot} -m A --model=B 1", "s")
    quote = "about 4 credits, by the cost of recent requests; others may share the credits."
    assert asked_for == [f"4 requests: {quote}\nAsk? [y/N] "] * 2
    assert models(emulator)[4:] == ["A", "B", "A", "B"]
    listed = shell.page("%chat_retry --list 1", "l").texts[0]
    assert "1. a\n   (at most 3 tokens; 1 token sent, 1 received)" in listed
    assert (
        "5. a\n   (temperature 0 · at most 3 tokens · model B; 1 token sent, 1 received)" in listed
    )
    assert (
        "7. a\n   (current; temperature 1.5 · at most 3 tokens · model B; 1 token sent, 1 received)"
        in listed
    )
    shell.page("%chat echo:**b** <script>", "b")
    html = shell.page("%chat_retry --list", "l").html
    assert "<strong>b</strong> &lt;script&gt;" in html
    assert "<script" not in html
    refused = "\n".join(shell.fails("%chat_retry -t warm 1", cell="t").traceback)
    assert "-t/--temperature takes a finite number, not 'warm'. Nothing was sent." in refused
    assert "-t 0 -t 0.7 asks with each number; -t $t or -t {t} takes it from the" in refused
    assert "dash" not in refused
    assert len(bodies(emulator)) == 9
    assert "chatmagic-compared" not in shell.page("%chat_retry -t 0 1", "u").html
    assert "chatmagic-compared" not in shell.page("%chat_retry --pick 2 1", "p").html


def test_a_replay_compares_without_a_question(
    shell: Shell, emulator: Emulator, tmp_path: Path
) -> None:
    """Nothing is sent, so nothing is to be agreed to."""
    compare = "%chat_retry -t 0 -t 1 -t 2 1"
    shell.do(f"%chat_cassette {tmp_path / 'tape.jsonl'} --record")
    shell.page("%chat echo:a", "a")
    asked_first = shell.fails(compare, person=False)
    assert "nobody can answer here: 3 requests" in asked_first.traceback[0]
    assert asked_first.traceback[1] == "--yes sends them without a question."
    assert len(bodies(emulator)) == 1
    shell.machine(f"{compare} --yes")
    shell.do("%chat_cassette --replay")
    shell.page("%chat echo:a", "a")
    assert shell.page(compare, "r").texts == ["a"] * 3
    assert len(bodies(emulator)) == 4


def test_a_reply_that_stopped_at_its_limit_is_asked_with_a_larger_one(
    shell: Shell, emulator: Emulator
) -> None:
    """The rest of the question is as it was."""
    shell.page("%chat -n 2 -t 0.5 echo:one two three", "a")
    shell.page("%chat_retry -n 400", "b")
    first, second = bodies(emulator)
    assert (first["max_tokens"], second["max_tokens"]) == (2, 400)
    assert second["temperature"] == 0.5
    assert second["messages"] == first["messages"]


def test_without_a_turn_above_there_is_nothing_to_ask(shell: Shell, emulator: Emulator) -> None:
    """Nor in a cell that begins a thread."""
    said = shell.fails("%chat_retry").traceback[0]
    assert "%chat_retry takes a turn's number above its cell, and there is none." in said
    shell.page("%chat echo:a", "a")
    assert (
        "begins a thread asks nothing"
        in shell.run("%chat_retry\n%chat_thread x", cell="b").traceback[0]
    )
    assert len(asked(emulator)) == 1


def test_what_is_sent_again_is_what_was_sent(
    shell: Shell, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its options, its values and what asked for its form; not without what was not kept."""
    monkeypatch.chdir(tmp_path)
    shell.shell.user_ns["x"] = 3
    shell.page('%chat -t 0.5 --format json echo:{"a": {{ x }}}', "a")
    shell.shell.user_ns["x"] = 4
    assert shell.page("%chat_retry", "r").records[0]["parameters"]["format"] == "json"
    first, again = bodies(emulator)
    assert first == again
    shell.page("%chat_save talk.json\n%chat_load talk.json", "s")
    said = shell.run("%chat_retry", cell="r").traceback[0]
    assert "The value of x was not kept. Nothing was sent or changed." in said
    assert len(bodies(emulator)) == 2


NAMES = (
    "2 turns are stale: about 2 credits, by the cost of recent requests; others may share the "
    "credits. Run these cells, in this order: cell [3], cell [4]. Nothing was sent."
)


def test_without_a_page_that_lists_them_the_cells_are_named(
    shell: Shell, emulator: Emulator
) -> None:
    """And nothing is sent, nor asked; where none is stale, that is said."""
    for name in "abc":
        shell.page(f"%chat echo:{name}", name)
    assert shell.page("%chat_retry --stale", "r").texts == ["No cell is stale. Nothing was sent."]
    shell.page("%chat echo:A", "a")
    sent = len(asked(emulator))
    assert shell.page("%chat_retry --stale", "r").texts == [NAMES]
    assert shell.machine("%chat_retry --stale").texts == [NAMES]
    assert len(asked(emulator)) == sent


def test_those_that_become_stale_are_counted_and_run(shell: Shell) -> None:
    """A question with --last 1 behind a stale one; and the running cell's own turn is told."""
    shell.page("%chat echo:a", "a")
    shell.page("%chat echo:b", "b")
    shell.page("%chat --last 1 echo:c", "c")
    shell.page("%chat echo:A", "a")
    (words,) = shell.page("%chat_retry --stale", "r").texts
    assert words.startswith("1 turn is stale, and 2 are asked again: ")
    (words,) = shell.page("%chat_retry --stale", "b").texts
    assert "1 turn asked elsewhere is stale, too: ask again in cell [3]." in words


def test_where_no_cell_is_named_the_numbers_of_those_that_asked_are_told(shell: Shell) -> None:
    """As in a notebook that a program runs: the turns are stale all the same."""
    for name in "abc":
        shell.machine(f"%chat echo:{name}")
    shell.machine("%chat_retry 2")
    assert shell.machine("%chat_retry --stale").texts == [
        "1 turn is stale: ask again in cell [4]. Nothing was sent."
    ]


def test_cells_that_have_not_run_in_this_kernel_go_by_their_questions(shell: Shell) -> None:
    """As those of a conversation that was loaded."""
    conversation = current_session().conversation
    for prompt, owner in (("one", "a"), ("two", "b"), ("three", "c"), ("ONE", "a")):
        carried = conversation.window(QuestionPlace(owner)).carried
        turn = Turn(prompt=prompt, reply=Reply("r"), owner=owner, entry="cell", carried=carried)
        conversation.add(turn)
    assert shell.page("%chat_retry --stale", "r").texts == [
        (
            "2 turns are stale: its cost is not known yet. Run these cells, in this order: "
            "the cell of “two”, the cell of “three”. Nothing was sent."
        )
    ]


COMPLETE = (
    "The reply of turn 1 is complete: there is nothing to continue. Nothing was sent or changed."
)


def test_a_reply_at_its_limit_is_gone_on_with(shell: Shell, emulator: Emulator) -> None:
    """The instruction goes with this request alone; the turn has both parts, the cell its own."""
    shell.page("%chat echo:above", "u")
    first = shell.page("%chat -n 3 count to 9", "a")
    ran = shell.page("whole = %chat_continue", "c")
    assert ran.texts == ["four, five, six, "]
    assert "Continued: “count to 9”" in ran.html
    record, reply = ran.records[0], shell["whole"]
    one, two = "one, two, three, ", "four, five, six, "
    assert record["reply"] == digest(two)
    assert record["continues"] == first.records[0]["turn"]
    assert record["turn"] == Turn(prompt="count to 9", reply=Reply(one + two)).digest
    assert record["usage"]["completion_tokens"] == 3
    assert (reply.text, reply.took) == (one + two, 2)
    counts = [each["usage"] for each in (first.records[0], record)]
    assert reply.usage == Usage(*(sum(each[name] for each in counts) for name in counts[0]))
    shell.page("%chat echo:below", "b")
    assert [each[2:] for each in asked(emulator)[1:]] == [
        ["count to 9"],
        ["count to 9", one, ASKED_FOR_THE_REST],
        ["count to 9", one + two, "echo:below"],
    ]
    assert bodies(emulator)[2]["max_tokens"] == 3
    rows = shell.page("%chat_history", "h").texts[0]
    assert (
        "(reply 2 of 2; at most 3 tokens; its reply was continued after “one, two, three,”;" in rows
    )
    assert shell.page("%chat_undo\n%chat_undo", "z").texts[1:] == [
        "Undone: the new reply to “count to 9”."
    ]
    assert current_session().conversation.turns[1].reply.text == one


def test_run_again_a_cell_goes_on_from_where_it_did(shell: Shell, emulator: Emulator) -> None:
    """A loop goes on until the end; then there is nothing to continue."""
    shell.page("%chat -n 3 count to 9", "a")
    shell.page("%chat_continue", "c")
    assert shell.page("%chat_continue", "c").texts == ["four, five, six, "]
    assert shell.page("%chat_continue", "d").texts == ["seven, eight, nine"]
    assert shell.page("%chat_continue 1", "d").texts == ["seven, eight, nine"]
    # Also where another cell has gone on from there.
    assert shell.page("%chat_continue", "c").texts == ["four, five, six, "]
    assert shell.page("%chat_continue", "d").texts == ["seven, eight, nine"]
    sent = len(bodies(emulator))
    ran = shell.run("%chat_continue", cell="e")
    assert ran.traceback == [
        f"InputError: {COMPLETE}",
        "Ask a new question; or %chat_retry asks this one again.",
    ]
    assert len(bodies(emulator)) == sent
    shell.page("%chat -n 3 count to 9", "a")
    loop = (
        "reply = %chat_continue\nwhile reply.finish_reason == 'length':\n    reply = %chat_continue"
    )
    assert shell.page(loop, "l").texts == ["four, five, six, ", "seven, eight, nine"]
    assert shell["reply"].text.endswith("eight, nine")


def test_a_questions_own_instructions_go_along_again(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another reply, and with the rest of one; those of the place do not."""
    shell.run("%%chat_instructions\nBe brief.", cell="i")
    code = "chatmagic.ask('count to 9', instructions='In French.', max_tokens=3)"
    shell.run(f"import chatmagic; r = {code}", cell="a")
    shell.page("%chat_continue", "c")
    shell.page("%chat_retry 1", "d")
    firsts = [messages[0] for messages in asked(emulator)]
    assert ["In French." in text for text in firsts] == [True, True, True]
    assert "Be brief." not in "".join(firsts)
    (turn,) = current_session().conversation
    assert turn.instructions is not None
    monkeypatch.setattr(
        "chatmagic.jupyter.commands.retry.own_instructions", lambda _: turn.instructions.bare
    )
    ran = shell.run("%chat_retry 1", cell="d")
    assert "The instructions of this question alone were not kept." in ran.traceback[0]
    assert len(bodies(emulator)) == 3


def test_an_interrupted_reply_is_gone_on_with(shell: Shell, emulator: Emulator) -> None:
    """Cut off on its way, too; a part that is cut off is joined, and can be gone on with."""
    emulator.settings = replace(FIXED, fault="cut", fault_after=2)
    shell.fails("%chat count to 6", cell="a")
    failed = shell.fails("%chat_continue", cell="c")
    assert failed.records[0]["state"] == "cut off"
    (turn,) = current_session().conversation
    assert (turn.reply.text, turn.state) == ("one, two, three, four, ", "cut off")
    emulator.settings = FIXED
    shell.page("%chat_continue", "d")
    (turn,) = current_session().conversation
    assert (turn.reply.text, turn.state) == ("one, two, three, four, five, six", "complete")
    shell.page("%chat_reset\n%chat -n 1 echo:one two", "r")
    emulator.settings = replace(FIXED, fault="cut", fault_after=0)
    shell.fails("%chat_continue", cell="e")
    assert current_session().conversation.turns[0].reply.text == "one "


def test_the_seam_can_be_seen(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line under the second part says what is left out; the text is exact."""
    shell.page("%chat -n 4 echo:The first line ends here", "a")
    monkeypatch.setattr(replies, "reply_to", lambda *_: "first line ends here and there")
    ran = shell.page("%chat_continue", "c")
    line = (
        "The first 16 characters here repeat the end of the first part, and are joined to it once."
    )
    assert ran.texts == ["first line ends here "]
    assert line in ran.html
    assert "Joined after “The first line ends”." in ran.html
    assert line in ran.outputs[0]["data"]["text/markdown"]
    (turn,) = current_session().conversation
    assert turn.reply.text == "The first line ends here "


SKY = "The sky is blue because the short waves of light are scattered more than the long ones."


def test_a_reply_that_begins_again_says_so(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It brings nothing new, or it is a reply of its own, which a file keeps as one, too."""
    shell.page(f"%chat -n 9 echo:{SKY}", "a")
    first = current_session().conversation.turns[0].reply.text
    monkeypatch.setattr(replies, "reply_to", lambda *_: SKY)
    ran = shell.page("reply = %chat_continue", "c")
    assert NOTHING_NEW.notebook in ran.html
    assert "seams" not in ran.records[0]
    assert shell["reply"].text == first
    monkeypatch.setattr(replies, "reply_to", lambda *_: "The sky is blue because air is.")
    ran = shell.page("reply = %chat_continue", "c")
    assert ANOTHER_REPLY.notebook in ran.html
    assert ran.records[0]["afresh"]
    assert shell["reply"].text == "The sky is blue because air is."
    assert [turn.reply.text for turn in current_session().conversation.turns] == [
        "The sky is blue because air is."
    ]
    file = tmp_path / "talk.json"
    shell.page(f"%chat_save {file}", "s")
    shell.page(f"%chat_reset\n%chat_load {file}", "l")
    assert current_session().conversation.turns[0].reply.text == "The sky is blue because air is."
    shell.page("%chat_retry --pick 1", "p")


def test_numbers_that_begin_again_are_kept_and_told(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of them is left out, and a line says that they may stand twice."""
    monkeypatch.setattr(replies, "reply_to", lambda *_: "1 2 3 4 5 6 7")
    shell.page("%chat -n 6 count", "a")
    ran = shell.page("reply = %chat_continue", "c")
    assert "It begins as the first part does" in ran.html
    assert shell["reply"].text == "1 2 3 4 5 6 1 2 3 4 5 6 "


def test_another_limit_for_the_rest(shell: Shell, emulator: Emulator) -> None:
    """It goes with this request alone; a wrong one sends nothing."""
    shell.page("%chat -n 2 count to 9", "a")
    ran = shell.page("%chat_continue -n 3 1", "c")
    assert ran.texts == ["three, four, five, "]
    assert [body["max_tokens"] for body in bodies(emulator)] == [2, 3]
    assert current_session().conversation.turns[0].max_tokens == 2
    refused = "\n".join(shell.fails("%chat_continue -n few", cell="d").traceback)
    assert "--max-tokens takes" in refused
    assert "Nothing was sent." in refused
    assert len(bodies(emulator)) == 2


def test_a_file_keeps_where_a_reply_was_continued(shell: Shell, tmp_path: Path) -> None:
    """In JSON, which a later kernel loads, and in Markdown."""
    shell.page("%chat -n 2 count to 6", "a")
    shell.page("%chat_continue", "c")
    shell.page("%chat_continue", "d")
    file = tmp_path / "talk.json"
    shell.page(f"%chat_save {file}", "s")
    shell.page(f"%chat_reset\n%chat_load {file}", "l")
    after = "after “one, two,” and “one, two, three, four,”"
    assert f"its reply was continued {after}" in shell.page("%chat_history", "h").texts[0]
    page = tmp_path / "talk.md"
    shell.page(f"%chat_save {page}", "s")
    assert f"## 1. Reply (continued {after})" in page.read_text(encoding="utf-8")


def test_code_and_json_are_shown_as_what_they_are(shell: Shell) -> None:
    """The rest of a block as code, the rest of a JSON as text; the value is that of the whole."""
    shell.page("%%chat -n 3\necho:```python\nx = 1\n# two\n```", "a")
    ran = shell.page("%chat_continue", "c")
    assert ran.texts == ["1\n# two\n"]
    assert ran.records[0]["block"] == "```python"
    assert "<h1" not in ran.html
    assert "<pre" in ran.html
    shell.page("%chat_reset", "r")
    shell.fails('%chat -n 2 --format json echo:{"a": [1, 2]}', cell="j")
    ran = shell.page("reply = %chat_continue", "k")
    assert "No JSON" not in ran.html
    assert shell["reply"].parsed == {"a": [1, 2]}


def test_what_was_allowed_goes_along(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in the question does not stop it again; one that became known since does."""
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    shell.page("%chat --allow-secrets -n 1 echo:tr0ub4dor&staple a b c", "a")
    shell.page("%chat_continue", "c")
    monkeypatch.setenv("OTHER_PASSWORD", "echo:tr0ub4dor&staple a b c")
    refused = shell.fails("%chat_continue", cell="d").traceback[0]
    assert "The turn whose reply is continued holds the value of" in refused


def test_replies_to_questions_of_other_entries_are_gone_on_with(shell: Shell) -> None:
    """Those in the background and those of Python, with the options of their questions."""
    shell.page("%%chat --background -n 2\ncount to 9", "a")
    ran = shell.page("%chat_continue", "c")
    assert ran.texts == ["three, four, "]
    shell.page("import chatmagic\nreply = chatmagic.ask('count to 9', max_tokens=3)", "p")
    ran = shell.page("whole = %chat_continue", "d")
    assert shell["whole"].text == "one, two, three, four, five, six, "
    texts = [turn.reply.text for turn in current_session().conversation]
    assert texts == ["one, two, three, four, ", "one, two, three, four, five, six, "]
