"""Notebooks to read: cells that asked, with their records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pages import cell, output

from chatmagic._json import timestamp
from chatmagic.archive import notebook
from chatmagic.conversation.record import Record
from chatmagic.conversation.turn import Turn
from chatmagic.models import Message, Reply
from chatmagic.protocol.request import Request

HERE = Path("other.ipynb")
NOON = timestamp("2026-01-01T12:00:00Z")


def record(prompt: str = "p", reply: str = "r", **changes: Any) -> Record:
    """Give the record of a turn that carried none."""
    turn = Turn(prompt=prompt, reply=Reply(reply, model="m", finish_reason="stop"))
    made = turn.to_record(Request((Message("user", prompt),)).digest())
    return replace(made, **changes)


def page(
    prompt: str = "p", reply: str = "r", *, id: str | None = None, **changes: Any
) -> dict[str, Any]:
    """Give a cell that asked."""
    told = record(prompt, reply, **changes).to_json()
    return cell(f"%%chat\n{prompt}", [output({"text/plain": reply}, {"chatmagic": told})], id=id)


def read(cells: Iterable[Any], **changes: Any) -> notebook.Notebook:
    """Read a notebook of these cells."""
    whole = {"cells": list(cells), "nbformat": 4, "nbformat_minor": 5, **changes}
    return notebook.parse_notebook(json.dumps(whole).encode(), HERE)
