"""``chatmagic install``: IPython loads the extension by itself, by three lines of a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from commands import borrowing_environment
from kernels import PLAIN_ENVIRONMENT, kernel

from chatmagic import cli, install
from chatmagic.errors import InputError

OTHERS = b"c = get_config()\r\nc.InteractiveShellApp.extensions = ['autoreload']\n# last \xff"


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The configuration file of an environment of the test's own, which is not there yet."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return tmp_path / "environment" / "etc" / "ipython" / "ipython_config.py"


def test_it_adds_its_lines_once_and_removes_them(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It shows file and lines first; a second time changes nothing; what was no file is none."""
    assert cli.main(["install"]) == 0
    assert config.read_text() == install.LINES
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == str(config)
    assert shown[1:4] == [f"+ {line}" for line in install.LINES.splitlines()]
    assert shown[4:] == ["Added. From the next kernel on, %%chat works without %load_ext."]
    assert cli.main(["install"]) == 0
    assert config.read_text() == install.LINES
    assert capsys.readouterr().out == f"{config} has its lines already. Nothing was changed.\n"
    assert cli.main(["install", "--uninstall"]) == 0
    assert not config.exists()
    assert f"- {install.LINES.splitlines()[2]}" in capsys.readouterr().out
    assert cli.main(["install", "--uninstall"]) == 0
    assert "does not have the lines of chatmagic install. Nothing" in capsys.readouterr().out


def test_the_lines_of_others_stay(config: Path) -> None:
    """Before and behind ours, byte for byte; only a last line without an end is given one."""
    config.parent.mkdir(parents=True)
    config.write_bytes(OTHERS)
    config.chmod(0o640)
    cli.main(["install"])
    assert config.read_bytes() == OTHERS + b"\n" + install.LINES.encode()
    config.write_bytes(config.read_bytes() + b"x = 1")
    cli.main(["install"])
    cli.main(["install", "--uninstall"])
    assert config.read_bytes() == OTHERS + b"\nx = 1"
    assert os.name == "nt" or config.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("words", [["install"], ["install", "--uninstall"]])
def test_lines_of_ours_that_were_changed_are_left(
    config: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """One line says where they stand, and the file stays as it is."""
    config.parent.mkdir(parents=True)
    changed = "# mine\n" + install.LINES.replace('append("chatmagic")', "append('chatmagic')")
    config.write_text(changed)
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert f"in {config} were changed (from line 2 on). Nothing was changed." in error
    assert config.read_text() == changed


def test_a_folder_that_cannot_be_written(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named with the reason, and a file that is there is as it was."""
    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", Mock(side_effect=PermissionError(13, "Permission denied")))
        assert cli.main(["install"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"chatmagic: {config} cannot be written: Permission denied. Nothing")
    assert "%load_ext chatmagic" in error

    config.parent.mkdir(parents=True)
    config.write_bytes(OTHERS)

    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    assert cli.main(["install"]) == 1
    assert "No space left on device. Nothing was changed." in capsys.readouterr().err
    assert [path.name for path in config.parent.iterdir()] == [config.name]
    assert config.read_bytes() == OTHERS


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_becomes_a_file(config: Path, tmp_path: Path) -> None:
    """It has the content of the linked file and the lines; that file stays as it is."""
    config.parent.mkdir(parents=True)
    linked = tmp_path / "shared.py"
    linked.write_bytes(OTHERS + b"\n")
    config.symlink_to(linked)
    assert cli.main(["install"]) == 0
    assert not config.is_symlink()
    assert config.read_bytes() == OTHERS + b"\n" + install.LINES.encode()
    assert cli.main(["install", "--uninstall"]) == 0
    assert config.read_bytes() == linked.read_bytes() == OTHERS + b"\n"


def test_the_whole_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython's folder of the machine; on Windows it has none."""
    if os.name == "posix":
        assert install.SYSTEM.as_posix() == "/etc/ipython"
        assert install.config_file(system=True).name == "ipython_config.py"
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        with pytest.raises(InputError, match="on Windows"):
            install.config_file(system=True)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of a virtual environment that sees what this one has installed."""
    return str(borrowing_environment(tmp_path_factory.mktemp("environment")))


def installs(python: str, *words: str) -> str:
    """Run ``chatmagic install`` in an environment, and return what it prints."""
    command = [python, "-m", "chatmagic", "install", *words]
    ran = subprocess.run(command, env=PLAIN_ENVIRONMENT, capture_output=True, text=True, check=True)
    return ran.stdout


@pytest.mark.release
def test_the_first_cell_of_a_real_kernel_asks(environment: str, tmp_path: Path) -> None:
    """``%%chat`` without ``%load_ext``, exactly as typed; without the lines it is no magic."""
    private = {"IPYTHONDIR": str(tmp_path)}
    emulated = {**private, "CHATMAGIC_BASE_URL": "emulator"}
    assert "Added." in installs(environment)
    with kernel(emulated, python=environment) as running:
        ran = running.run("%%chat why?\n>>> echo", cell="a")
        assert ran.status == "ok", ran.text
        assert ran.replies[0]["metadata"]["chatmagic"]["prompt"] == "why?\n>>> echo"
        assert "already loaded" in running.run("%load_ext chatmagic", cell="b").text
    assert "Removed." in installs(environment, "--uninstall")
    with kernel(emulated, python=environment) as running:
        assert "`%%chat` not found" in running.run("%%chat why?\nbecause", cell="a").text


def test_an_environment_without_chatmagic_is_not_disturbed(tmp_path: Path) -> None:
    """Where the lines are for the whole machine, its other environments start without an error."""
    folder = tmp_path / "profile_default"
    folder.mkdir()
    lines = install.LINES.replace('find_spec("chatmagic")', 'find_spec("chatmagic_is_not_here")')
    folder.joinpath("ipython_config.py").write_text(lines)
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", "-c", "print(6 * 7)"]
    ran = subprocess.run(
        command,
        env={**PLAIN_ENVIRONMENT, "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == ("42\n", "")
