"""The emulator stands in for a service to OpenAI's client, on which many others are built."""

from __future__ import annotations

from typing import Any

import pytest
from libraries import library

from chatmagic.emulator.server import Emulator

ASKED: Any = [{"role": "user", "content": "echo:one two three"}]
PARTS: Any = [{"role": "user", "content": [{"type": "text", "text": "Which city?"}]}]


@pytest.mark.release  # the client alone takes two seconds to import
def test_a_client_is_answered() -> None:
    """By a reply, a stream with its usage, an instance of a schema, the models and an error."""
    openai = library("openai")
    city = library("pydantic").create_model("City", name=(str, ...), people=(int, ...))
    with (
        Emulator() as emulator,
        openai.OpenAI(base_url=f"{emulator.url}/v1", api_key="k", max_retries=0) as client,
    ):
        chat = client.chat.completions
        reply = chat.create(model="emulator", messages=ASKED)
        assert reply.choices[0].message.content == "one two three"
        assert reply.usage is not None
        assert (reply.object, reply.usage.total_tokens) == ("chat.completion", 6)
        with chat.stream(
            model="emulator", messages=ASKED, stream_options={"include_usage": True}
        ) as stream:
            completion = stream.get_final_completion()
        assert completion.choices[0].message.content == "one two three"
        assert completion.usage is not None
        assert completion.usage.completion_tokens == 3
        parsed = chat.parse(model="emulator", messages=PARTS, response_format=city)
        assert parsed.choices[0].message.parsed == city(name="a name of the emulator", people=1)
        assert [model.id for model in client.models.list()] == ["emulator"]
        with pytest.raises(openai.AuthenticationError, match="401"):
            client.with_options(api_key="invalid").chat.completions.create(
                model="emulator", messages=ASKED
            )
