"""Client of one service with one key, over one connection that is kept between asks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

from chatmagic.advice import note_at
from chatmagic.client import config
from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.client.endpoint import (
    ASKS_FOR_USAGE,
    Endpoint,
    Limits,
    ServiceSetup,
    Timeout,
    request_fields,
    request_headers,
)
from chatmagic.client.halt import Halt
from chatmagic.client.listed_models import ModelList, ModelStream
from chatmagic.client.stream import ReplyStream
from chatmagic.client.transport import HttpTransport, Transport
from chatmagic.errors import InputError, NotRecordedError
from chatmagic.models import Credits, Message, Reply
from chatmagic.other_tools import CLIENT, missing_name
from chatmagic.protocol.api_key import Auth, Secret, refuse_keys
from chatmagic.protocol.request import Request


class Client:
    """Client of one service with one key, over one connection that is kept between asks.

    Args:
        base_url: address of the service, with or without ``/v1``, or the name of a known server;
            ``None`` takes ``CHATMAGIC_BASE_URL``.
        api_key: the key; ``None`` takes the environment's key, which is sent only to the
            environment's own address (fact 12).
        auth: ``bearer``, ``x-api-key``, ``query`` or ``none``; ``None`` takes
            ``CHATMAGIC_AUTH``, else ``bearer``.
        timeout: a :class:`chatmagic.Timeout`, seconds for the first byte and for silence,
            or seconds by name.
        model: the model to ask for; the interface has no such field, so ``None`` sends none.
        extra_body: fields that a compatible server wants beside the interface's own.
        extra_headers: headers that a gateway wants; never the key.
        transport: sends the requests in place of HTTP: a
            :class:`~chatmagic.client.transport.Transport`, as for tests and gateways of your
            own. It gets neither the address nor the key, and ``base_url`` may be left out.
        limits: a :class:`chatmagic.Limits`, or bytes by name: the largest reply that is read.

    Raises:
        ConnectError: no address is known.
        InputError: the address, the key or another argument cannot be used.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        auth: Auth | None = None,
        timeout: Timeout | Mapping[str, float | None] | float | None = None,
        model: str | None = None,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
        transport: Transport | None = None,
        limits: Limits | Mapping[str, int] | None = None,
    ) -> None:
        """Resolve the address and the key; nothing is sent."""
        is_given = api_key is not None
        key = Secret.or_none(api_key)
        del api_key  # a traceback with its locals shows only a Secret
        if is_given:
            key = config.usable_key(key, "api_key")
        if transport is not None and base_url is None:
            at = "https://transport.invalid"
            by = "transport"
            endpoint = Endpoint(at, auth or "none", key, by)
        else:
            endpoint = config.resolve_for_client(base_url, key, auth)
        fields = request_fields(extra_body, model)
        setup = ServiceSetup(endpoint, timeout, fields, extra_headers, limits=limits)
        self._start(setup, transport)

    @classmethod
    def connected(cls, setup: ServiceSetup) -> Self:
        """Return a client for a setup that was resolved elsewhere.

        Args:
            setup: the endpoint and its settings.

        Raises:
            InputError: the setup cannot be used.
        """
        client = cls.__new__(cls)
        client._start(setup)  # noqa: SLF001 - its own
        return client

    def twin(self) -> Self | None:
        """Return a client that asks the same service over connections of its own.

        Threads may share it: each request takes a connection that no other one uses. After the
        first request that a server loses on a kept connection, none is used again.

        Returns:
            The client; ``None`` if a transport was given, which is shared, too.
        """
        return self.connected(self.setup) if isinstance(self._transport, HttpTransport) else None

    if not TYPE_CHECKING:  # an attribute that is not there is an error for a type checker, too

        def __getattr__(self, name: str) -> Any:
            """Raise the error for an attribute that a client does not have, with the word here."""
            raise AttributeError(missing_name("A client", name, CLIENT))

    def _start(self, setup: ServiceSetup, transport: Transport | None = None) -> None:
        """Begin without a connection, and give the warnings on the address."""
        self.credit_tracker = CreditTracker()
        """The credits and limits in the answers so far."""
        self._use_setup(setup)
        self._transport = transport or HttpTransport(self.setup)
        for warning in config.new_warnings(self.endpoint.warnings):
            warnings.warn(note_at(warning, "python"), stacklevel=3)

    def _use_setup(self, setup: ServiceSetup) -> None:
        """Check the settings, and use them from now on."""
        self.setup = replace(
            setup,
            timeout=Timeout.from_value(setup.timeout),
            limits=Limits.from_value(setup.limits),
            extra_body=request_fields(setup.extra_body),
            extra_headers=_headers(setup.extra_headers, setup.endpoint),
        )

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint, with its key."""
        return self.setup.endpoint

    def retune(self, setup: ServiceSetup) -> None:
        """Use other settings from now on, for the same service and the same key.

        The kept connection and the known credits stay.

        Args:
            setup: the new settings; its endpoint is the same service.

        Raises:
            InputError: it cannot be used.
        """
        self._use_setup(setup)
        if isinstance(self._transport, HttpTransport):
            self._transport.setup = self.setup

    @property
    def credits(self) -> Credits | None:
        """The credits in the latest answer that had them; ``None`` if unknown."""
        return self.credit_tracker.credits

    def complete(
        self,
        messages: Iterable[Message | Mapping[str, str]],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Ask for a reply in one piece (fact 4).

        Args:
            messages: the conversation so far, oldest first.
            max_tokens: upper limit on generated tokens.
            temperature: sampling temperature.

        Raises:
            ChatError: as the tree in :mod:`chatmagic.errors` has it.
        """
        request = self._request(messages, max_tokens, temperature, stream=False)
        with self.send(request) as stream:
            for _ in stream:
                pass
            return stream.reply

    def stream(
        self,
        messages: Iterable[Message | Mapping[str, str]],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> ReplyStream:
        """Ask for a reply fragment by fragment (fact 6).

        Args:
            messages: the conversation so far, oldest first.
            max_tokens: upper limit on generated tokens.
            temperature: sampling temperature.

        Returns:
            A context manager, which sends the request, and an iterator of fragments.

        Raises:
            InputError: the request cannot be sent as it stands.
            NotRecordedError: the environment, or the kernel, says that nothing is to be sent.
        """
        return self.send(self._request(messages, max_tokens, temperature, stream=True))

    def send(
        self,
        request: Request,
        halt: Halt | None = None,
        through: Callable[[Transport], Transport] | None = None,
    ) -> ReplyStream:
        """Ask with a request that is ready.

        Args:
            request: the request to send.
            halt: stops it from another thread.
            through: layer between the client and its transport for this ask: a cassette, which
                answers itself, or records the transport's answer.

        Raises:
            NotRecordedError: the environment, or the kernel, says that nothing is to be sent.
        """
        if through is None and (why := config.replaying()) is not None:
            raise NotRecordedError(
                f"{why}, and a Client by itself has no cassette. Nothing was sent.",
                hint="chatmagic.ask(…) is answered from the cassette.",
            )
        return ReplyStream(
            request,
            self._transport if through is None else through(self._transport),
            self.endpoint,
            self.credit_tracker,
            halt,
            limits=self.setup.limits,
            silence=Timeout.from_value(self.setup.timeout).silence,
        )

    def models(self, halt: Halt | None = None) -> ModelList:
        """Ask for the server's list of models, which the interface does not have.

        It is one request, a GET with the key. Whether it costs credits is not documented.

        Args:
            halt: stops it from another thread.

        Raises:
            ChatError: as the tree in :mod:`chatmagic.errors` has it.
            NotRecordedError: the environment, or the kernel, says that nothing is to be sent.
        """
        with self.list_models(halt) as stream:
            for _ in stream:
                pass
            return stream.models

    def list_models(self, halt: Halt | None = None) -> ModelStream:
        """Ask for the server's list of models; nothing is sent before the stream is entered.

        Args:
            halt: stops it from another thread.

        Raises:
            NotRecordedError: the environment, or the kernel, says that nothing is to be sent.
            InputError: the client's own transport sends questions alone.
        """
        if (why := config.replaying()) is not None:
            raise NotRecordedError(
                f"{why}, and no cassette holds a list of models. Nothing was sent."
            )
        if not isinstance(self._transport, HttpTransport):
            raise InputError(
                "The transport of this client sends questions alone. Nothing was sent."
            )
        halt = halt or Halt()
        send = partial(self._transport.get_models, halt)
        return ModelStream(self.endpoint, self.credit_tracker, halt, send, "")

    def close(self) -> None:
        """Close the kept connection."""
        self._transport.close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Return the endpoint, without the key."""
        # A traceback with local variables may show a client whose creation failed.
        setup = getattr(self, "setup", None)
        return f"Client({setup.endpoint.origin!r})" if setup else "Client()"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: a client has a key and an open connection.

        Raises:
            TypeError: always.
        """
        raise TypeError("a Client has a key, so it cannot be pickled or copied: make a new one")

    def _request(
        self,
        messages: Iterable[Message | Mapping[str, str]],
        max_tokens: int | None,
        temperature: float | None,
        *,
        stream: bool,
    ) -> Request:
        """Return the checked request of a call, with the fields of the setup."""
        fields = dict(self.setup.extra_body or {})
        if stream and getattr(self.endpoint.server, "stream_usage", False):
            fields = {**ASKS_FOR_USAGE, **fields}
        try:
            return Request(
                tuple(
                    item if isinstance(item, Message) else Message.from_json(item)
                    for item in messages
                ),
                stream=stream,
                max_tokens=max_tokens,
                temperature=temperature,
                extra=fields,
            )
        except ValueError as error:
            raise InputError(f"{error}. Nothing was sent.") from None


def _headers(extra_headers: object, endpoint: Endpoint) -> dict[str, str]:
    """Return checked headers: neither they nor the address hold a key, which a log would show."""
    given = request_headers(extra_headers)
    refuse_keys([endpoint.base_url, *given, *given.values()], endpoint.known_keys)
    return given
