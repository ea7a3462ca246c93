"""Writers of a report's parts: Markdown in which no text acts, and plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from chatmagic.render.safe_markdown import code_block, escaped
from chatmagic.safe_text import one_line, to_terminal, visible
from chatmagic.study.report_fields import BLANKS, Field

_LONGEST: Final = 300


class ReportWriter(Protocol):
    """Writer of a report's parts; all texts are untrusted."""

    def heading(self, text: str, level: int) -> str:
        """Return a heading."""

    def prose(self, text: str) -> str:
        """Return a paragraph."""

    def table(self, fields: Sequence[Field]) -> str:
        """Return the fields of a section."""

    def items(self, lines: Sequence[str]) -> str:
        """Return a list."""

    def label(self, text: str) -> str:
        """Return a line above a block."""

    def block(self, text: str) -> str:
        """Return a prompt or an answer, exactly."""


class MarkdownWriter:
    """Writer of Markdown in which no text acts."""

    def heading(self, text: str, level: int) -> str:
        """Return a heading."""
        return f"{'#' * level} {escaped(text)}"

    def prose(self, text: str) -> str:
        """Return a paragraph."""
        # A blank is chatmagic's own text.
        return f"**{text}**" if text in BLANKS else escaped(text)

    def table(self, fields: Sequence[Field]) -> str:
        """Return the fields of a section."""
        rows = [
            f"| {escaped(item.name)} | {'<br>'.join(map(self.prose, item.lines))} |"
            for item in fields
        ]
        return "\n".join(["| Field | Value |", "|---|---|", *rows])

    def items(self, lines: Sequence[str]) -> str:
        """Return a list."""
        return "\n".join(f"- {escaped(line)}" for line in lines)

    def label(self, text: str) -> str:
        """Return a line above a block."""
        return f"*{escaped(text)}:*"

    def block(self, text: str) -> str:
        """Return a prompt or an answer, exactly."""
        return code_block(text)


class TextWriter:
    """Writer of plain text."""

    def heading(self, text: str, level: int) -> str:
        """Return a heading."""
        line = one_line(text, _LONGEST)
        return f"{line}\n{('=' if level == 1 else '-') * len(line)}" if level < 3 else line  # noqa: PLR2004

    def prose(self, text: str) -> str:
        """Return a paragraph."""
        return one_line(text, len(text) + 1)

    def table(self, fields: Sequence[Field]) -> str:
        """Return the fields of a section."""
        lines = [f"{item.name}: {line}" for item in fields for line in item.lines]
        return "\n".join(one_line(line, len(line) + 1) for line in lines)

    def items(self, lines: Sequence[str]) -> str:
        """Return a list."""
        return "\n".join(f"  {one_line(line, len(line) + 1)}" for line in lines)

    def label(self, text: str) -> str:
        """Return a line above a block."""
        return f"{text}:"

    def block(self, text: str) -> str:
        """Return a prompt or an answer, exactly."""
        return "\n".join(f"    {line}" for line in visible(to_terminal(text)).split("\n"))
