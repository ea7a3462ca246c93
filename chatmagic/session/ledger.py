"""Ledger of a kernel's requests: what each took of the credits, and how sure that is.

Pure: times come in. :class:`chatmagic.session.spending.Spending` owns the ledger of a session
and is what a request is begun and ended with; nothing else writes to it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime  # noqa: TC003 - who reads the fields' types needs it
from typing import TYPE_CHECKING, Any, Final, Literal

from chatmagic.archive.table import dataframe
from chatmagic.conversation.request_facts import Entry as AskEntry
from chatmagic.session.estimate import LATELY, Estimate
from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmagic.models import Credits

Entry = Literal[AskEntry, "map", "models", "doctor"]
Sure = Literal["alone", "several", "unknown"]

KEPT: Final = 100_000
"""How many rows are kept at most, the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One request of this kernel that was sent.

    Args:
        number: its number among the kernel's requests, from 1.
        time: when it was begun, aware, in UTC.
        service: origin of the service, or ``emulator``.
        entry: where it was asked: ``cell``, ``panel``, ``python``, ``map`` or ``doctor``;
            ``models`` is no question, but a list of models.
        cell: hash of the cell, as the turn's record has it; ``None`` without one.
        request: digest of the request, as the turn's record has it.
        reply: digest of the reply's text, as the turn's record has it; ``None`` without one.
        prompt_tokens: tokens of the request; ``None`` where they were not told.
        completion_tokens: tokens of the reply.
        total_tokens: both, as the service counts them.
        before: credits left by the answer before; ``None`` is unknown.
        after: credits left by this answer.
        took: by how many they fell, which others who share the quota may have a part in.
        each: what one such request takes: ``took``, or the mean where several were under way.
        sure: ``alone`` where no other request of this kernel had a part in ``took``,
            ``several`` where others had, ``unknown`` where the answers do not tell it.
        error: name of the error that ended it; ``None`` where the reply is complete.
    """

    number: int
    time: datetime
    service: str
    entry: Entry
    cell: str | None
    request: str
    reply: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    before: int | None = None
    after: int | None = None
    took: int | None = None
    each: int | None = None
    sure: Sure = "unknown"
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one request, as far as the answers tell it.

    Args:
        before: as in :class:`LedgerRow`.
        after: as in :class:`LedgerRow`.
        took: as in :class:`LedgerRow`.
        each: as in :class:`LedgerRow`.
        sure: as in :class:`LedgerRow`.
        charge: the credits that a budget is charged with.
        late: those for requests before, whose cost was not known.
        is_priced: whether ``charge`` is final, and no later one has more of it.
    """

    before: int | None = None
    after: int | None = None
    took: int | None = None
    each: int | None = None
    sure: Sure = "unknown"
    charge: int = 0
    late: int = 0
    is_priced: bool = True


@dataclass(frozen=True, slots=True)
class Figures:
    """Latest figures of an account's credits.

    Args:
        credits: what an answer told.
        came_at: the time here when it had come, aware.
    """

    credits: Credits
    came_at: datetime


@dataclass(slots=True)
class Meter:
    """Fall of one service's credits over the requests of this kernel, also several at once.

    Answers overtake one another: until the reset the lowest figure is the latest.

    Args:
        latest: the latest figures of each account, by what tells it from others.
        batch: how many were begun since none was under way.
        fallen: by how much the figure fell since then.
        figures: how many answers since then told it.
        answers: how many replies came.
        unpriced: how many requests are charged with 1, as no cost is known yet.
        advance: credits that were charged for answers without a figure; the next one's fall
            holds them, too.
        lately: what each of the last ten requests took whose cost is known, and how sure that is.
    """

    latest: dict[object, Figures] = field(default_factory=dict)
    batch: int = 0
    fallen: int = 0
    figures: int = 0
    answers: int = 0
    unpriced: int = 0
    advance: int = 0
    lately: deque[tuple[int, Sure]] = field(default_factory=lambda: deque(maxlen=LATELY))

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the account that told some last; ``None`` before the first."""
        latest = max(tuple(self.latest.values()), key=lambda each: each.came_at, default=None)
        return None if latest is None else latest.credits

    def begin(self, *, alone: bool) -> None:
        """Count a request that begins.

        Args:
            alone: whether no other one is under way.
        """
        if alone:
            self.batch = self.fallen = self.figures = 0
        self.batch += 1

    def end(self, seen: Figures | None, dearest: int | None, account: object = None) -> Cost:
        """Return what a request took that has ended.

        Args:
            seen: its answer's figures; ``None`` for none.
            dearest: the estimate of what it took, which holds where the answer does not tell.
            account: what tells its account from others.
        """
        is_alone = self.batch == 1
        after = None if seen is None else seen.credits.remaining
        if seen is None or after is None:
            return self._untold(dearest, account)
        last = self.latest.setdefault(account, seen)
        before = last.credits.remaining or 0
        is_lower = last is not seen and after <= before
        if last is seen or _period(last) != _period(seen) or (is_alone and not is_lower):
            self.latest[account], self.fallen, self.figures, self.advance = seen, 0, 0, 0
            self.unpriced += dearest is None
            return Cost(after=after, charge=dearest or 1, is_priced=dearest is not None)
        # Of answers that were overtaken the fall is 0: the sum of all falls is right.
        took = before - after if is_lower else 0
        self.latest[account] = seen if is_lower else last
        self.fallen, self.figures = self.fallen + took, self.figures + 1
        charge = max(took - self.advance, 0)
        cost = Cost(before, after, took, None, "several", charge)
        if is_alone and self.advance:
            self.advance = 0
            return cost
        # Rounded up: what has ended has taken no more than the whole fall.
        each = took if is_alone else -(-self.fallen // self.figures)
        late = self.unpriced * max(each - 1, 0)
        self.advance = self.unpriced = 0
        return replace(cost, each=each, sure="alone" if is_alone else "several", late=late)

    def is_blind(self, dearest: int | None) -> bool:
        """Return whether the answers so far do not tell what a request takes.

        Args:
            dearest: the estimate; ``None`` is unknown.
        """
        return self.answers >= (3 if self.latest else 1) and dearest is None

    def _untold(self, dearest: int | None, account: object) -> Cost:
        charge, is_priced = dearest or 1, account in self.latest or dearest is not None
        self.advance += charge if account in self.latest else 0
        self.unpriced += not is_priced
        return Cost(charge=charge, is_priced=is_priced)


@dataclass(slots=True, repr=False)
class Ledger:
    """The kernel's latest requests, oldest first.

    Args:
        rows: a row each, as they ended.
        meters: what is known of each service's credits.
        count: how many requests there were.
    """

    rows: deque[LedgerRow] = field(default_factory=lambda: deque(maxlen=KEPT))
    meters: dict[str, Meter] = field(default_factory=dict)
    count: int = 0

    def meter(self, service: str) -> Meter:
        """Return the meter of a service.

        Args:
            service: its origin, or ``emulator``.
        """
        return self.meters.setdefault(service, Meter())

    def __iter__(self) -> Iterator[LedgerRow]:
        """Return the rows as they are now, oldest first."""
        return iter(tuple(self.rows))

    def __len__(self) -> int:
        """Return how many rows are kept."""
        return len(self.rows)

    def __repr__(self) -> str:
        """Return how many rows it has, which may be many."""
        return f"<Ledger of {counted(len(self), 'request')}>"

    def add(self, row: LedgerRow) -> None:
        """Enter a request that has ended."""
        self.count = row.number
        self.rows.append(row)
        if row.each is not None and row.entry != "models":
            self.meter(row.service).lately.append((row.each, row.sure))

    def of(self, service: str) -> list[LedgerRow]:
        """Return the rows of a service, oldest first.

        Args:
            service: its origin, or ``emulator``.
        """
        return [row for row in self if row.service == service]

    def estimate(self, service: str) -> Estimate:
        """Return what a request takes lately, by the last ten whose cost is known.

        Args:
            service: its origin, or ``emulator``.
        """
        costs: list[int] = []
        mean: int | None = None
        for cost, sure in reversed(tuple(self.meter(service).lately)):
            # A later mean is nearer to the truth, and no earlier one was too low.
            nearest = cost if sure == "alone" or mean is None else min(cost, mean)
            mean = nearest if sure == "several" else mean
            costs.append(nearest)
        return Estimate(tuple(reversed(costs)))

    def to_dataframe(self) -> Any:
        """Return the rows as a pandas DataFrame, times in UTC.

        Raises:
            ImportError: pandas is not installed.
        """
        return dataframe(LedgerRow, self)


def _period(figures: Figures) -> tuple[object, ...]:
    """Return what tells one period of a quota from the next."""
    credits = figures.credits
    return credits.limit, credits.resets_at, credits.lapsed_at
