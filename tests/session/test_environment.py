"""Where a session runs: plain Python by itself, and what else is handed to it."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest
from cassette_choice import choosing
from environments import GivenEnvironment
from logged import Emulator
from shells import KEY

from chatmagic.client.client import Client
from chatmagic.client.endpoint import NO_SERVICE
from chatmagic.errors import NotRecordedError
from chatmagic.protocol.api_key import Secret
from chatmagic.session import current
from chatmagic.session.environment import Environment
from chatmagic.session.session import Session


@pytest.mark.usefixtures("session")
def test_plain_python_has_its_variables_and_no_cell(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cell is known, and no page tells an order; the emulator is one of the process."""
    plain = Environment()
    assert plain.service().endpoint.base_url == emulator.url
    assert (plain.cell(), plain.layout("a"), plain.has_person()) == ((None, None), None, False)
    assert plain.command_choice(str) is None
    assert not plain.is_practice() or emulator.url in os.environ["CHATMAGIC_EMULATORS"]
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "emulator")
    endpoint = plain.service().endpoint
    assert (endpoint.is_emulator, endpoint.origin == emulator.url) == (True, False)
    assert plain.is_practice()
    monkeypatch.delenv("CHATMAGIC_BASE_URL")
    assert not plain.is_practice()
    monkeypatch.setenv("CHATMAGIC_MODEL", "small")
    without = plain.current().without_service
    assert (without.endpoint, without.extra_body) == (NO_SERVICE, {"model": "small"})


def test_the_process_has_one_environment_for_its_session_and_its_clients(
    session: Session, emulator: Emulator
) -> None:
    """The session of before takes it over, and gives it back; a session of one's own does not."""
    before = current.current_session()
    given = GivenEnvironment(
        emulator=(emulator.url, Secret(KEY)),
        command_choice=choosing(Path("a.jsonl")),
    )
    current.use_environment(given)
    assert before is current.current_session()
    assert before.environment is given
    assert isinstance(session.environment, Environment)
    assert session.environment is not given
    with Client("emulator") as client:
        assert client.endpoint.base_url == emulator.url
        with pytest.raises(NotRecordedError, match=r"a\.jsonl is replayed here \(%chat_cassette\)"):
            client.complete([{"role": "user", "content": "hi"}])
    current.use_environment(None)
    assert type(before.environment) is Environment
    assert emulator.requests == []


def test_a_line_is_shown_each_time_at_the_line_that_asked() -> None:
    """A warning in the same words is shown once by default, and a second call would be mute."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(2):
            Environment().notify("60 of 60 answers")
    assert [str(each.message) for each in shown] == ["60 of 60 answers"] * 2
    assert [Path(each.filename).name for each in shown] == [Path(__file__).name] * 2
