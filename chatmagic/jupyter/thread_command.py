"""``%chat_thread``: begin a thread for the questions below a cell, list the threads, delete one."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from chatmagic._json import exact_count
from chatmagic.archive import output
from chatmagic.conversation.request_facts import A_NAME, thread_name
from chatmagic.conversation.steering import ThreadStart
from chatmagic.conversation.suggestions import refuse_dividing
from chatmagic.conversation.turn import MAIN
from chatmagic.errors import InputError
from chatmagic.jupyter import transcript, views
from chatmagic.jupyter.command_line import read
from chatmagic.jupyter.execution import cell_source, running
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Context
    from chatmagic.jupyter.kernel import Kernel

_HINT: Final = "%chat_thread sql; %chat_thread --fork 2 sql; %chat_thread --delete sql."
_UNCHANGED: Final = "Nothing was changed."


def thread(kernel: Kernel, line: str) -> None:
    """Run ``%chat_thread``.

    Raises:
        InputError: no thread begins or ends so; the conversation is as it was.
    """
    words, options = read("chat_thread", line, "--delete", valued=("--fork",), hint=_HINT)
    if len(options) > 1:
        raise InputError(f"%chat_thread begins a thread or deletes one. {_UNCHANGED}", hint=_HINT)
    if not words and not options:
        _list(kernel)
        return
    name = _name(kernel, words)
    if "--delete" in options:
        _delete(kernel, name)
        return
    refuse_dividing(cell_source(kernel.shell))
    execution = running(kernel.shell)
    fork = _count(options["--fork"]) if "--fork" in options else None
    start = ThreadStart(name, fork, owner=execution.cell, execution=execution.id)
    kernel.session.steer(start)
    views.show(*output.of_steering(start))


def place(kernel: Kernel, last: int | None = None, *, owns: bool = False) -> Context:
    """Return what a question of the running cell would carry, once the page is followed.

    Where no page tells an order, a cell that owns no place stands below all turns of the thread
    in which it first ran, so that its numbers mean the same turns when all cells run again.

    Args:
        kernel: the kernel.
        last: how many of the newest turns at most; ``None`` is all of them.
        owns: whether the cell is about to own a place, which is below all where it has none yet.
    """
    owner, execution = kernel.cell()
    kernel.session.follow_pages(owner)
    layout = kernel.layout(owner)
    order = None if layout is None else layout.order
    conversation, thread = kernel.session.conversation, None
    if not (owner is None or owns or order is not None or owner in dict(conversation.slots)):
        thread = kernel.threads_read.setdefault(owner, conversation.context().thread)
        thread = thread if thread in conversation.threads else None
    return conversation.context(owner, execution, last=last, order=order, thread=thread)


def _name(kernel: Kernel, words: str) -> str:
    """Return the name of a thread."""
    try:
        name: str = thread_name(words)
    except ValueError:
        raise InputError(f"%chat_thread takes {A_NAME}. {_UNCHANGED}", hint=_HINT) from None
    if any(key.is_in(name) for key in kernel.known_keys()):
        raise InputError(
            f"The name holds your API key. {_UNCHANGED}",
            hint="A key that others may have seen should be revoked.",
        )
    return name


def _count(word: str) -> int:
    """Return the number that ``--fork`` takes."""
    try:
        return exact_count(int(word))
    except ValueError:
        raise InputError(
            f"--fork takes the number of a turn, or 0 for none of them. {_UNCHANGED}", hint=_HINT
        ) from None


def _delete(kernel: Kernel, name: str) -> None:
    """Delete a thread, and say so with a record for the notebook."""
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
    here = place(kernel).thread
    conversation = kernel.session.conversation
    rows = [
        (name, *_row(conversation, name)) for name in dict.fromkeys([*conversation.threads, here])
    ]
    end = f"This cell stands in the thread {here}."
    if here == MAIN and len(rows) == 1:
        end += " %chat_thread NAME begins another for the questions below it."
    html = transcript.group(f"{transcript.grid(_HEAD, rows, 'Threads')}<p>{escape(end)}</p>")
    views.show_html(html, "\n".join([*map(_in_words, rows), end]))


_HEAD: Final = ("Thread", "Turns", "Tokens", "Credits", "Last question")


def _in_words(row: tuple[str, ...]) -> str:
    """Return a thread's figures on a line of a terminal."""
    name, turns, tokens, credits, last = row
    return f"{name}: turns {turns}, tokens {tokens}, credits {credits}{last and f': {last}'}"


def _row(conversation: Conversation, name: str) -> tuple[str, ...]:
    """Return the figures of a thread; what it begins with was paid for in another."""
    turns = conversation.threads.get(name, ())
    own = [each.turn.reply for each in conversation.standings if each.thread == name]
    tokens = [reply.usage.total_tokens for reply in own if reply.usage is not None]
    known = [count for count in tokens if count is not None]
    took = [reply.took for reply in own if reply.took is not None]
    return (
        f"{len(turns):,}",
        f"{sum(known):,}" if known else "?" if own else "0",
        f"about {sum(took):,}" if took else "?" if own else "0",
        one_line(turns[-1].as_typed) if turns else "",
    )
