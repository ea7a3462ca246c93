"""Servers by name: those of the package and those of the user."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from project import ROOT

from chatmagic.client import config, servers
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Server
from chatmagic.errors import InputError
from chatmagic.protocol.url import (
    is_loopback,
    request_url,
)

KEY = "sk-environment-0001"


LOCAL = ["ollama", "llama.cpp", "lmstudio", "vllm"]


HOSTED = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "groq": "GROQ_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "together": "TOGETHER_API_KEY",
    "xai": "XAI_API_KEY",
    "huggingface": "HF_TOKEN",
}


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return where the user's file is, and let no other setting count."""
    for name in ("CHATMAGIC_BASE_URL", "CHATMAGIC_API_KEY", "CHATMAGIC_AUTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "chatmagic").mkdir()
    return tmp_path / "chatmagic" / servers.SERVERS_FILE


def test_the_servers_on_this_machine() -> None:
    """Each takes no key, and tells tokens where it is asked for them."""
    ours = {name: server for name, server in servers.known_servers().items() if name in LOCAL}
    assert list(ours) == LOCAL
    for name, server in ours.items():
        assert is_loopback(server.base_url)
        assert (server.name, server.auth, server.stream_usage) == (name, "none", True)
    assert [name for name, server in ours.items() if server.needs_model] == ["ollama", "lmstudio"]


def test_the_hosted_services() -> None:
    """Each has an address with TLS, takes a bearer's key, and its own tools have a variable."""
    known = servers.known_servers()
    assert list(known) == [*LOCAL, *HOSTED]
    for name, variable in HOSTED.items():
        server = known[name]
        assert server.base_url.startswith("https://")
        assert (server.auth, server.key_variable) == ("bearer", variable)
        assert request_url(server.base_url).endswith("/chat/completions")
        assert "v1/v1" not in request_url(server.base_url)


def row(name: str, server: Server) -> str:
    """Return a server's row of the page."""
    key = f"`{server.key_variable}`" if server.key_variable else "no key"
    model = "required" if server.needs_model else "optional"
    tokens = "asked" if server.stream_usage else "not asked"
    fields = [f"`{server.limit_field}`"] if server.limit_field != "max_tokens" else []
    fields += [f"no `{field}`" for field in server.refuses]
    cells = [f"`{name}`", f"`{server.base_url}`", key, model, tokens, "; ".join(fields)]
    return "".join(f"| {cell} ".replace("  ", " ") for cell in cells) + "|"


def test_the_page_says_the_same() -> None:
    """Each server has its row, in the same order."""
    page = (ROOT / "notebooks" / "reference" / "connect.md").read_text("utf-8")
    table = page.partition("### Services by name")[2].partition("\n### ")[0]
    rows = [row(name, server) for name, server in servers.known_servers().items()]
    assert re.findall(r"^\| `.*", table, re.MULTILINE) == rows


def test_the_address_of_a_hosted_service_as_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its habits hold, but how the key is sent stays as it is set."""
    monkeypatch.setenv("CHATMAGIC_AUTH", "x-api-key")
    for url in (
        "https://api.openai.com",
        "https://API.openai.com/v1/",
        "https://api.openai.com:443",
    ):
        with Client(url, KEY) as client:
            assert getattr(client.endpoint.server, "limit_field", "") == "max_completion_tokens"
            assert client.endpoint.auth == "x-api-key"
    with Client("openai", KEY) as client:
        assert client.endpoint.auth == "bearer"
    for url in ("https://api.openai.com/other/v1", "https://api.openai.com.example.org/v1"):
        with Client(url, KEY) as client:
            assert client.endpoint.server is None


def test_a_name_that_is_not_known(own: Path) -> None:
    """Those that are known are named; a URL that cannot be used has a hint of its own."""
    own.write_text('[lab]\nbase_url = "http://127.0.0.1:7"\n')
    with pytest.raises(InputError, match="is not a URL") as caught:
        config.first_address([("olama", "test")])
    names = ", ".join(["emulator", *LOCAL, *HOSTED, "lab"])
    assert caught.value.hint == f"Known by name: {names}."
    with pytest.raises(InputError, match="leave them out") as caught:
        config.first_address([("https://a/?b=c", "test")])
    assert "Known by name" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff", "it is not text in UTF-8"),
        (b"[", "Invalid .* key part .at end of document"),
        (b"a = " + b"9" * 4301, "a number in it has more than 4,300 digits"),
    ],
)
def test_a_file_of_servers_that_cannot_be_read(own: Path, content: bytes, why: str) -> None:
    """One line says why, and what to do; an empty file names none."""
    own.write_bytes(content)
    with pytest.raises(InputError, match=rf"servers\.toml cannot be read: {why}") as caught:
        servers.known_servers()
    assert str(caught.value).endswith(
        "Repair it, or rename it: without it chatmagic's own list is known."
    )
    own.write_bytes(b"")
    assert list(servers.known_servers()) == [*LOCAL, *HOSTED]


def test_a_name_stands_for_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever an address may be set; how the environment's key is sent is no matter there."""
    monkeypatch.setenv("CHATMAGIC_AUTH", "x-api-key")
    monkeypatch.setenv("CHATMAGIC_BASE_URL", " Ollama ")
    monkeypatch.setenv("CHATMAGIC_API_KEY", "sk-for-another-place")
    with Client(model="small") as client:
        assert client.endpoint.origin == "http://127.0.0.1:11434"
        assert (client.endpoint.auth, client.endpoint.key) == ("none", None)
        assert client.setup.extra_body == {"model": "small"}
        assert getattr(client.endpoint.server, "stream_usage", False)


def test_a_file_of_the_user_counts_first(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It adds a server, which may take a key, and may say another port alone for one of ours."""
    ours = servers.known_servers()["ollama"]
    own.write_text(
        '[lab]\nbase_url = "https://llm.example.org/v1"\nauth = "bearer"\n'
        '[OLLAMA]\nbase_url = "http://127.0.0.1:7"\n'
    )
    assert servers.known_servers()["ollama"] == replace(ours, base_url="http://127.0.0.1:7")
    assert servers.server_address("vllm") == "http://127.0.0.1:8000"
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "lab")
    monkeypatch.setenv("CHATMAGIC_API_KEY", "sk-of-the-lab")
    with Client() as client:
        assert client.endpoint.origin == "https://llm.example.org:443"
        assert client.endpoint.key_from == "CHATMAGIC_API_KEY"
        assert client.setup.extra_body == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[lab", "cannot be read: "),
        ("lab = 1", r"\[lab\] holds something else"),
        ('[lab]\nbase_url = "http://a"\nport = 1', r"\[lab\] holds something else"),
        ("[lab]\nbase_url = 1", r"\[lab\] holds something else"),
        ('[lab]\nbase_url = "http://a"\nauth = "sk-1234"', r"\[lab\] holds something else"),
        ('[lab]\nbase_url = "http://a"\nneeds_model = 1', r"\[lab\] holds something else"),
        ("[lab]", "is not a URL"),
    ],
)
def test_a_wrong_file(own: Path, content: str, words: str) -> None:
    """It is named in one line, which repeats no value; an address does without it."""
    own.write_text(content)
    with pytest.raises(InputError, match=words) as caught:
        config.first_address([("lab", "test")])
    assert "sk-1234" not in str(caught.value)
    assert config.first_address([("http://127.0.0.1:1", "test")]).server is None
