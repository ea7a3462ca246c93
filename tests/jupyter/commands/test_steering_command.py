"""``%%chat_instructions``: what a cell gives, what is shown of it, and what is kept.

``%chat_thread``: what begins a thread, what lists them, and what is refused.

``%chat_hide`` and ``--hide``: what they leave out, what the history says, what is refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from logged import Emulator
from pages import Paper
from shells import KEY, Shell, asked, bodies

from chatmagic.audit import audit
from chatmagic.jupyter.commands.command import UNCHANGED
from chatmagic.session.ask import Ask
from chatmagic.session.current import current_session
from chatmagic.session.views import View

TERSE = "%%chat_instructions\nBe terse."


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the cells run in an empty folder."""
    monkeypatch.chdir(tmp_path)


def sent(emulator: Emulator) -> list[list[str]]:
    """Give the user's messages of each request."""
    return [
        [message["content"] for message in body["messages"] if message["role"] == "user"]
        for body in bodies(emulator)
    ]


def test_they_go_along_with_the_questions_below(shell: Shell, emulator: Emulator) -> None:
    """In front of the first message that is sent, also of a line, Python, and with --last."""
    shell.page("%chat echo:above", "a")
    shell.page(TERSE, "i")
    shell.page("%%chat\necho:b", "b")
    shell.page("%chat --last 0 echo:c", "c")
    shell.page("%chat --no-history echo:alone", "d")
    shell.page("import chatmagic\nchatmagic.ask('echo:e', last=1)", "e")
    shell.kernel.session.run(Ask("echo:p", last=0, entry="panel"), View())
    shell.page("%%chat_instructions", "j")
    shell.page("%chat --last 1 echo:f", "f")
    assert sent(emulator) == [
        ["echo:above"],
        ["Be terse.\n\necho:above", "echo:b"],
        ["Be terse.\n\necho:c"],
        ["echo:alone"],
        ["Be terse.\n\necho:c", "echo:e"],
        ["Be terse.\n\necho:p"],
        ["echo:p", "echo:f"],
    ]
    assert [turn.prompt for turn in current_session().conversation][:2] == ["echo:above", "echo:b"]


def test_the_text_is_sent_byte_for_byte(shell: Shell, emulator: Emulator) -> None:
    """Nothing in it is evaluated, stripped or expanded, and no line of it is a command."""
    text = '>>> {{ 1 + 1 }} {x} $x \\alpha\n  {"a": 1}\n{% if %}\n%chat no\n\t!ls'
    shell.page(f"%%chat_instructions\n{text}", "i")
    shell.page("%chat echo:a", "a")
    assert asked(emulator) == [[f"{text}\n\necho:a"]]


def test_a_role_of_their_own_where_the_user_says_so(shell: Shell, emulator: Emulator) -> None:
    """One that the server has: for the address that is connected when it is set."""
    shell.page(TERSE, "i")
    shell.do("%config ChatMagics.system_role = True")
    shell.page("%chat echo:a", "a")
    shell.page("%chat echo:b", "b")
    assert bodies(emulator)[1]["messages"][:2] == [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": "echo:a"},
    ]
    assert "system_role = True" in shell.do("%chat").texts[0]
    with Emulator() as other:
        said = shell.do(f"%chat_connect {other.url}").texts[0]
        assert "Not used: system_role, which was set for another address." in said


def test_what_is_shown_of_them(shell: Shell) -> None:
    """As what they are: by their cell, by the state, and beside each turn that carried them."""
    ran = shell.page(TERSE, "i")
    assert ran.texts == ["Instructions for the questions below: 9 characters."]
    assert "<details" in ran.html
    assert ">Be terse.</pre>" in ran.html
    assert "(with instructions of 9 characters)" in shell.do("%chat echo:a").printed
    assert "(with instructions of 9 characters; " in shell.do("%chat_history").texts[0]
    assert "Instructions: 9 characters: “Be terse.”" in shell.do("%chat").texts[0]
    shown = shell.do("%chat_instructions").printed
    assert shown == "Questions here are sent with instructions of 9 characters:\n\nBe terse.\n"
    ended = shell.page("%%chat_instructions\n \n", "i")
    assert ended.texts == ["No instructions for the questions below."]
    assert shell.do("%chat_instructions").printed == "No instructions apply here.\n"
    assert "Instructions" not in shell.do("%chat").texts[0]
    assert "stale" in shell.do("%chat_history").texts[0]


def test_what_a_page_is_shown_is_safe(shell: Shell) -> None:
    """Whatever stands in them is text."""
    ran = shell.page("%%chat_instructions\n<script>alert(1)</script>\x1b[31m", "i")
    assert "<script" not in ran.html
    assert "\x1b" not in ran.html
    assert "\x1b" not in shell.do("%chat_instructions").printed


def test_a_reset_leaves_what_holds(shell: Shell, emulator: Emulator) -> None:
    """And says so."""
    shell.page(TERSE, "i")
    shell.page("%chat echo:a", "a")
    assert shell.do("%chat_reset").texts[0].endswith(" The instructions still apply.")
    shell.page("%chat echo:b", "b")
    assert asked(emulator)[-1] == ["Be terse.\n\necho:b"]


def test_a_file_is_read_when_the_cell_runs(shell: Shell, emulator: Emulator) -> None:
    """Not before, and not again; its name is shown with what it said."""
    file = Path("my rules.md")
    file.write_bytes("\ufeffBe terse.\n".encode())
    ran = shell.page(f'%%chat_instructions --from "{file}"', "i")
    assert ran.texts == ["Instructions from my rules.md for the questions below: 9 characters."]
    file.write_text("Be long.\n")
    shell.page("%chat echo:a", "a")
    shell.page(f"%%chat_instructions --from={file}", "i")
    shell.page("%chat echo:a", "a")
    assert asked(emulator) == [["Be terse.\n\necho:a"], ["Be long.\n\necho:a"]]
    turn = current_session().conversation.turns[0]
    assert turn.instructions is not None
    assert (turn.instructions.expression, turn.instructions.text) == ("my rules.md", "Be long.")
    assert turn.record is not None
    assert turn.record.instructions == turn.instructions.bare


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%chat_instructions --from absent.md", f"absent.md is not there. {UNCHANGED}"),
        ("%%chat_instructions --from binary", f"binary is not a text in UTF-8. {UNCHANGED}"),
        ("%%chat_instructions --from large.csv", f"large.csv is larger than 1 MiB. {UNCHANGED}"),
        ("%%chat_instructions --from .", "InputError: . cannot be read: it is not a file."),
        ("%%chat_instructions --from f.md\nBe.", f"stand in the cell and in a file. {UNCHANGED}"),
    ],
)
def test_what_cannot_be_read_changes_nothing(
    shell: Shell, emulator: Emulator, cell: str, message: str
) -> None:
    """One line says so; those that held hold on."""
    Path("binary").write_bytes(b"\xff\xfe\x00")
    Path("large.csv").write_bytes(b"," * (2**20 + 1))
    shell.page(TERSE, "i")
    ran = shell.fails(cell, cell="i")
    assert message in ran.traceback[0]
    shell.page("%chat echo:a", "a")
    assert asked(emulator) == [["Be terse.\n\necho:a"]]


def test_a_key_in_a_file_is_in_no_output(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would stand in the cell's output, and in each request; so would another secret."""
    Path("rules.md").write_text(f"Sign with {KEY}.")
    ran = shell.fails("%%chat_instructions --from rules.md", cell="i")
    assert f"The instructions hold your API key. {UNCHANGED}" in ran.traceback[0]
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    Path("rules.md").write_text("Log in with tr0ub4dor&staple.")
    ran = shell.fails("%%chat_instructions --from rules.md", cell="i")
    assert ran.traceback[0] == (
        f"InputError: rules.md holds the value of the environment variable DB_PASSWORD. {UNCHANGED}"
    )
    assert "tr0ub4dor" not in ran.everything
    assert shell.do("%chat_instructions").printed == "No instructions apply here.\n"


def test_a_comment_for_a_tool_is_refused(shell: Shell) -> None:
    """Above the cell's line or below it, as in a question."""
    for cell in ("#| label: x\n%%chat_instructions\nBe.", "%%chat_instructions\n# NBVAL_SKIP\nBe."):
        error = str(shell.fails(cell, cell="i").error)
        assert error.endswith(
            "Nothing was sent. Use a cell tag instead (raises-exception, nbval-skip)."
        )


def test_the_audit_finds_other_instructions(shell: Shell, tmp_path: Path) -> None:
    """Edited after they ran; run again after the turn; not where a load may have brought them."""
    paper = Paper(tmp_path / "paper.ipynb")
    for id, source in (("i", TERSE), ("a", "%%chat\necho:a")):
        paper.ran(id, source, shell.page(source, id).outputs)
    paper.cells["i"]["source"] = ["%%chat_instructions\n", "Be long."]
    (found,) = audit.audit_all([paper.save()])
    assert found.problems == [
        "cell 1: its source does not ask for the instructions below it: edited, moved, or pasted."
    ]
    longer = "%%chat_instructions\nBe long."
    paper.ran("i", longer, shell.page(longer, "i").outputs)
    (found,) = audit.audit_all([paper.save()])
    assert found.problems == [
        "cell 2: it was asked with other instructions than those that stand above it."
    ]
    paper.cells = {"l": {**paper.cells["i"], "source": "%chat_load f.json"}, **paper.cells}
    (found,) = audit.audit_all([paper.save()])
    assert not any("asked with other instructions" in line for line in found.problems)


def test_a_thread_has_turns_and_numbers_of_its_own(shell: Shell, emulator: Emulator) -> None:
    """A command that takes a number counts where its cell stands; alone the threads are listed."""
    shell.page("%chat echo:a", "a")
    end = "This cell stands in the thread main. %chat_thread NAME begins another for the"
    alone = shell.page("%chat_thread", "l")
    assert alone.texts[0].splitlines()[2:] == [f"{end} questions below it."]
    assert "Thread sql" in shell.page("%chat_thread sql", "s").texts[0]
    shell.page("%%chat\necho:```python\nx\n```", "b")
    shell.page("%chat --thread main -q echo:c", "c")
    assert asked(emulator)[1:] == [["echo:```python\nx\n```"], ["echo:a", "a", "echo:c"]]
    history = shell.page("%chat_history", "h").texts[0]
    assert history.startswith("1. echo:```python")
    assert "1 turn, in the thread sql, in the order in which their cells first ran." in history
    assert "echo:```python" in shell.page("%chat_history 1 --request", "h").texts[0]
    assert "1 to 1" in shell.fails("%chat_history 2").traceback[0]
    assert "cell" in shell.page("%chat_code 1", "h").texts[0]
    rows = shell.page("%chat_thread", "l").texts[0].splitlines()
    assert rows[0] == "Thread  Turns  Last question"
    assert rows[1] == "main    2      echo:c"
    assert rows[2].startswith("sql     1      echo:")
    assert rows[3] == "This cell stands in the thread main."
    assert "the thread sql" in shell.page("%chat_thread", "m").texts[0].splitlines()[3]
    said = "Conversation: 3 turns; this cell is in the thread sql."
    assert said in shell.page("%chat", "h").texts[0]
    assert "in the thread sql" in shell.page("%chat --dry x", "h").texts[0]
    assert "<th scope" in shell.page("%chat_thread", "l").html


def test_a_number_means_the_same_turn_when_all_cells_run_again(shell: Shell) -> None:
    """Where no page tells an order, a cell that reads stays in its thread."""
    cells = {
        "a": "%chat echo:a",
        "h": "%chat_history 1",
        "s": "%chat_thread sql",
        "b": "%chat echo:b",
        "i": "%chat_history 1",
    }
    for again in range(2):
        for cell, source in cells.items():
            texts = shell.page(source, cell).texts
            if cell in "hi":
                assert f"echo:{'a' if cell == 'h' else 'b'}" in texts[0], again
    while "sql" in current_session().conversation.threads:
        shell.page("%chat_undo", "u")
    assert "main" in shell.page("%chat_thread", "i").texts[0].splitlines()[-1]


def test_a_fork_and_a_deletion_and_their_undo(shell: Shell, emulator: Emulator) -> None:
    """Each is a change; a number is of a turn above."""
    for name in "abc":
        shell.page(f"%chat echo:{name}", name)
    shell.page("%chat_thread --fork 1 new", "f")
    shell.page("%chat echo:d", "d")
    assert asked(emulator)[-1] == ["echo:a", "a", "echo:d"]
    gone = shell.page("%chat_thread --delete new", "x").texts[0]
    assert gone == "The thread new was deleted (1 turn); %chat_undo brings it back."
    assert len(current_session().conversation) == 3
    words = "There is no thread enw. The threads: main, new. Nothing was deleted."
    assert shell.page("%chat_thread --delete enw", "y").texts == [words]
    shell.page("%chat_undo", "u")
    assert shell.page("%chat_undo", "u").texts == ["Undone: the deletion (1 turn)."]
    shell.page("%chat_undo", "u")
    assert shell.page("%chat_undo", "u").texts == ["Undone: the thread."]
    assert "main" in shell.page("%chat_thread", "l").texts[0].splitlines()[-1]


def test_the_key_is_no_name(shell: Shell) -> None:
    """It is not repeated."""
    shell.shell.user_ns["name"] = KEY
    ran = shell.run("%chat_thread $name", cell="x")
    assert f"The name holds your API key. {UNCHANGED}" in ran.traceback[0]
    assert KEY not in ran.everything


@pytest.mark.parametrize(
    "source",
    [
        "%chat_thread a\n%chat echo:x",
        "%chat echo:x\n%chat_thread a",
        "import chatmagic\nchatmagic.ask('echo:x')\n%chat_thread a",
    ],
)
def test_a_cell_that_divides_asks_nothing(shell: Shell, emulator: Emulator, source: str) -> None:
    """Whatever comes first, it fails before anything is sent."""
    said = shell.run(source, cell="a").traceback[0]
    assert "A cell that begins a thread asks nothing beside it. Nothing was sent." in said
    assert (asked(emulator), current_session().conversation.threads) == ([], {"main": ()})


def test_hidden_turns_do_not_go_along(shell: Shell, emulator: Emulator) -> None:
    """The history marks them, and says what a question would carry; undo takes it back."""
    for name in "abc":
        shell.page(f"%chat echo:{name}", name)
    assert "would carry" not in shell.page("%chat_history", "l").texts[0]
    words = "Turn 2 is hidden: it does not go along with the questions below."
    assert shell.page("%chat_hide 2", "h").texts == [words]
    shell.page("%%chat --hide\necho:d", "d")
    current_session().ask("echo:e", hide=True)
    listed = shell.page("%chat_history", "l").texts[0]
    assert [n[0] for n in listed.split("\n") if "hidden: it does" in n] == [" ", " ", " "]
    assert listed.endswith("A question in this cell would carry 2 of them.")
    shell.page("%chat --dry x", "x")
    dry = shell.page("%chat --dry x", "x").texts[0]
    assert "sent without 3 hidden turns" in dry
    assert "turn 3" in dry
    assert shell.page("%chat_hide --show 4", "s").texts[0].startswith("Turn 4 goes along again")
    listed = shell.page("%chat_history", "l").texts[0]
    assert listed.endswith("would carry 3 of them.")
    shell.page("%chat echo:f", "f")
    assert asked(emulator)[-1] == ["echo:a", "a", "echo:c", "c", "echo:d", "d", "echo:f"]
    assert [shell.page("%chat_undo", "u").texts[0] for _ in range(2)] == [
        "Undone: the question “echo:f”.",
        "Undone: the hiding.",
    ]
    shell.shell.run_line_magic("config", "ChatMagics.last = 0")
    assert shell.page("%chat_history", "l").texts[0].endswith("would carry none of them.")


def test_above_a_hiding_the_turn_is_listed_as_it_goes_along(shell: Shell) -> None:
    """The table's notes and the line below it tell of the same place."""
    shell.page("%chat echo:a", "a")
    shell.page("%chat echo:b", "b")
    shell.page("%chat_hide 1", "h")
    listed = shell.page("%chat_history", "b").texts[0]
    assert "hidden: it does" not in listed
    assert listed.endswith("would carry 1 of them.")
    assert "hidden: it does" in shell.page("%chat_history", "l").texts[0]


def test_a_cell_that_hides_stands_below_all_where_it_ran_as_another_before(
    shell: Shell, emulator: Emulator
) -> None:
    """Its number is of the thread in which it hides, not of the one in which it read."""
    shell.page("%chat echo:a", "a")
    shell.page("%chat_history", "h")
    shell.page("%chat_thread sql", "s")
    shell.page("%chat echo:b", "b")
    shell.page("%chat_hide 1", "h")
    shell.page("%chat echo:c", "c")
    assert asked(emulator)[-1] == ["echo:c"]
