"""``%%chat`` and ``%chat`` in a real shell, with the emulator over loopback."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from shells import FIXED, Ran, Shell, asked, bodies
from short_service import ShortService

from chatmagic._json import chain_of
from chatmagic.client.client import Client
from chatmagic.conversation import suggestions
from chatmagic.conversation.record import check_seal
from chatmagic.errors import (
    GOES_ON,
    ChatInterrupted,
    CutOffError,
    InputError,
)
from chatmagic.models import Reply
from chatmagic.session import current
from chatmagic.session.current import current_session
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator


def test_a_cell_and_a_line_ask(shell: Shell, emulator: Emulator) -> None:
    """The body is the prompt, a line is the prompt, and the next ask goes on."""
    first = shell.machine("%%chat\necho:one *two*\n")
    second = shell.machine("%chat echo:What is a p-value?")
    assert (first.texts, second.texts) == (["one *two*"], ["What is a p-value?"])
    assert "<em>two</em>" in first.html
    assert bodies(emulator) == [
        {"messages": [{"role": "user", "content": "echo:one *two*"}], "stream": True},
        {
            "messages": [
                {"role": "user", "content": "echo:one *two*"},
                {"role": "assistant", "content": "one *two*"},
                {"role": "user", "content": "echo:What is a p-value?"},
            ],
            "stream": True,
        },
    ]
    assert [received.ways for received in emulator.requests] == [("bearer",)] * 2


@pytest.mark.parametrize(
    ("code", "prompt"),
    [
        ("%%chat\n>>> x\n... y\n", ">>> x\n... y"),
        ("%%chat\n    lead\n  ing  \n", "    lead\n  ing  "),
        ("%%chat\n{x} $y \\n !ls ?\n\n", "{x} $y \\n !ls ?\n"),
        ("%%chat only the line?", "only the line?"),
        ("%%chat the line\nand the body\n", "the line\nand the body"),
        ("%chat {x} $y it's (?", "{x} $y it's (?"),
        ("%chat what does -o do in gcc?", "what does -o do in gcc?"),
        ("%chat -t 0 -- -5 is what?", "-5 is what?"),
        ("%chat how do I undo?", "how do I undo?"),
    ],
)
def test_what_is_typed_is_sent(shell: Shell, emulator: Emulator, code: str, prompt: str) -> None:
    """Nothing expands, strips or helps on the way from the cell to the request."""
    shell.do("x, y = 1, 2")
    shell.machine(code)
    assert asked(emulator) == [[prompt]]


def test_options_reach_the_request(shell: Shell, emulator: Emulator) -> None:
    """Temperature and maximum are sent where they are set, in the cell or by %config."""
    shell.machine("%chat -t 0.5 -n 2 echo:one two three four")
    shell.do("%config ChatMagics.temperature = 0.2\n%config ChatMagics.max_tokens = 7")
    ran = shell.machine("%chat --no-history -n 3 echo:a")
    shell.machine("%chat --no-history --no-stream echo:b")
    first, second, third = bodies(emulator)
    assert (first["temperature"], first["max_tokens"], first["stream"]) == (0.5, 2, True)
    assert (second["temperature"], second["max_tokens"]) == (0.2, 3)
    assert (third["temperature"], third["max_tokens"], third["stream"]) == (0.2, 7, False)
    assert ran.records[0]["parameters"] == {
        "temperature": 0.2,
        "max_tokens": 3,
        "history": False,
    }
    assert [turn.reply.finish_reason for turn in current_session().conversation] == ["length"]
    assert "length" in shell.ran[1].html


def test_no_credits_leaves_their_line_out(shell: Shell) -> None:
    """In a page, for a machine and in a terminal; for the one that takes it back it is there."""
    shell.do("%config ChatMagics.no_credits = True")
    page, machine = shell.page("%%chat\necho:a", "one"), shell.machine("%%chat\necho:a")
    assert page.outputs[0]["data"] == machine.outputs[0]["data"]
    assert "credits" not in machine.html + shell.do("%%chat\necho:a").printed
    assert "credits" in shell.machine("%%chat --credits\necho:a").html


@pytest.mark.parametrize(
    ("trait", "flag"),
    [("no_history", "--history"), ("no_stream", "--stream"), ("raw", "--no-raw")],
)
def test_a_configured_switch_is_taken_back(
    shell: Shell, emulator: Emulator, trait: str, flag: str
) -> None:
    """A switch holds for every ask, and not for the one that takes it back."""
    shell.do(f"%config ChatMagics.{trait} = True\nx = 'value'")
    shell.machine("%%chat\necho:{{ x }}")
    shell.machine(f"%%chat {flag}\necho:{{{{ x }}}}")
    (first, second) = bodies(emulator)
    assert (first["stream"], second["stream"]) == (trait != "no_stream", True)
    assert len(current_session().conversation) == (1 if trait == "no_history" else 2)
    typed = "echo:{{ x }}" if trait == "raw" else "echo:value"
    assert [first["messages"][-1]["content"], second["messages"][-1]["content"]] == [
        typed,
        "echo:value",
    ]


def test_the_reply_goes_into_a_variable(shell: Shell) -> None:
    """``-o`` and an assignment give the reply, which is shown as well."""
    first = shell.machine("%%chat -o one\necho:first")
    second = shell.machine("two = %chat echo:second?")
    quiet = shell.machine("three = %chat -q echo:third")
    assert [shell[name].text for name in ("one", "two", "three")] == ["first", "second?", "third"]
    assert (first.texts, second.texts, quiet.outputs) == (["first"], ["second?"], [])
    assert isinstance(shell["one"], Reply)


def test_quiet_shows_nothing(shell: Shell, emulator: Emulator) -> None:
    """``--quiet`` asks and keeps the turn without any output."""
    for how in ({"person": False}, {"cell": "a"}, {}):
        ran = shell.do("%chat -q echo:hush", **how)
        assert (ran.messages, ran.printed) == ([], "")
    assert len(emulator.requests) == 3


def test_how_much_is_sent_is_said(shell: Shell, emulator: Emulator) -> None:
    """``--last`` sends the newest turns and says so while the cell is live."""
    for word in ("a", "b", "c"):
        shell.machine(f"%chat echo:{word}")
    ran = shell.page("%chat --last 1 echo:d", "cell")
    assert asked(emulator)[-1] == ["echo:c", "c", "echo:d"]
    assert "sent the last 1 of 3 turns" in ran.messages[0]["data"]["text/html"]
    assert "sent the last" not in ran.html
    printed = shell.do("%chat --last 0 echo:e").printed
    assert "(sent the last 0 of 4 turns)" in printed
    assert "sent the last" not in shell.do("%chat echo:f").printed


def test_no_history_touches_nothing(shell: Shell, emulator: Emulator) -> None:
    """``--no-history`` sends the prompt alone and keeps nothing of it."""
    shell.page("%%chat\necho:a", "one")
    shell.page("%%chat --no-history\necho:b", "one")
    shell.page("%%chat\necho:c", "two")
    assert asked(emulator) == [["echo:a"], ["echo:b"], ["echo:a", "a", "echo:c"]]


def test_values_are_put_in_and_not_recorded(shell: Shell, emulator: Emulator) -> None:
    """The request has the value; record and metadata have its expression, size and hash."""
    secret = "4711-value"
    shell.do(f"code = {secret!r}; n = 2")
    ran = shell.machine("%%chat -q\nsay {{ code }} and {{ n + 1 }} {x} {{{x}}}".replace("{{{", "{"))
    assert asked(emulator)[-1][0].startswith(f"say {secret} and 3 {{x}}")
    assert ran.outputs == []
    shown = shell.machine("%%chat --no-history\nhow long is {{ code }}?")
    (record,) = shown.records
    assert record["prompt"] == "how long is {{ code }}?"
    assert record["values"] == [
        {
            "expression": "code",
            "size": len(secret),
            "sha256": hashlib.sha256(secret.encode()).hexdigest(),
        }
    ]
    assert secret not in repr(shown.outputs[0]["metadata"])
    assert asked(emulator)[-1] == [f"how long is {secret}?"]


def test_raw_sends_the_braces(shell: Shell, emulator: Emulator) -> None:
    """``--raw`` evaluates nothing."""
    shell.machine("%%chat --raw\n{{ nothing_of_that_name }}")
    assert asked(emulator) == [["{{ nothing_of_that_name }}"]]


@pytest.mark.parametrize(
    "code",
    [
        "%%chat\n{{ nothing_of_that_name }}",
        "%%chat\n{{ 1 + }}",
        "%%chat\n# NBVAL_SKIP\nwhat is this?",
        "%%chat\n#| echo: false\nwhat is this?",
        "%%chat --temprature 0\nx",
        "%%chat -t warm\nx",
        "%%chat",
        "%%chat -t 0\n\n",
        "%chat -t 0",
        "%chat -o 2x why?",
    ],
)
def test_refused_before_anything_is_sent(shell: Shell, emulator: Emulator, code: str) -> None:
    """What cannot be meant fails in one line, or two with a hint; nothing is sent."""
    assert isinstance(shell.fails(code).error, InputError)
    assert emulator.requests == []
    assert len(current_session().conversation) == 0


@pytest.mark.parametrize("name", [name for name in suggestions.COMMANDS if name != "chat"])
def test_a_mistaken_command_is_refused(shell: Shell, emulator: Emulator, name: str) -> None:
    """``%chat undo`` names the right command and sends nothing."""
    word = name.removeprefix("chat_")
    for code in (f"%chat {word}", f"%%chat\n{word}\n", f"%%chat {word}", f"%chat %{name}"):
        assert f"%{name}" in shell.fails(code).traceback[0]
    assert emulator.requests == []


def test_a_wrong_option_names_the_nearest(shell: Shell) -> None:
    """A misspelt option is told the right one."""
    assert "--max-tokens" in shell.fails("%chat --max-token 5 why?").traceback[0]
    assert "--temperature" in shell.fails("%%chat --temprature 5\nwhy?").traceback[0]


def test_the_last_state_is_the_same_for_all(shell: Shell) -> None:
    """A page's last state is what a machine is shown once, data and metadata."""
    shell.do("%config ChatMagics.no_history = True")
    code = "%chat show me everything in markdown"
    (once,) = shell.machine(code).messages
    live = shell.page(code, "cell")
    (last,) = live.outputs
    first = live.messages[0]
    assert once["kind"] == "display"
    assert "Waiting" in first["data"]["text/html"]
    assert "text/plain" not in first["data"]
    assert once["data"]["text/plain"] == last["data"]["text/plain"]
    # Credits go on, and a cell that is known has its hash in the record.
    left_before, left_after = "99 of 100", "98 of 100"
    assert once["data"]["text/html"].replace(left_before, left_after) == last["data"]["text/html"]
    old, new = once["metadata"]["chatmagic"], dict(last["metadata"]["chatmagic"])
    assert len(new.pop("owner")) == 16
    assert check_seal(once["metadata"]["chatmagic"], once["data"]) == "sealed"
    assert check_seal(last["metadata"]["chatmagic"], last["data"]) == "sealed"
    for name in ("credits", "took", "seal"):
        old.pop(name, None)
        new.pop(name)
    assert old == new


def test_a_record_names_the_model_asked_and_lists_the_newest_shown_turn(shell: Shell) -> None:
    """What a quiet cell asked is listed too; of those before it is the number and one digest."""
    for code in ("%chat echo:a", "%chat echo:b", "%chat -q echo:c"):
        shell.page(code, code)
    shell.do("%config ChatMagics.extra_body = {'model': 'small'}")
    (told,) = shell.page("%chat echo:d", "d").records
    a, b, c, _ = (turn.digest for turn in current_session().conversation)
    assert (told["asked_model"], told["model"]) == ("small", "emulator")
    assert told["carried"] == [b, c]
    assert told["earlier"] == {"count": 1, "chain": chain_of([a])}


def test_streaming_is_configured(shell: Shell) -> None:
    """``ChatMagics.stream`` overrules what is known of the front end."""
    shell.do("%config ChatMagics.stream = 'off'")
    assert len(shell.page("%chat echo:a", "one").messages) == 1
    assert "\r\u241b[31mred\n\n(" in shell.do("%chat echo:\x1b[31mred").printed
    shell.do("%config ChatMagics.stream = 'text'")
    assert "\rb\n" in shell.page("%chat echo:b", "two").printed
    shell.do("%config ChatMagics.stream = 'updates'")
    assert shell.machine("%chat echo:c").messages[-1]["kind"] == "update"


def test_a_terminal_is_printed_to(shell: Shell) -> None:
    """A person without a page reads the text and the credits, and there is no display."""
    ran = shell.do("%chat echo:\x1b[31mred\x1b[0m?")
    assert "\x1b" not in ran.printed
    assert "red" in ran.printed
    assert "99 of 100 credits left" in ran.printed
    assert ran.messages == []
    shell.do("%chat -q -o r echo:\x1b[31mred")
    assert "\x1b[31mred" not in shell.do("r").printed
    assert shell["r"].text == "\x1b[31mred"


def test_a_cell_that_runs_again_replaces_its_turn(shell: Shell, emulator: Emulator) -> None:
    """The turn is replaced in place, its request carries what is before, later ones are stale."""
    shell.page("%%chat\necho:a", "one")
    shell.page("%%chat\necho:b", "two")
    shell.page("%%chat\necho:A", "one")
    assert asked(emulator)[-1] == ["echo:A"]
    history = shell.do("%chat_history").texts[0]
    assert [line for line in history.splitlines() if line[0].isdigit()][:2] == [
        "1. echo:A",
        "2. echo:b",
    ]
    assert history.count("stale, because cell [") == 1
    shell.page("%%chat\necho:b", "two")
    assert "stale" not in shell.do("%chat_history").texts[0]
    assert "1 stale" not in shell.do("%chat").printed


def test_a_loop_belongs_together(shell: Shell, emulator: Emulator) -> None:
    """The asks of one execution go on from each other; a new execution replaces them all."""
    code = "for word in ('a', 'b'):\n    r = %chat echo:again?\n"
    shell.page(code, "loop")
    shell.page("%chat echo:after", "next")
    shell.page(code, "loop")
    assert [len(messages) for messages in asked(emulator)] == [1, 3, 5, 1, 3]
    prompts = [turn.prompt for turn in current_session().conversation]
    assert prompts == ["echo:again?", "echo:again?", "echo:after"]


@pytest.mark.parametrize("person", [True, False])
def test_a_reply_that_is_cut_off(shell: Shell, emulator: Emulator, person: bool) -> None:
    """What came is shown and kept, marked; the cell fails in one line or two."""
    emulator.settings = replace(FIXED, fault="cut", fault_after=2)
    cell = "cell" if person else None
    ran = shell.fails("%%chat -o part\necho:one two three", cell=cell, person=person)
    assert isinstance(ran.error, CutOffError)
    assert str(ran.error.hint).endswith(GOES_ON)
    assert ran.texts == ["one two "]
    assert "Cut off" in ran.html
    assert ran.records[0]["state"] == "cut off"
    assert shell["part"].text == "one two "
    (turn,) = current_session().conversation
    assert turn.state == "cut off"
    assert "cut off" in shell.do("%chat_history").texts[0]


def test_an_interrupt(shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop keeps what came, marked; the cell ends in one line and the next one goes on."""
    display = import_module("chatmagic.jupyter.views")
    plain = display.Live.fragment

    def stopped(self: Any, text: str) -> None:
        plain(self, text)
        if text.startswith("two"):
            raise KeyboardInterrupt

    monkeypatch.setattr(display.Live, "fragment", stopped)
    ran = shell.fails("%%chat -o part\necho:one two three four", cell="cell")
    assert isinstance(ran.error, ChatInterrupted)
    assert isinstance(ran.error, KeyboardInterrupt)
    assert ran.error.hint == GOES_ON
    assert ran.texts == ["one two "]
    assert "Interrupted" in ran.html
    assert ran.records[0]["state"] == "interrupted"
    assert shell["part"].state == "interrupted"
    shell.page("%chat echo:next", "other")
    assert asked(emulator)[-1] == ["echo:one two three four", "one two ", "echo:next"]


def test_a_failure_leaves_nothing_behind(shell: Shell, emulator: Emulator) -> None:
    """A request that fails before its first fragment leaves conversation and page as before."""
    shell.page("%%chat\necho:kept", "one")
    for fault, after in (("error", -1), ("cut", -1), ("cut", 0), ("error", 0), ("garbage", 0)):
        emulator.settings = replace(FIXED, fault=fault, fault_after=after)  # type: ignore[arg-type]
        ran = shell.fails("%%chat\necho:gone", cell="one")
        assert ran.outputs == []
    assert [turn.prompt for turn in current_session().conversation] == ["echo:kept"]
    ran = shell.fails("print('before')\n%chat echo:gone", cell="two")
    assert ran.printed == "before\n"
    assert "Waiting" not in ran.html
    assert all(message["kind"] != "clear" for message in ran.messages)


def test_a_comment_for_a_tool_above_the_cell_is_refused(shell: Shell, emulator: Emulator) -> None:
    """Above the magic it would break the cell; it gets a hint, and nothing is sent."""
    refused = shell.fails("# NBVAL_IGNORE_OUTPUT\n%%chat\nhello")
    assert isinstance(refused.error, InputError)
    assert emulator.requests == []


@pytest.mark.parametrize("how", ["machine", "page", "terminal"])
def test_the_settings_of_a_reply_are_shown(shell: Shell, how: str) -> None:
    """In the last state, from its record; the text is the raw reply, and without them nothing."""

    def ask(line: str) -> tuple[Ran, str]:
        ran = shell.run(line, cell="A" if how == "page" else None, person=how != "machine")
        return ran, ran.printed if how == "terminal" else ran.html

    for line in ("%chat echo:a", "%chat -t 0.2 -n 200 echo:a"):
        ran, seen = ask(line)
        assert ("t 0.2 · max 200" in seen) is ("-t" in line), seen
        if how != "terminal":
            assert ran.texts == ["a"]
    assert "t 0.2 · max 200" in shell.do("%chat_history").texts[0]
    shell.do("%config ChatMagics.temperature = 1")
    shell.do("%config ChatMagics.model = 'small'")
    assert "t 1 · model small" in ask("%chat echo:a")[1]
    shell.do("%config ChatMagics.temperature = 2")
    assert "t 2" in ask("%chat echo:a")[1]


def test_a_replayed_reply_shows_its_settings(shell: Shell, tmp_path: Path) -> None:
    """They belong to the last state, so a replay shows the same, letter for letter."""
    tape = tmp_path / "tape.jsonl"
    shell.do(f"%chat_cassette {tape} --record")
    recorded = shell.machine("%chat -t 0.2 echo:a")
    shell.do("%chat_reset")
    shell.do(f"%chat_cassette {tape} --replay")
    assert shell.machine("%chat -t 0.2 echo:a").html == recorded.html
    assert "t 0.2" in recorded.html


def test_a_secret_fails_the_cell_unless_it_allows_it(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cell names the expression and the option, and nothing it shows holds the secret."""
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    shell.machine("import os")
    ran = shell.fails("%%chat\necho:{{ os.environ['DB_PASSWORD'] }}")
    what, hint = ran.traceback
    assert what == (
        "InputError: The value of {{ os.environ['DB_PASSWORD'] }} holds the value of the "
        "environment variable DB_PASSWORD. Nothing was sent."
    )
    assert hint.endswith("allow it: --allow-secrets sends it from this cell.")
    assert "tr0ub4dor" not in ran.everything
    assert bodies(emulator) == []
    shell.machine("%%chat --allow-secrets\necho:{{ os.environ['DB_PASSWORD'] }}")
    shell.machine("%chat echo:next")
    assert asked(emulator)[-1][0] == "echo:tr0ub4dor&staple"


def test_a_secret_in_an_output_or_a_traceback_fails_the_cell(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes along is named, also in a dry run; nothing shows it until it is allowed."""
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor'&\"staple")
    shell.machine("import os\nprint({'p': os.environ['DB_PASSWORD']})")
    shell.run("raise ValueError('{{ 1 }} {os.environ[1]} ' + os.environ['DB_PASSWORD'])")
    for name, rest, place in (
        ("%%chat", "--above 2\necho:x", "cell 2 above"),
        ("%chat_fix", "", "error ValueError"),
    ):
        before = bodies(emulator)
        for code in (f"{name} {rest}", f"{name} --dry {rest}"):
            ran = shell.fails(code)
            assert ran.traceback[0] == (
                f"InputError: What goes along ({place}) holds the value of the environment "
                "variable DB_PASSWORD. Nothing was sent."
            )
            assert "tr0ub4dor" not in ran.everything
        assert bodies(emulator) == before
        shell.machine(f"{name} --no-history --allow-secrets {rest}")
        assert "tr0ub4dor" in asked(emulator)[-1][0]


def test_a_conversation_that_is_too_long_goes_once_more_where_the_setting_says_so(
    bare: Shell,
) -> None:
    """The cell says what was left out, in its output and in its record."""
    service = ShortService(10)
    current.use_session(Session(Client(transport=service)))
    bare.machine("%chat aaaa")
    assert "too long" in bare.fails("%chat bbbb").traceback[0]
    bare.do("%config ChatMagics.fit = True")
    ran = bare.machine("%chat bbbb")
    assert service.prompts == ["aaaa", "aaaa bbbb", "aaaa bbbb", "bbbb"]
    assert "sent without the oldest 1 turn." in ran.html
    assert ran.records[0]["left_out"] == 1
    service.most = 100
    bare.machine("%chat cccc")
    service.most = 10
    assert bare.machine("%chat_retry").records[0]["left_out"] == 2
