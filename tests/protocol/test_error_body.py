"""Error bodies, in the documented shape and in the shapes of other servers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from cases import each_case
from forged_json import nested_lists

from chatmagic.protocol.error_body import ErrorBody

DEEP = nested_lists(900)


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
        assert not replace(body, limit=None).is_rate_limit
        assert not replace(body, used=None).is_rate_limit

    @each_case(
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
            ({"detail": [{"msg": "required", "loc": ["body", 1]}]}, None, "required"),
            ({"detail": [{"msg": "required", "loc": ["body", "n"]}]}, None, "n: required"),
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

    @pytest.mark.parametrize(
        ("fields", "status", "code"),
        [
            ({"code": 402}, 402, None),
            ({"code": "429"}, 429, "429"),
            ({"code": "busy", "status": 503}, 503, "busy"),
            ({"code": 200}, None, None),
            ({"code": 600}, None, None),
            ({"code": True}, None, None),
            ({"type": "bad", "code": "too_long"}, None, "too_long"),
        ],
    )
    def test_its_own_status(
        self, fields: dict[str, Any], status: int | None, code: str | None
    ) -> None:
        """A body may name a status that HTTP knows as an error; its code is kept as a word."""
        body = ErrorBody.from_json({"error": {"message": "No", **fields}})
        assert body is not None
        assert (body.status, body.code) == (status, code)
        assert body.error == fields.get("type", code)
        assert ErrorBody.from_json({"errors": nested_lists(100_000)}) == ErrorBody("error")

    def test_a_choice_may_hold_it(self) -> None:
        """An error of the choice is one of the reply; one of the body goes first."""
        within = {"choices": [{"error": {"message": "Inner"}}]}
        assert ErrorBody.in_reply(within) == ErrorBody(None, "Inner")
        assert ErrorBody.in_reply({**within, "error": "Outer"}) == ErrorBody("Outer")
        assert ErrorBody.in_reply({"choices": [{"error": None}]}) is None

    @each_case(
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
        """Figures and times of another type are left out; what a number counts others judge."""
        odd = ErrorBody.from_json({**LIMITED, "limit": -1, "used": "100", "resetAt": [5]})
        assert odd == ErrorBody("Rate limit exceeded", "Limit reached", None, 100)
        body = ErrorBody.from_json({**LIMITED, "resetAt": 1767312000})
        assert body is not None
        assert body.reset_at == "1767312000"


@each_case(
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


def test_figures_of_the_limit_or_a_list_of_errors_are_an_error_in_place_of_a_reply() -> None:
    """In a value without choices, or in the first value of a list."""
    limited = ErrorBody.in_reply([LIMITED, "more"])
    assert limited is not None
    assert limited.is_rate_limit
    assert ErrorBody.in_reply({"errors": ["w"]}) == ErrorBody("w")


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ({"code": 429, "msg": "Slow"}, 429),
        ({"code": "11202", "message": "Slow", "sid": "x"}, None),
        ({"Response": {"Error": {"Code": "RequestLimitExceeded", "Message": "Slow"}}}, None),
        ({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "Slow"}}, None),
        ({"error_code": 18, "error_msg": "Slow"}, None),
        ({"code": None, "status_code": 503, "msg": "Slow"}, 503),
    ],
)
def test_a_code_beside_a_message_is_an_error(value: object, status: int | None) -> None:
    """In an answer that holds no reply."""
    error = ErrorBody.with_code(value)
    assert error is not None
    assert (error.message, error.status, error.source) == ("Slow", status, value)


@pytest.mark.parametrize(
    "value",
    [
        {"code": 0, "msg": "Slow"},
        {"code": "OK", "message": "Slow"},
        {"code": 429},
        {"code": 429, "message": ["Slow"]},
        {"code": 429, "message": ""},
        {"message": "Slow"},
        {"a": {"b": {"c": {"code": 1, "message": "Slow"}}}},
        [{"code": 1, "message": "Slow"}],
        None,
    ],
)
def test_a_code_alone_or_of_a_success_is_no_error(value: object) -> None:
    """Nor is a message alone."""
    assert ErrorBody.with_code(value) is None
