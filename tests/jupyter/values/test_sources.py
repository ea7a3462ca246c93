"""Functions, classes and modules in a prompt."""

from __future__ import annotations

import functools
import math
import textwrap
import types
from typing import TYPE_CHECKING

import pytest
from shells import Shell, asked

from chatmagic.jupyter.values.describe import describe
from chatmagic.jupyter.values.description import LIMIT

if TYPE_CHECKING:
    from logged import Emulator

CELL = '''\
import dataclasses, functools

@dataclasses.dataclass
class Point:
    """A point."""

    x: int

class Old:
    was = 1

before = Old

class Outer:
    class Inner:
        pass

if True:
    class Inner:
        def method(self):
            return self

@functools.cache
def twice(x):
    return 2 * x

half = lambda x: x / 2
'''


@pytest.mark.parametrize(
    ("expression", "source"),
    [
        ("Point", '@dataclasses.dataclass\nclass Point:\n    """A point."""\n\n    x: int'),
        ("Inner", "class Inner:\n    def method(self):\n        return self"),
        ("Inner.method", "def method(self):\n    return self"),
        ("Inner().method", "def method(self):\n    return self"),
        ("twice", "@functools.cache\ndef twice(x):\n    return 2 * x"),
        ("half", "half = lambda x: x / 2"),
        ("Old", "class Old:\n    now = 2"),
        ("Outer.Inner", "class Inner:\n    pass"),
    ],
)
def test_what_a_cell_defines_goes_in_as_its_source(
    shell: Shell, emulator: Emulator, expression: str, source: str
) -> None:
    """Functions, methods and classes, as the latest cell has them."""
    shell.do(CELL)
    shell.do("class Old:\n    now = 2")
    ran = shell.page(f"%chat echo:{{{{ {expression} }}}}", "a")
    assert asked(emulator) == [["echo:" + source]]
    line = f"{expression}: source in {len(source)} characters"
    assert line in ran.messages[0]["data"]["text/html"]


def test_what_a_module_defines_goes_in_as_its_source(bare: Shell) -> None:
    """A class of the library of Python, cut where it is long."""
    short = describe(functools.cache, bare.shell).text
    assert short.startswith("def cache(user_function, /):\n")
    long = describe(textwrap.TextWrapper, bare.shell)
    assert long.text.startswith("class TextWrapper:\n")
    assert len(long.text) == LIMIT
    assert long.text.endswith(" characters of the source]")
    assert long.words("T") == "T: source described in 4,000 characters"


def test_what_has_no_source_in_python_is_outlined(bare: Shell) -> None:
    """Its name, its parameters where they are known, its docstring."""
    assert describe(len, bare.shell).text == (
        "function builtins.len(obj, /)\nReturn the number of items in a container."
    )
    assert describe(dict, bare.shell).text.startswith("class builtins.dict(…)\ndict() -> new empty")
    made = type("Made", (), {"__module__": "__main__", "__doc__": "Made by hand."})
    assert describe(made, bare.shell).text == "class __main__.Made()\nMade by hand."


def test_a_class_that_was_defined_again_is_not_given_the_new_source(bare: Shell) -> None:
    """The old one is outlined, for its source is not known."""
    bare.do(CELL)
    bare.do("class Old:\n    now = 2")
    assert describe(bare["before"], bare.shell).text.startswith("class __main__.Old()")
    assert describe(bare["Old"], bare.shell).text == "class Old:\n    now = 2"


def test_a_module_goes_in_as_its_name_and_what_it_is(bare: Shell) -> None:
    """The docstring's first line, if it has one."""
    assert describe(math, bare.shell).text.startswith("module math: This module provides access")
    assert describe(types.ModuleType("bare"), bare.shell).text == "module bare"
    assert describe(types.ModuleType("m", "One\ttwo.\nThree."), bare.shell).text == (
        "module m: One two."
    )
