"""Tab in a shell, before what completes is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.completer import provisionalcompleter

from chatmagic.jupyter.completions import Completions
from chatmagic.jupyter.matcher import Matcher
from chatmagic.jupyter.settings import KernelSettings

if TYPE_CHECKING:
    from shells import Shell

MAGICS = {kind: {"chat": print} for kind in ("line", "cell")}


def test_what_completes_is_made_with_the_first_tab_in_a_cell_of_ours(shell: Shell) -> None:
    """IPython asks each matcher at every Tab; one that was closed is not asked."""
    made: list[str] = []

    def make() -> Completions:
        made.append("completions")
        return Completions(shell.shell, MAGICS, KernelSettings(), lambda: None)

    def tab(cell: str) -> None:
        with provisionalcompleter():
            list(shell.shell.Completer.completions(cell, len(cell)))

    matcher = Matcher(shell.shell, make)
    tab("repo")
    assert made == []
    tab("%%chat --la")
    tab("%%chat --st")
    assert made == ["completions"]
    matcher.close()
    assert matcher.match not in shell.shell.Completer.custom_matchers
