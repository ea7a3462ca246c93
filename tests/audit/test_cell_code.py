"""What the code of cells may ask."""

from __future__ import annotations

import pytest
from cases import each_case

from chatmagic.audit.cell_code import Asking, asking, may_display

USER_MAGIC = """
from IPython.core.magic import register_line_cell_magic
@register_line_cell_magic
def q(line, cell=""):
    get_ipython().run_cell_magic("chat", line, cell)
"""
BOT = "class Bot:\n    count = 0\n    def say(self, text):\n        return chatmagic.ask(text)"


def of(*sources: str) -> Asking:
    """Give what the cells of these sources may ask."""
    return asking(dict(enumerate(sources, 1)))


@each_case(
    "source",
    [
        "",
        "x = '%chat'",
        "x = '''\n%%chat\nwhy?\n'''",
        "exec('')",
        "eval('1 + 1')",
        "exec('1 +')",
        "print('%chat why?', f'{1}')",
        "# get_ipython().run_line_magic('chat', 'x')",
        "%%bash\n%%chat\nwhy?",
        "%%html\n<p>%chat",
        "%%chat\nget_ipython()",
        "import chatmagic",
        "import chatmagic.errors, os.path\nfrom chatmagic import Message, turns\nturns('x')",
        "import chatmagic as cm\ncm.turns('x')\ncm.map('{{ it }}', 'ab')\ncm.__version__",
        "f = chatmagic.ask",
        "unknown\nunknown.name",
        "def f():\n    return chatmagic.ask('x')",
        "f = lambda: get_ipython()",
        "x = [1, (2, -3), {4}, {'a': None}]\ny: int\nz = x.real",
        "import numpy as np\nfrom pandas import read_csv\nread_csv('x').head()\nnp.mean(1)",
        "from IPython.display import display\ndisplay(1)",
        "%matplotlib inline\n%load_ext chatmagic\n!ls\nx = !ls\ny = %env\nlen?\n?len\nprint(x, y)",
        "if 1:\n    !ls\nelse:\n    %pip install x\n    while 0:\n        break",
        "with open('x') as f, open('y'):\n    f.read()",
        "try:\n    1 / 0\nexcept ValueError as e:\n    print(e)\nelse:\n    1\nfinally:\n    2",
        "for i, (a, *b) in enumerate([]):\n    print(i, a, b)\nelse:\n    pass",
        "async def g():\n    async with a() as b:\n        async for c in b:\n            pass",
        "match 1:\n    case [a, *b]:\n        print(a, b)\n    case int() as e:\n        print(e)",
        "match 1:\n    case {'x': c, **d}:\n        print(c, d)",
        "%time sum([1])\n%timeit -n 1 -r 3 sum([1])",
        "%%time\nsum([1])",
        "%store -r df\ndf_2 = 1\nprint(df)\n_, _1, _i2, _ii",
        "%%chat -o out\nwhy?",
    ],
)
def test_what_asks_nothing(source: str) -> None:
    """Strings, comments, other languages, definitions, and what is well known."""
    assert of(source) == Asking(frozenset(), frozenset(), frozenset(), frozenset())


@each_case(
    "source",
    [
        "get_ipython().run_line_magic('chat', 'x')",
        "if 1:\n    ip = get_ipython()\n    ip.run_cell('x')",
        "%run other.ipynb",
        "x = %recall 3",
        "%q why?",
        "%%q\nwhy?",
        "%%\nwhy?",
        "q why is it so?",
        "exec(code)",
        "exec(\"get_ipython().run_line_magic('chat', 'x')\")",
        "x = [%chat a]",
        "question('x')",
        ",question why",
        "/question",
        "from helpers import *\nask_all()",
        "import helpers as h\nprint(h.go())",
        "from . import helpers\nhelpers()",
        "import importlib\nimportlib.import_module('helpers').go()",
        "%time get_ipython().run_line_magic('chat', 'x')",
        "%%time\nexec(code)",
        "class A:\n    get_ipython().run_line_magic('chat', 'x')",
        "@get_ipython().register_magic_function\ndef f(line):\n    pass",
        "with f() as x:\n    pass",
        "for x in f():\n    pass",
    ],
)
def test_what_may_ask_anything(source: str) -> None:
    """The shell, other files, other magics, and names that no cell binds."""
    assert of(source) == Asking(frozenset({1}), frozenset({1}), frozenset(), frozenset())


@each_case(
    ("sources", "asks"),
    [
        (("import chatmagic\nchatmagic.ask('x')",), {1}),
        (("await chatmagic.aask('x')",), {1}),
        (("r = chatmagic.ask",), set()),
        (("from chatmagic import ask as question", "question('x')", "print(1)"), {2}),
        (("from chatmagic import *", "aask('x')"), {2}),
        (("import chatmagic as cm", "s = cm.current_session()", "s.ask('x')"), {2, 3}),
        (("import chatmagic as cm", "f = getattr(cm, 'a' 'sk')", "f('x')"), {2, 3}),
        (("from chatmagic.session.current import ask", "[ask(x) for x in 'ab']"), {2}),
        (("f = lambda x: chatmagic.ask(x)", "list(map(f, 'ab'))"), {2}),
        (("def f():\n    chatmagic.ask('x')", "def g():\n    f()", "g()", "print(2)"), {3}),
        ((BOT, "bot = Bot()", "bot.say('x')"), {2, 3}),
    ],
)
def test_what_python_asks_leaves_no_record(sources: tuple[str, ...], asks: set[int]) -> None:
    """By whatever name: the cell asks, and no reply in its output is of it."""
    found = of(*sources)
    assert (found.shows, found.asks) == (frozenset(), frozenset(asks))


def test_a_magic_of_ones_own_may_ask_where_it_is_used() -> None:
    """As may what was bound with it."""
    found = of(USER_MAGIC, "%q why?", "%%q -t 1\nwhy?", "r = %q why?", "print('%q why?')")
    assert found.shows == {2, 3, 4}


def test_a_magic_within_a_definition_runs_where_that_is_used() -> None:
    """A function, a captured output; in a loop of its own cell the magic is that cell's."""
    found = of(
        "def f():\n    r = %chat a\n    return r",
        "f()",
        "print(f.__doc__)",
        "%%capture kept\n%chat a",
        "kept.show()",
        "for x in 'ab':\n    %chat a",
        "with capture_output() as shown:\n    %chat a",
        "shown()",
        "if 1: r = %chat a",
    )
    assert found.calls == {2, 3, 5, 8}
    assert found.runs - found.calls == {4, 6, 7, 9}
    assert found.captures == {4, 7}


def test_a_long_chain_of_names_is_followed_in_time() -> None:
    """Each name is looked at once, in whichever order they are bound."""
    count = 3_000
    cells = [f"f{at} = f{at + 1}" for at in range(count)]
    found = of("\n".join([*cells, f"f{count} = chatmagic.ask"]), "f0('x')")
    assert found.asks == {2}


@pytest.mark.parametrize(
    ("source", "displays"),
    [
        ("display(r)", True),
        ("show(r)", True),
        ("IPython.display.display(r)", True),
        ("r = %chat p\nprint(r)", False),
        ("%chat p", False),
        ("for n in (1, 2):\n    %chat p", False),
        ("display(r", False),
    ],
)
def test_what_may_show_a_reply(source: str, displays: bool) -> None:
    """Any call but those of Python's own functions."""
    assert may_display(source) is displays
