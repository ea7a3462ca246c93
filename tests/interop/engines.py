"""A mapper in Ray, in Spark and in processes of joblib, which a release tries.

``python tests/interop/engines.py ray spark joblib`` runs it. Each engine calls the function of a
table as its documentation says. The service is a server on loopback that counts. What is checked is
the same for all: all rows answered, each asked once, and in other parts none again.

Each engine runs in a process of its own, first with a function that is not ours. So an engine that
does not start, or does not end in time, as on a busy machine, is not taken for a fault of ours. In
any case the last line of each engine says how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import chatmagic

ROWS: Final = 60
SCHEMA: Final = {"properties": {"label": {"type": "string"}, "size": {"type": "integer"}}}
MOST_SECONDS: Final = 600
"""Longest time that an engine is waited for; on a quiet machine each took less than one minute."""
STARTED: Final = "The engine itself works."
"""Line between the engine's own trial and ours."""
SHOWN_LINES: Final = 30
"""Number of lines of an engine that failed that are shown."""


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
    builder = import_module("pyspark.sql").SparkSession.builder
    session = builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
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


ENGINES: Final[dict[str, Callable[[Any, int], list[dict[str, Any]]]]] = {
    "ray": with_ray,
    "spark": with_spark,
    "joblib": with_joblib,
}
PACKAGES: Final = {"spark": "pyspark"}
"""Packages of engines that have another name."""


def in_json(prompt: str) -> str:
    """Return the answer to a prompt: its last line, and the length of that."""
    text = prompt.splitlines()[-1]
    return json.dumps({"label": text, "size": len(text)})


def unlabelled(frame: Any) -> Any:
    """Return a table with the columns of a mapper, without asking anything."""
    return frame.assign(reply="", label="", size=0, error="")


def check(engine: str) -> None:
    """Label a table by an engine, twice, in other parts."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
    server_of_rows = import_module("loopback_rows").RowServer
    with server_of_rows() as server, tempfile.TemporaryDirectory() as folder:
        server.answers = in_json
        # Before the engine starts, as its processes have the environment of that time.
        os.environ |= {"CHATMAGIC_BASE_URL": server.url, "CHATMAGIC_API_KEY": "sk-throw-away"}
        assert len(ENGINES[engine](unlabelled, 2)) == ROWS
        say(STARTED)
        label = chatmagic.mapper("{{ text }}", folder, schema=SCHEMA, columns=True)
        for parts in (4, 3):
            rows = ENGINES[engine](label, parts)
            assert {row["label"] for row in rows} == {f"text {n}" for n in range(ROWS)}, rows[:3]
            assert all(row["size"] == len(row["text"]) for row in rows)
            assert all(row["error"] is None for row in rows)
        assert len(server.prompts) == ROWS, len(server.prompts)
        assert server.keys == {"Bearer sk-throw-away"}


def ended_well(engine: str) -> bool:
    """Run an engine in a process of its own, and say in one line how it ended.

    Args:
        engine: its name.
    """
    try:
        name = f"{engine} {version(PACKAGES.get(engine, engine))}"
    except PackageNotFoundError:
        say(f"{engine}: is not installed. Nothing was tried.")
        return False
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        # In a session of its own, so that all processes of an engine can be ended together.
        process = subprocess.Popen(
            [sys.executable, __file__, "--here", engine],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            problem = f"it ended with {process.wait(MOST_SECONDS)}"
        except subprocess.TimeoutExpired:
            problem = f"it did not end within {MOST_SECONDS} s"
        finally:
            # Some processes of an engine may outlive the one that started them.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        lines = output.read().splitlines()
    if process.returncode == 0:
        say(f"{name}: {ROWS} rows, each asked once.")
        return True
    say("\n".join(lines[-SHOWN_LINES:]))
    if STARTED in lines:
        say(f"{name}: FAILED with a mapper: {problem}.")
    else:
        say(f"{name}: did not run a function that is not ours: {problem}. No mapper was tried.")
    return False


def say(line: str) -> None:
    """Show a line to whoever releases."""
    print(line, flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    if sys.argv[1] == "--here":
        check(sys.argv[2])
    else:
        results = [ended_well(engine) for engine in sys.argv[1:] or ENGINES]
        sys.exit(not all(results))
