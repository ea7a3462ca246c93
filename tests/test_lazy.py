"""Modules that take long to load are loaded where no interrupt comes."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
from itertools import count
from typing import TYPE_CHECKING

import pytest

from chatmagic import _lazy

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = count()
MOST_OF_OURS = 106
"""How many modules of ours are loaded at most when a kernel's first question is sent."""
SLOW = """
import sys, threading
by = threading.current_thread().name
sys.modules["test_lazy"].at_import()
"""


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the name of a module that was never imported, and that tells when it is."""
    name = f"slow_to_load_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def at_import() -> None:
    """Do what the test wants to be done while the module is loaded."""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to a thread")
def test_an_interrupt_ends_the_wait_and_not_the_loading(
    slow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module is loaded once, whole, in another thread, and can be waited for again."""
    here, struck, go_on = threading.get_ident(), threading.Event(), threading.Event()
    loads: list[int] = []

    def strike(_number: int, _frame: object) -> None:
        if not struck.is_set():
            struck.set()
            raise KeyboardInterrupt

    def interrupt() -> None:
        loads.append(1)
        # Python sees a signal late that comes just before a thread begins to wait for a lock.
        while not struck.wait(0.05):
            signal.pthread_kill(here, signal.SIGINT)
        assert go_on.wait(60)

    monkeypatch.setattr(sys.modules[__name__], "at_import", interrupt)
    before = signal.signal(signal.SIGINT, strike)
    try:
        with pytest.raises(KeyboardInterrupt):
            _lazy.load(slow)
    finally:
        signal.signal(signal.SIGINT, before)
        go_on.set()
    _lazy.load(slow)
    assert sys.modules[slow].by == "chatmagic-load"
    assert loads == [1]


def test_an_error_is_the_importers(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not load raises where it is imported, and nothing else is said."""

    def fail() -> None:
        raise LookupError

    monkeypatch.setattr(sys.modules[__name__], "at_import", fail)
    _lazy.load(slow)
    assert slow not in sys.modules


def test_without_another_thread_the_importer_loads(
    slow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends, or has all it may have, begins none; its answer is read all the same."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert _lazy.begin(slow)
        _lazy.load(slow)
    assert importlib.import_module(slow).by == threading.current_thread().name


def test_what_only_begins_to_load_is_not_waited_for(
    slow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is there; what fails to load is not tried again."""
    go_on = threading.Event()

    def wait() -> None:
        assert go_on.wait(60)

    monkeypatch.setattr(sys.modules[__name__], "at_import", wait)
    assert not _lazy.begin(slow)
    assert not _lazy.begin(slow)
    go_on.set()
    _lazy.load(slow)
    assert _lazy.begin(slow)
    assert slow in sys.modules


def test_the_collector_rests_while_a_module_is_loaded(tmp_path: Path) -> None:
    """What is loaded goes to the oldest objects unseen; what a person set up stays as it is."""
    (tmp_path / "slow.py").write_text("import gc\nmade, is_on = [[1]], gc.isenabled()\n")
    code = """
import gc, sys
from chatmagic import _lazy
def load():
    before = gc.isenabled(), gc.get_freeze_count() > 1_000
    sys.modules.pop("slow", None)
    _lazy._threads.clear()
    _lazy.load("slow")
    made = sys.modules["slow"].made
    is_oldest = any(each is made for each in gc.get_objects(generation=2))
    is_as_before = before == (gc.isenabled(), gc.get_freeze_count() > 1_000)
    print(sys.modules["slow"].is_on, is_oldest, is_as_before)
load()
gc.disable()
load()
gc.enable()
gc.freeze()
load()
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd=tmp_path,
    )
    lines = "False True True", "False False True", "False False True"
    assert ran.stdout.splitlines() == [*lines]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_the_collector_goes_on_in_a_child_that_is_forked_meanwhile(tmp_path: Path) -> None:
    """The thread that would let it go on is not in the child; one that was off stays off."""
    fork = (
        "import gc, os\nif not os.fork():\n    print(gc.isenabled(), flush=True)\n    os._exit(0)"
    )
    (tmp_path / "slow.py").write_text(f"{fork}\nos.wait()\n")
    code = """
import gc, sys
from chatmagic import _lazy
_lazy._import("slow")
del sys.modules["slow"]
gc.disable()
_lazy._import("slow")
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert ran.stdout.split() == ["True", "False"]


def test_the_first_ask_loads_nothing_in_the_main_thread_before_it_is_sent() -> None:
    """An interrupt would come in the midst of it, and the garbage collector would not rest."""
    code = """
import os, sys, threading
seen = []
class Finder:
    def find_spec(self, name, *_):
        if threading.current_thread() is threading.main_thread():
            seen.append(name)
def hook(event, _):
    if event == "socket.connect":
        print(seen, flush=True)
        os._exit(0)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "chatmagic")
sys.meta_path.insert(0, Finder())
sys.addaudithook(hook)
os.environ |= {"CHATMAGIC_BASE_URL": "http://127.0.0.1:9", "CHATMAGIC_AUTH": "none"}
shell.run_cell_magic("chat", "", "hello")
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert ran.stdout.splitlines() == ["[]"]


def test_a_module_that_comes_later_is_loaded_with_its_first_use(slow: str) -> None:
    """In a thread of its own; its attributes are as they are now, and its errors the user's."""
    loads: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[__name__], "at_import", lambda: loads.append("once"))
        later = _lazy.Later(slow)
        assert not loads
        assert (later.by, later.by) == ("chatmagic-load", "chatmagic-load")
    assert loads == ["once"]
    sys.modules[slow].by = "another"  # type: ignore[attr-defined]
    assert later.by == "another"
    with pytest.raises(AttributeError, match="missing"):
        _ = later.missing
    with pytest.raises(ModuleNotFoundError):
        _ = _lazy.Later("chatmagic.no_such_module").by


def test_the_first_ask_loads_nothing_heavy_in_the_main_thread() -> None:
    """Neither requests nor markdown-it nor the commands: all are looked for in other threads."""
    code = """
import sys, threading
seen = {}
class Finder:
    def find_spec(self, name, *_):
        if name in ("requests", "markdown_it", "chatmagic.jupyter.ask_command"):
            seen[name] = threading.current_thread() is threading.main_thread()
sys.meta_path.insert(0, Finder())
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "chatmagic")
shell.run_line_magic("chat_connect", "emulator")
reply = shell.run_line_magic("chat", "hello")
from chatmagic.archive import output
output.bundle(reply)
print(sorted(seen.items()))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    loaded = ("chatmagic.jupyter.ask_command", "markdown_it", "requests")
    assert ran.stdout.splitlines()[-1] == str([(name, False) for name in loaded])


def test_nothing_of_the_renderer_stands_before_the_first_word() -> None:
    """Neither the renderer nor widgets nor a cassette's matching; then the renderer draws all.

    What only reads the answer is not there either when the request is sent.
    """
    code = """
import sys, threading
behind = ("markdown_it", "nh3", "pygments.formatters.html", "ipywidgets", "anywidget", "difflib",
          "chatmagic.cassette.matching", "chatmagic.jupyter.save_command",
          "chatmagic.render.markdown", "chatmagic.session.day_file", "chatmagic.archive.frame",
          "chatmagic.cassette.pruning", "chatmagic.jupyter.bridge")
reading = ("chatmagic.client.response", "chatmagic.protocol.error_mapping",
           "chatmagic.archive.output", "chatmagic.conversation.staleness",
           "chatmagic.conversation.history", "chatmagic.protocol.credits",
           "chatmagic.client.network_errors", "chatmagic.client.key_file",
           "chatmagic.conversation.continuation",
           "chatmagic.protocol.reply_builder", "chatmagic.jupyter.in_front")
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for name in behind:
    sys.modules.pop(name, None)
shown, is_shown = [], threading.Event()
class Publisher(type(shell.display_pub)):
    def publish(self, data, *args, **kwargs):
        if "chatmagic-live" in data.get("text/html", "") and not shown:
            shown.append([name for name in behind if name in sys.modules])
            is_shown.set()
shell.display_pub = Publisher()
shell.run_line_magic("load_ext", "chatmagic")
shell.run_line_magic("config", "ChatMagics.stream = 'updates'")
shell.run_line_magic("chat_connect", "emulator")
from chatmagic import current_session
from chatmagic.session.events import Fragment, Sent
seen, fragments = [], []
def follow(event):
    if isinstance(event, Sent):
        seen.append([name for name in (*behind, *reading) if name in sys.modules])
        print(len([name for name in sys.modules if name.startswith("chatmagic.")]))
    elif isinstance(event, Fragment):
        fragments.append(event)
        # The end of the reply is rendered, too; the first fragment is with who draws it by now.
        assert len(fragments) != 2 or is_shown.wait(60)
current_session().follow(follow)
shell.run_cell_magic("chat", "", "echo:one two three")
print(len(fragments) > 1, seen, shown, "markdown_it" in sys.modules)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert ran.stdout.splitlines()[-1] == "True [[]] [[]] True"
    assert int(ran.stdout.splitlines()[-2]) <= MOST_OF_OURS


def test_the_panels_first_question_loads_by_the_same_way_as_a_cells() -> None:
    """Loaded from two ends at once, requests may break: one of two first questions was lost."""
    code = """
import os, sys, threading
os.environ |= {"CHATMAGIC_BASE_URL": "http://127.0.0.1:9", "CHATMAGIC_AUTH": "none"}
seen = []
class Finder:
    def find_spec(self, name, *_):
        if name == "urllib3":
            seen.append(threading.current_thread().name)
sys.meta_path.insert(0, Finder())
from queue import SimpleQueue
from types import SimpleNamespace
from chatmagic.jupyter.drawing import DrawingLoop
from chatmagic.jupyter.panel.actions import Actions
from chatmagic.jupyter.panel.hub import Hub, Shown
from chatmagic.session.events import Ended
from chatmagic.session.session import Session
hub = Hub(Session(), SimpleNamespace(defaults=dict), DrawingLoop())
actions, answers, done = Actions(hub), SimpleQueue(), threading.Event()
page = Shown("panel", answers.put, print)
actions.receive(page, {"kind": "ask", "text": "hello", "nonce": "1", "replaces": None})
key = answers.get(timeout=60)["key"]
assert not seen
hub.session.follow(lambda event: isinstance(event, Ended) and done.set())
actions.receive(page, {"kind": "go", "key": key})
assert done.wait(60)
print(seen)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert ran.stdout.splitlines()[-1] == "['chatmagic-load']"
