"""Status of a kernel in words: its service, its settings, its cassette, its credits."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, Final

from chatmagic import text
from chatmagic._json import shared
from chatmagic.cassette.cassette import CASSETTE
from chatmagic.client.endpoint import SET_AUTH
from chatmagic.conversation import options
from chatmagic.conversation.request_facts import Parameters
from chatmagic.conversation.turn import MAIN
from chatmagic.errors import ChatError
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.auth import redacted
from chatmagic.render import gauge
from chatmagic.render.sanitize import QUIET
from chatmagic.session.ledger import EMULATOR, service_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmagic.client.credit_tracker import CreditState
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.conversation.request_facts import Value
    from chatmagic.jupyter.kernel import Kernel
    from chatmagic.protocol.auth import Secret

PANELS: Final = (
    ("Temperature", "temperature", "the service's own"),
    ("Most tokens", "max_tokens", "the service's own"),
    ("Turns sent along", "last", "all turns before"),
    ("Without history", "no_history", "off"),
    ("In one piece", "no_stream", "off"),
    ("Seconds to wait", "timeout", "10 for a connection, 60 for an answer"),
    ("Model", "model", "none is named"),
    ("More fields", "extra_body", "none"),
    ("Token counts of streams", "stream_usage", "as the service reports them"),
    ("More headers", "extra_headers", "none"),
    ("System role", "system_role", "off"),
)
"""What the panel shows of the settings: a name, the trait, and what holds where it is unset."""


_OWN_LINES: Final = frozenset(["base_url", "auth", "model", "cassette", "mode", "budget", "stream"])
"""The settings that ``%chat`` alone tells in lines of their own, or not at all."""
NAMED: Final = ("model", "extra_body", "extra_headers")
NO_TOKENS: Final = (
    "Tokens: the last reply reported none. %config ChatMagics.stream_usage = True asks for them."
)
CASSETTE_MODES: Final = {
    "record": "what is recorded is answered from it; what is new is asked, and saved",
    "replay": "nothing is sent, no key is needed",
    "refresh": "everything is asked again, and saved",
}
"""The modes of a cassette, and what they do."""
SHOWN: Final = 200
"""The most characters of names."""


@dataclass(frozen=True, slots=True)
class Status:
    """The status of one kernel: its service, its settings, its credits."""

    kernel: Kernel

    def now(self) -> datetime:
        """Return the time by the service's clock, by which a live gauge counts.

        It is the ``Date`` of the answer with the latest credits, and the time since it came.
        """
        here, state = datetime.now(UTC), self.kernel.session.credit_state
        if state.credits is None or state.received_at is None:
            return here
        return state.credits.seen_at + max(here - state.received_at, timedelta())

    def standing(self) -> dict[str, Any]:
        """Return the state in one word, and the settings in force as rows of words."""
        configured = self._in_force()
        rows = [[name, _set(configured[trait], unset)] for name, trait, unset in PANELS]
        instructions = self._panel_instructions()
        rows.append(["Instructions", "none" if instructions is None else _shown(instructions)])
        if (cassette := cassette_words(self.kernel)) is not None:
            rows = [["Cassette", cassette], *rows]
        if self.kernel.is_replaying():
            return {"state": "replay", "rows": rows}
        try:
            choice, endpoint = self.kernel.choice(), self.kernel.endpoint()
        except ChatError as error:
            return {"state": "not connected", "rows": [["Service", str(error)], *rows]}
        state = "emulator" if endpoint.is_emulator else "live"
        if choice is not None:
            state = f"{state}, {choice.mode}"
        return {"state": state, "rows": [["Service", service_words(endpoint)], *rows]}

    def defaults(self) -> dict[str, Any]:
        """Return the parameters of the panel's questions, which are every cell's defaults."""
        settings = self.kernel.settings
        parameters = shared(options.parse_line("", settings.trait_values()), Parameters)
        return {**parameters, "fit": settings.fit}

    def streams(self) -> bool:
        """Return whether pages show a reply while it comes."""
        return bool(self.kernel.settings.stream != "off")

    def credits(self) -> tuple[str, str]:
        """Return the large gauge as HTML and as words."""
        state = self.kernel.session.credit_state
        now, off = self._now(state), state.clock_off
        html = gauge.large_html(state.credits, self.kernel.session.took, now=now, clock_off=off)
        words = gauge.large_words(state.credits, self.kernel.session.took, now=now, clock_off=off)
        for note in self._notes(state, now - (off or timedelta())):
            html += f'<p style="{QUIET}">{escape(note)}</p>'
            words += f"\n{note}"
        return html, words

    def _notes(self, state: CreditState, now: datetime) -> list[str]:
        """Return the lines under the credits: requests left, tokens, a replay."""
        kernel, notes = self.kernel, []
        if state.requests is not None:
            notes.append(crediting.request_line(state.requests, now))
        if state.lacks_usage and not (kernel.settings.stream_usage or kernel.has_told_of_usage):
            kernel.has_told_of_usage = True
            notes.append(NO_TOKENS)
        replayed = _replay_words(kernel)
        return notes if replayed is None else [*notes, replayed]

    def summary(self) -> str:
        """Return what ``%chat`` alone prints: service, key, conversation, credits, settings."""
        cassette = cassette_words(self.kernel)
        here = self.kernel.window()
        conversation, state = self.kernel.session.conversation, self.kernel.session.credit_state
        count, stale = len(conversation), len(conversation.stale_turns())
        notes = f", {stale:,} stale" if stale else ""
        notes += "" if here.thread == MAIN else f"; this cell is in the thread {here.thread}"
        instructions = here.instructions
        return "\n".join(
            (
                *([] if cassette is None else [cassette]),
                *self._asks(),
                f"Conversation: {text.counted(count, 'turn')}{notes}.",
                *([] if instructions is None else [f"Instructions: {_shown(instructions)}"]),
                gauge.large_words(
                    state.credits,
                    self.kernel.session.took,
                    now=self._now(state),
                    clock_off=state.clock_off,
                ),
                f"Set for every question: {', '.join(self._values()) or 'nothing'}.",
                *self._budgets(),
            )
        )

    def service(self) -> str:
        """Return what the ledger calls the service that is asked now."""
        try:
            return service_of(self.kernel.endpoint())
        except ChatError:
            return EMULATOR

    def _budgets(self) -> list[str]:
        """Return the lines on the budgets that hold."""
        try:
            return self.kernel.session.ledger.budget_words()
        except ChatError as error:
            return [str(error)]

    def _panel_instructions(self) -> Value | None:
        """Return the instructions that hold for a question of the panel, below all cells."""
        order = self.kernel.order(None)
        return self.kernel.session.conversation.window(order=order).instructions

    def _asks(self) -> list[str]:
        """Return the lines on the service: address, key, model."""
        lines = []
        try:
            if not self.kernel.is_replaying():
                endpoint = self.kernel.endpoint()
                lines.append(service_words(endpoint))
                if not endpoint.is_emulator:
                    lines.append(f"Requests are posted to {endpoint.posted_to()}.")
            return lines + address_words(self.kernel)
        except ChatError as error:
            return [*lines, str(error)]

    def _values(self) -> list[str]:
        """Return the settings for every question; of fields and headers the names alone."""
        configured = self._in_force()
        return [
            f"{name} = {configured[name]}"
            for name in self.kernel.settings.trait_names(config=True)
            if name not in _OWN_LINES
            and configured[name] is not None
            and configured[name] is not False
        ]

    def _in_force(self) -> dict[str, Any]:
        """Return the settings that count here; of fields and headers their names, in words."""
        configured = self.kernel.settings.trait_values()
        configured |= dict.fromkeys(self.kernel.elsewhere())
        with contextlib.suppress(ChatError):
            configured["model"] = self.kernel.model()
        named = {name: configured[name] for name in NAMED if configured[name]}
        # A key that was put there by mistake is not shown.
        keys = self.kernel.known_keys() if named else ()
        return {**configured, **{name: _names(named.get(name), keys) for name in NAMED}}

    def _now(self, state: CreditState) -> datetime:
        """Return the time; it stands still for the emulator and a replay, whose outputs repeat."""
        figures, endpoint = state.credits, self.kernel.session.endpoint
        if figures is not None and endpoint is not None:
            still = endpoint.is_emulator or _replay_words(self.kernel)
            if still:
                return figures.seen_at
        return datetime.now(UTC)


def service_words(endpoint: Endpoint, *, of_key: bool = True) -> str:
    """Return where a session asks and where its key comes from, in words without the key.

    Args:
        endpoint: where it asks.
        of_key: whether they say where the key comes from.
    """
    if endpoint.is_emulator:
        return (
            f"Connected to the emulator of this kernel ({endpoint.url_from}): practice "
            "replies, no account, no key."
        )
    name = "" if endpoint.server is None else f"{text.one_line(endpoint.server.name, SHOWN)} at "
    at = f"Connected to {name}{endpoint.origin} ({endpoint.url_from})"
    if not of_key:
        return f"{at}."
    if endpoint.auth == "none":
        return f"{at}, without a key."
    if endpoint.key is None:
        elsewhere = endpoint.elsewhere
        has = "" if elsewhere is None else f" (the environment's belongs to {elsewhere})"
        return (
            f"{at}.\nNo key for this address yet{has}: %chat_login asks for it.\n"
            f"For a server without keys: {SET_AUTH.format('none')}"
        )
    return f"{at}; key from {endpoint.key_from}, sent as {endpoint.auth}."


def address_words(kernel: Kernel) -> list[str]:
    """Return the lines on the model, and on settings that belong to another address.

    Args:
        kernel: the kernel.

    Raises:
        InputError: two models are named.
    """
    lines = []
    if (model := kernel.model()) is not None:
        # A key that was put there by mistake is not shown.
        lines.append(f"Model: {text.one_line(redacted(model, kernel.known_keys()), SHOWN)}.")
    if elsewhere := kernel.elsewhere():
        lines.append(f"Set for another address, so not used here: {', '.join(elsewhere)}.")
    return lines


def cassette_words(kernel: Kernel) -> str | None:
    """Return a line on the active cassette; ``None`` without one.

    Args:
        kernel: the kernel.
    """
    try:
        choice = kernel.choice()
    except ChatError as error:
        return str(error)
    if choice is None:
        return None
    return (
        f"Cassette {choice.name} ({choice.file_from}), {choice.mode} ({choice.mode_from}): "
        f"{CASSETTE_MODES[choice.mode]}."
    )


def _replay_words(kernel: Kernel) -> str | None:
    """Return a line that the credits shown are recorded ones; ``None`` where they are not."""
    endpoint = kernel.session.endpoint
    if endpoint is None or endpoint != CASSETTE:
        return None
    return "Replayed from a cassette: figures as recorded, nothing was sent."


def _names(value: Any, keys: Iterable[Secret]) -> str | None:
    """Return a name, or the names that a mapping has, whose values may be private."""
    words = ", ".join([value] if isinstance(value, str) else map(str, value or ()))
    return text.one_line(redacted(words, keys), SHOWN) or None


def _shown(instructions: Value) -> str:
    """Return instructions in a line: how long they are, and how they begin."""
    file = text.one_line(instructions.expression)
    size = f"{text.counted(instructions.size, 'character')}{f' from {file}' if file else ''}"
    return f"{size}: “{text.one_line(instructions.text or '')}”"


def _set(value: Any, unset: str) -> str:
    """Return a setting's value in words."""
    if value is None or value is False:
        return unset
    return "on" if value is True else str(value)
