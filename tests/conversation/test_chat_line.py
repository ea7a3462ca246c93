"""The line of the magics: options first, then the prompt byte for byte."""

from __future__ import annotations

import dataclasses
import keyword
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.conversation import options
from chatmagic.conversation.chat_line import ParsedLine, end, parse
from chatmagic.conversation.request_facts import ASKED_OF_AN_ERROR
from chatmagic.errors import InputError

PLAIN = ParsedLine(
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
        ("--no-credits", {"credit_line": False}),
        ("-o=reply", {"output": "reply"}),
        ("--format json", {"format": "json"}),
        ("--format=json --format markdown", {}),
        ("--schema models.Person", {"schema": "models.Person"}),
        ("--quiet --no-quiet --raw --no-raw", {}),
        ("--no-history --history --no-stream --stream", {}),
        ("-t 1 -n 2 -t 3", {"temperature": 3.0, "max_tokens": 2}),
    ],
)
def test_every_option_sets_its_field(line: str, fields: dict[str, Any]) -> None:
    """Options are read as argparse would read them, and the prompt after them is whole."""
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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--temprature 0.5 hi",
            "--temprature is not an option: did you mean --temperature? Nothing was sent.",
        ),
        (
            "--temprature=0.5 hi",
            "--temprature is not an option: did you mean --temperature? Nothing was sent.",
        ),
        ("--temp 0.5", "--temp is not an option: did you mean --temperature? Nothing was sent."),
        ("-T 0.5", "-T is not an option: did you mean -t? Nothing was sent."),
        ("--Raw x", "--Raw is not an option: did you mean --raw? Nothing was sent."),
        (
            "--nohistory x",
            "--nohistory is not an option: did you mean --no-history? Nothing was sent.",
        ),
        ("--max 9", "--max is not an option: did you mean --max-tokens? Nothing was sent."),
        ("--tokens 9", "--tokens is not an option: did you mean --max-tokens? Nothing was sent."),
        ("--histroy", "--histroy is not an option: did you mean --history? Nothing was sent."),
        ("--system x", "--system is not an option. Nothing was sent."),
        ("--no x", "--no is not an option: did you mean --no-history? Nothing was sent."),
        ("-m x y", "-m is not an option. Nothing was sent."),
        ("-x y", "-x is not an option. Nothing was sent."),
        ("--help", "--help is not an option. Nothing was sent."),
        (f"--{'z' * 99}", f"--{'z' * 37}… is not an option. Nothing was sent."),
        ("-t", "-t/--temperature takes a finite number; none was given. Nothing was sent."),
        ("-t -- 3", "-t/--temperature takes a finite number; none was given. Nothing was sent."),
        ("-t warm hi", "-t/--temperature takes a finite number, not 'warm'. Nothing was sent."),
        ("-t nan", "-t/--temperature takes a finite number, not 'nan'. Nothing was sent."),
        ("-t=1e999", "-t/--temperature takes a finite number, not '1e999'. Nothing was sent."),
        ("-n 1.5", "-n/--max-tokens takes a whole number, not '1.5'. Nothing was sent."),
        (
            f"-n {'9' * 5000}",
            f"-n/--max-tokens takes a whole number, not '{'9' * 39}…'. Nothing was sent.",
        ),
        ("--last -1", "--last takes a whole number, 0 or more, not '-1'. Nothing was sent."),
        ("--last x", "--last takes a whole number, 0 or more, not 'x'. Nothing was sent."),
        ("--last", "--last takes a whole number, 0 or more; none was given. Nothing was sent."),
        ("-o 2x", "-o/--output takes the name of a variable, not '2x'. Nothing was sent."),
        ("-o a.b", "-o/--output takes the name of a variable, not 'a.b'. Nothing was sent."),
        ("-o ->", "-o/--output takes the name of a variable, not '->'. Nothing was sent."),
        ("-o -q", "-o/--output takes the name of a variable; none was given. Nothing was sent."),
        ("-qx", "-q/--quiet takes no value. Nothing was sent."),
        ("--raw=yes", "--raw takes no value. Nothing was sent."),
        ("--no-raw=yes", "--no-raw takes no value. Nothing was sent."),
    ],
)
def test_a_wrong_option_is_told_in_one_line(line: str, message: str) -> None:
    """The message names what is wrong and the nearest right thing, and the hint the way out."""
    error = refusal(line)
    assert error.message == message
    assert error.hint == "A prompt that begins with a dash goes after --; %chat? shows the options."


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("-m gpt x", "model", '"NAME"'),
        ("--model gpt x", "model", '"NAME"'),
        ("--Model=gpt x", "model", '"NAME"'),
        ("--timeout 9 x", "timeout", "VALUE"),
        ("--extra-body x", "extra_body", "VALUE"),
    ],
)
def test_what_is_a_setting_is_told_to_be_one(line: str, name: str, value: str) -> None:
    """With the line that sets it."""
    error = refusal(line, {"model": None, "timeout": None, "extra_body": {}})
    flag = line.split(maxsplit=1)[0].partition("=")[0]
    assert error.message == f"{flag} is not an option: {name} is a setting. Nothing was sent."
    assert error.hint == f"%config ChatMagics.{name} = {value} sets it."


def test_an_output_is_a_name_that_python_takes() -> None:
    """No keyword, and nothing that could not be typed as a variable."""
    for word in (*keyword.kwlist, "a-b", "", "é!"):
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
        "no_credits": True,
        "format": "code",
        "output": "never",
        "stream": "auto",
    }
    assert parse("x", configured) == ParsedLine(
        temperature=0.2, max_tokens=9, last=3, history=False, stream=False,
        format="code", output=None, raw=True, quiet=True, credit_line=False, prompt="x",
    )  # fmt: skip
    back = "-t 1 -n 2 --last 0 --history --stream --no-raw --no-quiet --credits --format markdown x"
    assert parse(back, configured) == ParsedLine(
        temperature=1.0, max_tokens=2, last=0, output=None, raw=False, quiet=False, prompt="x"
    )
    assert parse("x", {"no_history": False, "quiet": False}) == parse("x")


def test_a_question_about_an_error_need_not_be_typed() -> None:
    """Line and body make the question; without any there is one for an error, and no other."""
    assert _question("a", "b\n") == "a\nb\n"
    assert _question("--error a", "") == "a"
    assert _question("--error", " \n") == ASKED_OF_AN_ERROR
    assert _question("", "") == ""
    assert parse("--error x").with_error
    assert options.typed(parse("--error x")) == ["--error"]


def test_cells_are_named_by_place_or_label() -> None:
    """As typed, so that the cell that asks again says the same."""
    parsed = parse("--above 2 --tag load x")
    assert (parsed.above, parsed.tag) == (2, "load")
    assert options.typed(parsed) == ["--above 2", "--tag load"]
    for line in ("--above 0", "--above -1", "--above x"):
        assert "takes" in refusal(f"{line} y").message


@pytest.mark.parametrize(
    ("line", "word", "dest", "in_prompt"),
    [
        ("", "", None, False),
        (" ", "", None, False),
        ("-", "-", None, False),
        ("--", "--", None, False),
        ("--la", "--la", None, False),
        ("-t", "-t", None, False),
        ("-t ", "", "temperature", False),
        ("-t 0.", "0.", "temperature", False),
        ("-t0.", "0.", "temperature", False),
        ("--last=", "", "last", False),
        ("--last=2", "2", "last", False),
        ("--last=2 ", "", None, False),
        ("-t 0.5 --o", "--o", None, False),
        ("-t --la", "--la", None, False),
        ("--unknown --ra", "--ra", None, False),
        ("-q=", "-q=", None, False),
        ("-q wh", "wh", None, True),
        ("-q why --la", "--la", None, True),
        ("-q -- --la", "--la", None, True),
        ("-q -- ", "", None, True),
        ("why ", "", None, True),
    ],
)
def test_the_end_of_a_line(line: str, word: str, dest: str | None, *, in_prompt: bool) -> None:
    """A word of the prompt, an option, or the value of one."""
    at_end = end(line)
    assert (at_end.word, at_end.in_prompt) == (word, in_prompt)
    assert (at_end.option and at_end.option.dest) == dest


@given(anything, st.sampled_from(["x", "-5", "0.5"]))
def test_the_end_of_a_line_is_read_as_the_line_is(line: str, word: str) -> None:
    """Where a line is accepted with one more word, its end says what that word became."""
    try:
        parsed = parse(f"{line} {word}")
    except InputError:
        return
    assert end(f"{line} {word}").in_prompt == parsed.prompt.endswith(word)


def _question(line: str, body: str) -> str:
    parsed = parse(line)
    return parsed.question(parsed.prompt, body)
