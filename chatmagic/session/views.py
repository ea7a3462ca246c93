"""Views of one ask: what shows its reply while it arrives, and at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chatmagic.advice import Place
from chatmagic.archive import output
from chatmagic.protocol.thoughts import CLOSE, split_unopened
from chatmagic.safe_text import to_terminal
from chatmagic.session.ask import Outcome


class View:
    """Display of one ask; this one shows nothing (see :mod:`chatmagic.jupyter.reply_views`)."""

    def waiting(self, holder: str) -> None:
        """Show that this ask waits for another one.

        Args:
            holder: name of the cell or panel whose ask it waits for.
        """

    def began(self, notes: Sequence[str]) -> None:
        """Show that the request is about to be sent.

        Args:
            notes: lines on special facts of this ask.
        """

    def sent(self) -> None:
        """Show that the request goes to the network now."""

    def fragment(self, text: str) -> None:
        """Show a fragment that arrived.

        Args:
            text: the fragment of the reply.
        """

    def ended(self, outcome: Outcome) -> None:
        """Show the reply, whole or in part.

        Args:
            outcome: the end of the ask, with its reply.
        """

    def failed(self) -> None:
        """Show that there is no reply; the conversation is as it was."""

    def thought(self, reasoning: str) -> None:
        """Show the thoughts of a model that gave no reply.

        Args:
            reasoning: the thoughts, as far as they arrived.
        """


class Listener(View):
    """View of a caller that needs only the fragments, or nothing."""

    def __init__(self, on_fragment: Callable[[str], object] | None) -> None:
        """Call ``on_fragment`` with each fragment."""
        self._on_fragment = on_fragment

    def fragment(self, text: str) -> None:
        """Pass a fragment on.

        Args:
            text: the fragment of the reply.
        """
        if self._on_fragment is not None:
            self._on_fragment(text)


THOUGHTS_ABOVE: Final = (
    f"The text up to {CLOSE} is the model's thoughts. The reply is what follows it."
)


class TextView(View):
    """View that writes the text of a reply as it arrives."""

    place: Place = "notebook"
    """The place that shows the lines under it."""

    def __init__(self) -> None:
        """Write nothing yet."""
        self._written: list[str] = []
        """The text of the reply that was written, in pieces."""
        self._has_thoughts = False
        """Whether thoughts were written as the reply."""

    def write(self, text: str) -> None:
        """Write a text to standard output.

        Args:
            text: the text, made safe.
        """
        print(text, end="", flush=True)  # noqa: T201 - that is its task

    def safe(self, text: str) -> str:
        """Return a text of a reply in which nothing acts in a terminal.

        Args:
            text: a fragment.
        """
        return to_terminal(text)

    def take(self, text: str) -> None:
        """Write a text of the reply.

        Args:
            text: a fragment.
        """
        if text:
            self._written.append(text)
            self.write(self.safe(text))

    def fragment(self, text: str) -> None:
        """Write a fragment.

        Args:
            text: the fragment of the reply.
        """
        self.take(text)

    def ended(self, outcome: Outcome) -> None:
        """Write the rest of the reply: after an interrupt more may have arrived.

        Args:
            outcome: the end of the ask, with its reply.
        """
        reply = outcome.reply
        written = "".join(self._written)
        if reply.reasoning is None or reply.text.startswith(written):
            self.take(reply.text[len(written) :])
            return
        # Thoughts without a beginning were written as the reply, and cannot be taken back.
        self._has_thoughts = True
        thoughts, begun = split_unopened(written)
        self.take(reply.text[len(begun) :] if thoughts else f"\n{CLOSE}\n\n{reply.text}")

    def lines(self, outcome: Outcome) -> list[str]:
        """Return the lines under a reply: its state, then its credits.

        Args:
            outcome: the reply, with its record.
        """
        reply = outcome.reply
        record = outcome.record
        lines = [
            *([THOUGHTS_ABOVE] if self._has_thoughts else []),
            *output.seam_lines(reply, record, self.place),
            *output.state_lines(reply, self.place),
        ]
        return [line for line in (*lines, output.credit_line(reply, record)[1]) if line]
