"""What a shell shows of a cell's value, and keeps of a cell's error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from shells import KEY, Shell, alone

from chatmagic.errors import (
    InputError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from chatmagic.emulator.server import Emulator


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
