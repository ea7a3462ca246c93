"""Where pytest looks for the fixtures; they are written in :mod:`fixtures`."""

from fixtures import (  # noqa: F401 - pytest finds them here
    browser,
    chromium,
    lab,
    lab_page,
    notebook7,
    notebook_page,
    running_emulator,
    server,
    service,
)
