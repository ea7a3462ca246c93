"""The table of options: each has its field, its help and its flags."""

from __future__ import annotations

import dataclasses

from chatmagic.conversation import options
from chatmagic.conversation.magic_line import ParsedLine, parse_line
from chatmagic.conversation.options import OPTIONS


def test_the_table_is_whole() -> None:
    """Every option sets a field, has its trait, and every switch can be taken back."""
    fields = {field.name for field in dataclasses.fields(ParsedLine)} - {"prompt"}
    assert {option.dest for option in OPTIONS} == fields
    traits = [option.trait for option in OPTIONS if option.trait is not None]
    assert traits == [
        *("temperature", "max_tokens", "last", "no_history", "no_stream", "format", "above"),
        *("raw", "quiet", "no_credits"),
    ]
    assert all((option.kind is None) == (option.metavar is None) for option in OPTIONS)
    switches = [option for option in OPTIONS if option.configurable and option.kind is None]
    opposites = ["--history", "--stream", "--no-raw", "--no-quiet", "--credits"]
    assert [option.opposite for option in switches] == opposites


def test_what_an_option_computes_once_is_that_of_its_spelling() -> None:
    """A copy, which has computed nothing yet, has the same flags, field, trait and value."""
    for option in OPTIONS:
        copy = dataclasses.replace(option)
        assert (copy.dest, copy.trait, copy.on) == (option.dest, option.trait, option.on)
        assert copy.flags == option.flags


def test_the_help_comes_from_the_table() -> None:
    """Every option stands in it, with its words; the examples stand there as given."""
    text = options.help_text(["%%chat -t 0\nWhy?\n\nReally?", "%chat And now?"])
    for option in OPTIONS:
        assert option.spelling in text
        assert option.help in text
        assert option.opposite is None or option.opposite in text
    examples = "\n\n    %%chat -t 0\n    Why?\n    \n    Really?\n\n    %chat And now?"
    assert examples in text
    assert options.help_text() == text.replace(examples, "")
    assert "\n    -t, --temperature NUMBER  " in text
    assert "\n    -q, --quiet  " in text
    assert max(map(len, text.splitlines())) <= 88


def test_every_flag_is_offered() -> None:
    """In the order of the table, the long ones first; each suggested value is one it takes."""
    assert options.flags_starting("")[:3] == ["--temperature", "--max-tokens", "--model"]
    assert options.flags_starting("--his") == ["--history"]
    every = {flag for option in OPTIONS for flag in (*option.flags, option.opposite) if flag}
    assert set(options.flags_starting("-")) == every
    for option in OPTIONS:
        for value in option.kind.suggested if option.kind else ():
            parse_line(f"{option.flags[-1]} {value}")
