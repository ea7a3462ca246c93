"""The kernel of this process, as far as a client by itself has to know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.protocol.auth import Secret


class Kernel(Protocol):
    """A kernel with the extension."""

    def start_emulator(self) -> tuple[str, Secret]:
        """Start the kernel's emulator, if it is not running; return its address and a key.

        Raises:
            ConnectError: there is no kernel.
        """

    def replaying(self) -> str | None:
        """Return why nothing is ever sent, as a clause; ``None`` where requests are sent.

        Raises:
            InputError: what is set does not go together.
        """


find_kernel: Callable[[], Kernel] | None = None
"""Returns the kernel of this process; ``None`` in plain Python, and without the extension."""
