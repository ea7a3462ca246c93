"""The arguments of ``chatmagic ask`` are those rows of the options' table that a shell has."""

from __future__ import annotations

import argparse

from chatmagic.conversation.options import OPTIONS
from chatmagic.shell import arguments

OF_A_NOTEBOOK = {"schema", "output", "above", "tag", "cells", "with_error", "raw", "quiet"}
OF_A_NOTEBOOK |= {"background"}
"""What needs cells, names of a namespace, or a page."""


def test_each_option_of_a_shell_is_there() -> None:
    """With its flags, its help and its opposite; what is not given is not among the arguments."""
    parser = argparse.ArgumentParser()
    arguments.add(parser)
    text = " ".join(parser.format_help().split())
    for option in OPTIONS:
        assert option.in_shell == (option.dest not in OF_A_NOTEBOOK)
        assert (f"{option.flags[-1]} " in text) == option.in_shell
        assert not option.in_shell or option.help in text
    given = vars(parser.parse_args(["a"]))
    assert given == {
        "words": ["a"],
        "continue": False,
        "connect": None,
        "model": None,
        "dry": False,
    }
    given = vars(parser.parse_args(["--no-stream", "-t", "1", "--last=2", "a", "b"]))
    assert (given["stream"], given["temperature"], given["last"]) == (False, 1.0, 2)
    assert vars(parser.parse_args(["--stream"]))["stream"] is True
