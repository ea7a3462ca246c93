"""The list of features, and what reads it."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from environments import GivenEnvironment
from row_service import RowService

from chatmagic.client.client import Client
from chatmagic.jupyter.settings import KernelSettings
from chatmagic.session import features
from chatmagic.session.feature import Feature
from chatmagic.session.features import FEATURES, all_settings, new_ledger
from chatmagic.session.ledger import Limit
from chatmagic.session.session import Session


def test_a_session_has_each_in_order() -> None:
    """The ledger and its limits are those of the process, the others its own."""
    one, other = Session(), Session()
    assert [type(feature) for feature in one.features] == [*FEATURES]
    shared = [a for a, b in zip(one.features, other.features, strict=True) if a is b]
    assert shared == [*Session.ledger.limits, Session.ledger]
    assert [one.feature(kind) for kind in FEATURES] == [*one.features]


def test_their_settings_are_those_of_a_kernel() -> None:
    """Each is a trait that %config sets, without a value at first."""
    names = [setting.name for setting in all_settings()]
    assert names
    assert len({*names}) == len(names)
    settings = KernelSettings()
    for setting in all_settings():
        assert getattr(settings, setting.name) is None
        assert settings.traits()[setting.name].metadata["config"]
        assert settings.traits()[setting.name].help == setting.help


@pytest.mark.parametrize("kind", FEATURES)
def test_a_question_is_asked_without_any_one_of_them(
    kind: type[Feature], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is a link that passes, and nothing else needs it."""
    rest = {other: made for other, made in FEATURES.items() if other is not kind}
    service = RowService(9)
    with mock.patch.object(features, "FEATURES", rest):
        monkeypatch.setattr(Session, "ledger", new_ledger(GivenEnvironment))
        session = Session(Client(transport=service))
    assert [type(feature) for feature in session.features] == [*rest]
    assert len(session.ledger.limits) == sum(issubclass(other, Limit) for other in rest)
    assert session.ask("a").text == "A"
    session.map("{{ it }}", ["b"], yes=True, file=tmp_path / "m.jsonl")
    assert service.prompts == ["a", "b"]
