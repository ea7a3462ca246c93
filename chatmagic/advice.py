"""Advice: what to do next, in the words of each place that shows it. Pure.

An error, a note or a line carries its advice as values, and the place that shows it chooses the
words when it shows them: a notebook has magics and options, plain Python has arguments, a shell has
options and variables. The texts of one advice stand side by side here; none is made from another.
File names, names of models and a service's words are arguments, which stand in each text as they
are. This module has all advice that depends on the place. Advice in the same words everywhere is a
text where it is raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

_SENTENCE_END: Final = re.compile(
    "[.!?:;,\u2026\u3002\uff01\uff1f\uff1a\uff1b\uff0c][)\\]\"'\u201d\u2019\u00bb\u300d]*$"
)
"""End of a text behind which another sentence may begin, also in a service's words."""

Place = Literal["notebook", "python", "shell", "doctor"]
"""Place that shows an advice. ``doctor`` is the block of ``chatmagic doctor`` in a shell."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One advice, in the words of each place; an empty text says nothing there.

    Args:
        notebook: the words for a cell and for the panel.
        python: the words for plain Python.
        shell: the words for ``chatmagic ask``.
        doctor: the words for the doctor's block in a shell; ``None`` for those of a shell.
    """

    notebook: str
    python: str
    shell: str
    doctor: str | None = None

    def at(self, place: Place) -> str:
        """Return the words of a place.

        Args:
            place: the place that shows them.
        """
        if place == "doctor":
            return self.shell if self.doctor is None else self.doctor
        return {"notebook": self.notebook, "python": self.python, "shell": self.shell}[place]

    def __add__(self, other: Note) -> Advice:
        """Return the advice with a text, or the words of another advice, behind it."""
        behind = everywhere(other)
        if self.doctor is None and behind.doctor is None:
            doctor = None
        else:
            doctor = self.at("doctor") + behind.at("doctor")
        return Advice(
            self.notebook + behind.notebook,
            self.python + behind.python,
            self.shell + behind.shell,
            doctor,
        )

    def __radd__(self, text: str) -> Advice:
        """Return the advice with a text before it."""
        return everywhere(text) + self


Note = str | Advice
"""Line for a person: a text that is the same everywhere, or the words of each place."""
Sentences = tuple[Advice, ...]
"""The advice of an error, in order: each stands by itself."""


def everywhere(note: Note) -> Advice:
    """Return an advice: a text says the same in all places.

    Args:
        note: the text, or an advice, which is returned as it is.
    """
    return note if isinstance(note, Advice) else Advice(note, note, note)


def note_at(note: Note, place: Place) -> str:
    """Return a line in the words of a place.

    Args:
        note: the line.
        place: the place that shows it.
    """
    return note.at(place) if isinstance(note, Advice) else note


def sentences(*parts: Note | Sentences | None) -> Sentences:
    """Return an error's advice, put together from its parts.

    Args:
        parts: texts and advice, or some of them in a tuple; ``None`` and an empty text add
            nothing.
    """
    advices: list[Advice] = []
    for part in parts:
        if isinstance(part, tuple):
            advices += part
        elif part:
            advices.append(everywhere(part))
    return tuple(advices)


def sentences_at(advice: Sentences, place: Place) -> str:
    """Return an error's advice as one line, in the words of a place; empty if it has none there.

    Args:
        advice: the advice.
        place: the place that shows it.
    """
    return joined_sentences(words for part in advice if (words := part.at(place)))


def joined_sentences(texts: Iterable[str]) -> str:
    """Return texts as one line, each of which ends before the next one begins.

    A text may end without a full stop, as one that ends in code or an address, which are copied.
    Before another text it gets one.

    Args:
        texts: the texts, none of which is empty.
    """
    line = ""
    for text in texts:
        if line:
            line += " " if _SENTENCE_END.search(line) else ". "
        line += text
    return line


# --- The address --------------------------------------------------------------------------------

SETTINGS: Final = Advice(
    notebook="%chat shows the settings.",
    python="Client(base_url=…) sets the address.",
    shell="chatmagic doctor shows the settings.",
    doctor="This block shows the settings.",
)
ADDRESS: Final = "Is the base address right? " + Advice(
    notebook="%chat shows it.",
    python="Client(base_url=…) sets the address.",
    shell="chatmagic doctor shows it.",
    doctor="This block shows it.",
)
NOT_CONNECTED: Final = Advice(
    notebook="Run %chat_connect URL and %chat_login, or set CHATMAGIC_BASE_URL and "
    "CHATMAGIC_API_KEY. To try without an account: %chat_connect emulator.",
    python="Give base_url, or set CHATMAGIC_BASE_URL and CHATMAGIC_API_KEY.",
    shell="Give --connect URL, or set CHATMAGIC_BASE_URL and CHATMAGIC_API_KEY. "
    "To try without an account: --connect emulator.",
)
REDIRECTED: Final = Advice(
    notebook="If that is the service, connect to it: %chat_connect URL.",
    python="If that is the service, Client(base_url=URL) asks it.",
    shell="If that is the service, connect to it: --connect URL.",
)
ADDRESS_CHOICE: Final = Advice(
    notebook="%chat_connect URL has precedence.",
    python="Client(base_url=URL) has precedence.",
    shell="--connect URL has precedence.",
)


def larger_limit(name: str, size: int) -> Advice:
    """Return the advice to read more of a reply.

    Args:
        name: the limit that was reached.
        size: its next size, in bytes.
    """
    value = f'{{"{name}": {size}}}'
    line = f"ChatMagics.limits = {value}"
    return "To read more: " + Advice(
        notebook=f"%config {line}",
        python=f"Client(limits={value})",
        shell=f"c.{line} in ipython_config.py",
    )


def longer_timeout(name: str, seconds: str) -> Advice:
    """Return the advice for a timeout that ran out.

    Args:
        name: the timeout's name.
        seconds: a longer time.
    """
    return "To wait longer: " + Advice(
        notebook=f'%config ChatMagics.timeout = {{"{name}": {seconds}}}',
        python=f'Client(timeout={{"{name}": {seconds}}})',
        shell=f'c.ChatMagics.timeout = {{"{name}": {seconds}}} in ipython_config.py',
    )


# --- The key ------------------------------------------------------------------------------------

_KEY: Final = Advice(
    notebook="%chat_login asks for one",
    python="Client(api_key=…) takes one",
    shell="CHATMAGIC_API_KEY beside CHATMAGIC_BASE_URL gives one",
)
KEY_PLACE: Final = Advice(
    notebook="A key goes into CHATMAGIC_API_KEY, or %chat_login asks for one.",
    python="A key goes into CHATMAGIC_API_KEY, or Client(api_key=…) takes one.",
    shell="A key goes into CHATMAGIC_API_KEY.",
)
KEY_REFUSED: Final = "Is it this service's key, and not revoked? " + Advice(
    notebook="%chat shows where it comes from; %chat_login asks for another one.",
    python="Client(api_key=…) takes another one.",
    shell="chatmagic doctor shows where it comes from; CHATMAGIC_API_KEY beside "
    "CHATMAGIC_BASE_URL gives another one.",
    doctor="This block shows where it comes from; CHATMAGIC_API_KEY beside CHATMAGIC_BASE_URL "
    "gives another one.",
)
KEY_RIGHTS: Final = Advice(
    notebook="Check the key's rights in the account (%chat_login asks for another one), or change "
    "the prompt.",
    python="Check the key's rights in the account (Client(api_key=…) takes another one), or change "
    "the prompt.",
    shell="Check the key's rights in the account (CHATMAGIC_API_KEY beside CHATMAGIC_BASE_URL "
    "gives another one), or change the prompt.",
)
KEY_FILE_DAMAGED: Final = "Remove it; after that " + Advice(
    notebook="%chat_login asks for a key again.",
    python="Client(api_key=…) takes a key again.",
    shell="CHATMAGIC_API_KEY beside CHATMAGIC_BASE_URL gives a key again.",
)


def key_source(posted_to: str | None) -> Advice:
    """Return the words on how to give a key for an address, as a clause.

    Args:
        posted_to: the address, if the environment's key belongs to no address; else ``None``.
    """
    if posted_to is None:
        return _KEY
    beside = f"CHATMAGIC_BASE_URL={posted_to} beside the key sends it there"
    return Advice(
        notebook=f"{beside}, or {_KEY.notebook}",
        python=f"{beside}, or {_KEY.python}",
        shell=beside,
    )


def key_of_service(name: str, variable: str) -> Advice:
    """Return the words on how to give a key for a service that is known by name, as a clause.

    Args:
        name: its name.
        variable: the environment's variable that its own tools read.
    """
    return Advice(
        notebook=f"%chat_connect {name} asks for one, and offers that in {variable}",
        python=f'Client("{name}", api_key=os.environ["{variable}"]) gives it',
        shell=f'CHATMAGIC_BASE_URL={name} CHATMAGIC_API_KEY="${variable}" gives it',
    )


def auth_choice(auth: str, *, by_variable: bool) -> Advice:
    """Return the line that sets another way to send the key.

    Args:
        auth: the way.
        by_variable: whether the environment sets the way, which precedes the setting.
    """
    setting = f'%config ChatMagics.auth = "{auth}"'
    return Advice(
        notebook=f"%env CHATMAGIC_AUTH={auth}" if by_variable else setting,
        python=f'Client(auth="{auth}")',
        shell=f"CHATMAGIC_AUTH={auth}",
    )


def key_wanted(way: Advice | None) -> Advice:
    """Return the advice for a service that requires a key, where none is sent.

    Args:
        way: the line that sets a way to send one; ``None`` if a way is set.
    """
    return _KEY + "." if way is None else way + " sends one; " + _KEY + "."


# --- Names of other clients ---------------------------------------------------------------------


# --- The model, and the fields of a request -----------------------------------------------------

REFUSED: Final = Advice(
    notebook="The same request would be refused again: change the prompt, or what is sent with it "
    "(model, temperature, max_tokens, extra_body); %chat shows that.",
    python="The same request would be refused again: change the prompt, or what is sent with it "
    "(model, temperature, max_tokens, extra_body).",
    shell="The same request would be refused again: change the prompt, or what is sent with it "
    "(model, temperature, max_tokens, extra_body); --dry shows that.",
)
UNLISTED_MODELS: Final = "Its documentation names them; " + Advice(
    notebook="%chat_connect URL --model NAME sets one.",
    python="Client(model=NAME) sets one.",
    shell="--connect URL --model NAME sets one.",
)
CONNECTION: Final = Advice(
    notebook="%chat_connect URL connects the kernel.",
    python="Session(Client(base_url=…, api_key=…)) asks there.",
    shell="--connect URL asks there.",
)
CONTINUATION: Final = Advice(
    notebook="The turns above go along by themselves.",
    python="The turns so far go along by themselves.",
    shell="--continue goes on with the last conversation.",
)
INSTRUCTIONS: Final = Advice(
    notebook="%%chat_instructions gives instructions to the questions below it.",
    python="ask(text, instructions=…) gives instructions to one question.",
    shell="The question itself can begin with instructions.",
)


def model_choice(named: str) -> Advice:
    """Return the advice for a model that the service does not know, or that it misses.

    Args:
        named: what was named, as the beginning of a sentence.
    """
    return f"{named}: " + Advice(
        notebook='%config ChatMagics.model = "NAME" sets one.',
        python='Client(model="NAME") sets one.',
        shell="--model NAME sets one.",
    )


def model_of_server(server: str) -> Advice:
    """Return the line that names a model for a server that requires one.

    Args:
        server: the server's name.
    """
    return Advice(
        notebook=f"%chat_connect {server} --model NAME",
        python=f'Client("{server}", model=NAME)',
        shell=f"--connect {server} --model NAME",
    )


def request_field(name: str) -> Advice:
    """Return the advice for an option of other clients that is a field of a request.

    Args:
        name: the field.
    """
    return (
        Advice(
            notebook=f'%config ChatMagics.extra_body = {{"{name}": VALUE}}',
            python=f'Client(extra_body={{"{name}": VALUE}})',
            shell=f'c.ChatMagics.extra_body = {{"{name}": VALUE}} in ipython_config.py',
        )
        + " sends it with each request."
    )


# --- The conversation and the reply -------------------------------------------------------------

GOES_ON: Final = Advice(
    notebook="%chat_continue, in a cell below, goes on with what came.",
    python='ask("Go on.") asks for the rest.',
    shell='chatmagic ask --continue "Go on." asks for the rest.',
)
LESS: Final = Advice(
    notebook="Send less of it: --last N, or %chat_reset.",
    python="Send less of it: last=N, or a new Session.",
    shell="Send less of it: --last N, or leave out --continue.",
)
NOTHING_CAME: Final = Advice(
    notebook="Ask again to try once more; if the conversation is long, it may fill the model's "
    "context: send less of it: --last N, or %chat_reset.",
    python="Ask again to try once more; if the conversation is long, it may fill the model's "
    "context: send less of it: last=N, or a new Session.",
    shell="Ask again to try once more; if the conversation is long, it may fill the model's "
    "context: send less of it: --last N, or leave out --continue.",
)
AT_LIMIT: Final = "Stopped at its limit of tokens: this reply is not complete. " + GOES_ON
ALL_THOUGHT: Final = "Its limit of tokens was used up by thinking: ask again with " + Advice(
    notebook="a higher one, --max-tokens.",
    python="a higher one, max_tokens.",
    shell="a higher one, --max-tokens.",
)
NOTHING_NEW: Final = (
    "Nothing new came: the model began again, or ended at once. Ask the question with "
    + Advice(
        notebook="a larger -n, such as %%chat -n 2000.",
        python="a larger max_tokens.",
        shell="a larger --max-tokens.",
    )
)
ANOTHER_REPLY: Final = (
    "The model began again, and went on differently: this is a reply of its own, not joined to the "
    "first part. "
    + Advice(
        notebook="%chat_retry --list shows both, and %chat_retry --pick chooses one.",
        python="session.conversation.replies has both.",
        shell="Both are kept.",
    )
)
KEPT: Final = "Its text was paid for and is kept as a turn: " + Advice(
    notebook="%chat_history shows it.",
    python="session.messages() has it.",
    shell="--continue goes on with it.",
)
TOOK_SCHEMA: Final = Advice(
    notebook="The question names no schema, so the nearest one above it applies; --schema object "
    "takes any JSON.",
    python="The question names no schema, so the nearest one above it applies; schema={} takes any "
    "JSON.",
    shell="The question names no schema, so the nearest one above it applies.",
)
ALLOW_IN_CELL: Final = (
    "Remove it from the prompt, or leave its turn out (--last N). --allow-secrets sends it anyway."
)
ALLOW_IN_PANEL: Final = (
    "Remove it from the prompt, or leave its turn out (--last N). In a cell, %%chat "
    "--allow-secrets sends it anyway."
)
ALLOW: Final = Advice(
    notebook="Remove it from the prompt, or leave its turn out (last=N). allow_secrets=True sends "
    "it anyway.",
    python="Remove it from the prompt, or leave its turn out (last=N). allow_secrets=True sends it "
    "anyway.",
    shell="Remove it from the prompt, or leave its turn out (--last N). --allow-secrets sends it "
    "anyway.",
)


# --- Budgets ------------------------------------------------------------------------------------

BUDGET_SETTING: Final = Advice(
    notebook="%config ChatMagics.budget",
    python="%config ChatMagics.budget",
    shell="c.ChatMagics.budget in ipython_config.py",
)
"""The setting of a budget, by its name."""
USAGE: Final = Advice(
    notebook="%chat_credits --usage shows what was used.",
    python="The session's ledger shows what was used.",
    shell="",
)


def other_budget(variable: str | None) -> Advice:
    """Return the advice for a request that a budget does not allow.

    Args:
        variable: the environment's variable that sets the budget; ``None`` for the setting.
    """
    if variable is None:
        return BUDGET_SETTING + " sets another budget."
    return f"{variable} " + Advice(
        notebook="counts as it was when chatmagic was first imported.",
        python="counts as it was when chatmagic was first imported.",
        shell="sets another one.",
    )


def budget_in_turns(variable: str | None) -> Advice:
    """Return the advice for a budget in credits whose costs are unknown.

    Args:
        variable: as for :func:`other_budget`.
    """
    value = '"20 turns"'
    setting = Advice(
        notebook=f"%config ChatMagics.budget = {value}",
        python=f"%config ChatMagics.budget = {value}",
        shell=f"c.ChatMagics.budget = {value} in ipython_config.py",
    )
    chosen = setting if variable is None else f"{variable} = {value}"
    return "Set one in turns: " + everywhere(chosen) + "."


# --- Cassettes ----------------------------------------------------------------------------------

NO_CASSETTE: Final = Advice(
    notebook="Set CHATMAGIC_CASSETTE, or run %chat_cassette FILE; mode live asks the service.",
    python="Set CHATMAGIC_CASSETTE; mode live asks the service.",
    shell="Set CHATMAGIC_CASSETTE; mode live asks the service.",
)
RECORD_FIRST: Final = Advice(
    notebook="Record it first: %chat_cassette FILE --record, or CHATMAGIC_MODE=record.",
    python="Record it first: CHATMAGIC_MODE=record.",
    shell="Record it first: CHATMAGIC_MODE=record.",
)
NEW_CASSETTE: Final = "The file was left as it is. " + Advice(
    notebook="%chat_cassette FILE makes a new cassette.",
    python="CHATMAGIC_CASSETTE=FILE makes a new cassette.",
    shell="CHATMAGIC_CASSETTE=FILE makes a new cassette.",
)
OTHER_CASSETTE: Final = Advice(
    notebook="%chat_cassette tries again, %chat_cassette OTHER --record saves it in another file.",
    python="CHATMAGIC_CASSETTE=OTHER saves it in another file.",
    shell="CHATMAGIC_CASSETTE=OTHER saves it in another file.",
)
UNSAVED: Final = Advice(
    notebook="could not be saved, and will be lost with this kernel; %chat_cassette OTHER --record "
    "saves to another file.",
    python="could not be saved, and will be lost with this process; CHATMAGIC_CASSETTE=OTHER saves "
    "to another file.",
    shell="could not be saved, and will be lost with this process; CHATMAGIC_CASSETTE=OTHER saves "
    "to another file.",
)
HIDES: Final = Advice(
    notebook="%%chat --hide asks a question of your own that later requests do not carry.",
    python="hide=True asks a question of your own that later requests do not carry.",
    shell="--hide asks a question of your own that later requests do not carry.",
)
PRUNES: Final = Advice(
    notebook="written again. %chat_cassette --prune removes exchanges.",
    python="written again.",
    shell="written again.",
)
