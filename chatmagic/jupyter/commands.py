"""What the magics do: parse the line, call the session, pick a view.

Loaded with the first command that is used, so that loading the extension stays light.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from chatmagic import _lazy
from chatmagic import text as plain
from chatmagic._json import shared
from chatmagic._log import swallowed
from chatmagic.archive import output
from chatmagic.conversation import options, question, record, suggestions, template
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.parameters import Parameters
from chatmagic.errors import ChatError, ChatInterrupted, InputError
from chatmagic.jupyter import execution as frontend
from chatmagic.jupyter import views
from chatmagic.jupyter.cassette_command import CassetteCommand
from chatmagic.jupyter.connect_command import ConnectCommands
from chatmagic.jupyter.drawing import DrawingLoop
from chatmagic.jupyter.status import Standing
from chatmagic.render import gauge
from chatmagic.session import ask as course
from chatmagic.session.events import Ask, Fragment, Silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.jupyter.environment import KernelEnvironment
    from chatmagic.jupyter.execution import Execution
    from chatmagic.jupyter.panel.widgets import Panels
    from chatmagic.jupyter.settings import Kept
    from chatmagic.models import Reply
    from chatmagic.session.events import Event, View
    from chatmagic.session.session import Session

EXAMPLES: Final = (
    "%%chat\nExplain the central limit theorem to a biologist.\nUse one example.",
    "%%chat -t 0 --max-tokens 200\nWhat is wrong with this code?\n\n{{ source }}",
    "%chat And in one sentence?",
    "reply = %chat Name three estimators of the mean.",
)
ALONE: Final = r"%%chat\b|(?:[^\n=()]+=)?[ \t]*%chat\b[^\n]*\Z"
"""A cell that holds nothing but one ask, so that a failed ask may clear what it shows."""


class Configured(Protocol):
    """The settings that ``%config ChatMagics`` knows, as the commands read them."""

    base_url: Any
    auth: Any
    timeout: Any
    model: Any
    extra_body: Any
    stream_usage: Any
    extra_headers: Any
    keep_values: Any
    cassette: Any
    mode: Any
    kept: Kept
    stream: Any
    order: Any

    def trait_values(self, **metadata: Any) -> dict[str, Any]:
        """Give all of them by name; ``config=True`` leaves out what is no setting."""


class Commands:
    """The commands of one kernel.

    Args:
        shell: the kernel's shell.
        session: its session.
        configured: the settings, read at each use.
        environment: where the session runs.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        session: Session,
        configured: Configured,
        environment: KernelEnvironment,
    ) -> None:
        """Send nothing."""
        self.session = session
        self._shell = shell
        self._configured = configured
        self._panels: Panels | None = None
        self._shown: tuple[str | None, Reply] | None = None
        self._environment = environment
        self._drawing = DrawingLoop()
        self._leave = session.follow(self._drawing.hear)
        self.cassette = CassetteCommand(session, environment, configured)
        self.connecting = ConnectCommands(shell, session, environment, configured)
        self.standing = Standing(shell, session, configured, self.cassette, environment)

    def chat(self, line: str, cell: str | None = None) -> Reply | None:
        """Do ``%%chat`` and ``%chat``; without a prompt, ``%chat`` shows the state."""
        try:
            return self._chat(line, cell)
        except ChatInterrupted:
            raise
        except KeyboardInterrupt:
            # Before the session had the ask, or after it was done with it.
            raise ChatInterrupted(
                "Interrupted; the conversation is whole: %chat_history shows it."
            ) from None

    def _chat(self, line: str, cell: str | None) -> Reply | None:
        asked = options.parse(line, self._configured.trait_values(config=True))
        text = asked.prompt
        if cell is None and not text:
            print(self.standing.state())
            return None
        body = (cell or "").removesuffix("\n")
        if body and not asked.raw:
            question.refuse_cell_comments(body)
        text = "\n".join(part for part in (text, body) if part)
        command = suggestions.mistaken_command(text)
        if command is not None:
            raise InputError(
                f"Did you mean %{command}? Nothing was sent.",
                hint="To ask just that, put it into a sentence.",
            )
        reply = self._ask(asked, text)
        return None if cell is not None else reply

    def history(self, line: str) -> None:
        """Show the conversation.

        ``%chat_history`` gives a line a turn, ``%chat_history 2`` the second turn in full,
        ``%chat_history all`` everything.
        """
        # The renderer comes with the first thing there is to show.
        from chatmagic.jupyter import transcript  # noqa: PLC0415

        owner, _ = self._environment.cell()
        self.session.follow_pages(owner)
        conversation = self.session.conversation
        turns = conversation.turns
        owners = [turn.owner for turn in turns if turn.owner is not None]
        pages = self._environment.pages
        notebooks = None if pages is None else pages.names(owners)
        word = line.strip()
        if not word:
            told = self._configured.order == "page" and pages is not None and pages.lists(owner)
            order = transcript.AS_ON_PAGE if told else transcript.AS_RUN
            views.show_html(*transcript.table(conversation, order, notebooks))
        elif word == "all":
            views.show_html(*transcript.whole(conversation, turns, notebooks))
        elif word.isdecimal() and 1 <= int(word) <= len(turns):
            views.show_html(*transcript.whole(conversation, (turns[int(word) - 1],), notebooks))
        else:
            numbers = f"from 1 to {len(turns):,}" if turns else "once there is one"
            raise InputError(f"%chat_history takes nothing, 'all', or a turn's number {numbers}.")

    def undo(self, line: str) -> None:
        """Take back the last change: a question, a re-run, or a reset."""
        self._step("undo", line)

    def redo(self, line: str) -> None:
        """Do again what ``%chat_undo`` took back last."""
        self._step("redo", line)

    def reset(self, line: str) -> None:
        """Begin a new conversation; ``%chat_undo`` brings the old one back."""
        _no_words("chat_reset", line)
        change = self.session.change(Conversation.reset)
        gone = len(change.went) if change is not None else 0
        aside = f" {gone:,} turn{'' if gone == 1 else 's'} put aside; %chat_undo brings back."
        _say(f"A new conversation begins.{aside if gone else ''}", "reset")

    def credits(self, line: str) -> None:
        """Show the credits large: what is left, what the last turn took, as of when.

        ``%chat_credits --live`` shows a gauge that follows every request of this kernel.
        """
        execution = frontend.execution(self._shell)
        if line.strip() == "--live" and execution.audience == "page":
            self._with_widgets().show_gauge(execution.cell)
            return
        _no_words("chat_credits", line.replace("--live", "", 1))
        views.show_html(*self.standing.credits())

    def panel(self, line: str) -> None:
        """Show the chat panel: the same conversation, beside the cells.

        It needs a live page with widgets, such as JupyterLab's or Notebook 7's. A machine is
        shown what such a page saves, so that a notebook is the same whoever ran it.
        """
        _no_words("chat_panel", line)
        execution = frontend.execution(self._shell)
        if execution.audience == "page":
            self._with_widgets().show_panel(execution.cell)
            return
        from chatmagic.jupyter.panel import saved  # noqa: PLC0415 - as in chat_history

        if execution.audience == "machine":
            views.show_data(saved.PANEL_ABSENT)
            views.show_html(*saved.saved(self.session.conversation))
            return
        print(saved.NEEDS_A_PAGE)

    def shown(self, kind: str, reply: Reply) -> str:
        """Give a reply that displays itself, as one of a bundle's types.

        Args:
            kind: ``text/html`` or ``text/plain``.
            reply: the value of a cell.
        """
        if kind == "text/plain" and frontend.execution(self._shell).audience == "text":
            return views.printable(reply.text)
        return str(output.bundle(reply)[kind])

    def close(self) -> None:
        """Let go of what was opened for this kernel; the conversation stays."""
        if self._panels is not None:
            self._shell.events.unregister("post_run_cell", self._look)
            self._panels.close()
            self._panels = None
        if self._environment.bridge is not None:
            self._environment.bridge.close()
            self._environment.bridge = None
        self._leave()
        self._drawing.close()

    def _with_widgets(self) -> Panels:
        """Give the kernel's panels; the widgets come with the first."""
        if self._panels is None:
            try:
                from chatmagic.jupyter.panel.widgets import Panels  # noqa: PLC0415 - ipywidgets takes its time
            except ImportError as error:
                raise InputError(
                    f"There are no widgets here ({error}). %%chat goes on working without them.",
                    hint="pip install anywidget, then restart the kernel.",
                ) from None
            self._panels = Panels(self.session, self.standing, self._drawing)
            # Any cell may have set what they show, the environment too.
            self._shell.events.register("post_run_cell", self._look)
        return self._panels

    def _look(self, *_: object) -> None:
        if self._panels is not None:
            self._panels.look()

    def has_shown(self, value: object) -> bool:
        """Tell whether the running cell has shown this reply, and shown it last."""
        return self._shown is not None and (
            self._shown[0] == frontend.execution(self._shell).id and self._shown[1] is value
        )

    def _ask(self, asked: options.ParsedLine, text: str) -> Reply:
        execution = frontend.execution(self._shell)
        filled = template.Filled(text, ()) if asked.raw else template.fill(text, self._evaluate)
        ask = Ask(
            filled.text,
            **shared(asked, Parameters),
            typed=text if filled.values else None,
            values=filled.values,
            keep_values=self._configured.keep_values,
            owner=execution.cell,
            execution=execution.id,
            entry="cell",
            asker=execution.label,
            shown=not asked.quiet,
        )
        leave = self._open_with_first_word() if execution.audience == "page" else None
        try:
            reply = self.session.run(ask, self._view(ask, execution)).reply
        except (ChatError, ChatInterrupted) as error:
            if execution.audience == "machine" and (merged := course.merged(ask)):
                error.hint = " ".join(filter(None, [error.hint, f"Note that {merged[0]}."]))
            if asked.output and error.reply is not None:
                self._shell.user_ns[asked.output] = error.reply
            raise
        finally:
            if leave is not None:
                leave()
        if asked.output:
            self._shell.user_ns[asked.output] = reply
        if not asked.quiet:
            self._shown = (execution.id, reply)
        if execution.audience == "page" and self._environment.bridge is None:
            self._build_bridge(reply)
        return reply

    def _open_with_first_word(self) -> Callable[[], None] | None:
        """Build the bridge behind a reply's first fragment, unless a panel tells of that one."""
        if self._environment.bridge is not None or self._panels is not None:
            return None

        def hear(event: Event) -> None:
            if isinstance(event, Fragment) and self._environment.bridge is None:
                leave()
                self._build_bridge(None)

        leave = self.session.follow(hear)
        return leave

    def _build_bridge(self, reply: Reply | None) -> None:
        """Let the page tell its order, from the first reply on; without it all works too."""
        with swallowed():
            # The widgets come when there is a page that has seen a word of a reply.
            _lazy.load("chatmagic.jupyter.bridge")
            from chatmagic.jupyter.bridge import Bridge  # noqa: PLC0415

            self._environment.bridge = Bridge(self.session, said=reply)

    def _view(self, ask: Ask, execution: Execution) -> View:
        """Pick who is shown what (the README's table under "Where it runs")."""
        if not ask.shown:
            return Silent()
        how = self._configured.stream
        if how == "auto":
            how = {"machine": "off", "page": "updates", "text": "text"}[execution.audience]
        if how == "updates":
            source = frontend.cell_source(self._shell).strip()
            alone = re.match(ALONE, source) is not None
            return views.Live(ask, self._drawing, alone=alone)
        if how == "text":
            return views.Printed(in_page=execution.audience == "page", piped=execution.piped)
        if execution.audience == "text":
            return views.PrintedOnce(piped=execution.piped)
        return views.Once()

    def _evaluate(self, expression: str) -> object:
        return eval(expression, self._shell.user_global_ns, self._shell.user_ns)  # noqa: S307 - the user's own words

    def _step(self, step: Literal["undo", "redo"], line: str) -> None:
        """Take a change back, or do it again, and say which."""
        from chatmagic.jupyter import transcript  # noqa: PLC0415 - as in chat_history

        _no_words(f"chat_{step}", line)
        session = self.session
        if step == "undo":
            _say(transcript.undone(session.change(Conversation.undo)), step)
        else:
            _say(transcript.redone(session.change(Conversation.redo)), step)


def usage() -> str:
    """Give the help of ``%%chat?``, from the table of options."""
    return options.usage(EXAMPLES)


def _say(words: str, kind: record.Did) -> None:
    """Say what was done to the conversation, and let the output remember it."""
    html = f'<p class="chatmagic-said {plain.UNTYPESET}" style="{gauge.QUIET}">{escape(words)}</p>'
    views.show_html(html, words, record.note(kind))


def _no_words(name: str, line: str) -> None:
    if line.strip():
        raise InputError(f"%{name} takes nothing after its name.", hint=f"%{name}? shows its help.")
