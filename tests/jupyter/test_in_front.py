"""What goes in front of a question: cells, and the last error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from shells import Shell, asked, bodies

from chatmagic.conversation import attachments
from chatmagic.conversation.request_facts import ASKED_OF_AN_ERROR
from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator

    from chatmagic.jupyter.cell_run import CellRun


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


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("%chat_fix", ASKED_OF_AN_ERROR),
        ("r = %chat_fix", ASKED_OF_AN_ERROR),
        ("%%chat_fix\nx {{ 1 }}", f"{ASKED_OF_AN_ERROR} I wanted: x 1"),
        ("%%chat --error\n", ASKED_OF_AN_ERROR),
        ("%%chat --error\nWhy {x} {{ 1 }}?", "Why {x} 1?"),
        ("%chat --error", ASKED_OF_AN_ERROR),
        ("%chat --error --raw {{ x }}?", "{{ x }}?"),
    ],
)
def test_ways_to_ask_about_an_error(
    shell: Shell, emulator: Emulator, code: str, question: str
) -> None:
    """One mechanism, and no empty ``Out`` of it."""
    shell.run("x = )")
    assert "Out" not in shell.machine(code).printed
    (prompt,) = asked(emulator)[-1]
    assert prompt.endswith(f"SyntaxError: unmatched ')'\n```\n\n{question}")
    assert prompt.startswith("A cell of this notebook that raised an error:\n\n```python\nx = )\n")


def block(source: str, output: str = "") -> str:
    """Return a cell as it stands in front of a question."""
    return f"{attachments.cell(source, output)}\n\n"


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


def test_cells_with_numbers_go_in_front(shell: Shell, emulator: Emulator) -> None:
    """By the numbers of their last runs; the live cell says that these are of this kernel."""
    shell.do("a = 1")
    shell.do("b = 2")
    shell.do("c = 3")
    numbers = [run.number for run in notes(shell)][-3:]
    ran = shell.page(f"%chat --cells {numbers[1]}-{numbers[2]},{numbers[0]} x", "cell")
    assert asked(emulator)[-1] == [block("a = 1") + block("b = 2") + block("c = 3") + "x"]
    assert (
        "the numbers of --cells hold in this kernel alone" in ran.messages[0]["data"]["text/html"]
    )
    assert ran.records[0]["values"][0]["expression"] == f"[{numbers[0]}]"


def notes(shell: Shell) -> list[CellRun]:
    """Return the runs that were noted."""
    return list(shell.shell.magics_manager.registry["ChatMagics"].notes.runs.values())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--above 1 x", "No cell above this one has run since chatmagic was loaded."),
        ("--tag load x", "No cell with the label or tag load has run since chatmagic was loaded."),
        ("--cells 90 x", "No cell with number 90 has run since chatmagic was loaded."),
        (
            "--cells 90-95 x",
            "No cell with a number from 90 to 95 has run since chatmagic was loaded.",
        ),
        ("--above 0 x", "--above takes a whole number, 1 or more, not '0'."),
        ("--cells 5-3 x", "--cells takes numbers of cells, such as 3, 3-5 or 3-5,7, not '5-3'."),
        ("--cells a x", "--cells takes numbers of cells, such as 3, 3-5 or 3-5,7, not 'a'."),
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


def test_cells_do_not_make_a_question(shell: Shell, emulator: Emulator) -> None:
    """What goes in front is no prompt by itself."""
    shell.do("x = 1")
    ran = shell.fails("%%chat --above 1\n")
    assert ran.traceback == ["InputError: The prompt is empty. Nothing was sent."]
    assert emulator.requests == []


def test_a_turn_is_stale_when_its_cell_says_something_else(shell: Shell) -> None:
    """Another source or output makes it stale, the same one fresh again."""
    shell.do("x = 1")
    shell.page("print(x)", "a")
    shell.page("%chat --above 1 echo:one", "b")
    conversation = current_session().conversation
    seen: list[object] = []
    unfollow = current_session().follow(seen.append)
    assert conversation.stale_turns() == ()
    shell.page("print(x)", "a")
    assert (conversation.stale_turns(), seen) == ((), [])
    shell.page("x = 2\nprint(x)", "a")
    assert [turn.typed for turn in conversation.stale_turns()] == ["echo:one"]
    assert [type(event).__name__ for event in seen] == ["Changed"]
    assert conversation.turns[0] in conversation.stale_turns()
    assert list(conversation.marks().values()) == ["stale"]
    shell.page("%%chat --above 1\necho:one", "b")
    assert conversation.stale_turns() == ()
    unfollow()


def test_run_all_sends_the_same_again(shell: Shell, emulator: Emulator) -> None:
    """In the same kernel, where every cell has run already, and as a machine runs it."""
    cells = {
        "a": "x = 1\nprint(x)",
        "b": "#| label: load\nprint('rows')",
        "c": "%%chat --above 3\none",
        "d": "y = 2",
        "e": "%%chat --above 1 --tag load\ntwo",
        "f": "1 / 0",
        "g": "%chat_fix",
        "h": "z = 3",
    }
    sent: list[list[object]] = []
    for how in ("page", "page", "machine"):
        if how == "machine":
            shell.do("%chat_reset\n%unload_ext chatmagic\n%load_ext chatmagic")
        before = len(emulator.requests)
        for cell, source in cells.items():
            shell.run(source, cell=cell if how == "page" else None, person=how == "page")
        sent.append(bodies(emulator)[before:])
    assert sent[0] == sent[1] == sent[2]
    assert len(sent[0]) == 3


def test_a_saved_conversation_asks_with_the_same_cells(shell: Shell, tmp_path: Path) -> None:
    """The notebook that is made of it has the options, and the question as typed."""
    shell.do("#| label: load\nx = 1")
    shell.machine("%chat -q --above 1 --tag load What is {{ x }}?")
    shell.run("1 / 0")
    shell.machine("%chat_fix")
    shell.do(f"%chat_save {tmp_path / 'talk.ipynb'}")
    cells = json.loads((tmp_path / "talk.ipynb").read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    assert sources[1:] == [
        "%%chat --above 1 --tag load\nWhat is {{ x }}?",
        f"%%chat --error\n{ASKED_OF_AN_ERROR}",
    ]
    loaded = shell.do(f"%chat_load {tmp_path / 'talk.ipynb'}").printed
    assert "cell load, {{ x }}: the value was not kept" in loaded
    assert "error ZeroDivisionError: the value was not kept" in loaded
