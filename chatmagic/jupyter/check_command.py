"""``%chat_connect --check``: the doctor's block, for this kernel and its front end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from chatmagic.doctor import doctor
from chatmagic.doctor.observations import FrontEnd
from chatmagic.jupyter import hosts
from chatmagic.jupyter.execution import running

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmagic.jupyter.execution import Audience
    from chatmagic.jupyter.kernel import Kernel

_NAMES: Final[Mapping[Audience, str]] = {
    "page": "a page of JupyterLab, Notebook 7 or the like",
    "text": "a console or a terminal",
    "machine": "no person watches",
}
_SHOWS: Final[Mapping[Audience, str]] = {
    "page": "a reply is a display of its cell",
    "text": "a reply is printed as it comes",
    "machine": "a reply is shown once, at its end",
}


def check(kernel: Kernel, *, ask: bool) -> str:
    """Return the block.

    Args:
        kernel: the kernel.
        ask: whether one short question is sent.
    """
    return doctor.examine(kernel, kernel.session, _front_end(kernel), ask=ask)[0]


def _front_end(kernel: Kernel) -> FrontEnd:
    """Return the front end of the running cell, as its request and the bridge tell it."""
    execution, host = running(kernel.shell), hosts.host(os.environ)
    if execution.audience == "text":
        host = None  # a terminal of a host's is no page of it
    name = _NAMES[execution.audience] if host is None else host.name
    has_widgets = None
    # The bridge opens with the first reply; it knows the pages of Jupyter alone.
    if host is None and execution.audience == "page" and kernel.pages is not None:
        has_widgets = bool(kernel.pages.reports)
    shows = _SHOWS[execution.audience] + (", updated as it comes" if execution.is_live else "")
    return FrontEnd(name, shows, has_widgets)
