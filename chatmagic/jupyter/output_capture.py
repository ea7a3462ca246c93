"""What a cell shows, noted as text on its way; nothing of what it shows is changed.

IPython notes outputs since its release 9, and only of cells without ``await``; ipykernel's hooks
on messages are missing in a terminal. So this does what IPython itself does (its ``_tee``): while
a cell runs, the methods that write and publish are wrapped, and each calls the one it wraps first.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from chatmagic._log import log_swallowed
from chatmagic.conversation.blocks import MOST, as_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from IPython.core.interactiveshell import InteractiveShell


class _Piece:
    """One display, or what was printed between two.

    Args:
        display: its ``display_id``; ``None`` where it cannot be updated.
        is_stream: whether it was printed.
    """

    def __init__(self, text: str, display: str | None = None, *, is_stream: bool = False) -> None:
        self.texts = [text]
        self.display = display
        self.is_stream = is_stream


class OutputCapture:
    """Text of what one cell shows, while it runs.

    Args:
        shell: the shell that runs it.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Begin to note."""
        self._shell = shell
        self._pieces: list[_Piece] = []
        self._kept = self._lost = 0
        self._may_shrink = True
        self._quiet = False
        self._clear_next = False
        self._runs = True
        self._restore: list[Callable[[], None]] = []
        for stream in (sys.stdout, sys.stderr):
            self._wrap(stream, "write", self._printed)
        self._wrap(shell.display_pub, "publish", self._published, alone=True)
        self._wrap(shell.display_pub, "clear_output", self._cleared, alone=True)
        self._wrap(shell.displayhook, "log_output", self._resulted)

    def stop(self) -> None:
        """Note nothing more, and leave all as it was."""
        self._runs = False
        while self._restore:
            self._restore.pop()()

    @property
    def text(self) -> str:
        """What was noted, as it is left to see."""
        return "\n".join(
            as_shown(text).strip("\n") for piece in self._pieces if (text := "".join(piece.texts))
        )

    @property
    def lost(self) -> int:
        """How many characters came after there was no more room."""
        return self._lost

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Context in which what is printed is not noted: a terminal prints what is displayed."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _wrap(
        self, owner: Any, name: str, note: Callable[..., None], *, alone: bool = False
    ) -> None:
        """Call a function after a method, with the same arguments.

        Args:
            owner: whose method it is.
            name: of the method.
            note: the function; an error of it is nobody's.
            alone: whether what the method itself prints is not noted.
        """
        own = vars(owner).get(name) if hasattr(owner, "__dict__") else None
        method = getattr(owner, name, None)
        if method is None:
            return

        def noted(*words: Any, **named: Any) -> Any:
            if alone:
                with self.quiet():
                    result = method(*words, **named)
            else:
                result = method(*words, **named)
            try:
                if self._runs:
                    note(*words, **named)
            except Exception as error:  # noqa: BLE001 - a cell may publish anything
                log_swallowed(error)
            return result

        try:
            setattr(owner, name, noted)
        except AttributeError:
            return  # a stream that takes no attribute is not noted

        def restore() -> None:
            # What was wrapped since by another stays, and calls this one, which notes nothing.
            if vars(owner).get(name) is not noted:
                return
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        self._restore.append(restore)

    def _printed(self, text: Any, *_: Any) -> None:
        shows = self._quiet or getattr(self._shell, "showing_traceback", False)
        if not shows and isinstance(text, str) and text:
            self._add(text, is_stream=True)

    def _published(
        self,
        data: Mapping[str, Any],
        *_: Any,
        transient: Mapping[str, Any] | None = None,
        update: bool = False,
        **__: Any,
    ) -> None:
        display, text = (transient or {}).get("display_id"), text_of(data)
        if not update:
            self._add(text, display)
            return
        for piece in self._pieces:
            if display is not None and piece.display == display:
                self._kept -= sum(map(len, piece.texts))
                piece.texts = [self._fitting(text)]

    def _resulted(self, data: Mapping[str, Any]) -> None:
        self._add(text_of(data))

    def _cleared(self, wait: bool = False) -> None:
        if wait:
            self._clear_next = True
        else:
            self._forget()

    def _forget(self) -> None:
        self._pieces, self._kept, self._lost = [], 0, 0
        self._clear_next, self._may_shrink = False, True

    def _add(self, text: str, display: str | None = None, *, is_stream: bool = False) -> None:
        if self._clear_next:
            self._forget()
        last = self._pieces[-1] if self._pieces else None
        if is_stream and last is not None and last.is_stream:
            if self._kept + len(text) > MOST and self._may_shrink:
                self._shrink(last)
            if fitting := self._fitting(text):
                last.texts.append(fitting)
        else:
            self._pieces.append(_Piece(self._fitting(text), display, is_stream=is_stream))

    def _shrink(self, piece: _Piece) -> None:
        """Leave out what a progress bar has written over."""
        before = "".join(piece.texts)
        text = as_shown(before) + ("\r" if before.endswith("\r") else "")
        piece.texts = [text]
        self._kept -= len(before) - len(text)
        self._may_shrink = len(text) < MOST // 2

    def _fitting(self, text: str) -> str:
        """Return as much of a text as there is room for."""
        fitting = text[: max(0, MOST - self._kept)]
        self._kept += len(fitting)
        self._lost += len(text) - len(fitting)
        return fitting


def text_of(data: Mapping[str, Any]) -> str:
    """Return a display as text; a picture is named.

    Args:
        data: what was displayed, by media type.
    """
    plain = str(data.get("text/plain", ""))
    if plain.startswith("<IPython.core.display.") or not plain:
        for kind in ("text/markdown", "text/latex"):
            if isinstance(data.get(kind), str):
                return str(data[kind])
    if pictures := [kind for kind in data if kind.startswith("image/")]:
        return f"[picture, {pictures[0]}, which is not sent: {plain}]"
    return plain
