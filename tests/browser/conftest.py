"""Where pytest looks for the fixtures; they are written in :mod:`fixtures`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fixtures import (  # noqa: F401 - pytest finds them here
    chromium,
    lab,
    leave,
    notebook7,
    running_emulator,
    server,
    service,
    tabs,
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """After a test's own fixtures, see whether its browser is needed any more."""
    yield
    leave(item, nextitem)
