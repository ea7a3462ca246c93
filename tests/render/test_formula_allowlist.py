"""Which formulas a page may typeset."""

from __future__ import annotations

import time

from cases import each_case
from formula_cases import BAD, GOOD

from chatmagic.render.formula_allowlist import typeset_form

COMMON = [
    r"x^2 + \sqrt[3]{y} \le \frac{1}{2}",
    r"\begin{pmatrix} a & b \\[2pt] c & d \end{pmatrix}",
    r"\begin{aligned} f\!\left(x\right) &= 1 \\ g &= 2 \end{aligned}",
    r"\begin{alignat*}{2} a &= b & c &= d \end{alignat*}",
    r"\begin{cases} 1 & \text{if } x > 0 \\ 0 & \text{else} \end{cases}",
    r"\ce{2 H2 + O2 -> 2 H2O}",
    r"\textcolor{#c00}{x} \color{red} y \colorbox{c00}{z}",
    r"\operatorname*{arg\,max}_{\theta} \mathcal{L}(\theta) \tag{1}",
    r"50\,\% \text{ of } \mathbb{R}",
    r"h = -3 cm + 170 cm",
    r"\{\{" * 40 + "{x}" * 40 + r"\left[x\right] \leftarrow " * 31,
]
REFUSED = {
    "a name that is not on the list": r"\foo",
    "a command that hides another": r"\verb\a\\href{https://evil.example}{x}",
    "what draws elsewhere": r"\mathrlap{x}",
    "a negative length": r"\hspace{- 2em} x",
    "a negative length between rows": r"\begin{matrix} a \\[-9em] b \end{matrix}",
    "a brace in a comment": "{%\n}",
    "a brace in a comment behind a new row": "\\\\%}\n",
    "half a pair of braces": r"\text{ ",
    "a pair of braces the wrong way around": "}{",
    "an environment that is not on the list": r"\begin{prooftree} x \end{prooftree}",
    "an environment without a name": r"\begin\x",
    "a million columns": r"\begin{alignat}{999999} a & b \end{alignat}",
    "a colour that is more than a colour": r"\color{url(//evil.example)} x",
    "a colour without braces": r"\colorbox\x y",
    "900 sizes": r"\tiny" * 900 + " x",
    "31 styles": r"\displaystyle " * 31 + "x",
    "sizes that multiply": r"{\Huge {\Huge {\Huge {\Huge x}}}}",
    "arguments that are drawn twice": r"\pmb{" * 5 + "x" + "}" * 5,
}


@each_case("tex", [*COMMON, *GOOD])
def test_ordinary_formulas_are_typeset(tex: str) -> None:
    """What people write as mathematics and chemistry is on the list."""
    assert typeset_form(tex)


@each_case("tex", REFUSED.values())
def test_formulas_that_do_more_are_not_typeset(tex: str) -> None:
    """What acts, hides, moves or burdens is refused."""
    assert not typeset_form(tex)


@each_case("tex", BAD)
def test_what_is_not_balanced_is_not_typeset(tex: str) -> None:
    """What comes while a formula streams, and what would end something else."""
    assert not typeset_form(tex)


def test_negative_spaces_are_left_out() -> None:
    """They would move a formula over the text before it."""
    assert typeset_form(r"f\!(x) \negthinspace \neg y \\! z") == r"f{}(x) {} \neg y \\! z"


def test_a_long_formula_takes_no_more_than_a_moment() -> None:
    """Nothing in it is read again and again."""
    started = time.thread_time()
    for part in ("{", "x^", r"\sqrt[", r"\left(", r"\text{$x$", r"\frac", r"\\", r"\begin"):
        typeset_form(part * 600)
    assert time.thread_time() - started < 10
