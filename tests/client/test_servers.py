"""Servers by name: our table, the user's own file, and what is wrong with one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from project import ROOT

from chatmagic.client import config, servers
from chatmagic.client.client import Client
from chatmagic.errors import InputError
from chatmagic.protocol.url import is_loopback

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["ollama", "llama.cpp", "lmstudio", "vllm"]


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return where the user's file is, and let no other setting count."""
    for name in ("CHATMAGIC_BASE_URL", "CHATMAGIC_API_KEY", "CHATMAGIC_AUTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "chatmagic").mkdir()
    return tmp_path / "chatmagic" / servers.FILE


def test_the_table_of_ours() -> None:
    """Each is on this machine, takes no key, and tells tokens where it is asked for them."""
    own, ours = servers.tables()
    assert own == {}
    assert list(ours) == NAMES
    for name, server in ours.items():
        assert is_loopback(server.base_url)
        assert (server.name, server.auth, server.stream_usage) == (name, "none", True)
    assert [name for name, server in ours.items() if server.needs_model] == ["ollama", "lmstudio"]


def test_the_page_says_the_same() -> None:
    """Each server has its row, in the same order."""
    page = (ROOT / "notebooks" / "reference" / "servers.md").read_text("utf-8")
    told = "where the request asks for them"
    assert re.findall(r"^\| `.*", page, re.MULTILINE) == [
        f"| `{name}` | `{server.base_url}` | {'a model' if server.needs_model else 'nothing more'} "
        f"| {told if server.stream_usage else 'always'} |"
        for name, server in servers.tables()[1].items()
    ]


@pytest.mark.parametrize("word", ["https://ollama", "", "emulator", "chat.example.org"])
def test_what_is_no_name(word: str) -> None:
    """An address stays as it is."""
    assert servers.find(word) is None
    assert servers.address_of(word) == word


def test_a_name_that_is_not_known(own: Path) -> None:
    """Those that are known are named; a URL that cannot be used has a hint of its own."""
    own.write_text('[lab]\nbase_url = "http://127.0.0.1:7"\n')
    with pytest.raises(InputError, match="is not a URL") as caught:
        config.address([("olama", "test")])
    assert caught.value.hint == "Known by name: emulator, ollama, llama.cpp, lmstudio, vllm, lab."
    with pytest.raises(InputError, match="leave them out") as caught:
        config.address([("https://a/?b=c", "test")])
    assert "Known by name" not in str(caught.value)


@pytest.mark.parametrize("name", ["ollama", " Ollama "])
def test_a_name_stands_for_an_address(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever an address may be set; how the environment's key is sent is no matter there."""
    endpoint = config.address([(name, "test")])
    assert (endpoint.origin, endpoint.stream_usage) == ("http://127.0.0.1:11434", True)
    monkeypatch.setenv("CHATMAGIC_AUTH", "x-api-key")
    monkeypatch.setenv("CHATMAGIC_BASE_URL", name)
    monkeypatch.setenv("CHATMAGIC_API_KEY", "sk-for-another-place")
    with Client(model="small") as client:
        assert (client.endpoint.auth, client.endpoint.key) == ("none", None)
        assert client.setup.extra_body == {
            "model": "small",
            "stream_options": {"include_usage": True},
        }


def test_a_file_of_the_user_counts_first(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It adds a server, which may take a key, and may say another port for one of ours."""
    own.write_text(
        '[lab]\nbase_url = "https://llm.example.org/v1"\nauth = "bearer"\n'
        '[OLLAMA]\nbase_url = "http://127.0.0.1:7"\n'
    )
    assert servers.address_of("ollama") == "http://127.0.0.1:7"
    assert servers.address_of("vllm") == "http://127.0.0.1:8000"
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
        ("lab = 1", "is not a URL"),
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
        config.address([("lab", "test")])
    assert "sk-1234" not in str(caught.value)
    assert config.address([("http://127.0.0.1:1", "test")]).server is None


def test_a_file_that_cannot_be_read(own: Path) -> None:
    """A folder in its place is named, too."""
    own.mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        servers.tables()
