"""The messages between the kernel and the bridge of each page.

They go over one comm that the kernel opens, of the target :data:`TARGET`. What a page says over it
waits behind the cells that run; a message that may not wait opens a comm of its own, of the target
:data:`URGENT`, which does not wait where kernel and page have subshells.

As for those of :mod:`chatmagic.jupyter.panel.messages`, ``page/messages.js`` of the labextension
has the same types, and ``tests/samples/messages.json`` an example of each.
"""

# No annotations from __future__: NotRequired is not seen in strings.

from typing import Any, Final, Literal, NotRequired, TypedDict

PROTOCOL: Final = 1
"""Number of this form of the messages; a page and a kernel of two forms say so, and do no more."""
TARGET: Final = "chatmagic.bridge"
URGENT: Final = "chatmagic.urgent"
ID: Final = f"chatmagic.bridge.{PROTOCOL}."
"""What the comm's id begins with: a page that missed its opening knows it by any message."""

# From the kernel to a page.


class KernelState(TypedDict):
    """State of the kernel: the data of the comm's opening, and again when it has changed.

    ``asking`` is the id of the cell that has ended while its reply comes, empty for none;
    ``keep_output`` is whether to tag cells with a record, for nbstripout.
    """

    kind: Literal["state"]
    version: str
    asking: str
    keep_output: bool


class Marks(TypedDict):
    """The words that cells wear, by the cell's id."""

    kind: Literal["marks"]
    marks: dict[str, str]


class StaleBelow(TypedDict):
    """What a cell says of the stale ones below it, and their ids, in order."""

    words: str
    cells: list[str]


class Below(TypedDict):
    """The stale cells below those that made them stale, by the latter's ids."""

    kind: Literal["below"]
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


class Code(TypedDict):
    """Cells to put into one page, below a cell, and the digest of all of them."""

    kind: Literal["code"]
    page: str
    key: int
    cell: str
    digest: str
    cells: list[CodeCell]


class Run(TypedDict):
    """Stale cells that one page is to run, in order, for a cell that is running."""

    kind: Literal["run"]
    page: str
    key: int
    cell: str
    cells: list[str]


class Paint(TypedDict):
    """What changed in a reply under way, for its box: the bridge's in a cell, and the panel's.

    The box has the class ``chatmagic-live-`` with the ``live`` of the ask, and one child element
    for each block. Of the blocks after paint ``serial - 1`` the first ``keep`` stay, all others
    go, and ``blocks``, which are safe HTML of one element each, follow. A box that came with the
    whole reply has the class ``chatmagic-at-`` with the serial of the last paint that it holds.
    After the ``last`` paint nothing more of the ask is painted.

    Over the bridge the first of the blocks begins with as many
    characters (of UTF-16) of the one that stood there as ``same`` says; and a character from
    U+0080 on, which no safe HTML has, stands for a piece of ``frequent``.

    Every few seconds a paint is of all that is shown, for a page that was loaded meanwhile. It has
    ``frequent``, and where a cell shows the reply, the ``cell``: a page in which this cell has no
    box of the reply gives it one, by the empty ``box``, in the place of the replies that the
    cell showed before where the reply ``replaces`` them.
    """

    kind: Literal["paint"]
    live: str
    serial: int
    keep: int
    blocks: list[str]
    same: NotRequired[int]
    last: NotRequired[bool]
    frequent: NotRequired[list[str]]
    cell: NotRequired[str]
    box: NotRequired[str]
    replaces: NotRequired[bool]


class Settled(TypedDict):
    """Last state of a reply, as a notebook keeps it, for the output that still shows it live.

    Where there is none, and ``metadata`` holds a record that no output of the ``cell`` has, the
    cell gets it, in the place of the replies that it showed before where the reply ``replaces``
    them.
    """

    kind: Literal["settled"]
    live: str
    cell: str
    replaces: bool
    data: dict[str, Any]
    metadata: dict[str, Any]


ToBridge = KernelState | Marks | Below | Say | Tell | Code | Run | Paint | Settled

# From a page to the kernel.


class Hello(TypedDict):
    """The page's protocol and version; the first message of a page, and of another protocol all."""

    kind: Literal["hello"]
    protocol: int
    version: str


class Cells(TypedDict):
    """Id, whether it is code, and owner of each cell, from top to bottom."""

    kind: Literal["cells"]
    page: str
    notebook: str
    name: str
    opened: bool
    cells: list[tuple[str, bool, str | None]]


class Coded(TypedDict):
    """What became of the cells to put, and how many were made, removed, left."""

    kind: Literal["coded"]
    key: int
    outcome: Literal["made", "same", "queued", "refused"]
    made: int
    removed: int
    left: int


class Started(TypedDict):
    """What became of the cells to run, and how many the page has started."""

    kind: Literal["started"]
    key: int
    outcome: Literal["started", "queued", "refused"]
    count: int


class Paints(TypedDict):
    """Urgent: the page paints replies, so that they need few whole updates."""

    kind: Literal["paints"]


class Stop(TypedDict):
    """Urgent: end the reply that comes in the background."""

    kind: Literal["stop"]


class Lacks(TypedDict):
    """The page has an output that shows this reply as under way, and nothing more comes of it."""

    kind: Literal["lacks"]
    live: str


FromBridge = Hello | Cells | Coded | Started | Paints | Stop | Lacks
