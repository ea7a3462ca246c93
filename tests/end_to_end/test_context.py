"""Cells and errors along with a question: run again, headless, replayed, restored."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from kernels import PLAIN_ENVIRONMENT, kernel
from logged import Emulator
from pages import Paper
from reruns import sent_each_time, taken
from shells import KEY

AWAITS = "import asyncio\nprint('before')\nawait asyncio.sleep(0)\nobject()"
CHILD = (
    "#| label: child\nimport sys, warnings\nprint('printed', end='')\nsys.stdout.write('\\n')\n"
    "warnings.warn('odd')\n"
    "from IPython.display import display, Markdown\ndisplay(Markdown('**bold** {{ x }}'))\n{'a': 1}"
)
PICTURE = "display({'text/plain': '<Figure>', 'image/png': 'iVBORw0KGgo='}, raw=True)"
RAISES = "key = 'k'\n{'a': 1}[key]  # {{ 1 + 1 }} {os.environ['HOME']}"
CELLS = [
    ("load", "%load_ext chatmagic"),
    ("keeps", "get_ipython().display_pub.store_display_history = True"),
    ("a", AWAITS),
    ("b", CHILD),
    ("p", PICTURE),
    ("q1", "%%chat --above 3\nWhat {x} {{ 1 + 1 }} $y$?"),
    ("q2", "%chat --last 0 --above 1 --tag child Why?"),
    ("n", "n = 5"),
    ("q5", "%chat --above new And {{ n }}?"),
    ("e", RAISES),
    ("q3", "%chat_fix a default?"),
    ("q4", "%%chat --no-history --error\nWhy {{ 'that' }}?"),
    ("c", "below = 1"),
]


@pytest.mark.release
def test_run_twice_and_headless_and_replayed(
    service: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All send the same; a replay of the cassette, and of the notebook itself, sends nothing."""
    path = tmp_path / "paper.ipynb"
    first = sent_each_time(service, CELLS, path, monkeypatch, raising=[RAISES])
    above, tagged, new, fixed, error = [body["messages"][-1]["content"] for body in first]
    assert above == (
        f"A cell of this notebook:\n\n```python\n{AWAITS}\n```\n\n"
        # A kernel does not keep what such a cell prints.
        "Its output:\n\n```\n<object at 0x…>\n```\n\n"
        f"A cell of this notebook:\n\n```python\n{CHILD}\n```\n\n"
        "Its output:\n\n```\nprinted\nthis cell:5: UserWarning: odd\n  warnings.warn('odd')\n"
        "**bold** {{ x }}\n{'a': 1}\n```\n\n"
        f"A cell of this notebook:\n\n```python\n{PICTURE}\n```\n\n"
        "Its output:\n\n```\n[picture, image/png, which is not sent: <Figure>]\n```\n\n"
        "What {x} 2 $y$?"
    )
    assert tagged.count("A cell of this notebook:") == 2
    assert new == "A cell of this notebook:\n\n```python\nn = 5\n```\n\nAnd 5?"

    raised = (
        f"A cell of this notebook that raised an error:\n\n```python\n{RAISES}\n```\n\n"
        "The error:\n\n```\nTraceback (most recent call last):\n  this cell, line 2\n"
        f"    {RAISES.splitlines()[1]}\nKeyError: 'k'\n```\n\n"
    )
    assert fixed.startswith(raised)
    assert error == f"{raised}Why that?"
    cells = nbformat.read(path, as_version=4).cells  # type: ignore[no-untyped-call]
    assert "Its output" not in str([cell.outputs for cell in cells])


def test_restored_a_turn_is_stale_when_its_cell_has_changed(
    service: Emulator, tmp_path: Path
) -> None:
    """The record knows the cell by its hash; what is not kept is named, and nothing is sent."""
    paper = Paper(tmp_path / "paper.ipynb")
    connected = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY}
    notebook = {"JPY_SESSION_NAME": str(paper.path)}
    with kernel({**PLAIN_ENVIRONMENT, **connected, **notebook}) as running:
        for id, source in CELLS[:6]:
            paper.ran(id, source, running.run(source, cell=id).outputs)
        paper.save()
        running.restart()
        running.run("%load_ext chatmagic")
        assert "cell 3 above, cell 2 above" in running.run("%chat_load", cell="load").text
        status = "get_ipython().run_line_magic('chat', '')"
        running.run("%load_ext chatmagic", cell="load")
        for id, source in CELLS[1:5]:
            running.run(source, cell=id)
        assert "stale" not in running.run(status).text
        running.run(PICTURE.replace("<Figure>", "<Other>"), cell="p")
        assert "1 stale" in running.run(status).text
    assert len(taken(service)) == 1
