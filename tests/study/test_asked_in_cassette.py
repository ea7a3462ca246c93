"""Questions in a cassette."""

from __future__ import annotations

from project import ROOT

from chatmagic.study.sources import read_source

SAMPLES = ROOT / "tests" / "samples"


def test_a_notebook_and_its_cassette_tell_the_same() -> None:
    """Of each question: the prompt, what it carried, the reply, the model and the date."""
    read = [read_source(SAMPLES / f"saved_{name}") for name in ("notebook.ipynb", "cassette.jsonl")]
    facts = [
        {(a.request, a.typed, a.text, a.model, a.date, a.context) for a in source.asked}
        for source in read
    ]
    assert facts[0] == facts[1]
