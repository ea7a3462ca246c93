"""The views of one reply, with a page that keeps what it is sent."""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from loopback import Server, playing, stream
from shells import Page, Shell, alone, left

from chatmagic._json import digest
from chatmagic.archive import output
from chatmagic.client.halt import Halt
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter import reply_views
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.models import Credits, Reply, Usage
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.events import Began, Fragment
from chatmagic.session.views import THOUGHTS_ABOVE

PATIENCE = 60.0
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CREDITS = Credits(100, 42, 58, datetime(2026, 1, 2, tzinfo=UTC), NOON)
REPLY = Reply(
    "# Title\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```python\nx = 1\n```\n\nMath $x^2$ and <b>.",
    model="m",
    finish_reason="stop",
    usage=Usage(3, 4, 7),
    credits=CREDITS,
    date=NOON,
)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Page]:
    """Give the page of a shell without the extension."""
    with alone(monkeypatch, tmp_path):
        shell = Shell(extension=False).shell
        assert isinstance(shell.display_pub, Page)
        yield shell.display_pub


@pytest.fixture
def loop() -> Iterator[DrawingLoop]:
    """Give a drawing loop."""
    made = DrawingLoop()
    yield made
    made.close()


class Cell(reply_views.Live):
    """A live view, told of its ask as a session tells it and the loop."""

    def __init__(self, loop: DrawingLoop, *, alone: bool = True) -> None:
        """Ask."""
        self.ask, self.loop = Ask("why?"), loop
        super().__init__(self.ask, loop, alone=alone)

    def began(self, notes: Sequence[str]) -> None:
        """Hear that the request is about to be sent."""
        super().began(notes)
        self.loop.hear(Began(self.ask, tuple(notes), (), Halt()))

    def fragment(self, text: str) -> None:
        """Hear a fragment."""
        super().fragment(text)
        self.loop.hear(Fragment(self.ask, text))


def answer(reply: Reply = REPLY) -> Outcome:
    """Give what a session gives a view in the end."""
    turn = Turn(prompt="why?", reply=reply, owner="0123456789abcdef")
    return Outcome(reply, turn.to_record(digest("request")))


def html(page: Page) -> str:
    """Give the HTML that was sent last."""
    return str(page.messages[-1]["data"]["text/html"])


def until(page: Page, there: Callable[[], bool]) -> None:
    """Wait until something is on the page."""
    while not there():
        assert page.news.wait(PATIENCE), page.messages
        page.news.clear()


def test_live_ends_as_once(page: Page, loop: DrawingLoop) -> None:
    """Data and metadata of the last update are those of the one display, and nothing else."""
    live = Cell(loop)
    for line in REPLY.text.splitlines(keepends=True):
        live.fragment(line)
    live.ended(answer())
    (output,) = left(page.messages)
    page.messages.clear()
    reply_views.Once().ended(answer())
    (once,) = left(page.messages)
    for name in ("data", "metadata"):
        assert output[name] == once[name]
    assert output["id"] is not None


def test_live_begins_with_a_mark(page: Page, loop: DrawingLoop) -> None:
    """What it waits for, then that it waits; HTML alone until the end, notes among it."""
    live = Cell(loop)
    live.waiting("cell [3] <b>")
    assert "cell [3] &lt;b&gt;" in html(page)
    box = re.compile(
        '<div class="chatmagic-reply [^"]*chatmagic-live chatmagic-live-([0-9a-f]{12})["]'
    )
    names = box.findall(html(page))
    live.began(["sent only 2 of 5 turns"])
    names += box.findall(html(page))
    assert len(names) == 2
    assert len({*names}) == 1
    assert "sent only 2 of 5 turns" in html(page)
    assert "Waiting for the reply." in html(page)
    live.fragment("*first*")
    until(page, lambda: "<em>first</em>" in html(page))
    assert "Waiting" not in html(page)
    assert "sent only" in html(page)
    assert f"chatmagic-live-{names[0]} " in html(page)
    assert len({message["id"] for message in page.messages}) == 1
    assert [message["kind"] for message in page.messages] == ["display", "update", "update"]
    assert all(list(message["data"]) == ["text/html"] for message in page.messages)
    assert all(message["metadata"] == {} for message in page.messages)
    live.ended(answer())


def test_a_failure_takes_the_mark_away(page: Page, loop: DrawingLoop) -> None:
    """Alone in its cell nothing is left; beside other outputs they stay."""
    live = Cell(loop)
    live.began([])
    live.failed()
    assert left(page.messages) == []
    page.messages.clear()
    beside = Cell(loop, alone=False)
    beside.waiting("cell [3]")
    beside.began([])
    beside.failed()
    (output,) = left(page.messages)
    assert output["data"] == {"text/html": ""}
    page.messages.clear()
    unasked = Cell(loop)
    unasked.failed()
    assert page.messages == []


def test_a_page_that_went_away(
    page: Page, loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update that fails does not end the reply; the last state is tried again."""
    live = Cell(loop)
    live.began([])
    tried = threading.Event()

    def broken(*_: object, **__: object) -> None:
        tried.set()
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(page, "publish", broken)
        live.fragment("first")
        assert tried.wait(PATIENCE)
    live.ended(answer())
    assert left(page.messages)[0]["data"]["text/plain"] == REPLY.text


MARK = reply_views.WAITING
OVER_THE_MARK = f"\r{' ' * len(MARK)}\r"


def test_printing(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    """Notes, a mark, over it the text as it comes, what was not taken yet, and the credits."""
    view = reply_views.Printed()
    view.waiting("cell [3]")
    view.began(["sent only 2 of 5 turns"])
    for fragment in ("# Ti", "tle\r\n", "text"):
        view.fragment(fragment)
    view.failed()
    before = capsys.readouterr().out
    assert before == (
        "(waiting for the reply to cell [3] to end)\n(sent only 2 of 5 turns)\n"
        f"{MARK}{OVER_THE_MARK}# Title\ntext"
    )
    view.ended(answer(replace(REPLY, text="# Title\r\ntext and the rest")))
    assert capsys.readouterr().out == (
        " and the rest\n\n(42 of 100 credits left · resets 2026-01-02 00:00 UTC · "
        "3 tokens sent, 4 received)\n"
    )
    view.failed()
    assert page.messages == []


@pytest.mark.parametrize(
    ("arrived", "shown"),
    [
        ("I think.</think>\n\nBlue.", "I think.</think>\n\nBlue."),
        ("I think.</think>\n\nBl", "I think.</think>\n\nBlue."),
        ("I th", "I th\n</think>\n\nBlue."),
    ],
)
def test_printed_thoughts_without_a_beginning_are_named(
    page: Page, capsys: pytest.CaptureFixture[str], arrived: str, shown: str
) -> None:
    """They cannot be taken back; a line tells where the reply begins, of which nothing is lost."""
    assert page is not None
    view = reply_views.Printed(piped=True)
    view.fragment(arrived)
    view.ended(answer(Reply("Blue.", reasoning="I think.")))
    printed = capsys.readouterr().out
    assert printed.startswith(f"{shown}\n\n({THOUGHTS_ABOVE})\n")


def test_thoughts_of_their_own_are_not_printed(
    page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reply alone was printed, and no line speaks of what stands above."""
    assert page is not None
    view = reply_views.Printed(piped=True)
    view.fragment("Bl")
    view.ended(answer(Reply("Blue.", reasoning="I think.")))
    assert capsys.readouterr().out == "Blue.\n"


class CountedOutput(io.StringIO):
    """Standard output that counts how often it is flushed."""

    flushes = 0

    def flush(self) -> None:
        """Count it."""
        self.flushes += 1


@pytest.mark.parametrize(("is_kernel", "most"), [(True, 20), (False, 601)])
def test_a_kernel_gets_few_messages(
    page: Page, monkeypatch: pytest.MonkeyPatch, *, is_kernel: bool, most: int
) -> None:
    """At most 20 a second, all flushed at the end; a terminal of one's own gets each at once."""
    del page
    now = [0.0]
    written = CountedOutput()
    monkeypatch.setattr(sys, "stdout", written)
    view = reply_views.Printed(piped=True, clock=(lambda: now[0]) if is_kernel else None)
    view.began([])
    for _ in range(600):
        view.fragment("x")
        now[0] += 1 / 600
    assert 15 <= written.flushes <= most
    view.ended(answer(replace(REPLY, text="x" * 600)))
    assert written.getvalue().startswith("x" * 600 + "\n")
    view.fragment("a")
    view.fragment("b")
    view.failed()
    assert written.getvalue().endswith("ab")


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\rover\u202ewritten\x00"


@pytest.mark.parametrize("once", [False, True])
def test_a_terminal_is_safe(page: Page, capsys: pytest.CaptureFixture[str], *, once: bool) -> None:
    """Nothing of a reply acts: not its text, its end's words, nor a refusal."""
    del page
    view = reply_views.Printed(once=once)
    view.began([])
    for char in HOSTILE:
        view.fragment(char)
    view.ended(answer(replace(REPLY, text=HOSTILE, finish_reason=HOSTILE, refusal=HOSTILE)))
    said = capsys.readouterr().out.replace(OVER_THE_MARK, "")
    assert said.count("owned") == 3
    assert not [char for char in said if not char.isprintable() and char != "\n"]


@pytest.mark.parametrize("once", [False, True])
def test_printed_text_makes_no_links_but_of_the_web(
    page: Page, capsys: pytest.CaptureFixture[str], *, once: bool
) -> None:
    """A page makes links of what is printed; the address may come in pieces."""
    del page
    view = reply_views.Printed(in_page=True, once=once)
    view.began([])
    pieces = ("see https:", "//a.b and java", "script:/", "/x%0ay or da", "ta:text/html,z")
    for piece in pieces:
        view.fragment(piece)
    text = "".join(pieces)
    view.ended(answer(replace(REPLY, text=text, refusal="data:text/html,z")))
    said = capsys.readouterr().out
    assert text in said.replace("\u2060", "")
    assert "https://a.b" in said
    assert "javascript://" not in said
    assert "data:" not in said


@pytest.mark.parametrize("once", [False, True])
def test_a_pipe_gets_the_text_alone(
    page: Page, capsys: pytest.CaptureFixture[str], *, once: bool
) -> None:
    """No waiting mark and no carriage return; a failed ask leaves nothing."""
    view = reply_views.Printed(piped=True, once=once)
    view.began([])
    view.failed()
    assert capsys.readouterr().out == ""
    view.began([])
    view.fragment(REPLY.text)
    view.ended(answer())
    said = capsys.readouterr().out
    assert said.startswith(f"{REPLY.text}\n\n(42 of 100 credits left")
    assert "\r" not in said
    assert page.messages == []


def test_no_page_looks_for_formulas_in_what_stands_around_a_reply(
    page: Page, loop: DrawingLoop
) -> None:
    """How a reply ended is in the service's words, which may hold dollars."""
    ended = replace(REPLY, finish_reason=r"$\href{javascript:x}{y}$")
    start = '<div class="chatmagic mathjax_ignore tex2jax_ignore" role="group"'
    assert output.bundle(ended)["text/html"].startswith(start)
    view = Cell(loop)
    view.began(["$x$"])
    view.fragment("$x$")
    view.ended(answer(ended))
    assert all(
        "_ignore tex2jax_ignore" in message["data"]["text/html"].partition("$")[0]
        for message in page.messages
        if "$" in message["data"]["text/html"]
    )


def test_nothing_is_left_to_display(shell: Shell) -> None:
    """A bare line leaves no Out; a reply that was not just shown displays itself."""
    for code in ("%chat echo:a", "%%chat\necho:b", "r = %chat echo:c"):
        assert "Out" not in shell.machine(code).printed
    assert "Out" not in shell.do("%chat echo:d").printed
    assert "c" in shell.do("r").printed.split("Out")[1]
    formatter: Any = shell.shell.display_formatter
    html = formatter.format(shell["r"])[0]["text/html"]
    assert 'class="chatmagic ' in html
    both = shell.machine("r = %chat echo:shown once\nr")
    assert both.printed.count("shown once") == 0
    again = shell.do("%chat -q -o r echo:quiet one\nr")
    assert "quiet one" in again.printed


@pytest.mark.parametrize(
    ("asks", "is_shown"), [("%chat -q echo:words", False), ("r = %chat -q echo:words\nr", True)]
)
def test_the_cell_that_loads_may_ask_quietly(bare: Shell, asks: str, *, is_shown: bool) -> None:
    """Its reply is shown where the cell names it."""
    del bare
    fresh = Shell(extension=False)
    ran = fresh.do(f"%load_ext chatmagic\n%chat_connect emulator\n{asks}")
    assert ("words" in ran.everything) is is_shown


@pytest.mark.parametrize("how", [{}, {"person": False}, {"cell": "a"}])
def test_a_shown_reply_is_not_displayed_again(bare: Shell, how: dict[str, Any]) -> None:
    """Nor in the cell that loads the extension, nor by automagic: no ``Out``, no repr."""
    del bare
    fresh = Shell(extension=False)
    loaded = fresh.do("%load_ext chatmagic\n%chat_connect emulator\n%chat echo:one", **how)
    assert "Out" not in loaded.printed
    assert "Reply(" not in loaded.everything
    automagic = fresh.do("chat echo:two", **how)
    assert "Out" not in automagic.printed
    assert automagic.result is None
    assert "Out" in fresh.do("%chat echo:three\n1 + 1", **how).printed
    asks = "import chatmagic\nchatmagic.ask('echo:four')"
    again = fresh.do(f"%reload_ext chatmagic\n%chat_connect emulator\n{asks}", **how)
    assert "four" in again.printed
    assert "Reply(" not in again.everything
    fresh.do("%unload_ext chatmagic")
    assert fresh.shell.display_trap.hook is fresh.shell.displayhook
    assert "Out" in fresh.do("1 + 1").printed


def test_thoughts_that_no_reply_followed_stay(bare: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folded, without a record: they are no turn."""
    thinks = b'data: {"choices": [{"delta": {"reasoning_content": "Let <b>me</b> see"}}]}\n\n'
    monkeypatch.setenv("CHATMAGIC_AUTH", "none")
    with Server(playing(*[stream(thinks)] * 2)) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        for ran in (bare.fails("%%chat\nWhy?", person=False), bare.fails("%%chat\nWhy?", cell="a")):
            assert "<summary>Thought: 3 words. No reply began.</summary>" in ran.html
            assert "Let &lt;b&gt;me&lt;/b&gt; see" in ran.html
            assert "Let" not in "".join(ran.texts)
            assert ran.records == []
