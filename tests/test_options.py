"""The line of the magics: options first, then the prompt byte for byte."""

from __future__ import annotations

import dataclasses
import keyword
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic import options
from chatmagic.errors import InputError
from chatmagic.options import COMMANDS, OPTIONS, Asked, parse

PLAIN = Asked(
    temperature=None,
    max_tokens=None,
    last=None,
    history=True,
    stream=True,
    output=None,
    raw=False,
    quiet=False,
    prompt="",
)
anything = st.text() | st.text("-=tnoqr 0.5{}'\"\\\t", max_size=30)


def refusal(line: str, defaults: dict[str, Any] | None = None) -> InputError:
    """Give the error that a line is refused with."""
    with pytest.raises(InputError) as caught:
        parse(line, defaults or {})
    error = caught.value
    assert "\n" not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    return error


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("", {}),
        (" \t ", {}),
        ("--", {}),
        ("-t 0.5", {"temperature": 0.5}),
        ("-t0.5", {"temperature": 0.5}),
        ("--temperature 1e-1", {"temperature": 0.1}),
        ("--temperature=0.5", {"temperature": 0.5}),
        ("-t -5", {"temperature": -5.0}),
        ("-n 200", {"max_tokens": 200}),
        ("--max-tokens=200", {"max_tokens": 200}),
        ("--last 0", {"last": 0}),
        ("--no-history", {"history": False}),
        ("--no-stream", {"stream": False}),
        ("-o reply", {"output": "reply"}),
        ("--output=_réponse2", {"output": "_réponse2"}),
        ("--raw", {"raw": True}),
        ("-q", {"quiet": True}),
        ("-qt0.5", {"quiet": True, "temperature": 0.5}),
        ("--quiet --no-quiet --raw --no-raw", {}),
        ("--no-history --history --no-stream --stream", {}),
        ("-t 1 -n 2 -t 3", {"temperature": 3.0, "max_tokens": 2}),
    ],
)
def test_every_option_sets_its_field(line: str, fields: dict[str, Any]) -> None:
    """Options are read as argparse reads them, and the prompt after them is whole."""
    assert parse(line) == dataclasses.replace(PLAIN, **fields)
    separator = "" if line.strip() == "--" else " "
    asked = parse(f"{line}{separator} why  not?")
    assert asked == dataclasses.replace(PLAIN, **fields, prompt="why  not?")


@pytest.mark.parametrize(
    "prompt",
    [
        "what does -o do in gcc?",
        "explain the -m flag of python",
        "explain --no-history",
        "Is {x} or $x or {{ x }} \\alpha?",
        "say 'it\"s",
        "two  spaces\tand a tab",
        "-5 + 3 = ?",
        "-5+3 -o 1 -t x",
        "-.5 is what?",
        "-",
        "- a list item",
        "---",
        "-> what is this?",
        "a -- b --",
        "\0 control",
    ],
)
def test_a_prompt_needs_no_quotes(prompt: str) -> None:
    """What is no option begins the prompt, whatever options follow in it."""
    assert parse(prompt) == dataclasses.replace(PLAIN, prompt=prompt)
    assert parse(f"  -q   {prompt}  ").prompt == prompt
    assert parse(f"-t -1 {prompt}") == dataclasses.replace(PLAIN, temperature=-1.0, prompt=prompt)


@given(anything)
def test_after_two_dashes_any_prompt_comes_back(text: str) -> None:
    """After ``--`` nothing is an option; only the white space around the prompt goes."""
    assert parse(f"-q -- {text}") == dataclasses.replace(PLAIN, quiet=True, prompt=text.strip())


@given(anything)
def test_any_line_is_read_or_refused(text: str) -> None:
    """Nothing but an InputError ever leaves, and a prompt is the end of the line."""
    try:
        asked = parse(text)
    except InputError:
        return
    assert text.rstrip().endswith(asked.prompt)


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong line is told by its exception alone, never by argparse."""
    refusal("--nothing")
    refusal("-t")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--temprature 0.5 hi", "--temprature is not an option: did you mean --temperature?"),
        ("--temprature=0.5 hi", "--temprature is not an option: did you mean --temperature?"),
        ("--temp 0.5", "--temp is not an option: did you mean --temperature?"),
        ("-T 0.5", "-T is not an option: did you mean -t?"),
        ("--Raw x", "--Raw is not an option: did you mean --raw?"),
        ("--nohistory x", "--nohistory is not an option: did you mean --no-history?"),
        ("-x y", "-x is not an option."),
        ("--help", "--help is not an option."),
        (f"--{'z' * 99}", f"--{'z' * 37}… is not an option."),
        ("-t", "-t/--temperature takes a finite number; there is none."),
        ("-t -- 3", "-t/--temperature takes a finite number; there is none."),
        ("-t warm hi", "-t/--temperature takes a finite number, not 'warm'."),
        ("-t nan", "-t/--temperature takes a finite number, not 'nan'."),
        ("-t=1e999", "-t/--temperature takes a finite number, not '1e999'."),
        ("-n 1.5", "-n/--max-tokens takes a whole number, not '1.5'."),
        (f"-n {'9' * 5000}", f"-n/--max-tokens takes a whole number, not '{'9' * 39}…'."),
        ("--last -1", "--last takes a whole number, 0 or more, not '-1'."),
        ("--last x", "--last takes a whole number, 0 or more, not 'x'."),
        ("--last", "--last takes a whole number, 0 or more; there is none."),
        ("-o 2x", "-o/--output takes the name of a variable, not '2x'."),
        ("-o a.b", "-o/--output takes the name of a variable, not 'a.b'."),
        ("-o ->", "-o/--output takes the name of a variable, not '->'."),
        ("-o -q", "-o/--output takes the name of a variable; there is none."),
        ("--raw=yes", "--raw takes no value."),
        ("--no-raw=yes", "--no-raw takes no value."),
    ],
)
def test_a_wrong_option_is_told_in_one_line(line: str, message: str) -> None:
    """The message names what is wrong and the nearest right thing, and the hint the way out."""
    error = refusal(line)
    assert error.message == message
    assert error.hint == options._HINT


@pytest.mark.parametrize("word", [*keyword.kwlist, "a-b", "", "é!"])
def test_an_output_is_a_name_that_python_takes(word: str) -> None:
    """No keyword, and nothing that could not be typed as a variable."""
    assert "the name of a variable" in refusal(f"--output={word}").message


def test_an_output_is_found_under_the_name_as_python_reads_it() -> None:
    """Python folds a ligature in a name, so the variable must be folded too."""
    assert parse("-o \ufb01 x").output == "fi"


def test_configured_defaults_hold_until_the_line_says_otherwise() -> None:
    """Each trait is the default of its option, and each switch can be taken back."""
    configured = {
        "temperature": 0.2,
        "max_tokens": 9,
        "last": 3,
        "no_history": True,
        "no_stream": True,
        "raw": True,
        "quiet": True,
        "output": "never",
        "stream": "auto",
    }
    assert parse("x", configured) == Asked(0.2, 9, 3, False, False, None, True, True, "x")
    back = "-t 1 -n 2 --last 0 --history --stream --no-raw --no-quiet x"
    assert parse(back, configured) == Asked(1.0, 2, 0, True, True, None, False, False, "x")
    assert parse("x", {"no_history": False, "quiet": False}) == parse("x")


def test_the_table_is_whole() -> None:
    """Every option sets a field, has its trait, and every switch can be taken back."""
    fields = {field.name for field in dataclasses.fields(Asked)} - {"prompt"}
    assert {option.dest for option in OPTIONS} == fields
    assert [option.trait for option in OPTIONS] == [
        "temperature",
        "max_tokens",
        "last",
        "no_history",
        "no_stream",
        None,
        "raw",
        "quiet",
    ]
    assert all((option.kind is None) == (option.opposite is not None) for option in OPTIONS)
    assert all((option.kind is None) == (option.metavar is None) for option in OPTIONS)


def test_help_and_readme_come_from_the_table() -> None:
    """Every option stands in both, with its words; the examples stand in the help as given."""
    text = options.usage(["%%chat -t 0\nWhy?\n\nReally?", "%chat And now?"])
    table = options.markdown_table().splitlines()
    assert len(table) == len(OPTIONS) + 2
    assert {line.count("|") for line in table} == {4}
    for option, row in zip(OPTIONS, table[2:], strict=True):
        assert option.spelling in text
        assert option.help in text
        assert f"`{option.spelling}`" in row
        assert option.default in row
        assert option.trait is None or f"`ChatMagics.{option.trait}`" in row
        assert option.opposite is None or (option.opposite in text and option.opposite in row)
    assert "\n\n    %%chat -t 0\n    Why?\n    \n    Really?\n\n    %chat And now?" in text
    assert options.usage() == text[: text.index("\n\n    %%chat -t 0")]
    assert max(map(len, text.splitlines())) <= 88


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
        ("cassette tapes", None),
        ("cassette emulators", None),
        ("connect https://chat.example.org to my notebook", None),
        ("history all over the world", None),
        ("undo 2", None),
    ],
)
def test_a_command_typed_as_a_prompt_is_known(prompt: str, command: str | None) -> None:
    """A prompt that is only a command's name is caught; a sentence never is."""
    assert options.mistaken_command(prompt) == command
    assert command is None or command in COMMANDS
