"""The clients of a session: each source of answers has a setup of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from environments import GivenEnvironment
from shells import KEY

from chatmagic.cassette.cassette import CASSETTE
from chatmagic.cassette.choice import CassetteConfig
from chatmagic.client import config
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.protocol.api_key import Secret
from chatmagic.session.client_pool import setup_for


def test_each_source_of_answers_has_a_setup_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A recording goes nowhere, the emulator gets a key of its own, with the cassette's fields."""
    practice = ("http://127.0.0.1:9", Secret("practice-1"))
    service = ServiceSetup(Endpoint("https://a.example", "bearer", Secret(KEY), "a test"))
    given = GivenEnvironment(emulator=practice, service=lambda: service)
    monkeypatch.setattr(config, "kernel", given)
    cassette = CassetteConfig(
        tmp_path / "a.json", "replay", timeout=5, extra_body={"model": "small"}
    )
    assert setup_for("service", given, cassette) is service
    recorded = setup_for("cassette", given, cassette)
    assert recorded.endpoint == CASSETTE
    emulated = setup_for("emulator", given, cassette)
    assert (emulated.endpoint.base_url, emulated.endpoint.key) == practice
    assert emulated.endpoint.is_emulator
    for setup in (recorded, emulated):
        assert (setup.timeout, setup.extra_body) == (5, {"model": "small"})
