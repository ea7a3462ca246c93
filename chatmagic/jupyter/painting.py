"""The kernel's end of painting: the pages that paint replies under way, and what they are told.

A page that was loaded again while a reply came gets no update of its output any more, so it asks
for the last state itself.

A page's script says that it paints as soon as it has the bridge, in a message that may come in
while a cell runs.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from chatmagic.archive import output

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.jupyter.bridge_messages import Paint, Settled
    from chatmagic.jupyter.drawing import DrawingLoop
    from chatmagic.jupyter.reply_under_way import Drawn
    from chatmagic.session.events import Ended

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
        self._has_painter = False

    def begin(self) -> None:
        """Take note that a page paints, and tell it all that is shown; may be called in any thread.

        It may have been loaded again, and lack what was sent before.
        """
        self._anew = self._has_painter = True
        self._drawing.painted()
        # It may take long until there is more.
        self._drawing.put(self._tell_anew)

    def greet(self) -> None:
        """Tell all that is shown with the next drawing: a page has come that may lack it."""
        self._anew = self._anew or not self._has_painter

    def tell(self, drawn: Drawn, *, has_script: bool) -> None:
        """Send what is new of a reply under way, or all of it to a page that came later.

        Args:
            drawn: the drawing.
            has_script: whether a page may have the script that paints, though none has said so.
        """
        self._drawn = None if drawn.last else drawn
        if not (has_script or self._has_painter):
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
                data, metadata = output.of_turn(ended.answer.reply, ended.answer.record)
            self._send({"kind": "settled", "live": str(live), "data": data, "metadata": metadata})

    def _tell_anew(self) -> None:
        if self._drawn is not None and self._anew:
            self._anew = False
            self._send(self._drawn.anew)
