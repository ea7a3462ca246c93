"""View of a reply in a shell: the reply on standard output, all else on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from chatmagic.archive import output
from chatmagic.session.events import HELD_BACK, View
from chatmagic.session.paced import Paced
from chatmagic.text import to_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.session.events import Answer


class ShellView(View):
    """View that writes a reply as it comes, into a terminal and a pipe alike.

    No character of a reply acts in a terminal, as a pipe may end in one.
    """

    def __init__(self) -> None:
        """Write nothing yet."""
        self.is_broken = False
        """Whether standard output takes nothing any more."""
        self._count = 0
        """How many characters of the reply were taken."""
        self._paced = Paced(self._write)

    def began(self, notes: Sequence[str]) -> None:
        """Say what is particular about this question."""
        for note in notes:
            say(note)

    def fragment(self, text: str) -> None:
        """Write a fragment; soon, with others."""
        if self.is_broken:
            raise BrokenPipeError
        self._count += len(text)
        self._paced.put(to_terminal(text))

    def failed(self) -> None:
        """Write what came."""
        self._paced.flush()

    def ended(self, answer: Answer) -> None:
        """End the reply's last line, and say what is known of it."""
        reply = answer.reply
        # What came after an interrupt is kept, too.
        self._paced.put(to_terminal(reply.text[self._count :]))
        self._paced.flush()
        if not (reply.text or "\n").endswith("\n"):
            self._write("\n")
        lines = [*output.state_lines(reply), output.credit_line(reply, answer.record)]
        if reply.held_back:
            lines.append(HELD_BACK)
        if not self.is_broken:
            for line in filter(None, lines):
                say(line)

    def _write(self, text: str) -> None:
        if self.is_broken:
            return
        try:
            print(text, end="", flush=True)
        except OSError:
            self.is_broken = True
            raise


def say(line: str) -> None:
    """Write a line to standard error."""
    print(f"({to_terminal(line)})", file=sys.stderr, flush=True)
