"""What a notebook would give away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages import cell, save, text_cell

from chatmagic.conversation.request_facts import Value

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

from audits import page, run


def test_values_list_what_the_file_gives_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kept values, paths, hosts, when cells ran, words that set a key; and no key itself."""
    key = "sk-1234567890abcdef"
    kept, bare = Value.of("rows", "4711"), Value.of("n", "2").bare
    timed = page("{{ rows }} {{ n }}", values=(kept, bare))
    timed["metadata"]["execution"] = {"iopub.execute_input": "2026-01-01T12:00:00Z"}
    printed = {
        "output_type": "stream",
        "name": "stdout",
        "text": ["at https://ann:pass@chat.example.org/v1?at=@x"],
    }
    broken = {"output_type": "error", "traceback": ["in /home/ann/paper/x.py:3"], "evalue": "e"}
    cells = [timed, cell(f"%env CHATMAGIC_API_KEY={key}", [printed, broken, {}]),
             text_cell("See https://[x/ and http://…")]  # fmt: skip
    path = save(tmp_path / "n.ipynb", cells)
    assert "4711" not in run(capsys, [path])[1]
    _, told = run(capsys, [path, "--values"])
    assert key not in told
    assert "pass" not in told
    assert told.split("give away:\n")[1].splitlines() == [
        "  cell 1: value of {{ rows }} (4 characters): all of it",
        "  cell 1: value of {{ n }} (1 character): its size and digest",
        "  cell 2: path /home/ann/paper/x.py",
        "  cell 2: host chat.example.org",
        "  cell 2: perhaps an API key: the text sets one",
        "  cell 1: when the cell ran, in its metadata",
    ]
    token = "ghp_" + "aB3dE6gH9kL2nP5rS8tU" * 2
    _, told = run(capsys, [save(tmp_path / "k.ipynb", [text_cell(f"{token} {token}")]), "--values"])
    assert "cell 1: what looks like a GitHub token" in told
    assert token not in told
    assert "No values" in run(capsys, [save(tmp_path / "m.ipynb", [page()]), "--values"])[1]
