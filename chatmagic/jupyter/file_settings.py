"""Settings of IPython's configuration files, for a command that runs outside a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS
from IPython.paths import get_ipython_dir
from traitlets import TraitError
from traitlets.config import Application, Config

from chatmagic._log import log_swallowed
from chatmagic.client import config
from chatmagic.errors import InputError
from chatmagic.jupyter.settings import KernelSettings

if TYPE_CHECKING:
    from chatmagic.protocol.auth import Secret


class FileSettings(KernelSettings):
    """The settings that hold for each new kernel of this user, before a cell sets another.

    Raises:
        InputError: a file sets a wrong value, or cannot be run.
    """

    def __init__(self) -> None:
        """Read the files as IPython reads them: the user's own counts before the system's."""
        self.homes, self.changed_later, self.file_url = {}, set(), None
        try:
            super().__init__(config=Config({"FileSettings": _files().get("ChatMagics", {})}))
        except TraitError as error:
            raise InputError(f"IPython's configuration file: {error}") from None
        self.file_url = self.base_url

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the environment's keys."""
        return config.known_keys()


def _files() -> Config:
    profile = Path(get_ipython_dir()) / "profile_default"
    # Without what a file says, such as its budget, nothing is to be sent.
    reader = Application(raise_config_file_errors=True)
    try:
        reader.load_config_file(
            "ipython_config", path=[str(profile), *ENV_CONFIG_DIRS, *SYSTEM_CONFIG_DIRS]
        )
    except Exception as error:  # noqa: BLE001 - whatever the user's own code raises
        log_swallowed(error)
        what = f"IPython's configuration file cannot be run: {type(error).__name__}."
        raise InputError(f"{what} Nothing was sent.", hint=f"It is in {profile}.") from None
    return reader.config
