"""What an ask says of itself before its reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asking import Seen
from environments import GivenEnvironment

from chatmagic.conversation.cell_order import Layout
from chatmagic.session.events import Ask

if TYPE_CHECKING:
    from logged import Emulator

    from chatmagic.session.session import Session


def test_turns_of_the_panel_are_said_to_be_sent(session: Session) -> None:
    """Run All will not ask them, so the cell that sends them says so."""
    session.run(Ask("echo:one", entry="panel"), Seen())
    seen = Seen()
    session.run(Ask("echo:two", owner="a"), seen)
    assert ("began", ["with 1 turn from the panel"]) in seen.told


def test_a_command_within_a_prompt_is_said_to_be_text(session: Session, emulator: Emulator) -> None:
    """Two cells that a page has merged ask one question; it is sent as it was typed."""
    seen, ask = Seen(), Ask("one\n\n%%chat\ntwo", entry="cell")
    session.run(ask, seen)
    said = "a line with %%chat is sent as text; split the cell if it is to run by itself"
    assert ("began", [said]) in seen.told
    assert emulator.requests[-1].body["messages"][-1]["content"] == ask.prompt


def test_what_went_into_the_prompt_is_said(session: Session) -> None:
    """In the words of the asker's, before a command within the prompt."""
    seen = Seen()
    session.run(Ask("one\n%chat_undo", entry="cell", notes=("df: 3 rows",)), seen)
    assert seen.told[0][1][0] == "df: 3 rows"


def test_several_turns_set_aside_are_counted(session: Session) -> None:
    """An ask without history leaves the conversation alone, and sets nothing aside."""
    for name in "ab":
        session.run(Ask(f"echo:{name}", owner=name), Seen())
    session.environment = GivenEnvironment(layout=lambda _: Layout((), (), frozenset("ab")))
    alone, seen = Seen(), Seen()
    session.run(Ask("echo:alone", history=False), alone)
    assert ("began", []) in alone.told
    session.run(Ask("echo:next"), seen)
    assert ("began", ["set aside 2 turns of cells gone from the page"]) in seen.told
