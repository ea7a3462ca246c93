"""The checks: each makes one line of what was seen, with one thing to do where it is wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chatmagic.doctor import lines as module
from chatmagic.doctor.lines import check
from chatmagic.doctor.observations import (
    Address,
    Answered,
    CassetteSeen,
    Clock,
    FrontEnd,
    Key,
    Network,
    Observations,
    PageSeen,
    PrivateFile,
    Trouble,
)

TROUBLE = Trouble("it broke", "Mend it.")
HERE = Address("https://a/v1/chat/completions", "CHATMAGIC_BASE_URL")
PAGE = FrontEnd("a page", "shows")
WELL = Observations(
    versions={"Python": "3"},
    front_end=PAGE,
    address=HERE,
    key=Key("keyring"),
    network=Network(addresses=("::1",), is_connected=True, tls="TLSv1.3"),
    clock=Clock(True),
    cassette=CassetteSeen("tape.jsonl", "replay (here)", 2),
    answered=Answered(None, 200, 0.1, 0.9, 20, 40, "kept", "it took 1 credit"),
)


def test_what_is_well_is_so_throughout() -> None:
    """A line for each thing, and nothing to do."""
    lines = check(WELL)
    assert [line.name for line in lines] == [
        "versions",
        "front end",
        "address",
        "key",
        "proxy",
        "name",
        "connection",
        "TLS",
        "clock",
        "files",
        "cassette",
        "set aside lately",
        "answer",
        "first byte",
        "streaming",
        "connection kept",
    ]
    assert {line.mark for line in lines} == {"ok"}
    assert not [line.todo for line in lines if line.todo]


@pytest.mark.parametrize(
    ("name", "seen", "mark", "words"),
    [
        ("front_end", FrontEnd("a page", "shows", PageSeen("1.2")), "ok", "page has chatmagic 1.2"),
        ("front_end", FrontEnd("a page", "shows", PageSeen("")), "!!", "no page has answered"),
        (
            "front_end",
            FrontEnd("p", "s", PageSeen("1.2", is_same=False)),
            "!!",
            "has chatmagic 1.2",
        ),
        ("address", Address(trouble=TROUBLE), "!!", "it broke"),
        ("address", Address(url_from="here", is_emulator=True), "ok", "the emulator"),
        ("address", Address("http://a", "it", warnings=("It is bad.",)), "!!", "(it). It is bad"),
        ("clock", Clock(), "?", "no answer so far tells"),
        ("clock", Clock(True, timedelta(minutes=5)), "!!", "about 5 minutes ahead of"),
        ("clock", Clock(True, -timedelta(minutes=1)), "!!", "about 1 minute behind"),
        ("files", [PrivateFile("a", 0o600, False)], "ok", "1 private file, for you alone"),
        ("files", [PrivateFile("a", 0o644, True)], "!!", "others can read a (644)"),
        ("cassette", CassetteSeen(), "ok", "none"),
        ("cassette", CassetteSeen(trouble=TROUBLE), "!!", "it broke"),
        ("last_errors", ("os.error in chatmagic.x:1",), "ok", "os.error in chatmagic.x:1"),
        ("address", Address(trouble=Trouble("no")), "!!", "no"),
        ("cassette", CassetteSeen(trouble=Trouble("no")), "!!", "no"),
        ("answer", Answered(TROUBLE), "!!", "it broke"),
        ("answer", Answered(is_sent=False), "?", "not asked: what is wrong above comes first"),
        ("answer", Answered(TROUBLE, 500), "!!", "it broke (HTTP 500)"),
        ("answer", Answered(Trouble("no (HTTP 500)"), 500), "!!", "no (HTTP 500)"),
        ("first_byte", Answered(TROUBLE), "?", "no reply came"),
        ("streaming", Answered(fragments=4, reads=4), "?", "too few to tell"),
        ("streaming", Answered(None, 200, 1.0, 1.005, 9, 9), "!!", "all at once, after 1.00 s"),
        ("streaming", Answered(None, 200, 0.9, 0.9, 1, 9), "?", "too soon to tell: 0.90 s"),
        ("streaming", Answered(None, 200, 9.0, 9.1, 3, 9), "ok", "as they are made"),
        ("connection_kept", Answered(), "?", "not told"),
        ("connection_kept", Answered(connection="ended"), "ok", "no: each question connects anew"),
        ("connection_kept", Answered(connection="dropped"), "!!", "an answer that does not say so"),
    ],
)
def test_a_line(name: str, seen: Any, mark: str, words: str) -> None:
    """What is wrong says one thing to do; what is well, none."""
    line = getattr(module, name)(seen)
    assert line.mark == mark
    assert words in line.seen
    assert mark != "ok" or not line.todo
    assert mark != "!!" or line.todo


@pytest.mark.parametrize(
    ("seen", "at", "mark", "words"),
    [
        (Key("keyring"), HERE, "ok", "found in keyring, sent as bearer"),
        (Key(trouble=TROUBLE), HERE, "!!", "it broke"),
        (Key(auth="none"), HERE, "ok", "none is needed"),
        (Key(), Address(is_emulator=True), "ok", "none is needed"),
        (Key(), Address(trouble=TROUBLE), "?", "without an address"),
        (Key(elsewhere="https://b"), HERE, "!!", "belongs to https://b"),
        (Key(), HERE, "!!", "none for this address"),
    ],
)
def test_a_key(seen: Key, at: Address, mark: str, words: str) -> None:
    """Where it is, and never what it is."""
    line = module.key(seen, at)
    assert (line.mark, words in line.seen) == (mark, True)


@pytest.mark.parametrize(
    ("seen", "names"),
    [
        (Network(failed="proxy", trouble=TROUBLE), ["!!proxy"]),
        (Network(failed="name", trouble=TROUBLE), ["okproxy", "!!name"]),
        (
            Network(addresses=("1",), failed="connection", trouble=TROUBLE),
            ["okproxy", "okname", "!!connection"],
        ),
        (
            Network(addresses=("1",), is_connected=True, failed="TLS", trouble=TROUBLE),
            ["okproxy", "okname", "okconnection", "!!TLS"],
        ),
        (Network(addresses=("1",), is_connected=True), ["okproxy", "okname", "okconnection"]),
        (
            Network("http://p:1", ("1",), is_connected=True),
            ["okproxy", "okname", "okconnection"],
        ),
        (None, ["oknetwork"]),
    ],
)
def test_the_way(seen: Network | None, names: list[str]) -> None:
    """The steps up to the first that fails."""
    found = Observations(front_end=PAGE, address=HERE, network=seen)
    lines = module.network(found)
    assert [line.mark + line.name for line in lines] == names
    if seen is not None and seen.proxy is not None:
        assert "by the environment" in lines[0].seen
        assert lines[2].seen == "made to the proxy, and closed again"


def test_a_folder_that_takes_nothing() -> None:
    """It counts before the rights of the files."""
    line = module.files([PrivateFile("a", 0o644, True)], TROUBLE)
    assert (line.mark, line.seen, line.todo) == ("!!", "it broke", "Mend it.")


def test_a_question_that_is_not_sent() -> None:
    """There is one line on it."""
    lines = check(replace(WELL, answered=Answered(is_sent=False)))
    assert [line.name for line in lines][-2:] == ["set aside lately", "answer"]


def test_an_answer_without_a_date() -> None:
    """There is nothing more to be done about it."""
    line = module.clock(Clock(), Answered())
    assert (line.mark, line.todo) == ("?", "")


def test_the_emulator_needs_no_network_and_has_no_clock() -> None:
    """Its clock stands still, so nothing is compared with it."""
    at = Address(url_from="here", is_emulator=True)
    lines = {line.name: line for line in check(Observations(front_end=PAGE, address=at))}
    assert "clock" not in lines
    assert lines["network"].mark == "ok"
    at = Address(trouble=TROUBLE)
    lines = {line.name: line for line in check(Observations(front_end=PAGE, address=at))}
    assert lines["network"].mark == "?"
