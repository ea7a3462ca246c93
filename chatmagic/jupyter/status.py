"""Status of a kernel in words: its service, its settings, its cassette, its credits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Final

from chatmagic import safe_text
from chatmagic.client.endpoint import NO_SERVICE, Endpoint
from chatmagic.conversation.question import Value
from chatmagic.conversation.turn import MAIN
from chatmagic.errors import ChatError
from chatmagic.jupyter import tables
from chatmagic.jupyter.kernel import Kernel
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.api_key import redacted
from chatmagic.render import gauge, reply_forms
from chatmagic.render.sanitize import QUIET
from chatmagic.session.features import all_settings
from chatmagic.session.ledger_row import EMULATOR, service_of

_OWN_LINES: Final = frozenset(
    ["base_url", "auth", "model", *(setting.name for setting in all_settings())]
)
"""The settings that ``%chat`` alone shows in rows of their own."""
SHOWN: Final = 200
"""Largest number of characters of names."""


@dataclass(frozen=True, slots=True)
class Status:
    """The status of one kernel: its service, its settings, its credits."""

    kernel: Kernel

    def now(self) -> datetime:
        """Return the present time by the service's clock, for the gauge.

        It is the ``Date`` of the answer with the latest credits, plus the time since its arrival.
        """
        local_now = datetime.now(UTC)
        state = self.kernel.session.credit_state
        if state.credits is None or state.received_at is None:
            return local_now
        return state.credits.seen_at + max(local_now - state.received_at, timedelta())

    def credits(self) -> tuple[str, str]:
        """Return the large gauge as HTML and as words, with notes on requests left and a replay."""
        session = self.kernel.session
        html, words = gauge.large(session.credit_state.credits, session.took)
        notes = self._credit_notes()
        if not words:
            notes.insert(0, "No answer has reported credits.")
        html += "".join(f'<p style="{QUIET}">{escape(note)}</p>' for note in notes)
        text = "\n".join(filter(None, [words, *notes]))
        return f'<div class="chatmagic-account">{html}</div>', text

    def _credit_notes(self) -> list[str]:
        """Return lines on the requests that are left, and on a replay."""
        session = self.kernel.session
        state = session.credit_state
        endpoint = session.endpoint
        is_replay = endpoint == NO_SERVICE
        notes = []
        if state.requests is not None:
            is_practice = endpoint is not None and endpoint.is_emulator
            # The outputs of a replay and of practice are to be the same in each run.
            repeats = state.credits is not None and (is_practice or is_replay)
            now = state.credits.seen_at if state.credits and repeats else self.now()
            notes.append(crediting.request_line(state.requests, now))
        if is_replay:
            notes.append("Replayed from a cassette: figures as recorded, nothing was sent.")
        return notes

    def summary(self) -> tuple[str, str]:
        """Return the state that ``%chat`` alone shows, as HTML and as text."""
        window = self.kernel.window()
        conversation = self.kernel.session.conversation
        stale = len(conversation.stale_turns())
        notes = f", {stale:,} stale" if stale else ""
        notes += "" if window.thread == MAIN else f"; this cell is in the thread {window.thread}"
        rows = self.rows(window.instructions)
        rows.append(("Conversation", f"{safe_text.counted(len(conversation), 'turn')}{notes}."))
        session = self.kernel.session
        rows += self._feature_rows(standing=False)
        table = tables.facts(rows, "Status")
        gauges = [gauge.large(session.credits, session.took)] if session.credits else []
        return tables.page(table, *gauges, name="Status")

    def service(self) -> str:
        """Return the name of the present service in the ledger."""
        try:
            return service_of(self.kernel.endpoint())
        except ChatError:
            return EMULATOR

    def rows(self, instructions: Value | None) -> list[tuple[str, str]]:
        """Return the settings of a question, as rows of a name and words.

        Args:
            instructions: the standing instructions that it carries; ``None`` for none.
        """
        kernel = self.kernel
        rows = self._feature_rows(standing=True)
        try:
            if not kernel.sends_nothing():
                endpoint = kernel.endpoint()
                rows.append(("Service", service_words(endpoint)))
                if not endpoint.is_emulator:
                    rows.append(("Posted to", f"{endpoint.posted_to()}."))
            rows += address_rows(kernel)
        except ChatError as error:
            rows.append(("Service", error.line_at("notebook")))
        if instructions is not None:
            rows.append(("Instructions", _shown(instructions)))
        return [*rows, ("Settings", f"{', '.join(self._values()) or 'as by default'}.")]

    def _feature_rows(self, *, standing: bool) -> list[tuple[str, str]]:
        """Return the rows of the features, among the settings of each question or beside them."""
        rows = []
        for feature in self.kernel.session.features:
            if feature.is_standing is not standing:
                continue
            try:
                rows += feature.status_rows(self.kernel)
            except ChatError as error:
                rows.append((feature.name.capitalize(), error.line_at("notebook")))
        return rows

    def _values(self) -> list[str]:
        """Return the settings for every question; only the names of fields and headers."""
        kernel = self.kernel
        settings = self.kernel.settings
        unused = {*_OWN_LINES, *kernel.settings_of_other_addresses()}
        defaults = settings.trait_defaults(config=True)
        changed = {
            name: value
            for name, value in settings.trait_values(config=True).items()
            if name not in unused and value != defaults[name]
        }
        for name in {"extra_body", "extra_headers"} & changed.keys():
            # A key that was put there by mistake is not shown.
            changed[name] = _redacted(", ".join(map(str, changed[name])), kernel)
        return [f"{name} = {value}" for name, value in changed.items()]


def service_words(endpoint: Endpoint, *, of_key: bool = True) -> str:
    """Return the endpoint of a session and the source of its key, in words without the key.

    Args:
        endpoint: the endpoint.
        of_key: whether to name the source of the key.
    """
    if endpoint.is_emulator:
        return (
            f"Connected to the emulator of this kernel ({endpoint.url_from}): practice "
            "replies, no account, no key."
        )
    server = endpoint.server
    name = "" if server is None else f"{safe_text.one_line(server.name, SHOWN)} at "
    at = f"Connected to {name}{endpoint.origin} ({endpoint.url_from})"
    if not of_key:
        return f"{at}."
    if endpoint.is_keyless:
        return f"{at}, without a key."
    if endpoint.key is None:
        has = "" if endpoint.elsewhere is None else f" ({endpoint.elsewhere})"
        return (
            f"{at}.\nNo key for this address yet{has}: {endpoint.how_to_give_a_key().notebook}.\n"
            f"For a server without keys: {endpoint.how_to_set_auth('none').notebook}"
        )
    return f"{at}; key from {endpoint.key_from}, sent as {endpoint.auth}."


def address_rows(kernel: Kernel) -> list[tuple[str, str]]:
    """Return rows on the model, the emulator's clock, and settings of another address.

    Args:
        kernel: the kernel.

    Raises:
        InputError: two models are named.
    """
    rows = []
    if model := model_words(kernel):
        rows.append(("Model", f"{model}."))
    if (clock := kernel.emulator_clock) is not None:
        rows.append(("Clock", f"the emulator's stands still at {clock:%Y-%m-%d %H:%M} UTC."))
    if elsewhere := kernel.settings_of_other_addresses():
        be = "was" if len(elsewhere) == 1 else "were"
        rows.append(("Not used", f"{', '.join(elsewhere)}, which {be} set for another address."))
    return rows


def model_words(kernel: Kernel) -> str:
    """Return the model that is asked, in a line; empty for none.

    Args:
        kernel: the kernel.

    Raises:
        InputError: two models are named.
    """
    # A key that was put there by mistake is not shown.
    return _redacted(kernel.model() or "", kernel)


def _redacted(names: str, kernel: Kernel) -> str:
    """Return names on one line, without a key of the kernel's."""
    return safe_text.one_line(redacted(names, kernel.known_keys()), SHOWN)


def _shown(instructions: Value) -> str:
    """Return instructions in a line: their length and their beginning."""
    file = safe_text.one_line(instructions.expression)
    size = f"{safe_text.counted(instructions.size, 'character')}{f' from {file}' if file else ''}"
    return f"{size}: “{reply_forms.excerpt(instructions.text or '')}”"
