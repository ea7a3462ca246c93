"""What is swallowed is logged: by type and place, without a message, a key or a prompt."""

from __future__ import annotations

import ast
import logging
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from log_records import records_of
from project import files, syntax_tree
from shells import KEY

from chatmagic._log import describe_error, swallowed
from chatmagic.errors import ChatError
from chatmagic.session.events import Event
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from chatmagic.emulator.server import Emulator

PROMPT = "prompt-marker-7c1d"


def failing(message: str) -> None:
    """Raise an exception whose cause has a message, too."""
    raise RuntimeError(message) from LookupError(message)


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return all that was logged, with everything that the records hold."""
    return caplog.text + "".join(repr(vars(record)) for record in caplog.records)


def test_the_log_of_a_failing_ask_has_neither_key_nor_prompt(
    session: Session, emulator: Emulator, caplog: pytest.LogCaptureFixture
) -> None:
    """A follower that raises with both in its message is logged, by type and place alone."""
    caplog.set_level(logging.DEBUG)

    def follower(_event: Event) -> None:
        failing(f"{KEY} {PROMPT}")

    session.followers.add(follower)
    emulator.stop()
    with pytest.raises(ChatError):
        session.ask(PROMPT)
    ours = [record.getMessage() for record in records_of(caplog, "chatmagic")]
    expected = "Swallowed: builtins.RuntimeError from builtins.LookupError"
    assert any(message.startswith(expected) for message in ours)
    assert any(f"{__file__}:" in message and "in follower" in message for message in ours)
    assert KEY not in logged(caplog)
    assert PROMPT not in logged(caplog)


def test_only_what_is_named_is_swallowed(caplog: pytest.LogCaptureFixture) -> None:
    """Any exception by default, else the kinds given; an interrupt never unless named."""
    caplog.set_level(logging.DEBUG, "chatmagic")
    with swallowed():
        raise ValueError
    with pytest.raises(ValueError, match="out"), swallowed(OSError):
        raise ValueError("out")
    with pytest.raises(KeyboardInterrupt), swallowed():
        raise KeyboardInterrupt
    with swallowed(Exception, KeyboardInterrupt):
        raise KeyboardInterrupt
    messages = [record.getMessage() for record in records_of(caplog, "chatmagic")]
    first = [message.splitlines()[0] for message in messages]
    assert first == ["Swallowed: builtins.ValueError", "Swallowed: builtins.KeyboardInterrupt"]


def test_causes_in_a_circle_are_described_once() -> None:
    """An exception that is its own cause's cause ends the chain."""
    first, second = ValueError(), OSError()
    first.__cause__, second.__cause__ = second, first
    assert describe_error(first) == "Swallowed: builtins.ValueError from builtins.OSError"


def test_without_a_logging_configuration_nothing_is_printed() -> None:
    """The logger has a handler of its own, which drops what it gets."""
    code = (
        "import logging; from chatmagic._log import LOGGER, log_swallowed;"
        "LOGGER.setLevel('DEBUG'); log_swallowed(ValueError('x')); LOGGER.error('y')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not ran.stdout + ran.stderr


BROAD = re.compile(r"\b(Base)?Exception\b")


def swallows_unseen(node: ast.AST) -> bool:
    """Tell whether code catches every exception, and neither logs it nor hands it on."""
    if isinstance(node, ast.Call):
        is_suppress = ast.unparse(node.func) in {"suppress", "contextlib.suppress"}
        return is_suppress and BROAD.search(ast.unparse(node)) is not None
    if not isinstance(node, ast.ExceptHandler):
        return False
    is_broad = node.type is None or BROAD.search(ast.unparse(node.type)) is not None
    # An attribute is where another thread finds it; these two values are raised by who asked.
    name = node.name
    value = rf"return (?:Answer\(stream\.reply, |Ending\(problem=){name}(?:, [\w=.]+)?\)"
    handed_on = rf"raise|return {name}|{value}|self\.\w+ = {name}"
    hands_on = re.fullmatch(handed_on, ast.unparse(node.body[-1]))
    return is_broad and hands_on is None and "log_swallowed(" not in ast.unparse(node)


def test_whatever_swallows_everything_logs_it() -> None:
    """No exception goes away without a trace; narrow handlers know what they expect."""
    for swallower in ("except Exception: pass", "except BaseException as e: self.end(e)"):
        assert any(map(swallows_unseen, ast.walk(ast.parse(f"try: f()\n{swallower}"))))
    for path in files("chatmagic/**/*.py"):
        nodes = ast.walk(syntax_tree(path))
        unseen = [ast.unparse(node) for node in nodes if swallows_unseen(node)]
        assert unseen == [], path
