"""``{{ expression }}``: what is evaluated, what is sent as typed, and what is refused."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from typing import NoReturn

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.conversation import template
from chatmagic.conversation.question import Format, Schema, Value
from chatmagic.conversation.template import (
    fill,
    fill_row,
    refill,
    split_form,
    with_known_text,
    words_on_form,
)
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError
from chatmagic.models import Reply


def python(**names: object) -> Callable[[str], object]:
    """Give an evaluator over some names, as the magics have one over the namespace."""
    return lambda expression: eval(expression, dict(names))  # noqa: S307 - the tests' own text


def never(expression: str) -> NoReturn:
    """Fail the test that evaluates anything."""
    pytest.fail(f"{expression} was evaluated")


def refusal(text: str, evaluate: Callable[[str], object] = never) -> InputError:
    """Give the error that a prompt is refused with: one line, and nothing of ours chained."""
    with pytest.raises(InputError) as caught:
        fill(text, evaluate)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "\n" not in str(caught.value)
    assert "Nothing was sent." in caught.value.message
    assert caught.value.hint == "--raw sends the text as typed."
    return caught.value


@each_case(
    ("text", "sent"),
    [
        ("{{ x }}", "7"),
        ("{{x}}", "7"),
        ("a {{ x }} b {{ x + 1 }} c", "a 7 b 8 c"),
        ("{{ {'a': {'b': x}}['a']['b'] }}", "7"),
        ("{{ {'a': {'b': x}}}}", "{'a': {'b': 7}}"),
        ("{{ '}}' }}", "}}"),
        ("{{ '{{' + '}}' * 9 }}", "{{" + "}}" * 9),
        ("{{{x}}}", "{7}"),
        ("{{ f'{x:.1f}' }}", "7.0"),
        ("{{ f'{{x}}' }}", "{x}"),
        ("{{ x # }} }}", "7 }}"),
        ("{{ x }}}}", "7}}"),
        ("{{ x }} {{", "7 {{"),
        ("{{ 'it\\'s' }}", "it's"),
    ],
)
def test_an_expression_gives_way_to_its_value(text: str, sent: str) -> None:
    """It ends at the first closing that makes it one; the value is put in by ``str``."""
    assert fill(text, python(x=7))[0] == sent


@each_case(
    "text",
    [
        "plain {x} $x ${x} %s \\alpha \\{ \\} \\\\ \ud800 \0 \r\n\t é 😀",
        '{"a": {"b": {"c": 1}}}',
        "\\frac{a}{b} $$\\int_{0}^{1}$$ f'{x}' {x!r} {} { }",
        "}} before, and {{ without an end",
        *("", "{{{{{{", "{{", "}}", "{}}", "{{}"),
    ],
)
def test_everything_else_is_sent_byte_for_byte(text: str) -> None:
    """Nothing is evaluated, and nothing is changed."""
    assert fill(text, never) == (text, ())


@given(st.lists(st.text().filter(lambda text: "{" not in text and "}" not in text), min_size=1))
def test_only_the_expressions_change(pieces: list[str]) -> None:
    """Whatever stands around the expressions comes back as it was."""
    assert fill("{{ x }}".join(pieces), python(x="…"))[0] == "…".join(pieces)


@given(st.text())
def test_a_value_is_never_looked_at_again(value: str) -> None:
    """A value that looks like an expression, or like half of one, is just text."""
    tricky = "{{ x }}" + value + "{{"
    assert fill("{{ x }}}} {{ x }}", python(x=tricky))[0] == f"{tricky}}}}} {tricky}"


@given(st.text("{}x 1'\"#\\\n:,()", max_size=40))
def test_any_text_is_filled_or_refused(text: str) -> None:
    """No text leads to anything but a filled prompt or an InputError."""
    try:
        sent, _ = fill(text, lambda _: "")
    except InputError:
        return
    assert len(sent) <= len(text)


def test_values_are_told_with_their_size_and_digest() -> None:
    """Each as typed, with its text's size and digest, evaluated once and in order."""
    sent, values = fill("{{ b }}{{  a+'é'  }}{{ b }}", python(a="x", b=12))
    sha = hashlib.sha256
    seen: list[str] = []
    assert fill("{{ b }} {{ a }} {{ b }}", seen.append)[0] == "None None None"
    assert seen == ["b", "a", "b"]
    twelve = Value("b", 2, sha(b"12").hexdigest(), "12")
    assert sent == "12xé12"
    assert values == (
        twelve,
        Value("a+'é'", 2, sha("xé".encode()).hexdigest(), "xé"),
        twelve,
    )


def test_a_prompt_is_made_again_from_what_is_kept() -> None:
    """Nothing is evaluated; a value that is not kept is named, one of another prompt refused."""
    typed = "{{ b }}, {x} {{ {'a': 1}['a'] }} {{"
    sent, values = fill(typed, python(b="{{ x }}"))
    assert refill(typed, values) == sent == "{{ x }}, {x} 1 {{"
    bare = tuple(value.bare for value in values)
    assert refill(typed, bare) == (
        "[value of b, not kept], {x} [value of {'a': 1}['a'], not kept] {{"
    )
    assert refill("{{ raw }}", ()) == "{{ raw }}"
    for values in (bare[:1], bare[::-1], bare * 2):
        with pytest.raises(InputError, match="not those of its prompt"):
            refill(typed, values)


def test_a_prompt_without_its_markdown_cells() -> None:
    """Only those in front are left out, also one whose text is not kept; nothing is evaluated."""
    text = template.markdown_text("# T")
    front = [Value.of_text("json", "J", "format"), Value.of_text("1 above", text, "markdown")]
    front += [Value.of_text("1 above", "c", "cell"), Value.of_text("", text, "markdown").bare]
    sent, values = fill(f"{text} {{{{ 1 }}}}?", python(), front)
    turn = Turn(prompt=sent, values=values, reply=Reply("r"))
    assert text.startswith("A Markdown cell of this notebook:\n\n```markdown\n# T\n```")
    assert template.has_markdown(turn)
    assert not template.has_markdown(replace(turn, values=values[:1]))
    assert template.bare(turn).prompt == f"J\n\nc\n\n{text} 1?"
    assert template.bare(replace(turn, prompt="J\n\nx")).prompt == "J\n\nx"
    assert template.bare(replace(turn, values=values[:1])).prompt == sent


def test_values_in_front_of_a_question() -> None:
    """Each stands before the question, as it is, and is never looked at for expressions."""
    front = Value.of_text("load", "{{ x }}", "cell"), Value.of_text("", "boom }}", "error")
    sent, values = fill("why {{ x }}?", python(x=7), front)
    assert sent == "{{ x }}\n\nboom }}\n\nwhy 7?"
    assert values == (*front, Value.of_text("x", "7"))
    assert refill("why {{ x }}?", values) == sent
    assert fill("why {{ x }}?", None, front) == ("{{ x }}\n\nboom }}\n\nwhy {{ x }}?", front)
    assert refill("why {{ x }}?", front) == "{{ x }}\n\nboom }}\n\nwhy {{ x }}?"
    assert refill("why {{ x }}?", [value.bare for value in values]) == (
        "[cell load, not kept]\n\n[error, not kept]\n\nwhy [value of x, not kept]?"
    )


@each_case(
    ("text", "shown"),
    [
        *((text, text) for text in ("{{ }}", "{{}}", "{{ a b }}", "{{ x = 1 }}", "{{ x!r }}")),
        ("say {{ a\nb }} please", "{{ a b }}"),
        ("{{ \0 }}", "{{ \u2400 }}"),
        ("{{ a " + "b" * 90 + " }}", "{{ a " + "b" * 54 + "…"),
        ("{{ x }} {{ two words }}", "{{ two words }}"),
    ],
)
def test_what_is_no_expression_is_refused_before_any_is_evaluated(text: str, shown: str) -> None:
    """The message shows what it was, and the hint how to send it."""
    assert refusal(text).message == f"{shown} holds no Python expression. Nothing was sent."


class Broken(Exception):  # noqa: N818 - it is broken, not an error to catch
    """An exception that cannot even say what it is; nor has it a text as a value."""

    def __str__(self) -> str:
        """Fail.

        Raises:
            Broken: always.
        """
        raise Broken


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("nobody", "NameError: name 'nobody' is not defined"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("{}['k']", "KeyError: 'k'"),
        ("fail('two\\n lines.')", "ValueError: two lines"),
        ("fail('')", "ValueError"),
        ("fail('y' * 999)", f"ValueError: {'y' * 187}…"),
        ("f'{broken}'", "test_template.Broken: <exception str() failed>"),
    ],
)
def test_an_expression_that_fails_is_told_in_one_line(expression: str, said: str) -> None:
    """The expression, the exception's type and its message; no traceback of ours."""

    def fail(message: str) -> NoReturn:
        raise ValueError(message)

    error = refusal(f"a {{{{ {expression} }}}}", python(fail=fail, broken=Broken()))
    assert error.message == f"{{{{ {expression} }}}} has no value: {said}. Nothing was sent."


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_value_and_no_error_of_ours(kind: type[BaseException]) -> None:
    """Stop stops an expression that takes long."""

    def stopped(_: str) -> NoReturn:
        raise kind

    with pytest.raises(kind):
        fill("{{ x }}", stopped)


@pytest.mark.parametrize(
    "text",
    [
        *("{{" * 50_000, "{{" * 50_000 + "}}" * 50_000, "{{ '" + "}}" * 50_000, "}}{{" * 25_000),
        *("{{ " + "-" * 9_000 + "1 }}", "{{ " + "(" * 100_000 + " }}", "{{1}}" * 5_000),
    ],
    ids=range(7),
)
def test_hostile_text_is_cheap(text: str) -> None:
    """It is filled or refused in well under the time of a breath."""
    began = time.thread_time()
    with contextlib.suppress(InputError):
        fill(text, str)
    assert time.thread_time() - began < 5


def test_an_expression_ends_within_bounds() -> None:
    """An end is looked for at most so far, and so often; up to there it is found."""
    room = template.LONGEST - len("'' ") - len(template.CLOSE)
    assert fill(f"{{{{'{'y' * room}' }}}}", python())[0] == "y" * room
    refusal(f"{{{{'{'y' * (room + 1)}' }}}}")
    braces = "}}" * (template.MOST_ENDS // 2 - 1)
    assert fill(f"{{{{ '{braces}' }}}}", python())[0] == braces
    # Python warns of a backslash when it evaluates it, and not here.
    assert fill(r"{{ '\d' }}", str)[0] == r"'\d'"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{ it }}", "7"),
        ("{{it}}{{  two words }}", "7{{ it }}"),
        ("{x} {{ it }} }} {{", "{x} 7 }} {{"),
        ("\\n {{\nit\n}} $", "\\n 7 $"),
    ],
)
def test_a_row_is_put_in_by_name(text: str, filled: str) -> None:
    """Its values are whole, and looked at for nothing; all else is as typed."""
    assert fill_row(text, {"it": 7, "two words": "{{ it }}"}) == (filled, None)


class Missing:
    """A missing value of a library that is not imported."""

    def __str__(self) -> str:
        """Return what pandas writes."""
        return "<NA>"


@pytest.mark.parametrize("value", [None, float("nan"), Decimal("nan"), Missing()], ids=str)
def test_a_missing_value_of_a_row(value: object) -> None:
    """It is named where the template names it; a text that reads so is a value."""
    row = {"it": {"t": value}, "t": value, "n": str(value)}
    assert fill_row("{{ n }} {{ t }}", row) == (f"{value} {value}", "t")
    assert fill_row("{{ n }} {{ it }}", row) == (f"{value} {row['it']}", None)


class Mood(str, Enum):  # noqa: UP042 - a ``StrEnum`` has another text
    """A text with a text of its own."""

    GOOD = "good"


def test_a_text_of_a_kind_is_put_in_as_python_shows_it() -> None:
    """As any other value is, and not as its letters."""
    assert fill_row("{{ it }}", {"it": Mood.GOOD}) == ("Mood.GOOD", None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ x }}", "{{ x }} is no name of a row. Nothing was sent. There is {{ it }}, {{ bad }};"),
        ("{{ it }} {{ it + 1 }}", "{{ it + 1 }} is no name of a row. Nothing was sent."),
        (
            "it {{",
            "The template uses no value of a row, so all rows would send the same. Nothing was",
        ),
        ("{{ bad }}", "{{ bad }} has no value: ZeroDivisionError. Nothing was sent."),
    ],
)
def test_a_template_that_does_not_go_with_a_row(text: str, words: str) -> None:
    """Nothing is evaluated, and nothing is sent without a value."""

    class Bad:
        def __str__(self) -> str:
            raise ZeroDivisionError

    with pytest.raises(InputError) as caught:
        fill_row(text, {"it": 7, "bad": Bad()})
    assert str(caught.value).startswith(words)


def test_a_cell_and_an_error_as_they_go_along() -> None:
    """Each part stands in a fence that nothing in it closes; without output there is none."""
    whole = template.cell_text("x = 1\n", "\n```\n1\n\n", trace="\x1b[31mNameError: x\x1b[0m")
    assert whole == (
        "A cell of this notebook:\n\n```python\nx = 1\n```\n\nIts output:\n\n````\n```\n1\n````\n\n"
        "The error that it raised:\n\n```\nNameError: x\n```"
    )
    assert template.cell_text("x", " \n") == template.cell_text("x")
    assert template.error_text("1 / 0", "\x1b[31mZeroDivisionError\x1b[0m") == (
        "A cell of this notebook that raised an error:\n\n```python\n1 / 0\n```\n\n"
        "The error:\n\n```\nZeroDivisionError\n```"
    )


def test_a_long_output_says_how_much_of_it_is_there() -> None:
    """The size that it had, and how much of that was noted."""
    assert "Its output (the first 2 of 1,000 characters):\n\n" in template.cell_text(
        "x", "ab", 1_000
    )
    assert "Its output:\n\n" in template.cell_text("x", "ab", 2)
    without = template.cell_text("x", "", 1_000)
    assert without == template.cell_text("x") + "\n\nIts output of 1,000 characters is left out."
    long = template.cell_text("x" * (template.MOST + 1))
    assert "[the first 100,000 of 100,001 characters]" in long


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("10%\r50%\r100%\n", "100%\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\r", "a"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;y\x1b\\z\x1bM", "red xz"),
        ("plain {{ x }}", "plain {{ x }}"),
        ("[<Line2D at 0x7f5ec3b670>] look at 0x1F", "[<Line2D at 0x…>] look at 0x1F"),
    ],
)
def test_printed_text_is_what_is_left_to_see(printed: str, shown: str) -> None:
    """Colours go, and what a progress bar wrote over."""
    assert template.as_shown(printed) == shown


def turn(format: Format) -> Turn:
    """Give a turn that was asked in a form."""
    return Turn("q", reply=Reply("r"), format=format)


@pytest.mark.parametrize(
    ("format", "words"),
    [
        ("markdown", "Reply in prose again"),
        ("text", "Reply in plain text"),
        ("code", "Reply with code alone"),
        ("json", "Reply with one JSON value alone"),
    ],
)
def test_a_form_is_asked_for_in_front(format: Format, words: str) -> None:
    """Whatever the turns before had; its words are known without being kept."""
    value = words_on_form(format, None, [turn("text")])
    assert value is not None
    assert (value.kind, value.name) == ("format", f"format {format}")
    assert (value.text or "").startswith(words)
    assert with_known_text(value.bare) == value
    other = Value.of_text("x", value.text or "").bare
    assert with_known_text(other) == other


def test_a_schema_is_told_whole() -> None:
    """Behind what asks for JSON; its words are not known where they are not kept."""
    words = (
        "Reply with one JSON value alone, without a code fence and without other words. "
        "It is of the type City:\n\nCity: a value of this JSON schema\n\n{}"
    )
    value = words_on_form("json", Schema("City", {}, str), [])
    assert value == Value.of_text("json City", words, "format")
    assert with_known_text(value.bare) == value.bare


def test_prose_is_asked_for_where_the_latest_reply_had_another_form() -> None:
    """A model goes on as it began; elsewhere nothing is said."""
    assert words_on_form("markdown", None, []) is None
    assert words_on_form("markdown", None, [turn("json"), turn("markdown")]) is None


@pytest.mark.parametrize("rest", ["Say hello.", "", "[1]\n\n{}"])
def test_the_words_on_the_form_are_split_off(rest: str) -> None:
    """With the schema, if there is one; a prompt without such words stays as it is."""
    schema = Schema("City", {"type": "object", "title": "a {b"}, str)
    values = [
        words_on_form("text", None, []),
        words_on_form("json", None, []),
        words_on_form("json", schema, []),
    ]
    for value in values:
        assert value is not None
        assert value.text is not None
        assert split_form(f"{value.text}\n\n{rest}") == (value.text, rest)
    assert split_form(rest) == ("", rest)
    words = str(values[2] and values[2].text)
    cut = words[: words.index("{") + 1]
    assert split_form(cut)[0] == str(values[1] and values[1].text)
