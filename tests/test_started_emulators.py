"""Which answers are an emulator's: those of an address where this process has started one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from logged import Emulator
from loopback import Server, document, playing
from shells import FIXED, Shell

from chatmagic import Client, _initial_environ, _started_emulators
from chatmagic.errors import BudgetError


def test_an_emulator_is_known_while_it_listens() -> None:
    """Its port may be another server's afterwards."""
    with Emulator(FIXED) as emulator:
        emulator.start()
        assert _started_emulators.is_one(emulator.url)
        with Client(emulator.url, "any") as client:
            assert client.complete([{"role": "user", "content": "echo:a"}]).origin == "emulator"
    emulator.stop()
    assert not _started_emulators.is_one(emulator.url)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forked children here")
def test_a_forked_child_knows_its_parents_emulator(emulator: Emulator) -> None:
    """As it does with multiprocessing, whose children ask for rows."""
    child = os.fork()
    if child == 0:
        os._exit(int(not _started_emulators.is_one(emulator.url)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("name", ["chatmagic-emulator", "chatmagic-emulator/9"])
def test_no_service_calls_itself_the_emulator(
    bare: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Its answers count, and no record, file or cassette of them names the emulator."""
    monkeypatch.setattr(_initial_environ, "BUDGET", "2 turns")
    choice = {"message": {"role": "assistant", "content": "Hello"}}
    answer = document({"choices": [choice]}, headers={"Server": name})
    with Server(playing(*[answer] * 5)) as server:
        bare.do("%config ChatMagics.auth = 'none'")
        bare.do(f"%chat_connect {server.origin}\n%chat_cassette {tmp_path / 'a.jsonl'} --record")
        ran = [bare.machine("%chat hello"), bare.machine("%chat again")]
        refused = bare.fails("%chat more")
        assert len(server.asked) == 2
    assert isinstance(refused.error, BudgetError)
    assert {record["origin"] for each in ran for record in each.records} == {"live"}
    bare.do(f"%chat_save {tmp_path / 'a.json'}")
    for file in ("a.jsonl", "a.json"):
        assert "emulator" not in (tmp_path / file).read_text("utf-8")
