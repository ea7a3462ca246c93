"""The key: found in nothing that is written, sent to nobody else, and refused in a prompt."""

from __future__ import annotations

import base64
import contextlib
import copy
import html
import http.client
import json
import logging
import os
import pickle
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote, urlsplit

import nbformat
import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st
from kernels import forks
from logged import Emulator
from loopback import PATIENCE, Peer, Server, answer, document, event, head, playing, stream
from nbclient import NotebookClient
from served import held_by, in_ipython
from shells import Shell

import chatmagic
from chatmagic.client import config
from chatmagic.client.client import Client
from chatmagic.client.connections import Connection
from chatmagic.client.endpoint import Endpoint, ServiceSetup, Timeout
from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import ChatError, ChatInterrupted, ConnectError, InputError
from chatmagic.models import Message
from chatmagic.protocol.api_key import Auth
from chatmagic.protocol.url import origin, request_url
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session
from chatmagic.session.views import View

KEYS = {
    # No other test has it: what a thread of theirs still logs is not taken for this key.
    "plain": "sk-test-8d21b6f0-do-not-show",
    "odd": "sk\"4f9c\\1e77'%41&+/=<b>~{x}$HOME",
}
WAYS: tuple[Auth, ...] = ("bearer", "x-api-key", "query")
WHOLE = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}
ASK = [Message("user", "Hello?")]
SHORT = Timeout(PATIENCE, 0.15, 0.15)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the environment says of addresses, keys and proxies."""
    for name in list(os.environ):
        if name.startswith("CHATMAGIC_") or name.lower().endswith(("_proxy", "_ca_bundle")):
            monkeypatch.delenv(name)
    config.warned.clear()


def writings(key: str) -> set[str]:
    """Give the ways in which a text may hold a key, in lower case."""
    data = key.encode()
    found = {key, quote(key), quote(key, safe=""), repr(key)[1:-1]}
    found |= {
        json.dumps(key)[1:-1],
        json.dumps(json.dumps(key))[3:-3],
        data.hex(),
        repr(data)[2:-1],
    }
    return {form.lower() for form in found}


def look(key: str, *texts: object) -> None:
    """Fail if the key is in any of the texts."""
    for text in texts:
        lower = str(text).lower()
        for form in writings(key):
            assert form not in lower, f"the key is in: {text}"


def told_by(error: BaseException) -> list[object]:
    """Give all that an error, what hangs on to it, and its copies would show."""
    found: list[object] = []
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None:
            continue
        shown = traceback.TracebackException.from_exception(one, capture_locals=True)
        # The test's own frames hold the key, and may.
        shown.stack = traceback.StackSummary.from_list(
            [frame for frame in shown.stack if frame.filename != __file__]
        )
        found += [repr(one), str(one), repr(one.args), repr(vars(one)), "".join(shown.format())]
        left += [one.__cause__, one.__context__]
    if isinstance(error, ChatError):
        found += in_ipython(error)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            found.append(pickle.dumps(error, protocol).decode("latin-1"))
        found += [repr(vars(copy.copy(error))), repr(vars(copy.deepcopy(error)))]
    return found


# --- In nothing that is written -----------------------------------------------------------


def failures(key: str) -> dict[str, bytes]:
    """Give answers that are none, in many of which the server says the key back."""
    said = {
        "as it is": key,
        "in a URL": f"no such page: /?api_key={quote(key, safe='')}",
        "in half a URL": quote(key),
        "in JSON in JSON": json.dumps({"key": key}),
        "in Python": repr(key),
    }
    found = {
        f"{status}, {how}": document({"error": "unauthorized", "message": words}, f"{status} No")
        for how, words in said.items()
        for status in (401, 500)
    }
    page = f"<html><title>Bad key {html.escape(key)}</title><body>{key}"
    elsewhere = {"Location": f"https://{quote(key, safe='')}.example/?api_key={key}"}
    found |= {
        "a page": answer(page.encode(), "403 Forbidden"),
        "a page without a title": answer(f"<b>{key}</b>".encode(), "502 Bad"),
        "no JSON": answer(f"{{{key}".encode(), headers={"Content-Type": "application/json"}),
        "no reply": document({"message": key}),
        "no header": f"HTTP/1.1 401 No\r\nContent-Length: 0\r\nkey {key}\r\n\r\n".encode(),
        "redirect": answer(b"", "307 Moved", elsewhere),
        "error in the stream": stream(event("so far"), _data({"error": {"message": key}})),
        "nonsense in the stream": stream(event("so far"), f'data: {{"{key}\n\n'.encode()),
        "error instead of a stream": stream(_data({"error": key})),
        "cut off": stream(event("so far")),
        "cut in two": head(headers={"Content-Length": "99"}) + b"{",
        "no HTTP": b"\0\0\0\0\r\n",
        "nothing": b"",
        "silence": head(headers={"Content-Length": "99"}),
    }
    return found


def _data(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


@pytest.mark.parametrize("auth", WAYS)
@pytest.mark.parametrize("shape", KEYS)
def test_no_failure_tells_the_key(
    shape: str, auth: Auth, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever an answer is, its error, the log and what hangs on to them are without the key."""
    key = KEYS[shape]
    caplog.set_level(logging.DEBUG)
    for what, raw in failures(key).items():

        def script(peer: Peer, raw: bytes = raw, *, silent: bool = what == "silence") -> None:
            peer.request()
            peer.send(raw)
            if silent:
                assert peer.gone()

        with (
            Server(script) as server,
            Client(server.origin, key, auth=auth, timeout=SHORT) as client,
        ):
            replying = client.stream(ASK)
            with pytest.raises(ChatError) as caught, replying:
                list(replying)
            look(key, *told_by(caught.value), repr(replying.reply))
            if what != "redirect":  # a kept connection has the last answer's headers as they came
                look(key, *held_by(client))
            assert caught.value.__cause__ is None, what
            assert caught.value.__context__ is None, what
            assert len(str(caught.value).splitlines()) == 1
            assert " object at 0x" not in str(caught.value)
            # On a busy machine the time may be up before the server has read it.
            assert len(server.asked) <= 1
    assert caplog.records
    look(key, caplog.text, *(vars(record) for record in caplog.records), *capfd.readouterr())


@pytest.mark.parametrize("auth", WAYS)
@pytest.mark.parametrize("shape", KEYS)
def test_no_missing_connection_tells_the_key(
    shape: str, auth: Auth, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each says in one line which origin was not reached, and that nothing was sent."""
    key = KEYS[shape]
    caplog.set_level(logging.DEBUG)

    def no_tls(peer: Peer) -> None:
        peer.piece()
        peer.send(b"nothing of TLS")

    for what, error, words in (
        (
            "refused",
            ConnectionRefusedError(111, "Connection refused"),
            "^No server runs at https",
        ),
        ("reset", ConnectionResetError(104, "Connection reset"), "closed the connection"),
        ("no route", OSError(113, "No route to host"), "No route to host"),
        ("no name", socket.gaierror(socket.EAI_NONAME, "not known"), "was not found"),
    ):

        def fails(*_: object, error: OSError = error, **__: object) -> None:
            raise error

        at = (
            "chatmagic.client.connections.open_socket"
            if what != "no name"
            else "socket.getaddrinfo"
        )
        with monkeypatch.context() as patch:
            patch.setattr(at, fails)
            with Client("https://chat.invalid", key, auth=auth) as client:
                with pytest.raises(ConnectError, match=words) as caught:
                    client.complete(ASK)
                assert "https://chat.invalid:443" in caught.value.message
                assert "Nothing was sent." in caught.value.message
                assert caught.value.hint
                look(key, *told_by(caught.value), *held_by(client))
                assert caught.value.__context__ is None
                assert len(str(caught.value).splitlines()) == 1
                assert " object at 0x" not in str(caught.value)
    with (
        Server(no_tls) as server,
        Client(server.origin.replace("http:", "https:"), key, auth=auth) as client,
    ):
        with pytest.raises(ConnectError, match=r"^https://127.* does not speak https: ") as caught:
            client.complete(ASK)
        look(key, *told_by(caught.value))
    look(key, caplog.text, *(vars(record) for record in caplog.records))


@pytest.mark.parametrize("auth", WAYS)
@pytest.mark.parametrize("point", ["send", "receive"])
def test_an_interrupt_tells_no_key(point: str, auth: Auth, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do the frames which hold the request's bytes, here and in http.client."""
    key = KEYS["odd"]
    halt = Halt()

    def halted(*_: object, **__: object) -> None:
        halt.stop()
        raise OSError

    places: dict[str, list[tuple[type, str]]] = {
        "send": [(socket.socket, "sendall")],
        "receive": [(Connection, "receive"), (http.client.HTTPConnection, "getresponse")],
    }
    for place, name in places[point]:
        monkeypatch.setattr(place, name, Mock(side_effect=KeyboardInterrupt))
    with (
        Server(lambda peer: peer.gone()) as server,
        Client(server.origin, key, auth=auth) as client,
    ):
        with pytest.raises(KeyboardInterrupt) as caught:
            client.complete(ASK)
        look(key, *told_by(caught.value))
        assert caught.value.__context__ is None
        for place, name in places[point]:
            monkeypatch.setattr(place, name, halted)
        with pytest.raises(ChatInterrupted) as stopped_one:
            Session(client).run(Ask("Hello?"), View(), halt)
        look(key, *told_by(stopped_one.value))


@pytest.mark.parametrize("auth", WAYS)
@pytest.mark.parametrize("shape", KEYS)
def test_no_reply_tells_the_key(
    shape: str,
    auth: Auth,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nor the client, session and connection behind it, nor ``http.client`` told to debug."""
    key = KEYS[shape]
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 1)
    with Server(playing(document(WHOLE))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        monkeypatch.setenv("CHATMAGIC_API_KEY", key)
        monkeypatch.setenv("CHATMAGIC_AUTH", auth)
        session = Session()
        reply = session.ask("Hello?")
        look(key, repr(reply), pickle.dumps(reply), pickle.dumps(session.conversation.turns))
        look(key, *held_by(session, session.endpoint))
        with Client() as client:
            assert repr(client) == f"Client('{server.origin}')"
        session.close()
    look(key, caplog.text, *(vars(record) for record in caplog.records), *capfd.readouterr())


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut off"])
@pytest.mark.parametrize("shape", KEYS)
def test_no_facts_of_a_reply_tell_the_key(shape: str, *, cut: bool) -> None:
    """A server that says it back beside the text of a reply puts it in no record."""
    key = KEYS[shape]
    told = event("Hello", finish_reason=f"<{key}>")
    delta = {"content": "Hello", "refusal": f"No, {key}"}
    value = {"model": key, "choices": [{"delta": delta}]}
    pieces = [f"data: {json.dumps(value)}\n\n".encode(), *([] if cut else [told])]
    with Server(playing(stream(*pieces))) as server, Client(server.origin, key) as client:
        session = Session(client)
        with contextlib.suppress(ChatError) if cut else contextlib.nullcontext():
            session.ask("Hello?")
        (turn,) = session.conversation.turns
        assert turn.reply is not None
        assert turn.reply.model == "[key removed]"
        assert turn.reply.refusal == "No, [key removed]"
        assert turn.reply.finish_reason == (None if cut else "<[key removed]>")
        look(key, repr(turn), pickle.dumps(session.conversation.turns))


def repeating(key: str, size: int) -> bytes:
    """Give a streamed reply that repeats a key, in fragments of so many characters."""
    text = f"Your key is {key}; {json.dumps(key)} in JSON."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return stream(*map(event, pieces), event("", finish_reason="stop"), b"data: [DONE]\n\n")


@pytest.mark.parametrize("size", [1, 20, 999], ids=["letters", "halves", "whole"])
@pytest.mark.parametrize("shape", KEYS)
def test_no_reply_repeats_the_key_anywhere(
    shape: str, size: int, bare: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not in the cell, the history, a saved file, a cassette or a map's file; and the talk goes on.

    The note on it is told once.
    """
    key = KEYS[shape]
    monkeypatch.chdir(tmp_path)
    with Server(playing(repeating(key, size))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        monkeypatch.setenv("CHATMAGIC_API_KEY", key)
        bare.do("import chatmagic\n%chat_cassette talk.jsonl --record")
        first = bare.do("%%chat\nWhat is my key?")
        second = bare.do("%%chat\nAnd again?")
        assert [ran.warned.count("held an API key of yours") for ran in (first, second)] == [1, 0]
        bare.do("%chat_history")
        for name in ("talk.json", "talk.md", "talk.ipynb"):
            bare.do(f"%chat_save {name}")
        bare.do("print(chatmagic.map('Row {{ it }}', ['one', 'two'], file='rows.jsonl', yes=True))")
        bare.do("chatmagic.current_session().conversation.turns[-1].reply")
        assert len(server.asked) == 4
    for turn in chatmagic.current_session().conversation.turns:
        assert turn.reply is not None
        assert turn.reply.text == 'Your key is [key removed]; "[key removed]" in JSON.'
        assert turn.reply.state == "complete"
    written = {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()}
    assert {"talk.json", "talk.md", "talk.ipynb", "talk.jsonl", "rows.jsonl"} <= {*written}
    assert written["talk.jsonl"].count("[key removed]") == 4
    look(key, *written.values(), *(ran.everything for ran in bare.ran))


def test_no_list_of_models_repeats_the_key() -> None:
    """A server that calls a model by the key."""
    key = KEYS["plain"]
    listed = {"data": [{"id": f"gpt-{key}"}, {"id": "small"}]}
    with Server(playing(document(listed))) as server, Client(server.origin, key) as client:
        assert client.models().names == ("gpt-[key removed]", "small")


def test_what_has_a_key_is_not_pickled_or_copied() -> None:
    """The refusal is one clear line, and nothing of the key is in it."""
    key = KEYS["plain"]
    with Client("http://127.0.0.1:9", key) as client:
        for action in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="a Client has a key") as caught:
                action(client)
            look(key, *told_by(caught.value))
        for thing in (client.endpoint, HttpTransport(client.setup), Session(client)):
            with pytest.raises(TypeError) as caught:
                pickle.dumps(thing)
            look(key, *told_by(caught.value))


def test_a_notebook_holds_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run by nbclient, with everything turned on that shows more than usual."""
    monkeypatch.setenv("JUPYTER_PATH", str(forks()))
    key = KEYS["plain"]
    cells = [
        "%xmode Verbose",
        "import http.client, logging; logging.basicConfig(level=logging.DEBUG)",
        "http.client.HTTPConnection.debuglevel = 1",
        "%load_ext chatmagic",
        "%%chat\necho:one",
        "%chat",
        "%chat_credits",
        "%chat_credits --usage",
        "%config ChatMagics",
        "%chat -t nonsense echo:two",
        "import chatmagic\nchatmagic.Client(base_url='ftp://x')",
        "list(chatmagic.current_session().ledger)",
        "import pickle\npickle.dumps(chatmagic.current_session().clients.latest)",
        "raise KeyError(chatmagic.current_session().clients.latest.endpoint)",
        "%history",
    ]
    made = [
        {"cell_type": "code", "id": f"c{n}", "source": cell, "outputs": [], "metadata": {}}
        | {"execution_count": None}
        for n, cell in enumerate(cells)
    ]
    document = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    notebook = nbformat.from_dict(  # type: ignore[no-untyped-call]
        document
    )
    with Emulator() as emulator:
        environment = {
            "CHATMAGIC_BASE_URL": emulator.url,
            "CHATMAGIC_API_KEY": key,
            "CHATMAGIC_AUTH": "query",
            "HOME": str(tmp_path),
        }
        client = NotebookClient(notebook, allow_errors=True, kernel_name="python3")
        client.execute(env={**os.environ, **environment})
        assert len(emulator.requests) == 1
    assert len(notebook.cells[4].outputs) >= 1
    look(key, json.dumps(notebook))


def test_a_child_process_has_the_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As each program that is started here: the environment is theirs, too."""
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEYS["plain"])
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "http://127.0.0.1:9")
    code = "import chatmagic; print(chatmagic.Client().endpoint.key is not None)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert done.stdout == "True\n"
    look(KEYS["plain"], done.stdout, done.stderr)


# --- To nobody else -----------------------------------------------------------------------


@pytest.mark.parametrize("entry", ["machine 127.0.0.1", "machine localhost", "default"])
@pytest.mark.parametrize("auth", [*WAYS, "none"])
def test_a_netrc_changes_nothing(
    entry: str, auth: Auth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is in the home folder, the key goes as configured and nothing beside it."""
    (tmp_path / ".netrc").write_text(f"{entry} login who password netrc-secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for host in ("127.0.0.1", "localhost"):
        with Server(playing(document(WHOLE))) as server:
            url = server.origin.replace("127.0.0.1", host)
            given = None if auth == "none" else KEYS["plain"]
            with Client(url, given, auth=auth) as client:
                client.complete(ASK)
        raw = server.asked[0].raw
        assert raw.count(b"8d21b6f0") == (auth != "none")
        assert b"netrc" not in raw
        assert b"Basic" not in raw


@pytest.mark.parametrize("auth", WAYS)
def test_a_user_name_in_the_address_is_not_sent(auth: Auth) -> None:
    """It is dropped, said so once, and in nothing that is shown."""
    key = KEYS["plain"]
    with Server(playing(document(WHOLE))) as server:
        url = server.origin.replace("://", "://who:pass-word@")
        with pytest.warns(UserWarning, match="holds a user name or a password, which is not used"):
            client = Client(url, key, auth=auth)
        with client:
            client.complete(ASK)
            assert "pass-word" not in "".join(held_by(client))
        Client(url, key, auth=auth).close()
    assert b"pass-word" not in server.asked[0].raw
    assert base64.b64encode(b"who:pass-word") not in server.asked[0].raw


def connected_to(url: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Give the hosts and ports that the real HTTP stack would connect to for a base URL."""
    found: list[tuple[str, int]] = []

    def note(host: str, port: int, *_: object, **__: object) -> None:
        found.append((host, port))
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr("chatmagic.client.connections.open_socket", note)
        transport = HttpTransport(ServiceSetup(Endpoint(url, "none", None, "test")))
        with contextlib.closing(transport), contextlib.suppress(ConnectError, InputError):
            transport.send(b"{}", stream=True, halt=Halt())
    return found


TRICKS = [
    "http://good.example@evil.example/",
    "http://good.example:80@evil.example:81",
    "http://a@b@evil.example",
    "HTTP://GOOD.EXAMPLE",
    "http://good.example.",
    "http://good.example:80",
    "http://good.example:",
    "https://good.example:080",
    "http://good.example%2eevil.example",
    "http://good.example%00.evil.example",
    "http://good.example\\@evil.example",
    "http://good.example\t.evil.example",
    "http://good.example\n/evil",
    "http:\\\\good.example",
    "http:///good.example",
    "http:good.example",
    "http://good.example;evil.example",
    "http://good.example#@evil.example",
    "http://good.example?@evil.example",
    "http://good.example/@evil.example",
    "http://good.example//evil.example/",
    "http://good.example/..//evil.example",
    "http://good.example/%2e%2e/evil",
    "http://[::1]:8080",
    "http://[::1]evil.example",
    "http://[::ffff:127.0.0.1]",
    "http://[fe80::1%25eth0]",
    "http://[0:0::1]",
    "http://127.0.0.1.evil.example",
    "http://localhost.evil.example",
    "http://0.0.0.0",
    "http://2130706433",
    "http://0x7f.1",
    "http://0177.0.0.1",
    "http://127.1",
    "http://b\u00fccher.example",
    "http://STRA\u1e9eE.example",
    "http://\u212aey.example",
    "http://good\u3002example",
    "http://xn--bcher-kva.example",
    "http://a..b",
    "http://-a.example",
    "http://a_b.example",
    f"http://{'a' * 64}.example",
]


@pytest.mark.parametrize("url", TRICKS)
def test_what_is_connected_to_is_the_origin_that_was_compared(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each trick is refused, or leads exactly where the comparison of origins says."""
    try:
        parts = urlsplit(origin(url))
    except InputError:
        return
    assert connected_to(url, monkeypatch) in ([(parts.hostname, parts.port)], [])


@given(
    st.sampled_from(["http", "https", "HTTP"]),
    st.text("aB.:@[]%1\\-_;\u00e9\u212a#?/", min_size=1, max_size=12),
    st.sampled_from(["", "/", "/v1", "//b", "/@b", "/..//b", ":80", ":443/", "@evil.example"]),
)
def test_any_address_is_read_in_one_way(scheme: str, place: str, rest: str) -> None:
    """The real HTTP stack goes nowhere that the comparison of origins does not know."""
    with pytest.MonkeyPatch.context() as patch:
        url = f"{scheme}://{place}{rest}"
        try:
            parts = urlsplit(origin(url))
            posted_to = request_url(url)
        except InputError:
            return
        assert origin(posted_to) == origin(url)
        assert connected_to(url, patch) in ([(parts.hostname, parts.port)], [])


def test_an_untrusted_folder_configures_nothing(tmp_path: Path) -> None:
    """A configuration beside the notebook is not read, so its address gets no key."""
    for name in ("ipython_config.py", "ipython_kernel_config.py", "jupyter_config.py"):
        line = "c.ChatMagics.base_url = 'https://evil.example'\n"
        (tmp_path / name).write_text(f"c = get_config()\n{line}")
    (tmp_path / ".env").write_text("CHATMAGIC_BASE_URL=https://evil.example\n")
    (tmp_path / "home").mkdir()
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "CHATMAGIC_API_KEY": "sk-4f9c1e77"}
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "IPython",
            "--no-banner",
            "--colors=nocolor",
            "-c",
            "%load_ext chatmagic\n%chat",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert "evil" not in said
    assert "4f9c1e77" not in said
    assert "Not connected yet" in said


# --- In no prompt -------------------------------------------------------------------------

PLACES: dict[str, Callable[[str], tuple[list[Message], dict[str, Any]]]] = {
    "prompt": lambda word: ([Message("user", f"why does {word} fail?")], {}),
    "conversation": lambda word: ([Message("assistant", word), *ASK], {}),
    "system message": lambda word: ([Message("system", f"use {word}"), *ASK], {}),
    "extra_body": lambda word: (ASK, {"metadata": {"deep": [word]}}),
    "a name in extra_body": lambda word: (ASK, {word: 1}),
}


@each_case("place", PLACES)
@each_case("shape", KEYS)
def test_a_request_that_holds_the_key_is_not_sent(shape: str, place: str) -> None:
    """Wherever in the request it stands, and however it is written there."""
    key = KEYS[shape]
    for word in (key, quote(key, safe=""), json.dumps(key)):
        messages, extra = PLACES[place](word)
        with Server(playing(document(WHOLE))) as server:
            client = Client(server.origin, key, extra_body=extra)
            with client, pytest.raises(InputError, match="holds your API key") as caught:
                client.complete(messages)
            look(key, str(caught.value), repr(vars(caught.value)), pickle.dumps(caught.value))
        assert server.accepted == 0


def test_a_key_for_elsewhere_is_refused_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever service is asked with whatever key, the environment's key does not go there."""
    key, other = KEYS.values()
    (tmp_path / "key").write_text(key)
    with Server(playing(document(WHOLE))) as server:
        for name, value in (("API_KEY", key), ("API_KEY_FILE", str(tmp_path / "key"))):
            with monkeypatch.context() as patch:
                patch.setenv(f"CHATMAGIC_{name}", value)
                for given in ({"api_key": other}, {"auth": "none"}):
                    client = Client(server.origin, **given)  # type: ignore[arg-type]
                    with client, pytest.raises(InputError, match="holds your API key"):
                        client.complete([Message("user", key)])
        assert server.accepted == 0


def test_a_value_that_holds_the_key_is_not_sent(
    bare: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a cell nor what ``{{ }}`` puts into it takes the key along; nor does the emulator."""
    key = KEYS["plain"]
    with Emulator() as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", key)
        bare.do("import os\n%xmode Verbose")
        for cell in ("{{ str(os.environ) }}", "{{ os.environ['CHATMAGIC_API_KEY'] }}"):
            ran = bare.fails(f"%%chat\nWhat is {cell}?")
            assert "holds your API key" in ran.traceback[0]
            look(key, ran.everything)
        bare.do("%config ChatMagics.extra_body = {'note': os.environ['CHATMAGIC_API_KEY']}")
        assert "holds your API key" in bare.fails("%chat hello").traceback[0]
        bare.do("%config ChatMagics.extra_body = {}")
        bare.do("%chat_connect emulator")
        assert "holds your API key" in bare.fails("%chat {{ str(os.environ) }}").traceback[0]
        assert emulator.requests == []
        assert len(chatmagic.current_session().conversation) == 0


# --- What is unwise -----------------------------------------------------------------------


def test_a_cell_says_once_what_is_unwise(bare: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """``%%chat`` says it in a line beside its output, and ``%chat_connect`` in its own."""
    no_name = Mock(side_effect=socket.gaierror(socket.EAI_NONAME, "not known"))
    monkeypatch.setattr("urllib3.util.connection.socket.getaddrinfo", no_name)
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "http://who:pass-word@chat.invalid")
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEYS["plain"])
    first, second = bare.fails("%%chat\nhello"), bare.fails("%chat hello again")
    lines = first.warned.splitlines()
    assert len(lines) == 2
    assert "holds a user name or a password, which is not used" in lines[0]
    assert "http://chat.invalid:80 is not encrypted" in lines[1]
    assert second.warned == ""
    said = [bare.do("%chat_connect http://new.invalid").texts[0] for _ in range(2)]
    assert [text.count("is not encrypted") for text in said] == [1, 0]
    everything = "".join(ran.everything for ran in bare.ran)
    assert "pass-word" not in everything
    look(KEYS["plain"], everything)


# --- One clear line -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"extra_body": ["model"]}, r"^extra_body is a mapping .* not list\.$"),
        ({"api_key": "sk-4f9c1e77\n"}, r"^api_key holds no key"),
        ({"api_key": "sk 4f9c1e77"}, r"^api_key holds no key"),
        ({"api_key": "sk-\u20ac4f9c1e77"}, r"^api_key holds no key"),
        ({"base_url": 5}, r"^The base address \(argument\) is not a URL"),
        ({"base_url": "http://[::1/v1"}, r"^The base address \(argument\) is not a URL"),
        ({"base_url": "ftp://x"}, r"^The base address \(argument\) is not a URL"),
        ({"auth": "foo"}, r"^auth must be one of bearer, x-api-key, query, none"),
        ({"timeout": -1}, r"^The timeout first_byte is a number of seconds above 0"),
        ({"timeout": float("inf")}, r"None waits for ever\.$"),
    ],
)
def test_a_wrong_argument_is_one_line(
    arguments: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says which one, and what it has to be; not even a traceback with its locals has a key."""
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEYS["odd"])
    with pytest.raises(InputError, match=words) as caught:
        Client(**{"base_url": "http://127.0.0.1:9", "api_key": "sk-4f9c1e77", **arguments})
    assert len(str(caught.value).splitlines()) == 1
    for key in (KEYS["odd"], "4f9c1e77"):
        look(key, *told_by(caught.value))


@pytest.mark.parametrize(
    "proxy",
    ["socks5://127.0.0.1:9", "nonsense://x", "http://", "http://ada:sk-word@127.0.0.1:94a2"],
)
def test_a_proxy_that_is_none_is_one_line(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named by its variables and without its password, and nothing goes round it."""
    monkeypatch.setenv("https_proxy", proxy)
    client = Client("https://chat.invalid", KEYS["plain"])
    with client, pytest.raises(ConnectError, match=r"proxy .*\. Nothing was") as caught:
        client.complete(ASK)
    assert "HTTPS_PROXY" in str(caught.value)
    for key in (KEYS["plain"], "sk-word"):
        look(key, *told_by(caught.value))
