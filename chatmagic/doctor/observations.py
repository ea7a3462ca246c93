"""Observations of the doctor: facts that were seen, apart from what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from chatmagic.client.connections import AtRest
    from chatmagic.protocol.auth import Auth

Step = Literal["proxy", "name", "connection", "TLS"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong, and what to do, in words."""

    what: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class PageSeen:
    """Page's half of chatmagic, which is installed where the front end's server runs.

    Args:
        version: its version; empty where no page has answered.
        is_same: whether its messages have the form of the kernel's.
    """

    version: str
    is_same: bool = True


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """Front end.

    Args:
        name: for a person.
        shows: what it does with a reply.
        page: its half of chatmagic; ``None`` where it was not asked.
    """

    name: str
    shows: str
    page: PageSeen | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """Address that is asked.

    Args:
        shown: where requests are posted to, without a key; empty where there is none.
        url_from: what decided it.
        is_emulator: whether it is the emulator of this process.
        warnings: what is unwise about it.
        trouble: why there is none.
    """

    shown: str = ""
    url_from: str = ""
    is_emulator: bool = False
    warnings: tuple[str, ...] = ()
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """Key for the address; never the key itself.

    Args:
        key_from: where it was found; ``None`` for none.
        auth: how it is sent.
        elsewhere: what the environment's key belongs to, where that is another address.
        trouble: why it cannot be read.
    """

    key_from: str | None = None
    auth: Auth = "bearer"
    elsewhere: str | None = None
    trouble: Trouble | None = None

    def is_missing(self, at: Address) -> bool:
        """Return whether there is none where one is needed."""
        is_needed = self.auth != "none" and not at.is_emulator
        return self.trouble is not None or (self.key_from is None and is_needed)


@dataclass(frozen=True, slots=True)
class Network:
    """The way to the address, as far as it goes without a request.

    Args:
        proxy: origin of the proxy; ``None`` for none.
        addresses: what the host's name, or the proxy's, stands for.
        is_connected: whether a connection was made, to the proxy where there is one.
        tls: its version and the certificate's end; empty without TLS to the service.
        failed: the step that failed; ``None`` for none.
        trouble: what failed.
    """

    proxy: str | None = None
    addresses: tuple[str, ...] = ()
    is_connected: bool = False
    tls: str = ""
    failed: Step | None = None
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock here beside the service's.

    Args:
        is_compared: whether an answer told the service's time.
        off: how far the clock here is ahead at least (below 0: behind); ``None`` while it may be
            right.
    """

    is_compared: bool = False
    off: timedelta | None = None


@dataclass(frozen=True, slots=True)
class PrivateFile:
    """File that should be private.

    Args:
        path: as shown.
        mode: its permissions.
        is_open: whether others can read it.
    """

    path: str
    mode: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class CassetteSeen:
    """Cassette that is chosen.

    Args:
        name: the file's; empty for none.
        mode: its mode, and what set it.
        count: how many exchanges it holds.
        trouble: why it cannot be used.
    """

    name: str = ""
    mode: str = ""
    count: int = 0
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of the one question.

    Args:
        trouble: why no whole reply came.
        status: the HTTP status; ``None`` where no answer came.
        first: seconds to the first byte of the body.
        last: seconds to its last byte.
        reads: how many reads brought something.
        fragments: how many fragments the reply has.
        connection: what became of the connection; ``None`` is unknown.
        cost: what its headers told of the credits.
        is_sent: whether the question may have been sent.
    """

    trouble: Trouble | None = None
    status: int | None = None
    first: float = 0.0
    last: float = 0.0
    reads: int = 0
    fragments: int = 0
    connection: AtRest | None = None
    cost: str = ""
    is_sent: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """All that was seen.

    ``folder`` is why nothing can be written to the state folder; ``answered`` is ``None`` where
    no question was wanted.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    front_end: FrontEnd
    address: Address = field(default_factory=Address)
    key: Key = field(default_factory=Key)
    network: Network | None = None
    clock: Clock = field(default_factory=Clock)
    files: tuple[PrivateFile, ...] = ()
    folder: Trouble | None = None
    cassette: CassetteSeen = field(default_factory=CassetteSeen)
    errors: tuple[str, ...] = ()
    answered: Answered | None = None

    @property
    def is_closed(self) -> bool:
        """Whether what is seen keeps a question from being answered, so that none is sent."""
        return (
            self.address.trouble is not None
            or self.key.is_missing(self.address)
            or self.cassette.trouble is not None
            or (self.network is not None and self.network.failed is not None)
        )
