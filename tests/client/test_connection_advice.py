"""Advice about the address, the key and the model, and that its lines work when typed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from cases import each_case
from loopback import (
    Peer,
    Server,
    answer,
    document,
    playing,
)
from served import ASK, KEY, WHOLE
from shells import Shell

from chatmagic.client.client import Client
from chatmagic.errors import (
    AuthenticationError,
    ChatError,
)
from chatmagic.protocol.api_key import Auth


def told(
    raw: bytes, *, path: str = "", auth: Auth = "bearer", model: str | None = None
) -> ChatError:
    """Return the error of an answer."""
    extra = None if model is None else {"model": model}
    with (
        Server(playing(raw)) as server,
        Client(server.origin + path, KEY, auth=auth, extra_body=extra) as client,
        pytest.raises(ChatError) as caught,
    ):
        client.complete(ASK)
    assert KEY not in f"{caught.value!r}{caught.value}"
    return caught.value


def refused(status: int, words: str = "refused") -> bytes:
    """Return an answer that refuses."""
    return document({"error": {"message": words}}, f"{status} No")


@each_case(
    ("path", "posted_to"),
    [
        ("", "/v1/chat/completions"),
        ("/v1beta/openai", "/v1beta/openai/chat/completions"),
        ("/x/chat/completions?api-version=1", "/x/chat/completions?api-version=1"),
        ("/4f9c1e774f9c1e774f9c1e77/v1", "/…/v1/chat/completions"),
    ],
)
@each_case("auth", ["bearer", "query"])
def test_a_404_names_what_was_posted_to(path: str, posted_to: str, auth: Auth) -> None:
    """The whole address, without the key wherever it stands."""
    hint = told(refused(404), path=path, auth=auth).hint or ""
    assert re.search(rf"It was posted to http://127.0.0.1:\d+{re.escape(posted_to)}\. ", hint)
    assert "If it has another path, give all of it, up to /chat/completions." in hint


@each_case(
    ("raw", "model", "names_one"),
    [
        (refused(400), None, False),
        (refused(404, "no such model"), "small", True),
        (refused(400, "No such model"), "small", True),
        (refused(401, "no access to this model"), "small", True),
        (refused(500, "Model not given"), None, True),
        (refused(503, "Loading model: the model is loading"), None, False),
        (refused(503, "Model org/name is currently loading"), None, False),
        (answer(b"<title>Model required</title>", "400 Bad"), "small", True),
        (refused(400, "remodelling"), None, False),
        (refused(403, "this model requires moderation"), "small", False),
        (refused(429, "too many for this model"), "small", False),
        (refused(413, "longer than the model's context"), "small", False),
        (answer(b"<title>A model page</title>"), "small", False),
        (answer(b"The plain HTTP request was sent to HTTPS port", "400 Bad"), None, False),
        (document({"error": "the model is missing"}), None, True),
    ],
)
def test_how_to_set_a_model(raw: bytes, model: str | None, *, names_one: bool) -> None:
    """Where none was set and one may be wanted, and where the answer speaks of it."""
    error = told(raw, model=model)
    assert ('Client(model="NAME")' in str(error)) is names_one
    if names_one:
        begun = "No model was named" if model is None else "The model was small"
        assert begun in str(error)


@pytest.mark.parametrize(
    ("auth", "other"), [("bearer", "x-api-key"), ("x-api-key", "bearer"), ("query", "x-api-key")]
)
def test_a_refused_key_may_be_sent_another_way(auth: Auth, other: str) -> None:
    """The line says how, in Python; in a kernel ``%config`` or ``%env``."""
    error = told(refused(401), auth=auth)
    assert isinstance(error, AuthenticationError)
    assert error.hint == (
        "Is it this service's key, and not revoked? Client(api_key=…) takes another one. "
        f'To send the key in another way: Client(auth="{other}")'
    )


def test_a_missing_key_is_no_wrong_one() -> None:
    """Without a key the message does not speak of one that was not accepted."""
    error = told(refused(401), auth="none")
    assert error.message == 'The service requires a key, and none was sent: "refused" (HTTP 401).'
    assert error.args == (error.message,)
    assert error.hint == 'Client(auth="bearer") sends one; Client(api_key=…) takes one.'


@pytest.fixture
def picky() -> Iterator[Server]:
    """Give a server that wants the key in X-API-Key."""

    def script(peer: Peer) -> None:
        while asked := peer.request():
            good = asked.headers.get("x-api-key") == KEY
            peer.send(document(WHOLE) if good else refused(401))

    with Server(script) as server:
        yield server


def line(lines: str) -> str:
    """Return the line to type of a message, which ends in it."""
    return lines[lines.rindex("%") :]


@pytest.mark.parametrize("environment", ["", "bearer"])
def test_the_line_for_another_way_works_when_typed(
    bare: Shell, picky: Server, monkeypatch: pytest.MonkeyPatch, environment: str
) -> None:
    """Also where the environment has said how, which beats the setting."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", picky.origin)
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    monkeypatch.setenv("CHATMAGIC_AUTH", environment)
    ran = bare.fails("%chat hello")
    bare.do(line(ran.traceback[1]))
    assert bare.machine("%chat hello").texts == ["Hello"]


@pytest.mark.parametrize("environment", ["", "bearer"])
def test_the_line_for_no_key_works_when_typed(
    bare: Shell, monkeypatch: pytest.MonkeyPatch, environment: str
) -> None:
    """It is in what ``%chat_connect`` prints, in ``%chat``, and in the error."""
    monkeypatch.setenv("CHATMAGIC_AUTH", environment)
    monkeypatch.setattr("chatmagic.client.endpoint.is_loopback", lambda _: False)
    with Server(playing(document(WHOLE))) as server:
        said = bare.do(f"%chat_connect {server.origin}").texts[0].splitlines()[2]
        lines = said.rpartition(": ")[2]
        assert bare.do("%chat").texts[0].splitlines()[2].endswith(lines)
        assert bare.fails("%chat hello").traceback[1].endswith(lines)
        bare.do(line(lines))
        assert bare.machine("%chat hello").texts == ["Hello"]
        assert "authorization" not in server.asked[0].headers


def test_the_line_for_a_model_works_when_typed(bare: Shell) -> None:
    """With a name in place of NAME."""

    def script(peer: Peer) -> None:
        while asked := peer.request():
            good = asked.body.get("model") == "small"
            peer.send(document(WHOLE) if good else refused(400, "model is required"))

    with Server(script) as server:
        bare.do("%config ChatMagics.auth = 'none'")
        bare.do(f"%chat_connect {server.origin}")
        hint = bare.fails("%chat hello").traceback[1]
        (config,) = re.findall(r"(%\w+ [^,]*NAME\"?)", hint)
        bare.do(config.replace("NAME", "small"))
        assert bare.machine("%chat hello").texts == ["Hello"]
