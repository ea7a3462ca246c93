"""What a client by itself learns of the kernel that it runs in."""

from __future__ import annotations

import pytest
from environments import GivenEnvironment

from chatmagic.client import kernel_hook
from chatmagic.client.config import local_emulator, replaying
from chatmagic.errors import ConnectError
from chatmagic.protocol.auth import Secret


class Replaying(GivenEnvironment):
    """A kernel with an emulator, which replays."""

    def replaying(self) -> str:
        """Return why."""
        return "a test replays"


def test_the_kernel_is_asked_at_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """For its emulator, and whether it replays; without a kernel there is neither."""
    monkeypatch.delenv("CHATMAGIC_MODE", raising=False)
    monkeypatch.setattr(kernel_hook, "find_kernel", None)
    assert replaying() is None
    with pytest.raises(ConnectError, match="%load_ext chatmagic"):
        local_emulator()
    started = ("http://127.0.0.1:8123", Secret("practice-1"))
    monkeypatch.setattr(kernel_hook, "find_kernel", lambda: Replaying(emulator=started))
    assert replaying() == "a test replays"
    assert local_emulator() == started
