"""Fields that services refuse, in the words of each."""

from __future__ import annotations

import json
from typing import Any

from cases import each_case

from chatmagic.protocol.refused_fields import SCHEMA, refused_fields


def openai(message: str, **more: Any) -> dict[str, Any]:
    """Return an error in the shape of OpenAI's API."""
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


INSTEAD = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)


@each_case(
    ("source", "refused"),
    [
        (openai(INSTEAD, param="max_tokens", code="unsupported_parameter"), "max_tokens"),
        (openai("no", param="max_tokens", code="unsupported_parameter"), "max_tokens"),
        (openai("no", code="max_tokens not_supported"), "max_tokens"),
        (openai("Use max_completion_tokens in place of max_tokens."), "max_tokens"),
        ({"error": {"code": 400, "metadata": {"raw": json.dumps(openai(INSTEAD))}}}, "max_tokens"),
        (openai("'temperature' does not support 0.2 with this model."), "temperature"),
        (openai("`temperature` is deprecated for this model."), "temperature"),
        ({"error": "unsupported_parameter", "message": "x", "param": "temperature"}, "temperature"),
        (openai("Unsupported value: 'stream' does not support true."), "stream"),
        (openai("must be verified", param="stream", code="unsupported_value"), "stream"),
        (openai("Streaming is not supported."), "stream"),
        (openai("Only non-streaming requests are taken."), "stream"),
        (openai("`stream` must be false for this model"), "stream"),
        (openai("invalid temperature: only 1 is allowed for this model"), "temperature"),
        (openai("temperature is fixed for this model and can't be set"), "temperature"),
        (openai("kein Wert erlaubt", param="temperature"), "temperature"),
        ({"errors": {"temperature": ["The field temperature is not allowed."]}}, "temperature"),
        (openai("max_tokens was replaced by max_completion_tokens"), "max_tokens"),
        ([openai('Unknown name "stream_options": Cannot find field.')], "stream_options"),
        (
            {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs"}]},
            "stream_options",
        ),
        (
            {"detail": [{"loc": ["body", "stream_options", "include_usage"], "msg": "no"}]},
            "stream_options",
        ),
        ({"message": "Unknown field: response_format"}, "response_format"),
        (openai("This response_format type is unavailable now"), "response_format"),
        ({"error": "'response_format.type' must be 'json_schema' or 'text'"}, "response_format"),
        (openai("'response_format' of type 'json_schema' is not supported"), "response_format"),
        (openai("JSON mode is not supported for this model."), "response_format"),
        (openai("Unsupported: json_schema"), "response_format"),
        (openai("JSON schemas are not supported."), "response_format"),
        (
            openai("Invalid schema for 'P': required.", param="response_format"),
            SCHEMA,
        ),
        (openai("bad keyword", param="response_format.json_schema.schema"), SCHEMA),
        ({"error": {"code": 400, "message": "JSON schema conversion failed: $ref"}}, SCHEMA),
        (openai("The provided JSON schema contains features not supported by xgrammar."), SCHEMA),
        (openai("Grammar error: Unimplemented keys"), SCHEMA),
    ],
)
def test_a_refused_field_is_recognized(source: object, refused: str) -> None:
    """In the parameter, the code, the place or the message, wherever these stand."""
    assert refused_fields(source)[0] == refused
    assert {*refused_fields(source)} <= {refused, "max_completion_tokens"}


@each_case(
    "source",
    [
        None,
        "text",
        openai("max_tokens is too large: 9. At most 4 are not supported.", param="max_tokens"),
        openai("'temperature': decimal above maximum value", param="temperature"),
        openai("temperature must be between 0 and 1: other values are not supported"),
        openai("temperature must be 1 or less: other values are not supported"),
        [openai("no", param=["stream"])],
        openai("The model 'gpt-9' is not supported"),
        openai("my_temperature and temperature-2 are not supported"),
        {"detail": [{"loc": ["body", "model"], "msg": "Unexpected", "input": "temperature"}]},
        {
            "error": {
                "param": {"param": {"param": {"param": {"param": {"param": {"param": "stream"}}}}}}
            }
        },
    ],
)
def test_another_complaint_refuses_no_field(source: object) -> None:
    """A value, a model, another name, the request repeated, or something too deep."""
    assert refused_fields(source) == ()
