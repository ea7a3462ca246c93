"""Lines of the doctor: each check makes one of what was seen. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from chatmagic._version import __version__
from chatmagic.client.endpoint import SET_AUTH
from chatmagic.doctor.observations import Trouble
from chatmagic.errors import PROXY_NAMED
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmagic.doctor.observations import (
        Address,
        Answered,
        CassetteSeen,
        Clock,
        FrontEnd,
        Key,
        Network,
        Observations,
        PrivateFile,
        Step,
    )

Mark = Literal["ok", "!!", "?"]
"""Well, wrong, and what cannot be told."""

ENOUGH: Final = 5
"""Fewest fragments by which it can be told whether they come as they are made."""
LONG_WAIT: Final = 1.0
"""Seconds of a wait after which a reply that comes all at once was held back."""
SHARE: Final = 0.01
"""Part of the wait for the first byte within which all of a reply is there at once."""
_TODO: Final = {
    "proxy": PROXY_NAMED,
    "cassette": "Put back a whole copy of the file, or choose another one.",
}
_ASK: Final = "--ask compares it with the time of an answer."


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the report.

    Args:
        mark: whether it is well.
        name: what was looked at.
        seen: what was seen.
        todo: one thing to do; empty where there is nothing to be done.
    """

    mark: Mark
    name: str
    seen: str
    todo: str = ""


def check(observations: Observations) -> list[Line]:
    """Return the lines of a report."""
    lines = [
        versions(observations),
        front_end(observations.front_end),
        address(observations.address),
        key(observations.key, observations.address),
        *network(observations),
        *(
            []
            if observations.address.is_emulator
            else [clock(observations.clock, observations.answered)]
        ),
        files(observations.files, observations.folder),
        cassette(observations.cassette),
        last_errors(observations.errors),
    ]
    if observations.answered is not None:
        looks = ANSWERED if observations.answered.is_sent else (answer,)
        lines += [look(observations.answered) for look in looks]
    return lines


def versions(observations: Observations) -> Line:
    """Return the line on the versions; one that is not installed is said."""
    seen = ", ".join(f"{name} {version}" for name, version in observations.versions.items())
    return Line("ok", "versions", seen)


def front_end(seen: FrontEnd) -> Line:
    """Return the line on the front end and its features."""
    words = f"{seen.name}: {seen.shows}"
    page = seen.page
    if page is not None and not page.version:
        return Line(
            "!!",
            "front end",
            f"{words}; no page has answered: no order of cells, no marks, no panel",
            "Where the front end's server runs: pip install chatmagic; then reload the page.",
        )
    if page is not None and not page.is_same:
        return Line(
            "!!",
            "front end",
            f"{words}; the page has chatmagic {one_line(page.version)}, and cannot talk with the "
            f"kernel's {__version__}: no order of cells, no marks, no panel",
            f"Where the front end's server runs: pip install chatmagic=={__version__}; then reload "
            "the page.",
        )
    known = f"; the page has chatmagic {one_line(page.version)}" if page is not None else ""
    return Line("ok", "front end", f"{words}{known}")


def address(seen: Address) -> Line:
    """Return the line on the address."""
    if seen.trouble is not None:
        return _wrong("address", seen.trouble)
    if seen.is_emulator:
        return Line("ok", "address", f"the emulator of this process ({seen.url_from})")
    words = f"requests are posted to {seen.shown} ({seen.url_from})"
    if seen.warnings:
        todo = "Give its https address, without a name or a password."
        return Line("!!", "address", f"{words}. {' '.join(seen.warnings).rstrip('.')}", todo)
    return Line("ok", "address", words)


def key(seen: Key, at: Address) -> Line:
    """Return the line on the key: where it was found, and never what it is."""
    if seen.trouble is not None:
        return _wrong("key", seen.trouble)
    if at.is_emulator or seen.auth == "none":
        return Line("ok", "key", "none is sent, and none is needed")
    if at.trouble is not None:
        return Line("?", "key", "without an address no key is looked for")
    if seen.key_from is not None:
        return Line("ok", "key", f"found in {seen.key_from}, sent as {seen.auth}")
    if seen.elsewhere is not None:
        return Line(
            "!!",
            "key",
            f"none for this address; the environment's key belongs to {seen.elsewhere}",
            "Set CHATMAGIC_BASE_URL to the address that the key is for, or run %chat_login here.",
        )
    return Line(
        "!!",
        "key",
        "none for this address",
        f"%chat_login asks for one; for a server without keys: {SET_AUTH.format('none')}.",
    )


def network(observations: Observations) -> list[Line]:
    """Return the lines on proxy, name, connection and TLS, up to the first that fails."""
    seen = observations.network
    if seen is None:
        why = "the emulator needs none" if observations.address.is_emulator else "no address"
        return [Line("?" if observations.address.trouble else "ok", "network", why)]
    lines: list[Line] = []
    for step, words in _WAY.items():
        if seen.failed == step:
            trouble = seen.trouble
            return [*lines, _wrong(step, trouble) if trouble else Line("!!", step, "it failed")]
        if described := words(seen):
            lines.append(Line("ok", step, described))
    return lines


def _of_proxy(seen: Network) -> str:
    return f"{seen.proxy}, by the environment" if seen.proxy else "none"


def _of_name(seen: Network) -> str:
    whose = "the proxy's name is" if seen.proxy else "the host is"
    return f"{whose} {', '.join(seen.addresses)}" if seen.addresses else ""


def _of_connection(seen: Network) -> str:
    whose = " to the proxy" if seen.proxy else ""
    return f"made{whose}, and closed again" if seen.is_connected else ""


_WAY: Final[dict[Step, Callable[[Network], str]]] = {
    "proxy": _of_proxy,
    "name": _of_name,
    "connection": _of_connection,
    "TLS": lambda seen: seen.tls,
}


def clock(seen: Clock, answered: Answered | None = None) -> Line:
    """Return the line on the clock; an answer may have told no time."""
    if not seen.is_compared and answered is not None:
        return Line("?", "clock", "not compared: no answer told the service's time")
    if not seen.is_compared:
        return Line("?", "clock", "no answer so far tells that it is wrong", _ASK)
    if seen.off is None:
        return Line("ok", "clock", "right within a minute, by the service's time")
    minutes = round(abs(seen.off).total_seconds() / 60)
    way = "ahead of" if seen.off.total_seconds() > 0 else "behind"
    return Line(
        "!!",
        "clock",
        f"about {counted(minutes, 'minute')} {way} the service's",
        "Set this machine's clock: certificates and resets are judged by it.",
    )


def files(seen: Sequence[PrivateFile], folder: Trouble | None = None) -> Line:
    """Return the line on the rights of private files, and on the folder of what is kept."""
    if folder is not None:
        return _wrong("files", folder)
    wrong = [f"{file.path} ({file.mode:03o})" for file in seen if file.is_open]
    if wrong:
        return Line(
            "!!",
            "files",
            f"others can read {', '.join(wrong)}",
            "chmod 600 lets you alone read it.",
        )
    if not seen:
        return Line("ok", "files", "no private file of yours is there")
    return Line("ok", "files", f"{counted(len(seen), 'private file')}, for you alone")


def cassette(seen: CassetteSeen) -> Line:
    """Return the line on the cassette."""
    if seen.trouble is not None:
        return _wrong("cassette", seen.trouble)
    if not seen.name:
        return Line("ok", "cassette", "none")
    return Line("ok", "cassette", f"{seen.name}, {seen.mode}, {counted(seen.count, 'exchange')}")


def last_errors(seen: Sequence[str]) -> Line:
    """Return the line on what was set aside lately, by type and place."""
    return Line("ok", "set aside lately", "; ".join(seen) or "no error")


def answer(seen: Answered) -> Line:
    """Return the line on how the question was answered."""
    at = "" if seen.status is None else f" (HTTP {seen.status})"
    if seen.trouble is not None:
        what = seen.trouble.what if "HTTP" in seen.trouble.what else f"{seen.trouble.what}{at}"
        return _wrong("answer", Trouble(what, seen.trouble.todo))
    if not seen.is_sent:
        return Line("?", "answer", "not asked: what is wrong above comes first")
    return Line("ok", "answer", f"a whole reply came{at}; {seen.cost}")


def first_byte(seen: Answered) -> Line:
    """Return the line on the time to the first byte."""
    if not seen.reads:
        return Line("?", "first byte", "no reply came")
    return Line("ok", "first byte", f"after {seen.first:.2f} s")


def streaming(seen: Answered) -> Line:
    """Return the line on whether fragments come as they are made, or all at once."""
    if seen.fragments < ENOUGH:
        return Line("?", "streaming", f"{counted(seen.fragments, 'fragment')}: too few to tell")
    count = counted(seen.fragments, "fragment")
    if seen.last - seen.first > SHARE * seen.first:
        return Line("ok", "streaming", f"{count} as they are made, up to {seen.last:.2f} s")
    if seen.first >= LONG_WAIT:
        return Line(
            "!!",
            "streaming",
            f"{count} all at once, after {seen.first:.2f} s",
            "A proxy on the way may hold replies back: its operator can turn buffering off.",
        )
    return Line("?", "streaming", f"{count} at once, too soon to tell: {seen.last:.2f} s")


def connection_kept(seen: Answered) -> Line:
    """Return the line on whether the connection is kept."""
    if seen.connection is None:
        return Line("?", "connection kept", "not told, as no whole reply came")
    if seen.connection == "kept":
        return Line("ok", "connection kept", "the next question can use it")
    if seen.connection == "ended":
        return Line("ok", "connection kept", "no: each question connects anew, as the answer says")
    return Line(
        "!!",
        "connection kept",
        "the server, or a proxy, closes it after an answer that does not say so",
        "Its operator can turn keep-alive on, or have the answers say Connection: close.",
    )


ANSWERED: Final = (answer, first_byte, streaming, connection_kept)
"""The checks of the one question."""


def _wrong(name: str, trouble: Trouble) -> Line:
    todo = trouble.todo or _TODO.get(name, "Correct it where it is set.")
    return Line("!!", name, trouble.what, todo)
