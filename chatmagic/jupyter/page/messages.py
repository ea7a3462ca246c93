"""The messages between the kernel and a page: those of the bridge, and those of the panel's views.

``page/messages.js`` of the labextension has their types for the page's code, and
``tests/samples/messages.json`` an example of each message, which the tests of both sides read. All
are JSON objects with a ``kind``. The kernel's messages have their types here, too. A page's
messages may be anything; their types are only in ``page/messages.js``.

The bridge's messages go over one comm that the kernel opens, of the target :data:`TARGET`. A page's
messages over it wait behind the running cells. A message that may not wait opens a comm of its own,
of the target :data:`URGENT`, which does not wait if kernel and page have subshells.

The panel's messages go over its widget's comm. A view gets its content in this way: it sends
``sync`` and gets a ``snapshot``, which lists ids and versions; then it sends ``want`` and gets the
``entries`` that it lacks. The first snapshot holds the newest entries, and the snapshot that every
view gets after each change holds the new ones. A message for one view has the view's name in
``view``; every other message is for all.
"""

# No annotations from __future__: NotRequired is not seen in strings.

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

PROTOCOL: Final = 3
"""Number of this form of the messages; a page and a kernel of two forms say so, and do no more."""
TARGET: Final = "chatmagic.bridge"
URGENT: Final = "chatmagic.urgent"
ID: Final = f"chatmagic.bridge.{PROTOCOL}."
"""Beginning of the comm's id: a page that missed its opening knows it by any message."""

# From the kernel to the bridge of each page.


class KernelState(TypedDict):
    """State of the kernel: the data of the comm's opening, and again when it has changed.

    ``asks`` are the asks under way: by the name of each (``live`` in every message) the cell that
    has ended while its reply arrives, or an empty string. ``keep_output`` is whether to tag cells
    with a record, for nbstripout.

    A cell that a message names without its notebook has the notebook's identity, and a space,
    before its id, where the page's execute requests tell it.
    """

    kind: Literal["state"]
    version: str
    asks: dict[str, str]
    keep_output: bool


class Known(TypedDict):
    """SHA-256 digests of the HTML of outputs that are the kernel's own, in hexadecimal."""

    kind: Literal["known"]
    digests: list[str]


class StaleBelow(TypedDict):
    """A cell's note on the stale turns below it, and their ids, in order."""

    words: str
    cells: list[str]


class Marks(TypedDict):
    """The words that the cells of a notebook wear, and of those that made others stale, these.

    Both are by the cell's id.
    """

    kind: Literal["marks"]
    notebook: str
    marks: dict[str, str]
    below: dict[str, StaleBelow]


class Say(TypedDict):
    """Words for the status region."""

    kind: Literal["say"]
    text: str


class Tell(TypedDict):
    """Report the cells again."""

    kind: Literal["tell"]


class CodeCell(TypedDict):
    """A new cell of ``%chat_code``."""

    id: str
    cell_type: Literal["code", "markdown"]
    source: str


class ForPage(TypedDict):
    """Question to the page of one cell, by the cell's id; the answer has the key."""

    page: str
    key: int
    cell: str


class Code(ForPage):
    """Cells to put into the page below the cell, and the digest of all of them."""

    kind: Literal["code"]
    digest: str
    cells: list[CodeCell]


class Run(ForPage):
    """Stale cells that the page is to run, in order, for the cell, which is running."""

    kind: Literal["run"]
    cells: list[str]


class Paint(TypedDict):
    """Changes of a reply under way, for its box: the bridge's in a cell, and the panel's.

    The box has the class ``chatmagic-live-`` with the ``live`` of the ask, and one child element
    for each block. Of the blocks after paint ``serial - 1`` the first ``keep`` stay, all others
    go, and ``blocks``, which are safe HTML of one element each, follow. A box that came with the
    whole reply has the class ``chatmagic-at-`` with the serial of the last paint that it holds.
    After the ``last`` paint nothing more of the ask is painted.

    Every few seconds a paint is of the whole reply, for a page that was loaded meanwhile. If a cell
    shows the reply, the paint has the ``cell``. A page in which this cell has no box of the reply
    gives it one, with the empty ``box``. The box replaces the replies that the cell showed before,
    if the reply ``replaces`` them.
    """

    kind: Literal["paint"]
    live: str
    serial: int
    keep: int
    blocks: list[str]
    last: NotRequired[bool]
    cell: NotRequired[str]
    box: NotRequired[str]
    replaces: NotRequired[bool]


class Settled(TypedDict):
    """Last state of a reply, as a notebook keeps it, for the output that still shows it live.

    If there is none, and ``metadata`` holds a record that no output of the ``cell`` has, the cell
    gets it. It replaces the replies that the cell showed before, if the reply ``replaces`` them.
    """

    kind: Literal["settled"]
    live: str
    cell: str
    replaces: bool
    data: dict[str, Any]
    metadata: dict[str, Any]


ToBridge = KernelState | Known | Marks | Say | Tell | Code | Run | Paint | Settled

# From the kernel to the views of the panel.


class GaugeFigures(TypedDict):
    """Figures of the gauge; times are ISO 8601, unknown figures are ``None``."""

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


class ReplyContent(TypedDict):
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
    """A prompt: its place, whether the panel owns it, its text and its safe HTML."""

    by: str
    mine: bool
    prompt: str
    prompt_html: str


class TurnFacts(TypedDict):
    """Special facts of a turn; if it has several ``replies``, their numbers, including its own."""

    notes: list[str]
    took: int | None
    replies: list[int]


class Entry(Prompt, TurnFacts):
    """A turn, whose id is its number, or an aside, whose id is below 0 and which has a problem."""

    id: int
    version: str
    reply: ReplyContent | None
    problem: Problem | None


class Pending(Prompt):
    """An ask under way, the turn behind which it stands, and those that it replaces.

    With its first words it has their ``html``, in a box that paints are of.
    """

    live: str
    stage: Literal["asked", "sending", "waiting", "began"]
    note: str
    after: int | None
    replaces: list[int]
    html: str


class AskEnd(TypedDict):
    """End of an ask; ``prompt`` is one of the panel's that was not answered."""

    live: str
    words: str
    fine: bool
    prompt: str | None


class Standing(TypedDict):
    """The state of the kernel in a word, and the settings in force as rows of words."""

    state: str
    rows: list[list[str]]


# From the kernel to a page.


class _OfView(TypedDict):
    view: NotRequired[str]


class Snapshot(_OfView):
    """Ids and versions of the newest entries in order, the number of turns before, and the state.

    The entries are those of one thread, whose name is beside the names of all.
    """

    kind: Literal["snapshot"]
    entries: list[tuple[int, str]]
    earlier: int
    new: list[Entry]
    pending: list[Pending]
    credits: GaugeFigures
    standing: Standing
    undo: bool
    redo: bool
    count: int
    threads: list[str]
    thread: str
    ended: NotRequired[AskEnd | None]
    reloaded: NotRequired[bool]


class Entries(_OfView):
    """Entries that a view wanted."""

    kind: Literal["entries"]
    entries: list[Entry]


class PendingMessage(Pending):
    """News of an ask under way."""

    kind: Literal["pending"]


class Offer(_OfView):
    """The kernel is ready to ask; the page says ``go`` or ``stop``."""

    kind: Literal["offer"]
    nonce: str
    live: str


class Stopping(_OfView):
    """The kernel has heard ``stop``."""

    kind: Literal["stopping"]


class Notice(_OfView):
    """Text for the status region; or the reason why the prompt of a ``nonce`` was not sent."""

    kind: Literal["notice"]
    words: str
    nonce: NotRequired[str]


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


Answer = Snapshot | Entries | Offer | Stopping | Notice | Insert | Saved
"""A message from the kernel to one view."""

FromKernel = Answer | PendingMessage | Paint | Pong

FromPage: TypeAlias = Mapping[str, Any]
"""A message of a page: ``page/messages.js`` has the types. Here none of its values is certain."""
