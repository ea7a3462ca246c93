"""Environment of a session, which is the place where it runs, and the clients that it makes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

from chatmagic.cassette.cassette import CASSETTE, AnswerSource, CassetteSetup, from_environment
from chatmagic.client import config
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Endpoint, ServiceSetup, request_fields
from chatmagic.client.stream import CreditState
from chatmagic.conversation.cell_order import Layout
from chatmagic.errors import InputError
from chatmagic.protocol import url
from chatmagic.protocol.auth import Secret
from chatmagic.text import one_line


class Environment:
    """Surroundings of a session: read anew at each ask, so that what is set in between counts.

    These are those of a plain Python process: its variables, and nothing else. A kernel has
    :class:`chatmagic.jupyter.kernel.Kernel`.
    """

    def service(self) -> ServiceSetup:
        """Return where and how to ask; called only where no cassette answers.

        Raises:
            ChatError: no address is known, or what is set cannot be used.
        """
        endpoint = config.resolve_for_client()
        model, usage = config.model_of_environment(), endpoint.stream_usage
        return ServiceSetup(endpoint, extra_body=request_fields(None, model, stream_usage=usage))

    def cassette(self) -> CassetteSetup | None:
        """Return the cassette that is chosen; ``None`` for none.

        Raises:
            InputError: what is set does not go together.
        """
        return from_environment()

    def cell(self) -> tuple[str | None, str | None]:
        """Return the hash of the running cell and the identity of its execution, if known.

        Raises:
            InputError: the cell may not ask.
        """
        return None, None

    def layout(self, owner: str | None) -> Layout | None:
        """Return the order of the cells on the page of a cell; ``None`` where no page reports it.

        Args:
            owner: the hash of the cell; ``None`` takes the page that reported last.
        """
        del owner
        return None

    def named(self, name: str) -> object:
        """Return the value of a name in the user's namespace.

        Args:
            name: an identifier, or several with dots between them.

        Raises:
            InputError: there is no such name.
        """
        raise InputError(
            f"The schema {one_line(name)} is not known here. Nothing was sent.",
            hint="Give the schema itself: ask(…, schema=…).",
        )

    def is_watched(self) -> bool:
        """Return whether a person sees what is printed, as it is printed."""
        return sys.stderr is not None and sys.stderr.isatty()

    def budget(self) -> str | None:
        """Return the budget that is set here, as it was typed; ``None`` for none."""
        return None

    def notify(self, line: str) -> None:
        """Show a line to the user, beside the reply."""
        warnings.warn(line, stacklevel=2)

    def start_emulator(self) -> tuple[str, Secret]:
        """Start the emulator of this place, if it is not running; return its address and a key.

        Raises:
            ConnectError: there is no kernel.
        """
        return config.local_emulator()


def of_process() -> Environment:
    """Return the kernel's environment; without a kernel that of plain Python."""
    return (config.find_kernel or Environment)()


def setup_for(
    source: AnswerSource, environment: Environment, cassette: CassetteSetup | None
) -> ServiceSetup:
    """Return the address and the options of a source of answers.

    Args:
        source: the service, the emulator or the cassette.
        environment: says where the service and the emulator are.
        cassette: the cassette that is chosen; ``None`` for none.

    Raises:
        ChatError: what is set cannot be used.
    """
    if source == "service" or cassette is None:
        return environment.service()
    endpoint = CASSETTE
    if source == "emulator":
        base_url, key = environment.start_emulator()
        endpoint = Endpoint(base_url, "bearer", key, "--else emulator", url.EMULATOR)
    return ServiceSetup(endpoint, cassette.timeout, cassette.extra_body)


class ClientPool:
    """The clients that a session asks with, and the connections that they keep.

    Args:
        given: the client for the service; ``None`` makes one as the environment says.
    """

    def __init__(self, given: Client | None = None) -> None:
        """Start without any."""
        self.given = given
        self.latest = given
        """The client of the latest ask; ``None`` before the first."""
        self._made: dict[AnswerSource, Client] = {}

    @property
    def credit_state(self) -> CreditState:
        """The credits as the client of the latest ask knows them."""
        return CreditState() if self.latest is None else self.latest.credit_tracker.state

    def client(self, source: AnswerSource, setup: Callable[[], ServiceSetup]) -> Client:
        """Return the client for an ask: the one that is kept, where its setup still holds.

        Args:
            source: the service, the emulator or the cassette.
            setup: returns where and how to ask; not called for the client that was given.

        Raises:
            ChatError: what is set cannot be used.
        """
        if source == "service" and self.given is not None:
            self.latest = self.given
            return self.given
        new, client = setup(), self._made.get(source)
        if client is not None and new.endpoint.account == client.endpoint.account:
            client.retune(new)
        else:
            if client is not None:
                client.close()
            client = Client.connected(new)
        self._made[source] = self.latest = client
        return client

    def forget(self) -> None:
        """Close all; the next ask makes its own."""
        self.close()
        self._made.clear()
        self.latest = self.given

    def close(self) -> None:
        """Close the connections that are kept."""
        for client in (self.given, *self._made.values()):
            if client is not None:
                client.close()
