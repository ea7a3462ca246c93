"""How hard the properties are tried, and a shell of one's own with an emulator to ask.

``--hypothesis-profile`` chooses one of the profiles.
"""

from __future__ import annotations

import compileall
import gc
import importlib
import os
import signal
import ssl
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

import pytest
import trustme
from coverage import Coverage
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from logged import Emulator
from loopback import serving
from project import PURE, ROOT
from shells import FIXED, KEY, Shell, alone
from xdist.scheduler import LoadFileScheduling

from chatmagic.client import connections
from chatmagic.session.current import current_session
from chatmagic.session.features import new_ledger
from chatmagic.session.session import Session

# As the tests of other projects have it by its entry point.
pytest_plugins = ["chatmagic.pytest_plugin"]

# A busy machine is no reason to fail, so nothing here looks at a clock.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# The test command's: the same examples every time. Hypothesis would also try constants of the
# modules that are loaded, so that a file alone would try others than among all; and to read them
# takes each worker of a fresh clone seconds.
settings.register_profile("steady", UNHURRIED, max_examples=8, derandomize=True, database=None)

# CI's, after that.
settings.register_profile("release", UNHURRIED, max_examples=80, derandomize=True, database=None)

# By hand, for about an hour: other examples at each run, those that failed before first.
settings.register_profile("long", UNHURRIED, max_examples=20_000, print_blob=True)

settings.load_profile("steady")

NO_CONSTANTS: Final = Constants()

# Who is started in the background may be told to ignore this signal, and so would be the
# programs that the tests start and then interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


# What is compiled is kept, also where Python is told to keep nothing: of the tests here, and of
# the packages in the programs that they start, as the install compiles nothing.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# jsonschema, which comes with nbformat, does without it, and it takes more than a second to load.
sys.modules.setdefault("rfc3987_syntax", cast("ModuleType", None))


TOGETHER: Final = ("tests/browser/", "tests/study/")
"""Folders that one worker runs: half a minute goes into a Jupyter server, Chromium and the first
page of each front end, and some seconds into SciPy and the libraries of tables."""

LONG: Final = (
    "browser",
    "study",
    "test_site",
    "test_notebooks",
    "test_interrupts",
    "test_project",
    "test_dask",
)
"""The folders and the files that take longest."""

OWN: Final = {f"test_{path.stem.lstrip('_')}.py" for path in PURE}
"""The files of the pure modules' own tests."""

MEASURING: Final = pytest.StashKey[Coverage]()
"""The measurement of ``--cov``, which goes on only where it is of use."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the byte code that many programs will load, and measure what an import reaches.

    Where Python writes none, every kernel that a test starts would compile the package. And in
    a worker pytest-cov begins two measurements, the first of which would go on for ever.
    """
    config.addinivalue_line(
        "markers", "release: long; CI runs it, and each other run has a test that is like it"
    )
    config.addinivalue_line("markers", "unmeasured: takes long, and reaches nothing by itself")
    config.addinivalue_line("markers", "pure: own test of a pure module, which --cov measures")
    if config.getoption("--hypothesis-profile") in (None, "steady"):
        vars(providers)["_get_local_constants"] = lambda: NO_CONSTANTS
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "chatmagic", quiet=1, workers=0)
        for path in PURE:
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    elif (early := Coverage.current()) is not None:
        early.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have ``--cov`` measure nothing from here on but each test that is of use to it."""
    if (coverage := Coverage.current()) is not None:
        coverage.stop()
        session.config.stash[MEASURING] = coverage


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Have each worker of ``-n`` begin to read the files at another place.

    In a fresh clone nothing is compiled: so what one worker compiles the others find.
    """
    report = yield
    given = getattr(collector.config, "workerinput", {"workerid": "gw0", "workercount": 1})
    if isinstance(collector, pytest.Directory):
        number = int(given["workerid"].removeprefix("gw"))
        first = len(report.result) * number // given["workercount"]
        report.result = report.result[first:] + report.result[:first]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the pure modules' own tests, and put the longest files first for a worker of ``-n``."""
    for item in items:
        if item.path.name in OWN and item.get_closest_marker("unmeasured") is None:
            item.add_marker("pure")
    if hasattr(config, "workerinput"):
        items.sort(key=_place)
    # Thousands of tests leave much that stays; to look through it all takes a tenth of their time.
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure what the pure modules' own tests reach of them, and no other test.

    Another release of Hypothesis may choose its examples anew, so they are not counted on.
    """
    coverage = item.config.stash.get(MEASURING, None)
    is_chosen = item.get_closest_marker("hypothesis") is not None
    if coverage is None or is_chosen or item.get_closest_marker("pure") is None:
        return (yield)
    coverage.start()
    try:
        return (yield)
    finally:
        coverage.stop()


def _place(item: pytest.Item) -> tuple[int, Path]:
    """Return the place of a test's file, or of its folder, in :data:`LONG`, and the file."""
    names = (item.path.parent.name, item.path.stem)
    place = next((place for place, name in enumerate(LONG) if name in names), len(LONG))
    return place, item.path


class FilesAndFolders(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """Workers get a file at a time, or a whole folder of :data:`TOGETHER`."""

    def _split_scope(self, nodeid: str) -> str:
        """Return what is given to one worker: a test's file, or its folder."""
        folders = (folder for folder in TOGETHER if nodeid.startswith(folder))
        return next(folders, str(super()._split_scope(nodeid)))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Return what gives the workers of ``-n`` their tests; ``None`` leaves it to xdist."""
    return FilesAndFolders(config, log) if config.option.dist == "loadfile" else None


@pytest.fixture(autouse=True)
def nothing_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process have used nothing yet."""
    monkeypatch.setattr(Session, "ledger", new_ledger())


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Give a running emulator whose clock stands still, and which keeps its connections."""
    monkeypatch.setattr(connections, "WATCH", 0.0)
    with Emulator(FIXED) as running:
        yield running


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    """Give a shell with the extension, connected to nothing; look for the key in the end."""
    with alone(monkeypatch, tmp_path):
        made = Shell()
        yield made
        for ran in made.ran:
            assert KEY not in ran.everything
        history = made.shell.history_manager
        assert history is not None
        assert KEY not in "\n".join([*history.input_hist_raw, *history.input_hist_parsed])
        for turn in current_session().conversation:
            assert KEY not in repr(turn)
        assert KEY not in repr(current_session().endpoint)


@pytest.fixture
def shell(bare: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give a shell with the extension, which the environment connects to the emulator."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    return bare


@pytest.fixture
def session(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Session]:
    """Give a session that the environment connects to the emulator."""
    with alone(monkeypatch, tmp_path):
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        made = Session()
        yield made
        made.close()


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """Give a certificate authority of the tests' own."""
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Give a server's side of TLS, whose authority the environment names."""
    bundle = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(bundle))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    return serving(authority.issue_cert("127.0.0.1"))
