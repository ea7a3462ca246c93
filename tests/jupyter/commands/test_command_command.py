"""The commands: what each declares, how their lines are read, and each taken out of the list."""

from __future__ import annotations

import pytest
from cases import each_case
from logged import Emulator
from shells import Shell

from chatmagic.conversation.options import Option
from chatmagic.errors import InputError
from chatmagic.jupyter import commands
from chatmagic.jupyter.commands.command import UNCHANGED, Command
from chatmagic.other_tools import MAGICS
from chatmagic.session.current import current_session


def do_something(*_: object) -> None:
    """Do something."""


A_COMMAND = Command(
    "chat_x",
    do_something,
    (
        Option("--all", "take all"),
        Option("--none", "take none"),
        Option("--name NAME", "name it"),
        Option("--from FILE", "read it"),
    ),
    forms=("[FILE|here] [--all|--none] [--name]", "--from"),
)
NAMES = [command.name for command in commands.COMMANDS]


@each_case(
    ("line", "words", "options"),
    [
        ("", "", {}),
        (" my talk.json ", "my talk.json", {}),
        ("--all talk.json", "talk.json", {"--all": ""}),
        ("'my talk.json' --all", "my talk.json", {"--all": ""}),
        ("a--b.json -x", "a--b.json -x", {}),
        ("url --name=x", "url", {"--name": "x"}),
        ("--name  x url", "url", {"--name": "x"}),
        ("--from 'my file'", "", {"--from": "my file"}),
        ("--from=my file", "", {"--from": "my file"}),
    ],
)
def test_a_line_is_read(line: str, words: str, options: dict[str, str]) -> None:
    """Options stand before or behind the words; words may stand in quotes."""
    given = A_COMMAND.parse(line)
    assert (given.line, given.words, given.options) == (line, words, options)


@pytest.mark.parametrize(
    "line",
    ["--key=sk-1", "file --sk-1", "--all=sk-1", "sk-1 --name", "--all --none", "sk-1 --from f"],
)
def test_a_line_of_another_form_is_refused_and_not_repeated(line: str) -> None:
    """It might hold a key; the forms are told, and the words of them are offered by Tab."""
    with pytest.raises(InputError) as caught:
        A_COMMAND.parse(line)
    forms = "[FILE|here] [--all|--none] [--name NAME], or --from FILE"
    assert caught.value.message == f"%chat_x takes {forms} after its name. {UNCHANGED}"
    assert caught.value.hint == "%chat_x? shows its help."
    assert A_COMMAND.words == ("FILE", "here")
    assert A_COMMAND.refusal("No.").hint == f"%chat_x takes {forms} after its name."


TAKES = "after its name."
"""The end of the error for a line of another form."""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *((f"{name} all", "takes nothing after") for name in ("undo", "redo", "reset")),
        ("cassette f --record --replay", TAKES),
        ("cassette --prune 1", TAKES),
        ("cassette f --else nobody", "[FILE] [--replay] [--else emulator] [--by-order]"),
        ("code 2", "%chat_code takes a turn's number from 1 to 1."),
        ("code --all", "%chat_code takes [TURN] [--prose] after its name."),
        ("connect a b", TAKES),
        ("connect http://a --key=sk-1", TAKES),
        ("connect --ask", TAKES),
        ("continue 0", "%chat_continue takes a turn's number from 1 to 1."),
        (f"continue {'9' * 4301}", "%chat_continue takes a turn's number from 1 to 1."),
        ("continue --list", "%chat_continue takes [-n, --max-tokens N] [TURN] after its name."),
        ("continue", "The reply of turn 1 is complete: there is nothing to continue."),
        ("credits everything", "%chat_credits takes [--usage] after its name."),
        ("hide", "%chat_hide takes [--show] TURN after its name."),
        *((f"hide {n}", "takes a turn's number from 1") for n in ("x", "0", "2", "-1", "1 2")),
        ("history x --request", "%chat_history takes a turn's number from 1 to 1."),
        ("history 2", "%chat_history takes a turn's number from 1 to 1."),
        ("instructions Be terse.", "%chat_instructions takes [--from FILE] after its name."),
        ("instructions --from a.md", "Instructions need a cell of their own."),
        ("load --now talk.json", TAKES),
        ("login sk-1", "%chat_login takes [--forget] after its name."),
        ("retry 0", "%chat_retry takes a turn's number from 1 to 1."),
        ("retry again", "%chat_retry takes a turn's number from 1 to 1."),
        ("retry --pick 2", "--pick takes the number of a reply, from 1 to 1."),
        ("retry --pick x 1", "--pick takes the number of a reply, from 1 to 1."),
        ("retry --pick 1 --list", "[TURN], or --list [TURN], or --pick K [TURN], or --stale"),
        ("retry --stale 2", TAKES),
        ("save", "%chat_save takes FILE [--force] [--reasoning] after its name."),
        ("thread a b", "%chat_thread takes a name: a letter, then letters, digits, _, - and"),
        ("thread 2", "%chat_thread takes a name"),
        ("thread --fork x a", "--fork takes the number of a turn, or 0"),
        ("thread --fork 1 --delete a", TAKES),
    ],
)
def test_what_is_typed_wrongly_changes_nothing(
    shell: Shell, emulator: Emulator, line: str, said: str
) -> None:
    """One line says so, and repeats nothing that might be a key; nothing is sent."""
    shell.page("%chat echo:a", "a")
    depth, endpoint = current_session().conversation.undo_depth, shell.kernel.endpoint()
    ran = shell.run(f"%chat_{line}", cell="x")
    assert said in ran.traceback[0]
    assert ran.traceback[0].endswith(UNCHANGED)
    assert "sk-1" not in "".join(ran.traceback)
    assert (len(emulator.requests), current_session().conversation.undo_depth) == (1, depth)
    assert shell.kernel.endpoint() == endpoint


def test_the_help_lists_the_options() -> None:
    """Below what the command does."""
    assert A_COMMAND.help.splitlines()[:3] == ["Do something.", "", "    --all        take all"]


@pytest.mark.parametrize("name", NAMES)
def test_each_command_works_without_the_others(
    name: str, bare: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out of the list it is no magic, and the others still load, have help and run."""
    left = tuple(command for command in commands.COMMANDS if command.name != name)
    monkeypatch.setattr(commands, "COMMANDS", left)
    shell = Shell()
    magics = shell.shell.magics_manager.magics["line"]
    ours = [magic for magic in magics if magic.startswith("chat") and magic not in MAGICS]
    assert ours == [command.name for command in left]
    for command in left:
        assert command.help.splitlines()[0] in shell.do(f"%{command.name}?").printed
    shell.do("%chat_connect emulator" if name != "chat_connect" else "%chat_undo")
    if name not in {"chat", "chat_connect"}:
        assert shell.machine("%chat echo:works").texts[0].startswith("works")
    if name != "chat_history":
        assert "conversation" in shell.do("%chat_history").texts[0] or name != "chat"
    assert bare is not None
