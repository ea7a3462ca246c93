"""Comparison of two files with questions: what changed, and why, the cause before the effect.

Questions are paired by what they have in common, the surest first: the cell and the request, the
cell and the prompt, the cell, the request, the prompt as sent, the row, the prompt as typed. What
remains is paired if the prompts are alike. So a question that was edited, moved or only asked again
stands beside its earlier self, in any mixture of files.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from chatmagic._json import iso, turn_digest
from chatmagic.cassette.cassette import Cassette, copies_before_refresh
from chatmagic.cassette.interaction import DIGITS
from chatmagic.conversation import template
from chatmagic.errors import InputError
from chatmagic.safe_text import columns, counted, one_line, to_terminal
from chatmagic.study.sources import Asked, Source, from_interactions, read_source

Cause = Literal[
    "prompt", "value", "context", "settings", "model", "not recorded", "asked again", "same answer"
]
Mark = Literal["same", "old", "new"]

TWO: Final = 2
VERSION: Final = 1
LIKE: Final = 0.6
"""Likeness of two prompts, from 0 to 1, from which they are taken for one that was edited."""
MOST_COMPARED: Final = 200
"""Largest number of questions without a partner whose prompts are compared with one another."""
MOST_WORDS: Final = 3_000
"""Largest number of words of a difference within which words are compared one by one."""
_EXCERPT: Final = 48
_LONGEST: Final = 200
_BEFORE: Final = 12
_ALL_FILES: Final = ("max_tokens", "temperature", "stream")
"""The settings that files of every kind have."""
_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Change:
    """Cause of another answer.

    Args:
        cause: its kind.
        detail: the change in words; empty for none.
    """

    cause: Cause
    detail: str = ""

    def __str__(self) -> str:
        """Return both in words."""
        return f"{self.cause}: {self.detail}" if self.detail else self.cause


@dataclass(frozen=True, slots=True)
class Pair:
    """A question in both files, or in one of them.

    Args:
        old: the question in the first file; ``None`` if it is only in the second one.
        new: the question in the second file; ``None`` if it is only in the first one.
        changes: the causes, in the order of :data:`Cause`; empty if it is in one file only.
        words: the words of both answers, in their order, with their marks.
    """

    old: Asked | None
    new: Asked | None
    changes: tuple[Change, ...] = ()
    words: tuple[tuple[Mark, str], ...] = ()

    @property
    def has_other_words(self) -> bool:
        """Whether the answers differ in their words."""
        return any(mark != "same" for mark, _ in self.words)

    @property
    def is_only_again(self) -> bool:
        """Whether nothing changed but that it may have been asked again."""
        return {change.cause for change in self.changes} <= {"asked again", "same answer"}

    @property
    def differs(self) -> bool:
        """Whether the words, or a cause of other words, differ."""
        return (
            self.old is None or self.new is None or self.has_other_words or not self.is_only_again
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two files.

    Args:
        old: names of the first files.
        new: names of the second files.
        pairs: the questions.
        notes: lines on the files themselves.
    """

    old: str
    new: str
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of questions by what became of them."""
        count = Counter(map(_outcome, self.pairs))
        return {words: count[words] for words in _OUTCOMES}

    @property
    def differs(self) -> bool:
        """Whether any question differs."""
        return any(pair.differs for pair in self.pairs)


_OUTCOMES: Final = (
    "other words",
    "the same words, though a cause changed",
    "asked again, word for word the same",
    "the same answer",
    "only in the old one",
    "only in the new one",
)


def _outcome(pair: Pair) -> str:
    if pair.new is None:
        return "only in the old one"
    if pair.old is None:
        return "only in the new one"
    if pair.has_other_words:
        return "other words"
    if not pair.is_only_again:
        return "the same words, though a cause changed"
    is_same = all(change.cause == "same answer" for change in pair.changes)
    return "the same answer" if is_same else "asked again, word for word the same"


def of_files(paths: Sequence[Path]) -> Comparison:
    """Return the comparison of two files, or of a cassette with itself before its last refresh.

    Args:
        paths: the files.

    Raises:
        InputError: a file cannot be read, their number is another one, or there was no refresh.
    """
    if len(paths) == 1:
        path = paths[0]
        before = copies_before_refresh(path)
        if not before:
            raise InputError(
                f"{path} is one file, and no copy from before a refresh is beside it.",
                hint="Name two files to compare.",
            )
        paths = (before[-1], path)
    if len(paths) != TWO:
        raise InputError(f"Two files are compared, not {len(paths):,}.")
    old, new = (read_source(path) for path in paths)
    return compare(old, new)


def of_refresh(cassette: Cassette) -> Comparison:
    """Return the comparison of a cassette with itself before its refresh here.

    It has the questions with a new answer. New questions, and those that were not asked, are none.

    Args:
        cassette: the cassette, in the mode ``refresh``.
    """
    name = cassette.config.name
    old = from_interactions(cassette.loaded, name)
    new = from_interactions(cassette.interactions, name)
    pairs = compared(old, new)
    renewed = tuple(pair for pair in pairs if pair.old is not None and pair.new is not None)
    return Comparison(f"{name} before the refresh", name, renewed)


def compare(old: Source, new: Source) -> Comparison:
    """Return the comparison of two files.

    Args:
        old: the first file.
        new: the second file.
    """
    notes = [
        f"{source.path}: {counted(len(source.problems), 'problem')}: {source.problems[0]}"
        for source in (old, new)
        if source.problems
    ]
    return Comparison(old.path, new.path, compared(old.asked, new.asked), tuple(notes))


def compared(old: Sequence[Asked], new: Sequence[Asked]) -> tuple[Pair, ...]:
    """Return pairs of questions, in the order of the new ones; those without a new one are last.

    Args:
        old: the earlier questions.
        new: the later questions.
    """
    partners = _partners(old, new)
    pairs = [_pair(old[partners[at]], item) if at in partners else Pair(None, item)
             for at, item in enumerate(new)]  # fmt: skip
    taken = {*partners.values()}
    gone = [Pair(item, None) for at, item in enumerate(old) if at not in taken]
    return (*pairs, *gone)


def _pair(old: Asked, new: Asked) -> Pair:
    return Pair(
        old, new, tuple(_changes(old, new)), tuple(marked_words(_answer(old), _answer(new)))
    )


def _answer(asked: Asked) -> str:
    """Return the reply, or the error in its place."""
    return f"[{asked.error}]" if asked.text is None else asked.text


# --- Pairs --------------------------------------------------------------------------------------


def _partners(old: Sequence[Asked], new: Sequence[Asked]) -> dict[int, int]:
    """Return the number of the old question of each new one that has one."""
    partners: dict[int, int] = {}
    free = dict.fromkeys(range(len(old)))
    for key in _KEYS:
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for at in free:
            if (name := key(old[at])) is not None:
                waiting[name].append(at)
        for at, item in enumerate(new):
            if at not in partners and (name := key(item)) is not None and waiting[name]:
                partners[at] = waiting[name].popleft()
                free.pop(partners[at])
    left = [at for at in range(len(new)) if at not in partners]
    if free and left and max(len(free), len(left)) <= MOST_COMPARED:
        likes = ((_likeness(old[a], new[b]), -a, -b) for a in free for b in left)
        for like, a, b in sorted(likes, reverse=True):
            if like >= LIKE and -a in free and -b not in partners:
                partners[-b] = -a
                free.pop(-a)
    return partners


def _likeness(old: Asked, new: Asked) -> float:
    """Return the likeness of two prompts as typed, from 0 to 1."""
    return difflib.SequenceMatcher(None, old.typed[:_LONGEST], new.typed[:_LONGEST]).ratio()


def _of_cell(*names: str) -> Callable[[Asked], Hashable]:
    def key(asked: Asked) -> Hashable:
        if asked.cell is None:
            return None
        return asked.cell, *(getattr(asked, name) for name in names)

    return key


_KEYS: Final[tuple[Callable[[Asked], Hashable], ...]] = (
    _of_cell("request", "asked_model"),
    _of_cell("request"),
    _of_cell("typed"),
    _of_cell(),
    lambda asked: (asked.request, asked.asked_model),
    lambda asked: asked.request,
    lambda asked: asked.prompt_digest,
    lambda asked: (asked.place, asked.repeat) if asked.kind == "map" else None,
    lambda asked: (asked.typed, *sorted(asked.settings)) if asked.kind != "map" else None,
    lambda asked: asked.typed if asked.kind != "map" else None,
)
"""What two questions have in common, the surest first; ``None`` is nothing."""


# --- Causes -------------------------------------------------------------------------------------


def _changes(old: Asked, new: Asked) -> Iterator[Change]:
    """Yield the causes of another answer, in their order."""
    found = [
        *_prompt_change(old, new),
        *_context_change(old, new),
        *_settings_change(old, new),
    ]
    models = [*_model_change(old, new)]
    if not found and old.request != new.request:
        detail = "the request differs in something that these files do not keep"
        found.append(Change("not recorded", detail))
    found.sort(key=lambda change: _ORDER.index(change.cause))
    if found or models:
        yield from sorted([*found, *models], key=lambda change: _ORDER.index(change.cause))
    else:
        is_same = (_answer(old), old.date, old.response_id) == (
            _answer(new), new.date, new.response_id)  # fmt: skip
        yield Change("same answer" if is_same else "asked again")


_ORDER: Final = ("prompt", "value", "context", "settings", "model", "not recorded")


def _prompt_change(old: Asked, new: Asked) -> Iterator[Change]:
    """Yield a change of the prompt as typed, or of the values in it."""
    if old.typed.rstrip("\n") != new.typed.rstrip("\n") and old.typed and new.typed:
        yield Change("prompt", _excerpts(old.typed, new.typed))
    elif old.request == new.request:
        return
    elif old.kind == new.kind == "notebook":
        ours, theirs = _inserted(new), _inserted(old)
        names = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
        if names:
            yield Change("value", ", ".join(f"{{{{ {one_line(name, 40)} }}}}" for name in names))
    elif _has_same_prompt(old, new) is False and (_has_values(old) or _has_values(new)):
        yield Change("value")


def _inserted(asked: Asked) -> dict[str, str]:
    """Return the digests of the values in a prompt, by their expressions."""
    return {value.expression: value.sha256 for value in asked.values if value.kind is None}


def _has_values(asked: Asked) -> bool:
    """Return whether values stand in the prompt, as far as that is known."""
    if asked.kind == "notebook":
        return bool(_inserted(asked))
    if asked.prompt is None:
        return True
    return not _rest(asked).endswith(asked.typed)


def _rest(asked: Asked) -> str:
    """Return the prompt as sent without the words on the form; empty if it is unknown."""
    return template.split_form(asked.prompt or "")[1]


def _has_same_prompt(old: Asked, new: Asked) -> bool | None:
    """Return whether two prompts are the same but for their form; ``None`` if that is unknown."""
    if old.prompt is not None and new.prompt is not None:
        return _rest(old) == _rest(new)
    if old.prompt_digest is not None and new.prompt_digest is not None:
        return old.prompt_digest == new.prompt_digest
    known, other = (old, new) if old.prompt is not None else (new, old)
    if known.prompt is None or other.name is None or other.text is None:
        return None
    if _form(known, other) != _form(other, known):
        return None
    return turn_digest(known.prompt, other.text)[:DIGITS] == other.name


def _context_change(old: Asked, new: Asked) -> Iterator[Change]:
    """Yield changes of what the request carried: turns, instructions, cells above."""
    if old.request != new.request and old.context != new.context:
        yield Change("context", _context_words(old, new))
    if old.request != new.request and old.instructions != new.instructions:
        words = "other" if old.instructions and new.instructions else "new"
        yield Change("context", f"{words if new.instructions else 'no'} instructions")
    if old.thread != new.thread and None not in (old.thread, new.thread):
        names = [one_line(str(asked.thread), 40) for asked in (old, new)]
        yield Change("context", f"thread {names[0]} -> {names[1]}")
    if _in_front(old, new) != _in_front(new, old):
        yield Change("context", "the cells or the error in front of the prompt")


def _in_front(asked: Asked, other: Asked) -> object:
    """Return what stands in front of a prompt, without its form, to compare it with another."""
    if asked.kind == "notebook":
        front = [
            (value.kind, value.expression, value.sha256)
            for value in asked.values
            if value.kind in {"cell", "markdown", "error"}
        ]
        return front if other.kind == "notebook" else bool(front)
    rest = _rest(asked)
    front_text = rest.removesuffix(asked.typed) if rest.endswith(asked.typed) else ""
    return front_text if other.kind == asked.kind else bool(front_text)


def _context_words(old: Asked, new: Asked) -> str:
    ours, theirs = new.context, old.context
    if len(ours) != len(theirs):
        return f"it carries {counted(len(ours), 'turn')}, and carried {len(theirs):,}"
    at = next(
        place for place, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]
    )
    return f"turn {at + 1:,} of {len(ours):,} that it carries has another prompt or reply"


def _settings_change(old: Asked, new: Asked) -> Iterator[Change]:
    """Yield the settings that differ, of those that files of both kinds have."""
    names = [*dict.fromkeys([*old.settings, *new.settings])]
    if old.kind != new.kind:
        names = [name for name in names if name in _ALL_FILES]
    words = [
        f"{one_line(name)} {_value(old.settings, name)} -> {_value(new.settings, name)}"
        for name in names
        if old.settings.get(name) != new.settings.get(name)
    ]
    forms = [_form(asked, other) for asked, other in ((old, new), (new, old))]
    if not words and forms[0] != forms[1]:
        words.append("the form, or the content of its schema")
    if words:
        yield Change("settings", ", ".join(words))


def _form(asked: Asked, other: Asked) -> object:
    """Return the words on the form in front of a prompt, to compare them with another's."""
    values = [value for value in asked.values if value.kind == "format"]
    if asked.prompt is not None and other.prompt is not None:
        return template.split_form(asked.prompt)[0]
    if asked.kind == other.kind == "notebook":
        return [value.sha256 for value in values]
    return (
        bool(values)
        if asked.kind == "notebook"
        else template.split_form(asked.prompt or "")[0] != ""
    )


def _value(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return "not set"
    return one_line(json.dumps(settings[name], ensure_ascii=False, default=str), 40)


def _model_change(old: Asked, new: Asked) -> Iterator[Change]:
    """Yield a change of the model, or of the service."""
    facts = {
        "asked for": (old.asked_model, new.asked_model),
        "answered": (old.model, new.model),
        "fingerprint": (old.system_fingerprint, new.system_fingerprint),
        "origin": (old.origin, new.origin),
        "service": (old.service, new.service),
    }
    # Only a file of a map has the service, and it has no origin.
    unknown = {"origin", "service"} if old.kind != new.kind else set()
    words = [
        f"{name} {_known(before, name)} -> {_known(after, name)}"
        for name, (before, after) in facts.items()
        if before != after and not (name in unknown and None in (before, after))
    ]
    if words:
        yield Change("model", ", ".join(words))


def _known(value: str | None, name: str) -> str:
    if value is None:
        return "none" if name == "asked for" else "not told"
    return one_line(value, 40)


def _excerpts(old: str, new: str) -> str:
    """Return the first difference of two texts."""
    begin = max(0, _shared(old, new) - _BEFORE)
    before, after = (one_line(text[begin:], _EXCERPT) for text in (old, new))
    return f"{before!r} -> {after!r}"


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the length of the common beginning."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


# --- Words --------------------------------------------------------------------------------------


def marked_words(old: str, new: str) -> list[tuple[Mark, str]]:
    """Return the words of two texts, each with a mark: of both, of the old or of the new one.

    Within very long differences words are not compared one by one.

    Args:
        old: the earlier text.
        new: the later text.
    """
    if old == new:
        return [("same", old)] if old else []
    ours, theirs = _WORD.findall(old), _WORD.findall(new)
    begin = _shared(ours, theirs)
    end = _shared(ours[begin:][::-1], theirs[begin:][::-1])
    middle = ours[begin : len(ours) - end], theirs[begin : len(theirs) - end]
    parts: list[tuple[Mark, str]] = [("same", "".join(ours[:begin]))]
    if max(map(len, middle)) > MOST_WORDS:
        parts += [("old", "".join(middle[0])), ("new", "".join(middle[1]))]
    else:
        matcher = difflib.SequenceMatcher(None, *middle, autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag == "equal":
                parts.append(("same", "".join(middle[0][a:b])))
            else:
                parts += [("old", "".join(middle[0][a:b])), ("new", "".join(middle[1][c:d]))]
    parts.append(("same", "".join(ours[len(ours) - end :])))
    return [(mark, text) for mark, text in parts if text]


_SIGNS: Final = {"old": ("[-", "-]"), "new": ("{+", "+}")}


def _marked(words: Sequence[tuple[Mark, str]], mark: Mark) -> str:
    """Return one of the texts around its first difference, with its own words marked."""
    parts = [part for part in words if part[0] in {"same", mark}]
    at = next((place for place, part in enumerate(parts) if part[0] == mark), 0)
    before = "".join(text for _, text in parts[:at])
    head = _with_blanks(before[-_LONGEST:], _LONGEST)
    shown = ("…" + head[-_BEFORE:]) if len(head) > _BEFORE else head
    for kind, text in parts[at:]:
        left = _EXCERPT - len(shown)
        if left <= 0:
            return shown + "…"
        begin, end = _SIGNS.get(kind, ("", ""))
        shown += f"{begin}{_with_blanks(text, max(left, 8))}{end}" if text.strip() else " "
    return shown


def _with_blanks(text: str, limit: int) -> str:
    """Return a text in one line, with a blank at an end where it has some."""
    begin = " " if text[:1].isspace() else ""
    return f"{begin}{one_line(text, limit)}{' ' if text[-1:].isspace() else ''}"


# --- The comparison as text and as JSON ----------------------------------------------------------


def as_text(comparison: Comparison, *, every: bool = False) -> str:
    """Return a comparison for a terminal: a line of numbers, and a table.

    Args:
        comparison: the comparison.
        every: whether the table has the questions that do not differ, too.
    """
    counts = [f"{count:,} {words}" for words, count in comparison.counts.items() if count]
    names = f"{one_line(comparison.old, _LONGEST)} -> {one_line(comparison.new, _LONGEST)}"
    total = counted(len(comparison.pairs), "question")
    lines = [f"{names}: {total}{': ' if counts else ''}{', '.join(counts)}."]
    lines += [f"! {one_line(note, _LONGEST)}" for note in comparison.notes]
    shown = [pair for pair in comparison.pairs if every or pair.differs]
    if shown:
        grid: list[tuple[str, ...]] = [("cause", "prompt", "", "words", "model", "date")]
        for pair in shown:
            grid += _rows(pair)
        lines += columns(grid)
    return to_terminal("\n".join(lines))


def _rows(pair: Pair) -> list[tuple[str, ...]]:
    """Return the lines of a question: of its old answer, and of its new one."""
    cause = "; ".join(map(str, pair.changes))
    if pair.old is None or pair.new is None:
        cause = "only in the new one" if pair.old is None else "only in the old one"
    lines: list[tuple[str, ...]] = []
    sides: tuple[tuple[Mark, Asked | None], ...] = ("old", pair.old), ("new", pair.new)
    for side, asked in sides:
        if asked is None:
            continue
        words = _marked(pair.words, side) if pair.words else one_line(_answer(asked), _EXCERPT)
        about = one_line(f"{asked.where}: {asked.typed or asked.prompt or ''}", 36)
        model = asked.model or asked.asked_model or "not told"
        date = "not told" if asked.date is None else f"{asked.date:%Y-%m-%d}"
        lines.append((one_line(cause, 60), about, side, words, one_line(model, 32), date))
        cause = ""
    return lines


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON, with the whole texts.

    Args:
        comparison: the comparison.
    """
    return {
        "version": VERSION,
        "old": comparison.old,
        "new": comparison.new,
        "counts": comparison.counts,
        "notes": [*comparison.notes],
        "questions": [
            {
                "causes": [{"cause": each.cause, "detail": each.detail} for each in pair.changes],
                "old": None if pair.old is None else _facts(pair.old),
                "new": None if pair.new is None else _facts(pair.new),
                "words": [[mark, text] for mark, text in pair.words],
            }
            for pair in comparison.pairs
        ],
    }


def _facts(asked: Asked) -> dict[str, Any]:
    return {
        "file": asked.file,
        "place": asked.where,
        "prompt": asked.typed,
        "settings": dict(asked.settings),
        "asked_model": asked.asked_model,
        "model": asked.model,
        "system_fingerprint": asked.system_fingerprint,
        "response_id": asked.response_id,
        "date": iso(asked.date),
        "text": asked.text,
        "error": asked.error,
    }
