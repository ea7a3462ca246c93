"""Words of advice: a notebook's, and those of plain Python and of a shell in their place."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import pytest
from environments import variables
from loopback import DONE, Server, answer, document, event, playing, stream
from project import ROOT, files
from shells import Shell

from chatmagic import _initial_environ
from chatmagic.archive import output
from chatmagic.client import config
from chatmagic.client.advice_wording import IN_PYTHON, IN_SHELL, words_for_python, words_for_shell
from chatmagic.client.client import Client
from chatmagic.conversation.record import Record
from chatmagic.errors import LESS_HINT, ChatError, NotUnderstoodError, TooLongError
from chatmagic.models import Reply
from chatmagic.session.events import Ask
from chatmagic.session.session import Session

MAGIC = r"%[a-z]{2}|(?<![\w-])--[a-z]|ChatMagics"
REACHED = r"errors|(protocol|client|cassette|batch|session)/\w+|archive/output"
"""The files of which plain Python shows messages."""
KERNELS = (
    "Not connected yet|To try without an account|until %chat_cassette|--prune|has precedence|"
    "--allow-secrets|--else emulator|ChatMagics.budget|^<p style|^color: "
)
"""Messages that only a kernel shows, and no sentence."""


@cache
def messages(pattern: str = ".*") -> tuple[str, ...]:
    """Return the texts of some words in files of the package, with ``NAME`` for a value."""
    found: list[str] = []
    for path in files("**/*.py", ROOT / "chatmagic"):
        name = path.relative_to(ROOT).with_suffix("").as_posix()
        if re.fullmatch(f"chatmagic/(?:{pattern})", name) and not name.endswith("advice_wording"):
            known = vars(importlib.import_module(name.replace("/", ".")))
            nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
            parts = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
            parts += [[node.value] for node in nodes if isinstance(node, ast.Expr)]  # docstrings
            inside = {id(part) for each in parts for part in each}
            found += (text_of(node, known) for node in nodes if id(node) not in inside)
    return tuple(text for text in found if " " in text)


def text_of(node: ast.AST, known: Mapping[str, object]) -> str:
    """Return the text that an expression gives; empty for any other code."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, known) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        value = known.get(ast.unparse(node.value))
        return value if isinstance(value, str) else "NAME"
    text = node.value if isinstance(node, ast.Constant) else ""
    return text if isinstance(text, str) else ""


@pytest.mark.parametrize("table", [IN_PYTHON, IN_SHELL], ids=["python", "shell"])
def test_each_pattern_is_of_a_message(table: tuple[tuple[str, str], ...]) -> None:
    """As those before it leave the message."""
    rest = "\n".join(messages())
    for pattern, here in table:
        rest, count = re.subn(pattern, here, rest)
        assert count, pattern


def test_no_message_of_plain_python_has_a_magic() -> None:
    """Nor an option of one; a new message is in Python's words, or in the table."""
    said = (text for text in messages(REACHED) if not re.search(KERNELS, text))
    assert [text for text in map(words_for_python, said) if re.search(MAGIC, text)] == []


AWAY, QUESTION = "https://away.example", [{"role": "user", "content": "hi"}]
NO_KEY = 'Client(api_key=…) takes one; for a server without keys: Client(auth="none")'
KEY_GOES = "A key goes into CHATMAGIC_API_KEY, or Client(api_key=…) takes one."
NO_CASSETTE = "Set CHATMAGIC_CASSETTE; mode live asks the service."
BUDGET = "The session's ledger shows what was used. CHATMAGIC_BUDGET counts as it was when"


def mapped(session: Session, *, block: bool = True) -> object:
    """Ask for one row, here or in the background."""
    job = session.map("{{ it }}", ["a"], yes=True, block=block)
    return job if block else job.result()


@pytest.mark.parametrize(
    ("setting", "ask", "hint"),
    [
        ("", lambda: Client(f"{AWAY}?key=a"), f"{KEY_GOES} A query without a secret"),
        ("", lambda: Client(AWAY, "k", extra_headers={"Authorization": "k"}), KEY_GOES),
        ("", lambda: Client(AWAY).complete(QUESTION), NO_KEY),
        ("", lambda: Client(AWAY).models(), NO_KEY),
        ("", lambda: Client(transport=Mock(), auth="bearer").complete(QUESTION), NO_KEY),
        ("", lambda: Session(Client(AWAY)).ask("hi"), NO_KEY),
        ("", lambda: Session(Client(AWAY)).models(), NO_KEY),
        ("", lambda: mapped(Session(Client(AWAY))), NO_KEY),
        ("CHATMAGIC_MODE", lambda: Session().ask("hi"), NO_CASSETTE),
        ("CHATMAGIC_MODE", lambda: Session().preview(Ask("hi")), NO_CASSETTE),
        ("CHATMAGIC_MODE", lambda: Session().models(), NO_CASSETTE),
        ("CHATMAGIC_MODE", lambda: mapped(Session()), NO_CASSETTE),
        ("CHATMAGIC_BUDGET", lambda: Session(Client(AWAY, "k")).ask("hi"), BUDGET),
        ("CHATMAGIC_BUDGET", lambda: Session(Client(AWAY, "k")).models(), BUDGET),
        ("CHATMAGIC_BUDGET", lambda: mapped(Session(Client(AWAY, "k"))), BUDGET),
        ("CHATMAGIC_BUDGET", lambda: mapped(Session(Client(AWAY, "k")), block=False), BUDGET),
    ],
)
def test_an_error_leaves_in_pythons_words(
    setting: str,
    ask: Callable[[], object],
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """By any way: a client, its models, a session, a map."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_initial_environ, "BUDGET", "0 turns" if "BUDGET" in setting else "")
    mode = {setting: "replay"} if "MODE" in setting else {}
    with variables(mode), pytest.raises(ChatError) as caught:
        ask()
    assert str(caught.value.hint).startswith(hint)
    assert not re.search(MAGIC, str(caught.value))


@pytest.mark.parametrize("body", [b"{}", b"no"])
def test_a_list_that_is_none_is_told_in_pythons_words(body: bytes) -> None:
    """A status without a list, and an answer that is none."""
    with (
        Server(playing(answer(body, "404 No" if body == b"{}" else "200 OK"))) as server,
        pytest.raises(NotUnderstoodError, match=r"Client\(model=NAME\) sets one\.$"),
    ):
        Client(server.url, "k").models()


def test_a_warning_is_in_pythons_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an error is."""
    monkeypatch.setattr(config, "warned", set())
    with pytest.warns(match=re.escape(KEY_GOES)):
        Client("https://me:word@away.example", "k")


def test_a_reply_as_a_value_is_in_pythons_words() -> None:
    """It is shown where there may be no magics, as in marimo; a cell's own output has others."""
    reply = Reply("1, 2", finish_reason="length")
    for data in (output.bundle(reply)["text/markdown"], reply._repr_html_()):
        assert "Go on." in data
        assert "%chat" not in data
    record = Record(
        prompt="a", state="complete", request="", reply="", origin="live", parameters={}
    )
    assert "%chat" in output.bundle(reply, record)["text/markdown"]


def test_a_notebook_keeps_its_words(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also in a replay, which has an endpoint of its own; a client of one's own has Python's."""
    monkeypatch.chdir(tmp_path)
    refusal = document({"error": "b"}, "413 Content Too Large")
    with Server(playing(stream(event("a", finish_reason="stop"), DONE), refusal)) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.url)
        shell.do("%chat_cassette talk.jsonl --record\n%chat a")
        shell.fails("%chat b", cell="b")
        shell.do("%chat_cassette talk.jsonl --replay")
        assert shell.fails("%chat b", cell="b").traceback[1] == LESS_HINT
        shell.do("%chat_cassette --off")
        with pytest.raises(TooLongError, match=r"last=N, or a new Session\.$"):
            Client().complete(QUESTION)


@pytest.mark.parametrize(
    ("there", "python", "here"),
    [
        ("Right? %chat shows it.", "Right? Client(base_url=…) sets", "Right? chatmagic doctor"),
        ("--last N, or %chat_reset", "last=N, or a new Session", "--last N, or leave out --contin"),
        ("%chat_history shows it", "session.messages() has it", "--continue goes on with it"),
        ("%chat_login asks for one", "Client(api_key=…) takes one", "CHATMAGIC_API_KEY beside"),
        ('%config ChatMagics.model = "NAME"', 'Client(model="NAME")', "--model NAME"),
        ('%config ChatMagics.timeout = {"total": 5}', 'Client(timeout={"total": 5})', "c.ChatMag"),
        ('%config ChatMagics.auth = "none"', 'Client(auth="none")', "CHATMAGIC_AUTH=none"),
        ("%env CHATMAGIC_AUTH=query", 'Client(auth="query")', "CHATMAGIC_AUTH=query"),
        ("%chat_cassette B --record saves", "CHATMAGIC_CASSETTE=B saves", "CHATMAGIC_CASSETTE=B"),
    ],
)
def test_the_words_of_a_place(there: str, python: str, here: str) -> None:
    """Each names its own remedy."""
    assert words_for_python(there).startswith(python)
    assert words_for_shell(there).startswith(here)
