"""Views of one reply: live in a page, once for a machine, printed in a terminal.

A view receives the events of one ask from :meth:`chatmagic.session.session.Session.run`: its
beginning, each fragment, and its end. The last state of a view holds only facts of the reply's own
response, and none of this kernel, clock or machine. So a notebook that runs again shows the same
text.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable, Sequence
from html import escape
from math import inf
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, clear_output, display

from chatmagic.advice import joined_sentences
from chatmagic.archive import output
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn
from chatmagic.render import gauge
from chatmagic.render.sanitize import QUIET, frame, live_box, live_mark
from chatmagic.safe_text import UNTYPESET, unlinked
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.events import Event, Waiting, failure
from chatmagic.session.views import TextView, View

WAITING: Final = "… waiting for the reply"
QUEUED: Final = "chatmagic-waiting chatmagic-queued"
"""Classes of the mark of a question that waits for another one."""
_SECONDS_BETWEEN: Final = 0.055
"""Least time between two prints in a kernel; Jupyter drops output above 1,000 messages a second."""


class OutputPlace:
    """Place in the output of the running cell, where each output replaces the one before.

    It can be changed after the cell has ended, and from any thread, also while another cell
    captures its own outputs.
    """

    def __init__(self) -> None:
        """Show nothing yet."""
        self.is_empty = True
        """Whether nothing was shown yet."""
        self._name = DisplayHandle().display_id
        self._publisher = InteractiveShell.instance().display_pub
        self._context = contextvars.copy_context()

    def show(self, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        """Show an output of chatmagic.

        Args:
            data: the data, by type.
            metadata: the metadata, with a record if it has one.
        """
        is_update = not self.is_empty
        self.is_empty = False
        self._context.copy().run(
            self._publisher.publish,
            data=data,
            metadata=metadata,
            transient={"display_id": self._name},
            update=is_update,
        )

    def note(self, html: str, text: str) -> None:
        """Show a message of chatmagic that is no reply.

        Args:
            html: safe HTML.
            text: the same in words.
        """
        self.show(*output.of_message(html, text))


class Once(View):
    """View of a reply that has ended, drawn once: for machines, and for ``stream = off``."""

    def ended(self, outcome: Outcome) -> None:
        """Show the reply.

        Args:
            outcome: the end of the ask, with its reply.
        """
        show(*output.of_turn(outcome.reply, outcome.record))

    def thought(self, reasoning: str) -> None:
        """Show the thoughts of a model that gave no reply, folded.

        Args:
            reasoning: the thoughts, as far as they arrived.
        """
        show(*output.of_thoughts(reasoning))


class Live(Once):
    """View of a reply in a page while it streams, by updates of one display.

    Args:
        ask: the ask of the reply.
        drawing: the kernel's drawing loop.
        alone: whether the running cell holds nothing but this ask, so that a failed ask can remove
            its waiting mark.
    """

    def __init__(self, ask: Ask, drawing: DrawingLoop, *, alone: bool) -> None:
        """Show nothing yet."""
        self._ask = ask
        self._drawing = drawing
        self._alone = alone
        self._notes = ""
        self._thoughts = ""
        self._is_waiting = False
        self._place = OutputPlace()
        self.release: Callable[[], object] | None = None
        """Lets the cell of a question in the background end; ``None`` for any other question."""

    def waiting(self, holder: str) -> None:
        """Show that this ask waits for another one.

        Args:
            holder: name of the cell or panel whose ask it waits for.
        """
        self._show(self._mark(f"Waiting for the reply to {holder} to end.", QUEUED))
        self._is_waiting = True
        self._drawing.hear(Waiting(self._ask))

    def began(self, notes: Sequence[str]) -> None:
        """Show the waiting mark, and the reply as it is drawn.

        Args:
            notes: lines on the request.
        """
        self._notes = output.notes_html(notes)
        if self._ask.compared:
            ask = self._ask
            parameters = {"temperature": ask.temperature, "max_tokens": ask.max_tokens}
            words = gauge.settings_words(parameters, ask.model)
            self._notes += output.compared_html(words)
        self._end_wait()
        self._show(frame(self._notes + self._mark("Waiting for the reply.")))
        self._drawing.join(self._hear)

    def sent(self) -> None:
        """Let the cell of a question in the background end; others may run from now on."""
        if self.release is not None:
            self._alone = False
            self.release()

    def explain(self, error: BaseException) -> None:
        """Show the error in place of a reply, if the cell has ended and cannot fail itself.

        Args:
            error: the error.
        """
        words = joined_sentences(filter(None, failure(error)))
        self._end_wait()
        self._show(f"{self._thoughts}<p>{escape(words)}</p>", words)

    def thought(self, reasoning: str) -> None:
        """Show the thoughts of a model that gave no reply, or keep them for :meth:`explain`.

        Args:
            reasoning: the thoughts, as far as they arrived.
        """
        self._thoughts = output.of_thoughts(reasoning)[0]["text/html"]
        if self.release is None:  # a cell that has ended gets no new output
            super().thought(reasoning)

    def ended(self, outcome: Outcome) -> None:
        """Show the last state.

        Args:
            outcome: the end of the ask, with its reply.
        """
        self._drawing.draw(self._ask)
        self._drawing.leave(self._hear)
        self._place.show(*output.of_turn(outcome.reply, outcome.record))

    def failed(self) -> None:
        """Remove the waiting mark."""
        self._end_wait()
        self._drawing.leave(self._hear)
        if self._alone and not self._place.is_empty:
            clear_output(wait=True)
        elif not self._place.is_empty:
            self._show("")

    def _end_wait(self) -> None:
        """Report to the pages that the cell no longer shows a wait for another question."""
        if self._is_waiting:
            self._is_waiting = False
            self._drawing.hear(Waiting(self._ask, is_over=True))

    def _mark(self, words: str, kind: str = "chatmagic-waiting") -> str:
        """Return the waiting mark in the box of the reply, by which a page recognizes it."""
        mark = f'<p class="{kind}" style="{QUIET} margin: 0;">… {escape(words)}</p>'
        return live_box(mark, "auto", live_mark(self._ask.live))

    def _show(self, html: str, text: str | None = None) -> None:
        """Show HTML in the place of the reply, with the text for other front ends."""
        data = {"text/html": html} if text is None else {"text/html": html, "text/plain": text}
        self._place.show(data, {})

    def _hear(self, event: Event | ReplyDrawn) -> None:
        """Show the new text, in the drawing loop's thread."""
        if isinstance(event, ReplyDrawn) and event.whole and event.ask is self._ask:
            self._show(frame(self._notes + event.html))


class Printed(TextView):
    """View that prints a reply as it arrives, for a terminal or a console.

    Args:
        in_page: whether a page shows the printed text, and finds links in it.
        piped: whether it is printed into a pipe or a file, which gets no waiting mark.
        once: whether it is printed when it has ended, as with ``stream = off``.
        clock: for a kernel, where each print is a message, a clock in seconds, by which there are
            at most 20 a second; ``None`` prints each fragment at once.
    """

    def __init__(
        self,
        *,
        in_page: bool = False,
        piped: bool = False,
        once: bool = False,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Print nothing yet."""
        super().__init__()
        self._clock = clock
        self._not_before = -inf
        self._held = ""  # text that is printed with a later fragment, or at the end
        self._piped = piped
        self._once = once
        self._marked = False
        self._in_page = in_page
        self._printed = ""

    def waiting(self, holder: str) -> None:
        """Print that this ask waits for another one.

        Args:
            holder: name of the cell or panel whose ask it waits for.
        """
        self.write(f"(waiting for the reply to {holder} to end)\n")

    def began(self, notes: Sequence[str]) -> None:
        """Print the notes on the question.

        Args:
            notes: lines on the request.
        """
        for note in notes:
            self.write(f"({note})\n")
        if not self._piped:
            self._marked = True
            self.write(WAITING)

    def fragment(self, text: str) -> None:
        """Print a fragment, the first one over the waiting mark.

        Args:
            text: the fragment of the reply.
        """
        if not self._once:
            self._unmark()
            self._held += text
            if self._is_due():
                self._print_held()

    def _print_held(self) -> None:
        """Print the text that was held back."""
        text = self._held
        self._held = ""
        self.take(text)

    def _is_due(self) -> bool:
        """Return whether the text that arrived may be printed now."""
        if self._clock is None:
            return True
        now = self._clock()
        is_due = now >= self._not_before
        if is_due:
            self._not_before = now + _SECONDS_BETWEEN
        return is_due

    def failed(self) -> None:
        """Remove the waiting mark, if it is still there, and print the rest of the text."""
        self._unmark()
        self._print_held()

    def _unmark(self) -> None:
        """Remove the waiting mark."""
        if self._marked:
            self._marked = False
            self.write(f"\r{' ' * len(WAITING)}\r")

    def ended(self, outcome: Outcome) -> None:
        """Print the lines under a reply, and the reply itself if no part of it was printed.

        Args:
            outcome: the end of the ask, with its reply.
        """
        self._unmark()
        self._held = ""  # It is part of the rest, which is printed now.
        super().ended(outcome)
        below = "\n".join(f"({line})" for line in self.lines(outcome))
        self.write(self.safe(f"\n\n{below}\n" if below else "\n"))

    def safe(self, text: str) -> str:
        """Return a fragment of untrusted text to print; a link in it may come in pieces.

        Args:
            text: the fragment of the reply.
        """
        shown = super().safe(text)
        safe = unlinked(shown, self._printed) if self._in_page else shown
        self._printed = (self._printed + shown)[-50:]
        return safe


class ReplyOnce:
    """Hook into a shell's display of a cell's value: a reply is not shown a second time.

    A formatter cannot do that: a terminal prints ``Out[n]:`` before it calls one.

    Args:
        shell: the shell.
        has_shown: returns whether the running cell has shown this value as a reply.
    """

    def __init__(self, shell: InteractiveShell, has_shown: Callable[[object], bool]) -> None:
        """Install the hook, also for the running cell."""
        self._trap = trap = shell.display_trap
        self._has_shown = has_shown
        self._display: Callable[[object], object] = trap.hook
        if sys.displayhook is trap.hook:
            sys.displayhook = self.display
        trap.hook = self.display

    def close(self) -> None:
        """Remove the hook."""
        if self._trap.hook == self.display:
            self._trap.hook = self._display
        if sys.displayhook == self.display:
            sys.displayhook = self._display

    def display(self, value: object) -> None:
        """Display a cell's value as the shell does, except a reply that the cell has shown.

        Args:
            value: the value of the cell's last expression.
        """
        if not self._has_shown(value):
            self._display(value)


def sentence(words: str) -> tuple[str, str]:
    """Return a sentence of chatmagic as HTML and as text.

    Args:
        words: the sentence.
    """
    return f'<div class="chatmagic"><p>{escape(words)}</p></div>', words


def show_html(html: str, text: str, record: dict[str, Any] | None = None) -> None:
    """Show a message of chatmagic that is no reply.

    Args:
        html: safe HTML.
        text: the same in words.
        record: its record for the notebook.
    """
    show(*output.of_message(html, text, record))


def show_change(words: str, record: dict[str, Any]) -> None:
    """Show a change of the conversation.

    Args:
        words: the change, in a sentence.
        record: its record for the notebook.
    """
    html = f'<p class="chatmagic-said {UNTYPESET}" style="{QUIET}">{escape(words)}</p>'
    show_html(html, words, record)


def show(data: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Show an output of chatmagic.

    Args:
        data: the data, by type.
        metadata: the metadata, with a record if it has one.
    """
    display(data, metadata=metadata, raw=True)
