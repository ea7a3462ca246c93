"""A mapper in Ray, in Spark and in processes of joblib, which a release tries.

``python tests/interop/engines.py ray spark joblib`` runs it. Each engine calls the function of a
table as its documentation says. The service is a server on loopback that counts. What is checked is
the same for all: all rows answered, each asked once, and in other parts none again.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import chatmagic

ROWS = 60
SCHEMA = {"properties": {"label": {"type": "string"}, "size": {"type": "integer"}}}


def with_ray(label: Any, parts: int) -> list[dict[str, Any]]:
    """Return the rows of a data set of Ray that a mapper has labelled."""
    ray = import_module("ray")
    if not ray.is_initialized():
        ray.init(num_cpus=2, include_dashboard=False)
    texts = [{"text": f"text {number}"} for number in range(ROWS)]
    data = ray.data.from_items(texts, override_num_blocks=parts)
    rows: list[dict[str, Any]] = data.map_batches(label, batch_format="pandas").take_all()
    return rows


def with_spark(label: Any, parts: int) -> list[dict[str, Any]]:
    """Return the rows of a table of Spark that a mapper has labelled."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else that of PATH
    session = import_module("pyspark.sql").SparkSession.builder.master("local[2]").getOrCreate()
    texts = [(f"text {number}",) for number in range(ROWS)]
    table = session.createDataFrame(texts, "text string").repartition(parts)
    schema = "text string, reply string, label string, size long, error string"
    made = table.mapInPandas(lambda tables: map(label, tables), schema)
    return [row.asDict() for row in made.collect()]


def with_joblib(label: Any, parts: int) -> list[dict[str, Any]]:
    """Return the rows of tables that a mapper has labelled in processes of joblib."""
    joblib, pandas = import_module("joblib"), import_module("pandas")
    table = pandas.DataFrame({"text": [f"text {number}" for number in range(ROWS)]})
    calls = [joblib.delayed(label)(table[begin::parts]) for begin in range(parts)]
    made = pandas.concat(joblib.Parallel(2)(calls))
    rows: list[dict[str, Any]] = made.astype(object).where(made.notna(), None).to_dict("records")
    return rows


ENGINES: dict[str, Callable[[Any, int], list[dict[str, Any]]]] = {
    "ray": with_ray,
    "spark": with_spark,
    "joblib": with_joblib,
}


def in_json(prompt: str) -> str:
    """Return the answer to a prompt: its last line, and the length of that."""
    text = prompt.splitlines()[-1]
    return json.dumps({"label": text, "size": len(text)})


def check(engine: str) -> None:
    """Label a table by an engine, twice, in other parts."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
    server_of_rows = import_module("loopback_rows").RowServer
    with server_of_rows() as server, tempfile.TemporaryDirectory() as folder:
        server.answers = in_json
        os.environ |= {"CHATMAGIC_BASE_URL": server.url, "CHATMAGIC_API_KEY": "sk-throw-away"}
        label = chatmagic.mapper("{{ text }}", folder, schema=SCHEMA, columns=True)
        for parts in (4, 3):
            rows = ENGINES[engine](label, parts)
            assert {row["label"] for row in rows} == {f"text {n}" for n in range(ROWS)}, rows[:3]
            assert all(row["size"] == len(row["text"]) for row in rows)
            assert all(row["error"] is None for row in rows)
        assert len(server.prompts) == ROWS, len(server.prompts)
        assert server.keys == {"Bearer sk-throw-away"}
    print(f"{engine}: {ROWS} rows, each asked once")  # noqa: T201 - for whoever releases


if __name__ == "__main__":
    for name in sys.argv[1:]:
        check(name)
