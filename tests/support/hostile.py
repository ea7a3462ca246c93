"""A corpus of hostile replies: each tries to do something to the page that shows it.

The short ones are in ``hostile.json``, by what they try. There ``TRAP`` stands for an address
on loopback that counts what comes, and ``RAN`` for a script that says that it ran.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LONG: Final = 1500


@dataclass(frozen=True, slots=True)
class Hostile:
    """One kind of hostile reply.

    Args:
        tries: what it tries to do.
        text: the reply, as a model would write it.
    """

    tries: str
    text: str

    @property
    def long(self) -> bool:
        """Whether it is so long that it need not be shown in every place."""
        return len(self.text) > _LONG

    def armed(self, number: int, trap: str) -> str:
        """Give the text with the addresses and scripts that tell on it.

        Args:
            number: by which it is known again.
            trap: an address that counts what is fetched from it.
        """
        text = self.text.replace("TRAP", f"{trap}/trap-{number}")
        return text.replace("RAN", f"top.ran({number})")


_IMAGE: Final = "<img src=x onerror=RAN>"
_ROW: Final = "|" + f" {_IMAGE} |" * 40 + "\n"
_BURDENS: Final = {
    "code that never ends": f"```python\nprint('x')\n{_IMAGE}",
    "emphasis and links that never end": "**a [b](https://good.example **c `d <e ![f](TRAP",
    "a list of 1,000 levels": "- " * 1000 + "x",
    "1,000 quotes": "> " * 1000 + _IMAGE,
    "a list of 10 levels": "".join("    " * depth + f"- {_IMAGE}\n" for depth in range(10)),
    "10,000 brackets": "[" * 10_000 + "(" * 10_000,
    "a huge table": "|" + " a |" * 40 + "\n|" + "---|" * 40 + "\n" + _ROW * 30,
    "a line of 20,000 characters": "x" * 20_000,
    "code of one long line": "```python\n" + "x = 1; " * 3000 + "\n```",
    "a heading that is long": "# " + "long" * 500,
    "a long inline formula": "$" + "x + " * 500 + "x$",
    "300 fractions in one another": "$" + r"\frac{1}{" * 300 + "x" + "}" * 300 + "$",
    "700 braces in one another": "$" + "{" * 700 + "x" + "}" * 700 + "$",
    "a long address": f"<https://good.example/{'a' * 3000}>",
    "300 links": "[x](https://good.example) " * 300,
    "900 sizes in one another": "$" + r"\tiny" * 900 + " x$",
    "25 bold letters in one another": "$" + r"\pmb{" * 25 + "x" + "}" * 25 + "$",
    "a million columns": r"$$\begin{alignat}{9999999} a & b \end{alignat}$$",
    "braces in comments": "$" + "\\frac1{%}\n" * 250 + "x" + "}%{\n" * 250 + "$",
    "520 formulas": "$x$ " * 520,
}


def _corpus() -> tuple[Hostile, ...]:
    known = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    known["to burden"] = _BURDENS
    return tuple(
        Hostile(f"{verb}: {tries}", text)
        for verb, kinds in known.items()
        for tries, text in kinds.items()
    )


CORPUS: Final = _corpus()

RISKIEST: Final = (
    "to act by TeX: a formula that leaves its place",
    "to act by TeX: a box as large as the page",
    "to act by TeX: \\class, \\cssId, \\style",
    "to restyle: an overlay",
    "to restyle: the end of its own box",
    "to restyle: letters that pile up",
    "to burden: a long inline formula",
)
"""Those that come closest to being drawn where they do not belong."""


def _selected() -> tuple[Hostile, ...]:
    """Return those that show each kind, the riskiest, and the links that may be followed."""
    return tuple(
        kind
        for number, kind in enumerate(CORPUS)
        if number % 12 == 0 or kind.tries in (*RISKIEST, GOOD_LINKS)
    )


GOOD_LINKS: Final = "to open: good links"
SELECTED: Final = _selected()
"""What the test command shows in pages; a release shows all of them (``-m release``)."""
