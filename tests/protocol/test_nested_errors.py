"""Errors that a gateway passes on, in any wrapping."""

from __future__ import annotations

import json
from typing import Any

from cases import each_case

from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.nested_errors import innermost_cause

INNER = {"error": {"message": "Bad tool", "type": "invalid"}}
RAW = json.dumps(INNER)


def routed(raw: object, **more: object) -> dict[str, Any]:
    """Return an error as OpenRouter passes it on."""
    return {"message": "Provider returned error", "metadata": {"raw": raw, **more}}


@each_case(
    ("error", "message"),
    [
        (routed(RAW, provider_name="OpenAI"), "OpenAI: Bad tool"),
        (routed(INNER), "Bad tool"),
        (routed("slow down, please", provider_name=" Chutes "), "Chutes: slow down, please"),
        (routed(json.dumps({"error": routed(RAW, provider="B")}), provider="A"), "A: B: Bad tool"),
        (routed(json.dumps({"detail": "no"})), "no"),
        (routed("", provider_name="A"), "Provider returned error"),
        (routed({}, provider_name=1), "Provider returned error"),
        (routed({"code": 3}), "Provider returned error"),
        ({"message": "outer", "innererror": {"code": "x", "message": "deep"}}, "deep"),
        ({"message": "outer", "error": {"message": "mid", "cause": {"message": "deep"}}}, "deep"),
        ({"message": RAW}, "Bad tool"),
        ({"message": f"litellm: OpenAIException - {RAW}"}, "litellm: OpenAIException: Bad tool"),
        ({"message": f"{RAW} (request 7)"}, "Bad tool"),
        (
            {"message": """Error code: 400 - {'error': {'message': "it's"}}"""},
            "Error code: 400: it's",
        ),
        ({"message": "Error code: 400 - {'message': 'no', 'x': None}"}, "Error code: 400: no"),
        ({"message": "Use {curly} braces"}, "Use {curly} braces"),
        ({"message": "{" * 30_000}, "{" * 30_000),
        ({"message": '{"a":' * 3_000}, '{"a":' * 3_000),
        ({"message": None}, None),
        ({"message": "short", "error": "name", "metadata": "text"}, "short"),
    ],
)
def test_the_innermost_cause_is_shown(error: dict[str, Any], message: str | None) -> None:
    """With the provider before it; what holds no other error stays as it is."""
    assert innermost_cause(error, error["message"]) == message


def test_a_cause_that_is_too_deep_is_left() -> None:
    """A hostile answer may be nested as deep as it likes."""
    deep: object = "the bottom"
    for _ in range(500):
        deep = {"cause": deep}
    assert innermost_cause({"cause": deep}, "top") == "top"


def test_a_body_has_the_message_of_its_innermost_error() -> None:
    """The status is the gateway's, and so is the code."""
    body = ErrorBody.from_json({"error": {"code": 429, **routed(RAW, provider_name="A")}})
    assert body is not None
    assert (body.message, body.status) == ("A: Bad tool", 429)
