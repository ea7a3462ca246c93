"""Hook by which a client of its own finds the kernel of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

find_kernel: Callable[[], Any] | None = None
"""Returns the environment of the kernel's session; ``None`` in plain Python, and without the
extension. The extension loads this module, and nothing of what a request needs."""
