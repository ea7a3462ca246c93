"""A cassette's exchanges: as values, as text, in a file that kernels share, and in a notebook.

A cassette is a file of JSON Lines. Its first line names the format and the version. Then each
exchange has:

- one line with the facts of the request and of its answer (the fields of :class:`Interaction`).
  ``after`` names an earlier exchange, and ``before`` the turns that were carried after that one.
  ``check`` is a digest of the whole exchange. Earlier files have two digests of a request with
  Markdown cells: ``request`` is of all of it, and ``without_markdown`` is the one of today;
- a line for each line of the prompt (``you``);
- a line for each line of the reply (``reply``).

In all of them ``in`` is a digest of the question and the reply. So two exchanges share no line
unless they share all of their text, and git merges no part of one into another. Each half of a
conflict has whole exchanges. So has the result of ``merge=union``, in which the text that two
exchanges share may stand once. Exchanges of earlier files have no ``in``, and stay as they are.

The file has no key, no request header and no address.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Final, Literal, Self

from chatmagic import _json
from chatmagic._files import LONGEST_WAIT, content_of, folder_lock, replace_content
from chatmagic._json import (
    MOST_IN_FILE,
    NOT_UTF_8,
    dataclass_from_json,
    exact,
    exact_count,
    exact_text,
    fields_to_json,
    has_many_values,
    json_fault,
    json_field,
    json_text,
    known_items,
    shared_fields,
    tuple_of,
    word_of,
)
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import NEW_CASSETTE
from chatmagic.archive import notebook, restore
from chatmagic.conversation.question import ASKED_FOR_THE_REST, AsTyped, Value
from chatmagic.conversation.record import Record
from chatmagic.conversation.turn import NOTHING
from chatmagic.errors import ChatError, InputError
from chatmagic.models import BodyFacts, Credits, Message, Origin, amount
from chatmagic.protocol import wire
from chatmagic.protocol.credits import HEADERS
from chatmagic.protocol.wire import Request
from chatmagic.safe_text import numbered

Merge = Callable[[tuple["Interaction", ...], tuple["Interaction", ...]], Iterable["Interaction"]]

VERSION: Final = 3
KEPT_HEADERS: Final = ("content-type", *HEADERS)
"""The only headers of an answer that are recorded."""
DIGITS: Final = 16
"""Number of digits of a turn's digest that are its name in a cassette."""
MARK_DIGITS: Final = 8
"""Number of digits of the digest in each line of a prompt or a reply."""

_CONFLICT: Final = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: .*)?")
"""A line that marks a half of a merge conflict (git-merge(1), "How conflicts are presented")."""
_BEFORE: Final = {"<": {""}, "|": {"<"}, "=": {"<", "|"}, ">": {"="}}
"""The marks that may stand before each mark; none stands before a conflict."""

_SENT: Final = ("stream", "max_tokens", "temperature")
"""The parameters of a record that are fields of a request."""
_encoded: Final = json.JSONEncoder(ensure_ascii=False).encode


def _object(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _headers(value: object) -> tuple[tuple[str, str], ...] | None:
    """Return the headers of :data:`KEPT_HEADERS`; others are ignored."""
    if not isinstance(value, dict):
        return None
    kept = {name: text for name, text in value.items() if name.lower() in KEPT_HEADERS}
    return tuple((name, exact_text(text)) for name, text in kept.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction(BodyFacts, AsTyped):
    """A request and its answer.

    Args:
        prompt: the last message; as sent, or in a notebook as typed.
        text: the reply, exactly; ``None`` if the answer was an error.
        request: digest of the canonical request without its Markdown cells, by which a request is
            matched: not every run knows them.
        before: the names of the turns before it, oldest first (see :attr:`turn`). Unknown turns
            before the known ones have one name together.
        parameters: the other fields of the body: ``stream``, ``max_tokens``, ``temperature``
            and those of ``extra_body``, as far as known; without ``wire.NOT_IN_DIGEST``.
        asked_model: the model that was requested; ``None`` if none was set.
        instructions: name of the standing instructions that the request carried; ``None`` for none.
        typed: the prompt as typed, if values were put into it; otherwise ``None``.
        owner: hash of the cell that asked; ``None`` if it is unknown.
        status: the HTTP status.
        headers: the answer's headers, of those in :data:`KEPT_HEADERS`.
        error: the JSON body of an error.
        took: the approximate cost in credits; ``None`` if it was not known then.
        seconds: the time of the reply; ``None`` is unknown.
        origin: ``live`` if a service answered, or ``emulator``.
        known_turn: the :attr:`turn` of a notebook's exchange, whose prompt as sent is not known.
        is_marked: whether its lines have a digest of their exchange; not so in earlier files.
    """

    prompt: str = ""
    text: str | None = None
    request: str = json_field(exact_text, default=MISSING, required=True)
    before: tuple[str, ...] = json_field(tuple_of(exact_text), lambda names: [*names] or None, ())
    parameters: Mapping[str, Any] = json_field(exact(_object), dict, MISSING, required=True)
    asked_model: str | None = json_field(exact_text)
    instructions: str | None = json_field(exact_text)
    typed: str | None = json_field(exact_text)
    owner: str | None = json_field(exact_text)
    status: int = json_field(exact_count, default=200)
    headers: tuple[tuple[str, str], ...] = json_field(exact(_headers), dict, ())
    error: Any = json_field(exact(_object))
    took: int | None = json_field(exact_count)
    seconds: float | None = json_field(amount)
    origin: Origin = json_field(word_of(Literal["live", "emulator"]), default="live")
    known_turn: str | None = None
    is_marked: bool = field(default=True, compare=False)

    def answers(self, asked: Interaction) -> bool:
        """Return whether a request is the recorded one, but for its Markdown cells.

        The recorded model matters only if the request names a model.

        Args:
            asked: the request, as it would be recorded.
        """
        is_model = asked.asked_model in (None, self.asked_model)
        return is_model and self.request == asked.request

    def has_markdown_of(self, asked: Interaction) -> bool:
        """Return whether a request that it answers is the recorded one in its Markdown cells, too.

        Args:
            asked: the request, as it would be recorded.
        """
        if self.text is None:
            return self.prompt == asked.prompt and self.before == asked.before
        known = self.before
        if len(known) != len(asked.before):
            # The first name stands for turns that are not known.
            known = known[1:]
        carried = asked.before[len(asked.before) - len(known) :]
        return known == carried and self.turn == _turn(asked.prompt, self.text)

    @property
    def is_reply(self) -> bool:
        """Whether the answer was a reply, and not an error."""
        return self.text is not None

    @property
    def turn(self) -> str | None:
        """Name of the turn of this prompt and reply; ``None`` for an error."""
        return None if self.text is None else self.known_turn or _turn(self.prompt, self.text)

    @classmethod
    def asked(
        cls,
        request: Request,
        messages: Sequence[Message] | None = None,
        instructions: Value | None = None,
        *,
        digest: str | None = None,
        typed: str | None = None,
        owner: str | None = None,
    ) -> Self:
        """Return the interaction of a request that is not answered yet.

        Args:
            request: the request, as it is sent.
            messages: its messages without its instructions: prompts and replies alternately, and
                the prompt at the end; ``None`` for a request without instructions.
            instructions: the standing instructions that it carries; ``None`` for none.
            digest: its digest without Markdown cells; ``None`` if it carries none.
            typed: the prompt as typed, if values were put into it; otherwise ``None``.
            owner: hash of the cell that asks; ``None`` if it is unknown.
        """
        *before, prompt = request.messages if messages is None else messages
        turns = zip(before[::2], before[1::2], strict=True)
        body = request.to_json()
        model = body.get("model")
        return cls(
            request=digest or request.digest(),
            prompt=prompt.content,
            before=tuple(_turn(a.content, b.content) for a, b in turns),
            parameters={
                name: value
                for name, value in body.items()
                if name != "messages" and name not in wire.NOT_IN_DIGEST
            },
            asked_model=model if isinstance(model, str) else None,
            instructions=instructions_name(instructions),
            typed=typed,
            owner=owner,
        )


def _turn(prompt: str, text: str) -> str:
    """Return the name of a turn in a cassette."""
    return _json.turn_digest(prompt, text)[:DIGITS]


def instructions_name(instructions: Value | None) -> str | None:
    """Return the name of a request's standing instructions in a cassette; ``None`` for none.

    Args:
        instructions: the instructions; ``None`` for none.
    """
    return None if instructions is None else instructions.sha256[:DIGITS]


def by_identity(interactions: Iterable[Interaction]) -> dict[tuple[object, ...], Interaction]:
    """Return interactions by a key that is the same each time the file is read.

    The key holds the request's digest and prompt, the answer, and a number that distinguishes equal
    exchanges. The owner is not part of it.

    Args:
        interactions: the interactions, in the order of the file.
    """
    count: Counter[tuple[object, ...]] = Counter()
    by_key: dict[tuple[object, ...], Interaction] = {}
    for item in interactions:
        unhashable = repr((item.headers, item.error, item.asked_model))
        key = item.request, item.prompt, item.status, item.text, unhashable
        by_key[*key, count[key]] = item
        count[key] += 1
    return by_key


# --- The text -----------------------------------------------------------------------------------


def to_text(interactions: Iterable[Interaction]) -> str:
    """Return the text of a cassette.

    Args:
        interactions: the interactions, in their order.
    """
    items = tuple(interactions)
    head = _line({"chatmagic": "cassette", "version": VERSION})
    return head + _text_of(items, _names(items))


_Names = dict[tuple[str, ...], str]
"""The names of exchanges, by the turns that a request carries if it continues the exchange."""


def _names(items: Iterable[Interaction], known: _Names | None = None) -> _Names:
    """Return the names of exchanges.

    Its request's digest covers the turns that an exchange carried, but for their Markdown cells. Of
    two that differ in these alone, the first in the file has the name.

    Args:
        items: the exchanges, in their order.
        known: the names of those before them in the file.
    """
    names = dict(known or {})
    taken = {*names.values()}
    for item in items:
        if (turn := item.turn) is None:
            continue
        name = _name(item.request, turn)
        if name not in taken:
            names[*item.before, turn] = name
            taken.add(name)
    return names


def _name(request: str, turn: str) -> str:
    """Return the name of an exchange."""
    return _json.digest([request, turn])[:DIGITS]


def _text_of(items: Iterable[Interaction], names: _Names) -> str:
    """Return the lines of some exchanges; ``names`` has the names of all in their file."""
    # A lone surrogate has no UTF-8, but JSON has an escape for it.
    text = "".join(_written(item, names) for item in items)
    return text.encode("utf-8", "backslashreplace").decode()


def _written(item: Interaction, names: _Names) -> str:
    """Return the lines of an exchange, which names the one that it continues."""
    before = item.before
    known = next((n for n in range(len(before), 0, -1) if before[:n] in names), 0)
    after = known_items(after=names.get(before[:known]))
    facts = fields_to_json(replace(item, before=before[known:])) | after
    text = item.text or ""
    mark = {"in": _mark(item.request, item.prompt, text)} if item.is_marked else {}
    facts |= mark
    facts["check"] = _check(facts, item.prompt, text)
    lines = [facts]
    lines += [{"you": line, **mark} for line in _lines(item.prompt) or [""]]
    lines += [{"reply": line, **mark} for line in _lines(text)]
    return "".join(map(_line, lines))


def _mark(request: object, prompt: str, text: str) -> str:
    """Return the digest of a question and its reply, which their lines have."""
    return _json.digest(json.dumps([request, prompt, text]))[:MARK_DIGITS]


def _check(facts: Mapping[str, Any], prompt: str, text: str) -> str:
    """Return the digest of an exchange, the same when it is written and when it is read."""
    # With JSON's escapes, two halves of a character equal the whole one, as they do when read.
    return _json.digest(json.dumps([facts, prompt, text]))


def _line(value: Mapping[str, Any]) -> str:
    return _encoded(value) + "\n"


def _lines(text: str) -> list[str]:
    """Return the lines of a text, split after line feeds only."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a cassette.

    Args:
        interactions: its interactions, each checked against its digest.
        is_merged: whether it has the marks of a merge conflict, both halves of which were read.
        is_older: whether its exchanges have names of an earlier release, so that none can be added
            behind them.
    """

    interactions: tuple[Interaction, ...] = ()
    is_merged: bool = False
    is_older: bool = False


def from_text(text: str, name: str) -> tuple[Interaction, ...]:
    """Return the interactions of a cassette's text, as for :func:`content_from`.

    Args:
        text: the whole text.
        name: the file's name, for messages.
    """
    return content_from(text, name).interactions


def content_from(text: str, name: str) -> Content:
    """Return the content of a cassette.

    Args:
        text: the whole text.
        name: the file's name, for messages.

    Raises:
        InputError: a line was changed, or is of another version; the message names the line. Or
            there are too many lines or values.
    """
    if text.count("\n") > MOST_IN_FILE or has_many_values(text, MOST_IN_FILE):
        raise InputError(
            f"{name} cannot be read: it holds more than {MOST_IN_FILE:,} lines or values.",
            hint="Record into another file.",
        )
    marks = [number for number, line in _numbered(text) if _CONFLICT.fullmatch(line.rstrip("\r"))]
    halves = _halves(_numbered(text)) if marks else None
    if halves is None:
        return _content(_drafts(_numbered(text), name))
    try:
        ours, theirs = (_drafts(half, name) for half in halves)
    except InputError as error:
        log_swallowed(error)
        why = "it is a merge conflict, and not each half of it holds whole exchanges"
        raise _damaged(name, marks[0], why) from None
    held = by_identity(draft.item for draft in ours)
    news = by_identity(draft.item for draft in theirs)
    added = [draft for key, draft in zip(news, theirs, strict=True) if key not in held]
    return replace(_content([*ours, *added]), is_merged=True)


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    number = 1
    end = 0
    for match in re.finditer("[^\n]+", text):
        number += text.count("\n", end, match.start())
        end = match.start()
        if match[0].strip():
            yield number, match[0]


def _halves(lines: Iterable[tuple[int, str]]) -> tuple[list[tuple[int, str]], ...] | None:
    """Return the numbered lines of both sides of a merge; ``None`` if marks are missing.

    The common ancestor between the halves of a conflict (git's style ``diff3``) is left out.
    """
    ours: list[tuple[int, str]] = []
    theirs: list[tuple[int, str]] = []
    sides = {"": (ours, theirs), "<": (ours,), "|": (), "=": (theirs,)}
    part = ""
    for line in lines:
        mark = _CONFLICT.fullmatch(line[1].rstrip("\r"))
        if mark is None:
            for side in sides[part]:
                side.append(line)
        elif part in _BEFORE[kind := mark[1][0]]:
            part = "" if kind == ">" else kind
        else:
            return None
    return None if part else (ours, theirs)


_REPAIR: Final = "The file was left as it is: repair it, or record into another one."


def _drafts(lines: Iterable[tuple[int, str]], name: str) -> list[_Draft]:
    """Return the interactions of numbered lines."""
    values = ((number, _read_line(line, number, name)) for number, line in lines)
    first, head = next(values, (1, None))
    if head is None:
        raise _damaged(name, 1, "it is empty")
    if head.get("chatmagic") != "cassette" or head.get("version") != VERSION:
        raise InputError(
            f"{name} is not a cassette of version {VERSION}: its line {first} is not the head of "
            "one.",
            hint=NEW_CASSETTE,
        )
    blocks: list[_Block] = []
    for number, value in values:
        kind = next((kind for kind in ("you", "reply") if isinstance(value.get(kind), str)), "")
        if "request" in value:
            blocks.append(_Block(number, value))
        elif blocks and kind and value == {kind: value[kind], **blocks[-1].mark}:
            blocks[-1].lines[kind].append(value[kind])
        else:
            raise _damaged(name, number, "it is not in its place")
    texts = {block.facts.get("in"): block.lines for block in blocks if block.lines["you"]}
    return [_read_block(block, texts.get(block.facts.get("in")), name) for block in blocks]


def _read_line(line: str, number: int, name: str) -> dict[str, Any]:
    why = "it is no object of JSON"
    try:
        if isinstance(value := json.loads(line), dict):
            return value
    except (ValueError, RecursionError) as error:
        why = json_fault(error)
    if line.startswith(("<<<<", "||||", "====", ">>>>")):
        why = "it is a merge conflict"
    raise _damaged(name, number, why)


_Lines = dict[str, list[str]]
"""The texts of an exchange's lines, by kind."""


@dataclass(frozen=True, slots=True)
class _Block:
    """An exchange's lines.

    Args:
        number: number of its first line.
        facts: the value of its first line.
        lines: the other lines.
    """

    number: int
    facts: dict[str, Any]
    lines: _Lines = field(default_factory=lambda: {"you": [], "reply": []})

    @property
    def mark(self) -> dict[str, Any]:
        """The field that each of the other lines has."""
        return {"in": self.facts["in"]} if "in" in self.facts else {}


def _damaged(name: str, number: int, why: str) -> InputError:
    return InputError(f"{name}, line {number:,}: {why}.", hint=_REPAIR)


@dataclass(frozen=True, slots=True)
class _Draft:
    """Interaction as it stands in a file.

    Args:
        item: the interaction, with those of the turns before it that it names itself.
        after: name of the exchange that it continues; empty for none.
        sent: digest of all of its request, which its name was made of; in a file of today the same
            as the request's.
    """

    item: Interaction
    after: str
    sent: str


def _read_block(block: _Block, shared: _Lines | None, name: str) -> _Draft:
    """Return the interaction of an exchange's lines.

    Args:
        block: the lines.
        shared: the lines of another exchange with the same text, if this one has no own lines.
        name: the file's name, for messages.
    """
    lines = block.lines if block.lines["you"] or shared is None else shared
    facts = block.facts
    prompt = "".join(lines["you"])
    text = "".join(lines["reply"])
    try:
        if facts.pop("check", None) != _check(facts, prompt, text):
            raise ValueError("the exchange is not the one that was recorded")  # noqa: TRY301
        read = dataclass_from_json(Interaction, facts)
        item = replace(
            read,
            prompt=prompt,
            text=text if read.error is None else None,
            request=exact_text(facts.get("without_markdown") or read.request),
            is_marked="in" in facts,
        )
        return _Draft(item, exact_text(facts.get("after", "")), read.request)
    except (ValueError, RecursionError) as error:
        raise _damaged(name, block.number, str(error)) from None


def _content(drafts: Sequence[_Draft]) -> Content:
    """Return the content of the interactions of a file."""
    is_older = any(draft.sent != draft.item.request for draft in drafts)
    return Content(_linked(drafts), is_older=is_older)


def _linked(drafts: Sequence[_Draft]) -> tuple[Interaction, ...]:
    """Return interactions with all known turns that they carried.

    An interaction may stand before the one that it continues, because cells may run in any order.

    Args:
        drafts: the interactions of a file.
    """
    items = [draft.item for draft in drafts]
    turns = [item.turn for item in items]
    first: dict[str, int] = {}
    for index, (draft, turn) in enumerate(zip(drafts, turns, strict=True)):
        if turn is not None:
            first.setdefault(_name(draft.sent, turn), index)
    names = {index: name for name, index in first.items()}
    waiting: dict[str, list[int]] = defaultdict(list)
    for index, draft in enumerate(drafts):
        waiting[draft.after].append(index)
    # The name of an exchange that is not in the file stands for unknown turns.
    ready: list[tuple[int, tuple[str, ...]]] = [
        (index, (after,) if after else ())
        for after in waiting.keys() - first
        for index in waiting[after]
    ]
    for index, carried in ready:
        items[index] = item = replace(items[index], before=(*carried, *items[index].before))
        if (name := names.get(index)) is not None and (turn := turns[index]) is not None:
            ready += [(other, (*item.before, turn)) for other in waiting.pop(name, ())]
    return tuple(items)


# --- The file -----------------------------------------------------------------------------------


class FolderLockedError(ChatError):
    """Another process has locked the folder of a cassette for too long."""


class CassetteFile:
    """The file of one cassette. Each change is one step, so the file is never half written.

    Args:
        path: the file, which may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self.path = path
        with swallowed(OSError):
            self.path = path.absolute()
        self._content: bytes | None = None
        self._names: _Names = {}
        self._is_kept = True
        """Whether exchanges may be added behind its lines as they are."""
        self.held: tuple[Interaction, ...] = ()
        """The interactions of the file when it was last read or written."""
        self.is_readable = True
        """Whether the file could be read when that was last tried."""
        self.is_merged = False
        """Whether it has the marks of a merge conflict, both halves of which were read."""

    def has_changed(self) -> bool:
        """Return whether the file is another one than was last read or written here."""
        try:
            return content_of(self.path) != self._content
        except InputError as error:
            log_swallowed(error)
            return True

    def read_interactions(self) -> tuple[Interaction, ...]:
        """Return the interactions of the file; an empty tuple if there is no file.

        Content that has not changed is not parsed again.

        Raises:
            InputError: the file cannot be read, or is no cassette of a known version.
        """
        self.is_readable = False
        content = content_of(self.path)
        if content != self._content:
            try:
                text = json_text(content or b"", "utf-8-sig")
            except UnicodeDecodeError:
                why = f"{self.path.name} cannot be read: {NOT_UTF_8}."
                raise InputError(why, hint=_REPAIR) from None
            read = Content() if content is None else content_from(text, self.path.name)
            self.held = read.interactions
            self.is_merged = read.is_merged
            self._is_kept = not (read.is_merged or read.is_older)
            self._names = _names(self.held)
            self._content = content
        self.is_readable = True
        return self.held

    def save(
        self,
        merge: Merge,
        waiting: Callable[[], object] = lambda: None,
        *,
        longest: float = LONGEST_WAIT,
    ) -> None:
        """Write the file anew in one step, if its exchanges change; a link becomes a file.

        Args:
            merge: returns the interactions to write. Its arguments are the interactions that the
                file held when it was last read or written here, and those that it holds now.
            waiting: called if another process has locked the folder for a second.
            longest: seconds after which its lock is no longer waited for.

        Raises:
            InputError: the present content cannot be read.
            FolderLockedError: another process has had the lock for too long.
            ChatError: the file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with folder_lock(self.path.parent, waiting, longest=longest):
                before = self.held
                now = self.read_interactions()
                new = tuple(merge(before, now))
                if new != now or self.is_merged:
                    names, content = self._content_with(now, new)
                    replace_content(self.path, content)
                    self.held = new
                    self._names = names
                    self._content = content
                    self.is_merged = False
                    self._is_kept = True
        except OSError as error:
            kind = FolderLockedError if isinstance(error, TimeoutError) else ChatError
            why = error.strerror or type(error).__name__
            raise kind(f"{self.path.name} could not be written: {why}.") from None

    def _content_with(
        self, now: tuple[Interaction, ...], new: tuple[Interaction, ...]
    ) -> tuple[_Names, bytes]:
        """Return the names and the content for new exchanges; lines that stay are kept."""
        old = self._content or b""
        added = new[len(now) :]
        # An editor may have left other line ends.
        if not self._is_kept or new[: len(now)] != now or not old.endswith(b"\n") or b"\r" in old:
            return _names(new), to_text(new).encode()
        names = _names(added, self._names)
        return names, old + _text_of(added, names).encode()


# --- A notebook as a cassette ---------------------------------------------------------------------


def from_notebook(path: Path) -> tuple[Interaction, ...]:
    """Return the interactions of a notebook's whole replies.

    Args:
        path: the notebook.

    Raises:
        InputError: the file is no notebook, no reply in it can be replayed, or a reply was changed
            since it was recorded.
    """
    file = notebook.read_notebook(path)
    changed = [saved.cell for saved, _ in file.turns if saved.fault]
    if changed:
        raise InputError(
            f"{path}: {numbered(changed, 'cell')} not as recorded and sealed, so nothing is "
            "replayed from this notebook.",
            hint="Use the file as it was saved, or ask again.",
        )
    restored = restore.restore(file)
    interactions: list[Interaction] = []
    for saved, record in file.turns:
        asked = restored.asked.get(restored.numbers.get(saved, 0))
        carried = NOTHING if asked is None else asked[0].carried
        # If no output shows the first turns, they have one chain digest together.
        unknown = carried.root.chain
        before = carried.digests if unknown is None else (unknown, *carried.digests)
        if record.state == "complete":
            interactions.append(_interaction(record, saved.text or "", before))
    if not interactions:
        why = file.missing or "none of its outputs holds a reply."
        lines = " ".join([why[:1].upper() + why[1:], *file.problems[:1]])
        raise InputError(f"{path} holds no reply that can be replayed. {lines}")
    return tuple(interactions)


def _interaction(record: Record, text: str, before: tuple[str, ...]) -> Interaction:
    """Return the interaction of a turn.

    Args:
        record: the turn's record.
        text: the reply.
        before: digests of the turns that its request carried, oldest first. A chain digest at the
            beginning stands for unknown turns.
    """
    sent = {name: record.parameters[name] for name in _SENT if name in record.parameters}
    prompt = record.prompt
    typed = record.prompt if record.values else None
    turn = record.turn
    if record.continues is not None:
        prompt = ASKED_FOR_THE_REST
        typed = None
        turn = None
        before = (*before, record.continues)
    return Interaction(
        request=record.request,
        prompt=prompt,
        before=tuple(digest[:DIGITS] for digest in before),
        asked_model=record.asked_model,
        instructions=instructions_name(record.instructions),
        parameters={"stream": True, **sent},
        typed=typed,
        owner=record.owner,
        headers=headers_for(record.credits, record.date),
        text=text,
        **shared_fields(record, BodyFacts),
        took=record.took,
        seconds=record.seconds,
        origin=record.recorded or ("live" if record.origin == "replay" else record.origin),
        known_turn=turn and turn[:DIGITS],
    )


def headers_for(credits: Credits | None, date: datetime | None) -> tuple[tuple[str, str], ...]:
    """Return the answer's headers that a turn's record implies (fact 10).

    Args:
        credits: the credits of the answer; ``None`` if they are unknown.
        date: the answer's ``Date``; without it the time of the credits is used.
    """
    when = date or (None if credits is None else credits.seen_at)
    headers: dict[str, Any] = {"Date": when and format_datetime(when, usegmt=True)}
    if credits is not None:
        headers["X-RateLimit-Limit"] = credits.limit
        headers["X-RateLimit-Remaining"] = credits.remaining
        headers["X-RateLimit-Reset"] = _json.iso(credits.resets_at)
    return tuple((name, str(value)) for name, value in headers.items() if value is not None)
