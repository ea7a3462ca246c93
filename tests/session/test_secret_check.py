"""Secrets stop an ask before it is sent: the place is named, the value never."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from asking import Seen, prompts
from cassette_choice import Mode, choosing
from environments import GivenEnvironment
from logged import Emulator
from shells import KEY

from chatmagic.conversation.question import Value
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.protocol.secret_scanner import SecretVariable, secret_variables
from chatmagic.session import secret_check
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session

VALUE = "tr0ub4dor&staple"
TOKEN = "ghp_" + "aB3dE6gH9kL2nP5rS8tU" * 2


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a secret in the environment."""
    monkeypatch.setenv("DB_PASSWORD", VALUE)


def refused(session: Session, ask: Ask) -> InputError:
    """Return the error of an ask that is refused."""
    with pytest.raises(InputError) as caught:
        session.run(ask, Seen())
    assert VALUE not in str(caught.value)
    assert TOKEN not in str(caught.value)
    return caught.value


def test_a_secret_in_the_prompt_stops_the_ask(session: Session, emulator: Emulator) -> None:
    """Nothing is sent, nothing is kept, and the view shows nothing."""
    seen = Seen()
    with pytest.raises(InputError):
        session.run(Ask(f"echo:{VALUE}"), seen)
    assert seen.names == ["failed"]
    error = refused(session, Ask(f"echo:{VALUE}", entry="cell"))
    assert error.message == (
        "The prompt holds the value of the environment variable DB_PASSWORD. Nothing was sent."
    )
    assert error.hint == (
        "Remove it from the prompt, or leave its turn out (--last N). --allow-secrets sends it "
        "anyway."
    )
    error = refused(session, Ask(f"echo:{TOKEN}", entry="panel"))
    assert str(error).startswith("The prompt holds a text that looks like a GitHub token.")
    assert "%%chat --allow-secrets" in str(error)
    with pytest.raises(InputError, match="allow_secrets=True sends it"):
        session.ask(f"echo:{VALUE}")
    assert (emulator.requests, prompts(session)) == ([], [])


def test_a_value_is_named_and_no_secret_in_its_name(session: Session) -> None:
    """What was put in or in front is told from the rest of the prompt."""
    cases = {
        Value.of_text("n", "7"): "The prompt",
        Value.of_text(
            "os.environ", f"{{'DB_PASSWORD': {VALUE!r}}}"
        ): "The value of {{ os.environ }}",
        Value.of_text(f"open_db('{VALUE}')", VALUE): "The value of an expression",
        Value.of_text("load", f"print({VALUE!r})", "cell"): "The text sent along (cell load)",
    }
    for value, place in cases.items():
        text = f"echo:{VALUE}" if value.expression == "n" else f"echo:{value.text}"
        error = refused(session, Ask(text, typed="…", values=(value,)))
        assert error.message.startswith(f"{place} holds the value of"), error.message


def test_an_earlier_turn_is_named_by_its_place(
    session: Session, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its text has become a secret since, or was loaded."""
    monkeypatch.delenv("DB_PASSWORD")
    session.ask("echo:one")
    session.ask(f"echo:{VALUE}")
    monkeypatch.setenv("DB_PASSWORD", f"echo:{VALUE}")
    assert "The prompt of turn 2 holds" in str(refused(session, Ask("echo:three")))
    session.ask("echo:three", last=0)
    session.conversation.reset()
    session.conversation.add(Turn("a key?", reply=Reply(TOKEN)))
    assert "The reply of turn 1 holds" in str(refused(session, Ask("echo:three")))
    assert len(emulator.requests) == 3


def test_standing_instructions_are_looked_at(session: Session) -> None:
    """They go along with each question."""
    session.changes.steer(Instructions.of_text(f"Use {VALUE}.", owner="a"))
    assert str(refused(session, Ask("echo:one"))).startswith(
        "The text of the standing instructions"
    )


def test_other_fields_are_looked_at(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent beside the messages, too."""
    service = session.environment.service()
    monkeypatch.setattr(
        session,
        "environment",
        GivenEnvironment(service=lambda: type(service)(service.endpoint, extra_body={"u": VALUE})),
    )
    assert str(refused(session, Ask("echo:one"))).startswith("extra_body holds")


def test_what_is_allowed_is_allowed_for_one_ask(session: Session, emulator: Emulator) -> None:
    """Later requests carry it; a new question with it is refused, and at another address all."""
    session.ask(f"echo:{VALUE}", allow_secrets=True)
    assert emulator.requests[0].body["messages"][0]["content"] == f"echo:{VALUE}"
    session.ask("echo:two")
    refused(session, Ask(f"echo:{VALUE}"))
    refused(session, Ask(f"echo:again {VALUE}"))
    assert prompts(session) == [f"echo:{VALUE}", "echo:two"]
    service = session.environment.service()
    moved = type(service.endpoint)(
        f"{emulator.url}/v1", "bearer", service.endpoint.key, "elsewhere"
    )
    session.environment = GivenEnvironment(service=lambda: type(service)(moved))
    assert "of turn 1 holds" in str(refused(session, Ask("echo:three")))


def test_what_went_goes_again_wherever_it_stands(session: Session, emulator: Emulator) -> None:
    """Also where another turn says the same, and where a request between carried less."""
    session.ask(f"echo:{VALUE}", allow_secrets=True)
    session.ask("echo:two")
    first, second = session.conversation.turns
    session.ask("echo:three", last=0)
    again = replace(first, number=0, owner="again", execution="again")
    session.changes.make(lambda conversation: conversation.add(replace(second, owner="between")))
    session.changes.make(lambda conversation: conversation.add(again))
    session.ask("echo:four")
    session.ask("echo:five", last=1)
    session.ask("echo:six")
    said = [message["content"] for message in emulator.requests[-1].body["messages"]]
    assert said.count(f"echo:{VALUE}") == said.count(VALUE) == 2
    other = replace(again, reply=Reply(f"It is {VALUE}."), owner="other", execution="other")
    session.changes.make(lambda conversation: conversation.add(other))
    assert "The reply of turn" in str(refused(session, Ask("echo:seven")))


def test_a_replay_refuses_nothing(
    session: Session, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is sent; what is not recorded yet is refused while recording."""
    service = session.environment.service()
    path = tmp_path / "c.jsonl"
    modes: tuple[Mode, ...] = ("record", "replay", "record")
    for mode in modes:
        session.environment = GivenEnvironment(
            service=lambda: service, command_choice=choosing(path, mode)
        )
        session.conversation.reset()
        if len(emulator.requests) == 0:
            monkeypatch.delenv("DB_PASSWORD")
        session.ask(f"echo:{VALUE}")
        monkeypatch.setenv("DB_PASSWORD", VALUE)
    assert len(emulator.requests) == 1
    refused(session, Ask(f"echo:other {VALUE}", history=False))


def test_the_own_key_is_never_allowed(session: Session, emulator: Emulator) -> None:
    """Its own check comes first, and nothing allows it."""
    for allowed in (False, True):
        with pytest.raises(InputError, match="holds your API key"):
            session.ask(f"echo:{KEY} {VALUE}", allow_secrets=allowed)
        with pytest.raises(InputError, match="name of the thread holds an API key of yours"):
            session.ask("echo:a", thread=KEY, allow_secrets=allowed)
    assert emulator.requests == []


def test_what_has_no_known_shape_is_sent(session: Session, emulator: Emulator) -> None:
    """The check knows kinds of secrets; a word that is one by chance looks like any other."""
    session.ask("echo:my word is Tr0ub4dor-and-3")
    assert len(emulator.requests) == 1


def test_the_environment_is_judged_when_it_has_changed(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for several questions; a secret that is set, changed or removed counts at once."""
    judged = []

    def counted(environ: Mapping[str, str]) -> tuple[SecretVariable, ...]:
        judged.append("HOME_PAGE" in environ)
        return secret_variables(environ)

    monkeypatch.setattr(secret_check, "secret_variables", counted)
    monkeypatch.setenv("HOME_PAGE", "of-ann")
    for _ in range(3):
        session.ask("echo:one")
    assert judged == [True, False, False, False]  # in the end only those that are secrets
    monkeypatch.setenv("MYSQL_PWD", "none")
    session.ask("echo:none")
    monkeypatch.setenv("MYSQL_PWD", "other-tr0ub4dor")
    refused(session, Ask("echo:other-tr0ub4dor"))
    monkeypatch.setenv("MYSQL_PWD", "third-tr0ub4dor")
    refused(session, Ask("echo:third-tr0ub4dor"))
    session.ask("echo:other-tr0ub4dor")
    monkeypatch.delenv("MYSQL_PWD")
    session.ask("echo:third-tr0ub4dor")


def test_a_password_in_the_address_of_a_database_is_found(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself, and the address as a whole."""
    monkeypatch.setenv("DATABASE_URL", "postgres://app:s3cret-of-app@localhost/x")
    error = refused(session, Ask("echo:s3cret-of-app"))
    assert error.message.startswith("The prompt holds a part of the value of the environment")
    refused(session, Ask("echo:postgres://app:s3cret-of-app@localhost/x"))
