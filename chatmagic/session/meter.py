"""The meter of a service: what its requests took, and what is left of its credits."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from statistics import mean
from typing import Final, NamedTuple

from chatmagic.models import Credits
from chatmagic.session.ledger_row import Sure


@dataclass(frozen=True, slots=True)
class Figures:
    """Latest figures of an account's credits.

    Args:
        credits: the figures of an answer.
        came_at: this machine's time of the answer's arrival, aware.
    """

    credits: Credits
    came_at: datetime

    @property
    def period(self) -> tuple[object, ...]:
        """Facts that differ from one period of a quota to the next."""
        return self.credits.limit, self.credits.resets_at, self.credits.lapsed_at


class Cost(NamedTuple):
    """Cost of a request in credits; each figure is ``None`` if it is unknown.

    Args:
        before: credits left by the answer before.
        after: credits left by its answer.
        took: the fall of the credits.
        each: cost of one such request: ``took``, or the mean of several under way.
        sure: as in :class:`chatmagic.session.ledger_row.LedgerRow`.
    """

    before: int | None = None
    after: int | None = None
    took: int | None = None
    each: int | None = None
    sure: Sure = "unknown"


UNKNOWN: Final = Cost()


@dataclass(slots=True)
class Meter:
    """Fall of one service's credits over the requests of this kernel, even simultaneous ones.

    Answers overtake one another: until the reset the lowest figure is the latest.

    Args:
        latest: the latest figures of each account, by the account's identity.
        batch: number of requests that were begun since none was under way.
        fallen: the fall of the figure since then.
        figures: number of answers since then with a figure.
        answers: number of replies.
        falls: total fall of the figures.
        unknown: number of requests whose cost no figure shows.
        awaited: number of requests whose cost the next figure shows.
        is_emulator: whether it is an emulator of this process, which takes nobody's credits.
        costs: known costs of the last ten requests in credits, oldest first.
    """

    latest: dict[object, Figures] = field(default_factory=dict)
    batch: int = 0
    fallen: int = 0
    figures: int = 0
    answers: int = 0
    falls: int = 0
    unknown: int = 0
    awaited: int = 0
    is_emulator: bool = False
    costs: deque[int] = field(default_factory=lambda: deque(maxlen=LATELY))

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the account that last had some; ``None`` before the first."""
        latest = max(tuple(self.latest.values()), key=lambda figures: figures.came_at, default=None)
        return None if latest is None else latest.credits

    @property
    def dearest(self) -> int | None:
        """Largest recent cost of a request in credits, at least 1; ``None`` is unknown."""
        return max(1, *self.costs) if self.costs else None

    @property
    def used(self) -> int:
        """Credits that a limit counts: the falls, and the estimate for the other requests."""
        estimated = (self.unknown + self.awaited) * (self.dearest or 1)
        return 0 if self.is_emulator else self.falls + estimated

    def about(self, requests: int) -> int | None:
        """Return the approximate cost of requests in credits, by the mean; ``None`` if unknown.

        Args:
            requests: number of requests.
        """
        return math.ceil(requests * mean(self.costs)) if self.costs else None

    def turns_left(self, remaining: int) -> int | None:
        """Return the approximate number of requests that the credits allow, by the mean cost.

        Args:
            remaining: the credits that are left.

        Returns:
            The number; ``None`` if no cost is known, or if all costs were 0.
        """
        return int(remaining / mean(self.costs)) if any(self.costs) else None

    @property
    def tells_no_cost(self) -> bool:
        """Whether the answers so far do not show the cost of a request."""
        return self.answers >= (3 if self.latest else 1) and not self.costs

    def begin(self, *, alone: bool) -> None:
        """Count a request that begins.

        Args:
            alone: whether no other request is under way.
        """
        if alone:
            self.batch = 0
            self.fallen = 0
            self.figures = 0
        self.batch += 1

    def end(self, seen: Figures | None, account: object, *, is_question: bool = True) -> Cost:
        """Return the cost of a request that has ended, as far as it is known.

        Args:
            seen: its answer's figures; ``None`` for none.
            account: identity of its account.
            is_question: whether it is a question, whose cost is an estimate for the next one.
        """
        if seen is None or seen.credits.remaining is None:
            self._note_without_figure(account)
            return UNKNOWN
        after = seen.credits.remaining
        before = self._left_before(seen, account)
        is_alone = self.batch == 1
        if before is None or (is_alone and after > before):
            self._begin_anew(seen, account)
            return Cost(after=after)
        # Earlier requests, whose answers had no figure, have a part in this fall.
        shows_others = is_alone and self.awaited > 0
        # The fall of an overtaken answer counts as 0, so the sum of all falls is right.
        took = max(before - after, 0)
        self._note_fall(took)
        if after <= before:
            self.latest[account] = seen
            self.awaited = 0
        if shows_others:
            return Cost(before=before, after=after, took=took, sure="several")
        # Rounded up: the ended requests have taken no more than the whole fall.
        share = took if is_alone else math.ceil(self.fallen / self.figures)
        if is_question:
            self._note_cost(share)
        return Cost(before, after, took, share, "alone" if is_alone else "several")

    def _left_before(self, seen: Figures, account: object) -> int | None:
        """Return the credits left by the answer before, if that is of the same period."""
        last = self.latest.get(account)
        return last.credits.remaining if last is not None and last.period == seen.period else None

    def _note_without_figure(self, account: object) -> None:
        """Count a request whose answer has no figure: the next one shows it, if one is known."""
        if account in self.latest:
            self.awaited += 1
        else:
            self.unknown += 1

    def _note_fall(self, took: int) -> None:
        """Count the fall of the figure by one answer."""
        self.falls += took
        self.fallen += took
        self.figures += 1

    def _begin_anew(self, seen: Figures, account: object) -> None:
        """Take figures that no earlier ones can be compared with as the first ones."""
        self.latest[account] = seen
        self.fallen = 0
        self.figures = 0
        self.unknown += self.awaited + 1
        self.awaited = 0

    def _note_cost(self, share: int) -> None:
        """Add the cost of a question to the known ones."""
        # A later mean of a batch is more exact, and no earlier one was too low.
        for at in range(-min(self.figures - 1, len(self.costs)), 0):
            self.costs[at] = min(self.costs[at], share)
        self.costs.append(share)

    def refuse(self, seen: Figures, account: object) -> Cost:
        """Return the cost of a refused request, which took nothing; its figures are the latest.

        If credits have fallen since, others took them: elsewhere, or requests that are under way.

        Args:
            seen: its answer's figures.
            account: identity of its account.
        """
        after = seen.credits.remaining
        if after is None:
            return UNKNOWN
        before = self._left_before(seen, account)
        if before is not None:
            fall = before - after
            if fall < 0 and self.batch > 1:
                return Cost(after=after)  # an answer that was overtaken
            # The other requests under way took no more of the fall than they are likely to cost.
            likely = (self.batch - 1) * (self.dearest or 1)
            self.falls += max(0, min(fall, likely))
        self.unknown += self.awaited
        self.awaited = 0
        self.latest[account] = seen
        return Cost(after=after)


LATELY: Final = 10
"""Number of the last requests that an estimate uses."""
