"""The magics, in a real shell, with the emulator over loopback."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from shells import FIXED, KEY, Ran, Shell, alone, bodies

import chatmagic
from chatmagic._json import chain_of
from chatmagic.conversation import options, suggestions
from chatmagic.conversation.seal import check, sealed
from chatmagic.emulator.server import Emulator
from chatmagic.errors import (
    ChatInterrupted,
    CutOffError,
    InputError,
)
from chatmagic.models import Reply
from chatmagic.session.current import current_session

if TYPE_CHECKING:
    import builtins
    from pathlib import Path


def asked(emulator: Emulator) -> list[list[str]]:
    """Give the contents of the messages of each request."""
    return [[message["content"] for message in body["messages"]] for body in bodies(emulator)]


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


def test_a_reply_of_the_cell_that_loads_displays_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, emulator: Emulator
) -> None:
    """In Python, too, from the first use on, and not from the next cell."""
    with alone(monkeypatch, tmp_path):
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        shell = Shell(extension=False)
        ran = shell.do("%load_ext chatmagic\nimport chatmagic\nchatmagic.ask('echo:one *two*')")
    assert ran.printed.strip() == "Out[1]: one *two*"


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


@pytest.mark.parametrize("how", [{}, {"person": False}, {"cell": "a"}])
def test_a_shown_reply_is_not_displayed_again(bare: Shell, how: dict[str, Any]) -> None:
    """Nor in the cell that loads the extension, nor by automagic: no ``Out``, no repr."""
    del bare
    fresh = Shell(extension=False)
    loaded = fresh.do("%load_ext chatmagic\n%chat_connect emulator\n%chat echo:one", **how)
    assert "Out" not in loaded.printed
    assert "Reply(" not in loaded.everything
    automagic = fresh.do("chat echo:two", **how)
    assert "Out" not in automagic.printed
    assert automagic.result is None
    assert "Out" in fresh.do("%chat echo:three\n1 + 1", **how).printed
    asks = "import chatmagic\nchatmagic.ask('echo:four')"
    again = fresh.do(f"%reload_ext chatmagic\n%chat_connect emulator\n{asks}", **how)
    assert "four" in again.printed
    assert "Reply(" not in again.everything
    fresh.do("%unload_ext chatmagic")
    assert fresh.shell.display_trap.hook is fresh.shell.displayhook
    assert "Out" in fresh.do("1 + 1").printed


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
    assert check(once["metadata"]["chatmagic"], once["data"]) == "sealed"
    assert check(last["metadata"]["chatmagic"], last["data"]) == "sealed"
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
        "%chat_reset": ("reset", "A new conversation begins. 1 turn set aside"),
    }
    for code, (kind, words) in said.items():
        ran = shell.machine(code)
        data = ran.outputs[0]["data"]
        assert ran.records == [sealed({"version": 1, "kind": kind}, data)]
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
    assert "number once there is one." in shell.fails("%chat_history 1").traceback[0]
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


def test_loading_twice_and_reloading(shell: Shell, emulator: Emulator) -> None:
    """Loading twice is harmless, and reloading keeps the conversation."""
    shell.machine("%chat echo:a")
    before = shell.shell.find_cell_magic("chat")
    again = shell.do("%load_ext chatmagic")
    import_module("chatmagic.jupyter.magics").load(shell.shell)
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


@pytest.mark.usefixtures("emulator")
def test_the_users_own_error_stays_the_last_one(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sys.last_value``, ``%tb`` and ``%debug`` tell of it after a failed magic, too."""
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        monkeypatch.delattr(sys, name, raising=False)
    shell.do("1")
    shell.fails("%%chat\n{{ missing }}")
    assert not hasattr(sys, "last_value")
    assert not hasattr(sys, "last_traceback")
    own = shell.run("1 / 0").error
    before = (sys.last_type, sys.last_value, sys.last_traceback)
    assert before[:2] == (ZeroDivisionError, own)
    for code in ("%%chat\n{{ mistyped }}", "%chat --nonsense", "%chat_connect ftp://x"):
        shell.fails(code)
        assert (sys.last_type, sys.last_value, sys.last_traceback) == before
    # What the user's own code raises is theirs, an error of ours too.
    called = shell.run("import chatmagic\nchatmagic.ask('')").error
    assert isinstance(called, InputError)
    assert sys.last_value is called
    newer = shell.run("try:\n    %chat --nonsense\nexcept ValueError:\n    1 / 0").error
    assert sys.last_value is newer


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
            {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()},
            shell.display_trap.hook,
        )

    before = found()
    loaded = fresh.do("%load_ext chatmagic")
    assert (loaded.printed, loaded.warned, loaded.messages) == ("", "", [])
    assert set(suggestions.COMMANDS) <= set(fresh.shell.magics_manager.magics["line"])
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
    for name in suggestions.COMMANDS:
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


def test_public_names() -> None:
    """Every public name is there, and listed."""
    for name in chatmagic.__all__:
        assert getattr(chatmagic, name) is not None
        assert name in dir(chatmagic)
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = chatmagic.nothing_of_that_name  # type: ignore[attr-defined]


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


def test_what_is_said_of_the_conversation_holds_no_inserted_value(shell: Shell) -> None:
    """History and undo show a prompt as it was typed."""
    shell.do("secret = 'patient 4711'")
    shell.do("%%chat\necho:{{ secret }}")
    said = [shell.do(code) for code in ("%chat_history", "%chat_undo")]
    assert all("{{ secret }}" in ran.everything for ran in said)
    assert "echo:patient" not in "".join(ran.everything for ran in said)


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
