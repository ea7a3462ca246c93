"""Capture of a running cell's output as text; nothing of what it shows is changed.

IPython notes outputs since its release 9, and only of cells without ``await``; ipykernel's hooks
on messages are missing in a terminal. So this does what IPython itself does (its ``_tee``): while
a cell runs, the methods that write and publish are wrapped, and each calls the one it wraps first.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmagic._log import log_swallowed
from chatmagic.conversation.attachments import MOST, as_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from IPython.core.interactiveshell import InteractiveShell


@dataclass(slots=True)
class _Piece:
    """One display, or what was printed between two.

    Args:
        display: its ``display_id``; ``None`` where it cannot be updated.
        is_stream: whether it was printed.
        texts: its text, in pieces.
    """

    display: str | None
    is_stream: bool
    texts: list[str] = field(default_factory=list)


class OutputCapture:
    """Text of what one cell shows, while it runs."""

    def __init__(self, shell: InteractiveShell) -> None:
        """Note nothing yet."""
        self._shell = shell
        self._pieces: list[_Piece] = []
        self._kept = self._lost = 0
        self._may_shrink = True
        self._quiet = False
        self._waiting: list[str] = []
        self._waiting_size = 0
        self._clear_next = False
        self._runs = True
        self._restore: list[Callable[[], None]] = []

    def start(self) -> None:
        """Begin to note; an interrupt leaves what :meth:`stop` can take back."""
        shell = self._shell
        for stream in (sys.stdout, sys.stderr):
            self._wrap(stream, "write", self._noting_write)
        self._wrap(shell.display_pub, "publish", self._noting(self._published))
        self._wrap(shell.display_pub, "clear_output", self._noting(self._cleared))
        self._wrap(shell.displayhook, "log_output", self._noting(self._resulted))
        # A terminal prints every error, and any front end an error that has a group in it.
        for name in ("showtraceback", "showsyntaxerror"):
            self._wrap(shell, name, self._noting(_nothing))

    def stop(self) -> None:
        """Note nothing more, and leave all as it was."""
        self._take()
        self._runs = False
        for restore in reversed(self._restore):
            restore()

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

    def _wrap(self, owner: Any, name: str, wrapped: Callable[[Any], Callable[..., Any]]) -> None:
        """Put a function in place of a method, until :meth:`stop`.

        Args:
            owner: whose method it is.
            name: of the method.
            wrapped: returns the function for the method.
        """
        own = vars(owner).get(name) if hasattr(owner, "__dict__") else None
        method = getattr(owner, name, None)
        if method is None:
            return
        function = wrapped(method)

        def restore() -> None:
            # What was wrapped since by another stays, and calls this one, which notes nothing.
            if not hasattr(owner, "__dict__") or vars(owner).get(name) is not function:
                return
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        self._restore.append(restore)
        with suppress(AttributeError):  # a stream that takes no attribute is not noted
            setattr(owner, name, function)

    def _noting(self, note: Callable[..., None]) -> Callable[[Any], Callable[..., Any]]:
        """Return what wraps a method so that a function is called after it, with its arguments."""

        def wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
            def noted(*words: Any, **named: Any) -> Any:
                with self.quiet():
                    result = method(*words, **named)
                try:
                    if self._runs:
                        self._take()
                        note(*words, **named)
                except Exception as error:  # noqa: BLE001 - a cell may publish anything
                    log_swallowed(error)
                return result

            return noted

        return wrapped

    def _noting_write(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return what wraps the ``write`` of a stream; a cell may call it a million times."""

        def write(text: str, *words: Any, **named: Any) -> Any:
            result = method(text, *words, **named)
            if self._quiet or not self._runs:
                return result
            self._waiting.append(text)
            self._waiting_size += len(text)
            if self._waiting_size > MOST:
                self._take()
            return result

        return write

    def _take(self) -> None:
        """Add what was printed since to the pieces."""
        waiting, self._waiting, self._waiting_size = self._waiting, [], 0
        if text := "".join(waiting):
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
        if last is None or not (is_stream and last.is_stream):
            last = _Piece(display, is_stream)
            self._pieces.append(last)
        if is_stream and self._may_shrink and self._kept + len(text) > MOST:
            text = self._shrunk(last, text)
        if fitting := self._fitting(text):
            last.texts.append(fitting)

    def _shrunk(self, piece: _Piece, text: str) -> str:
        """Return what was printed so far without what a progress bar has written over."""
        before = "".join(piece.texts)
        self._kept -= len(before)
        piece.texts = []
        printed = before + text
        shown = as_shown(printed) + ("\r" if printed.endswith("\r") else "")
        self._may_shrink = len(shown) < MOST // 2
        return shown

    def _fitting(self, text: str) -> str:
        """Return as much of a text as there is room for."""
        fitting = text[: max(0, MOST - self._kept)]
        self._kept += len(fitting)
        self._lost += len(text) - len(fitting)
        return fitting


def _nothing(*_: object, **__: object) -> None:
    """Note nothing of an error that is shown: its own text is noted after the cell."""


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
