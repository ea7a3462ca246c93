"""Lines as a person types them, and what IPython makes of them."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

from cases import each_case
from IPython.core.inputtransformer2 import TransformerManager

from chatmagic.jupyter import input_transformers


def manager() -> TransformerManager:
    """Give IPython's own transformers with ours among them."""
    made = TransformerManager()
    shell: Any = SimpleNamespace(input_transformer_manager=made)
    input_transformers.install(shell)
    return made


def calls(code: str) -> list[tuple[Any, ...]]:
    """Give the magics that a cell calls, with their words, in order.

    White space at a line's end is no part of a prompt; the options drop it.
    """
    tree = ast.parse(manager().transform_cell(code))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    magics = []
    for node in found:
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("run_"):
            name, line, *body = [ast.literal_eval(word) for word in node.args]
            magics.append((node.func.attr, name, line.rstrip(), *body))
    return magics


@each_case(
    "prompt",
    [
        "What is a p-value?",
        "why??",
        "it's (unbalanced] {here",
        'say "hi',
        "'''",
        "$HOME {x} {{y}} \\n \\alpha",
        "# is this a comment?",
        "-t 0 what?",
        "x = %chat y?",
        "what does ; do?;",
        "0777 and 1__0 and 0x?",
    ],
)
def test_a_line_is_asked_as_typed(prompt: str) -> None:
    """A question is a question, whatever it holds and however it ends, alone or assigned."""
    asked = ("run_cell_magic", "chat", prompt, "\n")
    given = ("run_line_magic", "chat", prompt)
    assert calls(f"%chat {prompt}") == [asked]
    assert calls(f"  %chat {prompt}  \n") == [asked]
    assert calls(f"for i in range(3):\n    %chat {prompt}\n") == [asked]
    assert calls(f"if x:\n    r = %chat {prompt}\nelse:\n\t%chat {prompt}\n") == [given, asked]
    assert calls(f"def f():\n    if 1:\n        %chat {prompt}\n") == [asked]
    assert calls(f"r = %chat {prompt}") == [given]
    assert calls(f"a, b['c'].d = %chat {prompt}") == [given]
    assert calls(f"%chat {prompt}\nr = %chat {prompt}\nprint()") == [asked, given]
    assert calls(f">>> %chat {prompt}") == [asked]
    assert calls(f"In [3]: %chat {prompt}") == [asked]


LINE, CELL = "run_line_magic", "run_cell_magic"


@each_case(
    ("code", "call"),
    [
        ("%chat_fix a list?", (CELL, "chat_fix", "a list?", "\n")),
        ("r = %chat_fix a list?", (LINE, "chat_fix", "a list?")),
        ("%chat_fix ?", (LINE, "pinfo", "%chat_fix")),
        ("%%chat_fix -q\n>>> x\n", (CELL, "chat_fix", "-q", ">>> x\n")),
        ("%%chat_fix", (CELL, "chat_fix", "", "\n")),
        ("%%chat question?  \n", (CELL, "chat", "question?", "\n")),
        ("%chat?", (LINE, "pinfo", "%chat")),
        ("%chat??", (LINE, "pinfo2", "%chat")),
        ("%chat  ? ", (LINE, "pinfo", "%chat")),
        ("%%chat?", (LINE, "pinfo", "%%chat")),
        ("?%chat", (LINE, "pinfo", "%chat")),
    ],
)
def test_a_cell_is_one_call(code: str, call: tuple[str, ...]) -> None:
    """``%chat_fix`` takes words as ``%chat`` does; a name and a question mark ask for help."""
    assert calls(code) == [call]


def test_a_continued_line() -> None:
    """A backslash at a line's end goes on, as for any magic."""
    (asked,) = calls("%chat one \\\ntwo?\nx = 1")
    assert asked[2].split() == ["one", "two?"]
    (given,) = calls("r = %chat one \\\n   two?\n")
    assert given[2].split() == ["one", "two?"]
    assert calls("%chat ends in a backslash \\") == [
        ("run_cell_magic", "chat", "ends in a backslash \\", "\n")
    ]


@each_case(
    "code",
    [
        's = """\n%chat why?\n"""\n',
        "# %chat why?\n",
        "x = (1 %chat)\n",
        "f(a=1 %chat)\n",
        "print('a\\\n%chat why')\n",
        "%chat",
        "%chat  \n",
        "r = %chat",
        "%chat_fix",
        "%chat_undo?",
        "%chat_history 2",
        "%chatter why",
        "%%chatter a\nb\n",
        "%%chat_x\nb\n",
        "%%time\n%chat why\n",
    ],
)
def test_what_asks_nothing_goes_ipythons_own_way(code: str) -> None:
    """A string, a comment, a division by ``chat``, other commands and other people's magics."""
    assert manager().transform_cell(code) == TransformerManager().transform_cell(code)


@each_case(
    "body",
    [
        ">>> f(1)\n... more\n2\n",
        "In [1]: x\nOut[1]: 2\n",
        "  all indented\n    deeper\n",
        "\n\nblank lines first\n\n\n",
        "{x} {{y}} $z \\n \\alpha \\\nnext\n",
        "!ls\n?\nwhat?\n%timeit x\n%%bash\n",
        "tab\there, no-break\u00a0space, \u2028separator, \x0cpage\n",
        "windows\r\nline ends\r\n",
        "trailing spaces   \n  \n",
    ],
)
def test_a_body_is_sent_as_typed(body: str) -> None:
    """A cell's body reaches the magic byte for byte, and its line too."""
    expected = body if body.endswith("\n") else f"{body}\n"
    assert calls(f"%%chat\n{body}") == [("run_cell_magic", "chat", "", expected)]
    assert calls(f"%%chat -t 0 it's why?  \n{body}") == [
        ("run_cell_magic", "chat", "-t 0 it's why?", expected)
    ]
    assert calls(f"\n  \n%%chat\n{body}") == [("run_cell_magic", "chat", "", expected)]


@each_case(
    ("code", "status"),
    [
        ("%%chat", "incomplete"),
        ("%%chat\nfirst line\nit's ( not Python", "incomplete"),
        ("%%chat\nfirst line\n\n", "complete"),
        ("%chat why?", "complete"),
        ("%chat it's (", "complete"),
        ("r = %chat why?", "complete"),
        ("%chat go on \\", "incomplete"),
        ("for i in x:\n    %chat why?\n", "complete"),
    ],
)
def test_a_terminal_knows_when_a_cell_is_complete(code: str, status: str) -> None:
    """The body of a cell can be typed line by line; a blank line ends it."""
    assert manager().check_complete(code)[0] == status
