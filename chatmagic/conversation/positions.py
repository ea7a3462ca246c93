"""Positions in a conversation: the turns and the steering above a place."""

from __future__ import annotations

from dataclasses import replace

from chatmagic.conversation.slots import Slot, position_below, slot_for
from chatmagic.conversation.state import State
from chatmagic.conversation.window import Position, QuestionPlace
from chatmagic.errors import InputError


class Positions:
    """Positions in one conversation, which are only read.

    The last position is kept, as the next one is most often below it. So a question after many
    turns does not pass all of them again.
    """

    def __init__(self) -> None:
        """Begin above all slots."""
        self._kept: tuple[tuple[Slot, ...], Position] = (), Position()
        """The last position with the slots above it, in one value for readers in other threads."""

    def below(self, slots: tuple[Slot, ...]) -> Position:
        """Return the position below slots.

        Args:
            slots: the first slots of a state of the conversation.
        """
        above, position = self._kept
        if slots[: len(above)] != above:
            above = ()
            position = Position()
        if len(slots) > len(above):
            position = position_below(slots[len(above) :], position)
            self._kept = slots, position
        return position

    def of_question(self, state: State, place: QuestionPlace) -> Position:
        """Return the position of a question, below the earlier ones of its own execution.

        Args:
            state: the state of the conversation.
            place: the place of the question.

        Raises:
            InputError: the repeated question has no current reply above the place.
        """
        question = state.question_of(place.again)
        chosen = slot_for(state.slots, place.owner, place.order, question)
        own = chosen.slot.items
        if place.owner is not None:
            own = chosen.slot.of_execution(place.execution)
        position = position_below((replace(chosen.slot, items=own),), self.below(chosen.above))
        if place.again is not None and question not in position.replies:
            raise InputError("That turn is not in the conversation any more. Nothing was sent.")
        return position
