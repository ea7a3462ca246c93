"""File of what this user's kernels used, by service and UTC day, where a daily budget holds.

It has no key and no account. Reservations are in it as used: those of a kernel that died stay.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import platformdirs

from chatmagic._json import known, whole_number
from chatmagic.archive.files import content_of, folder_lock, replace_content
from chatmagic.errors import ChatError, InputError
from chatmagic.session.budget import Tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME: Final = "budget.json"


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
        """Return what was used of a service on a day.

        Args:
            service: its origin.
            day: the UTC day, such as ``2026-11-22``.

        Raises:
            InputError: the file cannot be read.
        """
        return _tally(self._content(), service, day)

    def change(self, service: str, day: str, action: Callable[[Tally], Tally]) -> None:
        """Replace what was used of a service on a day, as the only kernel at a time.

        Args:
            service: its origin.
            day: the UTC day.
            action: returns what is used, from what was; what it raises leaves the file as it is.

        Raises:
            InputError: the file cannot be read.
            ChatError: it cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with folder_lock(self.path.parent):
                content = self._content()
                tally = action(_tally(content, service, day))
                content.setdefault(service, {})[day] = known(
                    credits=tally.credits, turns=tally.turns, dearest=tally.dearest
                )
                replace_content(self.path, json.dumps(content, indent=1).encode())
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ChatError(
                f"The daily budget's file could not be written: {why}. Nothing was sent.",
                fault="you",
            ) from None

    def _content(self) -> dict[str, Any]:
        content = content_of(self.path)
        try:
            value = {} if content is None else json.loads(content)
        except ValueError:
            value = None
        if isinstance(value, dict) and all(isinstance(days, dict) for days in value.values()):
            return value
        raise InputError(
            f"{self.path.name} cannot be read: it is no file of a daily budget. Nothing was sent.",
            hint="It is in the user's state folder; without it the day begins at 0.",
        )


def _tally(content: dict[str, Any], service: str, day: str) -> Tally:
    days = {name: entry for name, entry in content.get(service, {}).items() if name <= day}
    latest = days.get(max(days, default=""))
    dearest = whole_number(latest.get("dearest")) if isinstance(latest, dict) else None
    entry = days.get(day)
    used = entry if isinstance(entry, dict) else {}
    credits, turns = (whole_number(used.get(name)) or 0 for name in ("credits", "turns"))
    return Tally(credits, turns, dearest or None)
