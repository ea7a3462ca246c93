"""Pairs of questions in two files, the earlier with the later one, the surest first."""

from __future__ import annotations

import difflib
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Final

from chatmagic.study.asked import Asked
from chatmagic.study.causes import inserted_values

LIKE: Final = 0.6
"""Likeness of two prompts, from 0 to 1, from which they are taken for one that was edited."""
MOST_COMPARED: Final = 200
"""Largest number of questions without a partner whose prompts are compared with one another."""
_LONGEST: Final = 200


def partners_of(old: Sequence[Asked], new: Sequence[Asked]) -> dict[int, int]:
    """Return the place of the old question of each new one that has one, by the new one's place.

    Args:
        old: the earlier questions.
        new: the later questions.
    """
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
    """Return a function that gives a question's cell with these facts; ``None`` without a cell."""

    def key(asked: Asked) -> Hashable:
        """Return the cell and the facts of a question."""
        if asked.cell is None:
            return None
        return asked.cell, *(getattr(asked, name) for name in names)

    return key


def _of_values(asked: Asked) -> Hashable:
    """Return a question's prompt as typed, with its inserted values; ``None`` without one."""
    values = inserted_values(asked)
    return (asked.typed, *sorted(values.items())) if values else None


_KEYS: Final[tuple[Callable[[Asked], Hashable], ...]] = (
    _of_cell("request", "asked_model"),
    _of_cell("request"),
    _of_cell("typed"),
    lambda asked: (asked.request, asked.asked_model),
    lambda asked: asked.request,
    lambda asked: asked.digest_without_form,
    _of_values,
    lambda asked: (asked.place, asked.repeat) if asked.kind == "map" else None,
    lambda asked: (asked.typed, *sorted(asked.settings)) if asked.kind != "map" else None,
    lambda asked: asked.typed if asked.kind != "map" else None,
    # The last: a text that moved to another cell is that question, and no edit of two.
    _of_cell(),
    # However many rows of one template there are, whose values are unknown.
    lambda asked: asked.typed or None,
)
"""What two questions have in common, the surest first; ``None`` is nothing."""
