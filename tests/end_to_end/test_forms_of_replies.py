"""Forms of replies in real kernels: the same bodies in each, and a cassette that answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernels import PLAIN_ENVIRONMENT, Kernel, kernel
from libraries import library
from logged import Emulator
from shells import KEY

SETUP = """\
from typing import Literal
from pydantic import BaseModel, Field

class City(BaseModel):
    name: str = Field(description="in Spanish")
    size: Literal["small", "large"]
    people: int | None = Field(None, ge=0)
"""
CELLS = [
    ("load", "%load_ext chatmagic"),
    ("setup", SETUP),
    ("ask", '%%chat --schema City -o lima\necho:{"name": "Lima", "size": "large"}'),
    ("prose", "%%chat\necho:It is large: {x} {{ lima.size }}."),
    ("more", '%%chat --format json -o ica\necho:```json\n{"name": "Ica", "size": "small"}\n```'),
    ("used", "print(type(lima).__name__, ica.name, ica.people)"),
]


def run(running: Kernel, *, person: bool) -> list[Any]:
    """Run the notebook for a person or headless, and give what each cell showed."""
    ran = [
        running.run(source, cell=cell if person else None, person=person) for cell, source in CELLS
    ]
    assert [each.status for each in ran] == ["ok"] * len(CELLS)
    return ran


def test_a_notebook_with_a_schema_sends_the_same_each_time(
    service: Emulator, tmp_path: Path
) -> None:
    """Twice in one kernel, once headless; another replays it, and its cells work on."""
    library("pydantic")
    bodies = []
    told = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY}
    told |= {"CHATMAGIC_CASSETTE": str(tmp_path / "forms.jsonl")}
    for mode, times, person in (("record", 2, True), ("refresh", 1, False), ("replay", 1, False)):
        with kernel({**PLAIN_ENVIRONMENT, **told, "CHATMAGIC_MODE": mode}) as running:
            for _ in range(times):
                ran = run(running, person=person)
                bodies.append([request.body for request in service.requests])
                service.requests.clear()
        assert "City Ica None\n" in ran[-1].text
    assert len(bodies[0]) == 3
    assert bodies[0] == bodies[2]
    assert bodies[1] == bodies[3] == []
    first, prose, more = (body["messages"][-1]["content"] for body in bodies[0])
    assert first.endswith('}\n\necho:{"name": "Lima", "size": "large"}')
    assert prose.endswith("holds no longer.\n\necho:It is large: {x} large.")
    told = first.rpartition("\n\n")[0]
    assert '"description": "in Spanish"' in told
    assert more.startswith(told)
