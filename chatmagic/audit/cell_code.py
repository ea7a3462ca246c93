"""What the code of a notebook's cells may do beside its magics, found by Python's own parser.

Nothing is run. A string, a comment, the body of ``%%bash`` and a Markdown cell ask nothing. Code
asks by chatmagic's functions, by the shell, or by what is not in the notebook: a module that is not
well known, a magic that is not IPython's, a name that no cell binds. A name that is bound with one
of these may ask, too.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from chatmagic.conversation.cell_magics import (
    TEXT_CELLS,
    in_one_line,
    parsed_python,
    plan_of,
    statements,
)

_OURS: Final = "_chatmagic_command_"
"""Name in place of one of chatmagic's magics; what defines it runs the magic later."""
_ELSEWHERE: Final = "_not_in_the_notebook_"
"""Name in place of what no cell shows."""
_API: Final = "_asks_by_python_"
_CAPTURED: Final = "_output_goes_elsewhere_"
"""Name in a block whose output may go elsewhere: of ``with``, or of ``%%capture``."""
_SHELL: Final = frozenset({
    _ELSEWHERE, "get_ipython", "exec", "eval", "__import__", "globals", "locals",
    ".get_ipython", ".import_module", ".magic", ".run_cell", ".run_cell_async",
    ".run_cell_magic", ".run_code", ".run_line_magic", ".run_module", ".run_path",
})  # fmt: skip
"""Names, and attributes with a dot, by which code runs magics or other code."""
_PYTHON: Final = frozenset({_API, ".ask", ".aask"})
"""The same for a question of Python's, which leaves no record in an output."""
_ASK_NOTHING: Final = frozenset({
    "Client", "Credits", "Limits", "Message", "Reply", "Timeout", "Usage", "__version__", "errors",
    "map", "turns",
})  # fmt: skip
"""Public names of chatmagic that add no turn to the conversation."""
_LIBRARIES: Final = frozenset({
    "IPython", "PIL", "altair", "bokeh", "bs4", "cv2", "datasets", "duckdb", "geopandas",
    "ipywidgets", "joblib", "jupyter", "lxml", "matplotlib", "nbformat", "networkx", "numpy",
    "openpyxl", "pandas", "plotly", "polars", "pyarrow", "pydantic", "requests", "scipy",
    "seaborn", "skimage", "sklearn", "spacy", "sqlalchemy", "statsmodels", "sympy", "tensorflow",
    "torch", "tqdm", "transformers", "xarray", "yaml",
})  # fmt: skip
"""Libraries beside Python's own that ask nothing here."""
_HARMLESS: Final = frozenset({
    "alias", "autoawait", "autocall", "automagic", "autoreload", "bookmark", "cat", "cd", "clear",
    "code_wrap", "colors", "conda", "config", "connect_info", "cp", "debug", "dhist", "dirs",
    "doctest_mode", "env", "gui", "hist", "history", "ldir", "less", "lf", "lk", "ll", "load_ext",
    "logoff", "logon", "logstart", "logstate", "logstop", "ls", "lsmagic", "lx", "magic", "mamba",
    "man", "matplotlib", "micromamba", "mkdir", "more", "mv", "notebook", "page", "pastebin",
    "pdb", "pdef", "pdoc", "pfile", "pinfo", "pinfo2", "pip", "popd", "pprint", "precision",
    "psearch", "psource", "pushd", "pwd", "pycat", "pylab", "qtconsole", "quickref", "reload_ext",
    "rep", "reset", "reset_selective", "rm", "rmdir", "save", "sc", "set_env", "store", "sx",
    "system",    "tb", "unalias", "unload_ext", "uv", "who", "who_ls", "whos", "xdel", "xmode",
})  # fmt: skip
"""Line magics of IPython that run no code of the kernel."""
_RUN_CODE: Final = frozenset({
    "capture", "memit", "prun", "time", "timeit",
})  # fmt: skip
"""Magics that run the code in their line, or in their body."""
_KNOWN_NAMES: Final = frozenset(
    [*dir(builtins), "In", "Out", "display", "get_ipython", "__", "___", "_dh", "_ih", "_oh"]
)
_MAGIC: Final = re.compile(r"(?P<indent>[ \t]*)%(?P<name>[^\W\d]\w*)(?P<line>.*)", re.DOTALL)
_VALUE: Final = re.compile(r"(?P<target>[^%!#'\"]*=)[ \t]*(?P<sign>[%!])(?P<name>\w*).*", re.DOTALL)
_CALL: Final = re.compile(r"[ \t]*[,;/][ \t]*(?P<name>[\w.]+).*", re.DOTALL)
_COMMAND: Final = re.compile(r"(?P<target>[ \t]*(?:[^%]*=[ \t]*(?=%chat))?)(?:%time[ \t]+)?%?")
_NO_CODE: Final = re.compile(r"(?P<indent>[ \t]*)(?:[!?].*|%{0,2}[\w.*]+\?{1,2})", re.DOTALL)
"""A command of the system, and a request for help."""
_INPUT_NAME: Final = re.compile(r"_i{0,3}\d*")
"""A name of IPython for an earlier input or result, such as ``_i3`` and ``_``."""
_OPTION: Final = r"(?:-\w+[ \t]*\d*[ \t]+)*"


@dataclass(frozen=True, slots=True)
class CodeStep:
    """Part of a cell's code.

    Args:
        cell: the cell's number.
        mentions: the names that it reads, and its attributes with a dot.
        binds: the names that it binds.
        runs: whether it runs what it mentions; a definition, an import and an alias do not.
        defines: whether what it binds runs a magic in it later.
    """

    cell: int
    mentions: frozenset[str]
    binds: frozenset[str] = frozenset()
    runs: bool = False
    defines: bool = False


@dataclass(frozen=True, slots=True)
class Asking:
    """Numbers of the cells whose code may ask.

    Args:
        shows: cells whose code may leave any reply in their output.
        asks: these, and cells that may ask a question of Python's, which leaves no record.
        calls: cells that may run the magics in a definition, perhaps of another cell.
        runs: these, and cells whose code runs a magic of chatmagic itself.
        captures: cells that run a magic of chatmagic whose output may go elsewhere.
    """

    shows: frozenset[int]
    asks: frozenset[int]
    calls: frozenset[int]
    runs: frozenset[int]
    captures: frozenset[int] = frozenset()


def asking(sources: Mapping[int, str]) -> Asking:
    """Return the cells whose code may ask.

    Args:
        sources: the sources of the code cells, by the cells' numbers.
    """
    notebook = _NotebookCode(sources)
    steps = notebook.steps
    shell = _SHELL | notebook.unbound_names()
    defining = [step for step in steps if _OURS in step.mentions and step.defines]
    calls = _running(steps, frozenset(name for step in defining for name in step.binds))
    runs = frozenset(step.cell for step in steps if step.runs and _OURS in step.mentions)
    return Asking(
        shows=_running(steps, shell),
        asks=_running(steps, shell | _PYTHON),
        calls=calls,
        runs=calls | runs,
        captures=frozenset(step.cell for step in defining if _CAPTURED in step.mentions),
    )


class _NotebookCode:
    """The code of a notebook's cells.

    Args:
        sources: the sources of the code cells, by the cells' numbers.
    """

    def __init__(self, sources: Mapping[int, str]) -> None:
        """Parse all cells."""
        texts = {number: python_of(source) for number, source in sources.items()}
        trees = {number: parsed_python(text) for number, text in texts.items()}
        self._sources = sources
        self._nodes = [
            node for tree in trees.values() if tree is not None for node in ast.walk(tree)
        ]
        self._aliases = _names_of_chatmagic(self._nodes)
        self.steps: list[CodeStep] = []
        """The steps of all cells, in their order."""
        for number, tree in trees.items():
            if tree is None:  # Python does not parse the cell, so any of its names may be run
                self.steps.append(CodeStep(number, _tokens(texts[number]), runs=True))
            else:
                self.steps += _Reader(number, self._aliases).steps(tree.body)
            self.steps += _captured(number, sources[number])

    def unbound_names(self) -> set[str]:
        """Return the names that code reads and no cell binds, as functions from elsewhere."""
        bound = {name for node in self._nodes for name in _bound_by(node)}
        bound.update(name for step in self.steps for name in step.binds)
        bound.update(name for source in self._sources.values() for name in _words_of_magics(source))
        known = bound | self._aliases | _KNOWN_NAMES | {_OURS, _API, _CAPTURED}
        return _names_read(self.steps) - known


def _names_of_chatmagic(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names by which a notebook's code knows the module of chatmagic."""
    imports = (node for node in nodes if isinstance(node, ast.Import))
    imported = (item for node in imports for item in node.names)
    aliases = {item.asname for item in imported if _top(item.name) == "chatmagic"}
    return {"chatmagic", *filter(None, aliases)}


def _words_of_magics(source: str) -> Iterator[str]:
    """Yield the words that may be names in the lines of a cell's magics."""
    for line in _magic_lines(source):
        yield from re.findall(r"[^\W\d]\w*", line)


def _names_read(steps: Iterable[CodeStep]) -> set[str]:
    """Return the names that steps read, but attributes and IPython's names of earlier inputs."""
    names = {name for step in steps for name in step.mentions}
    return {name for name in names if name[0] != "." and not _INPUT_NAME.fullmatch(name)}


def may_display(source: str) -> bool:
    """Return whether a cell's code calls something, beside Python's own, that may show a reply.

    Args:
        source: the cell's source.
    """
    # A kernel puts its own functions among those of Python.
    own = {_OURS, *dir(builtins)} - {"display", "get_ipython"}
    calls = (node for node in ast.walk(_tree(source)) if isinstance(node, ast.Call))
    return any(not isinstance(call.func, ast.Name) or call.func.id not in own for call in calls)


def _tree(source: str) -> ast.Module:
    """Return the syntax tree of a cell; an empty one if Python does not parse it."""
    return parsed_python(python_of(source)) or ast.Module([], [])


def _running(steps: Collection[CodeStep], roots: Collection[str]) -> frozenset[int]:
    """Return the cells that run one of these names, or a name that was bound with one of them."""
    by_name: dict[str, list[CodeStep]] = defaultdict(list)
    for step in steps:
        for name in step.mentions:
            by_name[name].append(step)
    tainted = {*roots}
    waiting = [*roots]
    while waiting:
        name = waiting.pop()
        for step in by_name[name]:
            waiting += step.binds - tainted
            tainted |= step.binds
    return frozenset(step.cell for step in steps if step.runs and step.mentions & tainted)


# --- A cell as Python ---------------------------------------------------------------------------


def python_of(source: str) -> str:
    """Return a cell's code as Python, with names in place of its magics.

    Args:
        source: the cell's source.
    """
    first, _, body = source.lstrip().partition("\n")
    if first.startswith("%%"):
        name = first[2:].split(maxsplit=1)[:1]
        if name and name[0] in _RUN_CODE:
            return python_of(body)
        plan = plan_of(source)
        is_text = bool(plan.commands and not plan.code) or TEXT_CELLS.intersection(name)
        return "" if is_text else f"{_ELSEWHERE}()"
    return "\n".join(map(_as_python, statements(source)))


def _as_python(statement: str) -> str:
    """Return a statement, or Python in place of a magic."""
    line = in_one_line(statement)
    if plan_of(statement).commands and (command := _COMMAND.match(line)):
        return f"{command['target']}{_OURS}()"
    if magic := _MAGIC.fullmatch(line):
        if magic["name"] in _RUN_CODE:
            return magic["indent"] + re.sub(rf"\A[ \t]*{_OPTION}", "", magic["line"])
        return f"{magic['indent']}{_run(magic['name'])}"
    if value := _VALUE.fullmatch(line):
        return f"{value['target']} {_run(value['name'] if value['sign'] == '%' else 'system')}"
    if call := _CALL.fullmatch(line):
        return f"{call['name']}()"
    other = _NO_CODE.fullmatch(line)
    return statement if other is None else f"{other['indent']}None"


def _run(magic: str) -> str:
    """Return Python in place of another magic: an unknown one may do anything."""
    return "None" if magic in _HARMLESS or magic.startswith("chat") else f"{_ELSEWHERE}()"


def _magic_lines(source: str) -> Iterator[str]:
    """Yield the lines of a cell's magics, which may bind any name in them."""
    first, _, _ = source.lstrip().partition("\n")
    if first.startswith("%%"):
        yield first
    for command in plan_of(source).commands:
        yield command.line
    for line in map(in_one_line, statements(source)):
        magic = _MAGIC.fullmatch(line)
        if magic is not None and magic["name"] not in _RUN_CODE:
            yield line


def _captured(number: int, source: str) -> Iterator[CodeStep]:
    """Yield the step by which ``%%capture NAME`` binds the outputs of its cell."""
    first, _, body = source.lstrip().partition("\n")
    if (words := first.split())[:1] == ["%%capture"]:
        names = frozenset(word for word in words[1:] if word.isidentifier())
        yield CodeStep(number, _tokens(python_of(body)) | {_CAPTURED}, names, defines=True)


def _tokens(text: str) -> frozenset[str]:
    """Return the names in code that Python does not parse, without strings and comments."""
    names: set[str] = set()
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                is_magic = before == "%" and token.string.startswith("chat")
                names.add(_ELSEWHERE if is_magic else token.string)
                if before == ".":
                    names.add(f".{token.string}")
            before = token.string
    except (tokenize.TokenError, SyntaxError):
        pass  # the names before it count
    return frozenset(names)


# --- Steps of a syntax tree ----------------------------------------------------------------------


class _Reader:
    """Reader of the steps of one cell.

    Args:
        cell: the cell's number.
        aliases: the names of chatmagic's module in the notebook.
    """

    def __init__(self, cell: int, aliases: Collection[str]) -> None:
        """Read nothing yet."""
        self._cell = cell
        self._aliases = aliases

    def steps(self, body: Iterable[ast.stmt]) -> Iterator[CodeStep]:
        """Yield the steps of statements, and of those within them.

        Args:
            body: the statements.
        """
        for node in body:
            match node:
                case ast.Import() | ast.ImportFrom():
                    yield from self._imported(node)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    yield self._step([node], {node.name}, defines=True)
                    yield self._step(node.decorator_list, runs=True)
                    if isinstance(node, ast.ClassDef):
                        yield from (step for step in self.steps(node.body) if step.runs)
                case ast.If() | ast.While():
                    yield self._step([node.test], runs=True)
                    yield from self.steps([*node.body, *node.orelse])
                case ast.For() | ast.AsyncFor():
                    yield self._step([node.iter], _stored(node.target), runs=True)
                    yield from self.steps([*node.body, *node.orelse])
                case ast.With() | ast.AsyncWith():
                    names = {name for item in node.items for name in _stored(item.optional_vars)}
                    block = self._step([node], names, defines=True)
                    yield replace(block, mentions=block.mentions | {_CAPTURED})
                    yield self._step([item.context_expr for item in node.items], runs=True)
                    yield from self.steps(node.body)
                case ast.Try() | ast.TryStar():
                    handled = [line for handler in node.handlers for line in handler.body]
                    yield from self.steps([*node.body, *handled, *node.orelse, *node.finalbody])
                case _:
                    yield self._of_line(node)

    def _of_line(self, node: ast.stmt) -> CodeStep:
        """Return the step of a statement without others in it; what only names asks nothing."""
        value: ast.AST | None = node
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            value = node.value
        is_lambda = isinstance(value, ast.Lambda)
        return self._step([node], _stored(node), runs=not _is_plain(value), defines=is_lambda)

    def _step(
        self,
        nodes: Iterable[ast.AST],
        binds: Iterable[str] = (),
        *,
        runs: bool = False,
        defines: bool = False,
    ) -> CodeStep:
        """Return the step of some code."""
        mentions = frozenset(name for node in nodes for name in self._mentions(node))
        return CodeStep(self._cell, mentions, frozenset(binds), runs=runs, defines=defines)

    def _imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[CodeStep]:
        """Yield the steps of an import: what is unknown may ask, as may chatmagic's functions."""
        for item in node.names:
            module = item.name if isinstance(node, ast.Import) else node.module or ""
            is_local = isinstance(node, ast.ImportFrom) and node.level > 0
            name = item.asname or (_top(item.name) if isinstance(node, ast.Import) else item.name)
            if _top(module) == "chatmagic" and not is_local:
                if isinstance(node, ast.ImportFrom) and item.name not in _ASK_NOTHING:
                    names = {"ask", "aask", "current_session"} if item.name == "*" else {name}
                    yield CodeStep(self._cell, frozenset({_API}), frozenset(names))
            elif is_local or _top(module) not in sys.stdlib_module_names | _LIBRARIES:
                yield CodeStep(self._cell, frozenset({_ELSEWHERE}), frozenset({name}))

    def _mentions(self, node: ast.AST) -> Iterator[str]:
        """Yield the names and attributes that code reads."""
        waiting: list[ast.AST] = [node]
        while waiting:
            part = waiting.pop()
            match part:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if (
                    name in self._aliases
                ):
                    if attribute not in _ASK_NOTHING:
                        yield _API
                    continue
                case ast.Call(
                    func=ast.Name(id="exec" | "eval"), args=[ast.Constant(value=str(text))]
                ):
                    tree = parsed_python(text)
                    waiting += [] if tree is None else [tree]
                    continue
                case ast.Name(id=name) if name in self._aliases:
                    yield _API
                case ast.Name(id=name, ctx=ast.Load()):
                    yield name
                case ast.Attribute(attr=attribute):
                    yield f".{attribute}"
                case _:
                    pass
            waiting += ast.iter_child_nodes(part)


def _top(module: str) -> str:
    """Return the package of a module."""
    return module.partition(".")[0]


def _stored(node: ast.AST | None) -> set[str]:
    """Return the names that a part of code binds."""
    parts = [] if node is None else ast.walk(node)
    return {
        part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _bound_by(node: ast.AST) -> set[str]:
    """Return the names that a node itself binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return {name}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.alias(name=name, asname=other):
            return {other or _top(name)}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return {name}
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return {name}
        case _:
            return set()


def _is_plain(node: ast.AST | None) -> bool:
    """Return whether an expression only names something, so that nothing is run."""
    match node:
        case None | ast.Constant() | ast.Name() | ast.Lambda():
            return True
        case ast.Attribute(value=value) | ast.UnaryOp(operand=value):
            return _is_plain(value)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return all(map(_is_plain, items))
        case ast.Dict(keys=keys, values=values):
            return all(map(_is_plain, [*keys, *values]))
        case _:
            return False
