"""An environment of a session whose answers a test sets, and what variables resolve to."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

from chatmagic.client import config, key_store
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Endpoint
from chatmagic.client.key_store import KeyStore
from chatmagic.jupyter.kernel import Kernel
from chatmagic.protocol.api_key import Secret
from chatmagic.session.environment import Environment


class GivenEnvironment(Environment):
    """An environment that answers as it is told, and as plain Python where it is not.

    Args:
        cell: the hash of the running cell, and its execution.
        emulator: the address and key of an emulator.
        settings: the settings of features, by name.
        answers: what its other methods do, by name.
    """

    def __init__(
        self,
        *,
        cell: tuple[str, str] | None = None,
        emulator: tuple[str, Secret] | None = None,
        settings: Mapping[str, str | None] | None = None,
        **answers: Callable[..., Any],
    ) -> None:
        """Keep the answers."""
        self._settings = settings or {}
        fixed = {"cell": cell, "start_emulator": emulator}
        for name, answer in fixed.items():
            if answer is not None:
                answers[name] = lambda answer=answer: answer
        vars(self).update(answers)

    def setting(self, name: str) -> str | None:
        """Give the value of a feature's setting."""
        return self._settings.get(name)


@contextlib.contextmanager
def variables(environ: Mapping[str, str]) -> Iterator[None]:
    """Have the environment hold these of chatmagic's variables, and none of its others."""
    others = {name: value for name, value in os.environ.items() if "CHATMAGIC" not in name}
    with mock.patch.object(os, "environ", {**others, **environ}):
        yield


def resolved_in_kernel(
    environ: Mapping[str, str],
    *,
    chosen: str | None = None,
    cell_config: str | None = None,
    file_config: str | None = None,
    auth_config: str | None = None,
    typed: dict[str, Secret] | None = None,
    agreed: dict[str, str] | None = None,
    store: KeyStore | None = None,
) -> Endpoint:
    """Return where a kernel asks and with which key.

    Args:
        environ: the environment's variables.
        chosen: what ``%chat_connect`` chose.
        cell_config: ``ChatMagics.base_url`` as a cell set it.
        file_config: ``ChatMagics.base_url`` as a configuration file has it.
        auth_config: ``ChatMagics.auth``.
        typed: keys from a hidden prompt, by place.
        agreed: variables whose key a person lets go to a place, by place.
        store: the keys that were kept.
    """
    settings = SimpleNamespace(
        base_url=cell_config or file_config, auth=auth_config, file_url=file_config
    )
    kernel = Kernel(cast("Any", None), cast("Any", settings))
    kernel.chosen, kernel.typed = chosen, typed or {}
    kernel.agreed = agreed or {}
    kept = store or SimpleNamespace(load=lambda _place: None, places=tuple)
    with variables(environ), mock.patch.object(key_store, "open_store", return_value=kept):
        return kernel.endpoint()


def resolved_in_client(
    environ: Mapping[str, str],
    base_url: str | None = None,
    api_key: str | None = None,
    auth: Any = None,
) -> Endpoint:
    """Return where a client asks and with which key, from these variables and its arguments."""
    with (
        variables(environ),
        mock.patch.object(config, "new_warnings", list),
        warnings.catch_warnings(action="ignore"),
    ):
        return Client(base_url, api_key, auth=auth).endpoint
