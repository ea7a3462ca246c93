"""The doctor: what is seen, and asked where that is wanted, as a block of lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from chatmagic.doctor import one_question
from chatmagic.doctor.gathering import gather, trouble_of
from chatmagic.doctor.observations import Answered
from chatmagic.doctor.report import report
from chatmagic.errors import ChatError

if TYPE_CHECKING:
    from chatmagic.doctor.gathering import Place
    from chatmagic.doctor.observations import FrontEnd
    from chatmagic.session.session import Session


def examine(
    place: Place, session: Session, front_end: FrontEnd, *, ask: bool = False
) -> tuple[str, bool]:
    """Return the block of lines, and whether nothing is wrong.

    Args:
        place: what is set.
        session: its session.
        front_end: what shows replies.
        ask: whether one short question is sent, where what is seen lets it be answered;
            otherwise no request is.
    """
    observations = gather(place, session, front_end)
    if ask and observations.is_closed:
        observations = replace(observations, answered=Answered(is_sent=False))
    elif ask:
        try:
            answered, clock = one_question.ask(session)
        except ChatError as error:
            observations = replace(
                observations, answered=Answered(trouble_of(error), is_sent=False)
            )
        else:
            clock = clock if clock.is_compared else observations.clock
            observations = replace(observations, answered=answered, clock=clock)
    return report(observations, place.known_keys(), str(Path.home()))
