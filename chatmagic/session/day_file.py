"""File of what this user's kernels used, by service and UTC day, where a daily budget holds.

It has no key and no account. What was reserved for requests under way stands beside what was
used, each with the process that asks. That of a process that died, and what is older than a
request is under way, counts as what a request takes: it may have been sent.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import platformdirs

from chatmagic._json import iso, known, timestamp, whole_number
from chatmagic.archive.files import content_of, folder_lock, replace_content
from chatmagic.errors import ChatError, InputError
from chatmagic.session.budget import Tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME: Final = "budget.json"
LONGEST: Final = timedelta(minutes=15)
"""How long a reservation holds at most: another machine's processes are not seen here, and a
process of this one may have the number of one that died."""


class DayFile:
    """The file, which the kernels of one user share.

    Args:
        folder: where it is; ``None`` is the user's state folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Read nothing yet."""
        folder = folder or platformdirs.user_state_path("chatmagic", appauthor=False)
        self.path = folder / NAME

    def read(self, service: str, day: str) -> Tally:
        """Return what was used and is reserved of a service on a day.

        Args:
            service: its origin.
            day: the UTC day, such as ``2026-11-22``.

        Raises:
            InputError: the file cannot be read.
        """
        return _tally(self._content().get(service, {}), day)

    def reserve(self, service: str, day: str, name: str, amount: Callable[[Tally], int]) -> None:
        """Reserve what a request may take, as the only kernel at a time.

        Args:
            service: its origin.
            day: the UTC day.
            name: the reservation's, which no other one has.
            amount: returns the credits, from what is used and reserved; what it raises leaves
                the file as it is.

        Raises:
            InputError: the file cannot be read.
            ChatError: it cannot be written.
        """

        def reserve(days: dict[str, Any], entry: dict[str, Any]) -> None:
            entry.setdefault("held", {})[name] = {
                "credits": amount(_tally(days, day)),
                "host": platform.node(),
                "process": os.getpid(),
                "since": iso(datetime.now(UTC)),
            }

        self._change(service, day, reserve)

    def settle(self, service: str, day: str, name: str, taken: Tally | None) -> None:
        """Replace a reservation by what was used; one that is not there is left as it is.

        Args:
            service: its origin.
            day: the UTC day.
            name: the reservation's.
            taken: what the request took, and the estimate that other kernels go by; ``None``
                counts as what a request takes, once a kernel knows that.

        Raises:
            InputError: the file cannot be read.
            ChatError: it cannot be written.
        """

        def settle(_: dict[str, Any], entry: dict[str, Any]) -> None:
            held = entry.get("held", {})
            if name not in held:
                return
            held[name] = {}
            if taken is not None:
                del held[name]
                used = _used(entry).plus(taken.credits, taken.turns)
                facts = known(credits=used.credits, turns=used.turns, dearest=taken.dearest)
                entry.update(facts)

        try:
            self._change(service, day, settle)
        except KeyboardInterrupt:
            # Else what is reserved, which may be the whole day, would stay so for a while.
            self._change(service, day, settle)
            raise

    def _change(
        self, service: str, day: str, action: Callable[[dict[str, Any], dict[str, Any]], None]
    ) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with folder_lock(self.path.parent):
                content = self._content()
                days = content.setdefault(service, {})
                action(days, days.setdefault(day, {}))
                replace_content(self.path, json.dumps(content, indent=1).encode())
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ChatError(
                f"The daily budget's file could not be written: {why}. Nothing was sent.",
                fault="you",
            ) from None

    def _content(self) -> dict[str, dict[str, dict[str, Any]]]:
        content = content_of(self.path)
        try:
            value = {} if content is None else json.loads(content)
        except ValueError:
            value = None
        if isinstance(value, dict) and all(map(_is_of_days, value.values())):
            return value
        raise InputError(
            f"{self.path.name} cannot be read: it is no file of a daily budget. Nothing was sent.",
            hint="It is in the user's state folder; without it the day begins at 0.",
        )


def _is_of_days(days: object) -> bool:
    """Return whether something read is what was used of a service, by day."""
    return isinstance(days, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get("held", {}), dict)
        for entry in days.values()
    )


def _used(entry: dict[str, Any]) -> Tally:
    credits, turns = (whole_number(entry.get(name)) or 0 for name in ("credits", "turns"))
    return Tally(credits, turns)


def _tally(days: dict[str, Any], day: str) -> Tally:
    """Return what was used and is reserved on a day."""
    latest = max((name for name in days if name <= day and "dearest" in days[name]), default="")
    dearest = whole_number(days[latest]["dearest"]) or None if latest else None
    entry = days.get(day, {})
    used, held = _used(entry), entry.get("held", {}).values()
    credits = used.credits + sum(_reserved(each, dearest) for each in held)
    return Tally(credits, used.turns + len(held), dearest)


def _reserved(held: Any, dearest: int | None) -> int:
    """Return the credits that a reservation counts."""
    held = held if isinstance(held, dict) else {}
    likely = dearest or 1
    credits = whole_number(held.get("credits", likely)) or 0
    return credits if _is_under_way(held) else min(credits, likely)


def _is_under_way(held: dict[str, Any]) -> bool:
    """Return whether the request of a reservation may be under way."""
    since, process = timestamp(held.get("since")), whole_number(held.get("process"))
    if not since or not process or abs(datetime.now(UTC) - since) > LONGEST:
        return False
    if held.get("host") != platform.node() or sys.platform == "win32":
        return True  # on Windows, the call below would end the process
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return isinstance(error, PermissionError)
    return True
