"""Errors in untrusted JSON, in the documented shape and in the shapes that are about."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chatmagic.protocol.error_body import ErrorBody

DEEP = json.loads("[" * 900 + "]" * 900)


LIMITED: dict[str, Any] = {
    "error": "Rate limit exceeded",
    "message": "Limit reached",
    "limit": 100,
    "used": 100,
    "resetAt": "2026-01-02T00:00:00Z",
}


class TestErrorBody:
    """Error bodies, in the documented shape and in the shapes that are about."""

    def test_the_documented_shape(self) -> None:
        """The rate-limit error is known by its body, and written as it was read."""
        body = ErrorBody.from_json(LIMITED)
        assert body == ErrorBody(
            "Rate limit exceeded", "Limit reached", 100, 100, LIMITED["resetAt"]
        )
        assert body.is_rate_limit
        assert body.to_json() == LIMITED

    @pytest.mark.parametrize("missing", ["limit", "used"])
    def test_without_its_figures_it_is_another_error(self, missing: str) -> None:
        """Both figures make the rate-limit error."""
        body = ErrorBody.from_json({name: LIMITED[name] for name in LIMITED if name != missing})
        assert body is not None
        assert not body.is_rate_limit

    @pytest.mark.parametrize(
        ("value", "error", "message"),
        [
            ({"error": "unauthorized", "message": "Bad key"}, "unauthorized", "Bad key"),
            ({"error": "Unauthorized"}, "Unauthorized", None),
            ({"error": {"message": "No", "type": "bad", "code": "c"}}, "bad", "No"),
            ({"error": {"message": "No", "code": "c"}, "user_id": "u"}, "c", "No"),
            ({"error": {"message": "No", "code": 402}}, None, "No"),
            ({"error": {"code": 500}, "message": "Outer"}, None, "Outer"),
            ({"error": {"code": 500}}, '{"code": 500}', None),
            ({"error": ["No"]}, "No", None),
            ({"error": [{"message": "No"}]}, None, "No"),
            ({"error": [1]}, "[1]", None),
            ({"error": True}, "error", None),
            ({"error": {}, "detail": "No"}, None, "No"),
            ({"errors": [{"code": 1, "message": "No"}], "success": False}, None, "No"),
            ({"errors": {"name": ["wrong"]}}, '{"name": ["wrong"]}', None),
            ({"errors": DEEP}, json.dumps(DEEP), None),
            ({"detail": "No"}, None, "No"),
            ({"detail": [{"msg": "field required", "loc": ["body"]}]}, None, "field required"),
            ({"detail": [{"message": "No"}]}, None, "No"),
            ({"detail": ["No", "nor this"]}, None, "No"),
            ({"detail": {"error": "No", "code": 3}}, None, "No"),
            ({"object": "error", "message": {"detail": [{"msg": "No"}]}}, None, "No"),
            ({"error": "e", "error_description": "No"}, "e", "No"),
            ({"error": "e", "detail": "No"}, "e", "No"),
            ({"type": "about:blank", "title": "No", "status": 400}, "about:blank", "No"),
            ({"title": "Short", "detail": "Long"}, None, "Long"),
            ({"message": "No", "status": "failure"}, None, "No"),
            ({"object": "error", "message": "No", "type": "T"}, "T", "No"),
            ({"object": "error", "choices": [], "message": "No"}, None, "No"),
            ({"choices": [], "error": {"message": "No"}}, None, "No"),
            ([{"error": {"message": "No"}}], None, "No"),
            ([1, None, {}, {"message": "No"}], None, "No"),
        ],
    )
    def test_other_shapes(self, value: object, error: str | None, message: str | None) -> None:
        """An error is found in any of the usual shapes."""
        body = ErrorBody.from_json(value)
        assert body is not None
        assert replace(body, status=None, code=None) == ErrorBody(error, message)

    def test_a_code_that_is_a_word_is_kept_beside_the_type(self) -> None:
        """The type is the name that is shown; some reasons are told by the code alone."""
        body = ErrorBody.from_json({"error": {"message": "No", "type": "bad", "code": "too_long"}})
        assert body is not None
        assert (body.error, body.code) == ("bad", "too_long")
        numbered = ErrorBody.from_json({"error": {"message": "No", "code": 400}})
        assert numbered is not None
        assert numbered.code is None

    def test_one_without_words_may_be_of_any_depth(self) -> None:
        """What cannot be written is an error all the same."""
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        assert ErrorBody.from_json({"errors": deep}) == ErrorBody("error")

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            ({"code": 402}, 402),
            ({"code": "429"}, 429),
            ({"code": "busy", "status": 503}, 503),
            ({"code": 200}, None),
            ({"code": 600}, None),
            ({"code": True}, None),
            ({}, None),
        ],
    )
    def test_its_own_status(self, fields: dict[str, Any], status: int | None) -> None:
        """A body may name a status that HTTP knows as an error."""
        body = ErrorBody.from_json({"error": {"message": "No", **fields}})
        assert body is not None
        assert body.status == status

    def test_a_choice_may_hold_it(self) -> None:
        """An error of the choice is one of the reply; one of the body goes first."""
        within = {"choices": [{"error": {"message": "Inner"}}]}
        assert ErrorBody.in_reply(within) == ErrorBody(None, "Inner")
        assert ErrorBody.in_reply({**within, "error": "Outer"}) == ErrorBody("Outer")
        assert ErrorBody.in_reply({"choices": [{"error": None}]}) is None

    @pytest.mark.parametrize(
        "value",
        [
            None,
            "error",
            1,
            [],
            [[{"error": "x"}]],
            DEEP,
            {},
            {"error": None},
            {"error": "", "errors": []},
            {"object": "error"},
            {"choices": [], "error": None, "message": "x"},
            {"choices": [{"delta": {}}], "detail": "x"},
            {"message": {"role": "assistant"}},
            {"detail": []},
            {"detail": [["x"]]},
            {"detail": [{"loc": 1}]},
            {"tool": "search", "status": "running"},
        ],
    )
    def test_what_is_no_error(self, value: object) -> None:
        """Replies, keep-alives, other events and nulls are not errors."""
        assert ErrorBody.from_json(value) is None

    def test_odd_figures_are_unknown(self) -> None:
        """Figures and times of another type are left out."""
        odd = {**LIMITED, "limit": -1, "used": "100", "resetAt": [5]}
        assert ErrorBody.from_json(odd) == ErrorBody(
            "Rate limit exceeded", "Limit reached", None, 100
        )

    def test_a_reset_may_be_a_number(self) -> None:
        """What it counts is for others to judge."""
        body = ErrorBody.from_json({**LIMITED, "resetAt": 1767312000})
        assert body is not None
        assert body.reset_at == "1767312000"


@pytest.mark.parametrize(
    "value",
    [
        {"title": "Statistics"},
        {"message": "queued", "position": 3},
        {"id": "1", "detail": "note"},
        {"usage": {"total_tokens": 1}, "message": "bye"},
        {"choices": [{"delta": {"content": "x"}}], "errors": ["w"]},
        {"choices": [], "error": None},
        [],
        [1],
        "text",
    ],
)
def test_a_chunks_unknown_fields_are_no_error(value: object) -> None:
    """Fields that are not shown may be called anything (fact 6)."""
    assert ErrorBody.in_reply(value) is None


@pytest.mark.parametrize(
    "value",
    [
        {"error": "gone"},
        {"error": {"message": "gone"}, "choices": []},
        [{"error": {"message": "gone"}}],
        {"object": "error", "message": "gone"},
        {"message": "gone", "limit": 5, "used": 5},
    ],
)
def test_an_error_in_a_reply_is_told(value: object) -> None:
    """The ``error`` field tells it, or the figures of the rate-limit error."""
    told = ErrorBody.in_reply(value)
    assert told is not None
    assert "gone" in (told.error, told.message)
