"""Which proxy an address has, and how a message names it."""

from __future__ import annotations

import re
import socket
from unittest.mock import Mock

import pytest
from exchanges import send

from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.proxies import Proxy, proxies_for, proxy_of
from chatmagic.client.socks_sockets import SOCKS_SCHEMES
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import ConnectError


@pytest.mark.parametrize("scheme", ["http", *SOCKS_SCHEMES])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "a.localhost", "[::1]"])
def test_loopback_goes_past_each_kind_of_proxy(
    no_proxy: pytest.MonkeyPatch, scheme: str, host: str
) -> None:
    """Also past one that has every variable, and where NO_PROXY names nothing."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        no_proxy.setenv(name, f"{scheme}://127.0.0.1:9")
    assert proxies_for(f"http://{host}:8000/v1") == {}
    assert proxy_of(f"https://{host}:8000/v1") is None
    no_proxy.setattr(socket, "getaddrinfo", refusing := Mock(side_effect=socket.gaierror(-2, "no")))
    with pytest.raises(ConnectError, match=rf"name of http://{re.escape(host)}:8000 was not"):
        send(HttpTransport(ServiceSetup(Endpoint(f"http://{host}:8000", "none", None, "test"))))
    assert refusing.call_args.args[:2] == (host.strip("[]"), 8000)


@pytest.mark.parametrize(
    ("scheme", "variables", "expected"),
    [
        ("https", {}, None),
        ("https", {"HTTP_PROXY": "http://a:1"}, None),
        ("http", {"HTTP_PROXY": "http://a:1"}, "http://a:1, by HTTP_PROXY"),
        ("https", {"HTTPS_PROXY": "http://a:1", "https_proxy": "http://b"}, "http://b, by https_"),
        ("https", {"HTTPS_PROXY": "http://a:1", "https_proxy": ""}, None),
        ("https", {"ALL_PROXY": "socks5h://a:1"}, "socks5h://a:1, by ALL_PROXY"),
        ("https", {"All_Proxy": "http://a", "https_PROXY": "http://a"}, "http://a, by https_PROXY"),
        ("https", {"all_proxy": "http://a", "NO_PROXY": "chat.invalid"}, None),
        ("https", {"all_proxy": "http://a", "no_proxy": "other.invalid"}, "http://a, by all_proxy"),
        ("https", {"all_proxy": "a:1"}, "http://a:1, by all_proxy"),
        ("https", {"all_proxy": "ada:of-ada@a:1"}, "http://a:1, by all_proxy"),
        ("https", {"all_proxy": "http://ada:of%2Dada@[::1]:1/"}, "http://[::1]:1, by all_proxy"),
        ("https", {"all_proxy": "http://ada:of-ada/x@a:1"}, "a text that is no URL, by all_proxy"),
        ("https", {"all_proxy": "http://ada:1/of-ada@a:1"}, "a text that is no URL, by all_proxy"),
        ("https", {"all_proxy": "ada of-ada://a:1"}, "a text that is no URL, by all_proxy"),
        ("https", {"all_proxy": "http://of-ada:x"}, "a text that is no URL, by all_proxy"),
        ("https", {"all_proxy": "http://"}, "a text that is no URL, by all_proxy"),
    ],
)
def test_the_proxy_in_force_is_named(
    no_proxy: pytest.MonkeyPatch, scheme: str, variables: dict[str, str], expected: str | None
) -> None:
    """With the variable that counts, and never with a password."""
    for name, value in variables.items():
        no_proxy.setenv(name, value)
    proxy = proxy_of(f"{scheme}://chat.invalid:8000/v1")
    assert (proxy is None) is (expected is None)
    assert str(proxy).startswith(str(expected))
    assert "of-ada" not in str(proxy)


def test_a_proxy_of_the_system_is_named_as_such(no_proxy: pytest.MonkeyPatch) -> None:
    """As Windows and macOS have it, without a variable."""
    no_proxy.setattr(
        "chatmagic.client.proxies.get_environ_proxies", lambda _: {"https": "http://a:1"}
    )
    assert proxy_of("https://chat.invalid") == Proxy("http://a:1", "the settings of the system")
