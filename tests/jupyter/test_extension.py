"""The extension as it is loaded and taken away, in a real shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shells import Shell, asked

from chatmagic.conversation import suggestions
from chatmagic.jupyter import extension

if TYPE_CHECKING:
    from logged import Emulator


def test_loading_twice_and_reloading(shell: Shell, emulator: Emulator) -> None:
    """Loading twice is harmless, and reloading keeps the conversation."""
    shell.machine("%chat echo:a")
    before = shell.shell.find_cell_magic("chat")
    again = shell.do("%load_ext chatmagic")
    extension.load(shell.shell)
    assert shell.shell.find_cell_magic("chat") == before
    assert again.warned == ""
    reloaded = shell.do("%reload_ext chatmagic")
    assert (reloaded.printed, reloaded.warned) == ("", "")
    shell.machine("%chat echo:b?")
    assert asked(emulator) == [["echo:a"], ["echo:a", "a", "echo:b?"]]


def test_unloading_leaves_nothing(bare: Shell) -> None:
    """Magics, transformers, formatters and configuration are as they were before."""
    fresh = Shell(extension=False)
    fresh.do("%unload_ext nothing_of_that_name")  # IPython's own magics come when used

    def found() -> tuple[Any, ...]:
        shell: Any = fresh.shell
        manager = shell.input_transformer_manager
        formatters = shell.display_formatter.formatters
        return (
            {kind: set(held) for kind, held in shell.magics_manager.magics.items()},
            set(shell.magics_manager.registry),
            list(manager.cleanup_transforms),
            list(manager.token_transformers),
            {
                kind: (set(held.type_printers), set(held.deferred_printers))
                for kind, held in formatters.items()
            },
            [type(item).__name__ for item in shell.configurables],
            {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()},
            shell.display_trap.hook,
        )

    before = found()
    loaded = fresh.do("%load_ext chatmagic")
    assert (loaded.printed, loaded.warned, loaded.messages) == ("", "", [])
    assert set(suggestions.COMMANDS) <= set(fresh.shell.magics_manager.magics["line"])
    assert found() != before
    fresh.do("%chat_connect emulator\nr = %chat -q echo:a")
    fresh.do("r")
    fresh.do("%unload_ext chatmagic")
    assert found() == before
    assert "UsageError" in repr(fresh.run("%%chat\nhello").error) or fresh.ran[-1].warned
    del bare


def test_a_replaced_magic_is_given_back(bare: Shell) -> None:
    """Somebody else's %%chat is replaced with one line of warning, and given back."""
    del bare
    fresh = Shell(extension=False)
    fresh.do("from IPython.core.magic import register_cell_magic, register_line_magic")
    fresh.do("@register_cell_magic\ndef chat(line, cell):\n    return 'theirs'")
    loaded = fresh.do("%load_ext chatmagic")
    assert len(loaded.warned.splitlines()) == 1
    assert "%unload_ext" in loaded.warned
    assert "Not connected" in fresh.fails("%%chat\nhello").traceback[0]
    fresh.do("%unload_ext chatmagic")
    assert fresh.do("%%chat\nhello").result == "theirs"
    assert "chat" not in fresh.shell.magics_manager.magics["line"]
