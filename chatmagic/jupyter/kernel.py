"""One kernel: its configuration, cassette, cells, emulator and pages."""

from __future__ import annotations

import os
import secrets
import sys
from typing import TYPE_CHECKING, Any, Final

from chatmagic._log import log_swallowed
from chatmagic.cassette.mode import CassetteOptions, resolve
from chatmagic.cassette.pruning import Pruning
from chatmagic.client import config, extras, keystore
from chatmagic.client.endpoint import ServiceSetup
from chatmagic.conversation.suggestions import refuse_dividing
from chatmagic.errors import ChatError, InputError
from chatmagic.jupyter.addresses import Addresses
from chatmagic.jupyter.execution import cell_source, running
from chatmagic.jupyter.page import LivePage
from chatmagic.protocol.auth import Secret
from chatmagic.session.current import current_session
from chatmagic.session.events import Changed
from chatmagic.text import one_line

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.cassette.active import CassetteSetup
    from chatmagic.cassette.mode import CassetteConfig
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.conversation.cell_order import Layout, Pages
    from chatmagic.emulator.server import Emulator
    from chatmagic.jupyter.settings import KernelSettings
    from chatmagic.models import Reply
    from chatmagic.session.session import Session


_SHOWN: Final = 60


class Kernel:
    """One kernel, which the commands are run in.

    It is the environment of its session (:class:`chatmagic.session.environment.Environment`).

    Args:
        shell: the kernel's shell.
        settings: its settings, read at each use.
    """

    def __init__(self, shell: InteractiveShell, settings: KernelSettings) -> None:
        """Choose nothing yet; loads nothing and starts nothing."""
        self.addresses = Addresses(settings)
        self.typed: dict[str, Secret] = {}
        """The keys that were typed here, by origin."""
        self.shell = shell
        self.settings = settings
        self.pruning = Pruning()
        self.has_told_of_usage = False
        """Whether a line has said how to get token counts; it is said once."""
        self.shown: tuple[str | None, Reply] | None = None
        """The reply that was shown last, and the execution that showed it."""
        self._page: LivePage | None = None
        self._emulator: Emulator | None = None
        self._emulator_at = "", Secret("none")
        self._has_person = False

    @property
    def session(self) -> Session:
        """The session of this process, whose turns are stale by what this kernel's cells show."""
        session = current_session()
        if self.settings.notes is not None:
            session.conversation.cells = self.settings.notes
            session.conversation.label = self.settings.notes.label
        return session

    @property
    def page(self) -> LivePage:
        """The kernel's live pages."""
        if self._page is None:
            self._page = LivePage(self.shell, self.session, self.settings)
        return self._page

    # --- What a session asks for ---------------------------------------------------------------

    def service(self) -> ServiceSetup:
        """Return where and how the session asks, as things are set now.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        endpoint = config.with_local_emulator(self.endpoint())
        for warning in config.new_warnings(endpoint.warnings):
            self.notify(warning)
        return ServiceSetup(
            endpoint,
            self.settings.timeout,
            self.extra_body(),
            extras.headers(self.addresses.of_this_address("extra_headers")),
            self.has_system_role(),
        )

    def cassette(self) -> CassetteSetup | None:
        """Return which cassette the session puts in now; ``None`` for no cassette.

        Raises:
            InputError: what is set does not go together.
        """
        from chatmagic.cassette.active import CassetteSetup  # noqa: PLC0415 - with the session

        choice = self.choice()
        if choice is None:
            return None
        return CassetteSetup(
            choice, self.settings.timeout, self.extra_body(), self.has_system_role()
        )

    def cell(self) -> tuple[str | None, str | None]:
        """Return the hash of the running cell, and the identity of its execution.

        Raises:
            InputError: the cell begins a thread, and asks as well.
        """
        refuse_dividing(cell_source(self.shell))
        execution = running(self.shell)
        return execution.cell, execution.id

    def layout(self, owner: str | None) -> Layout | None:
        """Return the order of the cells on the page of a cell; ``None`` where no page reports it.

        Args:
            owner: the hash of the cell; ``None`` takes the page that reported last.
        """
        from chatmagic.conversation import cell_order  # noqa: PLC0415 - with the session

        if self.settings.order == "run":
            return cell_order.AS_RUN
        return None if self.pages is None else self.pages.layout(owner)

    def named(self, name: str) -> object:
        """Return what a name of the user's namespace stands for.

        Args:
            name: an identifier, or several with dots between them.

        Raises:
            InputError: there is no such name.
        """
        try:
            return eval(name, self.shell.user_global_ns, self.shell.user_ns)  # noqa: S307 - a name
        except Exception as error:  # noqa: BLE001 - an attribute may be the user's own code
            log_swallowed(error)
            raise InputError(
                f"There is no {one_line(name, _SHOWN)} in this notebook yet. Nothing was sent.",
                hint="Run the cell that defines the schema.",
            ) from None

    def is_watched(self) -> bool:
        """Return whether a person sees what the running cell prints, as it is printed."""
        execution = running(self.shell)
        return execution.audience != "machine" and not execution.piped

    def budget(self) -> str | None:
        """Return the budget that is set for this kernel; ``None`` for none."""
        return self.settings.budget

    def notify(self, line: str) -> None:
        """Print a line where it fails no cell."""
        print(line, file=sys.stderr)

    def start_emulator(self) -> tuple[str, Secret]:
        """Start this kernel's emulator, once; return its address, and a key of its own."""
        if self._emulator is None:
            # tornado's server comes with the first practice.
            from chatmagic.emulator import server  # noqa: PLC0415

            self._emulator = server.Emulator(server.FRESH)
            self._emulator_at = self._emulator.start(), Secret(f"practice-{secrets.token_hex(8)}")
        return self._emulator_at

    def replaying(self) -> str | None:
        """Return why nothing is sent from this kernel, as a clause; ``None`` where it is.

        Raises:
            InputError: what is set does not go together.
        """
        choice = self.choice()
        if choice is None or choice.mode != "replay":
            return None
        return f"{choice.name} is replayed here ({choice.mode_from})"

    # --- What the commands show and change -----------------------------------------------------

    def choice(self) -> CassetteConfig | None:
        """Return which cassette is chosen, as things are set now; ``None`` for no cassette.

        Raises:
            InputError: what is set does not go together.
        """
        # A panel's question does not show whether a person is there; the cells before it did.
        self._has_person |= running(self.shell).audience != "machine"
        return resolve(
            os.environ,
            self.settings.chosen_cassette,
            CassetteOptions(self.settings.cassette, self.settings.mode),
            changed_later=frozenset(self.settings.changed_later),
            interactive=self._has_person,
        )

    @property
    def pages(self) -> Pages | None:
        """The latest reports of the kernel's pages; ``None`` without the bridge."""
        bridge = None if self._page is None else self._page.bridge
        return None if bridge is None else bridge.pages

    def is_replaying(self) -> bool:
        """Return whether nothing is sent, or something is wrong with what is set."""
        try:
            return self.replaying() is not None
        except ChatError:
            return True

    def endpoint(self) -> Endpoint:
        """Return where requests go and with which key, as things are set now.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        return config.resolve(
            config.address(self.addresses.candidates()),
            [config.variable(config.AUTH_VARIABLE), (self.settings.auth, "auth")],
            file_url=self.settings.file_url,
            typed=self.typed,
            store=keystore.open_store(),
        )

    def model(self) -> str | None:
        """Return the model that requests name; ``None`` where none was set for this address."""
        named = self.extra_body().get("model")
        return None if named is None else str(named)

    def extra_body(self) -> dict[str, Any]:
        """Return the fields that requests have beside the interface's own.

        Raises:
            InputError: two models are named.
        """
        return extras.fields(
            self.settings.extra_body,
            self.addresses.of_this_address("model"),
            stream_usage=self.settings.stream_usage or self.addresses.stream_usage(),
        )

    def has_system_role(self) -> bool:
        """Return whether the server that is asked takes messages of the role ``system``."""
        return bool(self.addresses.of_this_address("system_role"))

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that are known, for whichever address."""
        try:
            endpoint = self.endpoint()
        except ChatError:
            return (*config.known_keys(), *self.typed.values())
        return endpoint.known_keys

    def has_run_again(self, cell: str) -> None:
        """Tell the pages that a cell shows something else than before, where a turn carries it.

        Args:
            cell: its hash.
        """
        session = self.session
        if any(value.cell == cell for turn in session.conversation for value in turn.values):
            session.followers.tell(Changed())

    def has_shown(self, value: object) -> bool:
        """Return whether this reply is what the running cell has shown last."""
        return self.shown is not None and (
            self.shown[0] == running(self.shell).id and self.shown[1] is value
        )

    def close(self) -> None:
        """Close what was opened in pages, and stop the kernel's emulator."""
        if self._page is not None:
            self._page.close()
        if self._emulator is not None:
            self._emulator.stop()
            self._emulator = None
