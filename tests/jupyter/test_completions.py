"""Tab in a cell that asks, as IPython's completer answers it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.terminal.ptutils import IPythonPTCompleter
from kernels import kernel
from project import ROOT
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from shells import Shell

from chatmagic.conversation.options import OPTIONS
from chatmagic.jupyter.commands import COMMANDS


def tab(shell: Shell, cell: str) -> list[str]:
    """Return what the cell's text becomes, up to the cursor, which stands at ``‸`` or at the end.

    Each completion is put in as a front end does it.
    """
    before, _, after = cell.partition("‸")
    completer = shell.shell.Completer
    with provisionalcompleter():
        completions = list(completer.completions(before + after, len(before)))
    assert all(each.end == len(before) for each in completions)
    return [before[: each.start] + each.text for each in completions]


def test_options(shell: Shell) -> None:
    """Every option of the table before the prompt, those that begin so, and none within it."""
    flags = {flag for option in OPTIONS for flag in (*option.flags, option.opposite) if flag}
    for line in ("%%chat ", "%chat ", "reply = %chat ", "%%chat -t 0.5 "):
        assert {text.removeprefix(line) for text in tab(shell, line)} == flags
        assert {text.removeprefix(line) for text in tab(shell, f"{line}-‸\nprompt")} == flags
    assert tab(shell, "%%chat --la") == ["%%chat --last"]
    assert tab(shell, "\n#| label: x\n%%chat --la‸\nwhy?") == ["\n#| label: x\n%%chat --last"]
    assert tab(shell, "%chat_fix --la") == ["%chat_fix --last"]
    assert tab(shell, "%%chat_fix\nimp") == []
    assert tab(shell, "x = 1\n%chat -q --no-h") == ["x = 1\n%chat -q --no-history"]
    assert tab(shell, "%chat why --la") == []
    assert tab(shell, "%chat -- --la") == []


def test_servers(bare: Shell, tmp_path: Path) -> None:
    """Those that come with the package, and the user's own; a row more is a name more."""
    table = ROOT / "chatmagic" / "client" / "servers.toml"
    servers = tomllib.loads(table.read_text("utf-8"))
    folder = tmp_path / "config" / "chatmagic"
    folder.mkdir(parents=True)
    (folder / "servers.toml").write_text('[lab]\nbase_url = "http://127.0.0.1:7"\n')
    names = {text.removeprefix("%chat_connect ") for text in tab(bare, "%chat_connect ")}
    assert {"emulator", "lab", *servers} == {name for name in names if name[0] != "-"}
    assert tab(bare, "%chat_connect ope") == ["%chat_connect openai", "%chat_connect openrouter"]
    (folder / "servers.toml").write_text("[lab")
    assert tab(bare, "%chat_connect em") == ["%chat_connect emulator"]
    assert tab(bare, "%chat_connect ope") == []


def test_values_of_options(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the table suggests; a variable for a NAME."""
    monkeypatch.chdir(tmp_path)
    assert tab(shell, "%%chat --last=") == [f"%%chat --last={n}" for n in (0, 1, 2, 4, 8)]
    assert tab(shell, "%%chat -t ") == [f"%%chat -t {n}" for n in ("0", "0.2", "0.7", "1")]
    assert tab(shell, "%%chat --format j") == ["%%chat --format json"]
    assert tab(shell, "%%chat --thread m") == ["%%chat --thread main"]
    shell.do("%chat_thread methods")
    assert tab(shell, "%%chat --thread m") == ["%%chat --thread main", "%%chat --thread methods"]
    assert tab(shell, "%%chat -t0.") == ["%%chat -t0.2", "%%chat -t0.7"]
    shell.do("reply_two = rest = _hidden = 1")
    assert tab(shell, "%chat -o re") == ["%chat -o reply_two", "%chat -o rest"]
    assert tab(shell, "%chat -o _") == []


CELLS = {
    "%%chat --la‸\nprompt": ["%%chat --last"],
    "%%chat\nin prose, imp‸": [],
    "%%chat\n🎈 {{ repo‸": ["%%chat\n🎈 {{ report"],
    "%%chat\nan end ‸": [],
}
"""Cells with the cursor in them, and what their text becomes up to it."""
PROSE = ["%%chat\nde", "%%chat\nimport o", "%%chat -q\nSee rep", "%chat whe", "%chat what is os.pa"]


@pytest.mark.parametrize(
    "cell", [*PROSE, "%%chat\n", "%%chat\n\\alp", "%%chat\n%ti", "%%chat\n'./"]
)
def test_prose_is_not_completed(shell: Shell, cell: str) -> None:
    """Nothing of the kernel's; IPython has no word for that, so this holds what does it."""
    shell.do("import os\nreport = 1")
    assert tab(shell, cell) == []
    shell.do("%unload_ext chatmagic")
    if cell in PROSE[:3]:
        assert tab(shell, cell)


@pytest.mark.parametrize("use_jedi", [False, True])
def test_names_between_braces(shell: Shell, *, use_jedi: bool) -> None:
    """The names of the namespace and what belongs to them, as in a cell of code."""
    shell.shell.Completer.use_jedi = use_jedi
    shell.do("import os\nreport = {'key': 1}\nresult = 'text'")
    assert tab(shell, "%%chat\nSee {{ repo") == ["%%chat\nSee {{ report"]
    assert tab(shell, "%%chat\n{{ 1 }} and {{repo‸}} so") == ["%%chat\n{{ 1 }} and {{report"]
    assert tab(shell, "%chat {{ len(repo") == ["%chat {{ len(report"]
    assert "%chat why {{ result.upper" in tab(shell, "%chat why {{ result.up")
    assert "%%chat\n{{ report['key" in tab(shell, "%%chat\n{{ report['k")
    begun = tab(shell, "%%chat\n{{ ")
    assert {"%%chat\n{{ report", "%%chat\n{{ result"} <= set(begun)
    assert not [text for text in begun if "%chat_" in text or text.endswith("print")]
    assert tab(shell, "%%chat\n{{ chat_hist") == []
    assert tab(shell, "%%chat\n{{ report }} repo") == []
    assert tab(shell, "%%chat\n\\frac{{a}\nrepo") == []
    assert tab(shell, "%%chat --raw\n{{ repo") == []
    shell.do("%config ChatMagics.raw = True")
    assert tab(shell, "%%chat\n{{ repo") == []
    assert tab(shell, "%%chat --no-raw\n{{ repo") == ["%%chat --no-raw\n{{ report"]


def test_turns_and_words_of_commands(shell: Shell) -> None:
    """The numbers of the turns that there are, and what the help of each command shows."""
    assert sorted(tab(shell, "%chat_history ")) == ["%chat_history --request", "%chat_history all"]
    shell.machine("%chat echo:a")
    shell.machine("%chat echo:b")
    words = ("--request", "1", "2", "all")
    assert sorted(tab(shell, "%chat_history ")) == [f"%chat_history {word}" for word in words]
    assert tab(shell, "%chat_history 2") == ["%chat_history 2"]
    assert tab(shell, "%chat_history wor") == []
    assert tab(shell, "%chat_connect em") == ["%chat_connect emulator"]
    assert tab(shell, "%chat_connect https://x.example --m") == [
        "%chat_connect https://x.example --model",
        "%chat_connect https://x.example --models",
    ]
    assert tab(shell, "%chat_connect ol") == ["%chat_connect ollama"]
    assert tab(shell, "%chat_credits --u") == ["%chat_credits --usage"]
    assert tab(shell, "%chat_connect https://x.example --model x") == []
    assert tab(shell, "%chat_login ") == ["%chat_login --forget"]
    assert tab(shell, "%chat_cassette --else e") == ["%chat_cassette --else emulator"]
    flags = {text.split()[-1] for text in tab(shell, "%chat_cassette tape.jsonl --")}
    (cassette,) = (command for command in COMMANDS if command.name == "chat_cassette")
    assert flags == {option.flags[0] for option in cassette.options}
    assert tab(shell, "%chat_undo re") == []


def test_file_names(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In folders, after a quote or an option; hidden ones where they are meant.

    A name with spaces is completed once its spaces are typed.
    """
    folder = tmp_path / "here"
    folder.joinpath("a folder").mkdir(parents=True)
    for name in ("a folder/talk.json", "a talk.json", "notes.md", ".hidden"):
        folder.joinpath(name).touch()
    monkeypatch.chdir(folder)
    assert tab(shell, "%chat_save ") == [
        *("%chat_save notes.md", "%chat_save --force", "%chat_save --reasoning"),
    ]
    assert tab(shell, "%chat_load a t") == ["%chat_load a talk.json"]
    assert tab(shell, '%chat_load "a f') == ['%chat_load "a folder/']
    assert tab(shell, "%chat_save --force a folder/t") == ["%chat_save --force a folder/talk.json"]
    assert tab(shell, "%chat_cassette .h") == ["%chat_cassette .hidden"]
    assert tab(shell, "%chat_load nothing/") == []
    folder.joinpath("[1].json").touch()
    assert tab(shell, "%chat_load [1].") == ["%chat_load [1].json"]
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(folder))
    assert tab(shell, "%chat_load ~/a t") == ["%chat_load ~/a talk.json"]
    assert tab(shell, "%%chat_instructions --from n") == ["%%chat_instructions --from notes.md"]
    assert tab(shell, "%%chat_instructions\n{{ she") == []


def test_other_cells_are_ipythons(shell: Shell) -> None:
    """Magics by their names, Python, and magics of others."""
    shell.do("report = 1")
    assert "%%chat" in tab(shell, "%%cha")
    assert tab(shell, "# %chat\nrepo") == ["# %chat\nreport"]
    assert tab(shell, "%chat why?\nrepo") == ["%chat why?\nreport"]
    assert tab(shell, "%%timeit\nrepo") == ["%%timeit\nreport"]


def test_a_kernel_and_a_terminal_are_answered(shell: Shell) -> None:
    """A kernel's ``complete_request``, as pages send it, and IPython's terminal."""
    with kernel() as running:
        running.run("%load_ext chatmagic\nreport = 1")
        for cell, matches in CELLS.items():
            before, _, after = cell.partition("‸")
            answer = running.complete(before + after, len(before))
            begun = before[: answer["cursor_start"]]
            assert [begun + match for match in answer["matches"]] == matches
            assert answer["cursor_end"] == len(before)
    shell.do("report = 1")
    completer = IPythonPTCompleter(ipy_completer=shell.shell.Completer)
    for cell, matches in CELLS.items():
        before, _, after = cell.partition("‸")
        document = Document(before + after, len(before))
        put = list(completer.get_completions(document, CompleteEvent()))
        assert [before[: len(before) + each.start_position] + each.text for each in put] == matches


@pytest.mark.usefixtures("emulator")
def test_models_that_were_used_are_offered(shell: Shell) -> None:
    """Beside those that were listed."""
    shell.page("%chat -m big echo:a", "a")
    assert tab(shell, "%%chat -m ") == ["%%chat -m big"]


HOSTILE = [
    *("m{open('PWN','w')}", "m{x", "x}", "$HOME", "a$b", 'm"', "m'", "`m`", "-m", "--force"),
    *("a b", "a.json --force", "a\\", "%time", "a%b", "!ls", "a!b", "m?", "??", "a\u00a0b"),
    *("m\u202etxt", "m\u200f", "m\u2066", "\x1b[2J", "a\tb", "\u3164", "\u200b", "\x7f", "\u2800"),
]
"""Names that a server gives its models, and a stranger a file."""


def test_no_name_that_acts_is_offered(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a model, a file or a variable: only names that are nothing else in a line."""
    folder = tmp_path / "here"
    (folder / "sub").mkdir(parents=True)
    monkeypatch.chdir(folder)
    for name in HOSTILE:
        (folder / f"{name}.json").touch()
        (folder / "sub" / name).touch()
    shell.kernel.settings.listed_models = ("good-1", *HOSTILE)
    shell.shell.user_ns.update(dict.fromkeys(["good", *HOSTILE], 1))
    for line in ("%chat_retry -m ", "r = %chat_retry -m ", "%%chat -m ", "%chat_connect --model "):
        assert tab(shell, line) == [f"{line}good-1"]
    assert tab(shell, "%chat_retry -m m") == tab(shell, "%%chat -m m{") == []
    assert tab(shell, "%%chat --schema ") == ["%%chat --schema good"]
    for line in ("%chat_load ", "%chat_save ", "%chat_cassette ", "%%chat_instructions --from "):
        offered = [text.removeprefix(line) for text in tab(shell, line)]
        assert [name for name in offered if not name.startswith("--")] == ["sub/"]
        # Behind a folder a dash begins no option.
        assert tab(shell, f"{line}sub/") == [f"{line}sub/--force", f"{line}sub/-m"]
    assert tab(shell, "%chat_load m") == []
    assert tab(shell, "%chat_load -") == ["%chat_load --force"]
