"""Nothing that a reply contains acts in a page: a corpus of hostile replies, in every state."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import loopback
import pytest
from hostile import CORPUS, GOOD_LINKS, RISKIEST, SELECTED, Hostile
from nbconvert import HTMLExporter
from playwright.sync_api import BrowserContext, Page
from rig import Book, Front, Tabs, wait

from chatmagic.safe_text import visible

Open = Callable[..., Book]
Corpus = tuple[Hostile, ...]

PATIENCE: Final = 300.0
IN_A_CELL: Final = 46  # the front ends hide what a cell shows after its 50th output
LOOKS: Final = (Path(__file__).parent / "hostile.js").read_text(encoding="utf-8")
_TAGS: Final = """a blockquote br code details div em h4 h5 h6 hr li ol p pre s span strong summary
sup table tbody td th thead tr ul"""
_ATTRIBUTES: Final = """aria-hidden aria-label class dir href referrerpolicy rel role scope start
style tabindex target title"""
REPLIES: Final = {
    "roots": ".chatmagic",
    "ours": ".cm-in-cell > .cm-code-tools",
    "tags": _TAGS.split(),
    "attributes": _ATTRIBUTES.split(),
    "trusted": True,
}
ERRORS: Final = {**REPLIES, "roots": ".jp-RenderedText pre", "foreign": True}
PANEL: Final = {**REPLIES, "roots": ".cm-reply .chatmagic-reply", "ours": ".cm-code-tools"}
NOT_IN_A_PANEL: Final = (
    ":is(.chatmagic-panel, .chatmagic-saved) :is(img, script, style, iframe, object, embed, form, "
    "input:not(.cm-model), video, audio, base, meta, link, [onclick], [onerror], [onload], "
    "[id]:not(.cm-settings > dl > dd > datalist))"
)
HISTORY: Final = ("%chat_history all", "%chat_history", "%chat_undo")
ASK: Final = """
def ask(first, last, *options):
    for number, text in enumerate(texts[first:last], first):
        own = "--raw --no-history" if len(text) > 1500 else "--raw"
        line = " ".join([own, *options])
        get_ipython().run_cell_magic("chat", line, f"{number}\\n{text}")

def fail(first, last):
    for number, text in enumerate(texts[first:last], first):
        try:
            get_ipython().run_cell_magic("chat", "--raw --no-history", f"{number} fails\\n{text}")
        except Exception:
            get_ipython().showtraceback()
"""


class Model:
    """A service whose every word is hostile: replies, names, headers and errors.

    Args:
        trap: what the replies would have the page fetch from.
        corpus: the replies.
    """

    def __init__(self, trap: str, corpus: Corpus) -> None:
        """Arm the corpus; every reply waits before its end until somebody lets it."""
        self.corpus = corpus
        self.texts = [kind.armed(number, trap) for number, kind in enumerate(corpus)]
        self.go = threading.Semaphore(0)
        self.waits = True

    def __call__(self, peer: loopback.Peer) -> None:
        """Answer one connection's requests (a script of :class:`loopback.Server`)."""
        peer.wait_up_to(PATIENCE)  # a page may take longer than a test without one
        while asked := peer.request():
            prompt = asked.body["messages"][-1]["content"]
            number, _, fails = prompt.partition("\n")[0].partition(" ")
            text = self.texts[int(number)]
            line = " ".join("".join(c for c in text[:200] if " " <= c <= "~").split())
            headers = {"X-RateLimit-Limit": "9", "X-RateLimit-Reset": line, "Server": line}
            if fails:
                peer.send(_refusal(int(number), text, headers))
                continue
            headers |= {**loopback.EVENTS, "Transfer-Encoding": "chunked"}
            peer.send(loopback.head(headers=headers))
            peer.send(loopback.chunked(_chunk(text, text, None)))
            assert not self.waits or self.go.acquire(timeout=PATIENCE)
            peer.send(loopback.chunked(_chunk(text, "", text[:300]), loopback.DONE))
            peer.send(loopback.CHUNKS_END)


def _chunk(name: str, content: str, end: str | None) -> bytes:
    choice = {"delta": {"content": content}, "finish_reason": end}
    return f"data: {json.dumps({'model': name[:300], 'choices': [choice]})}\n\n".encode()


def _refusal(number: int, text: str, headers: dict[str, str]) -> bytes:
    """Give an error in one of four ways, in turn."""
    body: dict[str, Any] = {"error": {"message": text, "type": text, "code": text}}
    if number % 4 == 0:
        return loopback.document(body, "400 Bad Request", headers)
    if number % 4 == 1:
        typed = {"Content-Type": "text/html", **headers}
        return loopback.answer(text.encode("utf-8", "replace"), "502 Bad Gateway", typed)
    if number % 4 == 2:
        used = {"error": text, "message": text, "limit": 1, "used": 1, "resetAt": text}
        return loopback.document(
            used, "429 Too Many", {"Retry-After": headers["Server"], **headers}
        )
    return loopback.stream(f"data: {json.dumps(body)}\n\n".encode(), headers=headers)


class Scene:
    """A page, what watches it, and what must not happen in it.

    Args:
        page: the page.
        trap: what counts what the page fetches.
    """

    def __init__(self, page: Page, trap: loopback.Server) -> None:
        """Watch from now on."""
        self.page = page
        self.trap = trap
        self.happened: list[str] = []
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("popup", lambda popup: self.happened.append(f"opened {popup.url}"))
        page.on("download", lambda download: self.happened.append(f"loads {download.url}"))

    def _dialog(self, dialog: Any) -> None:
        if dialog.type == "beforeunload":  # the page asks before it goes; no reply does that
            dialog.accept()
            return
        self.happened.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        # JupyterLab asks its own server about each path that stands in a printed text.
        if "trap-" in request.url and "/api/resolvePath?" not in request.url:
            self.happened.append(f"fetches {request.url}")

    def look(self, part: str, given: dict[str, Any] | None = None) -> Any:
        """Let a part of ``hostile.js`` look at the page."""
        return self.page.evaluate(f"given => window.hostile.{part}(given)", given)

    def ready(self) -> None:
        """Bring ``hostile.js`` into a page that was loaded anew."""
        self.page.evaluate(LOOKS)

    def harmless(self, *kinds: dict[str, Any], as_before: dict[str, Any] | None = None) -> None:
        """Fail if anything acts, stands where it must not, or does so when it is clicked."""
        at = self.page.url
        for clicked in (False, True):
            for given in kinds:
                found = self.look("standing", given)
                assert not found, (len(found), sorted(found)[:20], clicked)
                assert self.look("roots", given), f"nothing is shown in {given['roots']}"
                assert clicked or self.look("click", given) == []
            assert self.happened == []
            assert self.trap.accepted == 0
            assert self.page.url == at
            if as_before is not None:
                assert self.look("landmarks") == as_before


@contextmanager
def _stage(corpus: Corpus) -> Iterator[tuple[Model, str, loopback.Server]]:
    with ExitStack() as stack:
        trap = stack.enter_context(loopback.Server(loopback.playing(loopback.answer(b"caught"))))
        model = Model(trap.origin, corpus)
        service = stack.enter_context(loopback.Server(model, handshakes_fail=None))
        stack.callback(model.go.release, len(corpus))
        yield model, service.origin, trap


def _cells(origin: str, texts: list[str], *, quiet: bool = False) -> list[str]:
    """Give cells that ask everything, the first of which prepares that."""
    setup = (
        f"%load_ext chatmagic\n%config ChatMagics.auth = 'none'\n"
        f"%chat_connect {origin}\nimport json\ntexts = json.load(open('texts.json'))\n"
    )
    ranges = [(start, start + IN_A_CELL) for start in range(0, len(texts), IN_A_CELL)]
    if quiet:
        return [setup + ASK, "ask(0, len(texts), '--quiet')"]
    asks = [f"ask({first}, {last})" for first, last in ranges]
    fails = [f"fail({first}, {last})" for first, last in ranges]
    return [setup + ASK, *asks, *fails, *HISTORY]


def _stream(book: Book, scene: Scene, model: Model, cell: int, numbers: Sequence[int]) -> None:
    """Let the replies come for which a cell asks, and look at each while it streams."""
    book.start(cell)
    for count, number in enumerate(numbers, 1):
        book.until(
            """(roots => roots.length === given[1] && roots[given[1] - 1].querySelector(
              '.chatmagic-reply > :not(.chatmagic-waiting)')
              && !roots[given[1] - 1].querySelector('.chatmagic-credits')
            )(notebook.widgets[given[0]].outputArea.node.querySelectorAll('.chatmagic'))""",
            [cell, count],
        )
        found = scene.look("standing", {**REPLIES, "last": True})
        assert found == [], (model.corpus[number].tries, found)
        model.go.release()
    book.until("panel.sessionContext.session.kernel.status === 'idle'")
    assert "error" not in [output["output_type"] for output in book.outputs(cell)]


@pytest.mark.parametrize(
    "corpus", [SELECTED, pytest.param(CORPUS, marks=pytest.mark.release)], ids=["some", "all"]
)
def test_no_reply_acts(lab: Open, tabs: Tabs, corpus: Corpus) -> None:
    """Live, final, saved and opened again, trusted and not, with clicks; errors and prompts too.

    With all of them, Notebook 7 opens the file with a page of its own, and trusts it.
    """
    risky = [number for number, kind in enumerate(corpus) if kind.tries in RISKIEST]
    assert len(risky) == len(RISKIEST)
    with _stage(corpus) as (model, origin, trap):
        book = lab(_cells(origin, model.texts))
        folder = book.front.server.folder
        (folder / "texts.json").write_text(json.dumps(model.texts), encoding="utf-8")
        book.run(0)
        scene = Scene(book.page, trap)
        scene.ready()
        before = scene.look("landmarks")
        numbers = range(len(corpus))
        asks = -(-len(corpus) // IN_A_CELL)
        for cell in range(1, 1 + asks):
            _stream(book, scene, model, cell, numbers[(cell - 1) * IN_A_CELL :][:IN_A_CELL])
        for cell in range(1 + asks, len(book.ids())):
            book.run(cell)
        said = book.text(1 + asks)
        assert "Bad Gateway" in said or "502" in said
        scene.harmless(REPLIES, ERRORS, as_before=before)
        assert scene.look("places", {**REPLIES, "only": risky}) == []
        assert book.page.locator("mjx-container").count() > 0  # there is math to act
        _links_open_elsewhere(book, scene, corpus)

        saved, path = book.save(), book.path
        other = _changed(book, saved, len(corpus))
        before = scene.look("landmarks")
        assert not other.js("return notebook.widgets.some(cell => cell.model.trusted)")
        scene.harmless({**REPLIES, "trusted": False}, ERRORS, as_before=before)
        assert other.front.heard.fetched == []
        _exported(folder / other.path, book.page.context, trap, len(corpus))
        if corpus is CORPUS:
            _in_notebook_7(tabs.front("notebook"), path, model, trap, risky)


def _in_notebook_7(
    front: Front, path: str, model: Model, trap: loopback.Server, risky: Sequence[int]
) -> None:
    """Open what was saved there, where all of it is trusted, and let the riskiest stream anew."""
    book = Book(front, front.page, path)
    book.load()
    _wait_until_drawn(book, len(model.corpus))
    scene = Scene(book.page, trap)
    scene.ready()
    before = scene.look("landmarks")
    assert book.js("return notebook.widgets.every(cell => cell.model.trusted)")
    scene.harmless(REPLIES, ERRORS, as_before=before)
    book.command("editmenu:clear-all")
    book.run(0)
    last = len(book.ids()) - 1
    book.write(last, f"for number in {risky}: ask(number, number + 1)")
    _stream(book, scene, model, last, risky)
    scene.harmless(REPLIES, as_before=before)
    assert scene.look("places", REPLIES) == []
    book.close()


def _links_open_elsewhere(book: Book, scene: Scene, corpus: Corpus) -> None:
    """Click on a good link as a person does: a new tab that knows nothing of this one."""
    context, at = book.page.context, book.page.url
    context.route("**/*good.example/**", lambda route: route.fulfill(body="there"))
    number = next(at for at, kind in enumerate(corpus) if kind.tries == GOOD_LINKS)
    book.js("await notebook.scrollToItem(given)", 1 + number // IN_A_CELL)
    link = book.page.locator("a", has_text="the docs").first
    link.scroll_into_view_if_needed()
    wait(book.page, "link => link.innerText", arg=link.element_handle())
    assert link.inner_text() == "the docs (docs.good.example)"
    with context.expect_page() as opened:
        link.click()
    popup = opened.value
    popup.wait_for_load_state()
    assert popup.url == "https://docs.good.example/3/?a=1&b=2#c"
    assert popup.evaluate("[window.opener, document.referrer]") == [None, ""]
    popup.close()
    assert book.page.url == at
    assert [one.partition(" ")[0] for one in scene.happened] == ["opened"]
    scene.happened.clear()


def _changed(book: Book, saved: dict[str, Any], replies: int) -> Book:
    """Open what was saved as somebody else's file, which no signature knows."""
    path = f"other-{book.path}"
    saved["metadata"]["from"] = "elsewhere"
    for cell in saved["cells"]:
        for output in cell.get("outputs", []):
            output.setdefault("metadata", {})["from"] = "elsewhere"
    (book.front.server.folder / path).write_text(json.dumps(saved), encoding="utf-8")
    book.js("await panel.context.save(); panels(path).forEach(one => one.dispose())")
    book.path = path
    book.load()
    _wait_until_drawn(book, replies)
    return book


def _wait_until_drawn(book: Book, replies: int) -> None:
    """Wait for the last outputs of a file: a front end draws the cells below while it idles."""
    book.until("document.querySelectorAll('.chatmagic').length >= given", replies)
    book.until("document.querySelector('.jp-RenderedText pre')")


def _exported(path: Path, context: BrowserContext, trap: loopback.Server, replies: int) -> None:
    """Look at what nbconvert makes of it; what its own template fetches is its own."""
    exported, _ = HTMLExporter().from_filename(str(path))
    path.with_suffix(".html").write_text(exported, encoding="utf-8")
    page = context.new_page()
    page.route(re.compile("^https:"), lambda route: route.abort())
    scene = Scene(page, trap)
    page.goto(path.with_suffix(".html").as_uri())
    scene.ready()
    scene.harmless(REPLIES, ERRORS)
    assert page.locator(".chatmagic").count() >= replies
    page.close()


@pytest.mark.release
def test_no_reply_acts_in_the_panel(lab: Open) -> None:
    """Live and final, from cells and its own; the transcript that is saved beside it.

    And in a notebook from elsewhere: records are hostile too, what they name is loaded as text.
    """
    with _stage(CORPUS) as (model, origin, trap):
        save = "%chat_save all.ipynb --force"
        book = lab([*_cells(origin, model.texts, quiet=True), save, "%chat_panel", "1"])
        folder = book.front.server.folder
        (folder / "texts.json").write_text(json.dumps(model.texts), encoding="utf-8")
        model.waits = False
        for cell in range(4):
            book.run(cell)
        scene = Scene(book.page, trap)
        scene.ready()
        kept = sum(not kind.long for kind in CORPUS)
        earlier = book.page.locator(".chatmagic-panel .cm-earlier-turns")
        turns = book.page.locator(".chatmagic-panel .cm-turn")
        while (shown := turns.count()) < kept:
            # It is hidden where all turns are listed, of which some are still on their way.
            earlier.evaluate("button => button.hidden || button.click()")
            turns.nth(shown).wait_for(state="attached")
        assert turns.count() == kept
        scene.harmless(PANEL)
        assert book.page.locator(NOT_IN_A_PANEL).count() == 0
        assert "\u202e" not in book.page.locator(".chatmagic-panel").inner_text()
        replies = book.js(
            "return Array.from(document.querySelectorAll('.cm-text')).map(one => one.innerText)"
        )
        assert len(replies) == kept

        model.waits = True
        box = book.page.get_by_role("textbox", name="Prompt")
        for number in (7, kept // 2, len(CORPUS) - 2):
            box.fill(f"{number}\n{visible(model.texts[number][:500])}")
            box.press("Enter")
            book.until("document.querySelector('.cm-live .chatmagic-reply')")
            scene.harmless(PANEL)
            model.go.release()
            book.until("!document.querySelector('.cm-live')")
        box.fill(f"{kept} fails\n{model.texts[4]}")
        box.press("Enter")
        book.until("document.querySelector('.cm-aside')")
        scene.harmless(PANEL)
        assert book.page.locator(NOT_IN_A_PANEL).count() == 0

        # Opened again, the file shows what was saved of the panel.
        book.save()
        book.reopen()
        assert book.js("return notebook.widgets.every(cell => cell.model.trusted)")
        book.until("document.querySelector('.chatmagic-saved')")
        scene.harmless(REPLIES)
        assert book.page.locator(NOT_IN_A_PANEL).count() == 0
        assert book.front.heard.fetched == []

        other = lab(["%load_ext chatmagic", "%chat_load all.ipynb", *HISTORY])
        other.run_all()
        scene.harmless(REPLIES)
        assert other.front.heard.fetched == []
