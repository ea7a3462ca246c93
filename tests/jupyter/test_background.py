"""``%%chat --background``: the cell ends, the reply still comes, and the next question waits."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from comms import Widgets
from IPython.core.completer import provisionalcompleter
from logged import Emulator
from loopback import Server, playing, stream
from shells import FIXED, Page, Shell, asked, left

from chatmagic.errors import ChatError, ChatInterrupted, CutOffError
from chatmagic.jupyter import reply_views
from chatmagic.jupyter.background import Background
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.models import Reply
from chatmagic.session.ask import Ask
from chatmagic.session.current import current_session
from chatmagic.session.events import Began, Event, Fragment
from chatmagic.session.views import View

PATIENCE = 60.0
ASK = "%%chat --background -o reply\necho:one two"


class Gate:
    """What holds the replies of a session at their first word, until it is opened."""

    def __init__(self) -> None:
        """Follow the session."""
        self.is_open, self.has_come = threading.Event(), threading.Event()
        self.words = threading.Semaphore(0)
        self.began: Began | None = None
        self.stop = current_session().followers.add(self._hear)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Began):
            self.began = event
        elif isinstance(event, Fragment):
            self.has_come.set()
            self.words.release()
            self.is_open.wait(PATIENCE)


@pytest.fixture(autouse=True)
def widgets(monkeypatch: pytest.MonkeyPatch) -> Widgets:
    """Give the widgets as the page has them."""
    return Widgets(monkeypatch)


@pytest.fixture
def gate(shell: Shell) -> Iterator[Gate]:
    """A gate, which is opened at the end."""
    del shell
    gate = Gate()
    yield gate
    gate.is_open.set()


def at_waiting(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Do something when a cell says that it waits."""
    plain = reply_views.Live.waiting

    def waiting(self: reply_views.Live, holder: str) -> None:
        plain(self, holder)
        act()

    monkeypatch.setattr(reply_views.Live, "waiting", waiting)
    monkeypatch.setattr(View, "waiting", lambda *_: act())


def ended(shell: Shell) -> None:
    """Wait for the end of what is under way in the background."""
    shell.kernel.background.wait()


def outputs(shell: Shell) -> list[dict[str, Any]]:
    """Give all that is left to see."""
    page = shell.shell.display_pub
    assert isinstance(page, Page)
    return left(page.messages)


def test_the_cell_ends_and_the_next_question_waits(
    shell: Shell, emulator: Emulator, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is unset until the reply has ended; the next question has its value."""
    shell.do("reply = 'of an earlier run'")
    ran = shell.page(ASK, "a")
    assert "Waiting for the reply." in ran.html
    assert "reply" not in shell.shell.user_ns
    assert shell.do("1 + 1").result == 2
    at_waiting(monkeypatch, gate.is_open.set)
    after = shell.page("%%chat\necho:{{ reply }} three", "b")
    assert "Waiting for the reply to cell [3] to end." in after.messages[0]["data"]["text/html"]
    assert asked(emulator) == [["echo:one two"], ["echo:one two", "one two", "echo:one two three"]]
    assert [output["data"]["text/plain"] for output in outputs(shell)] == ["one two three"]
    assert shell["reply"].text == "one two"


def test_several_queue_without_holding_the_kernel(
    shell: Shell, emulator: Emulator, gate: Gate
) -> None:
    """Their cells end at once, and they are asked one after the other, as in the foreground."""
    for word in ("one", "two", "three"):
        ran = shell.page(f"%%chat --background -o {word}\necho:{word}", word)
    assert "Waiting for the reply to cell [3] to end." in ran.messages[0]["data"]["text/html"]
    assert shell.do("1 + 1").result == 2
    assert gate.has_come.wait(PATIENCE)
    assert len(emulator.requests) == 1
    gate.is_open.set()
    ended(shell)
    assert [one[-1] for one in asked(emulator)] == ["echo:one", "echo:two", "echo:three"]
    assert asked(emulator)[2] == ["echo:one", "one", "echo:two", "two", "echo:three"]
    assert [shell[word].text for word in ("one", "two", "three")] == ["one", "two", "three"]
    assert [output["data"]["text/plain"] for output in outputs(shell)] == ["one", "two", "three"]


def test_threads_of_the_conversation_are_asked_at_once(
    shell: Shell, emulator: Emulator, gate: Gate
) -> None:
    """In the background and in the foreground; one behind waits, and fails with its own alone."""
    for thread in ("a", "b"):
        shell.page(f"%%chat --background --thread {thread}\necho:{thread} one", thread)
    shell.page("%%chat --background --thread a\necho:a two", "c")
    shell.page("%chat_thread d", "d")
    shell.page("%%chat --background\necho:d", "e")
    assert all(gate.words.acquire(timeout=PATIENCE) for _ in range(3))
    assert sorted(asked(emulator)) == [["echo:a one"], ["echo:b one"], ["echo:d"]]
    emulator.settings = replace(FIXED, fault="error", fault_after=-1)
    gate.is_open.set()
    ended(shell)
    assert asked(emulator)[3] == ["echo:a one", "a one", "echo:a two"]
    threads = current_session().conversation.threads
    assert [(name, len(turns)) for name, turns in sorted(threads.items())] == [
        ("a", 1), ("b", 1), ("d", 1), ("main", 0),
    ]  # fmt: skip
    emulator.settings = FIXED
    shell.page("%%chat --thread b\necho:b two", "f")
    error = shell.fails("%%chat --thread a\necho:a three", cell="g").error
    assert isinstance(error, ChatError)
    assert error.message.startswith("Nothing was sent, as cell [4] failed in the background: ")


def test_one_is_stopped_from_another_cell(shell: Shell, emulator: Emulator, gate: Gate) -> None:
    """By the number of its cell; without one, where there are several, nothing is."""
    error = shell.fails("%chat_stop", cell="s").error
    assert str(error).startswith("Under way in the background: nothing. Nothing was stopped.")
    emulator.settings = replace(FIXED, fault="hold", fault_after=1)
    for thread in "ab":
        shell.page(f"%%chat --background --thread {thread} -o {thread}\necho:one two", thread)
    gate.is_open.set()
    for code in ("%chat_stop", "%chat_stop 9"):
        message = str(shell.fails(code, cell="s").error)
        assert message.startswith("Under way in the background: cell [3], cell [4]. Nothing was")
    with provisionalcompleter():
        offered = list(shell.shell.Completer.completions("%chat_stop ", 11))
    assert [each.text for each in offered] == ["3", "4"]
    assert all(gate.words.acquire(timeout=PATIENCE) for _ in range(2))
    told = shell.page("%chat_stop 3", "s").printed
    assert told == (
        "The reply to cell [3] was stopped. "
        "Interrupted after 1 word; the text so far is kept, marked.\n"
    )
    assert "a" in shell.shell.user_ns
    assert "b" not in shell.shell.user_ns
    shell.page("%chat_stop", "s")
    ended(shell)
    assert [shell[name].state for name in "ab"] == ["interrupted", "interrupted"]


def test_one_that_waits_is_stopped_before_it_is_sent(
    shell: Shell, emulator: Emulator, gate: Gate
) -> None:
    """At once: the one before it goes on. Stopped itself, it fails no later question."""
    for word in ("one", "two"):
        shell.page(f"%%chat --background\necho:{word}", word)
    told = "The reply to cell [3] was stopped. Interrupted before the reply began; "
    assert shell.page("%chat_stop 3", "s").printed.startswith(told)
    emulator.settings = replace(FIXED, fault="hold", fault_after=1)
    gate.is_open.set()
    assert gate.words.acquire(timeout=PATIENCE)
    shell.page("%chat_stop", "s")
    emulator.settings = FIXED
    shell.page("%%chat\necho:three", "three")
    assert [one[-1] for one in asked(emulator)] == ["echo:one", "echo:three"]


def test_thoughts_without_a_reply_stay(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the reason, in the output of the cell that asked."""
    thinks = b'data: {"choices": [{"delta": {"reasoning_content": "Let <b>me</b> see"}}]}\n\n'
    monkeypatch.setenv("CHATMAGIC_AUTH", "none")
    with Server(playing(stream(thinks))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        shell.page("%%chat --background\nWhy?", "a")
        ended(shell)
    (shown,) = outputs(shell)
    assert "<summary>Thought: 3 words. No reply began.</summary>" in shown["data"]["text/html"]
    assert "Let &lt;b&gt;me&lt;/b&gt; see" in shown["data"]["text/html"]
    assert shown["data"]["text/plain"].startswith("The reply was cut off")


def test_one_that_fails_fails_those_that_wait_for_it(
    shell: Shell, emulator: Emulator, gate: Gate
) -> None:
    """They are not sent, and say which one failed; so does the next question, once."""
    emulator.settings = replace(FIXED, fault="cut", fault_after=1)
    for word in ("one two", "three", "four"):
        shell.page(f"%%chat --background\necho:{word}", word)
    gate.is_open.set()
    ended(shell)
    failed = "Nothing was sent, as cell [2] failed in the background: "
    assert [failed in output["data"]["text/plain"] for output in outputs(shell)] == [
        False,
        True,
        True,
    ]
    emulator.settings = FIXED
    error = shell.fails("%%chat\necho:c", cell="c").error
    assert isinstance(error, ChatError)
    assert error.message.startswith(failed)
    assert len(emulator.requests) == 1
    shell.page("%%chat\necho:c", "c")
    assert len(emulator.requests) == 2


@pytest.mark.parametrize(
    "code",
    [
        "%%chat -o reply --background --last x\nb",
        "%%chat -o reply --background\n\n",
        "%%chat -o reply --background\n{{ nothing }}",
        "%%chat -o reply --background\necho:tr0ub4dor&staple",
        "reply = %chat --background b",
    ],
)
def test_what_fails_unsent_fails_the_cell_itself(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """Nothing is told to the next question, and the variable keeps what it had."""
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    shell.page("%%chat -o reply\necho:a", "a")
    shell.fails(code, cell="b")
    assert shell["reply"].text == "a"
    shell.page("%%chat\necho:c", "c")
    assert len(emulator.requests) == 2


def test_a_part_is_kept_and_the_cell_itself_may_ask_again(shell: Shell, emulator: Emulator) -> None:
    """What came is shown and kept, marked; run again, its own cell is told nothing."""
    emulator.settings = replace(FIXED, fault="cut", fault_after=1)
    shell.page(ASK, "a")
    ended(shell)
    assert shell["reply"].state == "cut off"
    assert "Cut off" in outputs(shell)[0]["data"]["text/html"]
    assert [turn.state for turn in current_session().conversation] == ["cut off"]
    emulator.settings = FIXED
    shell.page(ASK, "a")
    ended(shell)
    assert [turn.state for turn in current_session().conversation] == ["complete"]
    shell.page("%%chat\necho:c", "c")


def test_an_interrupt_ends_the_wait_alone(
    shell: Shell, emulator: Emulator, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question that waits is not sent; the one in the background goes on."""
    shell.page(ASK, "a")
    with monkeypatch.context() as patch:
        at_waiting(patch, _thread.interrupt_main)
        error = shell.fails("%%chat\necho:b", cell="b").error
    assert isinstance(error, ChatInterrupted)
    assert error.message == (
        "Interrupted while waiting for the reply to cell [2]. Nothing was sent."
    )
    gate.is_open.set()
    ended(shell)
    assert shell["reply"].state == "complete"
    assert len(emulator.requests) == 1


def test_an_interrupt_before_its_turn_leaves_nothing(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that waits for an earlier question, as in the panel, says so and can be stopped."""
    with held("the panel"):
        at_waiting(monkeypatch, _thread.interrupt_main)
        ran = shell.fails(ASK, cell="a")
    assert isinstance(ran.error, ChatInterrupted)
    assert "Waiting for the reply to the panel to end." in ran.messages[0]["data"]["text/html"]
    assert emulator.requests == []
    shell.page("%%chat\necho:b", "b")


def test_an_interrupt_after_the_reply_says_that_it_is_kept() -> None:
    """A reply may come in the moment in which its cell ends, as out of a cassette."""
    background = Background()
    live = Mute(Ask("x"), DrawingLoop(), alone=False)

    def send(*, halt: object) -> Reply:
        del halt
        _thread.interrupt_main()
        return Reply("one two")

    with pytest.raises(ChatInterrupted, match=r"after the reply's end; it is kept\."):
        background.start(Ask("x", asker="cell [1]"), live, send, str)


@contextmanager
def held(asker: str) -> Iterator[None]:
    """Hold the session's lock in another thread."""
    has_it, leave = threading.Event(), threading.Event()

    def hold() -> None:
        has_it.set()
        leave.wait(PATIENCE)

    holder = threading.Thread(target=current_session().lock.alone, args=[asker, hold])
    holder.start()
    has_it.wait(PATIENCE)
    yield
    leave.set()
    holder.join()


def test_a_stop_fails_only_the_question_that_waits(
    shell: Shell, emulator: Emulator, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who stops a reply knows of it; a question that was waiting may have been meant for all."""

    def stop() -> None:
        gate.has_come.wait(PATIENCE)
        assert gate.began is not None
        gate.began.halt.stop()
        gate.is_open.set()

    emulator.settings = replace(FIXED, fault="hold", fault_after=1)
    shell.page(ASK, "a")
    with monkeypatch.context() as patch:
        at_waiting(patch, stop)
        shell.fails("%%chat\necho:b", cell="b")
    assert len(emulator.requests) == 1
    gate.has_come.clear()
    shell.page(ASK, "a")
    stop()
    ended(shell)
    assert shell["reply"].state == "interrupted"
    emulator.settings = FIXED
    shell.page("%%chat\necho:b", "b")


@pytest.mark.parametrize(
    ("code", "shows"),
    [
        ("%chat_history", "one two"),
        ("%chat_undo", "Undone: the question “echo:one two”."),
        ("%chat_retry --stale", "No cell is stale. Nothing was sent."),
        ("%reload_ext chatmagic", None),
    ],
)
def test_the_commands_wait_too(
    shell: Shell, gate: Gate, monkeypatch: pytest.MonkeyPatch, code: str, shows: str | None
) -> None:
    """What reads or changes the conversation has the reply; an interrupt is told in one line."""
    shell.page(ASK, "a")
    with monkeypatch.context() as patch:
        # In the wait itself, where Python takes a thread that is joined for ended.
        at_waiting(patch, threading.Timer(0.05, _thread.interrupt_main).start)
        error = shell.fails(code, cell="b").error
    assert isinstance(error, ChatInterrupted)
    assert error.message.startswith("Interrupted while waiting for the reply to cell [2].")
    with monkeypatch.context() as patch:
        at_waiting(patch, gate.is_open.set)
        ran = shell.page(code, "b")
    assert shell["reply"].state == "complete"
    assert shows is None or shows in ran.texts[0]


class Mute(reply_views.Live):
    """A view whose reply does not come."""

    def explain(self, error: BaseException) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("cell", "fails"), [("a", True), ("b", False), (None, True)])
def test_a_failure_is_told_once_to_another_cell(cell: str | None, fails: bool) -> None:
    """Its own cell, which runs again, takes it back."""
    background = Background()
    live = Mute(Ask("x"), DrawingLoop(), alone=False)

    def send(*, halt: object) -> None:
        del halt
        live.sent()
        raise CutOffError("It broke off.")

    background.start(Ask("x", owner="b", asker="cell [1]"), live, send, str)
    background.wait()
    if fails:
        with pytest.raises(ChatError, match=r"as cell \[1\] failed in the background: It"):
            background.settle(cell, View())
    background.settle(cell, View())
