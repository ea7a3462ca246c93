"""A feature that does nothing, and the values that features declare."""

from __future__ import annotations

from typing import Any, cast

import pytest
from environments import GivenEnvironment

from chatmagic.errors import InputError
from chatmagic.models import Message, Reply
from chatmagic.protocol.request import Request
from chatmagic.session.exchange import Answer, Sending
from chatmagic.session.feature import DoctorLine, Feature, one_of
from chatmagic.session.prepare import Prepared

REQUEST = Request((Message("user", "a"),))
ANY: Any = None


def test_a_feature_of_its_own_does_nothing() -> None:
    """As a link it passes a request on; it lets everything be sent, and says nothing."""
    feature, answer = Feature(), Answer(Reply("A"))
    sending = cast("Sending", object())
    passed: list[Sending] = []

    def proceed(given: Sending) -> Answer:
        passed.append(given)
        return answer

    assert feature(sending, proceed) is answer
    assert passed == [sending]
    assert feature.as_sent(REQUEST, ANY, None) is REQUEST
    feature.check(ANY)
    feature.take_reply(ANY, Reply(""))
    environment = cast("Any", GivenEnvironment())
    assert feature.news() == []
    assert feature.late_news(None) == []
    feature.complete()
    feature.start_question(ANY)
    prepared = cast("Prepared", object())
    assert feature.with_source(prepared, ANY) is prepared
    assert feature.status_rows(environment) == []
    assert [*feature.examine(environment, "python")] == []
    assert (feature.settings, feature.is_standing) == ((), False)


@pytest.mark.parametrize("value", [None, "", " ", "a", " B "])
def test_one_of_a_few_words_is_taken(value: str | None) -> None:
    """In capitals, too; nothing is no choice."""
    one_of(("a", "b"))(value)


def test_another_word_is_refused_and_not_repeated() -> None:
    """It might be a key."""
    with pytest.raises(InputError) as caught:
        one_of(("a", "b"))("sk-secret")
    assert caught.value.message == "it is one of a, b, or None."


def test_a_line_has_its_advice_below() -> None:
    """Where there is something to do."""
    assert str(DoctorLine("ok", "key", "none")) == "[ok] key: none"
    assert str(DoctorLine("!", "key", "x", "Do y.")) == "[ !] key: x\n     -> Do y."
