"""An API key shows itself to nobody by accident."""

from __future__ import annotations

import copy
import json
import pickle
from urllib.parse import quote

import pytest
from cases import each_case

from chatmagic.errors import InputError
from chatmagic.protocol.api_key import (
    KeyRedactor,
    Secret,
    is_secret_name,
    looks_like_a_key,
    redacted,
    refuse_keys,
)

KEY = "talk-7Hq/x+e=9"


class TestSecret:
    """A key shows itself to nobody by accident."""

    def test_it_is_shown_nowhere(self) -> None:
        """Neither text nor formatting nor debugging gives the key away."""
        secret = Secret(KEY)
        shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", "%s" % secret]  # noqa: UP031 - old formatting too
        shown += [repr([secret]), repr({"key": secret}), repr(dir(secret))]
        assert not any(KEY in text for text in shown)
        assert not hasattr(secret, "__dict__")
        with pytest.raises(TypeError):
            vars(secret)
        with pytest.raises(TypeError):
            json.dumps(secret)

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_it_is_not_pickled(self, protocol: int) -> None:
        """A key does not get into a file along with what holds it."""
        with pytest.raises(TypeError, match="not pickled") as caught:
            pickle.dumps([Secret(KEY)], protocol)
        assert KEY not in str(caught.value)
        with pytest.raises(TypeError, match="not pickled"):
            copy.deepcopy(Secret(KEY))

    def test_it_is_given_when_asked_for(self) -> None:
        """The one who puts it on the wire gets it; a text can be cleared of it."""
        secret = Secret(KEY)
        assert secret.reveal() == KEY
        assert secret.redact(f"a{KEY}b{KEY}") == "a[key removed]b[key removed]"
        assert secret.redact(f"a{KEY[:-1]}") == "a[key removed]"
        assert secret.redact(f"a{KEY[:-1]} b") == f"a{KEY[:-1]} b"

    def test_it_is_found_in_a_text(self) -> None:
        """A text that holds the key is told; a key as short as a word is no secret."""
        assert Secret(KEY).is_in(f"?api_key={KEY}&x")
        assert not Secret(KEY).is_in(KEY[1:])
        assert Secret("8letters").is_in("8letters")
        assert not Secret("7letter").is_in("7letter")

    def test_equal_keys_are_equal(self) -> None:
        """Secrets compare by key, and with nothing else."""
        assert Secret(KEY) == Secret(KEY)
        assert Secret(KEY) != Secret("other")
        assert Secret(KEY) != KEY
        assert len({Secret(KEY), Secret(KEY)}) == 1

    @pytest.mark.parametrize(
        "text", ["", " ", f"{KEY} ", f"{KEY}\n", f"{KEY}\r\nX: y", "clé", "\x7f"]
    )
    def test_what_no_header_carries_is_no_key(self, text: str) -> None:
        """A key that a header cannot carry is refused, and the refusal does not quote it."""
        with pytest.raises(ValueError, match="one word") as caught:
            Secret(text)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize("value", ['sk-a/b+c=="<dd', "sk-4f9c\\1e77'%41&lt;"])
def test_a_key_is_found_however_it_is_written(value: str) -> None:
    """What is found in a prompt is what is taken out of an answer."""
    key = Secret(value)
    twice = json.dumps(json.dumps(value))
    for form in (value, quote(value), quote(value, safe=""), repr(value), twice):
        assert key.is_in(f"<{form}>")
        assert len(key.redact(f"<{form}>")) <= len("<'\\\\\"[key removed]\\\\\"'>")
    assert key.redact("\\" * 65_536) == "\\" * 65_536
    assert Secret.or_none(value) == key
    assert Secret.or_none(5) is Secret.or_none("two words") is None


@pytest.mark.parametrize("word", ["a", "EMPTY", "none", "ollama", "7letter", "7\\letter"])
def test_a_placeholder_is_never_looked_for(word: str) -> None:
    """It is an ordinary word, and a text would be full of holes where nothing was."""
    key, text = Secret(word), f"{word} {word}"
    assert key.redact(text) == text
    assert not key.is_in(text)
    redactor = KeyRedactor([key])
    assert (redactor.feed(text), redactor.rest(), redactor.has_removed) == (text, "", False)


LONG = Secret("sk-abcdefgh-0123456789")


@each_case("size", [1, 2, 3, 7, 100])
@each_case("key", [LONG, Secret(KEY), Secret("ssssssst")])
def test_a_key_in_fragments_is_removed(key: Secret, size: int) -> None:
    """However it is cut; the text around it arrives, and as soon as it can be no key."""
    text = f"So s it is: {key.reveal()}, sk- and {key.reveal().upper()}."
    redactor = KeyRedactor([LONG, key])
    pieces = [redactor.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join(pieces) + redactor.rest() == "So s it is: [key removed], sk- and [key removed]."
    assert redactor.has_removed


def test_only_the_beginning_of_a_key_waits() -> None:
    """Any other text is passed on at once, and the rest at the end."""
    redactor = KeyRedactor([LONG])
    assert [
        redactor.feed(text) for text in ("a ", "tasking", " sk-a", "x", " sk", "-abc", "d")
    ] == [
        "a ",
        "tasking",
        " ",
        "sk-ax",
        " ",
        "",
        "",
    ]
    assert redactor.held == redactor.rest() == "sk-abcd"
    assert redactor.rest() == ""
    assert not redactor.has_removed


def test_the_larger_part_of_a_key_is_no_rest() -> None:
    """A reply may be cut in the middle of it."""
    redactor = KeyRedactor([LONG])
    assert redactor.feed(f"a {LONG.reveal()[:-1]}") == "a "
    assert redactor.held == redactor.rest() == "[key removed]"
    assert redactor.has_removed


def test_the_longer_of_two_keys_is_removed_whole() -> None:
    """Nothing of it stays if it begins as the other does."""
    shorter = Secret(LONG.reveal()[:12])
    redactor = KeyRedactor([shorter, LONG])
    assert redactor.without_keys(f"{LONG.reveal()} {shorter.reveal()}") == (
        "[key removed] [key removed]"
    )
    redactor.feed("sk-")
    redactor.drop()
    assert redactor.rest() == ""


@each_case(
    "name",
    [
        "Authorization",
        "Proxy-Authorization",
        "X-API-Key",
        "api-key",
        "apikey",
        "X-ApiKey",
        "KEY",
        "Cookie",
        "X-Auth",
        "X-Auth-Token",
        "access_token",
        "sig",
        "client-secret",
        "X-Password",
        "passwd",
        "credential",
        "Ocp-Apim-Subscription-Key",
    ],
)
def test_names_of_secrets(name: str) -> None:
    """Their words tell, however they are joined."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["X-Team", "HTTP-Referer", "api-version", "x-portkey-provider", "X-Author", "OpenAI-Beta"],
)
def test_names_of_other_things(name: str) -> None:
    """What gateways ask for is no secret, also where a word of it holds one's letters."""
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "is_like_one"),
    [
        ("sk-private", True),
        ("x=4f9c1e774f9c1e774f9c1e77", True),
        ("4f9c1e77-aaaa-4f9c-8e77-4f9c1e774f9c", True),
        ("2024-08-01-preview", False),
        ("api_key", False),
        ("task-list", False),
        ("deployments", False),
    ],
)
def test_what_looks_like_a_key(text: str, *, is_like_one: bool) -> None:
    """A prefix that keys have, or a long run of letters and digits."""
    assert looks_like_a_key(text) is is_like_one


def test_a_header_holds_no_key() -> None:
    """Neither in its value nor in its name."""
    keys = (Secret("another"), Secret(KEY))
    refuse_keys(["X-Team", "a"], keys)
    for given in (["X-Team", f"Bearer {KEY}"], [KEY, "a"]):
        with pytest.raises(InputError, match="holds your API key") as caught:
            refuse_keys(given, keys)
        assert KEY not in str(caught.value)


def test_every_key_is_taken_out_of_a_text() -> None:
    """Also where one of them stands beside another."""
    shown = redacted(f"{KEY} and another-7", (Secret(KEY), Secret("another-7")))
    assert KEY not in shown
    assert "another-7" not in shown
    assert " and " in shown


@pytest.mark.parametrize(
    ("key", "is_quoted"),
    [("'k-1'", True), ('"k-1"', True), ("k-1", False), ("'k-1\"", False), ("k'1", False)],
)
def test_quotation_marks_around_a_key(key: str, *, is_quoted: bool) -> None:
    """As a file of variables may have them; within a key they are its own."""
    assert Secret(key).is_quoted is is_quoted
