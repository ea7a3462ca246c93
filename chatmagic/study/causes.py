"""Causes of another answer: what differs between a question and its earlier self."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from chatmagic._json import digest, turn_digest
from chatmagic.archive.interaction import DIGITS
from chatmagic.conversation import template
from chatmagic.safe_text import counted, one_line
from chatmagic.study.asked import Asked
from chatmagic.study.marked_words import first_difference

CauseKind = Literal[
    "prompt", "value", "context", "settings", "model", "not recorded", "asked again", "same answer"
]

_ALL_FILES: Final = ("max_tokens", "temperature", "stream")
"""The settings that files of every kind have."""
_BRACES: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """Cause of another answer.

    Args:
        cause: its kind.
        detail: the change in words; empty for none.
    """

    cause: CauseKind
    detail: str = ""

    def __str__(self) -> str:
        """Return both in words."""
        return f"{self.cause}: {self.detail}" if self.detail else self.cause


_UNKNOWN_VALUES: Final = AnswerChange("not recorded", "whether values changed (see keep_prompts)")
"""What a notebook and a map's file without its prompts leave open: digests of other texts."""


def answer_of(asked: Asked) -> str:
    """Return the reply, or the error in its place.

    Args:
        asked: the question.
    """
    return f"[{asked.error}]" if asked.text is None else asked.text


def changes_of(old: Asked, new: Asked) -> Iterator[AnswerChange]:
    """Yield the causes of another answer, in the order of :data:`CauseKind`.

    Args:
        old: the earlier question.
        new: the later question.
    """
    changes = [*_request_changes(old, new), *_model_change(old, new)]
    if changes:
        yield from sorted(changes, key=lambda change: _ORDER.index(change.cause))
    else:
        yield AnswerChange("same answer" if _is_one_answer(old, new) else "asked again")


def _request_changes(old: Asked, new: Asked) -> list[AnswerChange]:
    """Return what differs between two requests, but for their models."""
    changes = [
        *_prompt_change(_as_template(old, new), _as_template(new, old)),
        *_context_change(old, new),
        *_settings_change(old, new),
    ]
    if changes == [_UNKNOWN_VALUES]:
        # All else is known, and the same; so it is a value.
        return [AnswerChange("value", _names_in(new))]
    if not changes and old.request != new.request:
        detail = "the request differs in something that these files do not keep"
        return [AnswerChange("not recorded", detail)]
    return changes


def _is_one_answer(old: Asked, new: Asked) -> bool:
    """Return whether two files have one answer: the same text, date and response id."""
    if old.date != new.date or old.response_id != new.response_id:
        return False
    return answer_of(old) == answer_of(new)


_ORDER: Final = ("prompt", "value", "context", "settings", "model", "not recorded")


def _prompt_change(old: Asked, new: Asked) -> Iterator[AnswerChange]:
    """Yield a change of the prompt as typed, and of the values in it.

    A renamed expression with the same value is none: the model was sent the same.
    """
    if old.request == new.request or _has_same_prompt(old, new):
        return
    is_edited = bool(old.typed and new.typed) and old.typed.rstrip("\n") != new.typed.rstrip("\n")
    if is_edited:
        yield AnswerChange("prompt", first_difference(old.typed, new.typed))
    ours = inserted_values(new)
    theirs = inserted_values(old)
    if ours is not None and theirs is not None:
        # An edit names the expressions that it adds and removes.
        names = ours.keys() & theirs.keys() if is_edited else ours.keys() | theirs.keys()
        others = sorted(name for name in names if ours.get(name) != theirs.get(name))
        if others:
            yield AnswerChange("value", _in_braces(others))
    elif is_edited:
        if _has_same_values(old, new) is False:
            yield AnswerChange("value", _names_in(new))
    elif _have_values(old, new):
        is_same = _has_same_prompt(old, new)
        if is_same is False:
            yield AnswerChange("value")
        elif is_same is None and old.typed and {old.kind, new.kind} == {"notebook", "map"}:
            yield _UNKNOWN_VALUES


def _in_braces(names: Iterable[str]) -> str:
    """Return expressions as they are typed."""
    return ", ".join(f"{{{{ {one_line(name, 40)} }}}}" for name in names)


def _names_in(asked: Asked) -> str:
    """Return the expression in a prompt as typed; empty if there are several, any of them."""
    names = {name.strip() for name in _BRACES.findall(asked.typed)}
    return _in_braces(names) if len(names) == 1 else ""


def _as_template(asked: Asked, other: Asked) -> Asked:
    """Return a question whose words fill the template of the other one, a map's, as that template.

    The same rows may be asked by a map, and with an f-string each.
    """
    if other.kind != "map" or asked.prompt is None or _BRACES.search(asked.typed):
        return asked
    filled = replace(asked, typed=other.typed)
    return filled if _inserted_texts(filled) else asked


def inserted_values(asked: Asked) -> dict[str, str] | None:
    """Return the digests of the values in a prompt, by their expressions; ``None`` if unknown.

    Args:
        asked: the question.
    """
    if asked.kind == "notebook":
        known = {value.expression: value.sha256 for value in asked.values if value.kind is None}
        if known or asked.prompt is None:
            return known
    texts = _inserted_texts(asked)
    return None if texts is None else {name: digest(text) for name, text in texts.items()}


def _inserted_texts(asked: Asked) -> dict[str, str] | None:
    """Return the values in a prompt as sent, by their expressions; ``None`` if unknown."""
    if asked.prompt is None:
        return None
    sent = _rest(asked)
    if sent.endswith(asked.typed):
        return {}
    parts = _BRACES.split(asked.typed)
    if not parts[0].strip() or not sent.endswith(parts[-1]):
        return None  # what stands in front of the prompt may be part of the first value
    end = len(sent) - len(parts[-1])
    values: dict[str, str] = {}
    for name, text in reversed([*zip(parts[1::2], parts[0::2], strict=False)]):
        begin = sent.rfind(text, 0, end)
        if begin < 0:
            return None
        values[name.strip()] = sent[begin + len(text) : end]
        end = begin
    return values


def _has_same_values(old: Asked, new: Asked) -> bool | None:
    """Return whether the values of one prompt are in the other one; ``None`` if that is unknown."""
    known, other = (old, new) if old.prompt is not None else (new, old)
    texts = _inserted_texts(known)
    names = {name.strip() for name in _BRACES.findall(other.typed)}
    if other.prompt_digest is None or not texts or names != texts.keys():
        return None
    filled = _BRACES.sub(lambda braces: texts[braces[1].strip()], other.typed)
    return digest(filled) == other.prompt_digest


def _have_values(*both: Asked) -> bool:
    """Return whether values stand in one of the prompts, as far as that is known."""
    return any(inserted_values(asked) != {} for asked in both)


def _rest(asked: Asked) -> str:
    """Return the prompt as sent without the words on the form; empty if it is unknown."""
    return template.split_form(asked.prompt or "")[1]


def _has_same_prompt(old: Asked, new: Asked) -> bool | None:
    """Return whether two prompts are the same but for their form; ``None`` if that is unknown."""
    digests = [asked.digest_without_form for asked in (old, new)]
    if None not in digests:
        return digests[0] == digests[1]
    # A file without its prompts names each question by the digest of the prompt and the answer.
    known, other = (old, new) if old.prompt is not None else (new, old)
    if known.prompt is None or other.name is None or other.text is None:
        return None
    if _form_digest(known) != _form_digest(other):
        return None
    return turn_digest(known.prompt, other.text)[:DIGITS] == other.name


def _context_change(old: Asked, new: Asked) -> Iterator[AnswerChange]:
    """Yield changes of what the request carried: turns, instructions, cells above."""
    if old.request != new.request and old.context != new.context:
        yield AnswerChange("context", _context_words(old, new))
    if old.request != new.request and old.instructions != new.instructions:
        words = "other" if old.instructions and new.instructions else "new"
        yield AnswerChange("context", f"{words if new.instructions else 'no'} instructions")
    if old.thread != new.thread and None not in (old.thread, new.thread):
        names = [one_line(str(asked.thread), 40) for asked in (old, new)]
        yield AnswerChange("context", f"thread {names[0]} -> {names[1]}")
    if _in_front(old, new) != _in_front(new, old):
        yield AnswerChange("context", "the cells or the error in front of the prompt")


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
    """Return the difference of the turns that two requests carry, in words."""
    now = new.context
    before = old.context
    if len(now) != len(before):
        return f"it carries {counted(len(now), 'turn')}, and carried {len(before):,}"
    pairs = enumerate(zip(now, before, strict=True), 1)
    number = next(number for number, (turn, earlier) in pairs if turn != earlier)
    return f"turn {number:,} of {len(now):,} that it carries has another prompt or reply"


def _settings_change(old: Asked, new: Asked) -> Iterator[AnswerChange]:
    """Yield the settings that differ, of those that files of both kinds have."""
    names = [*dict.fromkeys([*old.settings, *new.settings])]
    if old.kind != new.kind:
        names = [name for name in names if name in _ALL_FILES]
    words = [
        f"{one_line(name)} {_value(old.settings, name)} -> {_value(new.settings, name)}"
        for name in names
        if old.settings.get(name) != new.settings.get(name)
    ]
    forms = [_form_digest(asked) for asked in (old, new)]
    if not words and forms[0] != forms[1]:
        words.append("the form, or the content of its schema")
    if words:
        yield AnswerChange("settings", ", ".join(words))


def _form_digest(asked: Asked) -> str | None:
    """Return the digest of the words on the form in front of a prompt; ``None`` for none.

    Those that end an earlier form follow from the turns above.
    """
    again = digest(template.PROSE_AGAIN)
    digests = [item.sha256 for item in asked.values if item.kind == "format"]
    words = template.split_form(asked.prompt or "")[0]
    if words:
        digests.append(digest(words))
    return next((item for item in digests if item != again), None)


def _value(settings: Mapping[str, Any], name: str) -> str:
    """Return the value of a setting, in one line."""
    if name not in settings:
        return "not set"
    return one_line(json.dumps(settings[name], ensure_ascii=False, default=str), 40)


def _model_change(old: Asked, new: Asked) -> Iterator[AnswerChange]:
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
        yield AnswerChange("model", ", ".join(words))


def _known(value: str | None, name: str) -> str:
    """Return the value of a fact, in one line; words for one that is unknown."""
    if value is None:
        return "none" if name == "asked for" else "not reported"
    return one_line(value, 40)
