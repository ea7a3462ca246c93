"""A table of Dask on a cluster of two processes, one of which is killed.

``python dask_rows.py FOLDER`` runs it; the tests' folders are in ``PYTHONPATH``.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from libraries import library
from loopback_rows import RowServer

import chatmagic

ROWS = 120
WORKERS = 3
KEY = "sk-correct-horse-battery"


def check(cluster: Any, server: RowServer, folder: Path) -> None:
    """Label the rows of a table in eight parts, and kill a worker in the middle.

    Args:
        cluster: a client of the cluster.
        server: the service.
        folder: the folder of the answers.
    """
    dd, pandas = library("dask.dataframe"), library("pandas")
    texts = [f"text {number}" for number in range(ROWS)]
    table = pandas.DataFrame({"text": texts})
    label = chatmagic.mapper("{{ text }}", folder, workers=WORKERS)
    lazy = dd.from_pandas(table, npartitions=8).pipe(label)
    assert server.prompts == []
    assert KEY.encode() not in pickle.dumps(lazy)
    computed = cluster.compute(lazy)
    while len(server.prompts) < ROWS // 2:
        time.sleep(0.005)
    os.kill(next(iter(cluster.run(os.getpid).values())), signal.SIGKILL)
    made = computed.result()
    assert dict(zip(made["text"], made["reply"], strict=True)) == {t: t.upper() for t in texts}
    # The killed process had two calls at most, each with so many requests under way.
    asked = len(server.prompts)
    assert ROWS <= asked <= ROWS + 2 * WORKERS, asked
    again = cluster.compute(dd.from_pandas(table[::-1], npartitions=5).pipe(label)).result()
    assert len(again) == ROWS
    lines = dd.read_json(str(folder / "*.jsonl"), lines=True)
    assert set(lines["text"].compute()) == {text.upper() for text in texts}
    assert len(server.prompts) == asked
    assert not any(KEY.encode() in path.read_bytes() for path in folder.iterdir())
    assert server.keys == {f"Bearer {KEY}"}


if __name__ == "__main__":
    with RowServer(before=lambda _: threading.Event().wait(0.02)) as started:
        os.environ |= {"CHATMAGIC_BASE_URL": started.url, "CHATMAGIC_API_KEY": KEY}
        with library("distributed").Client(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as client:
            check(client, started, Path(sys.argv[1], "answers"))
