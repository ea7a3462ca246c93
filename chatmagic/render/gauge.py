"""Gauges: of the credits, a line under a reply and a large one, and of the progress of a map.

Pure. An unknown figure is shown as unknown. Words and the shape of the bar, not colour alone,
show that credits are low or used up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from chatmagic import safe_text
from chatmagic.models import Credits, Usage
from chatmagic.protocol import credits as crediting
from chatmagic.render.sanitize import QUIET, frame
from chatmagic.safe_text import counted

_CELLS: Final = 10
_HEIGHT: Final = 5.0  # of a plot, in em
_PLOT: Final = "display: flex; gap: 0.4em; margin: 0.8em 0 0.4em;"
_SCALE: Final = (
    "display: flex; flex-direction: column; justify-content: space-between; line-height: 1; "
    "margin: -0.5em 0; text-align: right;"
)
_BARS: Final = (
    f"flex: 1; min-width: 0; display: flex; align-items: flex-end; height: {_HEIGHT}em; "
    "border-top: 1px dotted; border-bottom: 1px solid;"
)
_FEW_BARS: Final = 40  # which leave room between them on a phone
# No wider than a finger.
_BAR: Final = "max-width: 1.2em; box-sizing: border-box"
_GROUP: Final = '<div class="chatmagic-gauge" role="group" aria-label="Credits">'
# Colours are Jupyter's, else VS Code's, else those of the text around.
_INK: Final = "var(--jp-ui-font-color1, var(--vscode-editor-foreground, currentColor))"
_COLOURS: Final = {
    # The theme's colours alone are too pale beside text, light and dark.
    level: f"color-mix(in srgb, {colour} 60%, {_INK})"
    for level, colour in {
        "ok": "var(--jp-success-color1, var(--vscode-charts-green, currentColor))",
        "low": "var(--jp-warn-color1, var(--vscode-charts-orange, currentColor))",
        "empty": "var(--jp-error-color1, var(--vscode-charts-red, currentColor))",
    }.items()
}


def line(
    credits: Credits | None, usage: Usage | None, settings: str = "", seconds: float | None = None
) -> tuple[str, str]:
    """Return the line under a reply as HTML with a small bar, and as words; empty without figures.

    It has the known credits and tokens, and the settings. The time stands there where no credits
    were told.

    Args:
        credits: the credits that the reply's own response named; ``None`` for none.
        usage: token counts; ``None`` is unknown.
        settings: the result of :func:`settings_words` for the reply's record.
        seconds: its time; ``None`` is unknown.
    """
    took = "" if crediting.has_credit_figures(credits) else time_words(seconds)
    figures = crediting.words(credits), usage_words(usage), took, settings
    words = " · ".join(filter(None, figures))
    html = f'<p class="chatmagic-credits" style="{QUIET} margin: 0.4em 0 0;">{_bar(credits)}'
    return words and f"{html}{escape(words)}</p>", words


def settings_words(parameters: Mapping[str, Any], model: str | None) -> str:
    """Return the settings of a request in words; empty if it has none.

    Args:
        parameters: the parameters that were set, as a record keeps them.
        model: the model that was requested; ``None`` if none was named.
    """
    temperature = parameters.get("temperature")
    most = parameters.get("max_tokens")
    form = parameters.get("format")
    schema = parameters.get("schema")
    # One spelling for 1 and 1.0, for 0 and -0.0: a page may have saved either.
    parts = (
        None if temperature is None else f"temperature {temperature + 0.0:g}",
        None if most is None else f"at most {counted(most, 'token')}",
        None if model is None else f"model {safe_text.one_line(model)}",
        None if form is None else f"format {form}",
        None if schema is None else f"schema {safe_text.one_line(schema)}",
    )
    return " · ".join(part for part in parts if part)


def usage_words(usage: Usage | None) -> str:
    """Return the token counts in words; empty if none is known.

    Args:
        usage: the counts; ``None`` is unknown.
    """
    if usage is None:
        return ""
    sent = usage.prompt_tokens
    received = usage.completion_tokens
    total = usage.total_tokens
    if sent is not None and received is not None:
        thought = f" ({usage.reasoning_tokens:,} for thoughts)" if usage.reasoning_tokens else ""
        return f"{counted(sent, 'token')} sent, {received:,} received{thought}"
    if total is not None:
        return counted(total, "token")
    if received is not None:
        return f"{counted(received, 'token')} received"
    return "" if sent is None else f"{counted(sent, 'token')} sent"


def time_words(seconds: float | None) -> str:
    """Return the time of a reply in words, such as ``3.2 s``; empty if it is not known.

    Args:
        seconds: the time; ``None`` is unknown.
    """
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s" if minutes else f"{max(seconds, 0.1):.1f} s"


def large(credits: Credits | None, took: int | None) -> tuple[str, str]:
    """Return the large gauge as HTML, and as words for a terminal; empty if no figures are known.

    Args:
        credits: the latest figures; ``None`` is unknown.
        took: the approximate cost of the last turn in credits; ``None`` is unknown.
    """
    if credits is None:
        return "", ""
    details = [] if took is None else [f"The last turn cost about {counted(took, 'credit')}."]
    details.append(f"As of {credits.seen_at:%Y-%m-%d %H:%M:%S} UTC.")
    blocks = _blocks(credits)
    bar = "" if blocks is None else f"[{'#' * blocks}{'.' * (_CELLS - blocks)}] "
    rows = "".join(f"<div>{escape(line)}</div>" for line in details)
    first, *more = crediting.words(credits).split(" · ")
    html = (
        f'{_GROUP}<div style="font-size: 160%;">{_bar(credits)}'
        f'<strong style="display: inline-block;">{escape(first)}</strong></div>'
        f"{''.join(f'<div>{escape(line)}</div>' for line in more)}"
        f'<div style="{QUIET}">{rows}</div></div>'
    )
    return html, "\n".join([bar + crediting.words(credits), *details])


def plot(bars: Sequence[tuple[int | None, Credits | None]], unit: str) -> str:
    """Return a plot of requests with a scale, as HTML; empty if no figure is known.

    Args:
        bars: the figure of each request, ``None`` is unknown; the credits after it, for the colour.
        unit: unit of the figures, in the plural.
    """
    known = [figure for figure, _ in bars if figure is not None]
    if not known:
        return ""
    top = _top_of_scale(max(known))
    latest = f"the latest {len(bars):,}, oldest first"
    words = f"{unit.capitalize()} of each request ({latest}): {max(known):,} at most"
    words += "; dashed is not known." if len(known) < len(bars) else "."
    drawn = "".join(_plot_bar(figure, after, top, unit) for figure, after in bars)
    gap = "3px" if len(bars) <= _FEW_BARS else "1px"
    labels = "".join(f"<span>{at:,}</span>" for at in (top, 0))
    return (
        f'<div role="img" aria-label="{words}"><div style="{_PLOT}">'
        f'<div style="{QUIET} {_SCALE}">{labels}</div>'
        f'<div style="{_BARS} gap: {gap};">{drawn}</div></div>'
        f'<div style="{QUIET}">{words}</div></div>'
    )


def _plot_bar(figure: int | None, after: Credits | None, top: int, unit: str) -> str:
    """Return the bar of one request.

    Args:
        figure: its figure; ``None`` is unknown.
        after: the credits after it; ``None`` is unknown.
        top: the figure at the top of the scale.
        unit: unit of the figures.
    """
    # A border, unlike a background, is printed, and shown in a theme of forced colours.
    edge = f"height: {_HEIGHT / 3:.2f}em; border: 1px dashed {_INK}; border-bottom: none"
    if figure is not None:
        height = 0.1 + (_HEIGHT - 0.1) * figure / top
        colour = _COLOURS.get(crediting.level(after), _INK)
        edge = f"border-bottom: {height:.2f}em solid {colour}"
    title = f"{'?' if figure is None else f'{figure:,}'} {unit}"
    title += "" if after is None else f"; {crediting.left_words(after)}"
    return f'<span title="{title}" style="flex: 1; {edge}; {_BAR}"></span>'


def _top_of_scale(most: int) -> int:
    """Return the least of 1, 2, 5, 10, 20, 50 … that is no less than a figure."""
    power = int("1".ljust(len(str(max(most, 1))), "0"))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= most)


def _blocks(credits: Credits | None) -> int | None:
    """Return the number of full cells in the bar: at least one while any credits are left."""
    if credits is None or credits.limit is None or credits.remaining is None:
        return None
    share = min(credits.remaining / credits.limit, 1.0) if credits.limit else 0.0
    return max(int(share * _CELLS), 1 if share else 0)


def progress(share: float | None, words: str) -> str:
    """Return the progress of many requests as HTML: a bar, and its words beside it.

    Args:
        share: share of the requests that are done, from 0 to 1; ``None`` draws no bar.
        words: the words.
    """
    bar = "" if share is None else _blocks_html(int(share * 2 * _CELLS), 2 * _CELLS, "ok")
    return frame(f'<p style="margin: 0;">{bar}{escape(words)}</p>', "Progress")


def _bar(credits: Credits | None) -> str:
    """Return the small bar of the credits as HTML; empty if a figure is not known."""
    blocks = _blocks(credits)
    if blocks is None:
        return ""
    return _blocks_html(blocks, _CELLS, crediting.level(credits))


def _blocks_html(full: int, cells: int, level: str) -> str:
    """Return a row of full and empty blocks as HTML, for eyes only."""
    return (
        f'<span aria-hidden="true" style="color: {_COLOURS[level]};">'
        f"{'▰' * full}{'▱' * (cells - full)}</span> "
    )
