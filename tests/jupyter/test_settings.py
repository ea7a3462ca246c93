"""The settings: a wrong value is refused, each belongs to an address; and those of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from log_records import records_of
from logged import Emulator
from shells import FIXED, KEY, Shell, models

from chatmagic.errors import InputError
from chatmagic.jupyter.settings import FileSettings

SWITCHES = ("no_history", "no_stream", "raw", "quiet", "keep_values", "fit")
WRONG = [
    ("mode", '"relive"'),
    ("auth", '"basic"'),
    ("base_url", '"chat.example"'),
    ("timeout", "0"),
    ("timeout", '{"first": 1}'),
    ("model", '""'),
    ("extra_body", '"small"'),
    ("extra_body", '{"x": float("nan")}'),
    ("extra_headers", '"X-Team: a"'),
    ("stream", '"always"'),
    ("temperature", '"hot"'),
    ("max_tokens", "1.5"),
    ("last", "-1"),
    ("budget", "-1"),
    ("no_history", '"yes"'),
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
    """In one line that names the setting; what was set before stays, and can be taken back."""
    bare.do(f"%config ChatMagics.{name} = {RIGHT[name]}")
    before = bare.do(f"%config ChatMagics.{name}").result
    assert messages(caplog) == []
    bare.do(f"%config ChatMagics.{name} = {value}")
    (message,) = messages(caplog)
    assert name in message
    assert "\n" not in message
    assert bare.do(f"%config ChatMagics.{name}").result == before
    caplog.clear()
    if name not in {"extra_body", "extra_headers", "stream", "no_history"}:
        bare.do(f"%config ChatMagics.{name} = None")
        assert bare.do(f"%config ChatMagics.{name}").result is None
    assert messages(caplog) == []


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
    assert "extra_body = [key removed]" in shell.do("%chat").texts[0]
    assert "Model: [key removed]." in shell.do("%chat").texts[0]
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


def test_a_setting_belongs_to_the_address_that_it_was_set_for(
    bare: Shell, emulator: Emulator
) -> None:
    """Set before there was an address, to the first one; set anew, to that; after a reload, too."""
    for line in ("auth = 'none'", "extra_headers = {'X-Team': 'blue'}", "model = 'small'"):
        bare.do(f"%config ChatMagics.{line}")
    said = bare.do(f"%chat_connect {emulator.url}").texts[0]
    assert "Model: small." in said
    bare.fails("%chat echo:a")
    with Emulator(FIXED) as other:
        said = bare.do(f"%chat_connect {other.url}").texts[0]
        assert "Not used: model, extra_headers, which were set for another address." in said
        bare.fails("%chat echo:b")
        bare.do("%config ChatMagics.model = 'small'")  # as before, and yet set anew
        bare.fails("%chat echo:c")
        bare.do("%reload_ext chatmagic")
        bare.do(f"%chat_connect {emulator.url}")
        bare.fails("%chat echo:d")
        assert "small" not in bare.do("%chat").texts[0]
        bare.do(f"%chat_connect --model=large {other.url}/v1")
        bare.fails("%chat echo:e")
        assert models(emulator) == ["small", None]
        assert models(other) == [None, "small", "large"]


def test_settings_of_a_configuration_file_belong_to_its_address(
    bare: Shell, emulator: Emulator
) -> None:
    """Model and headers go to the file's address alone, as its key does."""
    bare.do("%unload_ext chatmagic")
    given = {"base_url": emulator.url, "auth": "none", "model": "small"}
    given["extra_headers"] = {"X-Team": "blue"}  # type: ignore[assignment]
    made = Shell(config={"ChatMagics": given})
    with Emulator(FIXED) as other:
        made.do(f"%chat_connect {other.url}")
        made.fails("%chat echo:a")
        made.do(f"%chat_connect {emulator.url}")
        made.fails("%chat echo:b")
        assert (models(emulator), models(other)) == (["small"], [None])


def test_an_address_that_is_not_used_is_warned_about(shell: Shell, emulator: Emulator) -> None:
    """The environment beats %config in a cell, and %chat_connect beats both."""
    with Emulator(FIXED) as other:
        line = f"%config ChatMagics.base_url = '{other.url}'"
        ran = shell.do(line)
        assert "ChatMagics.base_url is not used: CHATMAGIC_BASE_URL names another" in ran.warned
        assert len(ran.warned.splitlines()) == 1
        assert "not used" not in shell.do(f"%config ChatMagics.base_url = '{emulator.url}'").warned
        shell.do(f"%chat_connect {emulator.url}")
        assert "not used: %chat_connect names another" in shell.do(line).warned
        shell.do(f"%chat_connect {other.url}")
        assert "not used" not in shell.do(line).warned
        assert "not used" not in shell.do("%config ChatMagics.base_url = None").warned
