"""The extension in a real kernel, asked as each front end asks, against a real server."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kernels import Kernel, kernel
from logged import Emulator, Settings
from shells import bodies

from chatmagic.advice import GOES_ON

KEY = "sk-kernel-5f1c0b7e"


@pytest.fixture(scope="module")
def service() -> Iterator[Emulator]:
    """A service on loopback."""
    with Emulator(Settings(credits=1000)) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def started(service: Emulator) -> Iterator[Kernel]:
    """One kernel for this file, connected to the service by its environment."""
    environment = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY}
    with kernel(environment) as running:
        yield running


WALK = """
def walk(value, depth):
    held = vars(value) if hasattr(value, "__dict__") and not isinstance(value, type) else {}
    return [held, *(walk(each, depth - 1) for each in held.values() if depth)]
"""
"""A function that gives what an object holds, and what that holds."""


@pytest.fixture
def fresh(started: Kernel, service: Emulator) -> Kernel:
    """The kernel with the extension loaded anew and an empty conversation."""
    service.settings = Settings(credits=1000)
    service.used = {}
    forgotten = started.run("from chatmagic.session import current\ncurrent._current = None")
    assert forgotten.status == "ok"
    started.run("%reload_ext chatmagic" if _loaded(started) else "%load_ext chatmagic")
    service.requests.clear()
    return started


def _loaded(running: Kernel) -> bool:
    ran = running.run("'chatmagic' in get_ipython().extension_manager.loaded")
    return "True" in ran.text


def displays(ran: Any) -> list[dict[str, Any]]:
    """Give the messages that showed something."""
    kinds = {"display_data", "update_display_data"}
    return [message for _, message in ran.messages if message["msg_type"] in kinds]


def test_loading_is_silent_and_brings_no_widgets() -> None:
    """Widgets come with the first panel, and loading prints nothing."""
    # A fork has imported them.
    with kernel(python=sys.executable) as running:
        ran = running.run("%load_ext chatmagic")
        heavy = "('ipywidgets', 'nbformat', 'chatmagic.emulator.server')"
        modules = running.run(f"import sys\n[name for name in {heavy} if name in sys.modules]")
    assert ran.outputs == []
    assert modules.text == "[]"


def test_a_page_sees_the_reply_stream(fresh: Kernel, service: Emulator) -> None:
    """A waiting mark, then updates of one display; the last one has everything."""
    service.settings = Settings(credits=1000, delay=0.002)
    ran = fresh.run("%%chat\ncount to 300", cell="a")
    shown = displays(ran)
    assert ran.status == "ok"
    assert shown[0]["msg_type"] == "display_data"
    assert "Waiting" in shown[0]["content"]["data"]["text/html"]
    first, last = (message["header"]["date"] for message in (shown[0], shown[-1]))
    # About ten a second, however long the machine takes.
    assert 3 <= len(shown) <= 10 + 20 * (last - first).total_seconds()
    assert [output["type"] for output in ran.outputs] == ["display_data"]
    data, metadata = ran.outputs[0]["data"], ran.outputs[0]["metadata"]
    assert "three hundred" in data["text/plain"]
    assert "999 of 1,000 credits left" in data["text/html"]
    assert metadata["chatmagic"]["prompt"] == "count to 300"
    assert all(set(message["content"]["data"]) == {"text/html"} for message in shown[:-1])


@pytest.mark.parametrize("option", ["", " --background"])
def test_a_machine_sees_it_once_and_the_same(fresh: Kernel, option: str) -> None:
    """Headless there is one display, and it is the page's last state."""
    page = fresh.run("%%chat --no-history\nhello", cell="a")
    machine = fresh.run(f"%%chat --no-history{option}\nhello", person=False)
    assert [message["msg_type"] for message in displays(machine)] == ["display_data"]
    left, right = page.outputs[0], machine.outputs[0]
    assert left["data"]["text/plain"] == right["data"]["text/plain"]
    assert left["data"]["text/html"].replace("999", "998") == right["data"]["text/html"]


def test_an_interrupt_keeps_what_came_and_closes_the_connection(
    fresh: Kernel, service: Emulator
) -> None:
    """Stop: a line and its hint; the text so far is marked in the output, and kept."""
    service.settings = Settings(credits=1000, fault="hold", fault_after=5)
    stopped = False

    def stop(message: dict[str, Any]) -> None:
        nonlocal stopped
        if "one two" in message["content"].get("data", {}).get("text/html", "") and not stopped:
            stopped = True
            fresh.interrupt()

    ran = fresh.run("%%chat\necho: one two three four five six seven", cell="a", on_message=stop)
    assert ran.status == "error"
    error = ran.outputs[-1]
    assert error["ename"] == "ChatInterrupted"
    # The output above says that it was interrupted.
    assert error["traceback"] == ["ChatInterrupted: the text so far is kept.", GOES_ON.notebook]
    reply = ran.outputs[0]
    assert reply["data"]["text/plain"].strip().startswith("one two")
    assert "Interrupted" in reply["data"]["text/html"]
    assert reply["metadata"]["chatmagic"]["state"] == "interrupted"
    _until(lambda: service.requests[-1].outcome != "open")
    assert service.requests[-1].outcome == "hung up"

    service.settings = Settings(credits=1000)
    fresh.run("%chat go on", cell="b")
    partial = bodies(service)[-1]["messages"][1]
    assert partial == {"role": "assistant", "content": reply["data"]["text/plain"]}


def test_the_key_is_nowhere_to_be_read(fresh: Kernel, service: Emulator) -> None:
    """Not in outputs, tracebacks with locals, metadata, state, configuration or history."""
    service.settings = Settings(credits=2)
    cells = [
        "%xmode Verbose",
        "import logging; logging.basicConfig(level=logging.DEBUG, force=True)",
        "%%chat\nhello",
        "%chat",
        "%config ChatMagics",
        "%chat hello again",
        "%chat too many",
        f"%chat echo: my key is {KEY[:6]}' + '{KEY[6:]}",
        "import chatmagic\ns = chatmagic.current_session()\nc = s.clients.latest\n[s, vars(s), c]",
        WALK,
        "vars(s.clients), walk(c, 3)",
        "s.ask({{}})",
        "%xmode Context",
        "logging.getLogger().setLevel(logging.WARNING)",
    ]
    written = ""
    for number, source in enumerate(cells):
        ran = fresh.run(source, cell=f"cell-{number}")
        written += json.dumps(
            [
                message["content"]
                for _, message in ran.messages
                if message["msg_type"] != "execute_input"
            ],
            default=str,
        )
    assert KEY not in written
    assert "PlainPool" in written  # it walks down to the connections
    refused = fresh.run(f"%chat what is {KEY}?", cell="last")
    assert "holds your API key" in refused.text
    assert len(service.requests) == 4


def _until(true: Any) -> None:
    until = time.monotonic() + 60
    while not true() and time.monotonic() < until:
        time.sleep(0.01)
