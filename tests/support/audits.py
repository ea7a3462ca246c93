"""Notebooks and cassettes to audit, and what the command prints of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cassettes import exchange_of
from pages import cell, output

from chatmagic import cli
from chatmagic._json import timestamp
from chatmagic.archive import output as turn_output
from chatmagic.archive import restore
from chatmagic.archive.cassette_format import cassette_text
from chatmagic.archive.interaction import Interaction
from chatmagic.conversation import cell_magics, magic_line
from chatmagic.conversation.turn import Turn
from chatmagic.models import Credits, Message, Reply, Usage
from chatmagic.protocol.request import Request

NOON = timestamp("2026-01-01T12:00:00Z")
Audited = Callable[[Sequence[Any]], tuple[int, str]]
"""The command on a notebook of some cells: its exit code and what it printed."""
Ran = Callable[..., tuple[int, str]]
"""The command: its exit code and what it printed."""
NOT_KEPT = {"history": False}
NO_SOURCE = "its source does not ask for the reply below it: edited, moved, or pasted."
FIGURES = Credits(100, 99, 1, None, NOON)  # type: ignore[arg-type] # it is a time


def page(prompt: str = "p", reply: str = "r", **changes: Any) -> dict[str, Any]:
    """Give a cell that asked."""
    turn = Turn(
        prompt=prompt,
        reply=Reply(
            reply, model="m", finish_reason="stop", usage=Usage(1, 2, 3), credits=FIGURES, took=1
        ),
    )
    made = turn.to_record(Request((Message("user", prompt),)).digest())
    told = replace(made, **changes)
    turn = restore.turn_of(told, reply, owner=None)
    source = cell_magics.source_for(
        prompt, *magic_line.typed_options(turn), has_values=bool(told.values)
    )
    return cell(source, [output(*turn_output.of_turn(turn.reply, told))])


def changed(reply: dict[str, Any]) -> dict[str, Any]:
    """Give a cell whose reply was changed by hand."""
    reply["outputs"][0]["data"]["text/plain"] = ["another"]
    return reply


def run(capsys: pytest.CaptureFixture[str], words: Sequence[object]) -> tuple[int, str]:
    """Run the command; its exit code and what it printed."""
    code = cli.main(["audit", *map(str, words)])
    return code, capsys.readouterr().out


def exchange(prompt: str, text: str | None, *before: str, **more: Any) -> Interaction:
    """Give an exchange; ``before`` are prompts and replies."""
    roles = ("user", "assistant") * (len(before) // 2)
    messages = [Message(role, text) for role, text in zip(roles, before, strict=True)]
    request = Request((*messages, Message("user", prompt)))
    return exchange_of(request, text=text, **{"model": "m", "finish_reason": "stop", **more})


def tape(path: Path, *exchanges: Interaction) -> Path:
    """Write a cassette of these."""
    path.write_text(cassette_text(exchanges))
    return path
