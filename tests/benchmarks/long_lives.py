"""Long lives: a question after many turns, loading and saving, and what is held in memory.

The questions go to a server in a process of its own, which reads the body and answers at once.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from dataclasses import replace
from multiprocessing import Process, Queue
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from collections.abc import Iterator

import loopback
from rows import OURS, Row, by_turns, cpu

from chatmagic import Client, Session
from chatmagic.archive import conversation_file
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import NOTHING, Turn
from chatmagic.models import Reply

TURNS: Final = {1_000: 0.05, 10_000: 0.5}
"""The most seconds of CPU that a question may take after so many turns."""
SAVED: Final = 1_000
ROUNDS: Final = 7
HELD: Final = 5_000
LETTERS: Final = (200, 1_850, 4_000)
"""Characters of a turn."""
PROMPT: Final = "What would this mean for the second group of patients? " * 3
REPLY: Final = "The sample mean is a point estimate, and so is the median of them. " * 25


def answer(peer: loopback.Peer) -> None:
    """Answer the requests of one connection."""
    while peer.request():
        peer.send(loopback.head(headers={**loopback.EVENTS, "Transfer-Encoding": "chunked"}))
        body = loopback.chunked(loopback.event("ok")), loopback.chunked(loopback.DONE)
        peer.send(*body, loopback.CHUNKS_END)


def _serve(told: Queue[str]) -> None:
    with loopback.Server(answer) as server:
        told.put(server.origin)
        time.sleep(3_600)


def talk(count: int, letters: int = len(PROMPT + REPLY)) -> Conversation:
    """Return a conversation of so many turns, each of which carried those above it.

    Args:
        count: how many.
        letters: about how many characters a turn has; a tenth of them is its question.
    """
    prompt, reply = PROMPT[: letters // 10], (REPLY * 3)[: letters - letters // 10]
    turns, carried = [], NOTHING
    for number in range(1, count + 1):
        turn = Turn(
            f"{number}. {prompt}", reply=Reply(f"{number}. {reply}"), number=number, carried=carried
        )
        turns.append(replace(turn, record=turn.to_record("0" * 64)))
        carried = carried.followed_by(number, turn.digest)
    return Conversation.from_items(turns)


def asking(url: str, count: int) -> Row:
    """Return the row of a question after so many turns."""
    session = Session(Client(url, auth="none"))
    session.conversation = talk(count)
    figures = by_turns({OURS: lambda: cpu(lambda: session.ask("And now?"))}, ROUNDS)
    figures["the limit"] = TURNS[count]
    return Row(f"a question after {count:,} turns, CPU", figures, "s", "the limit", "≤ 1")


def keeping() -> Iterator[Row]:
    """Yield the rows of the CPU seconds that saving many turns takes, and loading them."""
    made, texts = talk(SAVED), list[str]()
    saving = cpu(lambda: texts.append(conversation_file.dumps(made)))
    loading = cpu(lambda: conversation_file.loads(texts[0].encode()))
    for what, spent in (("saving", saving), ("loading", loading)):
        yield Row(f"{what} {SAVED:,} turns, CPU", {OURS: spent, "limit": 3.0}, "s", "limit", "≤ 1")


def held(url: str, letters: int) -> Row:
    """Return the row of the memory that loaded turns take, once a question has carried them."""
    saved = conversation_file.dumps(talk(HELD, letters))
    session = Session(Client(url, auth="none"))
    session.ask("And now?")
    tracemalloc.start()
    loaded = conversation_file.loads(saved.encode(), session.conversation.added)
    session.changes.make(lambda conversation: conversation.load(loaded))
    session.ask("And now?")
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    text = sum(len(turn.prompt) + len(turn.reply.text) for turn in session.conversation)
    figures = {OURS: (size - text) / HELD, "limit": 5_000.0}
    what = f"memory of a turn of {text / HELD:,.0f} beside its text"
    return Row(what, figures, "bytes", "limit", "≤ 1")


def rows() -> Iterator[Row]:
    """Take the figures and return the rows."""
    told: Queue[str] = Queue()
    server = Process(target=_serve, args=[told], daemon=True)
    server.start()
    try:
        url = told.get(timeout=20)
        for count in TURNS:
            yield asking(url, count)
        for letters in LETTERS:
            yield held(url, letters)
    finally:
        server.terminate()
    yield from keeping()
