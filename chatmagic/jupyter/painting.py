"""The kernel's end of painting: the pages that paint replies under way, and what they are told.

A page that was loaded again while a reply came gets no update of its output any more, so it asks
for the last state itself.

A page's script opens a comm of its own as soon as it sees a reply under way. That is the only
message of a page which comes in while a cell runs, so that it shows which pages can paint.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from ipywidgets.comm import get_comm_manager  # type: ignore[import-untyped] # it has no types

from chatmagic.archive import output

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.jupyter.bridge_messages import Paint, Settled
    from chatmagic.jupyter.drawing import DrawingLoop
    from chatmagic.jupyter.reply_under_way import Drawn
    from chatmagic.session.events import Ended

PAINTS: Final = "chatmagic.paints"
"""Target of the comm that a page has open while it paints replies."""
_MOST_KEPT: Final = 16  # replies whose last state a page can still ask for


class Painting:
    """The pages of one bridge that paint.

    Args:
        drawing: the kernel's drawing loop.
        send: sends all pages a message.
    """

    def __init__(self, drawing: DrawingLoop, send: Callable[[Paint | Settled], object]) -> None:
        """Wait for the first of them."""
        self._drawing = drawing
        self._send = send
        self._anew = False
        self._drawn: Drawn | None = None
        self._ended: dict[str, Ended] = {}
        self._comms: dict[str, str] = {}
        """The newest comm of each notebook: a page that is loaded again opens another one."""
        get_comm_manager().register_target(PAINTS, self._open)

    def close(self) -> None:
        """Hear no more pages."""
        get_comm_manager().unregister_target(PAINTS, self._open)

    def greet(self) -> None:
        """Tell all that is shown with the next drawing: a page has come that may lack it."""
        self._anew = self._anew or not self._comms

    def tell(self, drawn: Drawn, *, has_script: bool) -> None:
        """Send what is new of a reply under way, or all of it to a page that came later.

        Args:
            drawn: the drawing.
            has_script: whether a page may have the script that paints, though none has said so.
        """
        self._drawn = None if drawn.last else drawn
        if not (has_script or self._comms):
            return
        anew, self._anew = self._anew, False
        if anew or drawn.paint:
            self._send(drawn.anew if anew else drawn.message)

    def end(self, ended: Ended) -> None:
        """Keep how an ask has ended, for a page that lacks its last state."""
        self._ended[ended.ask.live] = ended
        for live in [*self._ended][:-_MOST_KEPT]:
            del self._ended[live]

    def settle(self, live: object) -> None:
        """Send the last state of a reply, or why there is none, if its ask has ended.

        Args:
            live: the name of its ask in pages, or whatever a page says.
        """
        ended = self._ended.get(str(live))
        if ended is not None:
            data, metadata = {"text/html": f"<p>{escape(ended.words)}</p>"}, dict[str, Any]()
            if ended.answer is not None:
                data, metadata = output.of(ended.answer.reply, ended.answer.record)
            self._send({"kind": "settled", "live": str(live), "data": data, "metadata": metadata})

    def _open(self, comm: Any, message: Any) -> None:
        """Take note that a page paints; may be called in any thread."""
        data = message["content"]["data"]
        notebook = str(data.get("notebook", "")) if isinstance(data, dict) else ""

        def end(_: object) -> None:
            if self._comms.get(notebook) == comm.comm_id:
                del self._comms[notebook]
                self._drawing.painted(notebook, ends=True)

        comm.on_close(end)
        self._anew = True  # it may lack what was sent before
        self._comms[notebook] = comm.comm_id
        self._drawing.painted(notebook)
        self._drawing.put(self._tell_anew)

    def _tell_anew(self) -> None:
        """Send all that is shown now: it may take long until there is more."""
        if self._drawn is not None and self._anew:
            self._anew = False
            self._send(self._drawn.anew)
