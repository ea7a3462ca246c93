"""Sources of answers, and files of recorded ones."""

from __future__ import annotations

from chatmagic.client.endpoint import NO_SERVICE, Endpoint, ServiceSetup
from chatmagic.models import Reply
from chatmagic.session.environment import Environment, RequestSettings
from chatmagic.session.source import SERVICE, AnswerFile, AnswerSource


def test_the_service_is_asked_at_its_own_address() -> None:
    """Its reply is as it came; another source is none of the service's."""
    setup = ServiceSetup(Endpoint("https://a.example", "none", None, "a test"))
    settings = RequestSettings(Environment(), setup)
    assert SERVICE.setup(settings) is setup
    assert settings.without_service.endpoint == NO_SERVICE
    reply = Reply("A")
    assert SERVICE.completed(reply) is reply
    assert SERVICE.is_service
    assert not AnswerSource("cassette").is_service


def test_a_file_answers_alone_where_it_holds_it_or_never() -> None:
    """By its mode."""
    files = [
        AnswerFile("Cassette", "a.jsonl", mode, "") for mode in ("replay", "record", "refresh")
    ]
    assert [file.is_replayed for file in files] == [True, False, False]
    assert [file.may_answer for file in files] == [True, True, False]
