"""The lines of the commands: words, and options wherever they stand."""

from __future__ import annotations

import pytest

from chatmagic.errors import InputError
from chatmagic.jupyter.command_line import read, refuse_words


@pytest.mark.parametrize(
    ("line", "words", "options"),
    [
        ("", "", {}),
        (" my talk.json ", "my talk.json", {}),
        ("--all talk.json", "talk.json", {"--all": ""}),
        ("talk.json --all", "talk.json", {"--all": ""}),
        ("'my talk.json' --all", "my talk.json", {"--all": ""}),
        ("a--b.json -x", "a--b.json -x", {}),
        ("url --name=x", "url", {"--name": "x"}),
        ("--name  x url", "url", {"--name": "x"}),
        ("url --name", "url", {"--name": ""}),
    ],
)
def test_a_line_is_read(line: str, words: str, options: dict[str, str]) -> None:
    """Options stand before or behind the words; words may stand in quotes."""
    assert read("chat_x", line, "--all", valued=["--name"]) == (words, options)


@pytest.mark.parametrize("line", ["--key=sk-secret-1", "file --sk-secret-1", "--all=sk-secret-1"])
def test_another_option_is_refused_and_not_repeated(line: str) -> None:
    """It might be a key."""
    with pytest.raises(InputError, match="no other option here than --all, --name") as caught:
        read("chat_x", line, "--all", valued=["--name"])
    assert "sk-" not in str(caught.value)
    assert caught.value.hint == "%chat_x? shows its help."
    with pytest.raises(InputError) as caught:
        read("chat_x", line, "--all", hint="so")
    assert caught.value.hint == "so"


def test_words_are_refused() -> None:
    """Of a magic that takes none."""
    refuse_words("chat_x", " ")
    with pytest.raises(InputError, match="%chat_x takes nothing after its name"):
        refuse_words("chat_x", "y")
