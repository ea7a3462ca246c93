"""The magics and their settings; what they do is in the modules of the commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, cast

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand

from chatmagic.jupyter import (
    ask_command,
    cassette_command,
    code_command,
    connect_command,
    continue_command,
    credits_command,
    hide_command,
    history_commands,
    instructions_command,
    panel_command,
    retry_command,
    save_command,
    thread_command,
)
from chatmagic.jupyter.ask_command import usage
from chatmagic.jupyter.cell_notes import CellNotes
from chatmagic.jupyter.completions import Completions
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.matcher import Matcher
from chatmagic.jupyter.results import Results
from chatmagic.jupyter.settings import KernelSettings
from chatmagic.session import current

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.models import Reply
    from chatmagic.protocol.auth import Secret

AT_ONCE: Final = frozenset(
    [
        ask_command.ask,
        ask_command.fix,
        connect_command.connect,
        connect_command.login,
        continue_command.go_on,
        credits_command.credits,
        panel_command.panel,
        retry_command.retry,
    ]
)
"""The commands that do not simply wait for a question in the background first."""


@magics_class
class ChatMagics(KernelSettings, Magics):
    """Chat with a completion service; ``%%chat?`` shows how."""

    def __init__(self, shell: InteractiveShell) -> None:
        """Read the settings."""
        super().__init__(shell)
        # What is set now comes from a file; what changes later, from a cell.
        self.file_url = self.base_url
        self.homes = {}
        self.changed_later = set()
        self.replaced: dict[str, dict[str, Callable[..., Any]]] = {}
        """The magics of others that ours have the names of, by kind and name."""
        self._shell = shell
        self._kernel: Kernel | None = None
        self._results: Results | None = None
        self._matcher: Matcher | None = None
        self._is_made = True

    @property
    def kernel(self) -> Kernel:
        """The kernel of this shell, made when it is first asked for."""
        if self._kernel is None:
            self._kernel = Kernel(self._shell, self)
        return self._kernel

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that are known here; what a file sets is looked at when it is sent."""
        return self.kernel.known_keys() if self._is_made else ()

    def update_config(self, config: Config) -> None:
        """Set what ``%config`` says in a cell."""
        super().update_config(config)
        names = set(self._find_my_config(config))
        # An observer is not called for a value that is set again, but the later setting counts.
        self.changed_later |= names & {"cassette", "mode"}
        if names & {"base_url", "model", "extra_headers", "system_role"}:
            self.kernel.addresses.belong_here(names)
            if "base_url" in names and (unused := self.kernel.addresses.unused()) is not None:
                print(unused, file=sys.stderr)

    def join(self) -> None:
        """Make this shell the environment of this process's session and clients."""
        self.notes = CellNotes(self._shell, self._has_run_again)
        self._results = Results(self._shell, self._has_shown, self.notes.quiet)
        self._matcher = Matcher(self._shell, self._completions)
        current.use_environment(lambda: self.kernel)

    def leave(self) -> None:
        """Close what was opened for the shell; the session's conversation stays."""
        current.use_environment(None)
        if self._results is not None:
            self._results.close()
        if self._matcher is not None:
            self._matcher.close()
        if self.notes is not None:
            self.notes.close()
            self.notes = None
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def _has_run_again(self, cell: str) -> None:
        if self._kernel is not None:
            self._kernel.has_run_again(cell)

    def _completions(self) -> Completions:
        return Completions(self._shell, self.magics, self, self._conversation)

    def _conversation(self) -> Conversation | None:
        return None if self._kernel is None else self._kernel.session.conversation

    def _has_shown(self, value: object) -> bool:
        return self._kernel is not None and self._kernel.has_shown(value)

    def _run(self, command: Callable[..., Any], *words: Any) -> Any:
        """Run a command."""
        if command not in AT_ONCE:
            self.kernel.wait()
        return command(self.kernel, *words)

    @no_var_expand
    @line_cell_magic
    def chat(self, line: str, cell: str | None = None) -> Reply | None:
        """Ask the model; ``%chat`` alone shows the state."""
        reply: Reply | None = self._run(ask_command.ask, line, cell)
        return reply

    @line_cell_magic
    def chat_instructions(self, line: str, cell: str | None = None) -> None:
        """Give the questions below this cell standing instructions, up to the next such cell.

        They stand below ``%%chat_instructions`` and go along in front of the first message of each
        request, as they are typed: ``{{ }}`` is not evaluated. ``%%chat_instructions --from FILE``
        reads them from a file when the cell runs. An empty cell ends the instructions above it;
        ``%chat_undo`` takes back what such a cell did. ``%chat_instructions`` shows what holds.
        """
        self._run(instructions_command.instruct, line, cell)

    @line_magic
    def chat_thread(self, line: str) -> None:
        """Begin a thread for the questions below this cell, up to the next such cell.

        A request carries the turns of its thread alone; ``%chat_thread NAME`` begins a thread, or
        goes on with it, and ``%chat_thread main`` goes back to the first one.
        ``%chat_thread --fork N NEW`` begins with the turns up to number N of the thread that the
        cell stands in. ``%chat_thread`` alone lists the threads; ``%chat_thread --delete NAME``
        sets the turns of one aside, and ``%chat_undo`` takes any of it back. For one question:
        ``%%chat --thread NAME``.
        """
        self._run(thread_command.thread, line)

    @line_magic
    def chat_hide(self, line: str) -> None:
        """Leave a turn out of the requests below this cell.

        ``%chat_hide 2`` hides the second turn of the thread that the cell stands in, as
        ``%chat_history`` numbers them; ``%chat_hide --show 2`` lets it go along again, and
        ``%chat_undo`` takes either back. Nothing that was said is removed. Asked again, a cell
        has a new turn, which is not hidden. At a question: ``%%chat --hide``.
        """
        self._run(hide_command.hide, line)

    @no_var_expand
    @line_cell_magic
    def chat_fix(self, line: str, cell: str | None = None) -> Reply | None:
        """Ask about the last error: ``%chat_fix [what I wanted]``.

        The error, its traceback and the source of the cell that raised it are sent in front of
        the question; ``%%chat --error`` does the same with a question of your own. Without an
        error nothing is sent.
        """
        reply: Reply | None = self._run(ask_command.fix, line, cell)
        return reply

    @line_magic
    def chat_retry(self, line: str) -> Reply | None:
        """Ask a turn's question again, in its place: ``%chat_retry``, or ``%chat_retry 2``.

        ``--list`` shows the replies with their settings; ``--pick 1`` puts back the first one since
        the turn's own cell ran, ``--pick 1 2`` that of turn 2; ``--pick -1`` the one from before.
        ``--stale`` asks first, then runs the stale cells again.
        """
        return cast("Reply | None", self._run(retry_command.retry, line))

    @line_magic
    def chat_continue(self, line: str) -> Reply | None:
        """Have a reply continued that was interrupted, or that its limit of tokens ended.

        ``%chat_continue`` goes on with that of the last turn above the cell, ``%chat_continue 2``
        with that of turn 2. What comes stands here, and joined to the turn's reply in the
        conversation; ``%chat_undo`` takes it back. A complete reply is refused.
        """
        return cast("Reply | None", self._run(continue_command.go_on, line))

    @line_magic
    def chat_history(self, line: str) -> None:
        """Show the conversation.

        ``%chat_history`` gives a line a turn, of the newest 100 at most; ``%chat_history 1-100``
        lists these turns, ``%chat_history 2`` shows the second turn in full, ``%chat_history all``
        everything, ``%chat_history WORD`` the turns that hold the word in prompt or reply; quotes
        around it make a word of a number, too. ``%chat_history 2 --request`` shows what it sent.
        """
        self._run(history_commands.history, line)

    @line_magic
    def chat_undo(self, line: str) -> None:
        """Take back the last change: a question, a re-run, or a reset."""
        self._run(history_commands.undo, line)

    @line_magic
    def chat_redo(self, line: str) -> None:
        """Do again what ``%chat_undo`` took back last."""
        self._run(history_commands.redo, line)

    @line_magic
    def chat_reset(self, line: str) -> None:
        """Begin a new conversation; ``%chat_undo`` brings the old one back."""
        self._run(history_commands.reset, line)

    @line_magic
    def chat_save(self, line: str) -> None:
        """Save the conversation, by the file's suffix, whole or not at all.

        ``%chat_save FILE.json`` keeps all of it, ``FILE.ipynb`` makes a notebook of it,
        ``FILE.md`` a text to read. What is not as it was written is not overwritten, except
        with ``--force``. Of what ``{{ }}`` put in, only the expression is saved, except with
        ``%config ChatMagics.keep_values = True``.
        """
        self._run(save_command.save, line)

    @line_magic
    def chat_load(self, line: str) -> None:
        """Load a conversation in place of this one; nothing is sent, ``%chat_undo`` undoes it.

        ``%chat_load FILE.json`` loads what ``%chat_save`` saved, ``%chat_load FILE.ipynb`` what
        the outputs of a notebook tell; ``%chat_load`` alone takes this notebook, as last saved,
        where the front end tells which it is. A turn that was changed since it was asked is left
        out, except with ``--force``.
        """
        self._run(save_command.load, line)

    @line_magic
    def chat_code(self, line: str) -> None:
        """Put the code of a reply into cells below this one; nothing of it is run.

        ``%chat_code`` takes the last reply before this cell, ``%chat_code 2`` the second turn's;
        with ``--prose`` the text between becomes Markdown cells. Run again with the same code it
        changes nothing; with other code it removes those of its cells that were neither edited
        nor run. It needs JupyterLab or Notebook 7; elsewhere the code is shown to copy.
        """
        self._run(code_command.code, line)

    @line_magic
    def chat_credits(self, line: str) -> None:
        """Show the credits large: what is left, what the last turn took, as of when.

        ``%chat_credits --live`` shows a gauge that follows every request of this kernel;
        ``%chat_credits --usage`` what its requests took, how many turns are left, and the budget.
        """
        self._run(credits_command.credits, line)

    @line_magic
    def chat_panel(self, line: str) -> None:
        """Show the chat panel: the same conversation, beside the cells.

        It needs a live page with widgets, such as JupyterLab's or Notebook 7's.
        """
        self._run(panel_command.panel, line)

    @line_magic
    def chat_connect(self, line: str) -> None:
        """Connect to a service: ``%chat_connect https://…``, or ``%chat_connect emulator``.

        ``--model NAME`` names the model to ask for. Nothing is sent. A key goes only where it
        was given for: ``%chat_login`` asks for one. The emulator runs in this kernel, needs no
        account, and says what it is. Servers on this machine are known by name:
        ``%chat_connect ollama``, ``%chat_connect lmstudio``, ``%chat_connect vllm``, and
        ``%chat_connect llama.cpp``. ``--models`` asks for the server's list of models, which is
        one request. ``--check`` says what is set and what works, as lines to paste into a report,
        without a request; ``--check --ask`` sends one short question.
        """
        self._run(connect_command.connect, line)

    @no_var_expand
    @line_magic
    def chat_cassette(self, line: str) -> None:
        """Record the questions and replies into a file, and replay them from it.

        ``%chat_cassette FILE --record`` answers from FILE what it holds, and asks and saves
        the rest; ``--replay`` never sends anything; ``--refresh`` asks everything again.
        Without any of them a person's questions are recorded, and a machine's are replayed.
        With ``--else emulator`` the emulator answers what is not recorded; with ``--by-order``
        a request that differs is answered by its place. FILE may be a saved notebook, which
        is only replayed. ``%chat_cassette --off`` goes back; ``%chat_cassette`` alone shows
        what is in. Recording never removes: ``--prune`` lists what the file holds with
        numbers, ``--prune 3 7`` removes those, ``--prune superseded`` what later runs of
        their cells left behind. CHATMAGIC_CASSETTE and CHATMAGIC_MODE beat all of it.
        """
        print(self._run(cassette_command.cassette, line))

    @line_magic
    def chat_login(self, line: str) -> None:
        """Ask for the key by a hidden prompt, and offer to keep it.

        The key belongs to the address that is connected now, and goes nowhere else.
        ``%chat_login --forget`` forgets the key that was kept for it.
        """
        self._run(connect_command.login, line)


def _usage() -> str:
    return usage()


# IPython asks this way for a help text that is not simply written down.
ChatMagics.chat.getdoc = _usage  # type: ignore[union-attr]
