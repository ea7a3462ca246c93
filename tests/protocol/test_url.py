"""What a base URL says: one host for every reader, one way of writing it, one clear refusal."""

from __future__ import annotations

import pytest
from cases import each_case

from chatmagic.advice import note_at
from chatmagic.errors import InputError
from chatmagic.protocol.url import (
    is_loopback,
    key_place,
    key_place_or_none,
    models_url,
    origin,
    origin_or_none,
    request_url,
    shown_url,
    usable_url,
)


def refusal(url: str) -> InputError:
    """Give the error that an address is refused with, whichever way it is looked at."""
    messages = set()
    for look in (request_url, origin, is_loopback, usable_url):
        with pytest.raises(InputError) as caught:
            look(url)
        messages.add(str(caught.value))
    assert len(messages) == 1
    return caught.value


@each_case(
    ("url", "written"),
    [
        ("https://chat.example", "https://chat.example:443"),
        ("HTTPS://Chat.Example/V1", "https://chat.example:443"),
        (" https://chat.example. ", "https://chat.example:443"),
        ("https://chat.example:443/x", "https://chat.example:443"),
        ("https://chat.example:/x", "https://chat.example:443"),
        ("https://chat.example:8443", "https://chat.example:8443"),
        ("http://chat.example", "http://chat.example:80"),
        ("http://[::1]:8000/v1", "http://[::1]:8000"),
        ("http://[2001:DB8::1]", "http://[2001:db8::1]:80"),
        ("https://b.example/bücher/a%20b", "https://b.example:443"),
        ("https://good.example@evil.example", "https://evil.example:443"),
        ("https://a@b@evil.example:443", "https://evil.example:443"),
    ],
)
def test_an_origin_is_written_in_one_way(url: str, written: str) -> None:
    """Scheme, host and port, so that two writings of one origin compare equal."""
    assert origin(url) == written
    assert origin(written) == written


@each_case(
    ("base_url", "posted_to"),
    [
        ("https://chat.example", "https://chat.example/v1/chat/completions"),
        ("https://chat.example/", "https://chat.example/v1/chat/completions"),
        ("https://chat.example/v1", "https://chat.example/v1/chat/completions"),
        ("https://chat.example/v1//", "https://chat.example/v1/chat/completions"),
        (" https://chat.example/v1/chat/completions/ ", "https://chat.example/v1/chat/completions"),
        ("http://127.0.0.1:8000/api", "http://127.0.0.1:8000/api/v1/chat/completions"),
        ("https://a.example/api/v1", "https://a.example/api/v1/chat/completions"),
        ("https://a.example/dev1", "https://a.example/dev1/v1/chat/completions"),
        ("https://a.example/v2", "https://a.example/v2/chat/completions"),
        ("https://a.example/v1.1/", "https://a.example/v1.1/chat/completions"),
        ("https://a.example/v1beta", "https://a.example/v1beta/chat/completions"),
        ("https://a.example/api/paas/v4", "https://a.example/api/paas/v4/chat/completions"),
        ("https://a.example/v1beta/openai", "https://a.example/v1beta/openai/chat/completions"),
        ("https://a.example/v1/openai/", "https://a.example/v1/openai/chat/completions"),
        ("https://a.example/openai", "https://a.example/openai/v1/chat/completions"),
        ("https://a.example/v1/x/openai", "https://a.example/v1/x/openai/v1/chat/completions"),
        ("https://a.example/v1/openai/x", "https://a.example/v1/openai/x/v1/chat/completions"),
        ("https://a.example/v", "https://a.example/v/v1/chat/completions"),
        ("https://a.example/version1", "https://a.example/version1/v1/chat/completions"),
        ("https://a.example/v1/models", "https://a.example/v1/models/v1/chat/completions"),
        (
            "https://a.example/openai/deployments/x",
            "https://a.example/openai/deployments/x/v1/chat/completions",
        ),
        ("https://a.example/chat/completions", "https://a.example/chat/completions"),
        ("https://a.example/x/chat/completions/", "https://a.example/x/chat/completions"),
        (
            "https://a.example/openai/deployments/x/chat/completions?api-version=2024-02-01",
            "https://a.example/openai/deployments/x/chat/completions?api-version=2024-02-01",
        ),
        ("https://a.example/chat/completions?", "https://a.example/chat/completions"),
        ("https://a.example/mychat/completions", None),
    ],
)
def test_an_endpoint_has_what_its_base_lacks(base_url: str, posted_to: str | None) -> None:
    """A whole endpoint is kept; a version lacks the ending, anything else the interface's path."""
    posted_to = posted_to or f"{base_url}/v1/chat/completions"
    assert request_url(base_url) == posted_to
    assert request_url(posted_to) == posted_to


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("api.openai.com", "https://api.openai.com"),
        ("api.openai.com/v1", "https://api.openai.com/v1"),
        ("gateway.example.org:8443", "https://gateway.example.org:8443"),
        ("eyJhbGciOiJIUzI1.eyJzdWIi.abc", None),
        ("my-key-0123456789abcdef0123.example", None),
        ("api.openai.com/key0123", None),
    ],
)
def test_a_host_without_its_scheme_is_understood(url: str, meant: str | None) -> None:
    """What might be a key is not repeated."""
    assert refusal(url).hint == (meant and f"Did you mean {meant}?")


@each_case(
    ("url", "meant"),
    [
        ("localhost:18203", "http://localhost:18203"),
        ("localhost", "http://localhost"),
        ("LOCALHOST:1/v1", "http://localhost:1/v1"),
        ("me.localhost:80/a/v1", "http://me.localhost/a/v1"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("127.1.2.3:8000", "http://127.1.2.3:8000"),
        ("0.0.0.0:8000", "http://0.0.0.0:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_address_on_this_machine_needs_no_scheme(url: str, meant: str) -> None:
    """It is taken as meant, for the address, its key, and the question whether it is here."""
    assert request_url(usable_url(url)[0]) == request_url(url) == request_url(meant)
    assert key_place(url) == key_place(meant)
    assert is_loopback(url)
    assert usable_url(url)[1] == ()


@each_case(
    "url",
    [
        "",
        "sk-private",
        "chat.example",
        "//sk-private",
        "https://",
        "https://:443",
        "https://.",
        "ftp://sk-private",
        "file:///sk-private",
        "https://sk-private:0",
        "https://sk-private:99999",
        "https://sk-private:port",
        "https://[sk-private",
        "https://sk-private .example",
        "https://sk-private\n.example",
        "https://evil.example\\.sk-private",
        "https://sk%2dprivate",
        "https://sk-private;.example",
        "https://sk-private..example",
        "https://[::1]sk-private",
        "https://[v1.sk-private]",
        "https://[fe80::1%25sk-private]",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    """A key that was given where the address belongs is not shown by the error."""
    error = refusal(url)
    assert error.message == "The base address is not a URL like https://chat.example.org."
    assert error.hint == ("Did you mean https://chat.example?" if url == "chat.example" else None)
    assert "private" not in repr(error)


@each_case(
    ("host", "is_refused"),
    [
        ("192.168.257", True),
        ("01.2.3.4", True),
        ("1.2.3.04", True),
        ("0x7f.1", True),
        ("2130706433:8000", True),
        ("127.1", True),
        ("0x7f000001.", True),
        ("127.0.0.1.9", True),
        ("256.0.0.1", True),
        ("a.0x1", True),
        ("9" * 4301, True),
        ("192.168.1.7", False),
        ("127.0.0.1.", False),
        ("[::ffff:1.2.3.4]", False),
        ("1e3.example", False),
    ],
)
def test_a_number_that_two_programs_read_differently_is_no_host(
    host: str, is_refused: bool
) -> None:
    """Only an IP address in its usual notation is one; the line says how that is written."""
    if not is_refused:
        assert origin(f"http://{host}")
        return
    error = refusal(f"http://{host}")
    assert error.message == (
        "The host of the base address is a number that programs read as different addresses."
    )
    assert error.hint == "Write an IP address as four numbers from 0 to 255: http://127.0.0.1."


@each_case(
    "url",
    [
        "https://chat.example?api_key=sk-private",
        "https://chat.example/v1#sk-private",
        "https://chat.example/v1?a=private",
        "https://chat.example/chat/completions#sk-private",
        "https://chat.example/chat/completions?api_key=private",
        "https://chat.example/chat/completions?api%5fkey=private",
        "https://chat.example/chat/completions?a=b&access_token=private",
        "https://chat.example/chat/completions?KEY",
        "https://chat.example/chat/completions?a=sk-private",
        "https://chat.example/chat/completions?a=sk%2dprivate",
        "https://chat.example/chat/completions?sk-private",
    ],
)
def test_an_address_holds_no_secret(url: str) -> None:
    """A query or a fragment is refused, and nothing of it is repeated."""
    error = refusal(url)
    assert "leave them out" in error.message
    assert "private" not in f"{error!r}{error}{error.hint}"


@each_case(
    ("host", "here"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("chat.localhost", True),
        ("127.0.0.1", True),
        ("127.9.8.7", True),
        ("[::1]", True),
        ("[::ffff:127.0.0.1]", True),
        ("[::ffff:10.0.0.1]", False),
        ("[2001:db8::1]", False),
        ("10.0.0.1", False),
        ("128.0.0.1", False),
        ("localhost.example", False),
        ("notlocalhost", False),
        ("127.0.0.1.example", False),
    ],
)
def test_only_this_machine_is_loopback(host: str, here: bool) -> None:
    """Plain http is unwise anywhere else, and https nowhere."""
    assert is_loopback(f"http://{host}:8000/v1") is here
    assert is_loopback(f"https://{host}") is here
    assert len(usable_url(f"http://{host}")[1]) == (0 if here else 1)
    assert usable_url(f"HTTPS://{host}")[1] == ()


def test_a_warning_names_the_origin() -> None:
    """It says what can be read."""
    (warning,) = usable_url("http://chat.example/v1")[1]
    assert "http://chat.example:80 is not encrypted" in str(warning)


@pytest.mark.parametrize(
    "host", ["b\u00fccher.example", "STRA\u1e9eE.example", "\u212aeys.example"]
)
def test_letters_beyond_ascii_are_no_host(host: str) -> None:
    """Two readers write them in two ways, so a key might go to another host than it belongs to."""
    for url in (f"https://{host}", f"https://user@{host}:8443/v1"):
        error = refusal(url)
        assert error.message == "The host of the base address has characters beyond ASCII."
        assert "xn--" in str(error)


def test_a_user_name_is_dropped_and_warned_about() -> None:
    """It goes nowhere: not to the service, not into a message."""
    for url in ("https://user:sk-private@chat.example/v1", "https://sk-private@chat.example/v1"):
        assert usable_url(url)[0] == "https://chat.example/v1"
        assert request_url(url) == "https://chat.example/v1/chat/completions"
        (warning,) = usable_url(url)[1]
        assert "https://chat.example:443 holds a user name or a password" in note_at(
            warning, "notebook"
        )
        assert "private" not in str(warning)
    assert len(usable_url("http://user@chat.example")[1]) == 2


@pytest.mark.parametrize(
    ("base_url", "words"),
    [
        ("https://chat.example/v1", "https://chat.example/v1/chat/completions"),
        ("https://sk-private@chat.example", "https://chat.example/v1/chat/completions"),
        (
            "https://a.example/chat/completions?api-version=2",
            "https://a.example/chat/completions?api-version=2",
        ),
        (
            "https://a.example/v1/4f9c1e774f9c1e774f9c1e77/x%1b/",
            "https://a.example/v1/…/x%1b/v1/chat/completions",
        ),
        ("https://a.example/sk%2dprivate", "https://a.example/…/v1/chat/completions"),
    ],
)
def test_an_address_is_shown_without_what_may_be_a_key(base_url: str, words: str) -> None:
    """A message names what was posted to; some gateways have an account's id in the path."""
    assert shown_url(base_url) == words


def test_a_long_address_is_shown_in_part() -> None:
    """A message stays one line of a bearable length."""
    assert len(shown_url(f"https://a.example/{'x/' * 1000}")) == 300


def test_what_is_no_address_has_no_origin() -> None:
    """It belongs to no other address then, and no key is given for it."""
    assert origin_or_none("https://a.example/v1") == "https://a.example:443"
    assert origin_or_none("no address") is None


@pytest.mark.parametrize(
    ("url", "listed"),
    [
        ("https://chat.example", "https://chat.example/v1/models"),
        ("https://chat.example/api/v4/", "https://chat.example/api/v4/models"),
        ("http://[::1]:8000/v1beta/openai", "http://[::1]:8000/v1beta/openai/models"),
        (
            "https://a.example/x/chat/completions?api-version=2",
            "https://a.example/x/models?api-version=2",
        ),
    ],
)
def test_models_are_listed_beside_the_requests(url: str, listed: str) -> None:
    """At the same origin, by the same query."""
    assert models_url(url) == listed


LLM = "https://hub.example:443/services/llm"


@each_case(
    ("url", "place"),
    [
        ("https://hub.example/services/llm", LLM),
        ("https://HUB.example:443/services/llm/", LLM),
        ("https://hub.example/services/llm/v1", LLM),
        ("https://hub.example/services/llm/v1/", LLM),
        ("https://hub.example/services/llm/v1beta/openai", LLM),
        ("https://hub.example/services/llm/v1.1//", LLM),
        ("https://hub.example/services/llm/chat/completions", LLM),
        ("https://hub.example/services/llm/v1/chat/completions/", LLM),
        ("https://hub.example/services/llm/chat/completions?api-version=2", LLM),
        ("https://hub.example", "https://hub.example:443"),
        ("https://hub.example/v1", "https://hub.example:443"),
        ("https://hub.example/v1/chat/completions", "https://hub.example:443"),
        ("https://hub.example/openai", "https://hub.example:443/openai"),
        ("https://hub.example/user/v2alice", "https://hub.example:443/user/v2alice"),
        ("https://hub.example/user/v2_1", "https://hub.example:443/user/v2_1"),
        ("https://hub.example/Services/llm", "https://hub.example:443/Services/llm"),
        ("https://hub.example//services/llm", "https://hub.example:443//services/llm"),
        ("https://hub.example/services/llm2/v1", "https://hub.example:443/services/llm2"),
    ],
)
def test_a_key_belongs_to_an_origin_and_a_path(url: str, place: str) -> None:
    """In one spelling, which the address of its requests has, too."""
    assert key_place(url) == key_place_or_none(url) == place
    assert key_place(place) == place
    assert key_place(request_url(url)) == place
    assert key_place_or_none("no address") is None


@each_case(
    "path",
    [
        "services/llm/../../user/mallory",
        "services/llm/..",
        "./services/llm",
        "services/llm/%2e%2e/%2E./user/mallory",
        "services/llm/.%2e/user",
        "services%2fllm",
        "services/llm%2F..%2Fuser",
        "services/llm/..%5cuser",
        "services/llm/..;/..;a=b/user/mallory",
        "services/llm/%252e%252e/user",
        "services/llm/%25252e%25252e/user",
        "services/%255cuser",
        "services/llm/%c0%ae%c0%ae/user",
        "services/%zz",
        "services/%",
        "services/llm/%2e%2e/chat/completions?a=b",
    ],
)
def test_a_path_that_can_be_read_as_another_is_refused(path: str) -> None:
    """A server, or something on the way, might take the key to somebody else's place."""
    error = refusal(f"https://hub.example/{path}")
    assert error.message.startswith("The path of the base address can be read as another path")
    assert "mallory" not in str(error)


def test_a_name_may_have_dots() -> None:
    """Three of them, or some within a name, mean no other place."""
    assert request_url("https://a.example/.../a..b/.well-known/v1.0").endswith(
        "/v1.0/chat/completions"
    )
