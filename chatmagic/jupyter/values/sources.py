"""Functions and classes as their source, modules as their name and docstring's first line."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from chatmagic._log import log_swallowed
from chatmagic.jupyter.values.description import Description, whole_or_cut
from chatmagic.text import one_line

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_CACHED: Final = type(functools.cache(lambda: None))
_SHOWN: Final = 300


def describe(value: Any, shell: InteractiveShell) -> Description | None:
    """Return the description of a function, class or module; ``None`` of anything else."""
    if issubclass(type(value), ModuleType):
        first = (value.__doc__ or "").strip().split("\n", 1)[0]
        text = one_line(f"module {value.__name__}: {first}".rstrip(": "), _SHOWN)
        return Description(text, "module", whole=True)
    if not (inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, _CACHED)):
        return None
    source = _source(value, shell)
    if source is not None:
        return whole_or_cut(source, "source", "the source")
    return whole_or_cut(_outline(value), "signature", "signature and docstring")


def _source(value: Any, shell: InteractiveShell) -> str | None:
    """Return the source of a function or class; ``None`` where there is none in Python."""
    if inspect.isclass(value) and value.__module__ == "__main__":
        # Python looks for a class in its module's file, which a notebook's classes have not.
        return _class_of_a_cell(value, shell)
    try:
        return textwrap.dedent(inspect.getsource(value)).rstrip("\n")
    except (OSError, TypeError) as error:
        log_swallowed(error)
        return None


def _class_of_a_cell(value: type, shell: InteractiveShell) -> str | None:
    """Return the source of a class from the latest cell that defines one of its name.

    A class that the namespace has no more was defined by an earlier cell, which is not known.
    """
    names = value.__qualname__.split(".")
    held: Any = shell.user_ns.get(names[0])
    for name in names[1:]:
        held = getattr(held, name, None)
    if held is not value:
        return None
    for source in reversed(shell.user_ns.get("In", ())):
        if f"class {names[-1]}" not in source:
            continue
        try:
            nodes: list[ast.AST] = [ast.parse(source)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for name in names:
            inside = (node for parent in nodes for node in ast.walk(parent) if node is not parent)
            nodes = [
                node for node in inside if isinstance(node, ast.ClassDef) and node.name == name
            ]
        if nodes and isinstance(node := nodes[-1], ast.ClassDef):
            begin = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            return textwrap.dedent("\n".join(source.splitlines()[begin - 1 : node.end_lineno]))
    return None


def _outline(value: Any) -> str:
    """Return name, parameters and docstring of what has no source in Python."""
    kind = "class" if inspect.isclass(value) else "function"
    try:
        parameters = str(inspect.signature(value))
    except (TypeError, ValueError):
        parameters = "(…)"
    name = ".".join(filter(None, [getattr(value, "__module__", None), value.__qualname__]))
    return f"{kind} {name}{parameters}\n{inspect.getdoc(value) or ''}".rstrip()
