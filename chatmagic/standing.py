"""What is in force and what is left: ``%chat`` alone, and what a panel shows of it."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, Final, Protocol

from chatmagic import frontend, gauge, options, plain, ratelimit, settings
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
    ("Model", "model", "none is named"),
    ("More fields", "extra_body", "none"),
    ("Token counts of streams", "stream_usage", "as the service tells them"),
    ("More headers", "extra_headers", "none"),
)
"""What the panel shows of the settings: a name, the trait, and what holds where it is unset."""


NO_TOKENS: Final = (
    "Tokens: the last reply told none. %config ChatMagics.stream_usage = True asks for them."
)
SHOWN: Final = 60
"""The most characters of a name."""


class Configured(Protocol):
    """The settings that ``%config ChatMagics`` knows."""

    stream: Any
    stream_usage: Any

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
        self._has_told_of_usage = False

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
        configured = self._in_force()
        rows = [
            [name, self._without_keys(_set(configured[trait], unset))]
            for name, trait, unset in PANELS
        ]
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
        for note in self._notes(now - (off or timedelta())):
            html += f'<p style="{gauge.QUIET}">{escape(note)}</p>'
            words += f"\n{note}"
        return html, words

    def _notes(self, now: datetime) -> list[str]:
        """Give what there is to say under the credits: requests left, tokens, a replay."""
        notes = []
        if (told := self._session.request_limit) is not None:
            notes.append(ratelimit.line(told, now))
        if self._session.lacks_usage and not (
            self._configured.stream_usage or self._has_told_of_usage
        ):
            self._has_told_of_usage = True
            notes.append(NO_TOKENS)
        replayed = self._cassette.of_the_figures()
        return notes if replayed is None else [*notes, replayed]

    def state(self) -> str:
        """Say what ``%chat`` alone says: where, key from where, conversation, credits."""
        tape = self._cassette.state()
        self._session.follow_pages(frontend.execution(self._shell).cell)
        conversation = self._session.conversation
        count, stale = len(conversation), len(conversation.stale_turns())
        notes = f", {stale:,} stale" if stale else ""
        return "\n".join(
            (
                *([] if tape is None else [tape]),
                *self._asks(),
                f"Conversation: {count:,} turn{'' if count == 1 else 's'}{notes}.",
                gauge.large_words(
                    self._session.credits,
                    self._session.took,
                    now=self._now(),
                    clock_off=self._session.clock_off,
                ),
                f"Set for every question: {', '.join(self._values()) or 'nothing'}.",
            )
        )

    def _asks(self) -> list[str]:
        """Say where requests go, with which key, and which model they name."""
        lines = []
        try:
            if not self._cassette.is_replaying():
                connection = self._connecting.connection()
                lines.append(where(connection))
                if not settings.is_emulator(connection):
                    lines.append(f"Requests are posted to {settings.posted_to(connection)}.")
            if (model := self._connecting.model()) is not None:
                lines.append(self._without_keys(f"Model: {plain.one_line(model, SHOWN)}."))
        except ChatError as error:
            lines.append(str(error))
        if elsewhere := self._connecting.elsewhere():
            lines.append(f"Set for another address, so not used here: {', '.join(elsewhere)}.")
        return lines

    def _values(self) -> list[str]:
        """Give what is set for every question; of fields and headers their names alone."""
        configured = self._in_force()
        # The model has a line of its own.
        names = [option.trait for option in options.OPTIONS if option.trait]
        names += ["timeout", "extra_body", "extra_headers", "stream_usage", "keep_values"]
        values = {name: configured[name] for name in names}
        values |= {name: _set(values[name], "") for name in ("extra_body", "extra_headers")}
        return [
            self._without_keys(f"{name} = {value}")
            for name, value in values.items()
            if value is not None and value is not False and value != ""
        ]

    def _in_force(self) -> dict[str, Any]:
        """Return the settings, without those that were set for another address."""
        configured = self._configured.trait_values()
        configured |= dict.fromkeys(self._connecting.elsewhere())
        with contextlib.suppress(ChatError):
            configured["model"] = self._connecting.model()
        return configured

    def _without_keys(self, words: str) -> str:
        """Take the keys out of what was set, where one was put by mistake."""
        for key in self._connecting.known_keys():
            words = key.redact(words)
        return words

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
        return ", ".join(plain.one_line(str(name), SHOWN) for name in value) or unset
    if value is None or value is False:
        return unset
    return "on" if value is True else str(value)
