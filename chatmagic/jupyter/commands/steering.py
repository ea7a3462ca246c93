"""Commands that steer the questions below a cell: instructions, threads, hidden turns."""

from __future__ import annotations

from typing import Final

from chatmagic._files import content_of
from chatmagic._json import exact_count
from chatmagic.archive import output
from chatmagic.conversation import likely_mistakes
from chatmagic.conversation.options import Option
from chatmagic.conversation.question import A_NAME, thread_name
from chatmagic.conversation.steering import Hiding, Instructions, ThreadStart, instructions_note
from chatmagic.conversation.turn import MAIN
from chatmagic.jupyter import reply_views, tables
from chatmagic.jupyter.cells.running_cell import cell_source, running
from chatmagic.jupyter.commands.command import Arguments, Command, path_from_words
from chatmagic.jupyter.kernel import Kernel
from chatmagic.protocol.secret_scanner import secret_in
from chatmagic.render import reply_forms
from chatmagic.safe_text import counted, one_line, to_terminal
from chatmagic.session.secret_check import environment_secrets

REVOKE: Final = "Remove it; a key that others may have seen should be revoked."
_SHOWN: Final = 200
_LARGEST: Final = 2**20
"""Largest number of bytes of a file of instructions."""


def _instruct(kernel: Kernel, given: Arguments) -> None:
    """Give the questions below this cell standing instructions, up to the next such cell.

    The text below ``%%chat_instructions`` is sent in front of the first message of each request, as
    typed: ``{{ }}`` is not evaluated. An empty cell ends the instructions above it;
    ``%chat_undo`` undoes such a cell. ``%chat_instructions`` shows the
    instructions that apply here.
    """
    file = given.options.get("--from", "")
    if given.cell is None:
        if file:
            raise given.command.refusal("Instructions need a cell of their own.")
        _show(kernel)
        return
    body = given.cell.removesuffix("\n")
    if file and body.strip():
        raise given.command.refusal("The instructions stand in the cell and in a file.")
    likely_mistakes.refuse_cell_comments(body, "")
    text = _file_text(file) if file else body
    _refuse_secrets(kernel, text, file)
    execution = running(kernel.shell)
    instructions = Instructions.of_text(text, file, owner=execution.cell, execution=execution.id)
    kernel.session.changes.steer(instructions)
    reply_views.show(*output.of_steering(instructions))


def _refuse_secrets(kernel: Kernel, text: str, file: str) -> None:
    """Raise an error for instructions with the API key, and for a file with any secret."""
    if any(key.is_in(part) for key in kernel.known_keys() for part in (text, file)):
        raise INSTRUCTIONS.refusal("The instructions hold your API key.", REVOKE)
    # Typed secrets are searched for when a question is sent. A file is first shown by this cell.
    secret = secret_in(text, environment_secrets()) if file else None
    if secret is not None:
        hint = "Remove it: the output of this cell would show and keep it."
        raise INSTRUCTIONS.refusal(f"{one_line(file, _SHOWN)} holds {secret}.", hint)


def _show(kernel: Kernel) -> None:
    """Print the instructions that apply to a question in the running cell."""
    instructions = kernel.window().instructions
    if instructions is None:
        print("No instructions apply here.")
        return
    text = to_terminal(instructions.text or "")
    print(f"Questions here are sent {instructions_note(instructions)}:\n\n{text}")


def _file_text(file: str) -> str:
    """Return the text of a file without its last line end.

    Raises:
        InputError: the file cannot be read, is no text, or is too large.
    """
    shown = one_line(file, _SHOWN)
    try:
        content = content_of(path_from_words(file))
        if content is None:
            raise INSTRUCTIONS.refusal(f"{shown} is not there.")
        # Each question carries the text, and the cell's output holds it twice.
        if len(content) > _LARGEST:
            raise INSTRUCTIONS.refusal(f"{shown} is larger than {_LARGEST // 2**20} MiB.")
        return content.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise INSTRUCTIONS.refusal(f"{shown} is not a text in UTF-8.") from None


def _thread(kernel: Kernel, given: Arguments) -> None:
    """Begin a thread for the questions below this cell, up to the next such cell.

    A request carries only the turns of its thread. ``%chat_thread NAME`` begins a thread, or
    continues it, and ``%chat_thread main`` goes back to the first one. ``%chat_thread`` alone lists
    the threads; ``%chat_undo`` undoes any of this. For one question: ``%%chat --thread NAME``.
    """
    if not given.words:
        kernel.background.wait()
        _list(kernel)
        return
    name = _name(kernel, given.words)
    if given.options:
        # A fork begins with the replies that are under way in the background.
        kernel.background.wait()
    if "--delete" in given.options:
        _delete(kernel, name)
        return
    likely_mistakes.refuse_thread_and_ask(cell_source(kernel.shell))
    execution = running(kernel.shell)
    fork = _count(given.options["--fork"]) if "--fork" in given.options else None
    start = ThreadStart(name, fork, owner=execution.cell, execution=execution.id)
    kernel.session.changes.steer(start)
    reply_views.show(*output.of_steering(start))


def _name(kernel: Kernel, words: str) -> str:
    """Return the name of a thread."""
    try:
        name: str = thread_name(words)
    except ValueError:
        raise THREAD.refusal(f"%chat_thread takes {A_NAME}.") from None
    if any(key.is_in(name) for key in kernel.known_keys()):
        raise THREAD.refusal("The name holds your API key.", REVOKE)
    return name


def _count(word: str) -> int:
    """Return the number of ``--fork``."""
    try:
        return exact_count(int(word))
    except ValueError:
        raise THREAD.refusal("--fork takes the number of a turn, or 0 for none.") from None


def _delete(kernel: Kernel, name: str) -> None:
    """Delete a thread, and show that with a record for the notebook."""
    threads = kernel.session.conversation.threads
    change = kernel.session.changes.make(lambda conversation: conversation.delete(name))
    gone = 0 if change is None else len(change.went)
    words = f"The thread {name} was deleted ({counted(gone, 'turn')}); %chat_undo brings it back."
    if name not in threads:
        there = ", ".join(threads)
        words = f"There is no thread {name}. The threads: {there}. Nothing was deleted."
    reply_views.show_change(words, ThreadStart(name).to_json("deletion"))


def _list(kernel: Kernel) -> None:
    """Show the threads with the numbers of their turns and their last questions."""
    thread = kernel.window().thread
    threads = kernel.session.conversation.threads
    rows = []
    for name in dict.fromkeys([*threads, thread]):
        turns = threads.get(name, ())
        last = reply_forms.excerpt(turns[-1].as_typed if turns else "")
        rows.append((name, f"{len(turns):,}", last))
    table = tables.table(("Thread", "Turns", "Last question"), rows, "Threads")
    end = f"This cell stands in the thread {thread}."
    if thread == MAIN and len(rows) == 1:
        end += " %chat_thread NAME begins another for the questions below it."
    reply_views.show_html(*tables.page(table, end))


def _hide(kernel: Kernel, given: Arguments) -> None:
    """Leave a turn out of the requests below this cell.

    ``%chat_hide 2`` hides the second turn of the thread that the cell stands in, as
    ``%chat_history`` numbers them; ``%chat_undo`` undoes that. Nothing is deleted. When the
    turn's cell asks again, its new turn is not hidden. At a question: ``%%chat --hide``.
    """
    window = kernel.window(owns=True)
    owner, execution = kernel.cell()
    place = given.turn_number(window.index)
    turn = window.above[place - 1]
    hiding = Hiding(
        place,
        turn.recorded_digest,
        show="--show" in given.options,
        turn=turn.number,
        owner=owner,
        execution=execution,
    )
    kernel.session.changes.steer(hiding)
    reply_views.show(*output.of_steering(hiding))


INSTRUCTIONS: Final = Command(
    "chat_instructions",
    _instruct,
    (Option("--from FILE", "read them from FILE when the cell runs"),),
    forms=("[--from]",),
    hint="The instructions stand below the line, or in a file: %%chat_instructions --from FILE.",
    has_body=True,
)
THREAD: Final = Command(
    "chat_thread",
    _thread,
    (
        Option("--fork N", "begin it with the turns up to number N of this thread"),
        Option("--delete", "delete a thread; %chat_undo brings it back"),
    ),
    forms=("[THREAD]", "--fork THREAD", "--delete THREAD"),
    waits=False,
)
HIDE: Final = Command(
    "chat_hide", _hide, (Option("--show", "show it again"),), forms=("[--show] TURN",)
)
