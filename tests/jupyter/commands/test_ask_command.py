"""``%%chat`` and ``%chat`` in a real shell, with the emulator over loopback.

What goes in front of a question is tested with ``front_values``.
"""

from __future__ import annotations

import hashlib
import html
from dataclasses import replace

import pytest
from logged import Emulator
from shells import FIXED, Shell, asked, bodies

from chatmagic.advice import GOES_ON
from chatmagic.conversation.question import ASKED_OF_AN_ERROR
from chatmagic.errors import CutOffError, InputError
from chatmagic.jupyter.commands import COMMANDS
from chatmagic.models import Reply
from chatmagic.session.current import current_session


def test_a_cell_and_a_line_ask(shell: Shell, emulator: Emulator) -> None:
    """The body is the prompt, a line is the prompt, and the next ask goes on."""
    first = shell.machine("%%chat\necho:one *two*\n")
    second = shell.machine("%chat echo:What is a p-value?")
    assert (first.texts, second.texts) == (["one *two*"], ["What is a p-value?"])
    assert "<em>two</em>" in first.html
    assert bodies(emulator) == [
        {"messages": [{"role": "user", "content": "echo:one *two*"}], "stream": True},
        {
            "messages": [
                {"role": "user", "content": "echo:one *two*"},
                {"role": "assistant", "content": "one *two*"},
                {"role": "user", "content": "echo:What is a p-value?"},
            ],
            "stream": True,
        },
    ]
    assert [received.ways for received in emulator.requests] == [("bearer",)] * 2


@pytest.mark.parametrize(
    ("code", "prompt"),
    [
        ("%%chat\n>>> x\n... y\n", ">>> x\n... y"),
        ("%%chat\n    lead\n  ing  \n", "    lead\n  ing  "),
        ("%%chat\n{x} $y \\n !ls ?\n\n", "{x} $y \\n !ls ?\n"),
        ("%%chat only the line?", "only the line?"),
        ("%%chat the line\nand the body\n", "the line\nand the body"),
        ("%chat {x} $y it's (?", "{x} $y it's (?"),
        ("%chat what does -o do in gcc?", "what does -o do in gcc?"),
        ("%chat -t 0 -- -5 is what?", "-5 is what?"),
        ("%chat how do I undo?", "how do I undo?"),
    ],
)
def test_what_is_typed_is_sent(shell: Shell, emulator: Emulator, code: str, prompt: str) -> None:
    """Nothing expands, strips or helps on the way from the cell to the request."""
    shell.do("x, y = 1, 2")
    shell.machine(code)
    assert asked(emulator) == [[prompt]]


def test_options_reach_the_request(shell: Shell, emulator: Emulator) -> None:
    """Temperature and maximum are sent where they are set, in the cell or by %config."""
    shell.machine("%chat -t 0.5 -n 2 echo:one two three four")
    shell.do("%config ChatMagics.temperature = 0.2\n%config ChatMagics.max_tokens = 7")
    ran = shell.machine("%chat --no-history -n 3 echo:a")
    shell.machine("%chat --no-history --no-stream echo:b")
    first, second, third = bodies(emulator)
    assert (first["temperature"], first["max_tokens"], first["stream"]) == (0.5, 2, True)
    assert (second["temperature"], second["max_tokens"]) == (0.2, 3)
    assert (third["temperature"], third["max_tokens"], third["stream"]) == (0.2, 7, False)
    assert ran.records[0]["parameters"] == {
        "temperature": 0.2,
        "max_tokens": 3,
        "history": False,
    }
    assert [turn.reply.finish_reason for turn in current_session().conversation] == ["length"]
    assert "at its limit" in shell.ran[1].html


def test_a_model_for_one_question(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown, kept, and asked again; then the environment's, which a setting beats."""
    ran = shell.machine("%%chat -m small\necho:a")
    assert "model small" in ran.html
    shell.do("%chat_retry")
    shell.do("%chat echo:b")
    monkeypatch.setenv("CHATMAGIC_MODEL", "env")
    shell.do("%chat echo:c")
    shell.do("%chat -m small echo:d")
    shell.do("%config ChatMagics.model = 'set'")
    shell.do("%chat echo:e")
    models = [received.body.get("model") for received in emulator.requests]
    assert models == ["small", "small", None, "env", "small", "set"]
    turn = current_session().conversation.turns[0]
    assert turn.record is not None
    assert turn.record.parameters == {"model": "small"}


def test_the_reply_goes_into_a_variable(shell: Shell) -> None:
    """``-o`` and an assignment give the reply, which is shown as well."""
    first = shell.machine("%%chat -o one\necho:first")
    second = shell.machine("two = %chat echo:second?")
    quiet = shell.machine("three = %chat -q echo:third")
    assert [shell[name].text for name in ("one", "two", "three")] == ["first", "second?", "third"]
    assert (first.texts, second.texts, quiet.outputs) == (["first"], ["second?"], [])
    assert isinstance(shell["one"], Reply)


def test_how_much_is_sent_is_said(shell: Shell, emulator: Emulator) -> None:
    """``--last`` sends the newest turns and says so while the cell is live."""
    for word in ("a", "b", "c"):
        shell.machine(f"%chat echo:{word}")
    ran = shell.page("%chat --last 1 echo:d", "cell")
    assert asked(emulator)[-1] == ["echo:c", "c", "echo:d"]
    assert "sent only 1 of 3 turns" in ran.messages[0]["data"]["text/html"]
    assert "sent only" not in ran.html
    printed = shell.do("%chat --last 0 echo:e").printed
    assert "(sent only 0 of 4 turns)" in printed
    assert "sent only" not in shell.do("%chat echo:f").printed


def test_values_are_put_in_and_not_recorded(shell: Shell, emulator: Emulator) -> None:
    """The request has the value; record and metadata have its expression, size and hash."""
    secret = "4711-value"
    shell.do(f"code = {secret!r}; n = 2")
    ran = shell.machine("%%chat -q\nsay {{ code }} and {{ n + 1 }} {x} {{{x}}}".replace("{{{", "{"))
    assert asked(emulator)[-1][0].startswith(f"say {secret} and 3 {{x}}")
    assert ran.outputs == []
    shown = shell.machine("%%chat --no-history\nhow long is {{ code }}?")
    (record,) = shown.records
    assert record["prompt"] == "how long is {{ code }}?"
    assert record["values"] == [
        {
            "expression": "code",
            "size": len(secret),
            "sha256": hashlib.sha256(secret.encode()).hexdigest(),
        }
    ]
    assert secret not in repr(shown.outputs[0]["metadata"])
    assert asked(emulator)[-1] == [f"how long is {secret}?"]


@pytest.mark.parametrize(
    "code",
    [
        "%%chat\n{{ nothing_of_that_name }}",
        "%%chat\n{{ 1 + }}",
        "%%chat\n# NBVAL_SKIP\nwhat is this?",
        "# NBVAL_IGNORE_OUTPUT\n%%chat\nhello",
        "%%chat\n#| echo: false\nwhat is this?",
        "%%chat --temprature 0\nx",
        "%%chat -t warm\nx",
        "%%chat",
        "%%chat -t 0\n\n",
        "%chat -t 0",
        "%chat -o 2x why?",
    ],
)
def test_refused_before_anything_is_sent(shell: Shell, emulator: Emulator, code: str) -> None:
    """What cannot be meant fails in one line, or two with a hint; nothing is sent."""
    assert isinstance(shell.fails(code).error, InputError)
    assert emulator.requests == []
    assert len(current_session().conversation) == 0


@pytest.mark.parametrize("name", [each.name for each in COMMANDS if each.name != "chat"])
def test_a_mistaken_command_is_refused(shell: Shell, emulator: Emulator, name: str) -> None:
    """``%chat undo`` names the right command and sends nothing."""
    word = name.removeprefix("chat_")
    for code in (f"%chat {word}", f"%%chat\n{word}\n", f"%%chat {word}", f"%chat %{name}"):
        assert f"%{name}" in shell.fails(code).traceback[0]
    assert emulator.requests == []


@pytest.mark.parametrize(
    "code",
    ["%chat -h", "%chat --help", "%chat help", "%%chat help", "%%chat -h\nWhy?", "%chat_fix -h"],
)
def test_help_is_shown_and_nothing_is_sent(shell: Shell, emulator: Emulator, code: str) -> None:
    """As ``?`` shows it; so it is for any other command."""
    assert "--max-tokens" in shell.do(code).printed or "%chat_fix [your" in shell.do(code).printed
    assert "Show the conversation." in shell.do("%chat_history --help").printed
    assert emulator.requests == []


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Dear {name},", "{name} is sent as typed; {{ name }} puts the value in"),
        ("Dear $name,", "$name is sent as typed; {{ name }} puts the value in"),
        ("Dear {name}, $name, {name},", "{name} is sent as typed; {{ name }} puts the value in"),
        ("Dear {other}, {{ name }}", None),
        (r'\frac{name}{2}, $name$, \{name\}, f{name}, x_{name}, {"name": {"name": 1}}', None),
        ("--raw Dear {name}", None),
    ],
)
def test_other_braces_are_sent_with_a_line_that_stays(
    shell: Shell, emulator: Emulator, text: str, note: str | None
) -> None:
    """That shows those which put a value in, where they name a variable; in the sealed output."""
    shell.do("name = 'Ann'")
    text += " echo:x"
    for ran in (shell.page(f"%%chat {text}", "a"), shell.machine(f"%%chat {text}")):
        assert html.unescape(ran.html).count("is sent as typed") == (note is not None)
        assert f"{note or ''}</p>" in html.unescape(ran.html.replace(".</p>", "</p>"))
        assert "is sent as typed" not in ran.texts[0]
        assert len(ran.outputs) == len(ran.records) == 1
        assert ran.records[0].get("placeholder") == (note and note.partition(" ")[0])
    assert shell.do(f"%chat {text}").printed.count(f"({note})\n") == (note is not None)
    assert len(emulator.requests) == 3


def test_streaming_is_configured(shell: Shell) -> None:
    """``ChatMagics.stream`` overrules what is known of the front end."""
    shell.do("%config ChatMagics.stream = 'off'")
    assert len(shell.page("%chat echo:a", "one").messages) == 1
    assert "\r\u241b[31mred\n\n(" in shell.do("%chat echo:\x1b[31mred").printed
    shell.do("%config ChatMagics.stream = 'text'")
    assert "\rb\n" in shell.page("%chat echo:b", "two").printed
    shell.do("%config ChatMagics.stream = 'updates'")
    assert shell.machine("%chat echo:c").messages[-1]["kind"] == "update"


@pytest.mark.parametrize("person", [True, False])
def test_a_reply_that_is_cut_off(shell: Shell, emulator: Emulator, person: bool) -> None:
    """What came is shown and kept, marked; the cell fails in one line or two."""
    emulator.settings = replace(FIXED, fault="cut", fault_after=2)
    cell = "cell" if person else None
    ran = shell.fails("%%chat -o part\necho:one two three", cell=cell, person=person)
    assert isinstance(ran.error, CutOffError)
    assert str(ran.error.hint).endswith(GOES_ON.notebook)
    assert ran.texts == ["one two "]
    assert "Cut off" in ran.html
    assert ran.records[0]["state"] == "cut off"
    assert shell["part"].text == "one two "
    (turn,) = current_session().conversation
    assert turn.state == "cut off"
    assert "cut off" in shell.do("%chat_history").texts[0]


def test_a_failure_leaves_nothing_behind(shell: Shell, emulator: Emulator) -> None:
    """A request that fails before its first fragment leaves conversation and page as before."""
    shell.page("%%chat\necho:kept", "one")
    for fault, after in (("error", -1), ("cut", -1), ("cut", 0), ("error", 0), ("garbage", 0)):
        emulator.settings = replace(FIXED, fault=fault, fault_after=after)  # type: ignore[arg-type]
        ran = shell.fails("%%chat\necho:gone", cell="one")
        assert ran.outputs == []
    assert [turn.prompt for turn in current_session().conversation] == ["echo:kept"]
    ran = shell.fails("print('before')\n%chat echo:gone", cell="two")
    assert ran.printed == "before\n"
    assert "Waiting" not in ran.html
    assert all(message["kind"] != "clear" for message in ran.messages)


def test_a_secret_fails_the_cell_unless_it_allows_it(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cell names the expression and the option, and nothing it shows holds the secret."""
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor&staple")
    shell.machine("import os")
    ran = shell.fails("%%chat\necho:{{ os.environ['DB_PASSWORD'] }}")
    what, hint = ran.traceback
    assert what == (
        "InputError: The value of {{ os.environ['DB_PASSWORD'] }} holds the value of the "
        "environment variable DB_PASSWORD. Nothing was sent."
    )
    assert hint.endswith("--allow-secrets sends it anyway.")
    assert "tr0ub4dor" not in ran.everything
    assert bodies(emulator) == []
    shell.machine("%%chat --allow-secrets\necho:{{ os.environ['DB_PASSWORD'] }}")
    shell.machine("%chat echo:next")
    assert asked(emulator)[-1][0] == "echo:tr0ub4dor&staple"


def test_a_secret_in_an_output_or_a_traceback_fails_the_cell(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes along is named, also in a dry run; nothing shows it until it is allowed."""
    monkeypatch.setenv("DB_PASSWORD", "tr0ub4dor'&\"staple")
    shell.machine("import os\nprint({'p': os.environ['DB_PASSWORD']})")
    shell.run("raise ValueError('{{ 1 }} {os.environ[1]} ' + os.environ['DB_PASSWORD'])")
    for name, rest, place in (
        ("%%chat", "--above 2\necho:x", "cell 2 above"),
        ("%chat_fix", "", "error ValueError"),
    ):
        before = bodies(emulator)
        for code in (f"{name} {rest}", f"{name} --dry {rest}"):
            ran = shell.fails(code)
            assert ran.traceback[0] == (
                f"InputError: The text sent along ({place}) holds the value of the environment "
                "variable DB_PASSWORD. Nothing was sent."
            )
            assert "tr0ub4dor" not in ran.everything
        assert bodies(emulator) == before
        shell.machine(f"{name} --no-history --allow-secrets {rest}")
        assert "tr0ub4dor" in asked(emulator)[-1][0]


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("%chat_fix", ASKED_OF_AN_ERROR),
        ("%%chat_fix\nx {{ 1 }}", f"{ASKED_OF_AN_ERROR} I wanted: x 1"),
        ("%%chat --error\n", ASKED_OF_AN_ERROR),
        ("%%chat --error\nWhy {x} {{ 1 }}?", "Why {x} 1?"),
        ("%chat --error --raw {{ x }}?", "{{ x }}?"),
    ],
)
def test_ways_to_ask_about_an_error(
    shell: Shell, emulator: Emulator, code: str, question: str
) -> None:
    """One mechanism, and no empty ``Out`` of it."""
    shell.run("x = )")
    assert "Out" not in shell.machine(code).printed
    (prompt,) = asked(emulator)[-1]
    assert prompt.endswith(f"SyntaxError: unmatched ')'\n```\n\n{question}")
    assert prompt.startswith("A cell of this notebook that raised an error:\n\n```python\nx = )\n")


def test_a_turn_is_stale_when_its_cell_says_something_else(shell: Shell) -> None:
    """Another source or output makes it stale, the same one fresh again."""
    shell.do("x = 1")
    shell.page("print(x)", "a")
    shell.page("%chat --above 1 echo:one", "b")
    conversation = current_session().conversation
    seen: list[object] = []
    unfollow = current_session().followers.add(seen.append)
    assert conversation.stale_turns() == ()
    shell.page("print(x)", "a")
    assert (conversation.stale_turns(), seen) == ((), [])
    shell.page("x = 2\nprint(x)", "a")
    assert [turn.typed for turn in conversation.stale_turns()] == ["echo:one"]
    assert [type(event).__name__ for event in seen] == ["Changed"]
    assert conversation.turns[0] in conversation.stale_turns()
    assert list(conversation.causes().marks().values()) == ["stale"]
    shell.page("%%chat --above 1\necho:one", "b")
    assert conversation.stale_turns() == ()
    unfollow()


def test_the_name_of_a_model_is_no_prompt(shell: Shell, emulator: Emulator) -> None:
    """Other magics take it there; here it would be sent and paid for."""
    for source, model in (
        ("%%chat gpt-4o\nWhat is 1 + 1?", "gpt-4o"),
        ("%%chat openai-chat:gpt-4o -f code\nA function", "openai-chat:gpt-4o"),
        ("%chat llama3.2", "llama3.2"),
    ):
        event, hint = shell.fails(source).traceback
        assert f"{model} is the name of a model" in event
        assert hint.startswith(f"-m {model} asks this model.")
    assert emulator.requests == []
    shell.page("%%chat -m gpt-4o\necho:a", "a")
    shell.page("%chat echo:Is gpt-4o a model?", "b")
    assert len(emulator.requests) == 2
