"""The template of a map's rows: each row's prompt, request and key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatmagic._json import digest
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.session.ask import Ask
from chatmagic.session.environment import Environment
from chatmagic.session.map.row_reply import replay_key
from chatmagic.session.map.row_template import RowTemplate

SCHEMA = {"title": "Label", "properties": {"label": {"type": "string"}}}


def made(text: str = "Say {{ it }}", *, extra: Any = None, **how: Any) -> RowTemplate:
    """Give a template, for an address with fields of its own."""
    setup = ServiceSetup(Endpoint("https://a", "none", None, "the test"), extra_body=extra)
    columns = how.pop("columns", False)
    ask = Ask(text, history=False, **how)
    return RowTemplate(ask, Environment(), setup, columns=columns)


@pytest.mark.parametrize("extra", [None, {"model": "m", "zeta": [1, {"it": "é"}], "a": 0.5}])
@pytest.mark.parametrize("how", [{}, {"format": "json", "schema": "Label", "max_tokens": 3}])
def test_keys_are_those_of_the_whole_request(extra: Any, how: Any) -> None:
    """Though they are computed from the prompt alone; equal rows are counted."""
    if "schema" in how:
        from chatmagic.session.forms import schema_of  # noqa: PLC0415 - for this case alone

        how = {**how, "form": schema_of(SCHEMA, "Label")}
    template = made(extra=extra, **how)
    values = ["a", 'q"\\\n\u2028é\U0001f600', "a", "", "a"]
    rows = list(template.rows(({"it": value} for value in values), "https://a"))
    seen: list[str] = []
    for number, (row, value) in enumerate(zip(rows, values, strict=True)):
        request = template.request(row)
        seen.append(request.digest())
        assert row.number == number
        assert row.prompt == f"Say {value}"
        assert request.messages[-1].content.endswith(row.prompt)
        assert template.size(row) == len(request.messages[-1].content)
        assert row.request == request.digest()
        assert row.occurrence == seen.count(row.request)
        assert row.key == digest(["https://a", json.loads(request.encode()), row.occurrence])
    assert [row.occurrence for row in rows] == [1, 1, 2, 1, 3]
    replayed = template.rows(({"it": value} for value in values), None)
    assert [row.key for row in replayed] == [replay_key(r.request, r.occurrence) for r in rows]


def test_half_a_surrogate_pair_is_marked() -> None:
    """In the prompt, as in any question."""
    template = made()
    (row,) = template.rows([{"it": "\ud800"}], "https://a")
    assert row.prompt == "Say \ufffd"
    assert row.request == template.request(row).digest()


def test_the_name_of_its_file_is_that_of_before() -> None:
    """A file without a name is found again."""
    assert made().digest.startswith("60ef0e6ca284")
    assert made(max_tokens=3).digest.startswith("338c4f6587aa")
    assert made(format="json").digest.startswith("9ee6991c320b")


def test_a_reply_is_checked_where_json_was_asked_for() -> None:
    """Any other is as it is."""
    assert made(format="json").checked(Reply("[1]")).parsed == [1]
    assert made().checked(Reply("[1]")).parsed is None
    with pytest.raises(InputError, match="columns=True takes the fields of a schema"):
        made(columns=True)
