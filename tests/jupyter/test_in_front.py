"""What goes in front of a question: the last error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shells import Shell, asked

from chatmagic.conversation.blocks import ASKED_OF_AN_ERROR

if TYPE_CHECKING:
    from logged import Emulator


def test_the_last_error_goes_in_front(shell: Shell, emulator: Emulator) -> None:
    """With the source of its cell and its traceback; what was typed stays as it was typed."""
    shell.do("def half(x):\n    return x / 0")
    assert shell.run("half(1)  # {{ 1 + 1 }}").error is not None
    ran = shell.page("%chat_fix a number?", "cell")
    (prompt,) = asked(emulator)[-1]
    assert prompt == (
        "A cell of this notebook that raised an error:\n\n"
        "```python\nhalf(1)  # {{ 1 + 1 }}\n```\n\nThe error:\n\n```\n"
        "Traceback (most recent call last):\n"
        "  this cell, line 1\n    half(1)  # {{ 1 + 1 }}\n"
        "  another cell, line 2, in half\n    return x / 0\n"
        "ZeroDivisionError: division by zero\n```\n\n"
        f"{ASKED_OF_AN_ERROR} I wanted: a number?"
    )
    (record,) = ran.records
    assert record["prompt"] == f"{ASKED_OF_AN_ERROR} I wanted: a number?"
    assert record["parameters"] == {"with_error": True}
    (value,) = record["values"]
    assert (value["kind"], value["expression"]) == ("error", "ZeroDivisionError")
    assert "text" not in value
    live = ran.messages[0]["data"]["text/html"]
    assert f"in front of the question: error ZeroDivisionError ({value['size']} chara" in live
    assert "in front" not in ran.html


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("%chat_fix", ASKED_OF_AN_ERROR),
        ("r = %chat_fix", ASKED_OF_AN_ERROR),
        ("%%chat_fix\nx {{ 1 }}", f"{ASKED_OF_AN_ERROR} I wanted: x 1"),
        ("%%chat --error\n", ASKED_OF_AN_ERROR),
        ("%%chat --error\nWhy {x} {{ 1 }}?", "Why {x} 1?"),
        ("%chat --error", ASKED_OF_AN_ERROR),
        ("%chat --error --raw {{ x }}?", "{{ x }}?"),
    ],
)
def test_ways_to_ask_about_an_error(
    shell: Shell, emulator: Emulator, code: str, question: str
) -> None:
    """One mechanism, and no empty ``Out`` of it."""
    shell.run("x = )")
    assert "Out" not in shell.machine(code).printed
    (prompt,) = asked(emulator)[-1]
    assert prompt.endswith(f"SyntaxError: unmatched ')'\n```\n\n{question}")
    assert prompt.startswith("A cell of this notebook that raised an error:\n\n```python\nx = )\n")
