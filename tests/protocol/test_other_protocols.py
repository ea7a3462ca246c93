"""Addresses that are known to speak another protocol, and those that only look like it."""

from __future__ import annotations

import pytest
from cases import each_case

from chatmagic.client import servers
from chatmagic.errors import InputError
from chatmagic.protocol.other_protocols import other_protocol, refuse_other_protocol

GEMINI = "https://generativelanguage.googleapis.com"
AZURE = "https://lab.openai.azure.com"


@each_case(
    ("url", "name", "compatible"),
    [
        ("https://api.openai.com/v1/responses", "OpenAI's Responses", "https://api.openai.com/v1"),
        (" https://a.example/api/v1/responses/ ", "OpenAI's Resp", "https://a.example/api/v1"),
        ("https://api.openai.com/v1/completions", "Completions", "https://api.openai.com/v1"),
        ("https://a.example:8443/v1/embeddings", "embeddings", "https://a.example:8443/v1"),
        ("https://api.anthropic.com/v1/messages", "Anthropic's", "https://api.anthropic.com/v1"),
        ("https://a.example/v1/messages/batches", "Anthropic's", "https://a.example/v1"),
        ("https://api.deepseek.com/anthropic", "Anthropic's", "https://api.deepseek.com"),
        ("https://a.example/x/anthropic/v1", "Anthropic's", "https://a.example/x"),
        (GEMINI, "Google's Gemini API", f"{GEMINI}/v1beta/openai"),
        (f"{GEMINI}/v1beta", "Google's Gemini API", f"{GEMINI}/v1beta/openai"),
        (
            f"{GEMINI}/v1beta/models/gemini-x:generateContent?key=AIza0123456789abcdefghij",
            "Google's Gemini API",
            f"{GEMINI}/v1beta/openai",
        ),
        (AZURE, "Azure's", f"{AZURE}/openai/v1"),
        (
            f"{AZURE}/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
            "Azure's",
            f"{AZURE}/openai/v1",
        ),
        (
            "https://lab.services.ai.azure.com/models",
            "Azure's",
            "https://lab.services.ai.azure.com/openai/v1",
        ),
        ("localhost:11434/api/chat", "Ollama's", "http://localhost:11434"),
        ("http://127.0.0.1:11434/api/", "Ollama's", "http://127.0.0.1:11434"),
    ],
)
def test_an_address_of_another_protocol(url: str, name: str, compatible: str) -> None:
    """It is named with the compatible address, which shows no key and is none of another."""
    known = other_protocol(url)
    assert known is not None
    assert name in known[0].name
    assert known[1] == compatible
    with pytest.raises(InputError, match=r"which chatmagic does not speak\. Nothing") as caught:
        refuse_other_protocol(url)
    assert str(caught.value.hint).endswith(f": {compatible}")
    assert "AIza" not in f"{caught.value} {caught.value.hint}"
    assert other_protocol(compatible) is None


@each_case(
    "url",
    [
        "https://api.anthropic.com",
        "https://api.openai.com/v1/chat/completions",
        f"{GEMINI}/v1beta/openai/",
        f"{GEMINI}/v1beta/openai/chat/completions",
        f"{AZURE}/openai/v1/",
        "https://openai.azure.com.example.org/openai/deployments/x",
        "https://a.example/messages",
        "https://a.example/responses",
        "https://a.example/api/chat",
        "https://a.example/myanthropic",
        "http://localhost:11434",
        "http://localhost:11434/api/v1",
        "emulator",
        "",
    ],
)
def test_any_other_address(url: str) -> None:
    """It may be anybody's, so nothing is said of it."""
    assert other_protocol(url) is None
    refuse_other_protocol(url)


def test_no_server_by_name_is_one() -> None:
    """What is listed speaks the interface."""
    assert [
        server for server in servers.known_servers().values() if other_protocol(server.base_url)
    ] == []
