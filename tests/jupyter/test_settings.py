"""The settings: a wrong value is refused and the old one stays; and those of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from log_records import records_of
from shells import KEY, Shell

from chatmagic.errors import InputError
from chatmagic.jupyter.settings import FileSettings

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator


SWITCHES = ("no_history", "no_stream", "raw", "quiet", "keep_values", "fit")
WRONG = [
    ("mode", '"relive"'),
    ("mode", "1"),
    ("auth", '"basic"'),
    ("auth", "True"),
    ("base_url", '"chat.example"'),
    ("base_url", "5"),
    ("timeout", "0"),
    ("timeout", '"long"'),
    ("timeout", "True"),
    ("timeout", '{"first": 1}'),
    ("model", '""'),
    ("model", "5"),
    ("extra_body", '"small"'),
    ("extra_body", "None"),
    ("extra_body", '{"messages": []}'),
    ("extra_body", '{"x": {1, 2}}'),
    ("extra_body", '{"x": float("nan")}'),
    ("extra_headers", '"X-Team: a"'),
    ("extra_headers", '{"Authorization": "a"}'),
    ("extra_headers", '{"X-Team": "a\\n"}'),
    ("stream", '"always"'),
    ("stream", "True"),
    ("temperature", '"hot"'),
    ("temperature", "True"),
    ("temperature", 'float("inf")'),
    ("max_tokens", "1.5"),
    ("max_tokens", "True"),
    ("max_tokens", '"9"'),
    ("last", "-1"),
    ("last", "False"),
    ("last", '"all"'),
    ("cassette", "5"),
    ("budget", '"plenty"'),
    ("budget", "-1"),
    ("budget", "True"),
    *(
        (name, '"yes"')
        for name in ("no_history", "no_stream", "raw", "quiet", "keep_values", "fit")
    ),
]
RIGHT = {
    "budget": '"20 turns"',
    "mode": '"Replay"',
    "auth": '"X-API-Key"',
    "base_url": '"https://chat.example"',
    "timeout": "5",
    "model": '"small"',
    "extra_body": '{"seed": 1}',
    "extra_headers": '{"X-Team": "a"}',
    "stream": '"off"',
    "temperature": "1",
    "max_tokens": "9",
    "last": "0",
    "cassette": '"a.jsonl"',
    **dict.fromkeys(SWITCHES, "True"),
}


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what ``%config`` said of errors, which IPython logs by the root logger."""
    return [record.getMessage() for record in records_of(caplog, "root")]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_refused_as_it_is_set(
    bare: Shell, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    """In one line that names the setting; what was set before stays, and can be set again."""
    bare.do(f"%config ChatMagics.{name} = {RIGHT[name]}")
    before = bare.do(f"%config ChatMagics.{name}").result
    assert messages(caplog) == []
    bare.do(f"%config ChatMagics.{name} = {value}")
    (message,) = messages(caplog)
    assert name in message
    assert "\n" not in message
    assert bare.do(f"%config ChatMagics.{name}").result == before
    caplog.clear()
    bare.do("%config ChatMagics.max_tokens = 3")
    assert messages(caplog) == []


@pytest.mark.parametrize(
    "name", ["mode", "auth", "base_url", "timeout", "model", "temperature", "max_tokens", "last"]
)
def test_a_setting_is_taken_back_by_none(
    bare: Shell, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """What the service or the environment says counts again."""
    bare.do(f"%config ChatMagics.{name} = {RIGHT[name]}")
    bare.do(f"%config ChatMagics.{name} = None")
    assert messages(caplog) == []
    assert bare.do(f"%config ChatMagics.{name}").result is None


@pytest.mark.parametrize(
    "line",
    [
        "extra_headers = {'X-Team': 'Bearer ' + os.environ['CHATMAGIC_API_KEY']}",
        "extra_headers = 'Authorization: ' + os.environ['CHATMAGIC_API_KEY']",
        "auth = os.environ['CHATMAGIC_API_KEY']",
        "temperature = os.environ['CHATMAGIC_API_KEY']",
        "stream = os.environ['CHATMAGIC_API_KEY']",
        "base_url = 'https://a.example/?k=' + os.environ['CHATMAGIC_API_KEY']",
    ],
)
def test_no_refusal_shows_a_key(
    shell: Shell, emulator: Emulator, caplog: pytest.LogCaptureFixture, line: str
) -> None:
    """Wherever one was put; a header that holds one is refused."""
    shell.do(f"import os\n%config ChatMagics.{line}")
    assert len(messages(caplog)) == 1
    assert KEY not in caplog.text
    assert shell.do("%config ChatMagics.extra_headers").result == {}
    shell.machine("%chat echo:a")
    assert KEY not in shell.do("%chat").everything
    shell.do("%config ChatMagics.extra_body = {os.environ['CHATMAGIC_API_KEY']: 1}")
    shell.do("%config ChatMagics.model = os.environ['CHATMAGIC_API_KEY']")
    assert "extra_body = [key removed]" in shell.do("%chat").printed
    assert "Model: [key removed]." in shell.do("%chat").printed
    assert "holds your API key" in shell.fails("%chat echo:b").traceback[0]
    assert len(emulator.requests) == 1


def test_a_wrong_configuration_file_is_told_in_two_lines(bare: Shell) -> None:
    """Nothing is left of the extension that did not load, and another one loads."""
    bare.do("%unload_ext chatmagic")
    made = Shell(extension=False, config={"ChatMagics": {"mode": "relive"}})
    ran = made.fails("%load_ext chatmagic")
    assert "mode" in ran.traceback[0]
    assert "configuration file" in ran.traceback[1]
    made.shell.config.ChatMagics.mode = "replay"
    made.do("%load_ext chatmagic")
    assert made.do("%config ChatMagics.mode").result == "replay"
    assert sum(type(each).__name__ == "ChatMagics" for each in made.shell.configurables) == 1


def test_the_files_of_the_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What stands there for the magics holds; its address is a file's; another value is named."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    assert FileSettings().temperature is None
    (tmp_path / "profile_default").mkdir()
    file = tmp_path / "profile_default" / "ipython_config.py"
    file.write_text(
        "c = get_config()\nc.ChatMagics.temperature = 0.5\n"
        "c.ChatMagics.base_url = 'https://chat.example.org'\nc.Other.x = 1\n"
    )
    settings = FileSettings()
    assert (settings.temperature, settings.file_url) == (0.5, "https://chat.example.org")
    assert settings.known_keys() == ()
    file.write_text("c.ChatMagics.mode = 'relive'\n")
    with pytest.raises(InputError, match=r"configuration file: ChatMagics\.mode: it is one of"):
        FileSettings()
