"""What was meant: prompts that are only a command, and options that do not exist."""

from __future__ import annotations

import pytest

from chatmagic.conversation.request_facts import RequestFacts
from chatmagic.conversation.suggestions import (
    merged,
    mistaken_command,
    near,
    refuse_cell_comments,
    refuse_dividing,
)
from chatmagic.errors import InputError

NAMES = [
    f"chat_{name}"
    for name in (
        *("cassette", "connect", "credits", "history", "load", "login", "redo", "reset", "save"),
        "undo",
    )
]
FLAGS = ["-t", "--temperature", "-n", "--max-tokens", "--no-stream", "--stream", "--last"]


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("undo", "chat_undo"),
        ("  Undo ", "chat_undo"),
        ("history", "chat_history"),
        ("redo", "chat_redo"),
        ("RESET", "chat_reset"),
        ("credits", "chat_credits"),
        ("login", "chat_login"),
        ("connect", "chat_connect"),
        ("connect emulator", "chat_connect"),
        ("connect https://chat.example.org/v1", "chat_connect"),
        ("cassette talk.jsonl", "chat_cassette"),
        ("chat_cassette 'Talk.JSONL' --record", "chat_cassette"),
        ("cassette --off", "chat_cassette"),
        ("cassette paper.ipynb --else emulator", "chat_cassette"),
        ("save talk.json --force", "chat_save"),
        ("chat save ../notes/talk.md", "chat_save"),
        ("load paper.ipynb", "chat_load"),
        ("history 2", "chat_history"),
        ("history all", "chat_history"),
        ("login --forget", "chat_login"),
        ("credits --live", "chat_credits"),
        ("chat_undo", "chat_undo"),
        ("%chat_undo", "chat_undo"),
        ("chat undo", "chat_undo"),
        ("chat-undo", "chat_undo"),
        ("chat_histroy", "chat_history"),
        ("chat", None),
        ("", None),
        ("%", None),
        ("undo it", None),
        ("undo?", "chat_undo"),
        ("history of Rome", None),
        ("connect the dots", None),
        ("please connect emulator", None),
        ("emulator", None),
        ("chat_something_else", None),
        ("chat_histroy now", None),
        ("chat_undo x", None),
        ("histroy", None),
        ("load balancing explained", None),
        ("load data.json into a data frame", None),
        ("save energy", None),
        ("cassette", "chat_cassette"),
        ("connect https://chat.example.org --model a-b/c", "chat_connect"),
        ("connect --model", "chat_connect"),
        ("cassette --prune --yes", "chat_cassette"),
        ("load talk.json --force", "chat_load"),
        ("cassette tapes", None),
        ("cassette emulators", None),
        ("connect https://chat.example.org to my notebook", None),
        ("history all over the world", None),
        ("undo 2", "chat_undo"),
        ("undo 2 turns", None),
    ],
)
def test_a_command_typed_as_a_prompt_is_known(prompt: str, command: str | None) -> None:
    """A prompt that is only a command's name is caught; a sentence never is."""
    assert mistaken_command(prompt, NAMES) == command


@pytest.mark.parametrize(
    ("typed", "option"),
    [
        ("--temp", "--temperature"),
        ("--temprature", "--temperature"),
        ("--tokens", "--max-tokens"),
        ("-t", "-t"),
        ("--steam", "--stream"),
        ("--system", None),
        ("--list", None),
        ("-m", None),
        ("-x", None),
    ],
)
def test_only_what_is_near_is_offered(typed: str, option: str | None) -> None:
    """A beginning, a word of the name, or a slip of the fingers; not what only looks a bit so."""
    assert near(typed, FLAGS) == option


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("# NBVAL_IGNORE_OUTPUT\nWhy?", "# NBVAL_IGNORE_OUTPUT"),
        ("#NBVAL_SKIP", "#NBVAL_SKIP"),
        ("## NBVAL_SKIP", "## NBVAL_SKIP"),
        ("\n \n  # NBVAL_RAISES_EXCEPTION\n", "# NBVAL_RAISES_EXCEPTION"),
        ("# PYTEST_VALIDATE_IGNORE_OUTPUT", "# PYTEST_VALIDATE_IGNORE_OUTPUT"),
        ("#| echo: false\nWhy?", "#| echo: false"),
    ],
)
def test_a_comment_for_a_tool_is_not_sent(body: str, shown: str) -> None:
    """The message shows the comment; the hint names the tags, and how to send it."""
    with pytest.raises(InputError) as caught:
        refuse_cell_comments(body)
    assert caught.value.message == f"{shown} would be sent to the model. Nothing was sent."
    assert caught.value.hint is not None
    assert "nbval-" in caught.value.hint
    assert "--raw" in caught.value.hint


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        "# A heading\nWhy?",
        "Why?\n# NBVAL_SKIP",
        "What does # NBVAL_SKIP do?",
        "# What is NBVAL_SKIP?",
        "#include <stdio.h>",
        "# | a table |",
    ],
)
def test_any_other_body_is_sent(body: str) -> None:
    """A heading is a heading, and a question about a comment is a question."""
    refuse_cell_comments(body)


@pytest.mark.parametrize(
    ("source", "is_both"),
    [
        ("%chat_thread a", False),
        ("%chat_thread a\n%chat Why?", True),
        ("  %chat Why?\n  %chat_thread --fork 2 a", True),
        ("x = %chat Why?\n%chat_thread a", True),
        ("%chat_fix\n%chat_thread a", True),
        ("session.ask('Why?')\n%chat_thread a", True),
        ("%chat_thread a\n%chat", False),
        ("%chat_thread\n%chat Why?", False),
        ("%chat_thread a --delete\n%chat Why?", False),
        ("%%chat\n%chat_thread a\n%chat Why?", False),
    ],
)
def test_a_cell_that_divides_and_asks(source: str, *, is_both: bool) -> None:
    """Neither a list nor a deletion divides, and what is below %%chat is text."""
    if not is_both:
        refuse_dividing(source)
        return
    with pytest.raises(InputError, match="begins a thread asks nothing beside it"):
        refuse_dividing(source)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (RequestFacts("one\n\n%%chat\ntwo"), "%%chat"),
        (RequestFacts("one\n%chat_undo"), "%chat_undo"),
        (RequestFacts("one\n%chat two", typed="one\n{{ cell }}"), None),
        (RequestFacts("What does %%chat do?\n    %chat\n%chat-like\n%%chatter"), None),
        (RequestFacts("one\n%%chat\ntwo", entry="panel"), None),
        (RequestFacts("one\n%%chat\ntwo", entry="python"), None),
    ],
)
def test_a_command_within_a_prompt_is_told(asked: RequestFacts, named: str | None) -> None:
    """Where a page has merged two cells: the first such line, as typed in a cell."""
    note = f"a line with {named} is sent as text; split the cell if it is to run by itself"
    assert merged(asked) == ([note] if named else [])
