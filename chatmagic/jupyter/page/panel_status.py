"""Status of a kernel as its panels show it: the state, the settings and the models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from chatmagic.conversation import magic_line
from chatmagic.conversation.window import QuestionPlace
from chatmagic.errors import ChatError
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.status import Status, model_words
from chatmagic.session.ask import Ask
from chatmagic.session.features import answer_file

MOST_MODELS: Final = 1_000
"""Largest number of models that a panel offers."""


@dataclass(frozen=True, slots=True)
class PanelStatus:
    """The status of one kernel that its panels read at each use."""

    kernel: Kernel

    def now(self) -> datetime:
        """Return the present time by the service's clock, for the gauge."""
        return Status(self.kernel).now()

    def standing(self) -> Message:
        """Return the state in one word, the settings of the panel's questions, and the models.

        The rows do not have the model: the panel shows it where another one can be chosen.
        """
        order = self.kernel.order(None)
        window = self.kernel.session.conversation.window(QuestionPlace(order=order))
        rows = Status(self.kernel).rows(window.instructions)
        return {
            "state": self._state(),
            "rows": [[name, words] for name, words in rows if name != "Model"],
            "model": self._model(),
            "models": self.kernel.known_models()[:MOST_MODELS],
        }

    def _model(self) -> str:
        """Return the model that is asked, in a line; empty for none, or if two are named."""
        try:
            return model_words(self.kernel)
        except ChatError:
            return ""

    def _state(self) -> str:
        """Return the way in which questions are answered, in a word or two."""
        if self.kernel.sends_nothing():
            return "replay"
        try:
            answers = answer_file(self.kernel)
            endpoint = self.kernel.endpoint()
        except ChatError:
            return "not connected"
        state = "emulator" if endpoint.is_emulator else "live"
        return state if answers is None else f"{state}, {answers.mode}"

    def defaults(self) -> Ask:
        """Return an empty question with the parameters of the panel's, the defaults of cells."""
        settings = self.kernel.settings
        defaults = magic_line.parse_line("", settings.trait_values())
        question = Ask.with_options("", defaults)
        return replace(question, above=None, fit=settings.fit)  # no cell asks

    def streams(self) -> bool:
        """Return whether pages show a reply while it arrives."""
        return bool(self.kernel.settings.stream != "off")
