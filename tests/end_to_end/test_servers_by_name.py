"""Servers by name: connected, listed and asked, with a scripted Ollama on loopback.

And with what a server of llama.cpp answered: it has to be built, so it does not run here.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from loopback import CHUNKS_END, DONE, Peer, Server, chunked, document, event, playing, stream
from project import ROOT
from shells import KEY, Shell

from chatmagic.errors import ConnectError, NotRecordedError, RequestRejectedError
from chatmagic.session.current import current_session

MODELS = {
    "object": "list",
    "data": [
        {"id": "llama3.2:latest", "object": "model", "created": 1, "owned_by": "library"},
        {"id": "\x1b[2Jdata:text/html,x", "object": "model"},
    ],
}
NO_MODEL = {
    "error": {"message": "model is required", "type": "invalid_request_error", "code": None}
}
USAGE = {"prompt_tokens": 26, "completion_tokens": 2, "total_tokens": 28}
USED = b"data: %s\n\n" % json.dumps({"model": "llama3.2", "choices": [], "usage": USAGE}).encode()


def ollama(peer: Peer) -> None:
    """Answer as Ollama documents it: it calls for a model, and counts tokens where asked to."""
    while asked := peer.request():
        if asked.target == "/v1/models":
            peer.send(document(MODELS))
        elif asked.target != "/v1/chat/completions":
            peer.send(document({}, "404 Not Found"))
        elif not asked.body.get("model"):
            peer.send(document(NO_MODEL, "400 Bad Request"))
        else:
            told = asked.body.get("stream_options") == {"include_usage": True}
            chunks = [event("Hel"), event("lo"), event("", finish_reason="stop")]
            peer.send(stream(*chunks, *([USED] if told else []), DONE))


def llama_cpp(peer: Peer) -> None:
    """Answer as llama.cpp's server did."""
    path = ROOT / "tests" / "samples" / "llama_cpp.toml"
    answers: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    while asked := peer.request():
        is_list = asked.target == "/v1/models"
        kind = "models" if is_list else "stream" if asked.body["stream"] else "whole"
        head, body = (answers[kind][part].encode() for part in ("head", "body"))
        events = [part + b"\n\n" for part in body.split(b"\n\n") if part]
        peer.send(head.replace(b"\n", b"\r\n") + b"Transfer-Encoding: chunked\r\n\r\n")
        peer.send(*(chunked(part) for part in events), CHUNKS_END)


def known_as(tmp_path: Path, name: str, origin: str) -> None:
    """Say in the user's file that a server by this name is elsewhere."""
    folder = tmp_path / "config" / "chatmagic"
    folder.mkdir(parents=True)
    (folder / "servers.toml").write_text(
        f'[{name}]\nbase_url = "{origin}"\nneeds_model = true\nstream_usage = true\n'
    )


def test_ollama_by_name(bare: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key goes there, its models are listed, and its streams tell their tokens."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "https://chat.example.org")
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    monkeypatch.setenv("CHATMAGIC_AUTH", "x-api-key")
    with Server(ollama) as server:
        known_as(tmp_path, "ollama", server.origin)
        said = bare.do("%chat_connect ollama").texts[0]
        assert f"Connected to ollama at {server.origin} (%chat_connect), without a key." in said
        assert "Model: one is required: %chat_connect ollama --model NAME; " in said
        assert server.asked == []
        listed = bare.do("%chat_connect --models").printed
        assert listed == (
            f"2 models at {server.origin}:\n"
            "  llama3.2:latest\n"
            "  ␛[2Jdata\u2060:text/html,x\n"
            "One request was sent. It is not documented whether such a request costs credits; its "
            "answer does not say.\n"
        )
        error = bare.fails("%chat hello").error
        assert isinstance(error, RequestRejectedError)
        assert error.hint is not None
        assert "No model was named" in error.hint
        said = bare.do("%chat_connect ollama --model 'llama3.2'").texts[0]
        assert "Model: llama3.2." in said
        assert "one is required" not in said
        ran = bare.machine("%chat hello")
        assert ran.texts == ["Hello"]
        assert ran.records[0]["usage"] == USAGE
        assert "without a key" in bare.do("%chat").texts[0]
        assert not [asked for asked in server.asked if KEY.encode() in asked.raw]
        assert not [asked for asked in server.asked if "authorization" in asked.headers]
        before = len(server.asked)
        # Elsewhere nothing of it holds: neither its model nor its way without a key.
        said = bare.do("%chat_connect https://chat.example.org").texts[0]
        assert "key from CHATMAGIC_API_KEY, sent as x-api-key" in bare.do("%chat").texts[0]
        assert "Not used: model, which was set for another address." in said
        assert len(server.asked) == before
    entries = [row.entry for row in current_session().ledger]
    assert entries == ["models", "cell", "cell"]
    bare.do("%chat_connect ollama --model llama3.2")
    error = bare.fails("%chat hello").error
    assert isinstance(error, ConnectError)
    assert error.message.startswith(f"No ollama server runs at {server.origin}, which refused the ")
    assert error.hint == "Is it started, and is the port right? %chat shows the settings."


def test_llama_cpp_by_name(bare: Shell, tmp_path: Path) -> None:
    """Connected without an address or a key, it lists its model, answers, and tells its tokens."""
    with Server(llama_cpp) as server:
        known_as(tmp_path, '"llama.cpp"', server.origin)
        ran = bare.do("%chat_connect llama.cpp --models")
        said = ran.texts[0] + ran.printed
        assert f"Connected to llama.cpp at {server.origin} (%chat_connect), without a key." in said
        assert f"1 model at {server.origin}:\n  tiny\n" in said
        streamed = bare.machine("%chat -n 4 hello")
        whole = bare.machine("%chat -n 4 --no-stream again")
        assert server.accepted == 1
        told = server.asked[1].body["stream_options"]
    assert told == {"include_usage": True}
    for ran in (streamed, whole):
        assert ran.texts == ["fYJB"]
        assert ran.records[0]["finish_reason"] == "length"
        assert ran.records[0]["model"] == "tiny.gguf"
    # The stream of this one tells none, although it was asked to.
    assert "usage" not in streamed.records[0]
    assert whole.records[0]["usage"]["completion_tokens"] == 4


def test_it_is_known_wherever_an_address_is_set(
    bare: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the environment, by ``%config``, and with the list in one line."""
    with Server(ollama) as server:
        known_as(tmp_path, "ollama", server.origin)
        bare.do('%config ChatMagics.base_url = "ollama"')
        bare.do('%config ChatMagics.model = "llama3.2"')
        assert bare.machine("%chat hello").records[0]["usage"] == USAGE
        monkeypatch.setenv("CHATMAGIC_BASE_URL", "ollama")
        assert bare.machine("%chat again").texts == ["Hello"]
        assert "llama3.2:latest" in bare.do("%chat_connect ollama --models").printed


def test_a_replay_sends_nothing(bare: Shell, tmp_path: Path) -> None:
    """Nor does it need the server whose name stands in the notebook."""
    tape = tmp_path / "tape.jsonl"
    with Server(ollama) as server:
        known_as(tmp_path, "ollama", server.origin)
        bare.do("%chat_connect ollama --model llama3.2")
        bare.do(f"%chat_cassette {tape} --record")
        bare.machine("%chat hello")
        bare.do(f"%chat_reset\n%chat_cassette {tape} --replay")
        before = len(server.asked)
        assert isinstance(bare.fails("%chat_connect --models").error, NotRecordedError)
        assert bare.machine("%chat hello").texts == ["Hello"]
        assert len(server.asked) == before


def test_a_list_that_is_the_whole_answer(bare: Shell) -> None:
    """As Together AI's is."""
    with Server(playing(document(MODELS["data"]), document({"data": 1}))) as server:
        bare.do(f"%chat_connect {server.origin}")
        assert "2 models at" in bare.do("%chat_connect --models").printed
        assert "no list of models" in bare.fails("%chat_connect --models").traceback[0]


def test_a_list_that_says_the_key_back(bare: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not show it."""
    with Server(playing(document({"data": [{"id": f"x {KEY}"}]}))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        assert "  x [key removed]\n" in bare.do("%chat_connect --models").printed
