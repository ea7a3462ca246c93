"""Advice: a text for each place side by side, and names in it that no place changes."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from unittest.mock import Mock

import pytest
from environments import variables
from loopback import DONE, Server, answer, document, event, playing, stream
from project import ROOT, files, syntax_tree
from shell_asking import runner
from shells import Shell, alone

from chatmagic import advice
from chatmagic.advice import (
    Advice,
    Place,
    everywhere,
    joined_sentences,
    note_at,
    sentences,
    sentences_at,
)
from chatmagic.archive import output
from chatmagic.client import config
from chatmagic.client.client import Client
from chatmagic.conversation.record import Record
from chatmagic.errors import AuthenticationError, ChatError, NotUnderstoodError, TooLongError
from chatmagic.models import Reply
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session

PLACES: tuple[Place, ...] = ("notebook", "python", "shell", "doctor")
HOSTILE = ("%chat_connect talk.jsonl", "--connect x", "session.ask(", "%config ChatMagics.auth = 1")
"""Names that stand in advice, as in the words of each place."""
MAGIC = r"%(?!load_ext chatmagic)[a-z]{2}|(?<![\w-])--[a-z]|ChatMagics"
ELSEWHERE: Mapping[Place, str] = {
    "notebook": r"\bClient\(|\bsession\.|chatmagic (?:ask|doctor)\b|--continue|ipython_config",
    "python": rf"{MAGIC}|chatmagic (?:ask|doctor)\b",
    "shell": r"%|\bClient\(|\bsession\.|allow_secrets|last=N",
    "doctor": r"%|\bClient\(|\bsession\.|allow_secrets|last=N|chatmagic doctor",
}
"""Words that only other places take."""
REACHED = r"errors|(protocol|client|cassette|session)/\w+|archive/output"
"""The files of which plain Python and a shell show messages."""
KERNELS = (
    "until %chat_cassette|--prune|--else emulator|^<p style|^color: |^ChatMagics.base_url is not|"
    "^ChatMagics\\.NAME$"
)
"""Messages that only a kernel shows, and no sentence."""
KERNEL_SETTING = {"BUDGET_SETTING", "other_budget(None)", "budget_in_turns(None)"}
"""Advice on the kernel's budget, which holds for a client in Python, too, and has no argument."""


MAKERS = [
    value
    for name, value in inspect.getmembers(advice, inspect.isfunction)
    if value.__annotations__.get("return") == "Advice" and name != "everywhere"
]
"""The functions that make an advice of names."""


def made() -> Iterator[tuple[str, Advice, str]]:
    """Yield all advice of the module by its name, with the hostile name in it."""
    for name, value in vars(advice).items():
        if isinstance(value, Advice):
            yield name, value, ""
        elif inspect.isfunction(value) and value in MAKERS:
            yield from of_function(name, value)


def of_function(name: str, value: Callable[..., Advice]) -> Iterator[tuple[str, Advice, str]]:
    """Yield the advice that a function makes of each hostile name, and of none."""
    kinds = {key: str(kind) for key, kind in value.__annotations__.items() if key != "return"}
    for hostile in HOSTILE:
        given = {key: given_for(kind, hostile) for key, kind in kinds.items()}
        yield f"{name}({hostile})", value(**given), hostile
    if any("None" in kind for kind in kinds.values()):
        yield f"{name}(None)", value(None), ""
    if "bool" in kinds.values():
        yield f"{name}(by_variable=True)", value("none", by_variable=True), ""


def given_for(kind: str, hostile: str) -> object:
    """Return an argument of a kind."""
    if kind == "Advice":
        return everywhere(hostile)
    return False if kind == "bool" else hostile


@pytest.mark.parametrize("place", PLACES)
def test_each_advice_has_a_text_for_each_place(place: Place) -> None:
    """In the words of that place; a name in it stands there letter for letter."""
    for name, item, hostile in made():
        text = item.at(place)
        assert text or (name == "USAGE" and place in ("shell", "doctor"))
        assert hostile in text, (name, place, text)
        own = "".join(text.split(hostile)) if hostile else text
        if name not in KERNEL_SETTING or place != "python":
            assert not re.search(ELSEWHERE[place], own), (name, place, own)


def test_advice_is_put_together_by_place() -> None:
    """Of texts and advice; nothing is left of a part that says nothing in a place."""
    own = Advice("n", "p", "s", "d")
    assert "a " + own + "." == Advice("a n.", "a p.", "a s.", "a d.")
    assert Advice("n", "p", "s") + "." == Advice("n.", "p.", "s.")
    assert everywhere("x") + own == Advice("xn", "xp", "xs", "xd")
    parts = sentences("First.", None, "", (own, Advice("N", "P", "")), ())
    assert [sentences_at(parts, place) for place in PLACES] == [
        "First. n. N",
        "First. p. P",
        "First. s",
        "First. d",
    ]
    assert [note_at(own, "shell"), note_at("as it is", "shell")] == ["s", "as it is"]
    assert Advice("n", "p", "s").at("doctor") == "s"


@pytest.mark.parametrize("end", ["", ")", '")', "/v1", "*", "…]x"])
def test_a_text_without_an_end_gets_one_before_the_next(end: str) -> None:
    """Such as code that is copied; the last text stands as it is, and so does a sentence."""
    assert joined_sentences([f"Set a{end}", f"Set b{end}"]) == f"Set a{end}. Set b{end}"
    for ended in (".", "?", "!", ":", "…", '."', ".)", "\u3002", "\uff1f\u300d"):
        assert joined_sentences([f"Set a{end}{ended}", "B."]) == f"Set a{end}{ended} B."
    assert joined_sentences([]) == ""
    error = ChatError(f"No{end}", hint=sentences(f"Set a{end}", "0 rows answered"))
    assert str(error) == f"No{end}. Set a{end}. 0 rows answered"


def test_all_advice_of_places_stands_in_one_module() -> None:
    """No other one makes an advice of texts."""
    for path in files("**/*.py", ROOT / "chatmagic"):
        nodes = ast.walk(syntax_tree(path))
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        names = {func.id for func in calls if isinstance(func, ast.Name)}
        names |= {func.attr for func in calls if isinstance(func, ast.Attribute)}
        assert "Advice" not in names or path.name == "advice.py", path


def messages() -> Iterator[str]:
    """Yield the texts in files that Python and a shell reach, with ``NAME`` for a value."""
    for path in files("**/*.py", ROOT / "chatmagic"):
        name = path.relative_to(ROOT / "chatmagic").with_suffix("").as_posix()
        if re.fullmatch(REACHED, name):
            known = vars(importlib.import_module(f"chatmagic.{name.replace('/', '.')}"))
            nodes = [*ast.walk(syntax_tree(path))]
            parts = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
            parts += [[node.value] for node in nodes if isinstance(node, ast.Expr)]  # docstrings
            inside = {id(part) for each in parts for part in each}
            yield from (text_of(node, known) for node in nodes if id(node) not in inside)


def text_of(node: ast.AST, known: Mapping[str, object]) -> str:
    """Return the text that an expression gives; empty for any other code."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, known) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        value = known.get(ast.unparse(node.value))
        return value if isinstance(value, str) else "NAME"
    text = node.value if isinstance(node, ast.Constant) else ""
    return text if isinstance(text, str) else ""


def test_no_text_that_python_reaches_has_a_magic() -> None:
    """Nor an option of one: such a text is an advice, with the words of each place."""
    told = [text for text in messages() if " " in text and not re.search(KERNELS, text)]
    assert len(told) > 300
    assert [text for text in told if re.search(MAGIC, text)] == []


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_named_as_it_is_in_each_place(
    name: str,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A cassette that is not there: its name is no advice, and the advice is the place's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHATMAGIC_CASSETTE", name)
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    event_line = f"There is no cassette {name} to replay. Nothing was sent."
    shown = shell.fails("%chat hi").traceback
    assert shown == [
        f"InputError: {event_line}",
        "Record it first: %chat_cassette FILE --record, or CHATMAGIC_MODE=record.",
    ]
    record = "Record it first: CHATMAGIC_MODE=record."
    with pytest.raises(ChatError) as caught:
        Session().ask("hi")
    assert str(caught.value) == f"{event_line} {record}"
    with alone(monkeypatch, tmp_path):
        monkeypatch.setenv("CHATMAGIC_CASSETTE", name)
        monkeypatch.setenv("CHATMAGIC_MODE", "replay")
        asked = runner(monkeypatch, capsys)("hi")
    assert asked.err == f"chatmagic: {event_line} {record}\n"


def test_a_services_words_are_quoted_as_they_are() -> None:
    """Also those that are chatmagic's own, in the error for a key that was not sent."""
    words = "The service did not accept the key. %chat_connect x, --connect x, session.ask("
    refusal = document({"error": {"message": words}}, "401 Unauthorized")
    with Server(playing(refusal)) as server, pytest.raises(AuthenticationError) as caught:
        Client(server.url, auth="none").complete(QUESTION)
    start = "The service requires a key, and none was sent"
    assert caught.value.message == f'{start}: "{words}" (HTTP 401).'
    for place in PLACES:
        assert caught.value.line_at(place).startswith(caught.value.message)


AWAY, QUESTION = "https://away.example", [{"role": "user", "content": "hi"}]
NO_KEY = 'Client(api_key=…) takes one; for a server without keys: Client(auth="none")'
KEY_GOES = "A key goes into CHATMAGIC_API_KEY, or Client(api_key=…) takes one."
NO_CASSETTE = "Set CHATMAGIC_CASSETTE; mode live asks the service."


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
        assert shell.fails("%chat b", cell="b").traceback[1] == advice.LESS.notebook
        shell.do("%chat_cassette --off")
        with pytest.raises(TooLongError, match=r"last=N, or a new Session\.$"):
            Client().complete(QUESTION)
