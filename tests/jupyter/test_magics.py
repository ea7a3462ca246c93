"""The extension as it is loaded and taken away, in a real shell."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from logged import Emulator
from shells import FIXED, KEY, Shell, asked, models

import chatmagic
from chatmagic.jupyter import magics
from chatmagic.jupyter.commands import COMMANDS
from chatmagic.jupyter.commands.command import Command
from chatmagic.protocol.api_key import Secret
from chatmagic.protocol.url import key_place
from chatmagic.session.current import current_session


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
        assert [request.ways for request in other.requests] == [()]
    assert len(asked(emulator)) == 5
    assert [turn.owner for turn in current_session().conversation][-1] is None


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
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return ran.stdout.split()


def test_importing_is_light() -> None:
    """``import chatmagic`` loads no package that takes time."""
    heavy = ["requests", "urllib3", "ipywidgets", "IPython", "tornado", "markdown_it", "nh3"]
    code = f"import sys, chatmagic\nprint(*[n for n in {heavy} if n in sys.modules])"
    assert fresh_python(code) == []


def test_loading_takes_less_than_pandas(tmp_path: Path) -> None:
    """``%load_ext chatmagic`` brings all that a first question needs, and is not felt."""
    loading = (
        "import os, time\n"
        f"os.environ['IPYTHONDIR'] = {str(tmp_path)!r}\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "from traitlets.config import Config\n"
        "c = Config({'HistoryManager': {'enabled': False}})\n"
        "shell = InteractiveShell.instance(config=c)\n"
        "begin = time.process_time()\n"
        "shell.run_line_magic('load_ext', 'chatmagic')\n"
        "print(time.process_time() - begin)"
    )
    pandas = (
        "import time\n"
        "begin = time.process_time()\n"
        "import pandas\n"
        "print(time.process_time() - begin)"
    )
    # One pair of twenty does: what runs beside a process takes of its CPU, too.
    assert any(float(fresh_python(loading)[0]) < float(fresh_python(pandas)[0]) for _ in range(20))


def test_loading_twice_and_reloading(shell: Shell, emulator: Emulator) -> None:
    """Loading twice is harmless, and reloading keeps the conversation."""
    shell.machine("%chat echo:a")
    before = shell.shell.find_cell_magic("chat")
    again = shell.do("%load_ext chatmagic")
    magics.load(shell.shell)
    assert shell.shell.find_cell_magic("chat") == before
    assert again.warned == ""
    reloaded = shell.do("%reload_ext chatmagic")
    assert (reloaded.printed, reloaded.warned) == ("", "")
    shell.machine("%chat echo:b?")
    assert asked(emulator) == [["echo:a"], ["echo:a", "a", "echo:b?"]]


@pytest.mark.parametrize(
    "line", ["%reload_ext chatmagic", "%unload_ext chatmagic\n%load_ext chatmagic"]
)
def test_reloading_keeps_the_connection(bare: Shell, emulator: Emulator, line: str) -> None:
    """As it keeps the conversation: the address, the model, and the keys for it."""
    bare.do(f"%chat_connect {emulator.url} --model small")
    bare.kernel.typed[key_place(emulator.url)] = Secret(KEY)
    bare.kernel.agreed["https://api.openai.com:443"] = "OPENAI_API_KEY"
    bare.machine("%chat echo:a")
    bare.do(line)
    assert "key from %chat_login" in bare.do("%chat").texts[0]
    bare.machine("%chat echo:b")
    assert asked(emulator) == [["echo:a"], ["echo:a", "a", "echo:b"]]
    assert models(emulator) == ["small", "small"]
    assert [request.ways for request in emulator.requests] == [("bearer",), ("bearer",)]
    assert bare.kernel.agreed == {"https://api.openai.com:443": "OPENAI_API_KEY"}


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
            list(shell.Completer.custom_matchers),
        )

    before = found()
    loaded = fresh.do("%load_ext chatmagic")
    assert (loaded.printed, loaded.warned, loaded.messages) == ("", "", [])
    names = {command.name for command in COMMANDS}
    assert names <= set(fresh.shell.magics_manager.magics["line"])
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
    fresh.do("from IPython.core.magic import register_cell_magic")
    fresh.do("@register_cell_magic\ndef chat(line, cell):\n    return 'theirs'")
    loaded = fresh.do("%load_ext chatmagic")
    assert len(loaded.warned.splitlines()) == 1
    assert "replaces the %%chat of __main__; %unload_ext chatmagic restores it" in loaded.warned
    assert "Not connected" in fresh.fails("%%chat\nhello").traceback[0]
    fresh.do("%unload_ext chatmagic")
    assert fresh.do("%%chat\nhello").result == "theirs"
    assert "chat" not in fresh.shell.magics_manager.magics["line"]


ACTS = "{acts.append(1)}"
"""Text that IPython runs in the line of a magic which does not refuse that."""


FLAGS = ("", "-m ", "-t ", "--model ", "--from ", "--pick ", "--fork ", "--thread ")
TEXTS = (ACTS, f"m{ACTS}", f"{{name.text}}{ACTS}", "$name.text", f"'{ACTS}'")
WORDS = [flag + text for flag in FLAGS for text in TEXTS]


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.release)])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_no_line_is_expanded(shell: Shell, command: Command, every: int) -> None:
    """Of no command, as a line, in an assignment, as a cell, called by hand, or loaded again."""
    shell.do(
        "acts = []\nclass Name:\n    @property\n    def text(self): acts.append(2)\nname = Name()"
    )
    shell.machine("%chat echo:a")
    for tried in (WORDS[::every], WORDS[:: 3 * every]):
        for words in tried:
            line = f"{command.name} {words}"
            shell.run(f"%{line}")
            shell.run(f"r = %{line}")
            shell.run(f"if 1:\n    %{line}")
            shell.run(f"%%{line}\necho:b")
            shell.run(f"get_ipython().run_line_magic({command.name!r}, {words!r})")
            assert shell["acts"] == [], words
        shell.do("%reload_ext chatmagic")
    shell.run(f"%lsmagic {ACTS}")
    assert shell["acts"] == [1]  # IPython runs it


def test_a_terminal_expands_no_line(tmp_path: Path) -> None:
    """IPython in a terminal, too, where the words are a server's."""
    script = tmp_path / "try.ipy"
    script.write_text(
        "%load_ext chatmagic\n%chat_connect emulator\n%chat echo:a\nt = 0.5\n"
        "%chat_retry -m m{open('PWN','w')}\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", script],
        capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")},
    )  # fmt: skip
    assert (
        "--model takes a variable as $NAME or {NAME} alone, and no expression."
        in ran.stdout + ran.stderr
    )
    assert not (tmp_path / "PWN").exists()


def test_variables_of_lines(shell: Shell, emulator: Emulator, tmp_path: Path) -> None:
    """Each command takes a whole word from a variable, and refuses the rest in words."""
    shell.do(f"url = {emulator.url!r}\nnumber = 1\nname = 'notes'\nsearched = 'b'")
    shell.do(f"from pathlib import Path\nfile = Path({str(tmp_path)!r}) / 'a {{b}} $c.json'")
    shell.do("%chat_connect $url\n%chat echo:a\n%chat echo:b")
    assert shell.page("%chat_retry {number}", "r").texts == ["a"]
    shell.do("%chat_save $file\n%chat_load {file}")
    assert (tmp_path / "a {b} $c.json").exists()
    assert "echo:b" in shell.do("%chat_history $searched").texts[0]
    assert "0 of 2 turns hold" in shell.do("%chat_history $unknown {x+1}").texts[0]
    assert shell.do("%chat_history {number}").texts[0].startswith("1. You")
    shell.do("%chat_thread --fork $number {name}")
    assert list(current_session().conversation.threads) == ["main", "notes"]
    for line in ("save {file}.json", "load $missing", "thread {name.upper()}", "connect {url}/v1"):
        ran = shell.fails(f"%chat_{line}")
        assert f"%chat_{line.split()[0]} " in ran.traceback[0]
        assert ran.traceback[0].endswith("Nothing was sent or changed.")
