"""Token counts and credits: JSON both ways; a reply as a value that is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from operator import getitem
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter
from IPython.lib.pretty import pretty

from chatmagic import Reply
from chatmagic.models import Credits, Usage

NOW = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)


class TestUsage:
    """Token counts."""

    @pytest.mark.parametrize(
        ("value", "usage"),
        [
            ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}, Usage(9, 4, 13)),
            ({"prompt_tokens": "9", "completion_tokens": 4.0, "total_tokens": None}, Usage(9, 4)),
            ({"prompt_tokens": 0, "cost": 0.1}, Usage(0)),
            ({"prompt_tokens": -1}, None),
            ({}, None),
            (None, None),
            ([1], None),
        ],
    )
    def test_counts_are_read(self, value: object, usage: Usage | None) -> None:
        """Whole numbers count, also as text or with a point; nothing told is ``None``."""
        assert Usage.from_json(value) == usage

    def test_what_is_known_is_written(self) -> None:
        """Unknown counts are left out."""
        assert Usage(9, None, 0).to_json() == {"prompt_tokens": 9, "total_tokens": 0}
        assert Usage.from_json(Usage(1, 2, 3).to_json()) == Usage(1, 2, 3)


class TestCredits:
    """Credits in a record."""

    @pytest.mark.parametrize(
        "credits",
        [
            Credits(100, 87, 13, NOW, NOW),
            Credits(None, None, None, None, NOW),
            Credits(0, 0, 0, None, NOW),
            Credits(None, None, None, None, NOW, spent=0.25, budget=5.0),
        ],
    )
    def test_both_ways(self, credits: Credits) -> None:
        """Credits are read as they are written; unknown figures are left out."""
        written = credits.to_json()
        assert Credits.from_json(json.loads(json.dumps(written))) == credits
        for amount in (-1, "1", True, 1e300, None):
            assert Credits.from_json({**written, "spent": amount}).spent is None
        assert None not in written.values()

    @pytest.mark.parametrize("value", [None, [], {}, {"limit": 1}, {"seen_at": "soon"}])
    def test_without_their_time_they_are_none(self, value: object) -> None:
        """Figures of an unknown time are refused."""
        with pytest.raises(ValueError, match=r"JSON object|seen_at"):
            Credits.from_json(value)


def test_printed_code_cannot_act() -> None:
    """A block's text is exact, and what ``print`` makes of it is safe in a terminal."""
    block = Reply("```sh\nls \x1b[2J\n```").code_blocks[0]
    assert block.code == "ls \x1b[2J"
    assert f"{block}" == "ls ␛[2J"


class TestReplyAsAValue:
    """How IPython shows a reply that is a cell's value, with the extension and without."""

    def test_it_cannot_act(self) -> None:
        """Neither in a terminal nor in a page."""
        reply = Reply("<script>x</script> \x1b[2J *so*")
        assert reply.text == "<script>x</script> \x1b[2J *so*"
        assert "\x1b" not in pretty(reply)
        assert "*so*" in pretty(reply)
        assert str(reply) == f"{reply}" == "<script>x</script> ␛[2J *so*"
        data, metadata = reply._repr_mimebundle_(include=None, exclude=None)
        assert set(data) == {"text/html", "text/markdown", "text/plain"}
        assert data["text/plain"] == pretty(reply)
        assert data["text/html"] == reply._repr_html_()
        assert "<em>so</em>" in data["text/html"]
        assert "<script" not in data["text/html"]
        assert "<script" not in data["text/markdown"]
        assert metadata == {}

    def test_json_is_drawn_as_a_tree(self) -> None:
        """As its cell draws it, where the reply was read as JSON."""
        reply = Reply('{"a": [1]}', parsed={"a": [1]})
        data, _ = reply._repr_mimebundle_()
        assert "<details" in data["text/html"]
        assert data["text/plain"] == '{"a": [1]}'
        assert "<details" not in Reply(reply.text)._repr_html_()

    def test_plain_ipython_draws_it(self) -> None:
        """Without the extension, and with no other formatter's help."""
        formatter: Any = DisplayFormatter()
        data, metadata = formatter.format(Reply("*so*"))
        assert data == Reply("*so*")._repr_mimebundle_()[0]
        assert metadata == {}


def test_a_reply_is_no_stream_and_no_json() -> None:
    """A loop over it, and an item of it, name the text and the fragments."""
    reply: Any = Reply("hi")
    words = r"reply\.text is its text, and ask\(…, on_fragment"
    with pytest.raises(TypeError, match=words):
        list(reply)
    with pytest.raises(TypeError, match=words):
        getitem(reply, "choices")
    assert not isinstance(reply, Iterable), "pandas takes an iterable for a list"
