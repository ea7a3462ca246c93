"""Changes of another kernel in a cassette's file."""

from __future__ import annotations

from cassettes import exchange_of

from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.item import CassetteItem
from chatmagic.cassette.merge import merged_with_file
from chatmagic.models import Message
from chatmagic.protocol.request import Request


def exchange(prompt: str) -> Interaction:
    """Return an exchange whose reply is its prompt."""
    return exchange_of(Request((Message("user", prompt),)), text=prompt)


def texts(items: list[CassetteItem]) -> str:
    """Return the replies, one after the other."""
    return "".join(item.recorded.text or "" for item in items)


A, B, C, F, M = map(exchange, "abcfm")


def test_two_kernels_keep_each_others() -> None:
    """What another one saved is taken in; what the file lost is kept, and counted."""
    items = [CassetteItem(A, was_saved=True), CassetteItem(B, was_saved=True), CassetteItem(C)]
    merged = merged_with_file(items, (A, B), (F, A, B, M))
    assert (texts(merged.items), merged.lost) == ("fabmc", 0)
    held = [item.recorded for item in merged.items]
    lost = merged_with_file(merged.items, held, held[:2])
    assert (texts(lost.items), lost.lost) == ("fabmc", 2), "one was never saved"
    merged.items[-1].was_saved = True
    assert merged_with_file(merged.items, held, held[:2]).lost == 3


def test_what_is_removed_here_does_not_come_back_from_the_file() -> None:
    """Another kernel has saved there meanwhile."""
    merged = merged_with_file([CassetteItem(B, was_saved=True)], (A, B), (A, B, C))
    assert (texts(merged.items), merged.lost) == ("bc", 0)


def test_the_use_of_an_item_stays() -> None:
    """Of two equal exchanges, each keeps its own."""
    items = [CassetteItem(A, owners={"x"}, was_saved=True), CassetteItem(A, was_saved=True)]
    merged = merged_with_file(items, (A, A), (B, A, A))
    assert [item.owners for item in merged.items] == [set(), {"x"}, set()]
    assert merged.items[1] is items[0]
