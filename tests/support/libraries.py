"""Libraries that chatmagic never imports, and whose objects it describes."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def library(name: str) -> Any:
    """Import a library, or skip the test where it is not installed.

    Args:
        name: the module's name.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{name} is not installed")
