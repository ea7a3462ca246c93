"""The conversation shown, and changes of it taken back, in a real shell."""

from __future__ import annotations

from logged import Emulator
from shells import Shell, asked

from chatmagic.conversation.record import sealed
from chatmagic.session.current import current_session


def test_undo_redo_and_reset(shell: Shell, emulator: Emulator) -> None:
    """Each takes its step, says which, and leaves a record of its own."""
    shell.page("%%chat\necho:a", "one")
    said = {
        "%chat_undo": ("undo", "Undone: the question “echo:a”."),
        "%chat_redo": ("redo", "Redone: the question “echo:a”."),
        "%chat_reset": ("reset", "A new conversation begins. It leaves out 1 earlier turn;"),
    }
    for code, (kind, words) in said.items():
        ran = shell.machine(code)
        data = ran.outputs[0]["data"]
        assert ran.records == [sealed({"version": 1, "kind": kind}, data)]
        assert ran.texts[0].startswith(words)
    assert len(current_session().conversation) == 0
    assert shell.machine("%chat_undo").texts == ["Undone: the reset (1 turn)."]
    shell.machine("%chat_undo")
    assert shell.machine("%chat_undo").texts == ["Nothing to undo."]
    shell.page("%chat echo:b", "two")
    assert asked(emulator)[-1] == ["echo:b"]
    assert shell.machine("%chat_redo").texts == ["Nothing to redo."]


def test_history(shell: Shell) -> None:
    """One line a turn, one turn in full, everything, and one clear line for anything else."""
    for code in ("%chat_history", "%chat_history all"):
        assert shell.do(code).texts == [
            "The conversation is empty. %chat_load restores the saved notebook's conversation."
        ]
    assert "and there is none" in shell.fails("%chat_history 1").traceback[0]
    assert shell.do("%chat_history word").texts == ["0 of 0 turns hold “word”."]
    shell.machine("%%chat\necho:first *words*")
    shell.machine("%%chat\necho:" + "long " * 40)
    table = shell.do("%chat_history")
    assert "1. echo:first words\n   first words\n" in table.texts[0]
    assert "<th scope" in table.html
    one = shell.do("%chat_history 1")
    assert "first *words*" in one.texts[0]
    assert "<em>words</em>" in one.html
    assert "long" not in one.texts[0]
    assert "long " * 40 in shell.do("%chat_history all").texts[0]
    for wrong in ("0", "3", "-1"):
        assert "1 to 2" in shell.fails(f"%chat_history {wrong}").traceback[0]
    shell.do("%chat_thread other")
    empty = "The thread other has no turn yet. %chat_thread lists the threads."
    assert shell.do("%chat_history").texts == [empty]


def test_history_finds_turns(shell: Shell) -> None:
    """By the prompt as typed or the reply, whatever the case; shown as typed, too, and undone."""
    shell.do("secret = 'patient 4711'")
    shell.machine("%%chat -t 0.5\necho:" + "long " * 40 + "Σωμα at the end, 42")
    shell.machine("%%chat\necho:about {{ secret[:7] }}")
    shell.machine("%%chat\necho:other")
    found = shell.do("%chat_history σΩΜΑ AT the")
    assert "(temperature 0.5" in found.texts[0]
    assert "1 of 3 turns holds “σΩΜΑ AT the”. %chat_history 1 shows" in found.texts[0]
    assert "<td" in found.html
    assert "2. echo:about {{ secret[:7] }}" in shell.do("%chat_history secret").texts[0]
    assert "2. " in shell.do("%chat_history PATIENT").texts[0]
    assert "1 of 3 turns holds “echo:o”" in shell.do("%chat_history echo:o").texts[0]
    assert "3 of 3 turns hold “ECHO:”. " in shell.do("%chat_history ECHO:").texts[0]
    assert "1 of 3 turns holds “42”" in shell.do('%chat_history "42"').texts[0]
    assert "0 of 3 turns hold “all”." in shell.do("%chat_history 'all'").texts[0]
    assert shell.do("%chat_history (no pattern|a").texts[0].startswith("0 of 3 turns hold")
    shell.do("%chat_undo")
    for code in ("%chat_history", "%chat_undo"):
        said = shell.do(code).everything
        assert "{{ secret[:7] }}" in said
        assert "echo:about patient" not in said


def test_the_turns_of_a_page(shell: Shell) -> None:
    """Two numbers list these turns; what is no such page is looked for as a word."""
    for prompt in "abc":
        shell.machine(f"%chat echo:{prompt}")
    assert shell.do("%chat_history 1-2").texts[0].endswith("Turns 1 to 2 are listed.")
    assert shell.do("%chat_history 2-4").texts == ["0 of 3 turns hold “2-4”."]
