"""Which settings a kernel asks with: each belongs to the address that it was set for."""

from __future__ import annotations

from pathlib import Path

import pytest
from logged import Emulator
from shells import Shell, models

from chatmagic.errors import AuthenticationError


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
    assert [request.ways for request in emulator.requests] == [(), ()]


def test_two_models(shell: Shell, emulator: Emulator) -> None:
    """Named in two places alike they are one; otherwise nothing is sent."""
    shell.do("%config ChatMagics.extra_body = {'model': 'small'}")
    shell.do("%config ChatMagics.model = 'small'")
    shell.machine("%chat echo:a")
    ran = shell.fails(f"%chat_connect {emulator.url} --model large")
    assert "another model" in ran.traceback[0]
    assert "Model: small." in shell.do("%chat").texts[0]
    shell.do("%config ChatMagics.model = 'large'")
    assert "another model" in shell.fails("%chat echo:b").traceback[0]
    assert "another model" in shell.do("%chat").texts[0]
    shell.do("%config ChatMagics.extra_body = {}")
    shell.machine("%chat echo:c")
    assert models(emulator) == ["small", "large"]


def test_the_schema_of_a_loaded_turn_is_a_name(
    shell: Shell, emulator: Emulator, tmp_path: Path
) -> None:
    """A later question for JSON takes the schema by its name: a file's text is not evaluated."""
    shell.do("import chatmagic, dataclasses\nacts = []\n@dataclasses.dataclass\nclass A: x: int")
    for name in (
        "acts.append(1)",
        "[acts.append(1)]",
        "acts . append(1)",
        "A if acts.append(1) else A",
    ):
        shell.do(
            f"A.__name__ = {name!r}\nchatmagic.ask('echo:{{\"x\": 1}}', schema=A, format='json')"
        )
        shell.do(f"%chat_save {tmp_path}/a.json --force\n%chat_load {tmp_path}/a.json")
        sent = len(emulator.requests)
        ran = shell.fails("%chat --format json echo:{}")
        assert "in this notebook yet. Nothing was sent." in ran.traceback[0]
        assert (shell["acts"], len(emulator.requests)) == ([], sent)
        shell.do("%chat_reset")
    shell.do("class Forms: pass\nForms.A = A\nA.__name__ = 'A'")
    assert shell.kernel.named("Forms.A") is shell.kernel.named("A") is shell["A"]
    assert shell.kernel.named("dict") is dict
