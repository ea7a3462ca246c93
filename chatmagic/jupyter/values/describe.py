"""An object of the namespace as a text for a reader: the model."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any, Final

from IPython.utils.dir2 import get_real_method

from chatmagic._log import log_swallowed
from chatmagic.jupyter.values import arrays, figures, sources, tables
from chatmagic.jupyter.values.description import LIMIT, Description, kind_of, printed, whole_or_cut
from chatmagic.models import Reply
from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

FOR_MODELS: Final = "text/llm+plain"
"""The type of what an object says of itself for a model, among its displays."""
_AS_IT_IS: Final = (str, Number, Reply, type(None))
_NAMED: Final = 5


class Descriptions:
    """Texts of the expressions of one prompt, and what is said of them to the person who asks.

    Args:
        shell: the shell in whose namespace they are evaluated.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Begin with none."""
        self._shell = shell
        self._words: list[str] = []

    def text(self, expression: str) -> str:
        """Evaluate an expression, and return the text that stands for its value.

        Args:
            expression: as typed between the braces.

        Raises:
            Exception: what the user's own code raises.
        """
        shell = self._shell
        value = eval(expression, shell.user_global_ns, shell.user_ns)  # noqa: S307 - the user's own words
        description = describe(value, shell)
        if words := description.words(expression):
            self._words.append(words)
        return description.text

    @property
    def notes(self) -> tuple[str, ...]:
        """A line on what was described; none where all were texts and numbers."""
        words = list(dict.fromkeys(self._words))
        if len(words) > _NAMED:
            words[_NAMED:] = [f"and {counted(len(words) - _NAMED, 'more value')}"]
        return ("; ".join(words),) if words else ()


def describe(value: object, shell: InteractiveShell) -> Description:
    """Return what stands for an object in a prompt.

    A text goes in as it is, a number as ``str()``. Nothing else is longer than
    :data:`~chatmagic.jupyter.values.description.LIMIT`. Where an object's own methods fail, the
    next way to describe it is taken.

    Args:
        value: any object; nothing is written to it.
        shell: the shell whose printers and cells count.

    Raises:
        Exception: what ``str()`` raises for a text or a number.
    """
    if issubclass(type(value), _AS_IT_IS):
        return Description(str(value))
    ways: tuple[Callable[[], Description | None], ...] = (
        lambda: _own_words(value),
        lambda: tables.describe(value),
        lambda: arrays.describe(value),
        lambda: figures.describe(value),
        lambda: sources.describe(value, shell),
        lambda: _as_ipython_shows_it(value, shell),
    )
    for way in ways:
        try:
            description = way()
        except Exception as error:  # noqa: BLE001 - an object's own methods may raise anything
            log_swallowed(error)
            continue
        if description is None:
            continue
        if len(description.text) <= LIMIT:
            return description
        return whole_or_cut(description.text, description.what, "the description")
    kind = kind_of(value)
    return Description(f"<{kind}, which cannot be shown as text>", kind)


def _own_words(value: object) -> Description | None:
    """Return what an object says of itself for a model, if it does."""
    text: Any = None
    if (method := get_real_method(value, "_repr_llm_")) is not None:
        text = method()
    if (
        not isinstance(text, str)
        and (method := get_real_method(value, "_repr_mimebundle_")) is not None
    ):
        bundle = method(include={FOR_MODELS}, exclude=None)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        text = (data or {}).get(FOR_MODELS)
    if not isinstance(text, str):
        return None
    return whole_or_cut(str(text), f"own words of {kind_of(value)}", "its own words")


def _as_ipython_shows_it(value: object, shell: InteractiveShell) -> Description:
    text, complete = printed(value, shell)
    kind = kind_of(value)
    return whole_or_cut(text, kind, f"this {kind}", complete=complete)
