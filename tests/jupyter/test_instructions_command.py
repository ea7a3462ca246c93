"""``%%chat_instructions``: what a cell gives, what is shown of it, and what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from logged import Emulator
from pages import Paper
from shells import KEY, Shell, asked, bodies

from chatmagic.archive import notebook, restore
from chatmagic.audit import audit
from chatmagic.session.current import current_session
from chatmagic.session.events import Ask, View

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
    assert "system_role = True" in shell.do("%chat").printed
    with Emulator() as other:
        said = shell.do(f"%chat_connect {other.url}").printed
        assert "Set for another address, so not used here: system_role." in said


def test_what_is_shown_of_them(shell: Shell) -> None:
    """As what they are: by their cell, by the state, and beside each turn that carried them."""
    ran = shell.page(TERSE, "i")
    assert ran.texts == ["Instructions for the questions below: 9 characters."]
    assert "<details" in ran.html
    assert ">Be terse.</pre>" in ran.html
    assert "(with instructions of 9 characters)" in shell.do("%chat echo:a").printed
    assert "(with instructions of 9 characters; " in shell.do("%chat_history").texts[0]
    assert "Instructions: 9 characters: “Be terse.”" in shell.do("%chat").printed
    shown = shell.do("%chat_instructions").printed
    assert shown == "Questions here are sent with instructions of 9 characters:\n\nBe terse.\n"
    ended = shell.page("%%chat_instructions\n \n", "i")
    assert ended.texts == ["No instructions for the questions below."]
    assert shell.do("%chat_instructions").printed == "No instructions hold here.\n"
    assert "Instructions" not in shell.do("%chat").printed
    assert "stale" in shell.do("%chat_history").texts[0]


def test_what_a_page_is_shown_is_safe(shell: Shell) -> None:
    """Whatever stands in them is text."""
    ran = shell.page("%%chat_instructions\n<script>alert(1)</script>\x1b[31m", "i")
    assert "<script" not in ran.html
    assert "\x1b" not in ran.html
    assert "\x1b" not in shell.do("%chat_instructions").printed


def test_undo_redo_and_reset(shell: Shell, emulator: Emulator) -> None:
    """They are changes as any other; a reset leaves what holds, and says so."""
    shell.page(TERSE, "i")
    assert shell.do("%chat_undo").texts == ["Took back the instructions."]
    assert shell.do("%chat_redo").texts == ["Redid the instructions."]
    shell.page("%chat echo:a", "a")
    reset = shell.do("%chat_reset").texts[0]
    assert reset.startswith("A new conversation begins. 1 turn set aside;")
    assert reset.endswith(" The instructions hold on.")
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
    assert (turn.instructions.expression, turn.instructions.text) == ("my rules.md", None)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%chat_instructions Be terse.", "takes --from FILE or nothing in its line."),
        ("%%chat_instructions --from", "takes --from FILE or nothing in its line."),
        ("%%chat_instructions --from absent.md", "absent.md is not there."),
        ("%%chat_instructions --from binary", "binary is not a text in UTF-8."),
        ("%%chat_instructions --from large.csv", "large.csv is larger than 1 MiB."),
        ("%%chat_instructions --from .", "InputError: . cannot be read: it is not a file."),
        ("%%chat_instructions --from f.md\nBe terse.", "stand in the cell and are to be read"),
        ("%chat_instructions Be terse.", "Instructions have a cell of their own."),
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
    assert "Nothing was changed." in ran.traceback[0]
    shell.page("%chat echo:a", "a")
    assert asked(emulator) == [["Be terse.\n\necho:a"]]


def test_a_key_in_a_file_is_in_no_output(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would stand in the cell's output, and in each request; so would another secret."""
    Path("rules.md").write_text(f"Sign with {KEY}.")
    ran = shell.fails("%%chat_instructions --from rules.md", cell="i")
    assert "The instructions hold your API key. Nothing was changed." in ran.traceback[0]
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    Path("rules.md").write_text("Log in with tr0ub4dor&staple.")
    ran = shell.fails("%%chat_instructions --from rules.md", cell="i")
    assert ran.traceback[0] == (
        "InputError: rules.md holds the value of the environment variable DB_PASSWORD. "
        "Nothing was changed."
    )
    assert "tr0ub4dor" not in ran.everything
    assert shell.do("%chat_instructions").printed == "No instructions hold here.\n"


def test_the_audit_tells_what_a_file_gave(shell: Shell, tmp_path: Path) -> None:
    """Its text is in the output and not in the source."""
    Path("rules.md").write_text("Be terse.")
    paper = Paper(tmp_path / "paper.ipynb")
    for id, source in (("i", TERSE), ("j", "%%chat_instructions --from rules.md")):
        paper.ran(id, source, shell.page(source, id).outputs)
    (found,) = audit.audit_all([paper.save()])
    assert found.problems == ()
    assert found.values == ("cell 2: instructions rules.md (9 characters): all of it",)


def test_a_comment_for_a_tool_is_refused(shell: Shell) -> None:
    """Above the cell's line or below it, as in a question."""
    for cell in ("#| label: x\n%%chat_instructions\nBe.", "%%chat_instructions\n# NBVAL_SKIP\nBe."):
        error = str(shell.fails(cell, cell="i").error)
        assert error.endswith(
            "Nothing was sent. Use a cell tag instead (raises-exception, nbval-skip)."
        )


def test_the_notebook_tells_of_them(shell: Shell, tmp_path: Path) -> None:
    """Its outputs alone restore them, with what each turn carried; the audit agrees."""
    paper = Paper(tmp_path / "paper.ipynb")
    cells = [
        ("i", TERSE),
        ("a", "%%chat\necho:a"),
        ("j", "%%chat_instructions"),
        ("b", "%%chat\nb"),
    ]
    for id, source in cells:
        paper.ran(id, source, shell.page(source, id).outputs)
    records = [one["metadata"]["chatmagic"] for one in _outputs(paper)]
    assert [record["kind"] for record in records] == [
        "instructions",
        "turn",
        "instructions",
        "turn",
    ]
    assert records[1]["prompt"] == "echo:a"
    assert set(records[1]["instructions"]) == {"expression", "size", "sha256", "kind"}
    assert "instructions" not in records[3]
    restored = restore.restore(notebook.read(paper.save()))
    live = current_session().conversation
    assert restored.conversation.instructions == live.instructions
    assert restored.conversation.stale_turns() == ()
    assert [owner for owner, _ in restored.conversation.slots] == [owner for owner, _ in live.slots]
    (found,) = audit.audit_all([paper.path])
    assert (found.problems, found.in_order) == ((), True)


def test_the_audit_finds_other_instructions(shell: Shell, tmp_path: Path) -> None:
    """Edited after they ran; run again after the turn; not where a load may have brought them."""
    paper = Paper(tmp_path / "paper.ipynb")
    for id, source in (("i", TERSE), ("a", "%%chat\necho:a")):
        paper.ran(id, source, shell.page(source, id).outputs)
    paper.cells["i"]["source"] = ["%%chat_instructions\n", "Be long."]
    (found,) = audit.audit_all([paper.save()])
    assert found.problems == ("cell 1: its instructions were edited after it ran.",)
    longer = "%%chat_instructions\nBe long."
    paper.ran("i", longer, shell.page(longer, "i").outputs)
    (found,) = audit.audit_all([paper.save()])
    assert found.problems == (
        "cell 2: it was asked with other instructions than those that stand above it.",
    )
    paper.cells = {"l": {**paper.cells["i"], "source": "%chat_load f.json"}, **paper.cells}
    (found,) = audit.audit_all([paper.save()])
    assert not any("asked with other instructions" in line for line in found.problems)


@pytest.mark.parametrize("file", ["talk.json", "talk.ipynb"])
def test_a_saved_conversation_has_them(shell: Shell, emulator: Emulator, file: str) -> None:
    """Loaded, the next question carries what it would have carried, and no turn is stale."""
    shell.page(TERSE, "i")
    shell.page("%chat echo:a", "a")
    shell.do(f"%chat_save {file}")
    shell.do("%chat_undo")
    shell.do("%chat_undo")
    assert "stale" not in shell.do(f"%chat_load {file}").printed
    assert current_session().conversation.stale_turns() == ()
    shell.do("%chat echo:b")
    assert sent(emulator)[-1] == ["Be terse.\n\necho:a", "echo:b"]
    assert audit.audit_all([Path(file)])[0].in_order or file.endswith("json")


def test_they_are_in_the_text_to_read(shell: Shell) -> None:
    """As typed, before the turns below them."""
    shell.page(TERSE, "i")
    shell.page("%chat echo:a", "a")
    shell.do("%chat_save talk.md")
    text = Path("talk.md").read_text()
    assert "## Instructions\n\n```text\nBe terse.\n```\n\n## 1. You" in text


@pytest.mark.parametrize("kind", ["cassette", "notebook"])
def test_a_replay_knows_them(shell: Shell, emulator: Emulator, tmp_path: Path, kind: str) -> None:
    """It answers what was recorded, and says where other instructions go along."""
    paper = Paper(tmp_path / "paper.ipynb")
    file = "talk.jsonl" if kind == "cassette" else str(paper.path)
    if kind == "cassette":
        shell.do(f"%chat_cassette {file} --record")
    cells = [("i", TERSE), ("a", "%%chat\necho:a"), ("b", "%%chat\necho:b")]
    for id, source in cells:
        paper.ran(id, source, shell.page(source, id).outputs)
    paper.save()
    before = len(emulator.requests)
    shell.do(f"%chat_cassette {file} --replay")
    for id, source in cells:
        shell.page(source, id)
    shell.page("%%chat_instructions\nBe long.", "i")
    changed = shell.fails("%%chat\necho:a", cell="a")
    assert "the instructions that go along are not the recorded ones" in changed.everything
    shell.page("%%chat_instructions", "i")
    without = shell.fails("%%chat\necho:a", cell="a")
    assert "carries no instructions, and the recorded one carried some" in without.everything
    assert len(emulator.requests) == before


def test_the_replay_of_a_request_without_any(shell: Shell) -> None:
    """A request that carries some is another one."""
    shell.do("%chat_cassette talk.jsonl --record")
    shell.page("%%chat\necho:a", "a")
    shell.do("%chat_cassette talk.jsonl --replay")
    shell.do("%chat_reset")
    shell.page(TERSE, "i")
    ran = shell.fails("%%chat\necho:a", cell="b")
    assert "carries instructions, and the recorded one carried none" in ran.everything


def _outputs(paper: Paper) -> list[dict[str, Any]]:
    return [output for cell in paper.cells.values() for output in cell["outputs"]]
