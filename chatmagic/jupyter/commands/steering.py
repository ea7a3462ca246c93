"""Commands that steer the questions below a cell: instructions, threads, hidden turns."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Final

from chatmagic._json import exact_count
from chatmagic.archive import files, output
from chatmagic.conversation import options
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.options import Option
from chatmagic.conversation.request_facts import A_NAME, thread_name
from chatmagic.conversation.steering import Hiding, Instructions, ThreadStart, instructions_note
from chatmagic.conversation.turn import MAIN
from chatmagic.errors import InputError
from chatmagic.jupyter import transcript, views
from chatmagic.jupyter.cells.execution import cell_source, running
from chatmagic.jupyter.commands.command import Arguments, Command, without_quotes
from chatmagic.jupyter.kernel import Kernel
from chatmagic.protocol.known_secrets import secret_in, secret_variables
from chatmagic.text import counted, one_line, to_terminal

_UNCHANGED: Final = "Nothing was changed."
_SHOWN: Final = 200
_LARGEST: Final = 2**20
"""The most bytes of a file of instructions."""
_HEAD: Final = ("Thread", "Turns", "Tokens", "Credits", "Last question")


def _instruct(kernel: Kernel, given: Arguments) -> None:
    """Give the questions below this cell standing instructions, up to the next such cell.

    They stand below ``%%chat_instructions`` and go along in front of the first message of each
    request, as they are typed: ``{{ }}`` is not evaluated. An empty cell ends the instructions
    above it; ``%chat_undo`` takes back what such a cell did. ``%chat_instructions`` shows what
    holds.
    """
    if given.cell is None:
        if given.line.strip():
            raise InputError(
                f"Instructions have a cell of their own. {_UNCHANGED}", hint=INSTRUCTIONS.hint
            )
        _show(kernel)
        return
    # The name of a file may have spaces.
    file = without_quotes(f"{given.options.get('--from', '')} {given.words}")
    if bool(file) != bool(given.options):
        raise InputError(
            f"%%chat_instructions takes --from FILE or nothing in its line. {_UNCHANGED}",
            hint=INSTRUCTIONS.hint,
        )
    body = given.cell.removesuffix("\n")
    if file and body.strip():
        raise InputError(
            f"The instructions stand in the cell and are to be read from a file. {_UNCHANGED}",
            hint="Leave the cell empty below --from FILE, or leave --from out.",
        )
    options.refuse_cell_comments(body, "")
    text = _file_text(file) if file else body
    _refuse_secrets(kernel, text, file)
    execution = running(kernel.shell)
    instructions = Instructions.of(text, file, owner=execution.cell, execution=execution.id)
    kernel.session.steer(instructions)
    views.show(*output.of_steering(instructions))


def _refuse_secrets(kernel: Kernel, text: str, file: str) -> None:
    """Raise an error for instructions with the API key, and for a file with any secret."""
    if any(key.is_in(part) for key in kernel.known_keys() for part in (text, file)):
        raise InputError(
            f"The instructions hold your API key. {_UNCHANGED}",
            hint="Remove it; a key that others may have seen should be revoked.",
        )
    # Typed secrets are looked for when a question is sent; a file is first shown by this cell.
    secret = secret_in(text, secret_variables(os.environ)) if file else None
    if secret is not None:
        raise InputError(
            f"{one_line(file, _SHOWN)} holds {secret}. {_UNCHANGED}",
            hint="Take it out: the output of this cell would show and keep it.",
        )


def _show(kernel: Kernel) -> None:
    """Print the instructions that apply to a question in the running cell."""
    held = kernel.window().instructions
    if held is None:
        print("No instructions hold here.")
        return
    print(f"Questions here are sent {instructions_note(held)}:\n\n{to_terminal(held.text or '')}")


def _file_text(file: str) -> str:
    """Return the text of a file without its last line end.

    Raises:
        InputError: the file does not exist, is no text, or is too large.
    """
    shown = one_line(file, _SHOWN)
    why = f"{shown} is not there."
    try:
        content = files.content_of(Path(file).expanduser())
        if content is not None and len(content) <= _LARGEST:
            return content.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
        if content is not None:
            # Each question carries it, and the cell's output holds it twice.
            why = f"{shown} is larger than {_LARGEST // 2**20} MiB."
    except UnicodeDecodeError:
        why = f"{shown} is not a text in UTF-8."
    except (InputError, RuntimeError) as error:
        why = one_line(str(error), _SHOWN)
    raise InputError(f"{why} {_UNCHANGED}", hint=INSTRUCTIONS.hint)


def _thread(kernel: Kernel, given: Arguments) -> None:
    """Begin a thread for the questions below this cell, up to the next such cell.

    A request carries the turns of its thread alone; ``%chat_thread NAME`` begins a thread, or
    goes on with it, and ``%chat_thread main`` goes back to the first one. ``%chat_thread``
    alone lists the threads; ``%chat_undo`` takes any of it back. For one question: ``%%chat
    --thread NAME``.
    """
    if len(given.options) > 1:
        raise InputError(
            f"%chat_thread begins a thread or deletes one. {_UNCHANGED}", hint=THREAD.hint
        )
    if not given.words and not given.options:
        kernel.wait()
        _list(kernel)
        return
    name = _name(kernel, given.words)
    if given.options:
        # A fork begins with the replies that come in the background.
        kernel.wait()
    if "--delete" in given.options:
        _delete(kernel, name)
        return
    options.refuse_thread_and_ask(cell_source(kernel.shell))
    execution = running(kernel.shell)
    fork = _count(given.options["--fork"]) if "--fork" in given.options else None
    start = ThreadStart(name, fork, owner=execution.cell, execution=execution.id)
    kernel.session.steer(start)
    views.show(*output.of_steering(start))


def _name(kernel: Kernel, words: str) -> str:
    """Return the name of a thread."""
    try:
        name: str = thread_name(words)
    except ValueError:
        raise InputError(f"%chat_thread takes {A_NAME}. {_UNCHANGED}", hint=THREAD.hint) from None
    if any(key.is_in(name) for key in kernel.known_keys()):
        raise InputError(
            f"The name holds your API key. {_UNCHANGED}",
            hint="A key that others may have seen should be revoked.",
        )
    return name


def _count(word: str) -> int:
    """Return the number of ``--fork``."""
    try:
        return exact_count(int(word))
    except ValueError:
        raise InputError(
            f"--fork takes the number of a turn, or 0 for none of them. {_UNCHANGED}",
            hint=THREAD.hint,
        ) from None


def _delete(kernel: Kernel, name: str) -> None:
    """Delete a thread, and show that with a record for the notebook."""
    threads = kernel.session.conversation.threads
    change = kernel.session.change(lambda conversation: conversation.delete(name))
    gone = 0 if change is None else len(change.went)
    words = f"The thread {name}: {counted(gone, 'turn')} set aside; %chat_undo takes that back."
    if name not in threads:
        there = ", ".join(threads)
        words = f"There is no thread {name}. The threads: {there}. No turn was set aside."
    views.show_change(words, ThreadStart(name).to_json("deletion"))


def _list(kernel: Kernel) -> None:
    """Show the threads with their turns, tokens, credits and last questions."""
    here = kernel.window().thread
    conversation = kernel.session.conversation
    rows = [
        (name, *_row(conversation, name)) for name in dict.fromkeys([*conversation.threads, here])
    ]
    end = f"This cell stands in the thread {here}."
    if here == MAIN and len(rows) == 1:
        end += " %chat_thread NAME begins another for the questions below it."
    html = transcript.group(f"{transcript.grid(_HEAD, rows, 'Threads')}<p>{escape(end)}</p>")
    views.show_html(html, "\n".join([*map(_in_words, rows), end]))


def _in_words(row: tuple[str, ...]) -> str:
    """Return a thread's figures as a line for a terminal."""
    name, turns, tokens, credits, last = row
    return f"{name}: turns {turns}, tokens {tokens}, credits {credits}{last and f': {last}'}"


def _row(conversation: Conversation, name: str) -> tuple[str, ...]:
    """Return the figures of a thread; costs are without the turns that it took over."""
    turns = conversation.threads.get(name, ())
    own = [turn.reply for turn, window in conversation.windows if window.thread == name]
    tokens = [reply.usage.total_tokens for reply in own if reply.usage is not None]
    known = [count for count in tokens if count is not None]
    took = [reply.took for reply in own if reply.took is not None]
    return (
        f"{len(turns):,}",
        f"{sum(known):,}" if known else "?" if own else "0",
        f"about {sum(took):,}" if took else "?" if own else "0",
        one_line(turns[-1].as_typed) if turns else "",
    )


def _hide(kernel: Kernel, given: Arguments) -> None:
    """Leave a turn out of the requests below this cell.

    ``%chat_hide 2`` hides the second turn of the thread that the cell stands in, as
    ``%chat_history`` numbers them; ``%chat_undo`` takes that back. Nothing that was said is
    removed. Asked again, a cell has a new turn, which is not hidden. At a question: ``%%chat
    --hide``.
    """
    here, (owner, execution) = kernel.window(owns=True), kernel.cell()
    number = int(given.words) if given.words.isdecimal() else 0
    if not 1 <= number <= here.index:
        raise InputError(
            "%chat_hide takes the number of a turn above this cell. The thread "
            f"{here.thread} has {counted(here.index, 'turn')} there. {_UNCHANGED}",
            hint=HIDE.hint,
        )
    turn = here.above[number - 1]
    hiding = Hiding(
        number,
        turn.recorded_digest,
        show="--show" in given.options,
        turn=turn.number,
        owner=owner,
        execution=execution,
    )
    kernel.session.steer(hiding)
    views.show(*output.of_steering(hiding))


INSTRUCTIONS: Final = Command(
    "chat_instructions",
    _instruct,
    (Option(("--from",), "read them from FILE when the cell runs", metavar="FILE"),),
    words=("FILE",),
    hint="The instructions stand below the line, or in a file: %%chat_instructions --from FILE.",
    has_body=True,
)
THREAD: Final = Command(
    "chat_thread",
    _thread,
    (
        Option(("--fork",), "begin it with the turns up to number N of this thread", metavar="N"),
        Option(("--delete",), "set the turns of a thread aside"),
    ),
    words=("THREAD",),
    waits=False,
    hint="%chat_thread sql; %chat_thread --fork 2 sql; %chat_thread --delete sql.",
)
HIDE: Final = Command(
    "chat_hide",
    _hide,
    (Option(("--show",), "let it go along again"),),
    words=("TURN",),
    hint="%chat_hide 2; %chat_hide --show 2; %chat_history numbers the turns.",
)
