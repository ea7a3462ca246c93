"""Cells that ask: the effect of a cell's source, by its magics, and the source for a question.

:mod:`chatmagic.jupyter.input_transformers` uses it for each cell that runs.
"""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from chatmagic.conversation import likely_mistakes, magic_line
from chatmagic.conversation.likely_mistakes import COMMENT
from chatmagic.conversation.magic_line import ParsedLine
from chatmagic.conversation.question import correction
from chatmagic.errors import InputError
from chatmagic.safe_text import without_lone_surrogates

# Text above a cell magic breaks the cell; a tool's comment is refused with a hint instead.
_ABOVE: Final = r"\s*$|\s*#\s*NBVAL_|\s*#\|"
# Strings, which are compiled at their first use.
_CELL: Final = r"%%(?P<command>chat(?:_fix|_instructions)?)(?:[ \t]+(?P<line>.*))?[ \t]*$"
_TARGET: Final = r"(?P<target>(?:[^=#'\"\\]|\"[^\"\\]*\"|'[^'\\]*')*(?<![=!<>+\-*/%&|^@:])=[ \t]*)?"
_LINE: Final = (
    rf"(?P<indent>[ \t]*)(?:%time[ \t]+)?{_TARGET}"
    # IPython accepts a magic without its % if the line is not Python.
    r"(?P<percent>%|(?<![=\s])(?=chat\w*(?:[ \t]+[^\s=([.,)]|$)))"
    r"(?P<command>chat(?:_\w+)?)(?![\w?])(?P<line>.*)"
)
_NO_PYTHON: Final = re.compile(
    rf"[ \t]*[%!?,;/]|{_TARGET}[%!][^\W\d]|[ \t]*chat\w*[ \t]+[^\s=([.,)]"
)
"""Beginning of a line that IPython changes before Python reads it."""
_CONTINUED: Final = re.compile(r"\\[^\S\n]*\Z")
_SEVERAL_LINES: Final = re.compile(r"[\"'\\([{]")
TEXT_CELLS: Final = frozenset({
    "!", "HTML", "R", "SVG", "bash", "bigquery", "cmd", "cython", "file", "html", "javascript",
    "js", "latex", "markdown", "perl", "pypy", "python", "python2", "python3", "ruby", "script",
    "sh", "sql", "svg", "sx", "system", "writefile",
})  # fmt: skip
"""Cell magics whose body is no code of the kernel."""
_RECORDED: Final = {
    "chat_undo": "undo", "chat_redo": "redo", "chat_reset": "reset", "chat_hide": "hiding",
    "chat_continue": "turn", "chat_instructions": "instructions",
}  # fmt: skip
"""The kind of the record that each of these commands always leaves."""


@dataclass(frozen=True, slots=True)
class MagicCall:
    """Magic in a cell's source.

    Args:
        name: the magic's name, such as ``chat_undo``.
        line: the text after the name.
        body: the text below ``%%chat`` and the like; ``None`` for a line.
        is_once: whether the cell runs it exactly once, unless an error ends it before.
    """

    name: str
    line: str
    body: str | None = None
    is_once: bool = True

    @property
    def count(self) -> int:
        """Number of its effects: ``%chat_retry -t 0 -t 1`` asks twice."""
        flags = re.findall(r"(?<!\S)--?([tm])(?:emperature|odel)?(?![\w-])", self.line)
        is_retry = self.name == "chat_retry"
        return max(1, flags.count("t")) * max(1, flags.count("m")) if is_retry else 1

    @property
    def asks(self) -> bool:
        """Whether it asks a question of its own."""
        return self.name in {"chat", "chat_fix"}

    def parsed(self, recorded: Mapping[str, Any] | None = None) -> ParsedLine | None:
        """Return the options and the question as typed; ``None`` if it asks nothing.

        Args:
            recorded: the fields of the question in the record, which settings may have set.
        """
        if likely_mistakes.is_only_help(self.line, self.body):
            return None
        try:
            parsed = magic_line.parse_line(self.line, recorded=recorded or {})
        except InputError:
            return None
        body = (self.body or "").rstrip("\n")
        if self.name == "chat_fix":
            parsed = replace(parsed, with_error=True)
            prompt = correction(parsed.prompt, body)
        else:
            prompt = parsed.question(parsed.prompt, body)
        if parsed.dry or not prompt.strip():
            return None
        return replace(parsed, prompt=without_lone_surrogates(prompt))

    @property
    def gets_reply(self) -> bool:
        """Whether it asks a question, its own or one again, or puts a reply back."""
        if self.asks:
            return self.parsed() is not None
        return self.recorded in {"turn", "pick"}

    @property
    def is_quiet(self) -> bool:
        """Whether it asks without showing the reply."""
        parsed = self.parsed() if self.asks else None
        return parsed is not None and parsed.quiet

    @property
    def recorded(self) -> str:
        """The kind of the record that it leaves in the cell's output; empty for none."""
        words = self.line.split()
        if self.asks:
            parsed = self.parsed()
            return "" if parsed is None or parsed.quiet else "turn"
        if self.name == "chat_retry":
            return _record_of_retry(words)
        if self.name == "chat_thread" and words:
            return "deletion" if "--delete" in words else "thread"
        if self.name == "chat_instructions" and self.body is None:
            return ""  # it shows the current instructions
        return _RECORDED.get(self.name, "")


def _record_of_retry(words: Sequence[str]) -> str:
    """Return the kind of the record that ``%chat_retry`` leaves; empty if it only lists."""
    if any(word.startswith(("--list", "--stale")) for word in words):
        return ""
    return "pick" if any(word.startswith("--pick") for word in words) else "turn"


@dataclass(frozen=True, slots=True)
class Plan:
    """The effect of a code cell's source.

    Args:
        commands: its magics of chatmagic, in their order.
        code: the rest of the source.
    """

    commands: tuple[MagicCall, ...]
    code: str = ""

    @property
    def asks(self) -> bool:
        """Whether one of its magics asks."""
        return any(command.gets_reply for command in self.commands)


def plan_of(source: str) -> Plan:
    """Return the effect of a code cell's source.

    Args:
        source: the cell's source.
    """
    whole_source = source if source.endswith("\n") else f"{source}\n"
    lines = whole_source.splitlines(keepends=True)
    call = cell_magic(lines)
    if call is not None:
        return Plan((replace(call, body=(call.body or "").removesuffix("\n")),))
    first = first_line(lines)
    other = None if first is None else re.match(r"%%(\S+)", lines[first])
    if other is not None and other[1] in TEXT_CELLS:
        return Plan((), source)
    commands = []
    code = []
    for statement in statements(source):
        line = in_one_line(statement)
        magic = re.fullmatch(_LINE, line)
        if magic is not None and magic["line"].strip() not in {"?", "??"}:
            is_plain = not magic["indent"] and other is None and magic["percent"] == "%"
            is_once = is_plain and _is_assignment(magic["target"])
            call = MagicCall(magic["command"], magic["line"].strip(), is_once=is_once)
            commands += [replace(call) for _ in range(call.count)]
            if magic["percent"] and not line.lstrip().startswith("%time"):
                continue
        elif line.lstrip().startswith("#"):
            continue
        code.append(statement.rstrip())
    return Plan(tuple(commands), "\n".join(filter(str.strip, code)))


def in_one_line(statement: str) -> str:
    """Return a magic as one line: a line that ends in a backslash continues in the next.

    Args:
        statement: its lines.
    """
    return re.sub(r"\\[^\S\n]*\n", " ", statement).rstrip()


def statements(source: str) -> Iterator[str]:
    """Yield the logical lines of a cell: those of a statement or a magic, by Python's tokens.

    So no line within a string or within brackets is taken for a magic.

    Args:
        source: the cell's source.
    """
    lines = source.split("\n")
    begin = 0
    while begin < len(lines):
        end = begin + 1
        if _NO_PYTHON.match(lines[begin]):
            while end < len(lines) and _CONTINUED.search(lines[end - 1]):
                end += 1
        elif _SEVERAL_LINES.search(lines[begin]) and lines[begin].lstrip()[0] != "#":
            end = _end_of_statement(lines, begin)
        yield "\n".join(lines[begin:end])
        begin = end


def _end_of_statement(lines: Sequence[str], begin: int) -> int:
    """Return the index of the first line below a statement; of a broken one, that of the end."""
    following = (f"{lines[at]}\n" for at in range(begin, len(lines)))
    tokens = tokenize.generate_tokens(lambda: next(following, ""))
    try:
        return begin + next(token.start[0] for token in tokens if token.type == tokenize.NEWLINE)
    except (tokenize.TokenError, SyntaxError):
        return len(lines)  # Python runs nothing of such a cell


def parsed_python(text: str) -> ast.Module | None:
    """Return the syntax tree of Python's text; ``None`` if it has none.

    Args:
        text: the text, from any file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _is_assignment(target: str | None) -> bool:
    """Return whether the text before a magic is nothing, or assigns its value."""
    if target is None:
        return True
    tree = parsed_python(f"{target}0")
    kinds = [] if tree is None else [type(statement) for statement in tree.body]
    return kinds in ([ast.Assign], [ast.AnnAssign])


def cell_magic(lines: Sequence[str]) -> MagicCall | None:
    """Return the magic whose body is the whole cell; ``None`` for any other cell.

    Args:
        lines: the cell's lines, with their line ends.
    """
    first = first_line(lines)
    if first is None:
        return None
    magic = re.match(_CELL, lines[first].rstrip("\r\n"))
    if magic is None:
        return None
    # A tool's comment above becomes part of the body, where it is refused with a hint.
    above = [line for line in lines[:first] if line.strip()]
    body = "".join([*above, *lines[first + 1 :]])
    return MagicCall(magic["command"], magic["line"] or "", body)


def first_line(lines: Sequence[str]) -> int | None:
    """Return the index of a cell's first line below those that may stand above a magic, if any.

    Args:
        lines: the cell's lines.
    """
    return next((number for number, line in enumerate(lines) if not re.match(_ABOVE, line)), None)


def source_for(prompt: str, *options: str, has_values: bool = False) -> str:
    """Return the source of the cell that asks a prompt.

    Args:
        prompt: the prompt as typed.
        options: the options of the cell, as typed.
        has_values: whether its ``{{ }}`` are expressions, to be evaluated again.
    """
    is_raw = not has_values and ("{{" in prompt or re.match(COMMENT, prompt) is not None)
    first = " ".join(["%%chat", *options, *(["--raw"] if is_raw else [])])
    # The cell's last line end is not part of the prompt, so the prompt's own needs another.
    end = "\n" if prompt.endswith("\n") else ""
    return f"{first}\n{prompt}{end}"
