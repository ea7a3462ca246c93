"""``%chat_credits``: the large gauge, or the requests' costs and their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chatmagic.conversation.options import Option
from chatmagic.jupyter import reply_views, tables
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.status import Status
from chatmagic.models import Credits
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.credits import OTHERS
from chatmagic.render import gauge
from chatmagic.safe_text import counted
from chatmagic.session.ledger import Ledger
from chatmagic.session.ledger_row import EMULATOR, LedgerRow, Sure
from chatmagic.session.meter import Meter

MOST_SHOWN: Final = 20
"""The largest number of rows in the table, which shows the latest requests."""
LEAST_PLOTTED: Final = 10
"""The smallest number of requests that are plotted; fewer are read more easily in the table."""
MOST_PLOTTED: Final = 100
"""The largest number of bars in the plot."""
_HEADS: Final = (
    "Request",
    "Time (UTC)",
    "Asked in",
    "Tokens sent",
    "Received",
    "Credits before",
    "After",
    "Cost",
    "Counted",
)
_TOLD_ALWAYS: Final = 5
"""Number of the first columns, which have no figures of credits."""
_SURE: Final[dict[Sure, str]] = {
    "alone": "alone",
    "several": "with others of this kernel",
    "unknown": "not known",
}


def _credits(kernel: Kernel, given: Arguments) -> None:
    """Show the credits large: the number left, the cost of the last turn, and the time of both."""
    if "--usage" in given.options:
        reply_views.show_html(*usage(kernel.session.ledger, Status(kernel).service()))
        return
    reply_views.show_html(*Status(kernel).credits())


def usage(ledger: Ledger, service: str) -> tuple[str, str]:
    """Return the requests of a kernel and their limits, as HTML and as text.

    Args:
        ledger: the kernel's requests and limits.
        service: origin of the connected service, or ``emulator``.

    Raises:
        InputError: a limit cannot be read.
    """
    rows = [row for row in ledger if row.service == service]
    meter = ledger.meter(service)
    limits = ledger.limit_words()
    if not rows:
        to = f" to {service}" if ledger.rows else ""
        return tables.page(f"No request was sent from this kernel{to} yet.", *limits, name="Usage")
    lately = _lately(meter)
    sentence = f"{counted(len(rows), 'request')} of this kernel to {service}"
    sentence += f": {lately}." if lately else "."
    table = _request_table(rows, has_credits=bool(meter.latest))
    captions = _captions(len(rows), has_credits=bool(meter.latest))
    if len(rows) < LEAST_PLOTTED:
        return tables.page(sentence, *limits, table, *captions, name="Usage")
    html, text = tables.folded("Each request as a table", table, *captions)
    plot = _plot(meter.credits, rows[-MOST_PLOTTED:])
    return tables.page(sentence, *limits, (plot + html, text), name="Usage")


def _request_table(rows: Sequence[LedgerRow], *, has_credits: bool) -> tuple[str, str]:
    """Return the table of the latest requests, with figures of credits if there are any."""
    heads = _HEADS if has_credits else _HEADS[:_TOLD_ALWAYS]
    shown = rows[-MOST_SHOWN:]
    cells = [row[: len(heads)] for row in map(_cells, shown, [None, *shown])]
    return tables.table(heads, cells, "Requests")


def _captions(count: int, *, has_credits: bool) -> list[str]:
    """Return the lines below the table of the latest of this number of requests."""
    captions = []
    if has_credits:
        captions.append(
            f"Counted alone: no other request of this kernel has a part in this cost; {OTHERS}."
        )
    more = count - MOST_SHOWN
    if more > 0:
        captions.append(f"The latest {MOST_SHOWN}; session.ledger has {more:,} more.")
    return captions


def _lately(meter: Meter) -> str:
    """Return the cost of the last turns and the number of turns left, in words."""
    credits = meter.credits
    costs = meter.costs
    if credits is None or credits.remaining is None:
        return ""
    left = f"{crediting.left_words(credits)}, {crediting.reset_words(credits)}"
    if not costs:
        return f"{left}; the cost of a turn is known from the second answer on"
    turns = meter.turns_left(credits.remaining)
    if turns == 0:
        left += ", not enough for one more such turn"
    elif turns is not None:
        left += f", enough for about {counted(turns, 'more such turn')}"
    return f"{_cost_words(costs)}; {left}"


def _cost_words(costs: Sequence[int]) -> str:
    """Return the cost of the last turns, in words."""
    low = min(costs)
    high = max(costs)
    took = counted(high, "credit") if low == high else f"{low:,} to {high:,} credits"
    if len(costs) == 1:
        return f"the last turn cost {took}"
    return f"the last {len(costs)} turns cost {took} each"


def _plot(credits: Credits | None, rows: Sequence[LedgerRow]) -> str:
    """Return the plot of the credits that requests took, or of their tokens, as HTML."""
    if credits is None:
        return gauge.plot([(row.total_tokens, None) for row in rows], "tokens")
    bars = [(row.took, replace(credits, remaining=row.after, used=None)) for row in rows]
    return gauge.plot(bars, "credits")


def _cells(row: LedgerRow, before: LedgerRow | None) -> tuple[str, ...]:
    """Return a row of the table, with the date if it is another one than in the row before.

    The emulator's rows have no time, so that outputs repeat.
    """
    time = f"{row.time:%H:%M:%S}"
    if before is None or before.time.date() != row.time.date():
        time = f"{row.time:%Y-%m-%d} {time}"
    tokens = (row.prompt_tokens, row.completion_tokens)
    figures = (row.before, row.after, row.took)
    return (
        f"{row.number:,}",
        "" if row.service == EMULATOR else time,
        f"{row.entry} ({row.error})" if row.error else row.entry,
        *("" if count is None else f"{count:,}" for count in tokens),
        *("?" if figure is None else f"{figure:,}" for figure in figures),
        _SURE[row.sure],
    )


CREDITS: Final = Command(
    "chat_credits",
    _credits,
    (Option("--usage", "show the cost of its requests, and how much is left"),),
    forms=("[--usage]",),
    waits=False,
)
