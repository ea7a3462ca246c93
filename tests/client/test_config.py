"""Where the address and the key come from, and that no key goes where it does not belong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cases import each_case
from environments import GivenEnvironment
from environments import resolved_in_client as resolve_for_client
from environments import resolved_in_kernel as resolve
from hypothesis import given
from hypothesis import strategies as st
from served import in_ipython

from chatmagic.client import config
from chatmagic.client.client import Client
from chatmagic.client.config import with_local_emulator
from chatmagic.client.endpoint import Endpoint
from chatmagic.client.key_store import KeyStore
from chatmagic.errors import AuthenticationError, ChatError, ConnectError, InputError
from chatmagic.protocol.api_key import Secret
from chatmagic.protocol.url import (
    EMULATOR,
    key_place,
    origin,
    usable_url,
)

HOME = "https://home.example"
AWAY = "https://away.example/v1"
FILE = "https://file.example"
KEY = "sk-environment-0001"
ENVIRONMENT = {"CHATMAGIC_BASE_URL": HOME, "CHATMAGIC_API_KEY": KEY}
TYPED = Secret("sk-typed-0002")
AT_AWAY = {origin(AWAY): TYPED}
KEPT = Secret("sk-kept-0003")
HUB = "https://hub.example/services/llm/v1"
HUB_ENVIRONMENT = {"CHATMAGIC_BASE_URL": HUB, "CHATMAGIC_API_KEY": KEY}


class Kept(KeyStore):
    """A store that holds one key for one place, and no file."""

    def __init__(self, at: str) -> None:
        """Keep the key for an address."""
        super().__init__(Path("nowhere"))
        object.__setattr__(self, "at", key_place(at))

    def load(self, place: str) -> tuple[Secret, Any] | None:
        """Give the key to its own place alone."""
        return (KEPT, "keyring") if place == vars(self)["at"] else None

    def places(self) -> tuple[str, ...]:
        """Give its place."""
        return (vars(self)["at"],)


def told(connection: Endpoint) -> tuple[str | None, str | None]:
    """Give the key in the open, and where it is from."""
    key = connection.key
    return (None if key is None else key.reveal()), connection.key_from


@pytest.mark.parametrize(
    ("environ", "given", "base_url", "url_from"),
    [
        (HOME, {"chosen": AWAY, "cell_config": "http://c"}, AWAY, "%chat_connect"),
        (HOME, {"cell_config": "http://c", "file_config": FILE}, HOME, "CHATMAGIC_BASE_URL"),
        (HOME, {"chosen": " ", "file_config": FILE}, HOME, "CHATMAGIC_BASE_URL"),
        (HOME, {"chosen": " Emulator "}, EMULATOR, "%chat_connect"),
        ("", {"cell_config": AWAY, "file_config": FILE}, AWAY, "%config"),
        ("", {"file_config": FILE}, FILE, "configuration file"),
    ],
)
def test_the_address_that_counts(
    environ: str, given: dict[str, Any], base_url: str, url_from: str
) -> None:
    """%chat_connect, then the environment, then a cell's configuration, then a file's."""
    found = resolve({"CHATMAGIC_BASE_URL": f" {environ} "}, **given)
    assert (found.base_url, found.url_from) == (base_url, url_from)


@pytest.mark.parametrize("environ", [{}, {"CHATMAGIC_BASE_URL": ""}])
def test_without_an_address(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says how to give one: in a kernel by a magic, too, and in Python without it.

    Where no kernel has loaded chatmagic, a notebook is to load it.
    """
    with pytest.raises(ConnectError) as caught:
        resolve({**environ, "CHATMAGIC_API_KEY": KEY})
    words = caught.value.hint_at("notebook")
    assert "CHATMAGIC_BASE_URL and CHATMAGIC_API_KEY" in words
    assert "%chat_connect URL and %chat_login" in words
    assert "%chat_connect emulator" in words
    for kernel, hint in (
        (None, "In a notebook, run %load_ext chatmagic first."),
        (object(), "chatmagic.ask(…) uses the kernel's connection."),
    ):
        monkeypatch.setattr(config, "kernel", kernel)
        for blank in (None, "", " "):
            with pytest.raises(ConnectError, match="Give base_url, or set CHATMAGIC_B") as caught:
                resolve_for_client(environ, base_url=blank)
            assert caught.value.hint == hint


def test_a_wrong_address_says_whose_it_is() -> None:
    """The message names the variable or the command that has to change."""
    with pytest.raises(InputError, match=r"^The base address \(CHATMAGIC_BASE_URL\) is not a URL"):
        resolve({"CHATMAGIC_BASE_URL": "chat.example"})
    with pytest.raises(InputError, match=r"^The base address \(argument\) holds a query"):
        resolve_for_client({}, base_url="https://b.example?a=b")


@each_case(
    ("environ", "given", "key"),
    [
        (ENVIRONMENT, {}, (KEY, "CHATMAGIC_API_KEY")),
        (ENVIRONMENT, {"chosen": f"{HOME}:443/v1"}, (KEY, "CHATMAGIC_API_KEY")),
        (ENVIRONMENT, {"file_config": FILE}, (KEY, "CHATMAGIC_API_KEY")),
        ({"CHATMAGIC_API_KEY": f" {KEY}\r\n"}, {"file_config": FILE}, (KEY, "CHATMAGIC_API_KEY")),
        ({"CHATMAGIC_API_KEY": KEY}, {"cell_config": AWAY}, (None, None)),
        ({"CHATMAGIC_API_KEY": KEY}, {"cell_config": AWAY, "file_config": FILE}, (None, None)),
        ({"CHATMAGIC_API_KEY": KEY}, {"chosen": AWAY}, (None, None)),
        (ENVIRONMENT, {"chosen": AWAY}, (None, None)),
        (ENVIRONMENT, {"chosen": FILE, "file_config": FILE}, (None, None)),
        (ENVIRONMENT, {"chosen": f"{HOME}:8443"}, (None, None)),
        (ENVIRONMENT, {"chosen": "http://home.example"}, (None, None)),
        (ENVIRONMENT, {"chosen": "https://home.example.evil.example"}, (None, None)),
        ({**ENVIRONMENT, "CHATMAGIC_BASE_URL": "nonsense"}, {"chosen": AWAY}, (None, None)),
        ({**ENVIRONMENT, "CHATMAGIC_BASE_URL": "emulator"}, {"chosen": AWAY}, (None, None)),
        ({**ENVIRONMENT, "CHATMAGIC_AUTH": "none"}, {}, (None, None)),
        ({**ENVIRONMENT, "CHATMAGIC_API_KEY": ""}, {}, (None, None)),
        (ENVIRONMENT, {"typed": {origin(HOME): TYPED}}, ("sk-typed-0002", "%chat_login")),
        (ENVIRONMENT, {"typed": AT_AWAY}, (KEY, "CHATMAGIC_API_KEY")),
        (ENVIRONMENT, {"chosen": AWAY, "typed": AT_AWAY}, ("sk-typed-0002", "%chat_login")),
        (ENVIRONMENT, {"store": Kept(HOME)}, (KEY, "CHATMAGIC_API_KEY")),
        (ENVIRONMENT, {"chosen": AWAY, "store": Kept(AWAY)}, ("sk-kept-0003", "keyring")),
        (ENVIRONMENT, {"chosen": AWAY, "store": Kept(HOME)}, (None, None)),
        ({"CHATMAGIC_BASE_URL": HOME}, {"store": Kept(HOME)}, ("sk-kept-0003", "keyring")),
    ],
)
def test_a_key_goes_only_where_it_was_given_for(
    environ: dict[str, str], given: dict[str, Any], key: tuple[str | None, str | None]
) -> None:
    """Typed before the environment's before a kept one, and each to its own place alone."""
    assert told(resolve(environ, **given)) == key


@each_case(
    ("path", "is_own"),
    [
        ("services/llm", True),
        ("services/llm/", True),
        ("services/llm/v2", True),
        ("services/llm/v1/chat/completions", True),
        ("user/mallory/proxy/8000/v1", False),
        ("services/llm2/v1", False),
        ("services/ll/v1", False),
        ("services/v1", False),
        ("services//llm/v1", False),
        ("services/LLM/v1", False),
        ("services/ll%6d/v1", False),
        ("services/llm/of/mallory/v1", False),
        ("v1", False),
        ("", False),
    ],
)
def test_a_key_goes_to_no_other_path_of_its_host(path: str, *, is_own: bool) -> None:
    """Whichever way it was given; the message names the place that it belongs to."""
    url, place = f"https://hub.example/{path}", key_place(HUB)
    ways: list[tuple[dict[str, str], dict[str, Any], str]] = [
        (HUB_ENVIRONMENT, {"chosen": url}, "the environment's"),
        ({"CHATMAGIC_API_KEY": KEY}, {"chosen": url, "file_config": HUB}, "the environment's"),
        ({}, {"chosen": url, "typed": {place: TYPED}}, "the one for this host"),
        ({}, {"chosen": url, "store": Kept(HUB)}, "the one for this host"),
    ]
    for environ, settings, whose in ways:
        endpoint = resolve(environ, **settings)
        assert (endpoint.key is not None) == is_own
        if not is_own:
            with pytest.raises(ChatError) as caught:
                endpoint.require_key()
            belongs = f"{whose} belongs to https://hub.example:443/services/llm. Nothing was sent."
            assert caught.value.message.endswith(belongs)
    assert (resolve_for_client(HUB_ENVIRONMENT, base_url=url).key is not None) == is_own


def test_a_key_that_was_kept_by_origin_stays_with_the_host_itself() -> None:
    """An earlier version kept it so; it is not known which path it was given for."""

    class ByOrigin(Kept):
        def places(self) -> tuple[str, ...]:
            """Give none, as a keyring does."""
            return ()

    for address in ("https://hub.example", "https://hub.example/v1"):
        assert told(resolve({}, chosen=address, store=ByOrigin(origin(HUB))))[1] == "keyring"
    endpoint = resolve({}, chosen=HUB, store=ByOrigin(origin(HUB)))
    assert endpoint.key is None
    assert endpoint.elsewhere == "the one for this host belongs to https://hub.example:443"


def test_a_place_is_shown_without_what_may_be_a_key() -> None:
    """Some gateways have the id of an account in the path."""
    environ = {**ENVIRONMENT, "CHATMAGIC_BASE_URL": f"{HOME}/4f9c1e774f9c1e774f9c1e77/{KEY}"}
    endpoint = resolve(environ, chosen=AWAY)
    assert endpoint.elsewhere == "the environment's belongs to https://home.example:443/…/…"


hosts = st.sampled_from(["home.example", "HOME.example", "home.example.", "away.example", "home"])
addresses = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https"]),
    hosts,
    st.sampled_from(["", ":443", ":80", ":8443"]),
    st.sampled_from(["", "/", "/v1", "/home.example"]),
)


@given(addresses, st.none() | addresses, st.none() | addresses, st.none() | addresses)
def test_no_mix_of_addresses_leads_the_key_astray(
    own: str, chosen: str | None, cell: str | None, file: str | None
) -> None:
    """The environment's key is there exactly when its own place is asked."""
    environ = {"CHATMAGIC_BASE_URL": own, "CHATMAGIC_API_KEY": KEY}
    found = resolve(environ, chosen=chosen, cell_config=cell, file_config=file)
    assert (found.key is not None) == (key_place(found.base_url) == key_place(own))
    if file is not None:
        found = resolve(
            {"CHATMAGIC_API_KEY": KEY}, chosen=chosen, cell_config=cell, file_config=file
        )
        assert (found.key is not None) == (key_place(found.base_url) == key_place(file))


@pytest.mark.parametrize("content", [KEY, f"\n {KEY}\r\n", f"\ufeff{KEY}"])
def test_a_key_may_be_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """The file's key is stripped, and goes to the environment's address as a variable's would."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "key").write_text(content, encoding="utf-8")
    for path in (f" {tmp_path / 'key'} ", "~/key"):
        environ = {"CHATMAGIC_BASE_URL": HOME, "CHATMAGIC_API_KEY_FILE": path}
        assert told(resolve(environ)) == (KEY, "CHATMAGIC_API_KEY_FILE")
        assert told(resolve(environ, chosen=AWAY)) == (None, None)
        both = {**environ, "CHATMAGIC_API_KEY": "sk-first"}
        assert told(resolve(both)) == ("sk-first", "CHATMAGIC_API_KEY")


def chain(error: BaseException) -> str:
    """Give everything that an error and what hangs on to it would show."""
    shown = []
    following: BaseException | None = error
    while following is not None:
        shown.append(f"{following!r} {following} {following.args} {vars(following)}")
        shown.append(str(getattr(following, "object", "")))
        following = following.__cause__ or following.__context__
    return " ".join(shown)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"sk-private\xff", "cannot be read: it is not text in UTF-8."),
        (b"", "names is empty"),
        (b" \n", "names is empty"),
        (b"sk-private two", "holds no key"),
        (None, "cannot be read: "),
    ],
)
def test_a_wrong_key_file_is_told_without_its_content(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    """The message names the variable; neither the content nor the path is repeated."""
    path = tmp_path / "sk-private"
    if content is not None:
        path.write_bytes(content)
    environ = {"CHATMAGIC_BASE_URL": HOME, "CHATMAGIC_API_KEY_FILE": str(path)}
    with pytest.raises(InputError) as caught:
        resolve(environ)
    assert "CHATMAGIC_API_KEY_FILE" in caught.value.message
    assert why in caught.value.message
    assert "private" not in str(caught.value)
    assert content is None or "private" not in chain(caught.value)
    assert resolve(environ, chosen=AWAY).key is None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("'sk-private'", "The key in {} stands in quotation marks. Nothing was sent."),
        ('"sk-private"', "The key in {} stands in quotation marks. Nothing was sent."),
        *((key, "{} holds no key: ") for key in ("sk private", "sk-privaté", "“sk-private”")),
        ("sk-\x00private", "{} holds no key: "),
    ],
)
def test_a_wrong_key_is_told_without_itself(value: str, why: str, tmp_path: Path) -> None:
    """The message names where the key is from, and never the key, which is not sent."""
    (tmp_path / "key").write_text(value, encoding="utf-8")
    variables = {"CHATMAGIC_API_KEY": value, "CHATMAGIC_API_KEY_FILE": str(tmp_path / "key")}
    for name, setting in variables.items():
        environ = {"CHATMAGIC_BASE_URL": HOME, name: setting}
        with pytest.raises(InputError) as caught:
            resolve(environ)
        assert caught.value.message.startswith(why.format(name))
        assert "priva" not in chain(caught.value)
        assert resolve(environ, chosen=AWAY).key is None
    with pytest.raises(InputError) as caught:
        resolve_for_client({}, base_url=HOME, api_key=value)
    assert caught.value.message.startswith(why.format("api_key"))
    assert "priva" not in chain(caught.value)


@pytest.mark.parametrize(
    ("environ", "config", "way"),
    [
        ({}, None, "bearer"),
        ({}, "query", "query"),
        ({"CHATMAGIC_AUTH": " X-API-Key "}, "query", "x-api-key"),
        ({"CHATMAGIC_AUTH": ""}, "query", "query"),
        ({"CHATMAGIC_AUTH": "none"}, "bearer", "none"),
    ],
)
def test_the_way_of_the_key(environ: dict[str, str], config: str | None, way: str) -> None:
    """The environment beats the configuration; without either it is bearer (fact 12)."""
    found = resolve({**ENVIRONMENT, **environ}, auth_config=config)
    assert found.auth == way
    assert (found.key is None) == (way == "none")


def test_a_wrong_way_is_told_with_the_right_ones() -> None:
    """The four ways are listed; what was set is not repeated, for it might be a key."""
    right = re.escape("must be one of bearer, x-api-key, query, none.")
    with pytest.raises(InputError, match=f"^CHATMAGIC_AUTH {right}$"):
        resolve({**ENVIRONMENT, "CHATMAGIC_AUTH": "sk-private"})
    with pytest.raises(InputError, match=f"^auth {right}$"):
        resolve_for_client(ENVIRONMENT, auth="Basic")


@each_case(
    ("environ", "given", "key"),
    [
        ({}, {}, (KEY, "CHATMAGIC_API_KEY")),
        ({}, {"base_url": HOME}, (KEY, "CHATMAGIC_API_KEY")),
        ({}, {"base_url": AWAY}, (None, None)),
        ({"CHATMAGIC_BASE_URL": ""}, {"base_url": AWAY}, (None, None)),
        ({}, {"base_url": AWAY, "api_key": "sk-a"}, ("sk-a", "argument")),
        ({}, {"api_key": "sk-a"}, ("sk-a", "argument")),
        ({}, {"auth": "none", "api_key": "x"}, (None, None)),
        ({"CHATMAGIC_AUTH": "none"}, {"auth": "query"}, (KEY, "CHATMAGIC_API_KEY")),
        ({"CHATMAGIC_API_KEY": "two words"}, {"api_key": "sk-a"}, ("sk-a", "argument")),
    ],
)
def test_a_client_in_python(
    environ: dict[str, str], given: dict[str, str], key: tuple[str | None, str | None]
) -> None:
    """An argument counts before the environment, whose key goes to its own origin alone."""
    found = resolve_for_client({**ENVIRONMENT, **environ}, **given)
    assert found.url_from == ("argument" if "base_url" in given else "CHATMAGIC_BASE_URL")
    assert told(found) == key


def test_the_emulator_gets_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the user's goes to it, and a way without one does not hold for it."""
    environ = {**ENVIRONMENT, "CHATMAGIC_AUTH": "none"}
    chosen = resolve(environ, chosen=EMULATOR, typed={EMULATOR: TYPED}, store=Kept(HOME))
    guarded = (Secret(KEY), TYPED)
    assert chosen == Endpoint(
        EMULATOR, "bearer", None, "%chat_connect", "emulator", guarded=guarded
    )
    own = with_local_emulator(chosen)  # without a kernel, of this process
    assert own.is_emulator
    assert own.key not in (None, *guarded)
    started = ("http://127.0.0.1:8123", Secret("practice-1"))
    monkeypatch.setattr(config, "kernel", GivenEnvironment(emulator=started))
    at_work = with_local_emulator(chosen)
    assert (at_work.base_url, at_work.key) == started
    client = resolve_for_client(environ, base_url=EMULATOR, api_key="sk-mine", auth="none")
    assert (client.base_url, client.key, client.auth) == (*started, "bearer")
    assert chosen.is_emulator
    assert at_work.is_emulator
    assert client.is_emulator
    elsewhere = resolve(ENVIRONMENT)
    assert with_local_emulator(elsewhere) is elsewhere
    assert not elsewhere.is_emulator


def everything(environ: Mapping[str, str], url: str) -> list[object]:
    """Give all that resolving leads to: connections, messages, errors."""
    seen: list[object] = []
    for chosen in (None, url, EMULATOR, AWAY, f"{url}?api_key={KEY}", f"https://{KEY}@x.example"):
        try:
            found = resolve(environ, chosen=chosen, typed={origin(AWAY): Secret(KEY)})
            seen += [found, told(found)[1], *(getattr(found, name) for name in FIELDS)]
            if found.base_url != EMULATOR:
                seen.append(usable_url(found.base_url))
                found.require_key()
        except ChatError as error:
            seen += [error, error.hint, in_ipython(error), chain(error)]
    return seen


FIELDS = ("base_url", "auth", "key", "url_from", "key_from", "elsewhere")


@pytest.mark.parametrize(
    "environ",
    [
        {"CHATMAGIC_API_KEY": KEY},
        ENVIRONMENT,
        {**ENVIRONMENT, "CHATMAGIC_API_KEY": f"{KEY} {KEY}"},
        {**ENVIRONMENT, "CHATMAGIC_AUTH": KEY},
        {"CHATMAGIC_BASE_URL": HOME, "CHATMAGIC_API_KEY_FILE": KEY},
        {"CHATMAGIC_BASE_URL": KEY, "CHATMAGIC_API_KEY": KEY},
        {"CHATMAGIC_BASE_URL": f"https://{KEY}:x@a.example", "CHATMAGIC_API_KEY": KEY},
    ],
)
def test_the_key_is_in_no_text_of_anything(environ: dict[str, str]) -> None:
    """Wherever a key was put, by right or by mistake, nothing that is made shows it."""
    for thing in everything(environ, "http://plain.example"):
        assert KEY not in f"{thing} {thing!r}"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no setting of the machine count, and no file of the user."""
    for name in ("CHATMAGIC_BASE_URL", "CHATMAGIC_API_KEY", "CHATMAGIC_AUTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_a_variable_of_other_tools_is_never_used_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in Python, not for a URL, not for another service; the error says how to give it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for url in ("openai", "https://api.openai.com/v1"):
        with Client(url) as client, pytest.raises(AuthenticationError) as caught:
            client.complete([{"role": "user", "content": "hello"}])
        hint = caught.value.line_at("python")
        assert 'Client("openai", api_key=os.environ["OPENAI_API_KEY"]) gives it' in hint
        assert KEY not in hint
        assert config.offered_variable(client.endpoint) == "OPENAI_API_KEY"
    for url in ("groq", "ollama", "https://other.example.org"):
        with Client(url) as client:
            assert config.offered_variable(client.endpoint) is None


def test_an_agreed_variable_goes_to_its_place_alone() -> None:
    """It is read at each use; any other address gets no key of it."""
    environ = {"OPENAI_API_KEY": KEY}
    agreed = {"https://api.openai.com:443": "OPENAI_API_KEY"}
    found = resolve(environ, chosen="openai", agreed=agreed)
    assert told(found) == (KEY, "OPENAI_API_KEY")
    for other in ("groq", AWAY, "http://api.openai.com", "https://api.openai.com/other"):
        assert told(resolve(environ, chosen=other, agreed=agreed)) == (None, None)
    assert told(resolve({}, chosen="openai", agreed=agreed)) == (None, None)
    with pytest.raises(InputError, match="stands in quotation marks"):
        resolve({"OPENAI_API_KEY": f'"{KEY}"'}, chosen="openai", agreed=agreed)


ANTHROPIC = "https://api.anthropic.com/v1/messages"


@pytest.mark.parametrize(
    "resolved",
    [
        lambda: resolve({}, chosen=ANTHROPIC),
        lambda: resolve({"CHATMAGIC_BASE_URL": ANTHROPIC}),
        lambda: Client(ANTHROPIC, KEY),
    ],
)
def test_an_address_of_another_protocol(resolved: Callable[[], object]) -> None:
    """It is refused wherever it is set, before anything is sent."""
    with pytest.raises(InputError, match="Anthropic's Messages API") as caught:
        resolved()
    assert str(caught.value.hint).endswith(": https://api.anthropic.com/v1")
