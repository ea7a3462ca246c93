"""The commands: what each declares, how their lines are read, and each taken out of the list."""

from __future__ import annotations

import pytest
from shells import Shell

from chatmagic.conversation.options import Option
from chatmagic.errors import InputError
from chatmagic.jupyter import commands
from chatmagic.jupyter.commands.command import Command


def do_something(*_: object) -> None:
    """Do something."""


A_COMMAND = Command(
    "chat_x",
    do_something,
    (Option(("--all",), "take all"), Option(("--name",), "name it", metavar="NAME")),
    words=("FILE",),
)
NAMES = [command.name for command in commands.COMMANDS]


@pytest.mark.parametrize(
    ("line", "words", "options"),
    [
        ("", "", {}),
        (" my talk.json ", "my talk.json", {}),
        ("--all talk.json", "talk.json", {"--all": ""}),
        ("'my talk.json' --all", "my talk.json", {"--all": ""}),
        ("a--b.json -x", "a--b.json -x", {}),
        ("url --name=x", "url", {"--name": "x"}),
        ("--name  x url", "url", {"--name": "x"}),
        ("url --name", "url", {"--name": ""}),
    ],
)
def test_a_line_is_read(line: str, words: str, options: dict[str, str]) -> None:
    """Options stand before or behind the words; words may stand in quotes."""
    given = A_COMMAND.parse(line)
    assert (given.line, given.words, given.options) == (line, words, options)


@pytest.mark.parametrize("line", ["--key=sk-secret-1", "file --sk-secret-1", "--all=sk-secret-1"])
def test_another_option_is_refused_and_not_repeated(line: str) -> None:
    """It might be a key."""
    with pytest.raises(InputError, match="no other option here than --all, --name") as caught:
        A_COMMAND.parse(line)
    assert "sk-" not in str(caught.value)
    assert caught.value.hint == "%chat_x? shows its help."


def test_words_are_refused_where_none_are_declared() -> None:
    """So is any option; a hint of the command's own says how its line is written."""
    bare = Command("chat_y", do_something, hint="so")
    assert bare.parse(" ").words == ""
    for line in ("y", "--all"):
        with pytest.raises(InputError, match="%chat_y takes no") as caught:
            bare.parse(line)
        assert caught.value.hint == "so"


def test_the_help_lists_the_options() -> None:
    """Below what the command does."""
    assert A_COMMAND.help == "Do something.\n\n    --all        take all\n    --name NAME  name it"


@pytest.mark.parametrize("name", NAMES)
def test_each_command_works_without_the_others(
    name: str, bare: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out of the list it is no magic, and the others still load, have help and run."""
    left = tuple(command for command in commands.COMMANDS if command.name != name)
    monkeypatch.setattr(commands, "COMMANDS", left)
    shell = Shell()
    magics = shell.shell.magics_manager.magics["line"]
    assert [each for each in magics if each.startswith("chat")] == [each.name for each in left]
    for command in left:
        assert command.help.splitlines()[0] in shell.do(f"%{command.name}?").printed
    shell.do("%chat_connect emulator" if name != "chat_connect" else "%chat_undo")
    if name not in {"chat", "chat_connect"}:
        assert shell.machine("%chat echo:works").texts[0].startswith("works")
    if name != "chat_history":
        assert "conversation" in shell.do("%chat_history").texts[0] or name != "chat"
    assert bare is not None
