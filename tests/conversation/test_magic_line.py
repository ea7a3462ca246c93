"""The line of the magics: its options, and the prompt byte for byte."""

from __future__ import annotations

import dataclasses
import keyword
from fractions import Fraction
from typing import Any

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.conversation import magic_line
from chatmagic.conversation.magic_line import ParsedLine, line_end, parse_line
from chatmagic.conversation.question import A_MODEL, ASKED_OF_AN_ERROR, Parameters
from chatmagic.errors import InputError


@given(
    st.builds(
        Parameters,
        max_tokens=st.none() | st.integers(),
        temperature=st.none() | st.floats(0, 2),
        last=st.none() | st.integers(0),
        stream=st.booleans(),
        history=st.booleans(),
    )
)
def test_what_is_typed_asks_with_the_same_parameters(parameters: Parameters) -> None:
    """Whatever they are; those that were not set are not typed."""
    typed = parse_line(" ".join([*magic_line.typed_options(parameters), "why?"]))
    assert typed.parameters == parameters.parameters
    assert typed.prompt == "why?"
    assert magic_line.typed_options(Parameters()) == []


PLAIN = ParsedLine(output=None, raw=False, quiet=False, prompt="")
anything = st.text() | st.text("-=tnoqr 0.5{}'\"\\\t", max_size=30)


def refusal(line: str, defaults: dict[str, Any] | None = None) -> InputError:
    """Give the error that a line is refused with."""
    with pytest.raises(InputError) as caught:
        parse_line(line, defaults or {})
    error = caught.value
    assert "\n" not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    return error


@each_case(
    ("line", "fields"),
    [
        ("", {}),
        ("--", {}),
        ("-t 0.5", {"temperature": 0.5}),
        ("--temperature=0.5", {"temperature": 0.5}),
        ("-t -5", {"temperature": -5.0}),
        ("-n 200", {"max_tokens": 200}),
        ("--last 0", {"last": 0}),
        ("--no-stream", {"stream": False}),
        ("-o \ufb01", {"output": "fi"}),
        ("-q", {"quiet": True}),
        ("--no-credits", {"credit_line": False}),
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
    assert parse_line(line) == dataclasses.replace(PLAIN, **fields)
    separator = "" if line.strip() == "--" else " "
    asked = parse_line(f"{line}{separator} why  not?")
    assert asked == dataclasses.replace(PLAIN, **fields, prompt="why  not?")


@each_case(
    "prompt",
    [
        "what does -o do in gcc?",
        "explain --no-history",
        "Is {x} or $x or {{ x }} \\alpha?",
        "say 'it\"s",
        "two  spaces\tand a tab",
        "-5+3 -o 1 -t x",
        "-",
        "- a list item",
        "-> what is this?",
        "a -- b --",
        "\0 control",
    ],
)
def test_a_prompt_needs_no_quotes(prompt: str) -> None:
    """What is no option begins the prompt, whatever options follow in it."""
    assert parse_line(prompt) == dataclasses.replace(PLAIN, prompt=prompt)
    assert parse_line(f"  -q   {prompt}  ").prompt == prompt
    assert parse_line(f"-t -1 {prompt}") == dataclasses.replace(
        PLAIN, temperature=-1.0, prompt=prompt
    )


@given(anything)
def test_after_two_dashes_any_prompt_comes_back(text: str) -> None:
    """After ``--`` nothing is an option; only the white space around the prompt goes."""
    assert parse_line(f"-q -- {text}") == dataclasses.replace(
        PLAIN, quiet=True, prompt=text.strip()
    )


@each_case(
    ("line", "message"),
    [
        ("--temprature 0.5 hi", "--temprature is not an option: did you mean --temperature?"),
        ("--temprature=0.5 hi", "--temprature is not an option: did you mean --temperature?"),
        ("--temp 0.5", "--temp is not an option: did you mean --temperature?"),
        ("-T 0.5", "-T is not an option: did you mean -t?"),
        ("--Raw x", "--Raw is not an option: did you mean --raw?"),
        ("--nohistory x", "--nohistory is not an option: did you mean --no-history?"),
        ("--tokens 9", "--tokens is not an option: did you mean --max-tokens?"),
        ("--no x", "--no is not an option: did you mean --no-history?"),
        ("-x y", "-x is not an option."),
        ("--help", "--help is not an option."),
        (f"--{'z' * 99}", f"--{'z' * 37}… is not an option."),
        ("-m", f"-m/--model takes {A_MODEL}; none was given."),
        ("-m=''", f"-m/--model takes {A_MODEL}, not \"''\"."),
        (f"-m {'m' * 301}", f"-m/--model takes {A_MODEL}, not '{'m' * 39}…'."),
        ("-m a\0b x", f"-m/--model takes {A_MODEL}, not 'a\N{SYMBOL FOR NULL}b'."),
        ("-t -- 3", "-t/--temperature takes a finite number; none was given."),
        ("-t warm hi", "-t/--temperature takes a finite number, not 'warm'."),
        ("-t=1e999", "-t/--temperature takes a finite number, not '1e999'."),
        ("-n 1.5", "-n/--max-tokens takes a whole number, not '1.5'."),
        (f"-n {'9' * 5000}", f"-n/--max-tokens takes a whole number, not '{'9' * 39}…'."),
        ("--last -1", "--last takes a whole number, 0 or more, not '-1'."),
        ("-o 2x", "-o/--output takes the name of a variable, not '2x'."),
        ("-o a.b", "-o/--output takes the name of a variable, not 'a.b'."),
        ("-o -q", "-o/--output takes the name of a variable; none was given."),
        ("-qx", "-q/--quiet takes no value."),
        ("--no-raw=yes", "--no-raw takes no value."),
    ],
)
def test_a_wrong_option_is_told_in_one_line(line: str, message: str) -> None:
    """The message names what is wrong and the nearest right thing, and the hint the way out."""
    error = refusal(line)
    assert error.message == f"{message} Nothing was sent."
    assert error.hint == "A prompt that begins with a dash goes after --; %chat? shows the options."


def test_an_output_is_a_name_that_python_takes() -> None:
    """No keyword, and nothing that could not be typed as a variable."""
    for word in (*keyword.kwlist, "a-b", "", "é!"):
        assert "the name of a variable" in refusal(f"--output={word}").message


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
    line = "-t 0.2 -n 9 --last 3 --no-history --no-stream --raw -q --no-credits --format code x"
    assert parse_line("x", configured) == parse_line(line)
    back = "-t 1 -n 2 --last 0 --history --stream --no-raw --no-quiet --credits --format markdown x"
    assert parse_line(back, configured) == parse_line("-t 1 -n 2 --last 0 x")
    assert parse_line("x", {"no_history": False, "quiet": False}) == parse_line("x")


@pytest.mark.parametrize(
    ("line", "body", "question"),
    [
        ("a", "b\n", "a\nb\n"),
        ("--error a", "", "a"),
        ("--error", " \n", ASKED_OF_AN_ERROR),
        ("", "", ""),
    ],
)
def test_a_question_about_an_error_need_not_be_typed(line: str, body: str, question: str) -> None:
    """Line and body make the question; without any there is one for an error, and no other."""
    parsed = parse_line(line)
    assert parsed.question(parsed.prompt, body) == question


def test_cells_are_named_by_place_or_label() -> None:
    """As typed, so that the cell that asks again says the same."""
    parsed = parse_line("--error --above 2 --tag load x")
    assert (parsed.with_error, parsed.above, parsed.tag) == (True, 2, "load")
    assert magic_line.typed_options(parsed) == ["--above 2", "--tag load", "--error"]
    for line in ("--above new", "--above all", "--above 0"):
        assert magic_line.typed_options(parse_line(f"{line} x")) == [line]
    for line in ("--above -1", "--above x", "--above ²"):
        assert "takes" in refusal(f"{line} y").message


@each_case(
    ("line", "word", "dest", "in_prompt"),
    [
        ("", "", None, False),
        ("-", "-", None, False),
        ("--la", "--la", None, False),
        ("-t ", "", "temperature", False),
        ("-t 0.", "0.", "temperature", False),
        ("-t0.", "0.", "temperature", False),
        ("--last=2", "2", "last", False),
        ("--last=2 ", "", None, False),
        ("-t --la", "--la", None, False),
        ("--unknown --ra", "--ra", None, False),
        ("-q=", "-q=", None, False),
        ("-q why --la", "--la", None, True),
        ("-q -- --la", "--la", None, True),
        ("why ", "", None, True),
    ],
)
def test_the_end_of_a_line(line: str, word: str, dest: str | None, *, in_prompt: bool) -> None:
    """A word of the prompt, an option, or the value of one."""
    at_end = line_end(line)
    assert (at_end.word, at_end.in_prompt) == (word, in_prompt)
    assert (at_end.option and at_end.option.dest) == dest


@given(anything, st.sampled_from(["x", "-5", "0.5"]))
def test_any_line_is_read_or_refused_and_so_is_its_end(line: str, word: str) -> None:
    """Nothing but an InputError leaves; the end of a line says what its last word became."""
    try:
        parsed = parse_line(f"{line} {word}")
    except InputError:
        return
    assert f"{line} {word}".endswith(parsed.prompt)
    assert line_end(f"{line} {word}").in_prompt == parsed.prompt.endswith(word)


def test_a_value_may_stand_in_a_variable() -> None:
    """As in other magics; where no variables are known, the question was asked with some value."""
    names = {"t": 0.5, "n": 3}
    assert parse_line("-m 'a-b' x").model == parse_line('--model="a-b" x').model == "a-b"
    typed = parse_line("-t $t --last={n} -o x $t {t}", names=names)
    assert (typed.temperature, typed.last, typed.prompt) == (0.5, 3, "$t {t}")
    assert parse_line("-t $t x", recorded={"temperature": 0.7}).temperature == 0.7
    assert parse_line("-t $t x").temperature is None
    assert parse_line("-m $m x", recorded={"model": "a"}).model == "a"
    assert parse_line("-m $m x").model is None
    outputs = [magic_line.output_name(line) for line in ("-o x y", "-t 1 --output=x y", "x -o y")]
    assert outputs == ["x", "x", None]
    assert magic_line.typed_fields("-t $t --no-stream --max-tokens=5 {x} -m y") == {
        "temperature", "max_tokens", "stream",
    }  # fmt: skip
    for known in (names, {}):
        with pytest.raises(
            InputError, match=r"^-m names a variable, and there is none of this name\. Nothing was"
        ):
            parse_line("-m $u x", names=known)


class Acting(str):
    """A text of a user's own class, whose methods are not called."""

    __slots__ = ()

    def __str__(self) -> str:
        """Act, which no option may cause."""
        raise AssertionError


VARIABLES = {"text": "a b", "own": Acting("a"), "half": Fraction(1, 2), "n": 2}


@each_case(
    ("word", "text"),
    [
        *(("$text", "a b"), ("{text}", "a b"), ("$own", "a"), ("{half}", "1/2")),
        *(("{n}", "2"), ("", ""), ("$", "$"), ("$5", "$5"), ("n", "n"), ("5$", "5$")),
    ],
)
def test_a_word_that_names_a_variable(word: str, text: str) -> None:
    """Its text, as it is, whatever it looks like; every other word is itself."""
    assert magic_line.with_variable(word, VARIABLES) == text
    assert magic_line.with_variable("$a", {"a": "{b}", "b": "no"}) == "{b}"


@each_case(
    ("word", "why"),
    [
        *(
            (word, "and no expression")
            for word in ("{n+1}", "{f()}", "{n.real}", "$n.real", "x{n}")
        ),
        *((word, "and no expression") for word in ("$f()", "{{n}}", "${n}", "{}", "{n!r}", "{1}")),
        *((word, "and no expression") for word in ("m{open('PWN','w')}", "{n:5}", "a$n", "}{")),
        *((word, "none of this name") for word in ("$missing", "{len}", "$__name__")),
        *((word, "no text or number") for word in ("$f", "{none}", "$empty", "{list}", "{path}")),
    ],
)
def test_nothing_in_a_word_is_evaluated(word: str, why: str) -> None:
    """A variable stands alone, and holds a text; its value is not asked for its text."""
    names = {"n": 2, "f": Acting.__str__, "none": None, "empty": " ", "list": [1], "path": b"a"}
    with pytest.raises(ValueError, match=why):
        magic_line.with_variable(word, names)


def test_the_value_of_a_variable_is_not_repeated() -> None:
    """It might be a key that was put there by mistake."""
    with pytest.raises(InputError) as caught:
        parse_line("-t $key x", names={"key": "sk-1"})
    assert caught.value.message == (
        "-t/--temperature takes a finite number, not the value of $key. Nothing was sent."
    )


def test_a_loaded_option_names_no_variable() -> None:
    """The options of a saved question are typed so that no variable of the reader goes along."""
    for model in ("{secret}", "$secret", "m{open('PWN','w')}"):
        (typed,) = magic_line.typed_options(Parameters(model=model))
        with pytest.raises(InputError, match=r"^-m takes a variable as \$NAME"):
            parse_line(f"{typed} x", names={"secret": "no"})
        assert parse_line(f"{typed} x").model == model
