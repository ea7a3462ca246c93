"""Standard output in any encoding: no character makes a print fail."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from shares import each_time

from chatmagic._standard_output import UnwritableReplaced


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "cp437", "utf-8"])
def test_an_unwritable_character_is_replaced(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the change is taken back; UTF-8 is not changed."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    change = UnwritableReplaced()
    assert stream.errors == ("strict" if encoding == "utf-8" else "replace")
    stream.write("a \u2192 b")
    change.close()
    assert stream.errors == "strict"
    stream.flush()
    written = raw.getvalue().decode(encoding)
    assert written.strip() == ("a \u2192 b" if encoding == "utf-8" else "a ? b")


def test_what_is_no_file_or_is_closed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel's stream, none at all, or one that was closed since."""
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stdout", stream)
        UnwritableReplaced().close()
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", file)
    change = UnwritableReplaced()
    file.close()
    change.close()


LINES = """
%load_ext chatmagic
%chat_connect emulator
%chat echo:a \u2192 \u201cb\u201d \U0001f600
%chat_history
reply = %chat echo:\u2192
print("end", len(reply.text))
%chat_undo \u2192
"""


@pytest.mark.parametrize("encoding", each_time(["cp1252", "ascii", "latin-1"], 3))
def test_a_terminal_of_another_encoding_shows_replies(encoding: str, tmp_path: Path) -> None:
    """All that a terminal prints: a reply, the history, an error."""
    (tmp_path / "lines.ipy").write_text(LINES, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "lines.ipy"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": encoding, "IPYTHONDIR": str(tmp_path)},
        timeout=120,
    )
    shown = run.stdout.decode(encoding)
    assert "UnicodeEncodeError" not in shown
    assert "Interrupted" not in shown
    assert "1. echo:a ?" in shown
    assert "end 1" in shown
    assert "InputError" in shown
