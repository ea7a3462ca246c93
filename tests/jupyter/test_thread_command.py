"""``%chat_thread``: what begins a thread, what lists them, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shells import KEY, asked

from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from logged import Emulator
    from shells import Shell


def test_a_thread_has_turns_and_numbers_of_its_own(shell: Shell, emulator: Emulator) -> None:
    """A command that takes a number counts where its cell stands; alone the threads are listed."""
    shell.page("%chat echo:a", "a")
    end = "This cell stands in the thread main. %chat_thread NAME begins another for the"
    alone = shell.page("%chat_thread", "l")
    assert alone.texts[0].splitlines()[1:] == [f"{end} questions below it."]
    assert "Thread sql" in shell.page("%chat_thread sql", "s").texts[0]
    shell.page("%%chat\necho:```python\nx\n```", "b")
    shell.page("%chat --thread main -q echo:c", "c")
    assert asked(emulator)[1:] == [["echo:```python\nx\n```"], ["echo:a", "a", "echo:c"]]
    history = shell.page("%chat_history", "h").texts[0]
    assert history.startswith("1. echo:```python")
    assert "1 turn, in the thread sql, in the order of the first run." in history
    assert "echo:```python" in shell.page("%chat_history 1 --request", "h").texts[0]
    assert "1 to 1" in shell.fails("%chat_history 2").traceback[0]
    assert "cell" in shell.page("%chat_code 1", "h").texts[0]
    rows = shell.page("%chat_thread", "l").texts[0].splitlines()
    assert rows[0].startswith("main: turns 2, tokens ")
    assert rows[0].endswith(": echo:c")
    assert rows[1].startswith("sql: turns 1, tokens ")
    assert rows[2] == "This cell stands in the thread main."
    assert "the thread sql" in shell.page("%chat_thread", "m").texts[0].splitlines()[2]
    said = "Conversation: 3 turns; this cell is in the thread sql."
    assert said in shell.page("%chat", "h").printed
    assert "it is asked in the thread sql" in shell.page("%chat --dry x", "h").texts[0]
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
    assert gone == "The thread new: 1 turn set aside; %chat_undo takes that back."
    assert len(current_session().conversation) == 3
    words = "There is no thread enw. The threads: main, new. No turn was set aside."
    assert shell.page("%chat_thread --delete enw", "y").texts == [words]
    shell.page("%chat_undo", "u")
    assert shell.page("%chat_undo", "u").texts == ["Took back the deletion (1 turn)."]
    shell.page("%chat_undo", "u")
    assert shell.page("%chat_undo", "u").texts == ["Took back the thread."]
    assert "main" in shell.page("%chat_thread", "l").texts[0].splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "a b",
            "%chat_thread takes a name: a letter, then letters, digits, _, - and",
        ),
        ("2", "%chat_thread takes a name"),
        ("--delete", "%chat_thread takes a name"),
        ("--fork x a", "--fork takes the number of a turn, or 0"),
        ("--fork 2 a", "The thread main has 1 turn above this cell. Nothing was changed."),
        ("--fork 1 main", "The thread main has turns above this cell already."),
        ("--fork 1 --delete a", "begins a thread or deletes one. Nothing was changed."),
        ("--show a", "takes no other option here than --delete, --fork. Nothing was changed."),
    ],
)
def test_what_is_refused(shell: Shell, line: str, words: str) -> None:
    """In one line, and the conversation is as before."""
    shell.page("%chat echo:a", "a")
    depth = current_session().conversation.undo_depth
    ran = shell.run(f"%chat_thread {line}", cell="x")
    assert words in ran.traceback[0]
    assert current_session().conversation.undo_depth == depth


def test_the_key_is_no_name(shell: Shell) -> None:
    """It is not repeated."""
    shell.shell.user_ns["name"] = KEY
    ran = shell.run("%chat_thread $name", cell="x")
    assert "The name holds your API key. Nothing was changed." in ran.traceback[0]
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


def test_a_thread_that_is_no_name_is_refused(shell: Shell, emulator: Emulator) -> None:
    """At an ask, too."""
    said = shell.run("%chat --thread 2 echo:x", cell="a").traceback[0]
    assert "--thread takes a name: a letter, then letters, digits, _, - and ., 40 at most" in said
    assert asked(emulator) == []
