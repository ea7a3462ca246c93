"""Settings that cells make, compared with what their questions were asked with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from audits import page, run
from pages import cell, save, text_cell

Told = Callable[[Sequence[Any]], list[str]]
NOT_KEPT = {"history": False}
HELD = "%config ChatMagics.temperature = 0.3"


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """Give the faults of a notebook, and the remarks on what no source says."""

    def told(cells: Sequence[Any]) -> list[str]:
        lines = run(capsys, [save(tmp_path / "n.ipynb", cells)])[1].splitlines()
        return [line for line in lines if line.startswith("!") or "no source says" in line]

    return told


def asked(options: str = "", model: str | None = None, **parameters: Any) -> dict[str, Any]:
    """Give a cell that asked with these parameters, and has only these options."""
    made = page("p", parameters={**NOT_KEPT, **parameters}, asked_model=model)
    return {**made, "source": f"%chat --no-history {options} p"}


@pytest.mark.parametrize(
    ("source", "parameters", "said"),
    [
        (HELD, {"temperature": 0.3}, ""),
        (HELD, {"temperature": 0.4}, "temperature to 0.3, but the record of cell 2 has 0.4"),
        (HELD, {}, "temperature to 0.3, but the record of cell 2 has none"),
        ("%config ChatMagics.max_tokens=200", {"max_tokens": 200}, ""),
        (
            "%config ChatMagics.max_tokens=201",
            {"max_tokens": 200},
            "max_tokens to 201, but the record of cell 2 has 200",
        ),
        ("config ChatMagics.no_stream = True", {"stream": False}, ""),
        (
            "%config ChatMagics.no_stream = False",
            {"stream": False},
            "no_stream to False, but the record of cell 2 has False",
        ),
        ("%config ChatMagics.format = 'code'", {"format": "code"}, ""),
        ("%config ChatMagics.format = None", {}, ""),
        (f"{HELD}\n%config ChatMagics.temperature = t", {"temperature": 0.9}, ""),
        (f"if x:\n    {HELD}", {"temperature": 0.9}, ""),
        ("%config ChatMagics.keep_values = True", {}, ""),
        ("%run settings.ipynb", {"temperature": 0.9}, ""),
    ],
)
def test_a_setting_is_that_of_the_questions_below_it(
    source: str, parameters: dict[str, Any], said: str, told: Told
) -> None:
    """It is read as a literal, and its fault is told at its cell; other code may set anything."""
    lines = told([cell(source), asked(**parameters)])
    assert lines == ([f"! cell 1: it sets {said}."] if said else [])


@pytest.mark.parametrize(
    ("source", "model", "said"),
    [
        ("%chat_connect emulator --model tiny", "tiny", ""),
        ('%chat_connect emulator --model="tiny"', "tiny", ""),
        ("%chat_connect emulator --model huge", "tiny", "huge, but the record of cell 2 has tiny"),
        ("%chat_connect --model=huge emulator", None, "huge, but the record of cell 2 has none"),
        ("%chat_connect emulator --model $m", "tiny", ""),
        ("%chat_connect --models", None, ""),
        ("%chat_connect emulator", None, ""),
        ("%chat_connect a --model x\n%chat_connect b", "tiny", ""),
        ("%config ChatMagics.model = 'tiny'", "tiny", ""),
        ("%config ChatMagics.model = 'x'", "tiny", "x, but the record of cell 2 has tiny"),
        ("%config ChatMagics.extra_body = {'model': 'tiny'}", "tiny", ""),
        (
            "%config ChatMagics.extra_body = {'model': 'x'}",
            "y",
            "x, but the record of cell 2 has y",
        ),
        ("%config ChatMagics.extra_body = {'seed': 1}", None, ""),
        ("%config ChatMagics.extra_body = body", "tiny", ""),
        ("%%bash\n%chat_connect emulator --model huge", None, ""),
    ],
)
def test_a_model_is_that_of_the_connection_above(
    source: str, model: str | None, said: str, told: Told
) -> None:
    """Named when it was connected, or set; a variable may name any."""
    lines = told([cell(source), asked(model=model)])
    assert lines == ([f"! cell 1: it sets model to {said}."] if said else [])


def test_a_connection_leaves_the_model_to_its_address(told: Told) -> None:
    """Another address has another model, or none."""
    first = cell("%chat_connect a --model x")
    assert told([first, asked(model="x"), cell("%chat_connect b"), asked(), asked(model="y")]) == []


def test_what_an_option_gives_needs_no_setting(told: Told) -> None:
    """Also where it gives what is usual, and where a variable names it."""
    cells = [
        cell(HELD),
        asked("-t 0.9", temperature=0.9),
        asked("-t $t", temperature=0.8),
        asked("-m other", model="other", temperature=0.3) | {"outputs": []},
        cell("%config ChatMagics.no_stream = True"),
        asked("--stream", temperature=0.3),
    ]
    assert [line for line in told(cells) if "it sets" in line] == []


def test_a_setting_in_the_cell_of_a_question_holds_below_it(told: Told) -> None:
    """There it may come before or after the question."""
    both = asked(temperature=0.9)
    both["source"] = f"{HELD}\n%chat --no-history p"
    assert told([both, asked(temperature=0.3)]) == []
    assert told([both, asked(temperature=0.4), asked(temperature=0.5)]) == [
        "! cell 1: it sets temperature to 0.3, but the record of cells 2 and 3 has other values."
    ]


def test_a_text_cell_and_a_string_set_nothing(told: Told) -> None:
    """Nor do they switch off the check."""
    words = "it was asked with temperature 0.5, which its source does not say"
    for other in (
        text_cell(HELD),
        cell(f"x = '''\n{HELD}\n'''"),
        cell(f"# {HELD}"),
        cell("%%time"),
    ):
        assert told([other, asked(temperature=0.5), asked()]) == [f"! cell 2: {words}."]


def test_what_no_source_says_in_any_cell_is_a_remark(told: Told) -> None:
    """It may be configured elsewhere; where another cell has the option, it was taken out."""
    words = "which no source says: configured elsewhere, or edited"
    warm = asked(temperature=0.5)
    assert told([warm, warm]) == [f"cells 1 and 2: asked with temperature 0.5, {words}."]
    fault = "it was asked with temperature 0.5, which its source does not say"
    assert told([warm, asked("-t 0.1", temperature=0.1)]) == [f"! cell 1: {fault}."]
    assert told([asked(model="a"), asked(model="a")]) == [
        f"cells 1 and 2: asked with model a, {words}."
    ]
    assert told([asked(model="a"), asked()]) == [
        f"cell 1: asked with model several values, {words}."
    ]


def test_a_quiet_setting_is_that_of_code(told: Told) -> None:
    """Below it a question needs no output; in a text it does nothing."""
    quiet = "%config ChatMagics.quiet = True"
    assert told([cell(quiet), cell("%chat a")]) == []
    for other in (text_cell(quiet), cell("%config ChatMagics.quiet = False"), cell("%run a.py")):
        assert len(told([other, cell("%chat a")])) == 1
