"""The magics, in a real shell, with the emulator over loopback."""

from __future__ import annotations

import getpass
import hashlib
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from shells import KEY, Ran, Shell, alone

import chatmagic
from chatmagic import options
from chatmagic.current import current_session
from chatmagic.emulator import Emulator, Settings
from chatmagic.errors import (
    AuthenticationError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    InputError,
    RateLimitError,
)
from chatmagic.wire import Reply

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIXED = Settings(now=NOON)


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """Give a running emulator whose clock stands still."""
    with Emulator(FIXED) as running:
        yield running


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    """Give a shell with the extension, connected to nothing; look for the key in the end."""
    with alone(monkeypatch, tmp_path):
        made = Shell()
        yield made
        for ran in made.ran:
            assert KEY not in ran.everything
        for number in range(1, len(made.ran) + 1):
            assert KEY not in made.run(f"%history -n {number}").everything
        for turn in current_session().conversation:
            assert KEY not in repr(turn)
        assert KEY not in repr(current_session().connection)


@pytest.fixture
def shell(bare: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give a shell with the extension, which the environment connects to the emulator."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    return bare


def asked(emulator: Emulator) -> list[list[str]]:
    """Give the contents of the messages of each request."""
    return [[message["content"] for message in body["messages"]] for body in bodies(emulator)]


def bodies(emulator: Emulator) -> list[Any]:
    """Give the bodies of the requests."""
    return [received.body for received in emulator.requests]


# --- asking ---------------------------------------------------------------------------------


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


def test_nothing_is_left_to_display(shell: Shell) -> None:
    """A bare line leaves no Out; a reply that was not just shown displays itself."""
    for code in ("%chat echo:a", "%%chat\necho:b", "r = %chat echo:c"):
        assert "Out" not in shell.machine(code).printed
    assert "Out" not in shell.do("%chat echo:d").printed
    assert "c" in shell.do("r").printed.split("Out")[1]
    formatter: Any = shell.shell.display_formatter
    html = formatter.format(shell["r"])[0]["text/html"]
    assert 'class="chatmagic ' in html
    both = shell.machine("r = %chat echo:shown once\nr")
    assert both.printed.count("shown once") == 0
    again = shell.do("%chat -q -o r echo:quiet one\nr")
    assert "quiet one" in again.printed


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


# --- values ---------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", [name for name in options.COMMANDS if name != "chat"])
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


# --- what a front end gets ------------------------------------------------------------------


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
    for name in ("credits", "took"):
        old.pop(name, None)
        new.pop(name)
    assert old == new


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


# --- the conversation -----------------------------------------------------------------------


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
    assert history.count("stale: ") == 1
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


def test_undo_redo_and_reset(shell: Shell, emulator: Emulator) -> None:
    """Each takes its step, says which, and leaves a record of its own."""
    shell.page("%%chat\necho:a", "one")
    said = {
        "%chat_undo": ("undo", "Took back the question “echo:a”."),
        "%chat_redo": ("redo", "Put back the question “echo:a”."),
        "%chat_reset": ("reset", "A new conversation begins. 1 turn put aside"),
    }
    for code, (kind, words) in said.items():
        ran = shell.machine(code)
        assert ran.records == [{"version": 1, "kind": kind}]
        assert ran.texts[0].startswith(words)
    assert len(current_session().conversation) == 0
    assert shell.machine("%chat_undo").texts == ["Took back the reset (1 turn)."]
    shell.machine("%chat_undo")
    assert shell.machine("%chat_undo").texts == ["Nothing to take back."]
    shell.page("%chat echo:b", "two")
    assert asked(emulator)[-1] == ["echo:b"]
    assert shell.machine("%chat_redo").texts == ["Nothing to do again."]


NOTEBOOKS: dict[str, list[str]] = {
    "plain": ["%%chat\necho:a", "%chat echo:b?", "%%chat --last 1\necho:c"],
    "undo": ["%%chat\necho:a", "%%chat\necho:b", "%chat_undo", "%%chat\necho:c", "%chat_redo"],
    "reset": ["%%chat\necho:a", "%chat_reset", "%%chat\necho:b", "%%chat\necho:c"],
    "loop": ["%%chat\necho:a", "for i in range(3):\n    %chat echo:loop?\n", "%%chat\necho:z"],
    "redo": ["%chat_undo", "%chat echo:a", "%chat_reset", "%chat_undo", "%chat echo:b"],
    "all": [
        "%chat_reset",
        "%%chat\necho:a",
        "for i in range(2):\n    r = %chat echo:loop?\n",
        "%chat_undo",
        "%chat --no-history echo:aside",
        "%chat_redo",
        "%chat_redo",
        "%%chat -o reply\necho:b",
        "%chat_reset",
        "%chat echo:{{ reply }}",
        "%chat_undo",
        "%chat_undo",
        "%chat echo:end",
    ],
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_run_all_twice(shell: Shell, emulator: Emulator, name: str) -> None:
    """Run All after Run All sends the same bodies in the same order and leaves the same."""
    runs, lefts = [], []
    for _ in range(3):
        before = len(emulator.requests)
        for number, code in enumerate(NOTEBOOKS[name]):
            shell.page(code, f"cell-{number}")
        runs.append(bodies(emulator)[before:])
        lefts.append([turn.prompt for turn in current_session().conversation])
    assert runs[0] == runs[1] == runs[2]
    assert lefts[0] == lefts[1] == lefts[2]


def test_history(shell: Shell) -> None:
    """One line a turn, one turn in full, everything, and one clear line for anything else."""
    assert shell.do("%chat_history").texts == ["The conversation is empty."]
    shell.machine("%%chat\necho:first *words*")
    shell.machine("%%chat\necho:" + "long " * 40)
    table = shell.do("%chat_history")
    assert "1. echo:first *words*" in table.texts[0]
    assert "<th scope" in table.html
    one = shell.do("%chat_history 1")
    assert "first *words*" in one.texts[0]
    assert "<em>words</em>" in one.html
    assert "long" not in one.texts[0]
    assert "long " * 40 in shell.do("%chat_history all").texts[0]
    for wrong in ("0", "3", "-1", "x", "1 2", "²"):
        assert "1 to 2" in shell.fails(f"%chat_history {wrong}").traceback[0]


@pytest.mark.parametrize("name", ["undo", "redo", "reset", "credits"])
def test_commands_without_words(shell: Shell, name: str) -> None:
    """A command that takes nothing says so, and does nothing."""
    shell.machine("%chat echo:a")
    ran = shell.fails(f"%chat_{name} everything")
    assert f"%chat_{name} takes nothing" in ran.traceback[0]
    assert len(current_session().conversation) == 1


# --- credits --------------------------------------------------------------------------------


def test_credits(shell: Shell, emulator: Emulator) -> None:
    """Unknown is unknown; then what is left, what the last turn took, as of when."""
    unknown = shell.do("%chat_credits")
    assert unknown.texts == ["Credits: unknown. No answer has told them yet."]
    emulator.settings = replace(FIXED, credits=10, cost=3)
    shell.machine("%chat echo:a")
    known = shell.do("%chat_credits")
    assert "7 of 10 credits left" in known.texts[0]
    assert "took" not in known.texts[0]
    assert "As of 2026-01-01 12:00:00 UTC" in known.texts[0]
    assert "2026-01-02 00:00 UTC" in known.html
    shell.machine("%chat echo:b")
    assert "took about 3" in shell.do("%chat_credits").texts[0]
    low = shell.machine("%chat echo:c")
    assert "credits low: 1 of 10 left" in low.html
    assert "credits low: 1 of 10 left" in shell.do("%chat_credits").texts[0]


def test_no_credits_left(shell: Shell, emulator: Emulator) -> None:
    """The rate-limit error says used of limit and the reset, whatever its status."""
    for status in (429, 403, 503):
        emulator.settings = replace(FIXED, credits=0, rate_limit_status=status)
        ran = shell.fails("%chat echo:a", person=False)
        assert isinstance(ran.error, RateLimitError)
        assert "0 of 0 used" in ran.traceback[0]
        assert "2026-01-02 00:00 UTC" in ran.traceback[0]
        assert ran.outputs == []
    assert "no credits left" in shell.do("%chat_credits").texts[0].casefold()
    assert len(current_session().conversation) == 0


# --- what goes wrong ------------------------------------------------------------------------


@pytest.mark.parametrize("person", [True, False])
def test_a_reply_that_is_cut_off(shell: Shell, emulator: Emulator, person: bool) -> None:
    """What came is shown and kept, marked; the cell fails in one line or two."""
    emulator.settings = replace(FIXED, fault="cut", fault_after=2)
    cell = "cell" if person else None
    ran = shell.fails("%%chat -o part\necho:one two three", cell=cell, person=person)
    assert isinstance(ran.error, CutOffError)
    assert ran.texts == ["one two "]
    assert "Cut off" in ran.html
    assert ran.records[0]["state"] == "cut off"
    assert shell["part"].text == "one two "
    (turn,) = current_session().conversation
    assert turn.state == "cut off"
    assert "cut off" in shell.do("%chat_history").texts[0]


def test_an_interrupt(shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop keeps what came, marked; the cell ends in one line and the next one goes on."""
    display = import_module("chatmagic.display")
    plain = display.Live.fragment

    def stopped(self: Any, text: str) -> None:
        plain(self, text)
        if text.startswith("two"):
            raise KeyboardInterrupt

    monkeypatch.setattr(display.Live, "fragment", stopped)
    ran = shell.fails("%%chat -o part\necho:one two three four", cell="cell")
    assert isinstance(ran.error, ChatInterrupted)
    assert isinstance(ran.error, KeyboardInterrupt)
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


# --- connecting -----------------------------------------------------------------------------


def test_unconnected(bare: Shell) -> None:
    """The first ask without an address says how to connect, in two lines."""
    ran = bare.fails("%%chat\nhello")
    assert isinstance(ran.error, ConnectError)
    assert len(ran.traceback) == 2
    assert "CHATMAGIC_BASE_URL" in ran.traceback[0]
    assert "%chat_connect emulator" in ran.traceback[1]
    state = bare.do("%chat").printed
    assert "Not connected yet" in state
    assert "Credits: unknown" in state


def test_the_kernels_own_emulator(bare: Shell) -> None:
    """It needs no account, says what it is, and starts afresh with a fixed clock."""
    said = bare.do("%chat_connect emulator").printed
    assert "emulator" in said
    assert "no key" in said
    ran = bare.machine("%chat echo:hi")
    assert ran.texts == ["hi"]
    assert ran.records[0]["origin"] == "emulator"
    assert ran.records[0]["date"] == "2026-01-01T12:00:00Z"
    assert "ago" not in bare.do("%chat_credits").texts[0]
    assert "emulator" in bare.do("%chat").printed
    assert "emulator" in bare.fails("%chat_login").traceback[0]


@pytest.mark.parametrize(
    "words",
    ["", "a b", "chat.example.org", "ftp://example.org", "https://example.org?u:p", "http://"],
)
def test_a_wrong_address(bare: Shell, words: str) -> None:
    """What is no address is refused in a line that repeats none of it."""
    ran = bare.fails(f"%chat_connect {words}")
    assert isinstance(ran.error, InputError)
    assert "u:p" not in "\n".join(ran.traceback)


def test_another_origin_gets_no_key(shell: Shell, emulator: Emulator) -> None:
    """The environment's key goes to the environment's address alone."""
    with Emulator(FIXED) as other:
        said = shell.do(f"%chat_connect {other.url}").printed
        assert "%chat_login" in said
        ran = shell.fails("%chat echo:a")
        assert isinstance(ran.error, AuthenticationError)
        assert emulator.url in ran.traceback[0]
        assert other.requests == []
        shell.do(f"%chat_connect {emulator.url}")
        shell.machine("%chat echo:b")
        assert len(emulator.requests) == 1
        shell.do("%unload_ext chatmagic\n%load_ext chatmagic")
        shell.do(f"%config ChatMagics.base_url = {other.url!r}")
        shell.machine("%chat echo:c")
        assert (len(emulator.requests), other.requests) == (2, [])


def test_config_in_a_cell_gets_no_key(
    bare: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address that a cell configures does not get the environment's key."""
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    bare.do(f"%config ChatMagics.base_url = {emulator.url!r}")
    assert isinstance(bare.fails("%chat echo:a").error, AuthenticationError)
    assert emulator.requests == []


def test_a_configuration_file(
    bare: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address from a file gets the environment's key, until a cell changes it."""
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    bare.do("%unload_ext chatmagic")
    made = Shell(config={"ChatMagics": {"base_url": emulator.url, "temperature": 0.25}})
    made.machine("%chat echo:a")
    assert bodies(emulator)[0]["temperature"] == 0.25
    assert "configuration file" in made.do("%chat").printed
    with Emulator(FIXED) as other:
        made.do(f"%config ChatMagics.base_url = {other.url!r}")
        assert isinstance(made.fails("%chat echo:b").error, AuthenticationError)
        assert other.requests == []


@pytest.mark.parametrize("way", ["bearer", "x-api-key", "query", "none"])
def test_the_ways_of_the_key(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The key is given in the way that is set, alone."""
    monkeypatch.setenv("CHATMAGIC_AUTH", way)
    ran = shell.run("%chat echo:a", person=False)
    ways = () if way == "none" else (way,)
    assert [received.ways for received in emulator.requests] == [ways]
    assert (ran.error is None) == (way != "none")


def test_extra_body(shell: Shell, emulator: Emulator) -> None:
    """``extra_body`` is merged into the request, for servers that want more."""
    shell.do("%config ChatMagics.extra_body = {'model': 'small'}")
    shell.machine("%chat echo:a")
    assert bodies(emulator)[0]["model"] == "small"


# --- the key --------------------------------------------------------------------------------


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[str]]:
    """Let a person type a key into the hidden prompt, and an answer after it."""
    questions: list[str] = []

    def typing(key: str, place: str) -> list[str]:
        def hidden(question: str = "") -> str:
            questions.append(question)
            return key

        def seen(question: object = "") -> str:
            questions.append(str(question))
            return place

        monkeypatch.setattr(getpass, "getpass", hidden)
        monkeypatch.setattr("builtins.input", seen)
        return questions

    return typing


def test_login_for_this_kernel(
    bare: Shell, emulator: Emulator, answers: Callable[[str, str], list[str]], tmp_path: Path
) -> None:
    """A typed key goes to the address it was typed for, and nowhere else."""
    questions = answers(KEY, "")
    bare.do(f"%chat_connect {emulator.url}")
    said = bare.do("%chat_login").printed
    assert emulator.url in questions[0]
    assert "this kernel only" in said
    bare.machine("%chat echo:a")
    assert emulator.requests[0].ways == ("bearer",)
    assert "key from %chat_login" in bare.do("%chat").printed
    with Emulator(FIXED) as other:
        bare.do(f"%chat_connect {other.url}")
        bare.fails("%chat echo:b")
        assert other.requests == []
    assert not (tmp_path / "config").exists()
    bare.do(f"%chat_connect {emulator.url}")
    assert "this kernel" in bare.do("%chat_login --forget").printed
    bare.fails("%chat echo:c")
    assert len(emulator.requests) == 1


def test_login_that_is_kept(
    bare: Shell, emulator: Emulator, answers: Callable[[str, str], list[str]], tmp_path: Path
) -> None:
    """A kept key is in a private file, is found by the next kernel, and can be forgotten."""
    answers(KEY, "f")
    bare.do(f"%chat_connect {emulator.url}")
    assert "private file" in bare.do("%chat_login").printed
    (file,) = (tmp_path / "config").rglob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    bare.do("%unload_ext chatmagic")
    made = Shell()
    made.do(f"%chat_connect {emulator.url}")
    assert "key from private file" in made.do("%chat").printed
    made.machine("%chat echo:a")
    assert "private file" in made.do("%chat_login --forget").printed
    assert KEY not in file.read_text()
    made.fails("%chat echo:b")
    assert len(emulator.requests) == 1


def test_login_is_careful(
    bare: Shell, emulator: Emulator, answers: Callable[[str, str], list[str]]
) -> None:
    """A key on the line is refused unrepeated; an empty or broken one is not kept."""
    bare.do(f"%chat_connect {emulator.url}")
    for word in ("sk-typed-on-the-line", "--keep", "--forget now"):
        questions = answers(KEY, "")
        ran = bare.fails(f"%chat_login {word}")
        assert questions == []
        assert "sk-typed" not in "\n".join(ran.traceback)
    for wrong in ("", "  ", "two words", "na\u00efve"):
        answers(wrong, "")
        assert isinstance(bare.fails("%chat_login").error, InputError)
    bare.fails("%chat echo:a")
    assert emulator.requests == []


def test_login_where_nobody_can_be_asked(
    bare: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A front end without input gets one line and a hint."""

    def refuses(_: str) -> str:
        raise RuntimeError("raw_input was called, but this frontend does not support input")

    monkeypatch.setattr(getpass, "getpass", refuses)
    bare.do(f"%chat_connect {emulator.url}")
    ran = bare.fails("%chat_login", person=False)
    assert "CHATMAGIC_API_KEY" in ran.traceback[1]


def test_the_state_shows_no_key(shell: Shell, emulator: Emulator) -> None:
    """``%chat`` says where, the key from where, the conversation and the credits."""
    shell.machine("%chat echo:a")
    shell.do("%config ChatMagics.temperature = 0.5")
    state = shell.do("%chat").printed
    assert emulator.url in state
    assert "(CHATMAGIC_BASE_URL)" in state
    assert "key from CHATMAGIC_API_KEY" in state
    assert "1 turn." in state
    assert "99 of 100 credits left" in state
    assert "temperature = 0.5" in state
    assert len(emulator.requests) == 1


def test_the_key_is_in_nothing(
    shell: Shell, emulator: Emulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """No configuration, help, error or repr shows the key; the fixture looks at the rest."""
    shell.machine("%chat -o r echo:a")
    emulator.settings = replace(FIXED, fault="error", fault_after=-1)
    shell.fails("%chat echo:b")
    emulator.settings = FIXED
    shell.fails(f"%chat is {KEY} my key?")
    for code in ("%config ChatMagics", "%%chat?", "%chat??", "r", "%chat_history all", "%whos"):
        ran = shell.run(code)
        assert KEY not in ran.everything
        assert KEY not in repr(ran.result)
    assert KEY not in "".join(capfd.readouterr())
    del shell.ran[3:4]  # the cell in which the key was typed, history and all
    history: Any = shell.shell.history_manager
    history.input_hist_raw[4] = history.input_hist_parsed[4] = ""


# --- the extension --------------------------------------------------------------------------


def test_loading_twice_and_reloading(shell: Shell, emulator: Emulator) -> None:
    """Loading twice is harmless, and reloading keeps the conversation."""
    shell.machine("%chat echo:a")
    before = shell.shell.find_cell_magic("chat")
    again = shell.do("%load_ext chatmagic")
    import_module("chatmagic.magics").load(shell.shell)
    assert shell.shell.find_cell_magic("chat") == before
    assert again.warned == ""
    reloaded = shell.do("%reload_ext chatmagic")
    assert (reloaded.printed, reloaded.warned) == ("", "")
    shell.machine("%chat echo:b?")
    assert asked(emulator) == [["echo:a"], ["echo:a", "a", "echo:b?"]]


def test_python_in_a_cell(shell: Shell, emulator: Emulator) -> None:
    """What a cell asks from Python follows the magics' rules; after unloading, nobody's."""
    shell.page("%%chat\necho:a", "one")
    code = "import chatmagic\nr = chatmagic.ask('echo:python')"
    assert shell.page(code, "two").messages == []
    shell.page("%%chat\necho:c", "three")
    shell.page(code, "two")
    assert shell["r"].text == "python"
    assert [turn.prompt for turn in current_session().conversation] == [
        "echo:a",
        "echo:python",
        "echo:c",
    ]
    assert asked(emulator)[1] == asked(emulator)[3] == ["echo:a", "a", "echo:python"]
    with Emulator(FIXED) as other:
        shell.do(f"%chat_connect {other.url}")
        shell.fails(code, cell="two")
        shell.do("%unload_ext chatmagic")
        shell.page(code, "two")
        assert other.requests == []
    assert len(asked(emulator)) == 5
    assert [turn.owner for turn in current_session().conversation][-1] is None


def test_unloading_leaves_nothing(bare: Shell) -> None:
    """Magics, transformers, formatters and configuration are as they were before."""
    fresh = Shell(extension=False)
    fresh.do("%unload_ext nothing_of_that_name")  # IPython's own magics come when used

    def found() -> tuple[Any, ...]:
        shell: Any = fresh.shell
        manager = shell.input_transformer_manager
        formatters = shell.display_formatter.formatters
        return (
            {kind: set(held) for kind, held in shell.magics_manager.magics.items()},
            set(shell.magics_manager.registry),
            list(manager.cleanup_transforms),
            list(manager.token_transformers),
            {
                kind: (set(held.type_printers), set(held.deferred_printers))
                for kind, held in formatters.items()
            },
            [type(item).__name__ for item in shell.configurables],
        )

    before = found()
    loaded = fresh.do("%load_ext chatmagic")
    assert (loaded.printed, loaded.warned, loaded.messages) == ("", "", [])
    assert set(options.COMMANDS) <= set(fresh.shell.magics_manager.magics["line"])
    assert found() != before
    fresh.do("%chat_connect emulator\nr = %chat -q echo:a")
    fresh.do("r")
    fresh.do("%unload_ext chatmagic")
    assert found() == before
    assert "UsageError" in repr(fresh.run("%%chat\nhello").error) or fresh.ran[-1].warned
    del bare


def test_a_replaced_magic_is_given_back(bare: Shell) -> None:
    """Somebody else's %%chat is replaced with one line of warning, and given back."""
    del bare
    fresh = Shell(extension=False)
    fresh.do("from IPython.core.magic import register_cell_magic, register_line_magic")
    fresh.do("@register_cell_magic\ndef chat(line, cell):\n    return 'theirs'")
    loaded = fresh.do("%load_ext chatmagic")
    assert len(loaded.warned.splitlines()) == 1
    assert "%unload_ext" in loaded.warned
    assert "Not connected" in fresh.fails("%%chat\nhello").traceback[0]
    fresh.do("%unload_ext chatmagic")
    assert fresh.do("%%chat\nhello").result == "theirs"
    assert "chat" not in fresh.shell.magics_manager.magics["line"]


def test_help(shell: Shell) -> None:
    """``%%chat?`` shows usage with examples, and every command has its help."""
    usage = shell.do("%%chat?").printed
    assert all(option.flags[-1] in usage for option in options.OPTIONS)
    assert "{{ source }}" in usage
    for name in options.COMMANDS:
        assert "Docstring" in shell.do(f"%{name}?").printed
    assert shell.do("%chat ?").printed == shell.do("%chat?").printed


def test_errors_are_never_usage_errors(shell: Shell, emulator: Emulator) -> None:
    """A plain ``except`` of the user's can catch them by their tree."""
    emulator.settings = replace(FIXED, credits=0)
    ran = shell.do(
        "import chatmagic\n"
        "try:\n    %chat echo:a\n"
        "except chatmagic.errors.RateLimitError as error:\n    kind = error.fault\n"
    )
    assert isinstance(ran, Ran)
    assert shell["kind"] == "you"


# --- the package ----------------------------------------------------------------------------


def test_public_names() -> None:
    """Every public name is there, and listed."""
    for name in chatmagic.__all__:
        assert getattr(chatmagic, name) is not None
        assert name in dir(chatmagic)
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = chatmagic.nothing_of_that_name


def fresh_python(code: str) -> builtins.list[str]:
    """Run code in a fresh interpreter, and give the words it prints."""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout.split()


def test_importing_is_light() -> None:
    """``import chatmagic`` loads no package that takes time."""
    heavy = ["requests", "urllib3", "ipywidgets", "IPython", "tornado", "markdown_it", "nh3"]
    code = f"import sys, chatmagic\nprint(*[n for n in {heavy} if n in sys.modules])"
    assert fresh_python(code) == []


def test_loading_is_light(tmp_path: Path) -> None:
    """``%load_ext chatmagic`` loads neither requests, nor widgets, nor the renderer."""
    heavy = ["requests", "urllib3", "ipywidgets", "markdown_it", "nh3", "keyring", "getmail"]
    code = (
        "import os, sys\n"
        f"os.environ['IPYTHONDIR'] = {str(tmp_path)!r}\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "from traitlets.config import Config\n"
        "c = Config({'HistoryManager': {'enabled': False}})\n"
        "shell = InteractiveShell.instance(config=c)\n"
        "before = set(sys.modules)\n"
        "shell.run_line_magic('load_ext', 'chatmagic')\n"
        f"print(*[n for n in {heavy} if n in sys.modules and n not in before])"
    )
    assert fresh_python(code) == []


def test_a_comment_for_a_tool_above_the_cell_is_refused(shell: Shell, emulator: Emulator) -> None:
    """Above the magic it would break the cell; it gets a hint, and nothing is sent."""
    refused = shell.fails("# NBVAL_IGNORE_OUTPUT\n%%chat\nhello")
    assert isinstance(refused.error, InputError)
    assert emulator.requests == []


def test_an_address_from_a_cell_gets_no_key_after_a_reload(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ``%config`` set in a cell does not become a file's word by loading again."""
    monkeypatch.delenv("CHATMAGIC_BASE_URL")
    shell.do(f"%config ChatMagics.base_url = '{emulator.url}'")
    assert isinstance(shell.fails("%chat hello").error, AuthenticationError)
    shell.do("%reload_ext chatmagic")
    shell.do(f"%config ChatMagics.base_url = '{emulator.url}'")
    assert isinstance(shell.fails("%chat hello").error, AuthenticationError)
    assert emulator.requests == []


def test_what_is_said_of_the_conversation_holds_no_inserted_value(shell: Shell) -> None:
    """History and undo show a prompt as it was typed."""
    shell.do("secret = 'patient 4711'")
    shell.do("%%chat\necho:{{ secret }}")
    said = [shell.do(code) for code in ("%chat_history", "%chat_undo")]
    assert all("{{ secret }}" in ran.everything for ran in said)
    assert "echo:patient" not in "".join(ran.everything for ran in said)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0.1", "first-byte time-out of 0.1 s"),
        ('{"total": 0.1}', "total time-out of 0.1 s"),
        ("chatmagic.Timeout(total=0.1)", "total time-out of 0.1 s"),
    ],
)
def test_time_outs_are_set_by_number_or_by_name(
    shell: Shell, emulator: Emulator, value: str, words: str
) -> None:
    """As %config gives them; a time-out's message is a line that %config takes."""
    emulator.settings = replace(FIXED, fault="hold", fault_after=-1)
    shell.do(f"import chatmagic\n%config ChatMagics.timeout = {value}")
    assert words in str(shell.fails("%chat hi").error)
