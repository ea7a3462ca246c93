"""Record and replay through every entry: Python, magics, a headless kernel."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import stop
from cassettes import FILE, asked, held, mode, no_service, prompts
from logged import Emulator
from pages import Paper
from shells import FIXED, KEY, Ran, Shell, bodies, forget

import chatmagic
from chatmagic.archive.cassette_format import cassette_text
from chatmagic.errors import ChatError, ChatInterrupted, ConnectError, NotRecordedError
from chatmagic.session.session import Session

pytestmark = pytest.mark.usefixtures("folder")


def test_recorded_and_replayed_in_python(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same replies and facts, with nothing sent, no address and no key."""
    live = mode(monkeypatch, "record")
    replies = [live.ask("echo:one\ntwo"), live.ask("What is a mean?", temperature=0)]
    no_service(monkeypatch)
    session = mode(monkeypatch, "replay")
    again = [session.ask("echo:one\ntwo"), session.ask("What is a mean?", temperature=0)]
    assert [replace(reply, origin="emulator", recorded=None) for reply in again] == replies
    assert {(reply.origin, reply.recorded) for reply in again} == {("replay", "emulator")}
    assert (session.credits, session.took) == (live.credits, live.took) != (None, None)
    assert [turn.reply.took for turn in session.conversation] == [None, 1]
    assert len(emulator.requests) == 2
    with pytest.raises(NotRecordedError, match="Nothing was sent") as caught:
        session.ask("And a median?")
    assert "5" not in (caught.value.hint or "").split("carries")[0]
    assert len(session.conversation) == 2


def test_a_client_of_ones_own_is_recorded_and_needed_no_more(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session with a client goes through the cassette, too."""
    mode(monkeypatch, "record")
    own = chatmagic.Client(extra_body={"model": "small"})
    Session(own).ask("echo:hi")
    assert emulator.requests[0].body["model"] == "small"
    emulator.stop()
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    session = Session(own)
    assert session.ask("echo:hi").text == "hi"
    monkeypatch.setenv("CHATMAGIC_MODE", "live")
    with pytest.raises(ConnectError):
        session.ask("echo:hi")


def test_in_replay_a_client_by_itself_sends_nothing(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in no cassette, and a reviewer's credits are not to be spent."""
    mode(monkeypatch, "replay")
    with pytest.raises(NotRecordedError, match="a Client by itself has no cassette"):
        chatmagic.Client().complete([chatmagic.Message("user", "hello")])
    assert not emulator.requests


def test_what_is_recorded_needs_no_service(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who records is answered from the file first; what is not in it says so."""
    mode(monkeypatch, "record").ask("echo:one")
    no_service(monkeypatch)
    session = mode(monkeypatch, "record")
    assert session.ask("echo:one").text == "one"
    with pytest.raises(
        ConnectError, match=r"^This request is not in talk\.jsonl\. No address is set"
    ):
        session.ask("echo:two")
    refreshing = mode(monkeypatch, "refresh")
    with pytest.raises(ConnectError, match=r"^No address is set"):
        refreshing.ask("echo:one")
    assert len(emulator.requests) == 1


def test_the_file_holds_no_key_no_header_and_no_host(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Whatever came over the wire."""
    session = mode(monkeypatch, "record")
    session.ask("echo:hello")
    monkeypatch.setenv("CHATMAGIC_API_KEY", "invalid-key-4711-secret")
    with pytest.raises(ChatError):
        session.ask("echo:again")
    text = (folder / FILE).read_text(encoding="utf-8")
    assert len(held()) == 2
    words = (KEY, "4711", "127.0.0.1", "localhost", emulator.url, "uthorization", "ser-")
    assert not [word for word in words if word in text]
    assert "Server" not in text


def test_what_was_stopped_is_not_recorded(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop keeps the part in the conversation, and nothing in the cassette."""
    session = mode(monkeypatch, "record")
    emulator.settings = replace(FIXED, fault="hold", fault_after=1)
    with pytest.raises(ChatInterrupted):
        session.ask("echo:one two three", on_fragment=stop)
    assert len(emulator.requests) == len(session.conversation) == 1
    assert not Path(FILE).exists()


@pytest.mark.parametrize(
    "chosen",
    [
        f"%env CHATMAGIC_CASSETTE={FILE}",
        "%env CHATMAGIC_MODE=replay",
        "%config ChatMagics.mode = 'replay'",
        f"%config ChatMagics.cassette = '{FILE}'",
    ],
)
def test_the_state_says_what_asks_without_a_cassette(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    """One line to be typed as it is, whatever has chosen what cannot be used."""
    for name in ("CHATMAGIC_CASSETTE", "CHATMAGIC_MODE"):
        monkeypatch.setenv(name, "")
    Path(FILE).write_text("no cassette", encoding="utf-8")
    shell.do(chosen)
    shell.fails("%chat echo:no")
    told = shell.do("%chat_cassette").printed
    line = re.search(r"%env \S+(?= asks without it)", told)
    assert line is not None
    shell.do(line[0])
    shell.do("%chat echo:one")
    assert asked(emulator) == ["echo:one"]


def test_replies_of_the_emulator_go_into_no_cassette_of_a_service(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hand-out that was put in without a mode: what a student asks the emulator stays out."""
    shell.do(f"%chat_cassette {FILE} --record")
    assert "recording into talk.jsonl" in repr(shell.page("%chat echo:one", "a").messages)
    shell.do("%chat_cassette --off")
    lesson = cassette_text([replace(one, origin="live") for one in held()])
    Path(FILE).write_text(lesson, encoding="utf-8")
    shell.do("%chat_reset")
    shell.do(f"%chat_cassette {FILE}")
    assert shell.page("%chat echo:one", "a").texts == ["one"]
    shell.page("%chat echo:mine", "b")
    shell.do("%chat_connect emulator")
    ran = shell.page("%chat echo:mine too", "c")
    assert "not recorded: talk.jsonl holds a service" in repr(ran.messages)
    assert "recording into" not in repr(ran.messages)
    assert Path(FILE).read_text(encoding="utf-8") == lesson
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "own.jsonl")
    shell.page("%chat echo:own", "d")
    assert prompts("own.jsonl") == ["echo:own"]
    assert asked(emulator) == ["echo:one", "echo:mine"]


CELLS = {
    "one": "%%chat\necho:one",
    "two": "%chat echo:two",
    "loop": "for i in range(2):\n    %chat --no-history echo:same",
    "quiet": "%chat -q echo:three",
}


def run_all(shell: Shell, *, how: str = "page") -> list[Ran]:
    """Run the notebook from top to bottom."""
    if how == "page":
        return [shell.do(code, cell=cell) for cell, code in CELLS.items()]
    return [shell.machine(code) for code in CELLS.values()]


@pytest.mark.parametrize("how", ["page", "machine"])
def test_run_all_twice_and_replayed_twice(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Equal bodies without a cassette; with one, the second is not sent, nor any replay."""
    live = Shell()
    run_all(live, how=how)
    count = len(emulator.requests)
    if how == "page":
        run_all(live, how=how)
        assert bodies(emulator)[:count] == bodies(emulator)[count:]
    forget()
    emulator.requests.clear()
    recording = Shell()
    recording.do(f"%chat_cassette {FILE} --record")
    first = run_all(recording, how=how)
    assert len(bodies(emulator)) == count
    if how == "page":
        second = run_all(recording, how=how)
        assert len(bodies(emulator)) == count
        assert texts(second) == texts(first)
    no_service(monkeypatch)
    for person in ("page", "machine"):
        forget()
        replaying = Shell()
        replaying.do(f"%chat_cassette {FILE} --replay")
        assert texts(run_all(replaying, how=person)) == texts(first)
        if person == "page":
            assert texts(run_all(replaying, how=person)) == texts(first)
    assert len(bodies(emulator)) == count


def texts(ran: list[Ran]) -> list[Any]:
    """Give all that is left to see, as it is saved, without the metadata."""
    return [[output["data"] for output in one.outputs] for one in ran]


def test_the_state_is_seen_and_not_saved(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a cell is live, in %chat and in the credits; the outputs are those of a live run."""
    live = shell.page("%chat echo:one", "a")
    shell.do("%chat_reset")
    put_in = shell.page(f"%chat_cassette {FILE}", "in")
    ran = shell.page("%chat echo:one", "a")
    assert "recording talk.jsonl" in repr(ran.messages) or "recording into talk.jsonl" in repr(
        ran.messages
    )
    assert "record (a person asks)" in shell.do("%chat").texts[0]
    assert "Cassette" not in shell.do("%chat_credits").everything
    again = shell.page("%chat echo:one", "a")
    assert "not sent: answered from talk.jsonl" in repr(again.messages)
    assert "1 exchange" in shell.do("%chat_cassette", cell="s").printed
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    assert shell.page(f"%chat_cassette {FILE}", "in").printed == put_in.printed
    replayed = shell.page("%chat echo:one", "a")
    assert "replayed from talk.jsonl: nothing is sent" in repr(replayed.messages)
    state = shell.do("%chat").texts[0]
    assert (
        "Cassette: talk.jsonl (%chat_cassette), replay (CHATMAGIC_MODE): nothing is sent" in state
    )
    assert "Connected" not in state
    shown = shell.do("%chat_credits")
    assert "Replayed from a cassette" in shown.texts[0]
    assert "As of 2026-01-01 12:00:00 UTC.\n" in shown.texts[0]
    assert "replay; recorded from the emulator" in shell.do("%chat_history").texts[0]
    last = [one.outputs[0]["data"]["text/plain"] for one in (live, ran, again, replayed)]
    assert last == ["one"] * 4
    for one in (ran, again, replayed):
        assert "talk.jsonl" not in repr(one.outputs)
    assert replayed.outputs[0]["data"] == ran.outputs[0]["data"]
    assert replayed.records[0]["origin"] == "replay"
    assert len(emulator.requests) == 2


def test_the_emulator_answers_what_is_not_recorded(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hand-out: labelled, and nothing else is sent to anybody."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.page("%chat echo:one", "a")
    no_service(monkeypatch)
    shell.do(f"%chat_cassette {FILE} --else emulator")
    assert shell.page("%chat echo:one", "a").records[0]["origin"] == "replay"
    own = shell.page("%chat echo:mine", "b")
    assert own.records[0]["origin"] == "emulator"
    assert "not in talk.jsonl: the emulator answers" in repr(own.messages)
    assert "recorded in" not in own.warned
    assert "The emulator answers" in shell.do("%chat_cassette", cell="s").printed
    again = shell.page("%chat echo:one", "c")
    assert again.records[0]["origin"] == "emulator"
    assert again.warned == (
        "This question is recorded in talk.jsonl, but not this request, so the emulator answered. "
        "The nearest recorded request carries 0 turns, this one 2: a cell above was added, left "
        "out, or run in another order. %%chat --hide asks a question of your own that later "
        "requests do not carry.\n"
    )
    assert prompts() == ["echo:one"]
    assert len(emulator.requests) == 1


def test_a_hidden_question_of_a_reader_leaves_the_recorded_ones_alone(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page on hand-outs says."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.page("%chat echo:one", "a")
    shell.page("%chat echo:two", "b")
    shell.do("%chat_reset")
    no_service(monkeypatch)
    shell.do(f"%chat_cassette {FILE} --replay --else emulator")
    shell.page("%chat echo:one", "a")
    assert shell.page("%%chat --hide\necho:mine", "own").records[0]["origin"] == "emulator"
    ran = shell.page("%chat echo:two", "b")
    assert (ran.records[0]["origin"], ran.warned) == ("replay", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "record where a person asks, replay where a program does"),
        ("--record", "record: recorded requests are answered from it, others are sent and saved"),
        ("--refresh", "refresh: every request is sent again and saved"),
        ("--replay", "replay: nothing is sent, and no key is needed"),
        ("--else emulator", "replay: nothing is sent, and no key is needed"),
    ],
)
def test_the_choice_says_its_mode(shell: Shell, words: str, said: str) -> None:
    """The same to a person and to a program, as a saved notebook shows it."""
    Path(FILE).write_text(cassette_text([]), encoding="utf-8")
    line = f"%chat_cassette {FILE} {words}"
    printed = shell.do(line, cell="c").printed
    assert printed == (
        f"Cassette chosen here: talk.jsonl. Mode {said}. %chat_cassette shows the one in use.\n"
    )
    assert shell.machine(line).printed == printed


def test_by_order_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the cell is live, in its record, and in the history."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("value = 1")
    shell.page("%chat echo:v={{ value }}", "a")
    shell.page("%chat echo:next", "b")
    no_service(monkeypatch)
    shell.do(f"%chat_cassette {FILE} --by-order")
    shell.do("%chat_reset")
    shell.do("value = 2")
    quoted = "asked &#x27;echo:v=2&#x27;, recorded &#x27;echo:v=1&#x27;"
    for cell, line, text, said in (
        ("a", "echo:v={{ value }}", "v=1", quoted),
        ("b", "echo:next", "next", "Turn 1 of 1 that it carries has another"),
    ):
        ran = shell.page(f"%chat {line}", cell)
        assert ran.texts == [text]
        assert "replayed from talk.jsonl by order" in repr(ran.messages)
        assert said in repr(ran.messages)
        assert ran.records[0]["by_order"] is True
    assert shell.do("%chat_history").texts[0].count("chosen by its place") == 2
    assert "by its place" in shell.do("%chat_cassette", cell="s").printed


def test_off_goes_back(shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the service, unless the environment says otherwise; and live beats the notebook."""
    shell.do(f"%chat_cassette {FILE} --record")
    said = "No cassette is chosen here. %chat_cassette shows the one in use.\n"
    assert shell.do("%chat_cassette --off").printed == said
    shell.do("%chat echo:one")
    assert not Path(FILE).exists()
    assert "No cassette is in use" in shell.do("%chat_cassette").printed
    assert "assette" not in shell.do("%chat").texts[0]
    monkeypatch.setenv("CHATMAGIC_MODE", "live")
    shell.do(f"%chat_cassette {FILE} --replay")
    shell.do("%chat echo:two")
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "other.jsonl")
    assert shell.do("%chat_cassette --off").printed == said
    shell.do("%chat echo:three")
    assert prompts("other.jsonl") == ["echo:three"]
    assert len(emulator.requests) == 3


def test_connecting_and_logging_in_need_no_key_in_replay(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is printed where there is a key is printed where there is none; nobody is asked."""
    connect = f"%chat_connect {emulator.url}"
    shell.do(f"%chat_cassette {FILE} --record")
    recorded = shell.machine(connect).texts
    shell.do("%chat echo:one")
    no_service(monkeypatch)
    shell.do("%chat_reset")
    assert shell.machine(connect).texts == recorded
    assert ", without a key." in shell.do(connect).texts[0]
    shell.do(f"%chat_cassette {FILE} --replay")
    assert shell.do(connect).texts == recorded
    assert "no key is needed" in shell.machine("%chat_login").printed
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    shell.do("%chat_cassette --off")
    assert "no key is needed" in shell.machine("%chat_login").printed


def test_replay_never_sends(shell: Shell, emulator: Emulator) -> None:
    """Not after --off, not when it is said again, and not without a cassette."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat --no-history echo:one")
    shell.do("%chat_cassette --off")
    shell.do("%config ChatMagics.mode = 'replay'")
    for code in ("%chat echo:two", "chatmagic.ask('echo:two')"):
        failed = shell.fails(f"import chatmagic\n{code}")
        assert "ChatMagics.mode says replay, but no cassette is set" in failed.traceback[0]
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat echo:three")
    # The same word as before, said later than the magic's.
    shell.do("%config ChatMagics.mode = 'replay'")
    assert "NotRecorded" in shell.fails("%chat echo:four").traceback[0]
    assert "one" in shell.do("%chat --no-history echo:one").printed
    shell.do("%config ChatMagics.temperature = 0.5")
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%config ChatMagics.temperature = 0.7")
    shell.do("%chat --no-history echo:five")
    shell.do("%chat_cassette --off")
    assert "replay, but no cassette is set" in shell.fails("%chat echo:six").traceback[0]
    shell.do("%config ChatMagics.mode = 'live'")
    shell.do("%chat echo:seven")
    assert asked(emulator) == ["echo:one", "echo:three", "echo:five", "echo:seven"]


def test_a_client_in_a_kernel_that_replays_sends_nothing(shell: Shell, emulator: Emulator) -> None:
    """A session of one's own neither, wherever replay is set; what is recorded is still given."""
    ask = "chatmagic.Client().complete([chatmagic.Message('user', 'hello')])"
    own = "chatmagic.Session(chatmagic.Client()).ask('hello')"
    shell.do(f"import chatmagic\n%chat_cassette {FILE} --record")
    shell.do("chatmagic.ask('echo:one')\n%chat_reset")
    shell.do(f"%chat_cassette {FILE} --replay")
    for code in (ask, own):
        failed = shell.fails(code)
        assert "talk.jsonl is replayed here (%chat_cassette)" in failed.traceback[0]
    shell.do("chatmagic.ask('echo:one')")
    shell.do("%chat_cassette --off\n%config ChatMagics.mode = 'replay'")
    assert "ChatMagics.mode says replay" in shell.fails(ask).traceback[0]
    assert asked(emulator) == ["echo:one"]
    shell.do("%config ChatMagics.mode = 'live'")
    shell.do(f"{ask}\n{own}")
    shell.do("%config ChatMagics.mode = 'replay'\n%unload_ext chatmagic")
    shell.do(ask)
    assert asked(emulator) == ["echo:one", "hello", "hello", "hello"]


def test_a_reload_sends_nothing_in_replay(shell: Shell, emulator: Emulator) -> None:
    """What the magic and ``%config`` said of a cassette, and in which order, still counts."""
    shell.do(f"%chat_cassette {FILE} --record\n%chat_reset")
    shell.do("%chat echo:a")
    shell.do(f"%chat_cassette {FILE} --replay\n%chat_reset\n%reload_ext chatmagic")
    shell.fails("%chat echo:b")
    shell.do("%chat echo:a")
    shell.do(f"%chat_cassette {FILE} --record\n%config ChatMagics.mode = 'replay'")
    shell.do("%reload_ext chatmagic")
    shell.fails("%chat echo:c")
    assert asked(emulator) == ["echo:a"]


def test_a_refresh_in_a_notebook_tells_at_its_end(shell: Shell, emulator: Emulator) -> None:
    """%chat_cassette tells what is not asked, and --off what it came to."""
    shell.do(f"%chat_cassette {FILE} --record")
    for cell, prompt in (("a", "echo:one"), ("b", "echo:two"), ("c", "echo:three")):
        shell.page(f"%chat --no-history {prompt}", cell)
    shell.do(f"%chat_cassette {FILE} --refresh")
    assert "refreshing talk.jsonl" in repr(shell.page("%chat --no-history echo:one", "a").messages)
    shell.page("%chat --no-history echo:zwei", "b")
    assert "2 not asked again" in shell.do("%chat_cassette", cell="s").printed
    assert (
        "1 kept word for word, 0 changed, 1 new, 2 not asked again, which stay."
        in shell.do("%chat_cassette --off").printed
    )
    assert prompts() == ["echo:one", "echo:two", "echo:three", "echo:zwei"]
    assert len(emulator.requests) == 5


def test_a_notebook_is_its_own_cassette(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Replayed from the records and replies in its outputs; a changed reply is refused."""
    ran = [shell.page(f"%chat echo:{word}", word) for word in ("one", "two", "four")]
    shell.page("%chat -q echo:three", "c")
    paper = Paper(folder / "paper.ipynb")
    for number, one in enumerate(ran):
        paper.ran(str(number), "x", one.outputs)
    path = paper.save()
    no_service(monkeypatch)
    shell.do("%chat_reset")
    shell.do("%chat_cassette paper.ipynb", cell="in")
    again = [shell.page("%chat echo:one", "x"), shell.page("%chat echo:two", "y")]
    assert texts(again) == texts(ran[:2])
    failed = shell.fails("%chat -q echo:three", cell="z")
    assert "A notebook does not hold turns without a reply in an output" in failed.traceback[1]
    # The last record lists the newest of the turns it carried; the others are found out.
    last = str(shell.fails("%chat echo:3", cell="z").error)
    assert "Message 5 (the prompt) differs: asked 'echo:3', recorded 'echo:four'" in last
    path.write_text(path.read_text("utf-8").replace('"two"', '"too"'))
    assert (
        "not as recorded and sealed"
        in shell.fails("%chat_cassette paper.ipynb", cell="in").traceback[0]
    )
    assert len(emulator.requests) == 4


def test_pruning_keeps_what_the_cells_asked_last(shell: Shell, emulator: Emulator) -> None:
    """It lists first what would go, and removes that when it is said again with --yes."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    assert "holds only exchanges that" in shell.do("%chat_cassette --prune").printed
    for cell, prompt in (("b", "two"), ("a", "one"), ("c", "three")):
        shell.page(f"%chat --no-history echo:{prompt}", cell)
    ran = shell.page("%chat --no-history echo:uno", "a")
    assert "stays in talk.jsonl until %chat_cassette --prune" in repr(ran.messages)
    assert (
        "are not those that were listed" in shell.fails("%chat_cassette --prune --yes").traceback[0]
    )
    listed = shell.do("%chat_cassette --prune").printed
    assert (
        "  echo:one (3 characters)\nThis kernel's cells did not use 1 exchange of the 4" in listed
    )
    assert "Nothing was removed" in listed
    assert len(held()) == 4
    # What has changed since is listed again first.
    shell.page("%chat --no-history echo:dos", "b")
    assert (
        "are not those that were listed" in shell.fails("%chat_cassette --prune --yes").traceback[0]
    )
    assert "echo:two" in shell.do("%chat_cassette --prune").printed
    assert (
        "Removed 2 exchanges from talk.jsonl." in shell.do("%chat_cassette --prune --yes").printed
    )
    assert prompts() == ["echo:three", "echo:uno", "echo:dos"]
    shell.do(f"%chat_cassette {FILE} --record")
    assert "all would be removed" in shell.fails("%chat_cassette --prune").traceback[0]
    shell.do(f"%chat_cassette {FILE} --replay")
    assert "is replayed" in shell.fails("%chat_cassette --prune").traceback[0]
    shell.do("%chat_cassette --off")
    assert "No cassette is in use" in shell.fails("%chat_cassette --prune").traceback[0]
    assert len(emulator.requests) == 5


def test_pruning_that_cannot_be_saved_removes_nothing(shell: Shell, full: list[str]) -> None:
    """Neither now nor when the file can be written again, or read."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    shell.page("%chat --no-history echo:one", "a")
    shell.page("%chat --no-history echo:uno", "a")
    text = Path(FILE).read_text(encoding="utf-8")
    shell.do("%chat_cassette --prune")
    Path(FILE).write_text(text.replace("{", "<<<<<<< HEAD\n{", 1), encoding="utf-8")
    shell.fails("%chat_cassette --prune --yes")
    Path(FILE).write_text(text, encoding="utf-8")
    full.append(FILE)
    shell.fails("%chat_cassette --prune --yes")
    full.clear()
    shell.page("%chat --no-history echo:two", "b")
    assert prompts() == ["echo:one", "echo:uno", "echo:two"]
