"""Tab, by IPython's matchers: the first Tab in a cell of ours loads what completes it.

IPython asks its matchers in the order of their priority, and the first that suppresses the
others decides. Ours decides wherever a line or a body of a magic of ours is typed, so that
prose is not completed as code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from IPython.core.completer import context_matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.jupyter.completions import Completions

_PRIORITY: Final = 1_000


class Matcher:
    """Matcher of one shell for the cells that ask.

    Args:
        shell: the shell.
        completions: makes what completes such a cell, with the first Tab in one.
    """

    def __init__(self, shell: InteractiveShell, completions: Callable[[], Completions]) -> None:
        """Add the matcher to the shell's."""
        self._completions = completions
        self._made: Completions | None = None
        self._completer: Any = shell.Completer
        self._completer.custom_matchers.append(self.match)

    def close(self) -> None:
        """Remove the matcher."""
        self._completer.custom_matchers.remove(self.match)

    @context_matcher(identifier="chatmagic", priority=_PRIORITY)  # type: ignore[untyped-decorator]
    def match(self, context: CompletionContext) -> SimpleMatcherResult:
        """Return the completions of a place in a cell that asks; none, elsewhere."""
        if "%chat" not in context.full_text:
            return {"completions": []}
        if self._made is None:
            self._made = self._completions()
        return self._made.of(context)
