"""Next steps for a refused request, and that they work when they are typed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from loopback import Peer, Server, answer, document, playing
from shells import KEY, Shell

from chatmagic.client.advice import HOW_TO_SET_A_MODEL
from chatmagic.client.client import Client
from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    InputError,
    NotUnderstoodError,
    RateLimitError,
)
from chatmagic.models import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmagic.protocol.auth import Auth

ASK = [Message("user", "Hello?")]
WHOLE = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}


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


@pytest.mark.parametrize(
    ("path", "posted_to"),
    [
        ("", "/v1/chat/completions"),
        ("/v1beta/openai", "/v1beta/openai/chat/completions"),
        ("/x/chat/completions?api-version=1", "/x/chat/completions?api-version=1"),
        ("/4f9c1e774f9c1e774f9c1e77/v1", "/…/v1/chat/completions"),
    ],
)
@pytest.mark.parametrize("auth", ["bearer", "query"])
def test_a_404_names_what_was_posted_to(path: str, posted_to: str, auth: Auth) -> None:
    """The whole address, without the key wherever it stands."""
    hint = told(refused(404), path=path, auth=auth).hint or ""
    assert re.search(rf"It was posted to http://127.0.0.1:\d+{re.escape(posted_to)}\. ", hint)
    assert "another path is given whole, ending in /chat/completions" in hint
    assert hint.index("It was posted") < hint.index("No model was named")


@pytest.mark.parametrize(
    ("raw", "model", "names_one"),
    [
        (refused(400), None, True),
        (refused(404), None, True),
        (refused(422), None, True),
        (refused(400), "small", False),
        (refused(403), None, False),
        (refused(409), None, False),
        (refused(500), None, False),
        (refused(400, "No such model"), "small", True),
        (refused(401, "no access to this model"), "small", True),
        (refused(500, "Model not given"), None, True),
        (refused(403, "remodelling"), None, False),
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
    assert (HOW_TO_SET_A_MODEL in str(error)) is names_one
    if names_one:
        begun = "No model was named" if model is None else "The model asked for was small"
        assert begun in str(error)


def test_a_model_is_shown_in_one_line() -> None:
    """Whatever was set for it."""
    error = told(refused(400, "model?"), model="\x1b[31m" + "x" * 1000)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    ("auth", "other"),
    [("bearer", "x-api-key"), ("x-api-key", "bearer"), ("query", "x-api-key"), ("none", "bearer")],
)
def test_a_refused_key_may_be_sent_another_way(auth: Auth, other: str) -> None:
    """Each place where that is set is named."""
    error = told(refused(401), auth=auth)
    assert isinstance(error, AuthenticationError)
    assert (error.hint or "").endswith(
        "; %chat_login asks for another one. Or is it to be sent in another way? "
        f'CHATMAGIC_AUTH={other}, Client(auth="{other}") or %config ChatMagics.auth = "{other}"'
    )


def test_a_missing_key_is_no_wrong_one() -> None:
    """Without a key the message does not speak of one that was not accepted."""
    error = told(refused(401), auth="none")
    assert error.message == 'The service requires a key, and none was sent: "refused" (HTTP 401).'
    assert error.args == (error.message,)


def test_a_redirect_to_the_servers_own_page_is_known_by_the_address_asked() -> None:
    """Whether it is written whole or as a path."""
    for start in ("", "{origin}"):

        def script(peer: Peer, start: str = start) -> None:
            peer.request()
            where = f"{start.format(origin=server.origin)}/login"
            peer.send(answer(b"", "302 Found", {"Location": where}))

        with (
            Server(script) as server,
            Client(f"{server.origin}/v1", KEY) as client,
            pytest.raises(NotUnderstoodError, match=r"own path /login \(HTTP 302\): a login page"),
        ):
            client.complete(ASK)


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
    """Return the line to type, of those that a message names: the environment's, if that is set."""
    variable, setting = lines.partition(", Client(")[0], lines.rpartition(" or ")[2]
    return f"%env {variable.rpartition(' ')[2]}" if os.environ["CHATMAGIC_AUTH"] else setting


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
    with Server(playing(document(WHOLE))) as server:
        said = bare.do(f"%chat_connect {server.origin}").printed.splitlines()[2]
        lines = said.rpartition(": ")[2]
        assert bare.do("%chat").printed.splitlines()[2].endswith(lines)
        assert bare.fails("%chat hello").traceback[1].endswith(lines)
        bare.do(line(lines))
        assert bare.machine("%chat hello").texts == ["Hello"]
        assert "authorization" not in server.asked[0].headers


def test_a_limit_keeps_its_own_hint() -> None:
    """It is no refusal of a model."""
    assert isinstance(told(refused(429, "model")), RateLimitError)


def test_the_body_is_read_in_any_shape() -> None:
    """A page that speaks of a model counts as well."""
    page = answer(b"<title>Model required</title>", "400 Bad", {"Content-Type": "text/html"})
    assert HOW_TO_SET_A_MODEL in str(told(page, model="small"))


def test_the_line_for_a_model_works_when_typed(bare: Shell) -> None:
    """As ``%config`` and as ``%chat_connect``, each in place of NAME."""

    def script(peer: Peer) -> None:
        while asked := peer.request():
            good = asked.body.get("model") == "small"
            peer.send(document(WHOLE) if good else refused(400, "model is required"))

    with Server(script) as server:
        bare.do("%config ChatMagics.auth = 'none'")
        bare.do(f"%chat_connect {server.origin}")
        hint = bare.fails("%chat hello").traceback[1]
        config, connect = re.findall(r"(%\w+ [^,]*NAME\"?)", hint)
        bare.do(config.replace("NAME", "small"))
        assert bare.machine("%chat hello").texts == ["Hello"]
        bare.do("%config ChatMagics.model = None")
        assert bare.fails("%chat hello").traceback[1] == hint
        bare.do(connect.replace("URL", server.origin).replace("NAME", "small"))
        assert bare.machine("%chat hello").texts == ["Hello"]


def test_a_key_in_the_query_is_added_to_what_is_there() -> None:
    """A whole endpoint's own query stays as it is, before it."""
    with Server(playing(document(WHOLE))) as server:
        url = f"{server.origin}/x/chat/completions?api-version=2024-02-01"
        with Client(url, KEY, auth="query") as client:
            client.complete(ASK)
        expected = f"/x/chat/completions?api-version=2024-02-01&api_key={KEY}"
        assert server.asked[0].target == expected


def test_an_address_that_holds_the_key_is_not_asked() -> None:
    """Its path would be in logs; the error does not repeat it."""
    with pytest.raises(InputError, match="the address holds your API key") as caught:
        Client(f"https://chat.invalid/{KEY}/v1", KEY)
    assert KEY not in f"{caught.value!r}{caught.value}"
