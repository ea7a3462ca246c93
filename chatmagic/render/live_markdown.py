"""A reply under way as blocks of safe HTML: each finished block is rendered and made safe once.

When more text comes, only the text after the last certain end of a block is rendered again. So
the total time is linear in the reply's length. The HTML differs in a few ways from that of
:func:`chatmagic.render.markdown.to_html`, which replaces it when the reply is complete:

- a link or a footnote whose definition comes later is shown as text;
- a formula with an empty line in it is text;
- a block that grows beyond :data:`LONGEST` characters is cut, and continues as a new block;
- a part that is nested too deeply is plain text, but not the whole reply;
- the part above the reply's first word is read from the left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from markdown_it.token import Token
from markdown_it.utils import EnvType

from chatmagic._log import log_swallowed
from chatmagic.render import markdown, markdown_parser, sanitize
from chatmagic.safe_text import PROSE, visible

LONGEST: Final = 1_500
"""Largest number of characters, beside one more line, that each drawing renders again."""
_LONGEST_CODE: Final = 800  # the same for a block of code, whose parts look like one block
_SLICE: Final = 4_000  # characters that are parsed at once, so that each parse is short
_HEAD_LINES: Final = {"fence": 1, "table_open": 2}
"""Number of the first lines of a block that stand above each of its parts."""
_LONGEST_HEAD: Final = 200  # characters of the lines that a cut block repeats at its beginning
_CERTAIN: Final = 32  # characters of a line after which it cannot become a list item

_GAP: Final = re.compile(r"\n[ \t]*\n[ \t]*\S")
_HELD: Final = re.compile("[\r\ud800-\udbff]\\Z")
_LISTS: Final = frozenset(["bullet_list_open", "ordered_list_open", "code_block"])
"""Blocks that may continue after an empty line."""


class BlockChange(NamedTuple):
    """Change of the blocks on the screen.

    Args:
        keep: number of the first blocks that stay.
        blocks: the blocks that follow them now.
    """

    keep: int
    blocks: list[str]


class LiveMarkdown:
    """Reply under way in Markdown, as blocks of safe HTML.

    Args:
        opening: text that is parsed before the reply, such as the line that opens a block of code.
    """

    def __init__(self, opening: str = "") -> None:
        """Start without text."""
        self.blocks: list[str] = []
        """The blocks on the screen; the first ``finished`` of them do not change any more."""
        self.finished = 0
        self.side = "auto"
        """The direction of the reply as a whole: ``rtl``, or else ``auto``."""
        self._env: EnvType = {**markdown.environment(live=True), "references": {}, "side": ""}
        self._count = 0
        self._length = 0
        self._held = ""
        self._rest = opening
        self._is_too_much = False

    def feed(self, text: str) -> BlockChange:
        """Add text, and return the change of the blocks.

        Args:
            text: the text since the last call.
        """
        if self._is_too_much:
            return BlockChange(len(self.blocks), [])
        self._length += len(text)
        text = self._held + text
        # The second half of a line end or of a character may come with the next fragment.
        incomplete = _HELD.search(text)
        self._held = "" if incomplete is None else incomplete[0]
        text = visible(text.removesuffix(self._held)).replace("\r\n", "\n").replace("\r", "\n")
        if self._length >= markdown.MOST_MARKDOWN:
            return self._give_up(f"it has more than {markdown.MOST_MARKDOWN:,} characters")
        finished: list[str] = []
        for at in range(0, len(text), _SLICE):
            self._rest += text[at : at + _SLICE]
            finished += self._finish()
        env = {**self._env}
        unfinished, count = self._render(self._rest, env)
        if self._count + count > markdown.MOST_BLOCKS:
            return self._give_up(markdown.TOO_MANY)
        self.side = "rtl" if env["side"] == "rtl" else "auto"
        return self._show(finished, unfinished)

    def box(self, mark: str) -> str:
        """Return the box of the reply with all its blocks.

        Args:
            mark: CSS classes by which a page finds the box.
        """
        return sanitize.live_box("".join(self.blocks), self.side, mark)

    def _finish(self) -> list[str]:
        """Return the finished blocks, rendered, and remove them from the rest."""
        finished: list[str] = []
        while (cut := self._cut(self._rest)) is not None:
            end, again = cut
            self._env["goes_on"] = bool(again)
            blocks, count = self._render(self._rest[:end], self._env)
            self._count += count
            self._env["continues"] = again.lstrip().startswith(("```", "~~~"))
            self._rest = again + self._rest[end:]
            finished += blocks
        self._env["goes_on"] = False
        return finished

    def _show(self, finished: list[str], unfinished: Sequence[str]) -> BlockChange:
        """Replace the blocks after the finished ones, and return the change."""
        shown = self.blocks
        new = [*finished, *unfinished]
        begin = self.finished
        keep = begin
        while keep < len(shown) and keep - begin < len(new) and shown[keep] == new[keep - begin]:
            keep += 1
        self.finished += len(finished)
        shown[keep:] = new[keep - begin :]
        return BlockChange(keep, shown[keep:])

    def _render(self, text: str, env: EnvType) -> tuple[list[str], int]:
        """Return a part of the reply as safe blocks, and their number as a page counts them.

        Args:
            text: the part.
            env: the parser's state after the part above; it is updated.
        """
        try:
            env["references"] = {**env["references"]}  # else a copy of env would share them
            tokens = markdown.PARSER.parse(text, env)
            if markdown.is_too_deep(tokens):
                return [_plain(text)], 1
            env["side"] = env["side"] or markdown_parser.side(tokens)
            markdown_parser.set_directions(tokens, env["side"])
            blocks = [
                sanitize.clean(markdown.PARSER.renderer.render(block, markdown.PARSER.options, env))
                for block in markdown_parser.top_blocks(tokens)
            ]
        except Exception as error:  # noqa: BLE001 - no reply may be lost to a fault
            log_swallowed(error)
            return [_plain(text)], 1
        return blocks, markdown.block_count(tokens)

    def _cut(self, text: str) -> tuple[int, str] | None:
        """Return the place of a cut in a text, and the lines that the part after it repeats.

        Args:
            text: the end of the reply so far, from the beginning of a block on.

        Returns:
            The last certain end of a block, or else a place in a block that is too long; ``None``
            without such a place.
        """
        is_code = text.startswith(("```", "~~~"))
        is_long = len(text) > (_LONGEST_CODE if is_code else LONGEST)
        if not is_long and not _GAP.search(text):
            return None
        lines = text.split("\n")
        blocks = markdown_parser.top_blocks(markdown_parser.OUTLINE.parse(text))
        begins = [block[0].map[0] if block[0].map else 0 for block in blocks]
        for place in range(len(blocks) - 1, 0, -1):
            line = begins[place]
            is_paragraph = blocks[place][0].type == "paragraph_open"
            is_certain = line < len(lines) - 1 or (is_paragraph and len(lines[line]) >= _CERTAIN)
            follows_list = blocks[place - 1][0].type in _LISTS
            # No formula, paragraph or table continues after an empty line.
            is_behind_gap = not lines[line - 1].strip(" \t")
            if is_behind_gap and (is_certain or not follows_list):
                return _offset(lines, line), ""
        return _cut_inside(lines, blocks, begins) if is_long else None

    def _give_up(self, why: str) -> BlockChange:
        """Show no more of a reply that is too large for a page, until the reply has ended."""
        self._is_too_much = True
        words = f"<p><em>The rest is shown when the reply has ended: {why}.</em></p>\n"
        return self._show([sanitize.clean(words)], ())


class LiveText(LiveMarkdown):
    """Reply under way in plain text, shown as it arrived."""

    def _render(self, text: str, _: EnvType) -> tuple[list[str], int]:
        """Return a part of the reply as a block of plain text."""
        return [_plain(text.removesuffix("\n"))], 0

    def _cut(self, text: str) -> tuple[int, str] | None:
        """Return the place of a cut in a text that is too long, at the end of a line if it can."""
        if len(text) <= LONGEST:
            return None
        return text.rfind("\n", 0, LONGEST) + 1 or LONGEST, ""


def _plain(text: str) -> str:
    """Return plain text as a safe block."""
    return sanitize.clean(f'<pre style="{PROSE}">{escape(visible(text), quote=False)}</pre>\n')


def _cut_inside(lines: list[str], blocks: list[list[Token]], begins: list[int]) -> tuple[int, str]:
    """Return the cut of a long text without a certain end of a block, and the repeated lines."""
    if len(begins) > 1:
        return _offset(lines, begins[-1]), ""
    begin = begins[0] if begins else 0
    block = blocks[0] if begins else []
    kind = block[0].type if block else ""
    items = [token.map[0] for token in block if token.level == 1 and token.map]
    if kind in _LISTS and items and items[-1] > begin:
        return _offset(lines, items[-1]), ""
    # The line that opens code, and the head of a table, stand above each part.
    body = begin + _HEAD_LINES.get(kind, 0)
    head = "".join(f"{line}\n" for line in lines[begin:body])
    again = "" if len(head) > _LONGEST_HEAD else head
    last = len(lines) - 1
    if last > body:
        return _offset(lines, last), again
    return _cut_in_line("\n".join(lines), _offset(lines, body)), again


def _cut_in_line(text: str, start: int) -> int:
    """Return the place of a cut in a very long line: behind a blank, if there is one.

    Args:
        text: the text.
        start: the place where its last line begins.
    """
    blank = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
    return start + LONGEST if blank < 0 else blank + 1


def _offset(lines: list[str], count: int) -> int:
    """Return the number of characters in the first lines, line ends included."""
    return sum(map(len, lines[:count])) + count
