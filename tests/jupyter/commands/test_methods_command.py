"""``%chat_methods``: how a model was used, for a paper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audits import exchange, tape
from shells import Shell


def test_the_kernels_conversation(shell: Shell) -> None:
    """Without a file; it is in none yet."""
    shell.fails("%chat_methods")
    shell.page("%%chat_instructions\nBe brief.", "i")
    shell.page("town = 'Lima'", "t")
    shell.page("%%chat -t 0.5\nHello {{ town }}", "a")
    text = shell.do("%chat_methods").printed
    assert "this conversation, which is in no file yet" in text
    assert "temperature: 0.5 (1 question)" in text
    assert "Be brief." in text
    assert "Lima" not in text.partition("*Answer:*")[0]
    assert "| Field |" not in shell.do("%chat_methods --form plain").printed
    assert json.loads(shell.do("%chat_methods --json").printed)["counts"] == []


def test_files(bare: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One or several; a name with a blank in it needs quotes only beside others."""
    monkeypatch.chdir(tmp_path)
    tape(Path("a b.jsonl"), exchange("q", "r"))
    tape(Path("c.jsonl"), exchange("p", "file://evil"))
    assert (
        "1 question was sent through an API, with chatmagic"
        in bare.do("%chat_methods a b.jsonl").printed
    )
    both = bare.do('%chat_methods "a b.jsonl" c.jsonl').printed
    assert "2 questions were sent through an API, with chatmagic" in both
    assert "file://evil" not in both
    assert "file://evil" not in bare.do("%chat_methods --json c.jsonl").printed
    bare.fails("%chat_methods none.ipynb")
    bare.fails("%chat_methods c.jsonl 'a b")
