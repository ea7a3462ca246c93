"""``%chat_credits``: the large gauge, or the requests' costs with a plot and the budgets."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from chatmagic.conversation.options import Option
from chatmagic.jupyter import transcript, views
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.status import Status
from chatmagic.protocol import credits as crediting
from chatmagic.render import gauge
from chatmagic.render.gauge import PlotBar
from chatmagic.render.sanitize import QUIET
from chatmagic.session.budget import OTHERS
from chatmagic.session.ledger import EMULATOR, Ledger, LedgerRow, Meter, Sure
from chatmagic.text import UNTYPESET, columns, counted, to_terminal, visible

MOST_SHOWN: Final = 20
"""The most rows of the table, which are those of the latest requests."""
_HEADS: Final = ("Request", "Time (UTC)", "Asked in", "Tokens", "Before", "After", "Took", "Sure")
_SURE: Final[dict[Sure, str]] = {
    "alone": "alone",
    "several": "with others of this kernel",
    "unknown": "not known",
}


def _credits(kernel: Kernel, given: Arguments) -> None:
    """Show the credits large: what is left, what the last turn took, as of when."""
    if "--usage" in given.options:
        views.show_html(*usage(kernel.session.ledger, Status(kernel).service()))
        return
    views.show_html(*Status(kernel).credits())


def usage(ledger: Ledger, service: str) -> tuple[str, str]:
    """Return the requests and the budgets of a kernel, as HTML and as text.

    Args:
        ledger: the kernel's requests and budgets.
        service: origin of the connected service, or ``emulator``.

    Raises:
        InputError: a budget cannot be read.
    """
    rows = ledger.rows_of(service)
    to = f" to {service}" if ledger.rows else ""
    lines = [f"No request was sent from this kernel{to} yet."]
    if rows:
        lines = [f"{counted(len(rows), 'request')} of this kernel to {service}."]
        lines += _lately(ledger.meter(service))
    lines += ledger.budget_words()
    return _usage_html(lines, rows), _usage_words(lines, rows)


def _lately(meter: Meter) -> list[str]:
    """Return the lines on the cost of the last turns, and on the number of turns left."""
    credits, costs = meter.credits, meter.costs
    if credits is None or credits.remaining is None:
        return [f"Its answers tell no credits; {OTHERS}."]
    left = f"{crediting.left_words(credits)}, {crediting.reset_words(credits)}"
    left = left[0].upper() + left[1:]
    if not costs:
        return [f"{left}; {OTHERS}. What a turn takes is known from the second answer on."]
    low, high, count = min(costs), max(costs), len(costs)
    took = counted(high, "credit") if low == high else f"{low:,} to {high:,} credits"
    lines = [f"The last turn took {took}; {OTHERS}."]
    if count > 1:
        lines = [f"The last {count} turns took {took} each; {OTHERS}."]
    turns = meter.turns_left(credits.remaining)
    if turns is None:
        return [*lines, f"{left}; {OTHERS}."]
    like = "the last" if count == 1 else f"the last {count}"
    return [*lines, f"{left}: about {counted(turns, 'more turn')} like {like}; {OTHERS}."]


def _cells(row: LedgerRow) -> tuple[str, ...]:
    """Return a row of the table; the emulator's rows have no time, so that outputs repeat."""
    tokens = (row.prompt_tokens, row.completion_tokens)
    known = [f"{count:,}" for count in tokens if count is not None]
    figures = (row.before, row.after, row.took)
    return (
        f"{row.number:,}",
        "" if row.service == EMULATOR else f"{row.time:%Y-%m-%d %H:%M:%S}",
        row.entry + (f" ({row.error})" if row.error else ""),
        " + ".join(known),
        *("?" if figure is None else f"{figure:,}" for figure in figures),
        _SURE[row.sure],
    )


def _caption(rows: Sequence[LedgerRow]) -> str:
    """Return the caption of the table, with the number of rows that it leaves out."""
    more = len(rows) - MOST_SHOWN
    latest = f" The latest {MOST_SHOWN}; session.ledger has {more:,} more." if more > 0 else ""
    return (
        "Credits before and after each request. Alone: no other request of this kernel had a part "
        f"in what it took; {OTHERS}.{latest}"
    )


def _usage_html(lines: Sequence[str], rows: Sequence[LedgerRow]) -> str:
    paragraphs = "".join(f"<p>{escape(visible(line))}</p>" for line in lines)
    begin = f'<div class="chatmagic {UNTYPESET}" role="group" aria-label="Usage">{paragraphs}'
    if not rows:
        return f"{begin}</div>"
    bars = [PlotBar(row.took, row.sure == "alone") for row in rows]
    about = f"Credits that the last {min(len(rows), gauge.MOST_BARS)} requests took, in order"
    key = f"{about}. Full: alone; dashed: with others; ?: not known; {OTHERS}."
    cells = [_cells(row) for row in rows[-MOST_SHOWN:]]
    return (
        f'{begin}{gauge.usage_plot(bars, about)}<p style="{QUIET}">{key}</p>'
        + transcript.grid(_HEADS, cells, "Requests")
        + f'<p style="{QUIET}">{escape(_caption(rows))}</p></div>'
    )


def _usage_words(lines: Sequence[str], rows: Sequence[LedgerRow]) -> str:
    table = [_HEADS, *map(_cells, rows[-MOST_SHOWN:])] if rows else []
    words = [*lines, *columns(table), *([_caption(rows)] if rows else [])]
    return "\n".join(map(to_terminal, words))


CREDITS: Final = Command(
    "chat_credits",
    _credits,
    (Option(("--usage",), "show what its requests took, how many turns are left, the budget"),),
    forms=("[--usage]",),
    waits=False,
)
