"""Settings of IPython's configuration files, read without a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatmagic.errors import InputError
from chatmagic.jupyter.file_settings import FileSettings

if TYPE_CHECKING:
    from pathlib import Path


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
