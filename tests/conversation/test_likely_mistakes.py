"""What was meant, where a question would be sent that nobody meant to send."""

from __future__ import annotations

import pytest
from cases import each_case

from chatmagic.conversation import likely_mistakes
from chatmagic.conversation.likely_mistakes import (
    merged_cell_notes,
    mistaken_command,
    placeholder_notes,
    refuse_cell_comments,
    refuse_thread_and_ask,
)
from chatmagic.conversation.magic_line import parse_line
from chatmagic.errors import InputError


@pytest.mark.parametrize(
    ("line", "setting", "way"),
    [
        ("--system x", "", "%%chat_instructions gives instructions"),
        ("--top-p 0.9 x", "", '%config ChatMagics.extra_body = {"top_p": VALUE} sends it'),
        ("--Seed=3 x", "", '{"seed": VALUE}'),
        ("--image a.png x", "", "Only text is sent"),
        ("--fit x", ": fit is a setting", "%config ChatMagics.fit = VALUE sets it."),
    ],
)
def test_what_is_no_option_here_leads_to_what_does_it(line: str, setting: str, way: str) -> None:
    """An option of another client, or a setting; or it is said why nothing does it."""
    with pytest.raises(InputError) as raised:
        parse_line(line, {"fit": False})
    error = raised.value
    option = line.replace("=", " ").split()[0]
    assert error.message == f"{option} is not an option{setting}. Nothing was sent."
    assert way in error.hint_at("notebook")


TYPED = {
    "undo": ["undo", "  Undo ", "undo?", "chat_undo", "%chat_undo", "chat-undo", "undo 2"],
    "history": ["history", "history 2", "history all"],
    "connect": [
        *("connect", "connect emulator", "connect https://chat.example.org/v1"),
        *("connect https://chat.example.org --model a-b/c", "connect --model"),
    ],
    "cassette": [
        *("cassette", "cassette talk.jsonl", "chat_cassette 'Talk.JSONL' --record"),
        *("cassette --off", "cassette paper.ipynb --else emulator", "cassette --prune --yes"),
    ],
    "save": ["save talk.json --force", "chat save ../notes/talk.md"],
    "load": ["load paper.ipynb", "load talk.json --force"],
    "login": ["login --forget"],
    "": [
        *("chat", "", "%", "undo it", "undo 2 turns", "history of Rome", "connect the dots"),
        *("please connect emulator", "emulator", "chat_something_else", "chat_histroy"),
        *("chat_undo x", "histroy", "load balancing explained", "load data.json into a frame"),
        *("save energy", "cassette tapes", "cassette emulators", "history all over the world"),
        "connect https://chat.example.org to my notebook",
    ],
}
"""What is typed for each command, and for none."""
NAMES = [f"chat_{name}" for name in TYPED if name]


@each_case("command", TYPED)
def test_a_command_typed_as_a_prompt_is_known(command: str) -> None:
    """A prompt that is only a command's name is caught; a sentence never is."""
    meant = {mistaken_command(prompt, NAMES) for prompt in TYPED[command]}
    assert meant == {f"chat_{command}" if command else None}


@pytest.mark.parametrize(
    "shown",
    ["# NBVAL_IGNORE_OUTPUT", "## NBVAL_SKIP", "#| echo: false", "# PYTEST_VALIDATE_IGNORE_OUTPUT"],
)
def test_a_comment_for_a_tool_is_not_sent(shown: str) -> None:
    """The message shows the comment; the hint names the tags, and how to send it."""
    with pytest.raises(InputError) as caught:
        refuse_cell_comments(f"\n \n  {shown}\nWhy?")
    assert caught.value.message == f"{shown} would be sent to the model. Nothing was sent."
    assert "nbval-skip); --raw sends it." in (caught.value.hint or "")
    for line in ("# A heading", f"What does {shown} do?", "#include <stdio.h>", "# | a table |"):
        refuse_cell_comments(f"{line}\n# NBVAL_SKIP")


@each_case(
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
        refuse_thread_and_ask(source)
        return
    with pytest.raises(InputError, match="begins a thread asks nothing beside it"):
        refuse_thread_and_ask(source)


@pytest.mark.parametrize(
    ("prompt", "named"),
    [
        ("one\n\n%%chat\ntwo", "%%chat"),
        ("one\n%chat_undo", "%chat_undo"),
        ("What does %%chat do?\n    %chat\n%chat-like\n%%chatter", None),
    ],
)
def test_a_command_within_a_prompt_is_told(prompt: str, named: str | None) -> None:
    """Where a page has merged two cells: the first such line."""
    note = f"a line with {named} is sent as text; split the cell if it is to run by itself"
    assert merged_cell_notes(prompt) == ([note] if named else [])


def test_a_variable_of_another_template_language_is_told() -> None:
    """With the form that puts its value in."""
    for typed in ("{x}", "$x"):
        (note,) = placeholder_notes(typed)
        assert note == f"{typed} is sent as typed; {{{{ x }}}} puts the value in"
    assert placeholder_notes(None) == []


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("\N{EN DASH}m gpt-4o hello", "-m"),
        ("\N{EM DASH}model gpt-4o", "--model"),
        ("-q \N{EN DASH}\N{EN DASH}No-History hello", "--no-history"),
        ("\N{MINUS SIGN}t 0", "-t"),
    ],
)
def test_another_dash_before_an_option_is_no_prompt(line: str, flag: str) -> None:
    """Word processors put them for a minus sign."""
    with pytest.raises(InputError, match="is not that of an option") as raised:
        parse_line(line)
    assert (raised.value.hint or "").startswith(f"Type {flag} with")


@pytest.mark.parametrize(
    "line", ["\N{EM DASH}what is this dash?", "-- \N{EN DASH}m is a mass", "a \N{EN DASH}m"]
)
def test_another_dash_before_a_word_is_a_prompt(line: str) -> None:
    """Also behind ``--``, and in the middle of it."""
    assert parse_line(line).prompt == line.removeprefix("-- ")


@each_case(
    ("typed", "model"),
    [
        ("gpt-4o", "gpt-4o"),
        ("openai-chat:gpt-4o -f code", "openai-chat:gpt-4o"),
        ("anthropic/claude-sonnet-4", "anthropic/claude-sonnet-4"),
        ("ollama:llama3.2", "ollama:llama3.2"),
        ("qwen3:0.6b", "qwen3:0.6b"),
        ("claude-opus", "claude-opus"),
        ("o3-mini", "o3-mini"),
        ("my-tune", "my-tune"),
        ("gpt-4o is a model?", None),
        ("command", None),
        ("Hello", None),
        ("1+1", None),
        ("", None),
    ],
)
def test_the_name_of_a_model_is_recognized(typed: str, model: str | None) -> None:
    """By its family, its provider, or the server's own list; with nothing but options behind."""
    assert likely_mistakes.named_model(typed, ("my-tune",)) == model


@pytest.mark.parametrize(
    ("line", "body", "is_help"),
    [("Help?", None, True), ("help", " \n", True), ("help", "me", False), ("help me", None, False)],
)
def test_a_line_that_is_only_the_word_help(line: str, body: str | None, *, is_help: bool) -> None:
    """It asks for the help, and not the model."""
    assert likely_mistakes.is_only_help(line, body) is is_help
