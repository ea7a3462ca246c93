"""``%chat_connect`` and ``%chat_login``: the service of this kernel, and its key."""

from __future__ import annotations

import contextlib
import getpass
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from chatmagic import safe_text
from chatmagic._json import timestamp
from chatmagic._log import log_swallowed, swallowed
from chatmagic._version import __version__
from chatmagic.advice import note_at
from chatmagic.client import config, key_store
from chatmagic.client.config import is_yes, use_of
from chatmagic.client.endpoint import Endpoint, Server, request_fields
from chatmagic.conversation.options import Option
from chatmagic.conversation.question import unquoted
from chatmagic.doctor.doctor import Examination
from chatmagic.errors import ChatInterrupted, InputError, NotConnectedError
from chatmagic.jupyter import reply_views, tables
from chatmagic.jupyter.cells.running_cell import Audience, host_of, running
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.page.messages import PROTOCOL
from chatmagic.jupyter.status import address_rows, service_words
from chatmagic.protocol.api_key import Secret, redacted
from chatmagic.protocol.url import EMULATOR
from chatmagic.session import local_servers
from chatmagic.session.feature import DoctorLine

MOST_NAMED: Final = 8
"""Largest number of models that are named of a server that is found."""
MOST_LISTED: Final = 500
"""Largest number of listed models."""
_SHOWN: Final = 200
_STORAGES: Final[Mapping[str, key_store.Storage]] = {"k": "keyring", "f": "private file"}
"""Storages of a key, by the answer to the question."""
_FRONT_ENDS: Final[Mapping[Audience, tuple[str, str]]] = {
    "page": ("a page of JupyterLab, Notebook 7 or the like", "a reply is a display of its cell"),
    "text": ("a console or a terminal", "a reply is printed as it arrives"),
    "machine": ("a program runs this notebook", "a reply is shown once, at its end"),
}

_MARKS: Final = {"ok": "✓", "!!": "✗ wrong:", "!": "⚠ warning:", "?": "? not known:"}


def _connect(kernel: Kernel, given: Arguments) -> None:
    """Connect to a service: ``%chat_connect https://…``, or ``%chat_connect emulator``.

    Nothing is sent. A key is sent only to its own address: ``%chat_login`` asks for one. The
    emulator runs in this kernel, needs no account, and labels its replies. Servers on this machine
    are known by name: ``%chat_connect ollama``, ``lmstudio``, ``vllm`` and ``llama.cpp``. So are
    hosted services, such as ``openai``, ``anthropic`` and ``gemini``; Tab shows all. Without a key
    this line asks for one, or whether the key in the variable of the service's own tools may be
    sent to it.

    ``--model NAME`` alone changes the model at this address. ``%chat_connect`` alone shows the
    connection; without one it finds these servers, by one request to each on this machine.
    """
    if given.words:
        _connect_to(kernel, given)
    elif "--model" in given.options:
        _choose_model(kernel, given.options["--model"])
    try:
        if not given.words and not given.options:
            _show_or_find(kernel)
        if "--models" in given.options:
            _list_models(kernel)
        if "--check" in given.options:
            _check(kernel, is_asking="--ask" in given.options)
    except KeyboardInterrupt:
        raise ChatInterrupted("Interrupted; the request may have been sent.") from None


def _connect_to(kernel: Kernel, given: Arguments) -> None:
    """Connect to an address, or to a server that is known by name."""
    word = given.words
    model = given.options.get("--model")
    clock = _clock(given)
    if len(word.split()) != 1:
        raise CONNECT.refusal()
    place = config.first_address([(word, "%chat_connect")])
    if model is not None:
        model = unquoted(model)
        request_fields(kernel.settings.extra_body, model)  # refuses a second name
    server = place.server
    named = server if place.is_named else None
    address = place.base_url if named is None else named.name
    kernel.choose(address, "%chat_connect", model, clock)
    kernel.session.disconnect()
    if named is not None:
        _ask_for_missing_key(kernel)
    rows = [*_new_connection_rows(kernel, server), *_conversation_rows(kernel)]
    warnings = config.new_warnings(place.warnings)
    rows += [("Warning", note_at(warning, "notebook")) for warning in warnings]
    _show_connection(rows)


def _show_connection(rows: Sequence[tuple[str, str]]) -> None:
    """Show rows on a connection, each a name and words."""
    reply_views.show_html(*tables.page(tables.facts(rows, "Connection"), name="Connection"))


def _new_connection_rows(kernel: Kernel, server: Server | None) -> Iterator[tuple[str, str]]:
    """Yield the rows on a new connection: its service, its address, and a model that it needs."""
    endpoint = kernel.endpoint()
    # The output does not name the source of a key, so that a replay without a key repeats it.
    lacks_key = endpoint.key is None and running(kernel.shell).audience != "machine"
    yield "Service", service_words(endpoint, of_key=lacks_key and not kernel.sends_nothing())
    if not endpoint.is_emulator:
        yield "Posted to", f"{endpoint.posted_to()}. Nothing was sent."
    yield from address_rows(kernel)
    if server is not None and server.needs_model and kernel.model() is None:
        line = f"%chat_connect {server.name} --model NAME"
        lists = server.models_page or "%chat_connect --models"
        yield "Model", f"one is required: {line}; {lists} lists them."


def _conversation_rows(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield the row on the turns that the new address will get, if there are any."""
    count = len(kernel.session.conversation)
    if count:
        turns = safe_text.counted(count, "turn")
        yield "Conversation", f"{turns}, sent along; %chat_reset begins a new one."


def _clock(given: Arguments) -> datetime | None:
    """Return the time at which the emulator's clock is to stand still; ``None`` without one."""
    text = given.options.get("--clock")
    if text is None:
        return None
    if given.words.strip().lower() != EMULATOR:
        raise CONNECT.refusal("Only the emulator's clock can be set.")
    clock = timestamp(text) or timestamp(f"{text}T12:00")
    if clock is None:
        raise CONNECT.refusal("--clock takes a date or a time in UTC, such as 2026-01-01T12:00.")
    return clock


def _choose_model(kernel: Kernel, model: str) -> None:
    """Ask another model from now on, at the same address."""
    endpoint = kernel.endpoint()
    name = unquoted(model)
    request_fields(kernel.settings.extra_body, name)  # refuses a second name
    kernel.settings.model = name
    kernel.belong_here({"model"})
    rows = [("Service", service_words(endpoint, of_key=False)), *address_rows(kernel)]
    _show_connection(rows)


def _show_or_find(kernel: Kernel) -> None:
    """Show the connection; without one, the servers that run on this machine."""
    try:
        endpoint = kernel.endpoint()
    except NotConnectedError:
        _find_servers(kernel)
        return
    _show_connection([("Service", service_words(endpoint, of_key=False)), *address_rows(kernel)])


def _find_servers(kernel: Kernel) -> None:
    """Print the servers that run on this machine at their usual ports, with their models."""
    if kernel.sends_nothing():
        print("Not connected, and with these settings nothing is sent (%chat_cassette).")
        return
    servers = local_servers.known()
    names = ", ".join(safe_text.one_line(server.name, _SHOWN) for server in servers)
    print(f"Not connected yet. Asking {names} on this machine for models, one request each.")
    cell = kernel.cell()[0]
    is_found = False
    for server, models in local_servers.running_servers(servers, kernel.session, cell):
        is_found = True
        print(f"  {_server_words(server, models)}")
    if not is_found:
        print("None of them answers. %chat_connect URL connects to any address,")
        print("%chat_connect emulator to practice replies.")


def _server_words(server: Server, models: Iterable[str]) -> str:
    """Return a line on a server that runs: its models, and the way to connect to it."""
    name = _harmless(server.name)
    names = [_harmless(model) for model in models]
    shown = ", ".join(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown += ", …"
    option = f" --model {names[0]}" if server.needs_model and names else ""
    return f"{name}: {shown or 'no models'}. %chat_connect {name}{option}"


def _harmless(name: str) -> str:
    """Return a name of a server or a model on one line, in which no page finds a link."""
    return safe_text.unlinked(safe_text.one_line(name, _SHOWN))


def _list_models(kernel: Kernel) -> None:
    """Print the models that the service lists, and the cost of the request."""
    server = kernel.address().server
    if server is not None and server.models_page:
        print(f"{server.name} lists its models on a page: {server.models_page}. Nothing was sent.")
        return
    listed, took = kernel.session.models()
    keys = kernel.known_keys()
    endpoint = kernel.session.endpoint
    names = [safe_text.one_line(redacted(name, keys), _SHOWN) for name in listed.names]
    kernel.settings.listed_models = tuple(names[:MOST_LISTED])
    at = "here" if endpoint is None else endpoint.origin
    print(f"{safe_text.counted(len(names), 'model')} at {at}:")
    for name in names[:MOST_LISTED]:
        print(f"  {safe_text.unlinked(name)}")
    if len(names) > MOST_LISTED:
        print(f"  … and {len(names) - MOST_LISTED:,} more.")
    cost = "its answer does not say"
    if took is not None:
        cost = f"by its answer it cost {safe_text.counted(took, 'credit')}"
    print(
        f"One request was sent. It is not documented whether such a request costs credits; {cost}."
    )


def _login(kernel: Kernel, given: Arguments) -> None:
    """Ask for the key by a hidden prompt, and offer to keep it.

    The key belongs to the address that is connected now, and goes nowhere else.
    """
    if kernel.sends_nothing() and not given.options:
        print("With these settings nothing is sent (%chat_cassette), so no key is needed.")
        return
    endpoint = kernel.endpoint()
    if endpoint.is_emulator:
        raise InputError(
            "The emulator needs no key. Connect to a service first: %chat_connect URL."
        )
    if "--forget" in given.options:
        _forget_key(kernel, endpoint)
        return
    key = _hidden(f"API key for {endpoint.shown_place()} (hidden): ")
    _use_key(kernel, endpoint, key)


def _forget_key(kernel: Kernel, endpoint: Endpoint) -> None:
    """Forget the key of an address, wherever it is kept."""
    place = endpoint.key_place
    forgotten = []
    if kernel.typed.pop(place, None):
        forgotten.append("this kernel")
    if place in kernel.agreed:
        forgotten.append(f"the use of {kernel.agreed.pop(place)}")
    forgotten += key_store.open_store().forget(place)
    kernel.session.disconnect()
    words = ", ".join(forgotten) or "there was no key"
    print(f"Forgotten for {endpoint.shown_place()}: {words}.")


def _ask_for_missing_key(kernel: Kernel) -> None:
    """Ask a person for the key of a named service, if it has none and takes one.

    The variable of the service's own tools is offered first. Its key was given for those tools, so
    it goes nowhere before a person agrees.
    """
    endpoint = kernel.endpoint()
    is_watched = running(kernel.shell).audience != "machine" and not kernel.sends_nothing()
    if endpoint.key is not None or endpoint.is_keyless or not is_watched:
        return
    shown = endpoint.shown_place()
    variable = config.offered_variable(endpoint)
    try:
        if variable is not None and is_yes(_answer(input, use_of(variable, shown))):
            kernel.agreed[endpoint.key_place] = variable
            kernel.session.disconnect()
            return
        typed = _answer(getpass.getpass, f"API key for {shown} (hidden; Enter: later): ")
    except KeyboardInterrupt:
        raise ChatInterrupted("Interrupted: connected without a key. Nothing was sent.") from None
    if typed:
        _use_key(kernel, endpoint, _key_of(typed))


def _answer(ask: Callable[[str], str], question: str) -> str:
    """Return a person's answer; empty if the front end cannot ask."""
    with swallowed():  # front ends without input raise errors of many kinds
        return ask(question).strip()
    return ""


def _use_key(kernel: Kernel, endpoint: Endpoint, key: Secret) -> None:
    """Use a typed key for its place, and offer to keep it."""
    place = endpoint.key_place
    store = key_store.open_store()
    kernel.typed[place] = key
    kernel.session.disconnect()
    keyring = "k: the system's keyring, " if store.keyring is not None else ""
    answer = ""
    with contextlib.suppress(EOFError):
        answer = input(
            f"Keep it for next time? {keyring}f: a private file of yours, Enter: this kernel only. "
        )
    storage = _STORAGES.get(answer.strip().lower()[:1])
    kept = "this kernel only" if storage is None else f"the {store.save(place, key, storage)}"
    print(f"Key for {endpoint.shown_place()}: {kept}.")


def _hidden(question: str) -> Secret:
    """Return a key that is typed without being shown."""
    try:
        typed = getpass.getpass(question).strip()
    except Exception as error:  # noqa: BLE001 - front ends without input raise errors of many kinds
        log_swallowed(error)
        raise InputError(
            "This front end cannot ask for a key.",
            hint="Set CHATMAGIC_API_KEY, or CHATMAGIC_API_KEY_FILE, before the kernel starts.",
        ) from None
    return _key_of(typed)


def _key_of(typed: str) -> Secret:
    """Return a typed key, or raise an error that does not repeat it."""
    key = Secret.or_none(typed)
    if key is None:
        raise InputError(config.NO_KEY.format("The typed text"))
    return key


def _check(kernel: Kernel, *, is_asking: bool) -> None:
    """Show the doctor's lines, each as soon as it is known: in a page as a table."""
    place = reply_views.OutputPlace()
    rows = list[tuple[str, str]]()
    lines = list[str]()
    is_printed = running(kernel.shell).audience == "text"

    def show(line: DoctorLine | str) -> None:
        """Show a line below the earlier ones."""
        lines.append(safe_text.unlinked(str(line)))
        if is_printed:
            print(lines[-1], flush=True)
            return
        if isinstance(line, DoctorLine):
            advice = f" → {line.todo}" if line.todo else ""
            rows.append((line.name.capitalize(), f"{_MARKS[line.mark]} {line.seen}{advice}"))
        else:
            rows.append(("All of it", line))
        table = tables.grid((), rows, "Check"), "\n".join(lines)
        place.note(*tables.page(table, name="Check"))

    Examination(kernel, kernel.session, _front_end(kernel), show, is_asking=is_asking).run()


def _front_end(kernel: Kernel) -> DoctorLine:
    """Return the doctor's line on the front end, from its request and the bridge."""
    execution = running(kernel.shell)
    host = host_of(os.environ)
    name, shows = _FRONT_ENDS[execution.audience]
    if host is not None and execution.audience != "text":
        name = host.name  # a terminal in a host is none of its pages
    if execution.is_live:
        shows += ", updated as it arrives"
    words = f"{name}: {shows}"
    bridge = kernel.page.bridge
    # The bridge opens with the first question, and knows only Jupyter's pages.
    if not execution.has_labextensions or execution.audience != "page" or bridge is None:
        return DoctorLine("ok", "front end", words)
    lacks = "no order of cells, no marks, no panel"
    todo = (
        "Where the front end's server runs: "
        f"pip install chatmagic=={__version__}; then reload the page."
    )
    if bridge.page_version is None:
        return DoctorLine("!", "front end", f"{words}; no page has answered: {lacks}", todo)
    protocol, version = bridge.page_version
    words += f"; the page has chatmagic {safe_text.one_line(version)}"
    if protocol == PROTOCOL:
        return DoctorLine("ok", "front end", words)
    words += f", and cannot talk with the kernel's {__version__}: {lacks}"
    return DoctorLine("!!", "front end", words, todo)


CONNECT: Final = Command(
    "chat_connect",
    _connect,
    (
        Option("--model MODEL", "name the model to ask for"),
        Option("--clock TIME", "with emulator: let its clock stand still, so that outputs repeat"),
        Option("--models", "ask for the server's list of models: one request"),
        Option("--check", "report the settings and check them; nothing is sent"),
        Option("--ask", "with --check, send one short question"),
    ),
    forms=(
        "URL|emulator|SERVER [--model] [--models] [--clock]",
        "URL [--model] [--models] --check [--ask]",
        "[--model] [--models] --check [--ask]",
        "[--model] [--models]",
    ),
    waits=False,
)
LOGIN: Final = Command(
    "chat_login",
    _login,
    (Option("--forget", "forget the key that was kept for it"),),
    forms=("[--forget]",),
    hint="A key on its line would be saved with the notebook.",
    waits=False,
)
