"""``%chat_cassette``: options, state and pruning of the active cassette."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from chatmagic.advice import note_at
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.active import ActiveCassette
from chatmagic.cassette.cassette import Cassette
from chatmagic.cassette.choice import CassetteOptions, resolve
from chatmagic.client.config import MODE_VARIABLE
from chatmagic.conversation.options import Option
from chatmagic.errors import ChatError
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.safe_text import counted, one_line, unlinked
from chatmagic.session.recorder import CASSETTE_MODES, Recorder, cassette_words, chosen_cassette
from chatmagic.session.session import Session

NOTHING_IS_SENT: Final = (
    f"Nothing is sent until that is resolved; %env {MODE_VARIABLE}=live asks without it."
)


def _cassette(kernel: Kernel, given: Arguments) -> None:
    """Record the questions and replies into a file, and replay them from it.

    ``%chat_cassette FILE`` records a person's questions, and replays a machine's. FILE may be a
    saved notebook, which is only replayed. ``%chat_cassette`` alone shows the cassette in use.
    Recording removes nothing: ``--prune`` lists the exchanges that this kernel's cells did not use
    when they last ran, and ``--prune --yes`` removes them. CHATMAGIC_CASSETTE and CHATMAGIC_MODE
    have precedence over all of this.
    """
    if not given.line.strip():
        print("\n".join(dict.fromkeys(_status(kernel))))
    elif "--prune" in given.options:
        print(_prune(kernel, given))
    else:
        print(_chosen(kernel, given))


def cassette_of(session: Session) -> ActiveCassette:
    """Return the cassette that answers or records a session's requests.

    Args:
        session: the session.
    """
    return session.feature(Recorder).cassette


def _chosen(kernel: Kernel, given: Arguments) -> str:
    """Choose the cassette that a line names, or none, and return the text to print."""
    options = _options_of(kernel, given)
    kernel.choose_by_command(options)
    before = cassette_of(kernel.session).current
    summary = change_cassette(kernel.session, off=options.off)
    chosen = "No cassette is chosen here."
    if options.file is not None:
        chosen = f"Cassette chosen here: {Path(options.file).name}. Mode {_mode_words(options)}."
    lines = [f"{chosen} %chat_cassette shows the one in use."]
    if options.off and summary and before is not None and before.config.mode == "refresh":
        lines += [summary, *_refreshed(before)]
    return "\n".join([*lines, *_news(kernel.session)])


def _options_of(kernel: Kernel, given: Arguments) -> CassetteOptions:
    """Return the choice that a line makes; without a file it keeps the one chosen before."""
    last = kernel.command_choice(CassetteOptions) or CassetteOptions()
    off = "--off" in given.options
    return CassetteOptions(
        None if off else given.words or last.file,
        next((mode for mode in CASSETTE_MODES if f"--{mode}" in given.options), None),
        given.options.get("--else"),
        by_order="--by-order" in given.options,
        off=off,
    )


def _refreshed(cassette: Cassette) -> list[str]:
    """Return the table of the answers that a refresh changed; none if it changed none."""
    # Loads the readers of all files, which a first question does without.
    from chatmagic.study import compare, comparison_output  # noqa: PLC0415

    comparison = compare.of_refresh(cassette.config.name, cassette.loaded, cassette.interactions)
    if not comparison.differs:
        return []
    return [unlinked(comparison_output.comparison_text(comparison))]


def change_cassette(session: Session, *, again: bool = True, off: bool = False) -> str | None:
    """Insert the chosen cassette, while no ask is under way.

    Args:
        session: the session.
        again: whether to eject the present cassette even if the same one is chosen; otherwise its
            unsaved exchanges are saved.
        off: whether to eject the present cassette without inserting one.

    Returns:
        A line on the ejected cassette; ``None`` if none was ejected.

    Raises:
        ChatError: the choice cannot be used.
    """

    def change() -> str | None:
        """Change the cassette; return a line on the ejected one."""
        cassette = cassette_of(session)
        summary = cassette.eject() if again else None
        if not off:
            # With `off`, only the next ask inserts the environment's cassette again.
            cassette.insert(chosen_cassette(session.environment))
        return summary

    return session.lock.alone("a change of the cassette", change)


def _mode_words(options: CassetteOptions) -> str:
    """Return the mode that a line chooses, and its effect.

    The words do not tell who decides in this kernel, so that a notebook prints the same when it is
    recorded and when it is replayed.
    """
    person = resolve({}, options, interactive=True)
    program = resolve({}, options, interactive=False)
    if person is None or program is None:
        return "live"
    if person.mode != program.mode:
        return f"{person.mode} where a person asks, {program.mode} where a program does"
    return f"{person.mode}: {CASSETTE_MODES[person.mode]}"


def _status(kernel: Kernel) -> list[str]:
    """Return the lines on the active cassette, and on exchanges that could not be saved."""
    session = kernel.session
    facts = []
    lines = ["No cassette is in use: every question is sent to the service."]
    try:
        words = cassette_words(kernel)
    except ChatError as error:
        words = error.line_at("notebook")
    if words is not None:
        lines = [f"Cassette: {words}"]
        try:
            change_cassette(session, again=False)
            facts = _facts(session)
        except ChatError as error:
            lines += [error.line_at("notebook"), NOTHING_IS_SENT]
    return [*lines, *_news(session), *facts]


def _news(session: Session) -> list[str]:
    """Return the lines on exchanges that a cassette's file lacked, or still lacks."""
    return [note_at(note, "notebook") for note in cassette_of(session).news()]


def _facts(session: Session) -> list[str]:
    """Return the lines on the active cassette's contents and use."""
    cassette = cassette_of(session).current
    if cassette is None:
        return []
    lines = []
    if cassette.config.fallback:
        lines.append("The emulator answers requests that are not recorded.")
    if cassette.config.by_order:
        lines.append("A request that differs is answered by its place.")
    lacking = len(cassette.lacking)
    contents = counted(len(cassette.interactions) - lacking, "exchange")
    if lacking:
        contents += f", and this kernel {lacking:,} more"
    lines.append(f"It holds {contents}; in this use: {cassette.summary()}")
    return lines


def _prune(kernel: Kernel, given: Arguments) -> str:
    """Run ``%chat_cassette --prune``: it lists the exchanges that ``--yes`` then removes."""
    is_sure = "--yes" in given.options
    change_cassette(kernel.session, again=False)
    cassette = cassette_of(kernel.session).current
    if cassette is None:
        raise given.command.refusal("No cassette is in use, so there is nothing to prune.")
    prune = partial(cassette.prune, sure=is_sure)
    unused = kernel.session.lock.alone("a change of the cassette", prune)
    name = cassette.config.name
    count = counted(len(unused), "exchange")
    if not unused:
        words = f"{name} holds only exchanges that this kernel's cells used last."
    elif is_sure:
        words = f"Removed {count} from {name}."
    else:
        words = (
            f"This kernel's cells did not use {count} of the {len(cassette.interactions):,} in "
            f"{name} when they last ran. "
            "Nothing was removed: %chat_cassette --prune --yes removes what is listed."
        )
    return "\n".join([*_news(kernel.session), *map(_line, unused), words])


def _line(recorded: Interaction) -> str:
    """Return the prompt of an exchange and the length of its reply, in one line."""
    reply = recorded.text
    answer = f"error {recorded.status}" if reply is None else f"{len(reply):,} characters"
    return f"  {unlinked(one_line(recorded.prompt))} ({answer})"


CASSETTE: Final = Command(
    "chat_cassette",
    _cassette,
    (
        Option("--record", "answer recorded requests from FILE, send and save the others"),
        Option("--replay", "never send anything"),
        Option("--refresh", "send every request again"),
        Option("--else emulator", "let the emulator answer requests that are not recorded"),
        Option("--by-order", "answer a request that differs by its place"),
        Option("--off", "use no cassette"),
        Option("--prune", "list the exchanges that the cells did not use last"),
        Option("--yes", "with --prune: remove the listed exchanges"),
    ),
    forms=(
        "[FILE] [--record|--refresh]",
        "[FILE] [--replay] [--else] [--by-order]",
        "--off",
        "--prune [--yes]",
    ),
)
