"""One Jupyter server and one browser a run: what the tests in real pages stand on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Final

import pytest
import serving
from logged import Emulator, Settings
from rig import Book, Front, Tabs
from serving import Server

TABS: Final = pytest.StashKey[Tabs]()
NEEDED = ("playwright", "jupyterlab", "notebook")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Ask for what these tests need; the project's own checks must have it."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        missing.append("chromium")
    if missing:
        reason = f"not installed: {', '.join(missing)}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return str(found)


@pytest.fixture(scope="session")
def running_emulator() -> Iterator[Emulator]:
    """One service for the whole run, so that the kernels' environment can name it."""
    with Emulator(Settings()) as emulator:
        yield emulator


@pytest.fixture
def service(running_emulator: Emulator) -> Emulator:
    """The service that every kernel finds in its environment, as if nobody had asked yet."""
    running_emulator.settings = Settings()
    running_emulator.used = {}
    running_emulator.requests.clear()
    running_emulator.at_once.clear()
    return running_emulator


@pytest.fixture(scope="session")
def server(
    chromium: str,  # noqa: ARG001 - without a browser no server is started
    running_emulator: Emulator,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """The one server of the whole run."""
    environment = {
        "CHATMAGIC_BASE_URL": running_emulator.url,
        "CHATMAGIC_API_KEY": "sk-browser-7c1e",
    }
    with serving.server(tmp_path_factory.mktemp("jupyter"), environment) as running:
        yield running


@pytest.fixture(scope="session")
def tabs(chromium: str, server: Server, pytestconfig: pytest.Config) -> Tabs:
    """Chromium, which :func:`leave` closes."""
    made = Tabs(chromium, server)
    pytestconfig.stash[TABS] = made
    return made


def leave(item: pytest.Item, next_item: pytest.Item | None) -> None:
    """Close Chromium behind the last test here, and behind each if a test of the run failed.

    Playwright keeps an event loop running in this thread, which other folders' tests need; and
    what a test that failed leaves in a page is nothing for the next one.
    """
    tabs = item.config.stash.get(TABS, None)
    last = next_item is None or next_item.path.parent != item.path.parent
    if tabs is not None and (last or item.session.testsfailed):
        tabs.close()


@pytest.fixture
def lab(
    tabs: Tabs,
    service: Emulator,  # noqa: ARG001 - whatever the test asks, nobody has asked before
) -> Iterator[Callable[..., Book]]:
    """Open notebooks in JupyterLab: ``lab(["%load_ext chatmagic", …])`` gives a :class:`Book`."""
    yield from _opener(tabs.front("lab"))


@pytest.fixture
def notebook7(
    tabs: Tabs,
    service: Emulator,  # noqa: ARG001 - as in `lab`
) -> Iterator[Callable[..., Book]]:
    """Open notebooks in Notebook 7."""
    yield from _opener(tabs.front("notebook"))


def _opener(front: Front) -> Iterator[Callable[..., Book]]:
    front.heard.fetched.clear()
    front.heard.errors.clear()
    opened: list[Book] = []

    def open_one(*arguments: object, **options: object) -> Book:
        book = front.open(*arguments, **options)  # type: ignore[arg-type] # as Front.open has it
        opened.append(book)
        return book

    yield open_one
    for book in opened:
        book.close()
    # The region in which a page speaks outlives the notebook.
    front.page.evaluate("document.getElementById('chatmagic-status')?.replaceChildren()")
    front.context.unroute_all()
    front.page.emulate_media(forced_colors="null", reduced_motion="null")
    front.page.mouse.move(0, 0)
    front.server.tidy()
