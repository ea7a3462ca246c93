"""Notebooks in the pages of a Jupyter server, driven as a person drives them.

Everything waits for a condition in the page or in the kernel; nothing waits for a time.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, JSHandle, Page, Request
from serving import Server

FrontEnd = Literal["lab", "notebook"]
MILLISECONDS_TO_WAIT: Final = 180_000
"""A bound against hanging: nothing is measured by it."""
MILLISECONDS_BETWEEN: Final = 5

CHROMIUM: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-smooth-scrolling",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

FRONT_ENDS_OWN: Final = (
    "(reading 'schema')",
    "(reading 'last_modified')",
    "Could not restore the debugger state",
    "Command 'filebrowser:open-path' not registered",
)
"""Errors that Notebook 7 has in an empty notebook, too."""
FONTS: Final = re.compile("/static/(lab|notebook)/[0-9a-f]+[.]woff2?$")
"""A server finds a static file by its bare name where it found it first. JupyterLab's fonts and
Notebook 7's have the same names: the front end that asks second is forbidden the other's."""

FAILED: Final = """[...notebook.model.cells].filter(cell => cell.type === 'code'
    && !(cell.getMetadata('tags') ?? []).includes('raises-exception')
    && cell.outputs.toJSON().some(output => output.output_type === 'error'))"""
"""The cells with an error that is not expected; the page runs none behind one."""

# In the page: give the panel of a notebook by its path, and the notebook's cells.
FIND: Final = """
  const app = window.jupyterapp;
  const panels = path => Array.from(app.shell.widgets('main'))
    .filter(widget => widget.context && widget.context.path === path);
  const panel = panels(path)[view || 0];
  const notebook = panel && panel.content;
"""


def cell(source: str, *, kind: str = "code", **fields: Any) -> dict[str, Any]:
    """Give a cell for :meth:`Front.open`, where a plain string does not say enough.

    Args:
        source: its text.
        kind: ``code``, ``markdown`` or ``raw``.
        fields: more of what the file has of it, such as ``id``, ``metadata`` or ``outputs``.
    """
    own: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "source": source, "metadata": {}, **own, **fields}


# JupyterLab opens the file of its address last of all, and brings it to the front: without
# a wait for this a notebook that was closed stands before the one that was opened.
LOADED: Final[Mapping[FrontEnd, str]] = {
    "lab": """() => {
      const browser = document.querySelector('#filebrowser');
      return browser !== null && !browser.classList.contains('jp-mod-restoring');
    }""",
    "notebook": "() => Boolean(window.jupyterapp)",
}

# What JupyterLab opens after a reload is what it has kept a moment before.
KEPT: Final = """
  for (;;) {
    const {data} = await app.serviceManager.workspaces.fetch('default');
    const kept = Object.keys(data).filter(name => name.startsWith('notebook:'));
    if (kept.length === 1 && kept[0] === `notebook:${path}`) return;
    await new Promise(after => setTimeout(after, 100));
  }
"""

# Playwright does not bound what it evaluates.
BOUNDED: Final = """async ([path, view, given, milliseconds]) => {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error('this has no end')), milliseconds);
  });
  const work = (async () => { %s })();
  try { return await Promise.race([work, late]); } finally { clearTimeout(timer); }
}"""


LISTEN: Final = """selector => {
  const said = [];
  for (const region of document.querySelectorAll(selector)) {
    new MutationObserver(() => {
      if (region.getAttribute('aria-live') === 'polite') said.push(region.textContent);
    }).observe(region, {childList: true});
  }
  return said;
}"""


def wait(page: Page, expression: str, arg: Any = None) -> None:
    """Wait until an expression in a page is true.

    Playwright would evaluate it for each frame, and have the page draw one sixty times a second.
    """
    page.wait_for_function(expression, arg=arg, polling=MILLISECONDS_BETWEEN)


@dataclass
class Heard:
    """What a page did beside what it was asked to do.

    Args:
        fetched: addresses of the requests that went elsewhere than to the server.
        errors: what its console was told as an error, and what was raised in it.
    """

    fetched: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Tabs:
    """Chromium with a tab of each front end, which is opened for the first test that needs it.

    It stays open from one file to the next: a front end takes as long to load as a test takes.

    Args:
        program: Chromium's path.
        server: the server.
    """

    def __init__(self, program: str, server: Server) -> None:
        """Open nothing."""
        self._program = program
        self._server = server
        self._opened = ExitStack()
        self._browser: Browser | None = None
        self._fronts: dict[FrontEnd, Front] = {}

    def front(self, kind: FrontEnd) -> Front:
        """Return the tab of a front end."""
        if self._browser is None:
            from playwright.sync_api import sync_playwright  # noqa: PLC0415 - may be missing

            launcher = self._opened.enter_context(sync_playwright()).chromium
            self._browser = self._opened.enter_context(
                launcher.launch(executable_path=self._program, args=list(CHROMIUM))
            )
        if kind not in self._fronts:
            context = self._browser.new_context(viewport={"width": 1200, "height": 900})
            self._fronts[kind] = Front(kind, self._server, context)
        return self._fronts[kind]

    def close(self) -> None:
        """Close everything; the next test that needs a tab has it opened anew."""
        self._fronts.clear()
        self._browser = None
        self._opened.close()


class Front:
    """A front end in a browser's tab: JupyterLab, or Notebook 7.

    JupyterLab's page is loaded once and opens one notebook after the other; Notebook 7's
    is loaded for each.

    Args:
        kind: ``lab`` or ``notebook``.
        server: the server.
        context: the browser's window, so to say.
    """

    def __init__(self, kind: FrontEnd, server: Server, context: BrowserContext) -> None:
        """Open an empty tab."""
        self.kind: FrontEnd = kind
        self.server = server
        self.context = context
        self.heard = Heard()
        self.page = self.tab()

    def tab(self) -> Page:
        """Open one more tab, which is listened to."""
        page = self.context.new_page()
        page.set_default_timeout(MILLISECONDS_TO_WAIT)
        page.on("request", self._request)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._error(str(error)))
        return page

    def open(self, cells: Sequence[str | dict[str, Any]], **metadata: Any) -> Book:
        """Write a notebook and open it, with a kernel of its own.

        Args:
            cells: sources of code cells, or cells (:func:`cell`), which may say an ``id``.
            metadata: of the notebook.
        """
        path = self.server.path()
        own = [cell(one) if isinstance(one, str) else one for one in cells]
        own = [{"id": f"cell-{at}-of-{Path(path).stem}", **one} for at, one in enumerate(own)]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = {
            "cells": own,
            "metadata": {"kernelspec": kernel, **metadata},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.server.folder / path).write_text(json.dumps(notebook), encoding="utf-8")
        book = Book(self, self.page, path)
        book.load()
        self.server.prepare()
        return book

    def address(self, path: str) -> str:
        """Give the address of a notebook's page."""
        place = "lab/tree" if self.kind == "lab" else "notebooks"
        return f"{self.server.url}{place}/{quote(path)}?token={self.server.token}"

    def theme(self, name: str) -> None:
        """Choose a theme: ``JupyterLab Light`` or ``JupyterLab Dark``."""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name
        )
        wait(
            self.page,
            """theme => document.body.dataset.jpThemeName === theme
            && !document.querySelector('#jupyterlab-splash')""",
            arg=name,
        )

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if (
            parts.scheme in {"http", "https", "ws", "wss"}
            and parts.netloc != urlsplit(self.server.url).netloc
        ):
            self.heard.fetched.append(request.url)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not FONTS.search(message.location["url"]):
            self._error(message.text)

    def _error(self, text: str) -> None:
        if not any(known in text for known in FRONT_ENDS_OWN):
            self.heard.errors.append(text)


class Book:
    """A notebook in a page.

    Args:
        front: where it is open.
        page: the tab.
        path: its file's path below the server's folder.
        view: which of several views of it.
    """

    def __init__(self, front: Front, page: Page, path: str, view: int = 0) -> None:
        """Take note of it; :meth:`load` opens it."""
        self.front = front
        self.page = page
        self.path = path
        self.view = view

    def load(self) -> None:
        """Open it, in a page that is loaded already where there is one."""
        loaded = self.page.evaluate("() => Boolean(window.jupyterapp)")
        if self.front.kind == "lab" and loaded:
            self.page.evaluate(
                """async path => { await window.jupyterapp.commands.execute(
                'docmanager:open', {path, factory: 'Notebook'}); }""",
                self.path,
            )
        else:
            # What a tab before this one had open is not opened again.
            self._load_page("&reset" if self.front.kind == "lab" else "")
        self.ready()

    def reload(self, *, busy: bool = False) -> None:
        """Load the page again, with this notebook open and no other; the kernel lives on.

        Args:
            busy: whether a cell runs, so that the kernel does not answer the page.
        """
        if self.front.kind == "lab":
            self.js(KEPT)
        self._load_page()
        if busy:
            self.until("notebook && notebook.model && panel.context.isReady && panel.isVisible")
        else:
            self.ready()

    def reopen(self) -> None:
        """Close it as it is, and open its file again in the same page; the kernel lives on."""
        self.js("panels(path).forEach(one => one.dispose())")
        self.load()

    def _load_page(self, more: str = "") -> None:
        self.page.goto(self.front.address(self.path) + more)
        wait(self.page, LOADED[self.front.kind])

    def ready(self) -> None:
        """Wait until the notebook is drawn and its kernel answers."""
        self.until("notebook && notebook.model && panel.context.isReady && panel.isVisible")
        self.js("await panel.context.ready; await panel.revealed; await panel.sessionContext.ready")
        self.js("await panel.sessionContext.session.kernel.info")
        self.until("panel.sessionContext.session.kernel.status === 'idle'")
        self.activate()

    def activate(self) -> None:
        """Make it the one that commands are about.

        It is asked for until it is: a page that is busy with what it opened last may take the
        focus back from the one that was just activated.
        """
        self.until("app.shell.currentWidget === panel || (app.shell.activateById(panel.id), false)")

    def js(self, script: str, given: Any = None) -> Any:
        """Run statements in the page, where ``app``, ``panel`` and ``notebook`` are known.

        Args:
            script: JavaScript; what it returns is given back.
            given: a value that it knows as ``given``.
        """
        return self.page.evaluate(
            BOUNDED % f"{FIND} {script}", [self.path, self.view, given, MILLISECONDS_TO_WAIT]
        )

    def until(self, condition: str, given: Any = None) -> None:
        """Wait until an expression in the page is true; it knows what :meth:`js` knows."""
        # Whatever is true there stays there: it may hold the whole notebook.
        wait(
            self.page,
            f"([path, view, given]) => {{ {FIND} return Boolean({condition}); }}",
            arg=[self.path, self.view, given],
        )

    def command(self, name: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Run a command of the front end and wait for its end."""
        self.js("await app.commands.execute(given[0], given[1])", [name, dict(arguments or {})])

    def select(self, index: int) -> None:
        """Make a cell the active one."""
        self.js("notebook.deselectAll(); notebook.activeCellIndex = given", index)

    def run(self, index: int, source: str | None = None) -> str:
        """Run a cell, wait until it has ended, and give the text of its outputs.

        Args:
            index: which, from 0.
            source: what to put into it before.
        """
        if source is not None:
            self.write(index, source)
        self.activate()
        self.select(index)
        self.command("notebook:run-cell")
        return self.text(index)

    def start(self, index: int) -> None:
        """Run a cell without waiting for its end."""
        self.activate()
        self.select(index)
        self.js("app.commands.execute('notebook:run-cell')")

    def ended(self, index: int) -> None:
        """Wait until a cell that runs has ended, and its outputs are here."""
        self.until("notebook.widgets[given].model.executionState === 'idle'", index)

    def run_all(self) -> None:
        """Run every cell, and wait."""
        self.activate()
        self.command("notebook:run-all-cells")

    def restart(self) -> None:
        """Restart the kernel, and wait until it answers."""
        self.js("await panel.sessionContext.restartKernel()")
        self.js("await panel.sessionContext.session.kernel.info")

    def write(self, index: int, source: str) -> None:
        """Put text into a cell."""
        self.js(
            "notebook.model.cells.get(given[0]).sharedModel.setSource(given[1])", [index, source]
        )

    def insert(self, index: int, source: str) -> None:
        """Insert a code cell before the one that stands there now."""
        self.js(
            """notebook.model.sharedModel.insertCell(
            given[0], {cell_type: 'code', source: given[1], metadata: {}})""",
            [index, source],
        )

    def ids(self) -> list[str]:
        """Give the cells' ids from top to bottom."""
        return list(self.js("return notebook.widgets.map(cell => cell.model.id)"))

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Give a cell's outputs as the notebook would save them."""
        return list(self.js("return notebook.widgets[given].model.outputs.toJSON()", index))

    def text(self, index: int) -> str:
        """Give everything to read in a cell's outputs, one after the other."""
        parts = []
        for output in self.outputs(index):
            if output["output_type"] == "stream":
                parts.append(_joined(output["text"]))
            elif output["output_type"] == "error":
                parts.append("\n".join(output["traceback"]))
            else:
                parts.append(_joined(output["data"].get("text/plain", "")))
        return "\n".join(parts)

    def shown(self, index: int) -> str:
        """Give what a person reads in a cell's outputs, as the page has drawn it."""
        return str(self.js("return notebook.widgets[given].outputArea.node.innerText", index))

    def listen(self, regions: str = "#chatmagic-status") -> JSHandle:
        """Return an array in the page: what live regions say from now on, where they are polite.

        Each call makes one of its own: JupyterLab's page, and whatever observes it, outlives a
        test.

        Args:
            regions: a CSS selector.
        """
        return self.page.evaluate_handle(LISTEN, regions)

    def save(self) -> Any:
        """Save it, and give what stands in the file."""
        self.js("await panel.context.save()")
        return json.loads((self.front.server.folder / self.path).read_text("utf-8"))

    def screenshot(self, name: str, cell: int | None = None) -> None:
        """Take a picture, for a person, where CHATMAGIC_SCREENSHOTS names a folder for it.

        Args:
            name: the file's, without its ending.
            cell: which cell is brought into the picture before, from 0.
        """
        if folder := os.environ.get("CHATMAGIC_SCREENSHOTS"):
            if cell is not None:
                self.js("await notebook.scrollToItem(given)", cell)
            self.page.screenshot(path=Path(folder, f"{name}.png"))

    def close(self) -> None:
        """Close it; :meth:`Server.tidy` ends its kernel."""
        self.js("await panel.context.save()")
        if self.front.kind == "lab":
            self.js("panels(path).forEach(one => one.dispose())")
        else:
            self.page.goto("about:blank")


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
