"""What the magics do: parse the line, call the session, pick a view.

Loaded with the first command that is used, so that loading the extension stays light.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import secrets
import sys
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from chatmagic import (
    address,
    display,
    frontend,
    gauge,
    keystore,
    options,
    page,
    plain,
    prompt,
    record,
    settings,
    taping,
)
from chatmagic.asking import Ask, Silent
from chatmagic.conversation import Conversation
from chatmagic.errors import ChatError, ChatInterrupted, InputError
from chatmagic.secret import Secret
from chatmagic.session import Setup

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.asking import View
    from chatmagic.bridge import Bridge
    from chatmagic.emulator import Emulator
    from chatmagic.frontend import Execution
    from chatmagic.page import Layout
    from chatmagic.panel import Panels
    from chatmagic.session import Session
    from chatmagic.settings import Connection
    from chatmagic.wire import Reply

EXAMPLES: Final = (
    "%%chat\nExplain the central limit theorem to a biologist.\nUse one example.",
    "%%chat -t 0 --max-tokens 200\nWhat is wrong with this code?\n\n{{ source }}",
    "%chat And in one sentence?",
    "reply = %chat Name three estimators of the mean.",
)
ALONE: Final = r"%%chat\b|(?:[^\n=()]+=)?[ \t]*%chat\b[^\n]*\Z"
"""A cell that holds nothing but one ask, so that a failed ask may clear what it shows."""

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
    """The settings that ``%config ChatMagics`` knows, as the commands read them."""

    base_url: Any
    file_url: Any
    auth: Any
    timeout: Any
    extra_body: Any
    keep_values: Any
    cassette: Any
    mode: Any
    stream: Any
    order: Any

    def trait_values(self) -> dict[str, Any]:
        """Give all of them by name."""


class Commands:
    """The commands of one kernel.

    Args:
        shell: the kernel's shell.
        session: its session, which asks as the settings say from now on.
        configured: the settings, read at each use.
    """

    def __init__(self, shell: InteractiveShell, session: Session, configured: Configured) -> None:
        """Take the kernel's session over; send nothing."""
        self.session = session
        self._shell = shell
        self._configured = configured
        self._chosen: str | None = None
        self._typed: dict[str, Secret] = {}
        self._emulator: Emulator | None = None
        self._panels: Panels | None = None
        self._shown: tuple[str | None, Reply] | None = None
        self.cassette = taping.CassetteCommand(shell, session, configured)
        self._bridge: Bridge | None = None
        session.layout = self._layout
        session.setup = self._setup
        session.deck.taping = self.cassette.taping
        session.execution = self._owner
        settings.local_emulator = self._start_emulator

    def chat(self, line: str, cell: str | None = None) -> Reply | None:
        """Do ``%%chat`` and ``%chat``; without a prompt, ``%chat`` shows the state."""
        try:
            return self._chat(line, cell)
        except ChatInterrupted:
            raise
        except KeyboardInterrupt:
            # Before the session had the ask, or after it was done with it.
            raise ChatInterrupted(
                "Interrupted; the conversation is whole: %chat_history shows it."
            ) from None

    def _chat(self, line: str, cell: str | None) -> Reply | None:
        asked = options.parse(line, self._configured.trait_values())
        text = asked.prompt
        if cell is None and not text:
            print(self._state())
            return None
        body = (cell or "").removesuffix("\n")
        if body and not asked.raw:
            prompt.refuse_cell_comments(body)
        text = "\n".join(part for part in (text, body) if part)
        meant = options.mistaken_command(text)
        if meant is not None:
            raise InputError(
                f"Did you mean %{meant}? Nothing was sent.",
                hint="To ask just that, put it into a sentence.",
            )
        reply = self._ask(asked, text)
        return None if cell is not None else reply

    def history(self, line: str) -> None:
        """Show the conversation.

        ``%chat_history`` gives a line a turn, ``%chat_history 2`` the second turn in full,
        ``%chat_history all`` everything.
        """
        # The renderer comes with the first thing there is to show.
        from chatmagic import transcript  # noqa: PLC0415

        owner, _ = self._owner()
        self.session.follow_pages(owner)
        conversation = self.session.conversation
        turns = conversation.turns
        word = line.strip()
        if not word:
            told = self._configured.order == "page" and self._told(owner)
            order = transcript.AS_ON_PAGE if told else transcript.AS_RUN
            display.show_html(*transcript.table(conversation, order))
        elif word == "all":
            display.show_html(*transcript.whole(conversation, turns))
        elif word.isdecimal() and 1 <= int(word) <= len(turns):
            display.show_html(*transcript.whole(conversation, (turns[int(word) - 1],)))
        else:
            raise InputError(
                f"%chat_history takes nothing, 'all', or a turn's number from 1 to {len(turns):,}."
            )

    def undo(self, line: str) -> None:
        """Take back the last change: a question, a re-run, or a reset."""
        self._step("undo", line)

    def redo(self, line: str) -> None:
        """Do again what ``%chat_undo`` took back last."""
        self._step("redo", line)

    def reset(self, line: str) -> None:
        """Begin a new conversation; ``%chat_undo`` brings the old one back."""
        _no_words("chat_reset", line)
        change = self.session.change(Conversation.reset)
        gone = len(change.went) if change is not None else 0
        aside = f" {gone:,} turn{'' if gone == 1 else 's'} put aside; %chat_undo brings back."
        _say(f"A new conversation begins.{aside if gone else ''}", "reset")

    def credits(self, line: str) -> None:
        """Show the credits large: what is left, what the last turn took, as of when.

        ``%chat_credits --live`` shows a gauge that follows every request of this kernel.
        """
        execution = frontend.execution(self._shell)
        if line.strip() == "--live" and execution.audience == "page":
            self._with_widgets().show_gauge(execution.cell)
            return
        _no_words("chat_credits", line.replace("--live", "", 1))
        figures, took = self.session.credits, self.session.took
        now, off = self._now(), self.session.clock_off
        html = gauge.large_html(figures, took, now=now, clock_off=off)
        words = gauge.large_words(figures, took, now=now, clock_off=off)
        if (note := self.cassette.of_the_figures()) is not None:
            html += f'<p style="{gauge.QUIET}">{escape(note)}</p>'
            words += f"\n{note}"
        display.show_html(html, words)

    def panel(self, line: str) -> None:
        """Show the chat panel: the same conversation, beside the cells.

        It needs a live page with widgets, such as JupyterLab's or Notebook 7's. A machine is
        shown what such a page saves, so that a notebook is the same whoever ran it.
        """
        _no_words("chat_panel", line)
        execution = frontend.execution(self._shell)
        if execution.audience == "page":
            self._with_widgets().show_panel(execution.cell)
            return
        from chatmagic import board  # noqa: PLC0415 - as in chat_history

        if execution.audience == "machine":
            display.show_text(board.NEEDS_A_PAGE)
            display.show_html(*board.saved(self.session.conversation))
            return
        print(board.NEEDS_A_PAGE)

    def connect(self, line: str) -> None:
        """Connect to a service: ``%chat_connect https://…``, or ``%chat_connect emulator``.

        Nothing is sent. A key goes only where it was given for: ``%chat_login`` asks for
        one. The emulator runs in this kernel, needs no account, and says what it is.
        """
        word = line.strip()
        if not word or len(word.split()) > 1:
            raise InputError("Say where to: %chat_connect URL, or %chat_connect emulator.")
        is_here = word.lower() == address.EMULATOR
        self._chosen = address.EMULATOR if is_here else address.without_user(word)
        self.session.disconnect()
        connection = self._connection()
        if settings.is_emulator(connection):
            print(self._where(connection))
        else:
            # It is the same with a key and without one, so that a replay without a key repeats it.
            print(f"Connected to {address.origin(connection.base_url)} ({connection.url_from}).")
            print("Nothing was sent; the first question shows whether it answers.")
            lacks_key = connection.key is None and connection.auth != "none"
            is_told = frontend.execution(self._shell).audience != "machine"
            if lacks_key and is_told and not self.cassette.is_replaying():
                print("No key for this address yet: %chat_login asks for it.")
        if count := len(self.session.conversation):
            turns = f"{count:,} turn{'' if count == 1 else 's'}"
            print(f"The conversation so far ({turns}) goes along; %chat_reset begins a new one.")
        for warning in settings.news(() if is_here else address.warnings_for(word)):
            print(warning)

    def login(self, line: str) -> None:
        """Ask for the key by a hidden prompt, and offer to keep it.

        The key belongs to the address that is connected now, and goes nowhere else.
        ``%chat_login --forget`` forgets the key that was kept for it.
        """
        if self.cassette.is_replaying() and not line.strip():
            print("As things are set nothing is sent (%chat_cassette), so no key is needed.")
            return
        connection = self._connection()
        if settings.is_emulator(connection):
            raise InputError("The emulator needs no key. Connect first: %chat_connect URL.")
        origin = address.origin(connection.base_url)
        store = keystore.open_store(os.environ)
        if line.strip() == "--forget":
            typed = ["this kernel"] if self._typed.pop(origin, None) else []
            gone = ", ".join([*typed, *store.forget(origin)])
            self.session.disconnect()
            print(f"Forgotten for {origin}: {gone or 'there was no key'}.")
            return
        if line.strip():
            raise InputError(
                "%chat_login takes no key on its line, where it would be saved with the notebook."
                if not line.strip().startswith("-")
                else "%chat_login has one option: --forget."
            )
        key = _hidden(f"API key for {origin} (hidden): ")
        self._typed[origin] = key
        self.session.disconnect()
        try:
            answer = input(f"Keep it for next time? {_places(store)} Enter: this kernel only. ")
        except EOFError:
            answer = ""
        places: dict[str, keystore.Place] = {"k": "keyring", "f": "private file"}
        places["y"] = "keyring"
        place = places.get(answer.strip().lower()[:1])
        kept = "this kernel only" if place is None else f"the {store.save(origin, key, place)}"
        print(f"Key for {origin}: {kept}.")

    def shown(self, kind: str, reply: Reply) -> str | None:
        """Give a reply that displays itself, as one of a bundle's types; ``None`` if it just was.

        Args:
            kind: ``text/html`` or ``text/plain``.
            reply: the value of a cell.
        """
        if self._has_shown(reply):
            return None
        if kind == "text/plain" and frontend.execution(self._shell).audience == "text":
            return display.printable(reply.text)
        return str(display.bundle(reply)[kind])

    def now(self) -> datetime:
        """Give the time by the service's clock, by which a live gauge counts."""
        now = self._now()
        figures, off = self.session.credits, self.session.clock_off
        # The emulator's stands still where its figures were told.
        return now if off is None or (figures and now == figures.seen_at) else now - off

    def standing(self) -> dict[str, Any]:
        """Give the state in one word, and the settings in force as rows of words."""
        configured = self._configured.trait_values()
        rows = [[name, _set(configured[trait], unset)] for name, trait, unset in PANELS]
        if (tape := self.cassette.state()) is not None:
            rows = [["Cassette", tape], *rows]
        if self.cassette.is_replaying():
            return {"state": "replay", "rows": rows}
        try:
            choice, connection = self.cassette.choice(), self._connection()
        except ChatError as error:
            return {"state": "not connected", "rows": [["Service", str(error)], *rows]}
        state = "emulator" if settings.is_emulator(connection) else "live"
        if choice is not None:
            state = f"{state}, {choice.mode}"
        return {"state": state, "rows": [["Service", self._where(connection)], *rows]}

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

    def close(self) -> None:
        """Let go of what was opened for this kernel; the conversation stays."""
        if self._panels is not None:
            self._panels.close()
            self._panels = None
        if self._emulator is not None:
            self._emulator.stop()
            self._emulator = None
        if self._bridge is not None:
            self._bridge.close()
            self._bridge = None
        settings.local_emulator = None
        self.session.set_free()

    def _with_widgets(self) -> Panels:
        """Give the kernel's panels; the widgets come with the first."""
        if self._panels is None:
            try:
                from chatmagic.panel import Panels  # noqa: PLC0415 - ipywidgets takes its time
            except ImportError as error:
                raise InputError(
                    f"There are no widgets here ({error}). %%chat goes on working without them.",
                    hint="pip install anywidget, then restart the kernel.",
                ) from None
            self._panels = Panels(self.session, self)
        return self._panels

    def _has_shown(self, reply: Reply) -> bool:
        return self._shown is not None and (
            self._shown[0] == frontend.execution(self._shell).id and self._shown[1] is reply
        )

    def _ask(self, asked: options.Asked, text: str) -> Reply:
        execution = frontend.execution(self._shell)
        filled = prompt.Filled(text, ()) if asked.raw else prompt.fill(text, self._evaluate)
        ask = Ask(
            filled.text,
            max_tokens=asked.max_tokens,
            temperature=asked.temperature,
            stream=asked.stream,
            history=asked.history,
            last=asked.last,
            typed=text if filled.values else None,
            values=filled.values,
            keep_values=self._configured.keep_values,
            owner=execution.cell,
            execution=execution.id,
            entry="cell",
            asker=execution.label,
        )
        try:
            reply = self.session.run(ask, self._view(execution, asked.quiet)).reply
        except (ChatError, ChatInterrupted) as error:
            if asked.output and error.reply is not None:
                self._shell.user_ns[asked.output] = error.reply
            raise
        if asked.output:
            self._shell.user_ns[asked.output] = reply
        if not asked.quiet:
            self._shown = (execution.id, reply)
        if execution.audience == "page" and self._bridge is None:
            self._build_bridge(reply)
        return reply

    def _build_bridge(self, reply: Reply) -> None:
        """Let the page tell its order, from the first reply on; without it all works too."""
        with contextlib.suppress(Exception):
            # The widgets come when there is a page that has seen a reply.
            from chatmagic.bridge import Bridge  # noqa: PLC0415

            self._bridge = Bridge(self.session, said=reply)

    def _told(self, owner: str | None) -> bool:
        return self._bridge is not None and self._bridge.pages.lists(owner)

    def _layout(self, owner: str | None) -> Layout | None:
        """Say how the cells stand, for the conversation to follow."""
        if self._configured.order == "run":
            return page.AS_RUN
        return None if self._bridge is None else self._bridge.pages.layout(owner)

    def _view(self, execution: Execution, quiet: bool) -> View:
        """Pick who is shown what (the README's table under "Where it runs")."""
        if quiet:
            return Silent()
        how = self._configured.stream
        if how == "auto":
            how = {"machine": "off", "page": "updates", "text": "text"}[execution.audience]
        if how == "updates":
            source = frontend.cell_source(self._shell).strip()
            return display.Live(alone=re.match(ALONE, source) is not None)
        if how == "text":
            return display.Printed(in_page=execution.audience == "page")
        return display.PrintedOnce() if execution.audience == "text" else display.Once()

    def _evaluate(self, expression: str) -> object:
        return eval(expression, self._shell.user_global_ns, self._shell.user_ns)  # noqa: S307 - the user's own words

    def _owner(self) -> tuple[str | None, str | None]:
        execution = frontend.execution(self._shell)
        return execution.cell, execution.id

    def _setup(self) -> Setup:
        connection = settings.practised(self._connection())
        for warning in settings.news(connection.warnings):
            print(warning, file=sys.stderr)
        return Setup(connection, self._configured.timeout, dict(self._configured.extra_body))

    def _connection(self) -> Connection:
        """Find out where to and with which key, as things are set now."""
        configured = self._configured
        url = configured.base_url
        return settings.resolve(
            os.environ,
            chosen=self._chosen,
            cell_config=url if url != configured.file_url else None,
            file_config=configured.file_url,
            auth_config=configured.auth,
            typed=self._typed,
            store=keystore.open_store(os.environ),
        )

    def _start_emulator(self) -> tuple[str, Secret]:
        """Start this kernel's emulator, with an account of its own; give address and key."""
        if self._emulator is None:
            # tornado's server comes with the first practice.
            from chatmagic import emulator  # noqa: PLC0415

            self._emulator = emulator.Emulator(emulator.FRESH)
            self._emulator_at = self._emulator.start(), Secret(f"practice-{secrets.token_hex(8)}")
        return self._emulator_at

    def _step(self, step: Literal["undo", "redo"], line: str) -> None:
        """Take a change back, or do it again, and say which."""
        from chatmagic import transcript  # noqa: PLC0415 - as in chat_history

        _no_words(f"chat_{step}", line)
        session = self.session
        if step == "undo":
            _say(transcript.undone(session.change(Conversation.undo)), step)
        else:
            _say(transcript.redone(session.change(Conversation.redo)), step)

    def _state(self) -> str:
        """Say what ``%chat`` alone says: where, key from where, conversation, credits."""
        tape = self.cassette.state()
        try:
            where = "" if self.cassette.is_replaying() else self._where(self._connection())
        except ChatError as error:
            where = str(error)
        self.session.follow_pages(self._owner()[0])
        conversation = self.session.conversation
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
                *(line for line in (tape, where) if line),
                f"Conversation: {count:,} turn{'' if count == 1 else 's'}{notes}.",
                gauge.large_words(
                    self.session.credits,
                    self.session.took,
                    now=self._now(),
                    clock_off=self.session.clock_off,
                ),
                f"Set for every question: {', '.join(values) or 'nothing'}.",
            )
        )

    def _now(self) -> datetime:
        """Give the time; the emulator's and a recording's stand still: their outputs repeat."""
        figures, connection = self.session.credits, self.session.connection
        if figures is not None and connection is not None:
            still = settings.is_emulator(connection) or self.cassette.of_the_figures()
            if still:
                return figures.seen_at
        return datetime.now(UTC)

    @staticmethod
    def _where(connection: Connection) -> str:
        """Say where a session asks and where its key comes from, and nothing of the key."""
        if settings.is_emulator(connection):
            return (
                f"Connected to the emulator of this kernel ({connection.url_from}): practice "
                "replies, no account, no key."
            )
        at = f"Connected to {address.origin(connection.base_url)} ({connection.url_from})"
        if connection.auth == "none":
            return f"{at}, without a key."
        if connection.key is None:
            return f"{at}. No key for this address yet: %chat_login asks for it."
        return f"{at}; key from {connection.key_from}, sent as {connection.auth}."


def usage() -> str:
    """Give the help of ``%%chat?``, from the table of options."""
    return options.usage(EXAMPLES)


def _say(words: str, kind: record.Did) -> None:
    """Say what was done to the conversation, and let the output remember it."""
    html = f'<p class="chatmagic-said {plain.UNTYPESET}" style="{gauge.QUIET}">{escape(words)}</p>'
    display.show_html(html, words, record.note(kind))


def _set(value: Any, unset: str) -> str:
    """Say what a setting is; of fields for a server their names, as a value may be private."""
    if isinstance(value, dict):
        return ", ".join(map(str, value)) or unset
    return unset if value in (None, False) else "on" if value is True else str(value)


def _no_words(name: str, line: str) -> None:
    if line.strip():
        raise InputError(f"%{name} takes nothing after its name.", hint=f"%{name}? shows its help.")


def _hidden(question: str) -> Secret:
    try:
        key = Secret.of(getpass.getpass(question).strip())
    except Exception:  # noqa: BLE001 - whatever a front end says that has nobody to ask
        raise InputError(
            "Nobody can be asked for a key here.",
            hint="Set CHATMAGIC_API_KEY, or CHATMAGIC_API_KEY_FILE, before the kernel starts.",
        ) from None
    if key is None:
        raise InputError(settings.NO_KEY.format("What was typed"))
    return key


def _places(store: keystore.KeyStore) -> str:
    keyring = "k: the system's keyring, " if store.keyring is not None else ""
    return f"{keyring}f: a private file of yours,"
