"""Secrets of the environment, and shapes of keys, in a text."""

from __future__ import annotations

import json

import pytest

from chatmagic.protocol.secret_scanner import KEY_SHAPES, key_shapes_in, secret_in, secret_variables

VALUE = "tr0ub4dor&staple"
LETTERS = "aB3dE6gH9kL2nP5rS8tU1wX4zA7cF0jM3oQ6vY9bD2eG5hK8mN1pR4sT"


@pytest.mark.parametrize(
    "name", ["DB_PASSWORD", "PGPASSWORD", "MY_SECRET", "OPENAI_API_KEY", "my-token", "X_PASSWD_2"]
)
def test_a_secret_is_known_by_a_part_of_its_name(name: str) -> None:
    """Its value is found in a text, also as JSON, Python or a table quotes it."""
    value = f"{VALUE}\"|'\\"
    variables = secret_variables({name: f" {value}\n", "HOME": "/home/ann12345"})
    assert [variable.name for variable in variables] == [name]
    assert VALUE not in repr(variables)
    words = f"the value of the environment variable {name}"
    table = f"| {value} |".replace("|", "\\|")
    for text in (f"a {value} b", json.dumps({"x": value}), repr(value), table):
        assert secret_in(text, variables) == words
    assert secret_in(f"a {VALUE[:-1]} b", variables) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KEYBOARD", VALUE),
        ("TOKENIZERS_PARALLELISM", VALUE),
        ("USER", VALUE),
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


def test_each_shape_of_a_key_is_known() -> None:
    """Wherever it stands, but for within a word; what only stands for a key is none."""
    samples = {
        "sk-": f"sk-proj-{LETTERS[:30]}",
        "A[KS]IA": "AKIA1234567ABCDEFGH2",
        "gh[oprsu]_": f"ghp_{LETTERS[:36]}",
        "github_pat_": f"github_pat_{LETTERS[:30]}",
        "glpat-": f"glpat-{LETTERS[:20]}",
        "AIza": f"AIza{LETTERS[:35]}",
        "gsk_": f"gsk_{LETTERS[:45]}",
        "hf_": f"hf_{LETTERS[:34]}",
        "npm_": f"npm_{LETTERS[:36]}",
        "pypi-": f"pypi-{LETTERS[:52]}",
        r"SG\.": f"SG.{LETTERS[:22]}.{LETTERS[:43]}",
        "xox[abeoprs]-": f"xoxb-{LETTERS[:24]}",
        "sk_": f"sk_live_{LETTERS[:24]}",
        "rk_": f"rk_test_{LETTERS[:24]}",
        "eyJ": f"eyJ{LETTERS[:20]}.eyJ{LETTERS[:30]}.{LETTERS[:43]}",
        "-----BEGIN ": "-----BEGIN RSA PRIVATE KEY-----",
    }
    assert [begin for _, begin, _ in KEY_SHAPES] == [*samples]
    for (name, begin, _), key in zip(KEY_SHAPES, samples.values(), strict=True):
        assert secret_in(f"key='{key}'.") == f"a text that looks like {name}", begin
        assert key_shapes_in(f"{key} and {key}") == [name]
        assert key_shapes_in(f"a{key}") == []
        # A character by which some beginning is searched for may stand anywhere before it.
        for noise in ("_ - J z G I", "sk gh xox eyI AIz A_IA SG pypi", "-" * 9, "_" * 9):
            assert key_shapes_in(f"{noise} {key} {noise}") == [name]
            assert key_shapes_in(noise) == []
    for text in ("AKIAIOSFODNN7EXAMPLE", f"sk-{'x' * 30}", "sk-learn", "sk-your-key-here-please-1"):
        assert secret_in(text) is None
