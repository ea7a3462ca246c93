"""The end of an ask: what a view shows of it, and the error that is raised."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from asking import Seen

from chatmagic.errors import ChatInterrupted
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session


@pytest.mark.parametrize(
    ("raised", "caught", "words", "names"),
    [
        (KeyboardInterrupt, ChatInterrupted, "after the reply's end", ["began", "ended", "ended"]),
        (partial(OSError, "went away"), OSError, "went away", ["began", "ended"]),
    ],
)
def test_a_view_that_fails_at_the_end(
    session: Session,
    raised: Callable[[], BaseException],
    caught: type[BaseException],
    words: str,
    names: list[str],
) -> None:
    """The turn is kept; behind a Stop its last state is drawn all the same."""
    strikes = [raised()]

    def strike() -> None:
        if strikes:
            raise strikes.pop()

    view = Seen(at_end=strike)
    with pytest.raises(caught, match=words):
        session.run(Ask("echo:whole"), view)
    assert view.names == names
    assert [turn.state for turn in session.conversation] == ["complete"]
