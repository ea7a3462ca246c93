"""Agreement of a model's repeated answers with one another, and with true labels."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final

from chatmagic.errors import InputError
from chatmagic.render import reply_table
from chatmagic.safe_text import UNTYPESET, columns, counted, one_line
from chatmagic.study import measures
from chatmagic.study.answers import Level, ModelAnswers, Scale, is_frame, listed, read_answers
from chatmagic.study.measures import Array, Estimate, counts_of, library
from chatmagic.study.review import Review

PAIRS: Final = "agreeing pairs"
ALPHA: Final = "Krippendorff's alpha"
ACCURACY: Final = "accuracy, single answers"
KAPPA: Final = "Cohen's kappa, single answers"
MAJORITY_ACCURACY: Final = "accuracy, majority"
MAJORITY_KAPPA: Final = "Cohen's kappa, majority"
BETWEEN_PAIRS: Final = "agreeing pairs, between"
BETWEEN_KAPPA: Final = "Cohen's kappa, between"
DIFFERENCE: Final = "difference in accuracy"
METADATA: Final = "chatmagic_agreement"
"""Key of the figures in the metadata of a notebook's output, where a report finds them."""
TIED: Final = "(tie)"
_HEAD: Final = ("measure", "value", "low", "high", "n", "interval")
_LONGEST: Final = 40


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of a study.

    Args:
        of: the answers that it is of, by name; empty for those of one table.
        name: the measure.
        value: its value; ``None`` if it is not defined.
        low: lower end of its interval of 95 %; ``None`` without one.
        high: upper end of the interval.
        n: number of rows that it is computed from.
        interval: ``BCa``, ``percentile`` or ``Wilson``; empty without an interval.
    """

    of: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    interval: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """Number of answers for each true label and each label that was given.

    Args:
        of: the answers' name among several; empty for those of one table.
        gold: the true labels, a row each.
        labels: the given labels, a column each.
        counts: the numbers of answers, row by row.
    """

    of: str
    gold: tuple[str, ...]
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of answers: measures with their intervals over rows.

    Args:
        measures: the measures.
        confusions: the tables of single answers and true labels, one for each table with gold.
        notes: sentences on what the measures do not say.
        level: level of measurement of the labels.
    """

    measures: tuple[Measure, ...]
    confusions: tuple[Confusion, ...]
    notes: tuple[str, ...]
    level: Level

    @property
    def table(self) -> Any:
        """A DataFrame with a row for each measure, and columns ``value``, ``low``, ``high``, ``n``.

        Of several tables the index has their names, too. What is not defined is ``NaN``.
        """
        pd = library("pandas")
        rows = [
            (measure.value, measure.low, measure.high, measure.n, measure.interval)
            for measure in self.measures
        ]
        frame = pd.DataFrame(rows, columns=_HEAD[1:])
        kinds = dict.fromkeys(_HEAD[1:4], float)
        return frame.astype(kinds).set_index(self._index(pd))

    def _index(self, pd: Any) -> Any:
        """Return the index of the table: the measures, of several tables with their names."""
        names = [measure.name for measure in self.measures]
        if not any(measure.of for measure in self.measures):
            return pd.Index(names, name="measure")
        pairs = [(measure.of, measure.name) for measure in self.measures]
        return pd.MultiIndex.from_tuples(pairs, names=["of", "measure"])

    @property
    def confusion(self) -> Any:
        """A DataFrame of counts, with a row for each true label and a column for each given one.

        Of several tables it is a dict of them by name, and without gold ``None``.
        """
        if not self.confusions:
            return None
        frames = {table.of: _frame(table) for table in self.confusions}
        is_one_table = "" in frames
        return frames[""] if is_one_table else frames

    def plot(self, ax: Any = None) -> Any:
        """Draw the measures as points with their intervals.

        Args:
            ax: the Axes of matplotlib to draw in; ``None`` for new ones.

        Returns:
            The Axes.

        Raises:
            InputError: matplotlib is not installed.
        """
        shown = [measure for measure in self.measures if measure.value is not None]
        if ax is None:
            ax = _new_axes(len(shown))
        for place, measure in enumerate(shown):
            ax.plot([measure.value], [place], "o", color="C0")
            if measure.low is not None:
                ax.plot([measure.low, measure.high], [place, place], "-", color="C0")
        # A label may have dollars, which are no formula.
        names = [one_line(_title(measure), _LONGEST * 2) for measure in shown]
        ax.set_yticks(range(len(shown)), names, parse_math=False)
        ax.invert_yaxis()
        ax.set_xlabel("value, with its interval of 95 % over rows")
        ax.grid(axis="x", alpha=0.3)
        return ax

    def to_json(self) -> dict[str, Any]:
        """Return the measures, the confusion and the notes as JSON."""
        return {
            "level": self.level,
            "measures": [asdict(measure) for measure in self.measures],
            "confusion": [asdict(table) for table in self.confusions],
            "notes": [*self.notes],
        }

    def __repr__(self) -> str:
        """Return the table and the notes as text."""
        lines = columns([_HEAD, *map(_cells, self.measures)])
        return "\n".join([*lines, *self.notes])

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the page and the text, and the figures as the output's metadata."""
        data = {"text/html": self._repr_html_(), "text/plain": repr(self)}
        return data, {METADATA: self.to_json()}

    def _repr_html_(self) -> str:
        """Return the tables and the notes as HTML; labels are text."""
        rows = [_cells(measure) for measure in self.measures]
        parts = [reply_table.as_html(_HEAD, rows, shown=len(rows))]
        for table in self.confusions:
            head = [f"true, {table.of}" if table.of else "true", *table.labels]
            body = [[name, *row] for name, row in zip(table.gold, table.counts, strict=True)]
            parts.append(reply_table.as_html(head, body))
        parts += [f'<p dir="auto">{html.escape(note)}</p>' for note in self.notes]
        return f'<div class="{UNTYPESET}">{"".join(parts)}</div>'


def agreement(
    frame: Any,
    repeats: str | Sequence[str] = "replies",
    gold: str | Iterable[Any] | Review | None = None,
    level: Level = "nominal",
    *,
    labels: Iterable[Any] | None = None,
) -> Agreement:
    """Return the agreement of repeated answers with one another, and with true labels.

    The rows are taken to be exchangeable, like a random sample of the texts that the study is
    about: an interval says what other rows would have given, and nothing of another model.

    Args:
        frame: the table that ``chatmagic.map(…, repeats=5)`` returned; any table, dict of columns
            or list of dicts with such a column; or a dict of several tables of the same rows by
            name, to compare two models or two wordings.
        repeats: the column with the list of each row's answers, or with one answer; or several
            columns, each with one answer, such as those of two persons.
        gold: the column with the true labels; a review; or the labels themselves, row by
            row, with ``None`` where one is not known.
        level: ``nominal`` for names, ``ordinal`` for names or numbers in an order, ``interval``
            for numbers with distances. It is that of alpha; accuracy and kappa compare names.
        labels: the labels in their order; words need it where the level is ``ordinal``.

    Raises:
        InputError: the table has no such column or no answers, or a library is not installed.
    """
    scale = Scale.of(level, labels)
    for name in ("numpy", "krippendorff", "scipy.stats", "statsmodels.stats.inter_rater"):
        library(name)
    frames = _frames(frame, repeats)
    if isinstance(gold, Review):
        gold = gold.gold
    truth = gold if gold is None or isinstance(gold, str) else listed("gold", gold)
    sides = [read_answers(name, table, repeats, truth, scale) for name, table in frames.items()]
    _check_rows(sides)
    names = scale.domain(sides)
    figures: list[Measure] = []
    notes: list[str] = []
    for side in sides:
        figures += _measures_of(side, names, level)
        notes += _notes_on(side)
    for first, second in combinations(sides, 2):
        figures += _measures_between(first, second, names)
    confusions = tuple(_confusion(side, names) for side in sides if side.gold is not None)
    notes += _notes_on_measures(figures)
    return Agreement(tuple(figures), confusions, tuple(notes), level)


def _new_axes(rows: int) -> Any:
    """Return new Axes of matplotlib, high enough for a number of rows."""
    try:
        pyplot = library("matplotlib.pyplot")
    except InputError:
        hint = "pip install matplotlib"
        raise InputError("A plot needs matplotlib.", hint=hint) from None
    _, ax = pyplot.subplots(figsize=(6.4, 1 + 0.35 * rows), layout="constrained")
    return ax


def _frames(frame: Any, repeats: str | Sequence[str]) -> dict[str, Any]:
    """Return the tables by their names; the name of one alone is empty."""
    column = repeats if isinstance(repeats, str) else next(iter(repeats), "")
    is_several = isinstance(frame, Mapping) and column not in frame
    if not is_several or not frame or not all(map(is_frame, frame.values())):
        return {"": frame}
    return {str(name): table for name, table in frame.items()}


def _check_rows(sides: Sequence[ModelAnswers]) -> None:
    """Refuse tables that cannot be compared row by row."""
    first = sides[0]
    for side in sides[1:]:
        if len(side.rows) != len(first.rows):
            raise InputError(
                f"{one_line(first.name)} has {counted(len(first.rows), 'row')}, and "
                f"{one_line(side.name)} {len(side.rows):,}: they are compared row by row."
            )
        if side.gold != first.gold:
            raise InputError(
                f"{one_line(first.name)} and {one_line(side.name)} have other true labels: they "
                "are compared row by row."
            )


def _measures_of(side: ModelAnswers, labels: Sequence[str], level: Level) -> Iterator[Measure]:
    """Yield the measures of one table: of its repeats, and against the true labels."""
    counts = counts_of(side.rows, labels)
    yield _measure(side.name, PAIRS, measures.mean(measures.pair_shares(counts)))
    yield _measure(side.name, ALPHA, measures.alpha(counts, labels, level))
    if side.gold is None:
        return
    gold, shares = _known(side, labels)
    yield _measure(side.name, ACCURACY, measures.mean((gold * shares).sum(axis=1)))
    yield _measure(side.name, KAPPA, measures.kappa(gold, shares))
    yield from _measures_of_majorities(side, labels)


def _measures_of_majorities(side: ModelAnswers, labels: Sequence[str]) -> Iterator[Measure]:
    """Yield the measures of each row's most frequent label against its true label."""
    pairs = [
        (truth, majority or TIED)
        for truth, majority, row in zip(side.gold or (), side.majorities, side.rows, strict=True)
        if truth is not None and row
    ]
    right = sum(truth == majority for truth, majority in pairs)
    yield _measure(side.name, MAJORITY_ACCURACY, measures.proportion(right, len(pairs)))
    # A bootstrap of it does not cover: a majority changes by steps where rows are nearly tied.
    names = [*labels, TIED]
    truths = counts_of([[truth] for truth, _ in pairs], names)
    kappa = measures.kappa(truths, counts_of([[majority] for _, majority in pairs], names))
    without_interval = Estimate(kappa.value, None, None, kappa.rows)
    yield _measure(side.name, MAJORITY_KAPPA, without_interval)


def _known(side: ModelAnswers, labels: Sequence[str]) -> tuple[Array, Array]:
    """Return the true label and the shares of the labels, of the rows that have both."""
    gold = counts_of([[label] for label in side.gold or ()], labels)
    counts = counts_of(side.rows, labels)
    known = (gold.sum(axis=1) > 0) & (counts.sum(axis=1) > 0)
    return gold[known], _shares(counts[known])


def _shares(counts: Array) -> Array:
    """Return the shares of the labels in each row."""
    shares: Array = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _measures_between(
    first: ModelAnswers, second: ModelAnswers, labels: Sequence[str]
) -> Iterator[Measure]:
    """Yield the measures of two tables, row by row."""
    counts = counts_of(first.rows, labels)
    other_counts = counts_of(second.rows, labels)
    answered = (counts.sum(axis=1) > 0) & (other_counts.sum(axis=1) > 0)
    shares = _shares(counts[answered])
    other_shares = _shares(other_counts[answered])
    both = f"{first.name}, {second.name}"
    yield _measure(both, BETWEEN_PAIRS, measures.mean((shares * other_shares).sum(axis=1)))
    yield _measure(both, BETWEEN_KAPPA, measures.kappa(shares, other_shares))
    if first.gold is not None:
        gold = counts_of([[label] for label in first.gold], labels)[answered]
        known = gold.sum(axis=1) > 0
        gains = (gold * (shares - other_shares)).sum(axis=1)[known]
        yield _measure(f"{first.name} - {second.name}", DIFFERENCE, measures.mean(gains))


def _measure(of: str, name: str, estimate: Estimate) -> Measure:
    """Return a measure with the figures of its estimate."""
    return Measure(
        of=of,
        name=name,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n=estimate.rows,
        interval=estimate.interval,
    )


def _confusion(side: ModelAnswers, labels: Sequence[str]) -> Confusion:
    """Return the numbers of answers by true label and given label."""
    gold = counts_of([[label] for label in side.gold or ()], labels)
    counts = (gold.T @ counts_of(side.rows, labels)).astype(int)
    is_true = gold.sum(axis=0) > 0
    is_given = counts.sum(axis=0) > 0
    return Confusion(
        side.name,
        tuple(label for label, shown in zip(labels, is_true, strict=True) if shown),
        tuple(label for label, shown in zip(labels, is_true | is_given, strict=True) if shown),
        tuple(tuple(map(int, row)) for row in counts[is_true][:, is_true | is_given]),
    )


def _notes_on(side: ModelAnswers) -> Iterator[str]:
    """Yield sentences on the answers of one table, each behind its name among several."""
    before = f"{one_line(side.name)}: " if side.name else ""
    for sentence in (*_notes_on_answers(side), *_notes_on_gold(side)):
        yield f"{before}{sentence}"


def _notes_on_answers(side: ModelAnswers) -> Iterator[str]:
    """Yield sentences on the numbers of answers, on missing ones and on ties."""
    answers = [label for row in side.rows for label in row]
    numbers = {len(row) for row in side.rows if row}
    if len({*answers}) == 1:
        label = one_line(repr(answers[0]), _LONGEST)
        yield f"All answers are the same, {label}, so alpha is not defined."
    if numbers == {1}:
        yield "Each row has one answer, so nothing is known of repeats."
    elif len(numbers) > 1:
        yield f"The rows have {min(numbers):,} to {max(numbers):,} answers each."
    if side.missing:
        whole = len(answers) + side.missing
        yield f"{side.missing:,} of {whole:,} answers are missing, and are left out."
    if side.ties:
        effect = "" if side.gold is None else "; none of them counts as right"
        noun = "row has" if side.ties == 1 else "rows have"
        yield f"{side.ties:,} {noun} no most frequent answer (a tie){effect}."


def _notes_on_gold(side: ModelAnswers) -> Iterator[str]:
    """Yield sentences on true labels that are missing, or that no answer has."""
    if side.gold is None:
        return
    known = [label for label in side.gold if label is not None]
    if len(known) < len(side.gold):
        yield f"{len(known):,} of {counted(len(side.gold), 'row')} have a true label."
    given = {label for row in side.rows for label in row}
    unknown = sorted({*known} - given)
    if unknown:
        names = ", ".join(one_line(repr(label), _LONGEST) for label in unknown[:3])
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""  # noqa: PLR2004
        yield f"No answer is {names}{more}, which is a true label."


def _notes_on_measures(figures: Sequence[Measure]) -> Iterator[str]:
    """Yield sentences on the intervals that are not there."""
    lacking = [item for item in figures if item.value is not None and not item.interval]
    few = [item for item in lacking if item.n < measures.FEWEST_ROWS]
    if few:
        yield (
            f"Below {measures.FEWEST_ROWS} rows a bootstrap interval does not hold what it "
            "promises, so none is shown."
        )
    alike = [_title(item) for item in lacking if item not in few and item.name != MAJORITY_KAPPA]
    if alike:
        names = one_line("; ".join(alike), 200)
        yield f"No interval, as too few rows differ from the others: {names}."


def _title(measure: Measure) -> str:
    """Return the name of a measure, with that of its answers among several."""
    return f"{measure.of}: {measure.name}" if measure.of else measure.name


def _cells(measure: Measure) -> list[str]:
    """Return a measure as the cells of a line."""
    figures = [measure.value, measure.low, measure.high]
    shown = ["" if figure is None else f"{round(figure, 3) + 0.0:.3f}" for figure in figures]
    return [one_line(_title(measure), _LONGEST * 2), *shown, f"{measure.n:,}", measure.interval]


def _frame(confusion: Confusion) -> Any:
    """Return a table of true and given labels as a DataFrame."""
    pd = library("pandas")
    index = pd.Index(confusion.gold, name="true")
    names = pd.Index(confusion.labels, name="answer")
    return pd.DataFrame(confusion.counts, index=index, columns=names)
