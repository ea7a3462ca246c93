"""The web site of the manual, the lessons and the API: built by Sphinx, and opened in Chromium."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Final

import pytest
from libraries import library
from project import ROOT, files

import chatmagic

NOTEBOOKS: Final = ROOT / "notebooks"
LESSONS: Final = files("*.ipynb", NOTEBOOKS)
PAGES: Final = files("reference/*.md", NOTEBOOKS)
FORMULA: Final = re.compile(r'<(?:span|div) class="mathjax_process.*?</(?:span|div)>', re.DOTALL)
CHROMIUM: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")

BROKEN: Final = """() => [...document.querySelectorAll("h1, h2")].flatMap((heading) => {
    const text = heading.firstChild;
    return !text.data ? [] : [...text.data.matchAll(/\\w+/g)].filter((word) => {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return range.getClientRects().length > 1;
    }).map((word) => word[0]);
})"""
"""Script that returns the words of headings which are broken over two lines."""

OFFLINE: Final = """
import sys

def refuse(event, args):
    if event in {"socket.connect", "subprocess.Popen"}:
        sys.exit(f"{event}: {args[:2]}")

sys.addaudithook(refuse)
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""
"""Sphinx in a process that ends where it connects to anything, or starts a kernel."""

pytestmark = pytest.mark.release  # to build it takes half a minute


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site without a warning, a kernel or a connection; return its folder."""
    for name in ("sphinx", "myst_nb", "furo", "latex2mathml"):
        library(name)
    folder = tmp_path_factory.mktemp("site")
    build = ["-q", "-W", "--keep-going", "-c", str(NOTEBOOKS / "reference")]
    trees = tmp_path_factory.mktemp("doctrees")
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, *build, "-d", str(trees), str(NOTEBOOKS), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_it_has_each_page_and_each_lesson_as_saved(site: Path) -> None:
    """A saved reply stands there as it is, but for its formulas, which are MathML."""
    for path in PAGES:
        assert (site / "reference" / f"{path.stem}.html").is_file()
    formulas = 0
    for path in LESSONS:
        built = (site / f"{path.stem}.html").read_text("utf-8")
        saved = saved_html(path)
        assert saved
        parts = [part.strip() for html in saved for part in FORMULA.split(html)]
        assert [part for part in parts if part not in built] == []
        assert "mathjax_process" not in built
        count = sum(len(FORMULA.findall(html)) for html in saved)
        assert built.count("<math ") == count
        formulas += count
    assert formulas


def saved_html(path: Path) -> list[str]:
    """Return the HTML of each saved output of a lesson that has some."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    return ["".join(data["text/html"]) for data in outputs if "text/html" in data]


def test_the_api_has_the_public_names(site: Path) -> None:
    """Each with its docstring, and each error."""
    api = (site / "reference" / "api.html").read_text("utf-8")
    names = [f"chatmagic.{name}" for name in chatmagic.__all__ if name != "errors"]
    errors = [name for name in vars(chatmagic.errors) if name.endswith("Error")]
    names += [f"chatmagic.errors.{name}" for name in [*errors, "ChatInterrupted"]]
    assert [name for name in names if f'id="{name}"' not in api] == []
    assert "Return the agreement of repeated answers with one another" in api
    assert api.count("Parameters<") > len(chatmagic.__all__)  # lists, and not words of a paragraph
    # A colon in the first sentence on an attribute makes a type of what stands before it.
    assert ">Type<" not in api
    assert "(fact " not in api


def test_llms_txt_leads_to_each_page(site: Path) -> None:
    """Each page of the manual as plain text, with its first sentence, and each lesson."""
    text = (site / "llms.txt").read_text("utf-8")
    assert text.startswith("# chatmagic\n\n> ")
    assert "[Quickstart](01-quickstart.html): ask, change a question, " in text
    links = re.findall(r"^- \[.+\]\((.+)\): .+$", text, re.MULTILINE)
    pages = [f"_sources/reference/{path.name}.txt" for path in PAGES if path.stem != "index"]
    lessons = [f"{path.stem}.html" for path in LESSONS]
    assert sorted(links) == sorted([*pages, *lessons, "reference/api.html"])
    assert all((site / link).is_file() for link in links)


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Serve the site on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def chromium() -> str:
    """Return the path of Chromium, or skip the test without it."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None or find_spec("playwright") is None:
        if os.environ.get("CI"):
            pytest.fail("needs Chromium and playwright")
        pytest.skip("needs Chromium and playwright")
    return path


def test_it_is_read_on_any_screen_and_asks_nobody_else(
    site: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page is wider than the screen, and no word of a heading; text has enough contrast."""
    program = chromium()
    monkeypatch.syspath_prepend(ROOT / "tests" / "browser")
    from contrast import CONTRAST  # noqa: PLC0415 - of the tests in a browser
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - may be missing

    asked: list[str] = []
    faults: list[str] = []
    lessons = [f"{path.stem}.html" for path in LESSONS]
    every_page = [f"reference/{path.name}" for path in files("reference/*.html", site)] + lessons
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(CHROMIUM))
        for width, pages in ((400, every_page), (1280, lessons)):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: faults.append(str(error)))
            for name in pages:
                page.goto(address + name)
                room = "document.documentElement.scrollWidth - window.innerWidth"
                if page.evaluate(room) > 0:
                    faults.append(f"{name} is wider than {width}")
                faults.extend(f"{name} breaks {word}" for word in page.evaluate(BROKEN))
        for name in lessons:
            for dark in (False, True):
                page.emulate_media(color_scheme="dark" if dark else "light")
                page.goto(address + name)
                pale = page.evaluate(f"({CONTRAST})(document.querySelector('[role=main]'))")
                faults.extend(f"{name}, dark {dark}: {each}" for each in pale)
        browser.close()
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert faults == []


def test_a_word_is_found(address: str) -> None:
    """The first page leads to the manual, whose search finds a page by a word of it."""
    program = chromium()
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - may be missing

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(CHROMIUM))
        page = browser.new_page()
        page.goto(address)
        page.wait_for_url(f"{address}reference/index.html")
        page.get_by_placeholder("Search").first.fill("Krippendorff")
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-results li a")
        links = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
        assert any("/reference/" in link for link in links)
        browser.close()
