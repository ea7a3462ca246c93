"""Private texts in a notebook."""

from __future__ import annotations

from pathlib import Path

from audits import Ran, page
from pages import cell, save, text_cell

from chatmagic.conversation.question import Value


def test_values_list_what_the_file_gives_away(tmp_path: Path, ran: Ran) -> None:
    """Kept values, paths, hosts, words that set a key; and no key itself."""
    key = "sk-1234567890abcdef"
    kept, bare = Value.of_text("rows", "4711"), Value.of_text("n", "2").bare
    timed = page("{{ rows }} {{ n }}", values=(kept, bare))
    printed = {
        "output_type": "stream",
        "name": "stdout",
        "text": ["at https://ann:pass@chat.example.org/v1?at=@x"],
    }
    broken = {"output_type": "error", "traceback": ["in /home/ann/paper/x.py:3"], "evalue": "e"}
    cells = [timed, cell(f"%env CHATMAGIC_API_KEY={key}", [printed, broken, {}]),
             text_cell("See https://[x/ and http://…")]  # fmt: skip
    path = save(tmp_path / "n.ipynb", cells)
    assert "4711" not in ran(path)[1]
    _, told = ran(path, "--values")
    assert key not in told
    assert "pass" not in told
    assert told.split("in the file:\n")[1].splitlines() == [
        "  cell 1: value of {{ rows }} (4 characters): all of it",
        "  cell 1: value of {{ n }} (1 character): its size and digest",
        "  cell 2: perhaps an API key: the text sets one",
        "  cell 2: host chat.example.org",
        "  cell 2: path /home/ann/paper/x.py",
    ]
    token = "ghp_" + "aB3dE6gH9kL2nP5rS8tU" * 2
    _, told = ran(save(tmp_path / "k.ipynb", [text_cell(f"{token} {token}")]), "--values")
    assert "cell 1: a text that looks like a GitHub token" in told
    assert token not in told
    assert "No values" in ran(save(tmp_path / "m.ipynb", [page()]), "--values")[1]
