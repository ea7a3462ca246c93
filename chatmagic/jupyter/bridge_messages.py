"""The messages between the kernel and the bridge of each page.

As for those of :mod:`chatmagic.jupyter.panel.messages`, ``static/messages.js`` has the same types,
and ``tests/samples/messages.json`` an example of each.
"""

# No annotations from __future__: NotRequired is not seen in strings.

from typing import Any, Literal, NotRequired, TypedDict

# From the kernel to a page.


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
    """Words for the status region; ``first`` if a panel has shown them already."""

    kind: Literal["say"]
    text: str
    first: NotRequired[bool]


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
    U+0080 on, which no safe HTML has, stands for a piece of the widget's ``frequent``.
    """

    kind: Literal["paint"]
    live: str
    serial: int
    keep: int
    blocks: list[str]
    same: NotRequired[int]
    last: NotRequired[bool]


class Settled(TypedDict):
    """Last state of a reply, as a notebook keeps it, for the output that still shows it live."""

    kind: Literal["settled"]
    live: str
    data: dict[str, Any]
    metadata: dict[str, Any]


ToBridge = Marks | Below | Say | Tell | Code | Run | Paint | Settled

# From a page to the kernel.


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
    """The page paints replies, so that they need few whole updates.

    It is the data with which the page opens a comm of its own, which does not wait behind the
    cell that asks; when the page closes that comm, it paints no more. Another one of the same
    ``notebook`` takes its place.
    """

    kind: Literal["paints"]
    notebook: str


class Lacks(TypedDict):
    """The page has an output that shows this reply as under way, and nothing more comes of it."""

    kind: Literal["lacks"]
    live: str


FromBridge = Cells | Coded | Started | Paints | Lacks
