"""Which answers are an emulator's: those of an address where this process has started one."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from logged import Emulator
from loopback import Server, document, playing
from shells import FIXED, Shell

from chatmagic import Client, _started_emulators
from chatmagic.session.current import current_session


def test_an_emulator_is_known_while_it_listens() -> None:
    """Its port may be another server's afterwards."""
    with Emulator(FIXED) as emulator:
        emulator.start()
        assert _started_emulators.is_one(emulator.url)
        with Client(emulator.url, "any") as client:
            assert client.complete([{"role": "user", "content": "echo:a"}]).origin == "emulator"
    emulator.stop()
    assert not _started_emulators.is_one(emulator.url)
    assert emulator.url not in os.environ.get(_started_emulators.VARIABLE, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forked children here")
def test_a_forked_child_knows_its_parents_emulator(emulator: Emulator) -> None:
    """As it does with multiprocessing, whose children ask for rows."""
    child = os.fork()
    if child == 0:
        os._exit(int(not _started_emulators.is_one(emulator.url)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


ASKS = """
import sys
from chatmagic import Client, _started_emulators
with Client(sys.argv[1], "any") as client:
    print(client.complete([{"role": "user", "content": "echo:a"}]).origin)
print(_started_emulators.is_one("http://example.org"))
"""


def in_child(url: str, starter: str) -> list[str]:
    """Return what a child process takes for an emulator: an answer's origin, and another host.

    Args:
        url: the address that it asks.
        starter: the number in the variable in front of the addresses.
    """
    words = f"{starter} {url} http://example.org"
    done = subprocess.run(
        [sys.executable, "-c", ASKS, url],
        env=os.environ | {_started_emulators.VARIABLE: words},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.release  # a child of a pool is tried each time
def test_another_child_finds_its_parents_emulator_in_its_environment(emulator: Emulator) -> None:
    """Only if the variable names its parent; another host is never one."""
    own = str(os.getpid())
    words = os.environ[_started_emulators.VARIABLE].split()
    assert (words[0], emulator.url in words[1:]) == (own, True)
    assert in_child(emulator.url, own) == ["emulator", "False"]
    for starter in ("", "1", str(os.getppid()), f"{own}1"):
        assert in_child(emulator.url, starter) == ["live", "False"]


@pytest.mark.parametrize("way", multiprocessing.get_all_start_methods())
def test_a_child_of_a_pool_knows_its_parents_emulator(emulator: Emulator, way: str) -> None:
    """Also one that a process between them has forked."""
    with multiprocessing.get_context(way).Pool(1) as pool:
        assert pool.apply(_started_emulators.is_one, (emulator.url,))
        assert not pool.apply(_started_emulators.is_one, ("http://127.0.0.1:9",))


@pytest.mark.parametrize("name", ["chatmagic-emulator", "chatmagic-emulator/9"])
def test_no_service_calls_itself_the_emulator(bare: Shell, tmp_path: Path, name: str) -> None:
    """Its answers count, and no record, file or cassette of them names the emulator."""
    choice = {"message": {"role": "assistant", "content": "Hello"}}
    answer = document({"choices": [choice]}, headers={"Server": name})
    with Server(playing(*[answer] * 5)) as server:
        bare.do("%config ChatMagics.auth = 'none'")
        bare.do(f"%chat_connect {server.origin}\n%chat_cassette {tmp_path / 'a.jsonl'} --record")
        ran = [bare.machine("%chat hello"), bare.machine("%chat again")]
        assert len(server.asked) == 2
    assert current_session().ledger.turns == 2
    assert {record["origin"] for each in ran for record in each.records} == {"live"}
    bare.do(f"%chat_save {tmp_path / 'a.json'}")
    for file in ("a.jsonl", "a.json"):
        assert "emulator" not in (tmp_path / file).read_text("utf-8")
