"""The table of options: whole, with its help, and typed as it is read."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from chatmagic.conversation import options
from chatmagic.conversation.chat_line import ParsedLine, parse
from chatmagic.conversation.options import OPTIONS
from chatmagic.conversation.request_facts import Parameters


def test_the_table_is_whole() -> None:
    """Every option sets a field, has its trait, and every switch can be taken back."""
    # Earlier versions wrote records that have `cells`, too.
    fields = {field.name for field in dataclasses.fields(ParsedLine)} - {"prompt", "cells"}
    assert {option.dest for option in OPTIONS} == fields
    assert [option.trait for option in OPTIONS] == [
        "temperature",
        "max_tokens",
        "last",
        None,
        None,
        "no_history",
        "no_stream",
        "format",
        None,
        None,
        None,
        None,
        None,
        "raw",
        "quiet",
        "no_credits",
        None,
        None,
        None,
    ]
    configurable = [option for option in OPTIONS if option.configurable]
    assert all((each.convert is None) == (each.opposite is not None) for each in configurable)
    assert all((option.convert is None) == (option.metavar is None) for option in OPTIONS)


def test_the_help_comes_from_the_table() -> None:
    """Every option stands in it, with its words; the examples stand there as given."""
    text = options.usage(["%%chat -t 0\nWhy?\n\nReally?", "%chat And now?"])
    for option in OPTIONS:
        assert option.spelling in text
        assert option.help in text
        assert option.opposite is None or option.opposite in text
    examples = "\n\n    %%chat -t 0\n    Why?\n    \n    Really?\n\n    %chat And now?"
    assert examples in text
    assert options.usage() == text.replace(examples, "")
    assert max(map(len, text.splitlines())) <= 88


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
    typed = parse(" ".join([*options.typed(parameters), "why?"]))
    assert typed.parameters == parameters.parameters
    assert typed.prompt == "why?"
    assert options.typed(Parameters()) == []


def test_every_flag_is_offered() -> None:
    """In the order of the table, the long ones first; each suggested value is one it takes."""
    assert options.flags("")[:3] == ["--temperature", "--max-tokens", "--last"]
    assert options.flags("--his") == ["--history"]
    every = {flag for option in OPTIONS for flag in (*option.flags, option.opposite) if flag}
    assert set(options.flags("-")) == every
    for option in OPTIONS:
        for value in option.suggested:
            parse(f"{option.flags[-1]} {value}")
