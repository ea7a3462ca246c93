"""Secrets of the environment, and known kinds of secrets, in a text."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cases import each_case

from chatmagic.protocol import secret_scanner
from chatmagic.protocol.secret_scanner import (
    KINDS_BY_PLACE,
    KINDS_BY_SHAPE,
    SecretKind,
    secret_in,
    secret_kinds_in,
    secret_variables,
)

VALUE = "tr0ub4dor&staple"
ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = tomllib.loads(
    Path(secret_scanner.__file__).with_suffix(".toml").read_text("utf-8")
)
SAMPLES: dict[str, Any] = tomllib.loads(
    (ROOT / "tests" / "samples" / "secret_kinds.toml").read_text("utf-8")
)


class Alphabet(str):
    """Characters of a key, of which ``format`` takes as many as it is asked for."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """Return the first characters, again from the beginning where there are not enough."""
        return (self * (int(spec) // len(self) + 1))[: int(spec)]


ALPHABETS = {
    "an": Alphabet("aB3dE6gH9kL2nP5rS8tU1wX4zA7cF0jM3oQ6vY9bD2eG5hK8mN1pR4sT"),
    "lower": Alphabet("a3k9z2m7q5h1r8t4"),
    "up": Alphabet("A3K9Z2M7Q5H1R8T4"),
    "hex": Alphabet("9f2b7c04e1d86a35"),
    "dig": Alphabet("7204915386"),
    "base58": Alphabet("Q3kZ9mT7vR5xW2bN"),
    "bech32": Alphabet("q3k9z2m7x5w8r4t6"),
    "uuid": "9f2b7c04-e1d8-4a35-8f2b-7c04e1d86a35",
    "pw": "Xk29-vv1qT",
}
"""What the samples are filled with, so that no file holds a key."""


def filled(sample: str) -> str:
    """Return a sample with letters and digits in place of the names of alphabets."""
    return sample.format(**ALPHABETS)


def keys() -> list[tuple[str, str]]:
    """Return the start, or the name of the place, and a text with a key of it."""
    listed = [(start, key) for start, (key, _) in SAMPLES["shape"].items()]
    listed += [(name, key) for name, row in SAMPLES["place"].items() for key in row["keys"]]
    return [(known_by, filled(key)) for known_by, key in listed]


def words() -> list[str]:
    """Return the texts without a secret."""
    listed: list[str] = [word for _, word in SAMPLES["shape"].values()] + SAMPLES["more"]["words"]
    return listed + [word for row in SAMPLES["place"].values() for word in row["words"]]


def kind_of(known_by: str) -> list[SecretKind]:
    """Return the kinds with a start, or the kind with the name of a place."""
    places = [kind for kind in KINDS_BY_PLACE if kind.name == known_by]
    return places or [kind for kind in KINDS_BY_SHAPE if kind.marks == (known_by.lower(),)]


@each_case(
    "name",
    [
        *("DB_PASSWORD", "PGPASSWORD", "MY_SECRET", "OPENAI_API_KEY", "my-token", "X_PASSWD_2"),
        *("SMTP_PASS", "SSHPASS", "MYSQL_PWD", "PASSPHRASE", "GPG_PASSPHRASE", "DB_PASSWORD1"),
        *("GITHUB_PAT", "API_KEYS", "AWS_CREDENTIALS"),
    ],
)
def test_a_secret_is_known_by_a_part_of_its_name(name: str) -> None:
    """Its value is found in a text, also as JSON, Python, a URL or a table quotes it."""
    value = f"{VALUE}\"|'\\"
    variables = secret_variables({name: f" {value}\n", "HOME": "/home/ann12345"})
    assert [variable.name for variable in variables] == [name]
    assert VALUE not in repr(variables)
    words = f"the value of the environment variable {name}"
    table = f"| {value} |".replace("|", "\\|")
    url = "https://a/tr0ub4dor%26staple%22%7C%27%5C"
    for text in (f"a {value} b", json.dumps({"x": value}), repr(value), table, url):
        assert secret_in(text, variables) == words
    assert secret_in(f"a {VALUE[:-1]} b", variables) is None


@pytest.mark.parametrize("name", ["MYSQL_PWD", "SMTP_PASS", "PASSPHRASE"])
def test_a_password_is_shorter_than_a_key_or_made_of_words(name: str) -> None:
    """A number or one word is no password, as any text may hold it."""
    for value in ("hunter2x", "correct horse battery staple"):
        variables = secret_variables({name: value})
        assert secret_in(f"-p {value}", variables) is not None
        assert secret_variables({"A_KEY": value}) == ()
    for value in ("hunter2", "20240101", "administratorpassword", "change-me"):
        assert secret_variables({name: value}) == ()


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("postgres://app:tr0ub4dor@localhost:5432/x", "tr0ub4dor"),
        ("postgres://app:tr0ub4d%40r@db/x", "tr0ub4d@r"),
        ("postgres://app:tr0ub4d%40r@db/x", "tr0ub4d%40r"),
        ("amqp://a:t1r2a3p4@b;amqp://a:tr0ub4dor@c", "tr0ub4dor"),
        ("http://ann:tr0ub4dor@proxy:3128", "tr0ub4dor"),
        ("Server=db;Uid=sa;Pwd=tr0ub4dor;", "tr0ub4dor"),
        ("https://corp.net/x?token=tr0ub4dor99", "tr0ub4dor99"),
    ],
)
def test_a_secret_within_the_value_of_a_variable_is_known(value: str, secret: str) -> None:
    """Whatever the variable's name."""
    for name in ("DATABASE_URL", "WHATEVER", "A_KEY"):
        variables = secret_variables({name: value})
        place = f"a part of the value of the environment variable {name}"
        assert secret_in(f"it is {secret}.", variables) == place
        assert secret not in repr(variables)


def test_what_stands_for_a_password_in_a_variable_is_none() -> None:
    """It is a word of each text."""
    for word in ("user:password@", "user:hunter@", "user:short@", "user@", ""):
        value = f"postgres://{word}localhost:5432/x"
        assert secret_variables({"DATABASE_URL": value}) == ()


@each_case(
    ("name", "value"),
    [
        ("KEYBOARD", VALUE),
        ("TOKENIZERS_PARALLELISM", VALUE),
        ("USER", VALUE),
        ("PWD", "C/projects-2024"),
        ("OLDPWD", "projects-2024"),
        ("BYPASS", VALUE),
        ("COMPASS", VALUE),
        ("A_KEY", "short1"),
        ("A_KEY", "1234567890123"),
        ("A_KEY", "only-letters-here"),
        ("KEY", "/home/ann/keys/id_1.pem"),
        ("KEY", "~/keys/id_1.pem"),
        ("KEY", "keys/ann-2024.pem"),
        ("KEY", r"C:\Users\ann\key1.pem"),
        ("TOKEN", "https://login.example.org/oauth2/token"),
        ("TOKEN", "ann1@login.example.org"),
        ("SECRET_KEY", "redis1.example.org:6379"),
        ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D"),
        ("KEY_FINGERPRINT", "4f9c1e77aa01bb02"),
        ("MY_PUBLIC_KEY", "MCowBQYDK2VwAyEA1234"),
        ("HOST_KEY", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"),
    ],
)
def test_what_is_no_secret(name: str, value: str) -> None:
    """Neither another name, nor a path, an address or what is public."""
    assert secret_variables({name: value}) == ()


def test_each_kind_has_samples() -> None:
    """Each start of a key, and each place of a secret."""
    assert {start for row in TABLE["shape"] for start in row["starts"]} == {*SAMPLES["shape"]}
    assert {row["name"] for row in TABLE["place"]} == {*SAMPLES["place"]}


@each_case(("known_by", "text"), keys())
def test_a_secret_of_each_kind_is_known(known_by: str, text: str) -> None:
    """Wherever it stands, but for a key within a word; also quoted by JSON or a URL."""
    names = {kind.name for kind in kind_of(known_by)}
    assert names & {*secret_kinds_in(text)}
    assert names & {*secret_kinds_in(f"key='{text}', {text}.")}
    assert secret_in(f"a {text} b") in {f"a text that looks like {name}" for name in names}
    if known_by in SAMPLES["shape"]:
        for noise in ("a", "Z9", "_", "-"):
            at = text.index(known_by)
            assert not names & {*secret_kinds_in(f"{text[:at]}{noise}{text[at:]}")}
        for before in ("%3D", "\\n", "- - ", "_ _ "):
            assert names & {*secret_kinds_in(before + text)}


@each_case("sample", SAMPLES["more"]["keys"])
def test_other_lengths_of_a_kind_are_known(sample: str) -> None:
    """An issuer has had more than one."""
    assert secret_in(f"key: {filled(sample)}") is not None


@each_case("sample", words())
def test_words_of_code_and_prose_are_no_secrets(sample: str) -> None:
    """Nor is what stands for a secret in manuals."""
    text = filled(sample)
    assert secret_kinds_in(f"see '{text}' and {text}") == []
    assert secret_in(text) is None


def test_the_texts_of_this_project_hold_no_secret() -> None:
    """Its code, its manual and its lessons, which speak of keys on each page."""
    texts = [
        path.read_text("utf-8")
        for folder in ("chatmagic", "notebooks", ".github")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".ipynb", ".js", ".jsonl", ".toml", ".yml"}
    ]
    assert len(texts) > 200
    assert [*filter(None, map(secret_in, texts))] == []


@each_case("known_by", [*SAMPLES["shape"], *SAMPLES["place"]])
def test_the_search_is_linear(known_by: str) -> None:
    """A text that begins a secret again and again; a quadratic search of it takes minutes."""
    for kind in kind_of(known_by):
        for end in ("", "a1"):
            begun = (known_by if kind in KINDS_BY_SHAPE else kind.marks[0]) + end
            assert len([*kind.secrets_in(begun * (100_000 // len(begun)))]) < 100_000
