"""What is in force and what is left: ``%chat`` alone, and what a panel shows of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, Final, Protocol

from chatmagic import frontend, gauge, options, settings
from chatmagic.connecting import where
from chatmagic.errors import ChatError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.connecting import ConnectCommands
    from chatmagic.session import Session
    from chatmagic.taping import CassetteCommand

PANELS: Final = (
    ("Temperature", "temperature", "the service's own"),
    ("Most tokens", "max_tokens", "the service's own"),
    ("Turns sent along", "last", "all turns before"),
    ("Without history", "no_history", "off"),
    ("In one piece", "no_stream", "off"),
    ("Seconds to wait", "timeout", "10 for a connection, 60 for an answer"),
    ("More fields", "extra_body", "none"),
)
"""What the panel shows of the settings: a name, the trait, and what holds where it is unset."""


class Configured(Protocol):
    """The settings that ``%config ChatMagics`` knows."""

    stream: Any

    def trait_values(self) -> dict[str, Any]:
        """Give all of them by name."""


class Standing:
    """How things stand in one kernel: its service, its settings, its credits.

    Args:
        shell: the kernel's shell.
        session: its session.
        configured: the settings, read at each use.
        cassette: its cassette.
        connecting: its connection.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        session: Session,
        configured: Configured,
        cassette: CassetteCommand,
        connecting: ConnectCommands,
    ) -> None:
        """Look at nothing yet."""
        self._shell = shell
        self._session = session
        self._configured = configured
        self._cassette = cassette
        self._connecting = connecting

    def now(self) -> datetime:
        """Give the time by the service's clock, by which a live gauge counts.

        It is the ``Date`` of the answer that told the figures, and the time since that came.
        """
        here, figures = datetime.now(UTC), self._session.credits
        came = self._session.credits_received_at
        if figures is None or came is None:
            return here
        return figures.seen_at + max(here - came, timedelta())

    def standing(self) -> dict[str, Any]:
        """Give the state in one word, and the settings in force as rows of words."""
        configured = self._configured.trait_values()
        rows = [[name, _set(configured[trait], unset)] for name, trait, unset in PANELS]
        if (tape := self._cassette.state()) is not None:
            rows = [["Cassette", tape], *rows]
        if self._cassette.is_replaying():
            return {"state": "replay", "rows": rows}
        try:
            choice, connection = self._cassette.choice(), self._connecting.connection()
        except ChatError as error:
            return {"state": "not connected", "rows": [["Service", str(error)], *rows]}
        state = "emulator" if settings.is_emulator(connection) else "live"
        if choice is not None:
            state = f"{state}, {choice.mode}"
        return {"state": state, "rows": [["Service", where(connection)], *rows]}

    def defaults(self) -> dict[str, Any]:
        """Give the parameters of the panel's questions, which are every cell's defaults."""
        asked = options.parse("", self._configured.trait_values())
        return {
            "max_tokens": asked.max_tokens,
            "temperature": asked.temperature,
            "stream": asked.stream,
            "history": asked.history,
            "last": asked.last,
        }

    def streams(self) -> bool:
        """Tell whether pages show a reply while it comes."""
        return bool(self._configured.stream != "off")

    def credits(self) -> tuple[str, str]:
        """Give the credits large, as HTML and as words."""
        figures, took = self._session.credits, self._session.took
        now, off = self._now(), self._session.clock_off
        html = gauge.large_html(figures, took, now=now, clock_off=off)
        words = gauge.large_words(figures, took, now=now, clock_off=off)
        if (note := self._cassette.of_the_figures()) is not None:
            html += f'<p style="{gauge.QUIET}">{escape(note)}</p>'
            words += f"\n{note}"
        return html, words

    def state(self) -> str:
        """Say what ``%chat`` alone says: where, key from where, conversation, credits."""
        tape = self._cassette.state()
        try:
            asks = "" if self._cassette.is_replaying() else where(self._connecting.connection())
        except ChatError as error:
            asks = str(error)
        self._session.follow_pages(frontend.execution(self._shell).cell)
        conversation = self._session.conversation
        count, stale = len(conversation), len(conversation.stale_turns())
        notes = f", {stale:,} stale" if stale else ""
        configured = self._configured.trait_values()
        values = [
            f"{option.trait} = {configured[option.trait]}"
            for option in options.OPTIONS
            if option.trait and configured[option.trait] not in (None, False)
        ]
        values += ["keep_values = True"] if configured["keep_values"] else []
        return "\n".join(
            (
                *(line for line in (tape, asks) if line),
                f"Conversation: {count:,} turn{'' if count == 1 else 's'}{notes}.",
                gauge.large_words(
                    self._session.credits,
                    self._session.took,
                    now=self._now(),
                    clock_off=self._session.clock_off,
                ),
                f"Set for every question: {', '.join(values) or 'nothing'}.",
            )
        )

    def _now(self) -> datetime:
        """Give the time; the emulator's and a recording's stand still: their outputs repeat."""
        figures, connection = self._session.credits, self._session.connection
        if figures is not None and connection is not None:
            still = settings.is_emulator(connection) or self._cassette.of_the_figures()
            if still:
                return figures.seen_at
        return datetime.now(UTC)


def _set(value: Any, unset: str) -> str:
    """Say what a setting is; of fields for a server their names, as a value may be private."""
    if isinstance(value, dict):
        return ", ".join(map(str, value)) or unset
    return unset if value in (None, False) else "on" if value is True else str(value)
