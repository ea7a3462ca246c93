"""What changed between the file of a map and a file of another kind, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from pages import Paper
from shells import Shell

import chatmagic
from chatmagic.study import compare
from chatmagic.study.comparison_output import comparison_text

TEMPLATE: Final = "Label {{ it }} now"
SCHEMA: Final = {"title": "Label", "type": "object", "properties": {"label": {"type": "string"}}}
OTHER: Final = {"title": "Label", "type": "object", "properties": {"name": {"type": "string"}}}
AGAIN: Final = {"asked again"}

EDITS: Final[dict[str, tuple[list[Any], dict[str, Any], list[set[str]]]]] = {
    "only asked again": (["a", "b"], {}, [AGAIN, AGAIN]),
    "a prompt": (["a", "b"], {"template": "Label it: {{ it }} now"}, [{"prompt"}, {"prompt"}]),
    "a value": (["a", "c"], {}, [AGAIN, {"value"}]),
    "all values": (["d", "c"], {}, [{"value"}, {"value"}]),
    "the order": (["b", "a"], {}, [AGAIN, AGAIN]),
    "a row more": (["a", "b", "c"], {}, [AGAIN, AGAIN, set()]),
    "a row less": (["b"], {}, [AGAIN, set()]),
    "a model": (["a", "b"], {"model": "n"}, [{"model"}, {"model"}]),
    "a temperature": (["a", "b"], {"temperature": 0.5}, [{"settings"}, {"settings"}]),
    "a limit": (["a", "b"], {"max_tokens": 7}, [{"settings"}, {"settings"}]),
    "no stream": (["a", "b"], {"stream": False}, [{"settings"}, {"settings"}]),
    "instructions": (["a", "b"], {"instructions": "Be brief."}, [{"context"}, {"context"}]),
    "a schema": (["a", "b"], {"schema": SCHEMA}, [{"settings"}, {"settings"}]),
    "a form": (["a", "b"], {"format": "json"}, [{"settings"}, {"settings"}]),
    "a second answer to each": (["a", "b"], {"repeats": 2}, [AGAIN, set(), AGAIN, set()]),
    "the order and a value": (["c", "a"], {}, [{"value"}, AGAIN]),
    "the order and a model": (["b", "a"], {"model": "n"}, [{"model"}, {"model"}]),
    "a value and a temperature": (
        ["a", "c"],
        {"temperature": 0.5},
        [{"settings"}, {"settings", "value"}],
    ),
    "the order and a schema": (["b", "a"], {"schema": SCHEMA}, [{"settings"}, {"settings"}]),
    "a value and a schema": (["a", "c"], {"schema": SCHEMA}, [{"settings"}, {"settings", "value"}]),
    "another name for the values": (
        [{"review": "a"}, {"review": "b"}],
        {"template": "Label {{ review }} now"},
        [AGAIN, AGAIN],
    ),
    "another name for the values, and a limit": (
        [{"review": "a"}, {"review": "b"}],
        {"template": "Label {{ review }} now", "max_tokens": 7},
        [{"settings"}, {"settings"}],
    ),
    "a prompt and a model": (
        ["a", "b"],
        {"template": "Label it: {{ it }} now", "model": "n"},
        [{"prompt", "model"}, {"prompt", "model"}],
    ),
    "a prompt and a value": (
        ["a", "c"],
        {"template": "Label it: {{ it }} now"},
        [{"prompt"}, {"prompt", "value"}],
    ),
}
"""Values and options of a map, and the causes of each question, in the order of the rows."""


def page(shell: Shell, folder: Path, options: str = "") -> dict[str, Path]:
    """Ask the rows ``a`` and ``b`` in cells, recorded, and once more as texts; return the files."""
    folder.mkdir()
    paper = Paper(folder / "talk.ipynb")
    shell.shell.user_ns["Label"] = SCHEMA
    shell.do(f"%chat_cassette {folder / 'cells.jsonl'} --record")
    for value in "ab":
        shell.do(f"it = {value!r}")
        source = f"%%chat --thread {value} {options}\n{TEMPLATE}"
        paper.ran(value, source, shell.do(source, cell=value).outputs)
    shell.do(f"%chat_cassette {folder / 'texts.jsonl'} --record")
    schema = SCHEMA if options else None
    for value in "ab":
        chatmagic.ask(f"Label {value} now", thread=f"text-{value}", schema=schema)
    shell.do("%chat_cassette --off")
    names = ("cells.jsonl", "texts.jsonl")
    return {"notebook": paper.save(), **{name: folder / name for name in names}}


def causes(old: Path, new: Path) -> list[set[str]]:
    """Return the causes of each question, those of gone ones last."""
    pairs = compare.of_files([old, new]).pairs
    return [{change.cause for change in pair.changes} for pair in pairs]


@pytest.fixture
def asked(shell: Shell, tmp_path: Path) -> dict[str, Path]:
    """Return the files of a page and of its questions as texts."""
    return page(shell, tmp_path / "page")


def ask_map(path: Path, values: list[Any], **options: Any) -> Path:
    """Ask rows into a file."""
    template = options.pop("template", TEMPLATE)
    chatmagic.map(template, values, file=path, yes=True, workers=1, **options)
    return path


def test_a_map_is_compared_with_files_of_each_kind(asked: dict[str, Path], tmp_path: Path) -> None:
    """Each edit is named, and nothing else; of a text nobody knows which part was a value."""
    for number, (name, (values, how, expected)) in enumerate(EDITS.items()):
        new = ask_map(tmp_path / f"{number}.jsonl", values, keep_prompts=True, **how)
        for kind, old in asked.items():
            is_text = kind == "texts.jsonl" and "prompt" in name
            told = [names - {"value"} for names in expected] if is_text else expected
            assert causes(old, new) == told, (name, kind)


def test_a_map_without_its_prompts(asked: dict[str, Path], tmp_path: Path) -> None:
    """Beside a cassette its digests tell the same; beside a notebook the unknown is named."""
    for number, (name, (values, how, expected)) in enumerate(EDITS.items()):
        new = ask_map(tmp_path / f"{number}.jsonl", values, **how)
        assert causes(asked["cells.jsonl"], new) == expected, name
    new = ask_map(tmp_path / "value.jsonl", ["d", "c"])
    assert causes(asked["notebook"], new) == [{"value"}, {"value"}]
    assert "value: {{ it }}" in comparison_text(compare.of_files([new, asked["notebook"]]))
    new = ask_map(tmp_path / "both.jsonl", ["a", "c"], temperature=0.5)
    assert causes(asked["notebook"], new) == [{"settings", "not recorded"}] * 2
    details = str(compare.of_files([asked["notebook"], new]).pairs[1].changes[-1])
    assert details == "not recorded: whether values changed (see keep_prompts)"


def test_a_form_is_compared_by_its_words(shell: Shell, tmp_path: Path) -> None:
    """The same schema is no cause in any kind of file, and another one is the only cause."""
    shown = page(shell, tmp_path / "page", "--schema Label")
    news = {
        keeps: [
            ask_map(tmp_path / f"{keeps} {number}.jsonl", ["a", "b"], keep_prompts=keeps, **how)
            for number, how in enumerate([{"schema": SCHEMA}, {"schema": OTHER}, {}])
        ]
        for keeps in (True, False)
    }
    settings = {"settings"}
    for keeps, (same, other, none) in news.items():
        for kind, old in shown.items():
            is_known = keeps or kind != "notebook"
            unknown = set() if is_known else {"not recorded"}
            assert causes(old, same) == [AGAIN, AGAIN], (kind, keeps)
            assert causes(old, other) == causes(none, old) == [settings | unknown] * 2, kind
