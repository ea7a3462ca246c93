"""Rows of a Dask cluster are asked from one process; the cluster reads the file as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from libraries import library
from row_service import RowService

import chatmagic
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 40


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Give a client of a local cluster of this process."""
    with library("distributed").Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as client:
        yield client


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets that distributed leaves behind
def test_partitions_in_and_a_file_out(cluster: Any, tmp_path: Path) -> None:
    """No partition is computed before it is needed, and no result is kept in memory."""
    dd = library("dask.dataframe")
    pandas = library("pandas")
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
        path = session.map("{{ text }}", rows, keep=False, yes=True, file=tmp_path / "rows.jsonl")
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
