"""The magic of another extension tells the way to ask here, and goes with ours."""

from __future__ import annotations

import pytest
from logged import Emulator
from shells import Shell

from chatmagic.other_tools import COMMANDS, MAGICS, PROMPTS


@pytest.mark.parametrize(
    ("cell", "way"),
    [
        ("%%ai openai-chat:gpt-4o -f code\nWhy?", "Here it is %%chat -m gpt-4o with the same"),
        ("%%ai\nWhy?", "Here it is %%chat with the same prompt"),
        ("%ai list", COMMANDS["list"]),
        ("%ai help", COMMANDS["help"]),
        ("%ai listen", "Here it is %%chat with"),
        ("%%ai {key}\nWhy?", "Here it is %%chat with"),
        ("%%llm\nWhy?", "Here it is %%chat with the same prompt"),
        ("%%chatgpt\nWhy?", "Here it is %%chat with the same prompt"),
    ],
)
def test_the_magic_of_another_extension(
    shell: Shell, emulator: Emulator, cell: str, way: str
) -> None:
    """The cell fails, and nothing is sent."""
    shown = "\n".join(shell.fails(cell).traceback)
    name = cell.split(maxsplit=1)[0].strip("%")
    assert f"{name} is of {MAGICS[name]}, which is not loaded. Nothing was sent." in shown
    assert way in shown
    assert emulator.requests == []


def test_the_magic_of_another_stays(shell: Shell) -> None:
    """Whether it is loaded before ours or behind it; ours goes with the extension."""
    manager = shell.shell.magics_manager
    assert {"ai"} <= manager.magics["cell"].keys() & manager.magics["line"].keys()
    shell.do("%unload_ext chatmagic")
    assert "ai" not in manager.magics["cell"]

    def theirs() -> None:
        """Stand for the magic of another extension."""

    manager.magics["cell"]["ai"] = theirs
    shell.do("%load_ext chatmagic")
    assert manager.magics["cell"]["ai"] is theirs
    shell.do("%unload_ext chatmagic")
    assert manager.magics["cell"]["ai"] is theirs
    assert "ai" not in manager.magics["line"]
    shell.do("%load_ext chatmagic")


@pytest.mark.parametrize("word", PROMPTS)
def test_a_command_of_another_tool_is_no_prompt(
    shell: Shell, emulator: Emulator, word: str
) -> None:
    """It would be sent, and paid for; a sentence with it is sent."""
    shown = "\n".join(shell.fails(f"%chat {word}").traceback)
    assert "Nothing was sent." in shown
    assert PROMPTS[word] in shown
    assert emulator.requests == []
