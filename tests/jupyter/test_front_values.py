"""What goes in front of a question: cells above, cells with a tag, and the last error."""

from __future__ import annotations

import pytest
from logged import Emulator
from shells import Shell, asked

from chatmagic.conversation import template
from chatmagic.conversation.question import ASKED_OF_AN_ERROR


def block(source: str, output: str = "") -> str:
    """Return a cell as it stands in front of a question."""
    return f"{template.cell_text(source, output)}\n\n"


def test_the_last_error_goes_in_front(shell: Shell, emulator: Emulator) -> None:
    """With the source of its cell and its traceback; what was typed stays as it was typed."""
    shell.do("def half(x):\n    return x / 0")
    assert shell.run("half(1)  # {{ 1 + 1 }}").error is not None
    ran = shell.page("%chat_fix a number?", "cell")
    (prompt,) = asked(emulator)[-1]
    assert prompt == (
        "A cell of this notebook that raised an error:\n\n"
        "```python\nhalf(1)  # {{ 1 + 1 }}\n```\n\nThe error:\n\n```\n"
        "Traceback (most recent call last):\n"
        "  this cell, line 1\n    half(1)  # {{ 1 + 1 }}\n"
        "  another cell, line 2, in half\n    return x / 0\n"
        "ZeroDivisionError: division by zero\n```\n\n"
        f"{ASKED_OF_AN_ERROR} I wanted: a number?"
    )
    (record,) = ran.records
    assert record["prompt"] == f"{ASKED_OF_AN_ERROR} I wanted: a number?"
    assert record["parameters"] == {"with_error": True}
    (value,) = record["values"]
    assert (value["kind"], value["expression"]) == ("error", "ZeroDivisionError")
    assert "text" not in value
    live = ran.messages[0]["data"]["text/html"]
    assert f"in front of the question: error ZeroDivisionError ({value['size']} chara" in live
    assert "in front" not in ran.html


def test_the_nearest_cells_above_go_in_front(shell: Shell, emulator: Emulator) -> None:
    """With what they showed, in their order; ours are not counted, nor what is not kept."""
    shell.page("x = 1  # {{ y }}", "a")
    shell.page("print(x)\nx + 1", "b")
    shell.page("%chat echo:no", "c")
    shell.shell.run_cell("hidden = 1", store_history=False)
    shell.page("%config ChatMagics.last = 0", "d")
    ran = shell.page("%%chat --above 2\nWhat is {{ x }} {x}?", "e")
    first, second = block("x = 1  # {{ y }}"), block("print(x)\nx + 1", "1\n2")
    assert asked(emulator)[-1] == [f"{first}{second}What is 1 {{x}}?"]
    shell.page("%chat --above 1 Again", "f")
    assert asked(emulator)[-1] == [f"{second}Again"]
    shell.page("%chat --above 9 Again", "g")
    assert asked(emulator)[-1] == [f"{first}{second}Again"]
    (record,) = ran.records
    assert record["prompt"] == "What is {{ x }} {x}?"
    assert record["parameters"]["above"] == 2
    names = [(value.get("kind"), value["expression"]) for value in record["values"]]
    assert names == [("cell", "2 above"), ("cell", "1 above"), (None, "x")]
    assert "text" not in record["values"][0]
    html = ran.messages[0]["data"]["text/html"]
    assert f"in front of the question: cell 2 above ({len(first) - 2} characters), cell 1" in html


@pytest.mark.parametrize("how", ["page", "machine"])
def test_the_cells_since_the_question_above_go_along(
    shell: Shell, emulator: Emulator, how: str
) -> None:
    """Each goes along once in a thread, by its place in the page or by the order of the runs."""
    names = iter("abcdefghijkl")

    def run(source: str) -> None:
        shell.page(source, next(names)) if how == "page" else shell.machine(source)

    def ask(source: str) -> str:
        run(source)
        return asked(emulator)[-1][-1]

    run("x = 1")
    run("%config ChatMagics.above = 'new'")
    assert ask("%%chat\nfirst") == f"{block('x = 1')}first"
    assert ask("%%chat\nnothing is new") == "nothing is new"
    run("y = 2")
    run("print(y)")
    assert ask("%chat --thread other aside") == (
        f"{block('x = 1')}{block('y = 2')}{block('print(y)', '2')}aside"
    )
    assert ask("%%chat\nsecond") == f"{block('y = 2')}{block('print(y)', '2')}second"
    assert ask("%chat --above 0 none") == "none"
    assert ask("%chat --above 1 one") == f"{block('print(y)', '2')}one"
    both = "%chat one of two\n%chat --above all two of two"
    run("z = 3")
    run(both)
    one, two = (body[-1] for body in asked(emulator)[-2:])
    assert one == f"{block('z = 3')}one of two"
    assert two.count("A cell of this notebook") == 4


def test_a_question_that_runs_again_sends_what_is_new_above_it(
    shell: Shell, emulator: Emulator
) -> None:
    """Not what ran below; two questions of one cell send it once."""
    shell.page("a = 1", "a")
    shell.page("%%chat --above new\necho:q", "q")
    shell.page("b = 2", "b")
    shell.page("%chat --above new echo:r\n%chat --above new echo:again", "r")
    assert [body[-1] for body in asked(emulator)[-2:]] == [f"{block('b = 2')}echo:r", "echo:again"]
    shell.page("%%chat --above new\necho:q", "q")
    assert asked(emulator)[-1][-1] == f"{block('a = 1')}echo:q"


@pytest.mark.parametrize("how", ["page", "machine"])
def test_cells_between_a_question_and_its_retry_go_along(
    shell: Shell, emulator: Emulator, how: str
) -> None:
    """The retry has carried none of them, nor has an earlier reply that was put back."""
    ask = "%%chat --above new --no-history\necho:r"
    cells = ("a = 1", "%%chat --above new\necho:q", "b = 2", "%chat_retry", "c = 3", ask)
    more = ("%chat_retry --pick 1", ask, "%chat_retry\n%chat --above new --no-history echo:r")
    for name, source in zip("abcdefghi", (*cells, *more), strict=True):
        shell.page(source, name) if how == "page" else shell.machine(source)
    sent = [body for body in asked(emulator) if body[-1].endswith("echo:r")]
    assert sent == [[f"{block('b = 2')}{block('c = 3')}echo:r"]] * 3


def test_a_limit_leaves_out_the_oldest_outputs_first(shell: Shell, emulator: Emulator) -> None:
    """And then the oldest cells; a line says so, and no mark is lost or made by it."""
    shell.page("print('o' * 400)", "a")
    shell.page("print('n' * 400)", "b")
    shell.page("%config ChatMagics.above_limit = 700", "c")
    ran = shell.page("%chat --above new why?", "d")
    first = template.cell_text("print('o' * 400)", "", 400)
    assert "Its output of 400 characters is left out." in first
    second = block("print('n' * 400)", "n" * 400)
    assert asked(emulator)[-1][-1] == f"{first}\n\n{second}why?"
    assert "left out of the cells above: 1 output (above_limit is 700)" in ran.everything
    shell.page("%config ChatMagics.above_limit = 150", "c")
    ran = shell.page("%chat --no-history --above all why?", "e")
    assert asked(emulator)[-1][-1].count("A cell of this notebook") == 1
    assert "2 outputs and 1 whole cell (above_limit is 150)" in ran.everything


def test_a_cell_that_raised_goes_along_with_its_error(shell: Shell, emulator: Emulator) -> None:
    """Below what it showed before."""
    shell.run("print('so far')\n1 / 0")
    shell.machine("%chat --above 1 why?")
    (prompt,) = asked(emulator)[-1]
    assert "Its output:\n\n```\nso far\n```\n\nThe error that it raised:\n\n```\nTrace" in prompt
    assert prompt.endswith("ZeroDivisionError: division by zero\n```\n\nwhy?")
    # Python itself prints a group, with the files that this kernel keeps its cells in.
    shell.run("raise ExceptionGroup('all', [ValueError('v')])")
    shell.machine("%chat --no-history --above 1 why?")
    (prompt,) = asked(emulator)[-1]
    assert "The error that it raised:" in prompt
    assert "Its output" not in prompt


def test_cells_with_a_label_or_a_tag_go_in_front(shell: Shell, emulator: Emulator) -> None:
    """A label stands in the source, a tag comes from the page; those above before those below."""
    load = "#| label: load\n#| echo: false\nprint('rows')"
    shell.machine(load)
    assert "The prompt is empty." in shell.fails("%%chat --above 1\n").traceback[0]
    assert emulator.requests == []
    shell.machine("y = 2")
    shell.do("z = 3", tags=["plots", 5])
    shell.machine("%chat --tag load how many?")
    assert asked(emulator)[-1] == [f"{block(load, 'rows')}how many?"]
    shell.machine("%chat --no-history --tag plots --above 1 and?")
    assert asked(emulator)[-1] == [f"{block('z = 3')}and?"]
    quoted = '#| label: "load"\nprint(2)'
    shell.machine(quoted)
    shell.machine("%chat --no-history --tag load how many?")
    assert asked(emulator)[-1] == [f"{block(quoted, '2')}how many?"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--above 1 x", "No cell above this one has run since chatmagic was loaded."),
        ("--tag load x", "No cell with the label or tag load has run since chatmagic was loaded."),
        ("--above x x", "--above takes a whole number, 0 or more, or new or all, not 'x'."),
    ],
)
def test_what_is_not_there_fails_before_sending(
    shell: Shell, emulator: Emulator, line: str, message: str
) -> None:
    """Nothing is sent, nothing is evaluated, and the message says what is missing."""
    shell.page("%chat_credits", "a")
    ran = shell.fails(f"%%chat {line}\n{{{{ 1 / 0 }}}}", cell="b")
    assert ran.traceback[0] == f"InputError: {message} Nothing was sent."
    assert emulator.requests == []
