"""A LitServe server on loopback whose model tells, word by word, what it was shown.

The key it wants is in ``LIT_SERVER_API_KEY``. ``python words_server.py PORT`` runs it.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from typing import Any

import litserve


class Words(litserve.LitAPI):  # type: ignore[misc]  # it has no types
    """The model."""

    def setup(self, device: str) -> None:
        """Need nothing."""

    def predict(self, request: Any) -> Iterator[str]:
        """Count the messages and say the last one; its word ``FAIL`` breaks the model down."""
        said = f"Message {len(request.messages)} is: {request.messages[-1].content}"
        for word in re.findall(r"\S+\s*", said):
            if word.strip() == "FAIL":
                raise RuntimeError(word)
            yield word


if __name__ == "__main__":
    # Where the tests run in the background of a shell, this signal comes in ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    server = litserve.LitServer(
        Words(spec=litserve.OpenAISpec()), accelerator="cpu", workers_per_device=1, timeout=60
    )
    server.run(
        host="127.0.0.1",
        port=int(sys.argv[1]),
        num_api_servers=1,
        generate_client_file=False,
        # Its access log counts the requests.
        log_level="info",
    )
