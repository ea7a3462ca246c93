"""Whatever the value: it comes back as it went, or is refused by an error of ours."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from environments import resolved_in_client, resolved_in_kernel
from hypothesis import assume, example, given
from hypothesis import strategies as st

from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import ChatError, InputError
from chatmagic.models import Credits, Message, Reply, Usage
from chatmagic.protocol import url as address
from chatmagic.protocol.api_key import Secret
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.reply_builder import ReplyBuilder
from chatmagic.protocol.request import OWN_FIELDS, Request
from chatmagic.protocol.response_errors import AnswerFacts, error_from_response
from chatmagic.safe_text import one_line, without_lone_surrogates

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)
NAMES = st.none() | st.text(min_size=1, max_size=8)
COUNTS = st.none() | st.integers(0, 10**15)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # What reads JSON joins two halves of a character; so the texts here have no halves.
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS).filter(lambda usage: usage != Usage())
CREDITS = st.builds(Credits, COUNTS, COUNTS, COUNTS, st.none() | TIMES, TIMES)
REPLIES = st.builds(
    Reply,
    text=TEXTS,
    model=NAMES,
    finish_reason=NAMES,
    usage=st.none() | USAGES,
    credits=st.none() | CREDITS,
    state=st.sampled_from(["complete", "interrupted", "cut off"]),
    date=st.none() | TIMES,
)
# Long enough to be a secret; of the characters that URLs, HTML and JSON write otherwise, too.
KEYS = st.text(st.sampled_from("abXY09-_./+=%&\"'<>\\"), min_size=8, max_size=24).map(
    lambda text: f"sk{text}"
)


@given(
    texts=st.lists(st.text(), min_size=1, max_size=4),
    stream=st.booleans(),
    max_tokens=st.none() | st.integers(),
    temperature=st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    extra=st.dictionaries(st.text(max_size=6), JSON, max_size=3),
)
def test_a_request_comes_back(
    texts: list[str],
    stream: bool,
    max_tokens: int | None,
    temperature: float | None,
    extra: dict[str, Any],
) -> None:
    """The service reads from the bytes what was asked, and its digest is the same."""
    assume(not OWN_FIELDS & set(extra))
    messages = tuple(Message("user", text) for text in texts)
    asked = Request(messages, stream, max_tokens, temperature, extra)
    read = Request.from_json(json.loads(asked.encode()))
    assert read == asked
    assert read.digest() == asked.digest()


HALVES = st.text(st.sampled_from("a\ud83d\ude00"), max_size=12)


@given(text=TEXTS | HALVES, cuts=st.lists(st.integers(0, 12), max_size=6))
def test_chunks_never_change_a_text(text: str, cuts: list[int]) -> None:
    """However a text is spread over chunks, in the middle of a pair too, it is the same."""
    assembly = ReplyBuilder()
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    shown = "".join([*(assembly.add(Chunk(piece)) for piece in pieces), assembly.rest()])
    assert shown == assembly.text == without_lone_surrogates(text)


# --- Credits ------------------------------------------------------------------------------

FIGURES = st.sampled_from(["100", "87", "0", "-1", "1e9", "1767312000", "2026-01-02T00:00:00Z"])
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            ["X-RateLimit-Limit", "x-ratelimit-remaining", "X-RATELIMIT-RESET", "date", "X"]
        ),
        FIGURES | TEXTS | st.just("Thu, 01 Jan 2026 09:30:00 GMT"),
    ),
    max_size=6,
)


# --- Errors -------------------------------------------------------------------------------


@given(
    key=KEYS,
    status=st.integers(200, 599),
    headers=HEADERS.map(lambda pairs: [("Location", value) for _, value in pairs] + pairs),
    around=st.tuples(TEXTS, TEXTS),
    form=st.sampled_from(["plain", "json", "nested", "html"]),
    quoted=st.booleans(),
)
@example(
    key="sk-abcdefgh",
    status=302,
    headers=[("Location", "https://sk-abcdefgh.example/")],
    around=("", ""),
    form="plain",
    quoted=False,
)
def test_no_refusal_tells_the_key(  # noqa: PLR0917 - hypothesis gives them by name
    key: str,
    status: int,
    headers: list[tuple[str, str]],
    around: tuple[str, str],
    form: str,
    quoted: bool,
) -> None:
    """Wherever a server puts the key that it was sent, no error repeats it."""
    secret = Secret(key)
    said = key.join(around) if not quoted else quote(key, safe="").join(around)
    value: object = said if form == "json" else {"error": {"message": said, "type": said}}
    text = {"plain": said, "html": f"<title>{said}</title>"}.get(form) or json.dumps(value)
    line = str(
        error_from_response(
            AnswerFacts(status, headers, NOW, (secret,)), text.encode("utf-8", "surrogatepass")
        )
    )
    assert one_line(line, len(line)) == line
    assert not secret.is_in(line)
    assert quote(key, safe="") not in line


@given(key=KEYS, parts=st.lists(TEXTS, min_size=2, max_size=4))
def test_a_key_is_taken_out_of_any_text(key: str, parts: list[str]) -> None:
    """Wherever it stands, and nothing else is touched."""
    secret = Secret(key)
    assume(not any(secret.is_in(part) for part in [*parts, "".join(parts)]))
    text = key.join(parts)
    assert secret.is_in(text)
    assert not secret.is_in(secret.redact(text))
    assert key not in f"{secret!r}{secret}{[secret]}"


# --- Settings -----------------------------------------------------------------------------

PIECES = st.sampled_from(
    """http https ftp :// : / // /// @ ? # [ ] [::1] [fe80::1%eth0] % %2f %40 .. . \\ host example
    localhost 127.0.0.1 0x7f.1 ::ffff:127.0.0.1 :0 :80 :443 :65536 :-1 :٣ é ß xn-- user:secret-pw
    /v1 /v1/chat/completions ?key=secret-pw #x . ; , & = + ~ * ' " < > | ^ ` { } \u3002 \uff0e
    \u2100 \ud800 \x00 \x7f emulator""".split()  # noqa: SIM905 - a word a line would be a page
) | st.sampled_from([" ", "\t", "\n", "\u00a0"])
ADDRESSES = st.one_of(
    TEXTS,
    st.lists(PIECES, max_size=8).map("".join),
    st.lists(PIECES, max_size=6).map(lambda parts: "".join(["https://", *parts])),
    st.lists(PIECES, max_size=5).map(lambda parts: "".join(["http://example.org", *parts])),
)


@given(url=ADDRESSES)
@example(url="http://[::1]:8000/v1/")
@example(url="http://<")
@example(url="http://a..")
@example(url="HTTPS://Example.org.:443/v1/chat/completions/")
def test_any_address_is_read_in_one_way_or_refused(url: str) -> None:
    """Its origin is that of where a request goes, for two readers, and asking again is the same."""
    try:
        origin, endpoint = address.origin(url), address.request_url(url)
    except InputError as error:
        line = str(error)
    else:
        line = ""
        _check_address(url, origin, endpoint)
    assert line == "" or line.isprintable()
    assert "secret-pw" not in line


def _check_address(url: str, origin: str, endpoint: str) -> None:
    assert urlsplit(endpoint).username is None
    assert address.origin(endpoint) == address.origin(origin) == origin
    assert address.request_url(endpoint) == endpoint
    assert address.is_loopback(endpoint) == address.is_loopback(url)
    assert not any("secret-pw" in str(line) for line in address.usable_url(url)[1])
    assert address.usable_url(endpoint)[1] == address.usable_url(origin)[1]
    sent_to = str(requests.Request("POST", endpoint).prepare().url)
    assert address.origin(sent_to) == origin


WORDS = st.none() | ADDRESSES | KEYS | st.sampled_from(["bearer", "none", "emulator", " "])


@given(
    environ=st.dictionaries(
        st.sampled_from(["CHATMAGIC_BASE_URL", "CHATMAGIC_API_KEY", "CHATMAGIC_AUTH"]),
        WORDS.filter(lambda word: word is not None),
    ),
    addresses=st.tuples(WORDS, WORDS, WORDS),
    auth=WORDS,
    key=WORDS,
)
def test_any_settings_give_a_connection_or_an_error(
    environ: dict[str, str],
    addresses: tuple[str | None, str | None, str | None],
    auth: str | None,
    key: str | None,
) -> None:
    """Whatever is set where, it is used or refused in a line that does not repeat it."""
    chosen, cell, file = addresses
    given_as: dict[str, Any] = {"chosen": chosen, "cell_config": cell, "file_config": file}
    found_by: list[Callable[[], Endpoint]] = [
        lambda: resolved_in_kernel(environ, auth_config=auth, **given_as),
        lambda: resolved_in_client(environ, chosen, key, auth),
    ]
    for find in found_by:
        try:
            line = repr(find())
        except ChatError as error:
            line = str(error)
        assert line.isprintable()
        for word in (environ.get("CHATMAGIC_API_KEY"), key):
            # Only a word that begins as the keys here do is nothing else too, such as the address.
            assert word is None or not word.startswith("sk") or word not in line
