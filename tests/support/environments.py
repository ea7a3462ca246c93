"""An environment of a session whose answers a test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmagic.session.environment import PlainPython

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.cassette.active import CassetteSetup
    from chatmagic.client.endpoint import ServiceSetup
    from chatmagic.conversation.cell_order import Layout
    from chatmagic.protocol.auth import Secret


class GivenEnvironment(PlainPython):
    """An environment that answers as it is told, and as plain Python where it is not.

    Args:
        cell: the hash of the running cell, and its execution.
        layout: gives the order of the cells, from the hash of the running one.
        service: gives where and how to ask.
        cassette: gives the cassette that is chosen.
        emulator: the address and key of an emulator.
    """

    def __init__(
        self,
        *,
        cell: tuple[str | None, str | None] = (None, None),
        layout: Callable[[str | None], Layout | None] | None = None,
        service: Callable[[], ServiceSetup] | None = None,
        cassette: Callable[[], CassetteSetup | None] | None = None,
        emulator: tuple[str, Secret] | None = None,
    ) -> None:
        """Keep the answers."""
        self._cell = cell
        self._emulator = emulator
        given: dict[str, Callable[..., Any] | None] = {
            "layout": layout,
            "service": service,
            "cassette": cassette,
        }
        vars(self).update({name: answer for name, answer in given.items() if answer is not None})

    def cell(self) -> tuple[str | None, str | None]:
        """Return the cell that was given."""
        return self._cell

    def start_emulator(self) -> tuple[str, Secret]:
        """Return the emulator that was given."""
        return super().start_emulator() if self._emulator is None else self._emulator
