"""The messages between the kernel and the views of the panel.

Those of the bridge are in :mod:`chatmagic.jupyter.bridge_messages`. ``page/messages.js`` of the
labextension has the same types for the page's code, and ``tests/samples/messages.json`` an example
of each message, which the tests of both sides read. All are JSON objects with a ``kind``. Of a
page's message only the kind is certain (:func:`read`).

How a view learns what there is: it says ``sync`` and gets a ``snapshot``, which lists ids and
versions; it says ``want`` and gets the ``entries`` that it lacks. The snapshot with which it
opens holds the newest, and the one that every view gets after each change holds what is new. A
message that the kernel sends to one view has its name in ``view``; every other is for all.
"""

# No annotations from __future__: NotRequired is not seen in strings.

from typing import Any, Final, Literal, NotRequired, TypedDict, get_args, get_type_hints

from chatmagic.jupyter.bridge_messages import Paint


class Credits(TypedDict):
    """Figures of the gauge; times are ISO 8601, what is unknown is ``None``."""

    words: str
    level: Literal["unknown", "ok", "low", "empty"]
    limit: int | None
    left: int | None
    took: int | None
    resets: str | None
    seen: str | None
    now: str
    requests: str
    until: str | None


class Reply(TypedDict):
    """A reply: safe HTML, its text to copy, and its state in words."""

    html: str
    text: str
    states: list[str]
    tokens: str


class Problem(TypedDict):
    """Reason why an ask is not in the conversation, or in part; ``failed`` unless it was chosen."""

    what: str
    hint: str
    failed: bool


class Prompt(TypedDict):
    """A prompt: where it was asked, whether the panel owns it, as text and as safe HTML."""

    by: str
    mine: bool
    prompt: str
    prompt_html: str


class Entry(Prompt):
    """A turn, whose id is its number, or an aside, whose id is below 0 and which has a problem.

    Where a turn has several replies, ``replies`` are their numbers, its own among them.
    """

    id: int
    version: str
    notes: list[str]
    took: int | None
    reply: Reply | None
    problem: Problem | None
    replies: list[int]


class Pending(Prompt):
    """An ask under way, the turn behind which it stands, and those that it replaces."""

    key: int
    stage: Literal["asked", "sending", "waiting", "began"]
    note: str
    after: int | None
    replaces: list[int]
    html: str


class Ended(TypedDict):
    """End of an ask; ``prompt`` is one of the panel's that was not answered."""

    key: int
    words: str
    fine: bool
    prompt: str | None


class Standing(TypedDict):
    """The state of the kernel in a word, and the settings in force as rows of words."""

    state: str
    rows: list[list[str]]


class State(TypedDict):
    """State that may change with each turn, and is small.

    Where there are several threads, it names them and the one whose turns are counted and listed.
    """

    credits: Credits
    standing: Standing
    undo: bool
    redo: bool
    count: int
    threads: NotRequired[list[str]]
    thread: NotRequired[str]


# From the kernel to a page.


class _OfView(TypedDict):
    view: NotRequired[str]


class Snapshot(State, _OfView):
    """Ids and versions of the newest entries in order, and how many turns stand before them."""

    kind: Literal["snapshot"]
    entries: list[tuple[int, str]]
    earlier: int
    new: list[Entry]
    pending: list[Pending]
    ended: NotRequired[Ended | None]
    reloaded: NotRequired[bool]


class Entries(_OfView):
    """Entries that a view wanted."""

    kind: Literal["entries"]
    entries: list[Entry]


class PendingMessage(Pending):
    """News of an ask under way."""

    kind: Literal["pending"]


class Text(TypedDict):
    """The reply under way so far, as safe HTML, once: paints follow, of the box that it brings."""

    kind: Literal["text"]
    key: int
    html: str


class Offer(_OfView):
    """The kernel is ready to ask; the page says ``go`` or ``stop``."""

    kind: Literal["offer"]
    nonce: str
    key: int


class Refused(_OfView):
    """A prompt was not sent."""

    kind: Literal["refused"]
    nonce: str
    words: str


class Stopping(_OfView):
    """The kernel has heard ``stop``."""

    kind: Literal["stopping"]


class Notice(_OfView):
    """Words on what was done, for the status region."""

    kind: Literal["notice"]
    words: str


class NewCell(TypedDict):
    """A cell for a turn, as a notebook has it, and the id of the cell beside which it goes."""

    turn: int
    cell: dict[str, Any]
    after: NotRequired[str]
    before: NotRequired[str]


class Insert(_OfView):
    """Cells to put into the notebook; the page says ``placed`` for each."""

    kind: Literal["insert"]
    cells: list[NewCell]


class Saved(_OfView):
    """Content of the output beside the widget: only the page reaches it after a reload."""

    kind: Literal["saved"]
    data: dict[str, str]


class Pong(TypedDict):
    """The answer to ``ping``."""

    kind: Literal["pong"]


Answer = Snapshot | Entries | Offer | Refused | Stopping | Notice | Insert | Saved
"""What the kernel sends to one view."""

FromKernel = Answer | PendingMessage | Text | Paint | Pong

# From a page to the kernel.


class Sync(_OfView):
    """A view opens, or wants so many turns listed."""

    kind: Literal["sync"]
    count: NotRequired[int]
    first: NotRequired[bool]


class Want(_OfView):
    """A view lacks these entries."""

    kind: Literal["want"]
    ids: list[int]


class Ask(_OfView):
    """A prompt; without text, the one of the turn that it replaces, letter for letter."""

    kind: Literal["ask"]
    nonce: str
    text: str | None
    replaces: int | None


class Go(_OfView):
    """Send what was offered; or stop an ask, or drop what was offered."""

    kind: Literal["go", "stop"]
    key: int


class Step(_OfView):
    """Undo, redo, or begin a new conversation."""

    kind: Literal["step"]
    step: Literal["undo", "redo", "clear"]


class Thread(_OfView):
    """Show the turns of this thread in all panels, and ask in it."""

    kind: Literal["thread"]
    thread: str


class Pick(_OfView):
    """Put another reply in the place of a turn's, by its number among the turn's ``replies``."""

    kind: Literal["pick"]
    turn: int
    reply: int


class Put(_OfView):
    """Make cells of turns (``None``: all of the panel's); ``cells`` are the page's, in order."""

    kind: Literal["put"]
    turns: list[int] | None
    cells: list[str]


class Placed(_OfView):
    """A turn stands in the notebook, as this cell."""

    kind: Literal["placed"]
    turn: int
    cell: str


class Ping(_OfView):
    """Answer with ``pong``; or with what is to be ``saved``."""

    kind: Literal["ping", "save"]


FromPage = Sync | Want | Ask | Go | Step | Thread | Pick | Put | Placed | Ping

_KINDS: Final = frozenset(
    kind for form in get_args(FromPage) for kind in get_args(get_type_hints(form)["kind"])
)


def read(content: object) -> FromPage | None:
    """Return a page's message by its kind, or ``None`` where it is none of these.

    Args:
        content: whatever the page sent; the values in it are not looked at.
    """
    kind = content.get("kind") if isinstance(content, dict) else None
    known = isinstance(kind, str) and kind in _KINDS
    return content if known else None  # type: ignore[return-value] # by its kind
