"""Rows of a Dask cluster, asked from one process, and the file of replies that the cluster reads.

``python dask_rows.py FOLDER`` runs it; the tests' folders are in ``PYTHONPATH``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from libraries import library
from row_service import RowService

import chatmagic
from chatmagic.session.session import Session

ROWS = 40


def check(cluster: Any, path: Path) -> None:
    """Map the rows of a table in four partitions, and read the replies with the cluster.

    Args:
        cluster: a client of the cluster.
        path: the file of the replies.
    """
    dd, pandas = library("dask.dataframe"), library("pandas")
    computed: list[int] = []

    def noted(part: Any) -> Any:
        computed.append(len(part))
        return part

    table = pandas.DataFrame({"row": range(ROWS), "text": [f"text {n}" for n in range(ROWS)]})
    rows = dd.from_pandas(table, npartitions=4).map_partitions(noted, meta=table)
    service = RowService(refuses=lambda prompt: 400 if prompt == "text 7" else 200)
    most: list[int] = []
    service.before = lambda _: most.append(sum(computed) - len(service.bodies))
    with chatmagic.Client(transport=service) as client:
        session = Session(client)
        session.map("{{ text }}", rows, keep=False, yes=True, file=path)
        assert len(service.bodies) == ROWS
        assert max(most) <= 2 * ROWS // 4
        answers = dd.read_json(path, lines=True, blocksize=2_000)
        assert answers.npartitions > 1
        assert cluster.compute((answers.error != "").sum()).result() == 1
        joined = rows.merge(answers[["row", "text"]], on="row", suffixes=("", "_reply")).compute()
        texts = dict(zip(joined["row"], joined["text_reply"], strict=True))
        assert texts == {n: "" if n == 7 else f"TEXT {n}" for n in range(ROWS)}
        # Run again, the row that failed alone is asked.
        service.bodies.clear()
        session.map("{{ text }}", rows, keep=False, yes=True, file=path)
        assert service.prompts == ["text 7"]
        # Kept in memory, they are a list.
        replies = session.map("{{ text }}", rows, yes=True, file=path)
        assert [reply.text for reply in replies][6:9] == ["TEXT 6", None, "TEXT 8"]


if __name__ == "__main__":
    with library("distributed").Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as started:
        check(started, Path(sys.argv[1], "rows.jsonl"))
