"""What a cell's source would do, and the source that asks a question."""

from __future__ import annotations

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.conversation import cell_magics
from chatmagic.conversation.cell_magics import plan_of
from chatmagic.conversation.likely_mistakes import refuse_cell_comments
from chatmagic.conversation.question import ASKED_OF_AN_ERROR


def question(source: str) -> str | None:
    """Give the prompt of a cell with one question that it asks once; ``None`` of any other."""
    plan = plan_of(source)
    if plan.code or len(plan.commands) != 1 or not plan.commands[0].is_once:
        return None
    parsed = plan.commands[0].parsed() if plan.commands[0].asks else None
    return None if parsed is None else parsed.prompt


@each_case(
    ("source", "prompt"),
    [
        ("%%chat\nWhy?", "Why?"),
        ("\n%%chat  \nWhy?\nHow?", "Why?\nHow?"),
        ("%%chat And now\nWhy?", "And now\nWhy?"),
        ("%%chat -t 0.2 --last 3\nWhy?", "Why?"),
        ("# NBVAL_SKIP\n%%chat\nWhy?", "# NBVAL_SKIP\nWhy?"),
        ("%chat Why is that so?  ", "Why is that so?"),
        ("%chat Why\\\nis that?", "Why is that?"),
        ("%chat Why\\", "Why\\"),
        ("%chat Why a\u2028b?", "Why a\u2028b?"),
        ("reply = %chat --last 2 Why?", "Why?"),
        ("# a note\n%chat Why?", "Why?"),
        ("%%chat\nlone \ud83d half", "lone � half"),
        ("%chat_fix", ASKED_OF_AN_ERROR),
        ("%chat_fix a table {{ n }}", f"{ASKED_OF_AN_ERROR} I wanted: a table {{{{ n }}}}"),
        ("%%chat_fix one\ntwo", f"{ASKED_OF_AN_ERROR} I wanted: one\ntwo"),
        ("print('%%chat')", None),
        ("%%chat\n \n", None),
        ("%%chat --no-such-option\nWhy?", None),
        ("%chat --dry Why?", None),
        ("%chat?", None),
        ("%chat_fix ??", None),
        ("import this\n%%chat\nWhy?", None),
        ("if x:\n    %chat Why?", None),
        ("%%time\n%chat Why?", None),
        ("chat Why?", None),
        ("%chat Why?\n%chat How?", None),
        ("%%chat_instructions\nBe brief.", None),
    ],
)
def test_a_question_is_read(source: str, prompt: str | None) -> None:
    """A cell of the magic or a line of it, without options and without what stands above."""
    assert question(source) == prompt


@each_case(
    ("source", "commands", "code"),
    [
        ("%chat a\nr = %chat b\nprint(r)", ["chat", "chat"], "print(r)"),
        ("for x in y:\n    %chat a\n    %chat_undo", ["chat", "chat_undo"], "for x in y:"),
        ('t = """\n%chat a\n# %chat b\n"""', [], None),
        ("%chat_reset\n%chat_cassette x --off", ["chat_reset", "chat_cassette"], ""),
        ("chat = 3\nchat(5)", [], None),
        ("chat", ["chat"], "chat"),
        ("get_ipython().run_line_magic('chat', 'a')", [], None),
        ("%run other.ipynb", [], None),
        ("x = [%chat a]", [], None),
        ("x = '%chat a'", [], None),
        ("x = (1,\n%chat 3)\n%chat b", ["chat"], "x = (1,\n%chat 3)"),
        ("x = (1,\n%chat 3", [], None),
        ("print(\"it's (\")  # (\n%chat it's (", ["chat"], 'print("it\'s (")  # ('),
        ("# it's (\n%chat a", ["chat"], ""),
        ("!echo (\n%chat a", ["chat"], "!echo ("),
        ("%%chat\n%chat a", ["chat"], ""),
        ("%%bash\n%chat a", [], None),
        ("%%time\n%chat a", ["chat"], "%%time"),
    ],
)
def test_what_a_cell_would_do(source: str, commands: list[str], code: str | None) -> None:
    """Its magics in their order, none within a string or within brackets, and its other lines."""
    plan = plan_of(source)
    assert [command.name for command in plan.commands] == commands
    assert plan.code == (source if code is None else code)


@each_case(
    ("source", "is_once"),
    [
        ("r = %chat a", True),
        ("d['x'] = %chat a", True),
        ("a.b, c = %chat a", True),
        ("r: Reply = %chat a", True),
        ("%time %chat a", True),
        ("%%time\n%chat a", False),
        ("if x: r = %chat a", False),
        ("if x:\n    %chat a", False),
        ("chat a", False),
        ("= %chat a", False),
    ],
)
def test_a_line_that_assigns_runs_once(source: str, is_once: bool) -> None:
    """Whatever it assigns to; in a branch or in another magic, nobody can tell."""
    (command,) = plan_of(source).commands
    assert (command.line, command.is_once) == ("a", is_once)


@pytest.mark.parametrize(
    "source", ["x == %chat a", "x += %chat a", "x = '= %chat a'", "x  # = %chat a", "x\0 = ("]
)
def test_what_is_no_magic_is_code(source: str) -> None:
    """As IPython reads it."""
    assert plan_of(source).commands == ()


@each_case(
    ("source", "kind", "asks"),
    [
        ("%chat", "", False),
        ("%chat why?", "turn", True),
        ("%chat -q why?", "", True),
        ("%chat -t $t why?", "turn", True),
        ("%chat help", "", False),
        ("%%chat Help?\n", "", False),
        ("%%chat help\nme", "turn", True),
        ("%chat -h", "", False),
        ("%chat_retry 2", "turn", True),
        ("%chat_retry --list", "", False),
        ("%chat_retry --stale", "", False),
        ("%chat_retry --pick 1", "pick", True),
        ("%chat_continue", "turn", True),
        ("%chat_undo", "undo", False),
        ("%chat_redo", "redo", False),
        ("%chat_reset", "reset", False),
        ("%chat_thread", "", False),
        ("%chat_thread a", "thread", False),
        ("%chat_thread --delete a", "deletion", False),
        ("%chat_hide 1", "hiding", False),
        ("%%chat_instructions\nx", "instructions", False),
        ("%chat_instructions", "", False),
        ("%chat_history", "", False),
    ],
)
def test_what_a_magic_leaves_in_the_output(source: str, kind: str, asks: bool) -> None:
    """The kind of its record, and whether it asks."""
    plan = plan_of(source)
    assert plan.commands[0].recorded == kind
    assert plan.commands[0].is_quiet is ("-q" in source)
    assert plan.asks is asks


def test_what_is_configured_counts_where_no_option_is_typed() -> None:
    """By the names of a question's facts, switches as they are."""
    (command,) = plan_of("%chat -t 0 why?").commands
    configured = {"temperature": 1, "max_tokens": 5, "history": False, "credit_line": False}
    parsed = command.parsed(configured)
    assert parsed is not None
    assert parsed.parameters == {**configured, "temperature": 0.0}


@given(st.text("ab {}#|\n %-\u2028éש?", min_size=1).filter(str.strip))
def test_the_source_for_a_prompt_asks_it(prompt: str) -> None:
    """Letter for letter, but for the line ends after it; and it is not refused."""
    source = cell_magics.source_for(prompt, "-t 0", "-q")
    (command,) = plan_of(source).commands
    parsed = command.parsed()
    assert parsed is not None
    assert (parsed.prompt, command.is_quiet) == (prompt.rstrip("\n"), True)
    assert source.partition("\n")[2].removesuffix("\n") == prompt
    if "--raw" not in source.partition("\n")[0]:
        refuse_cell_comments(prompt)


@pytest.mark.parametrize("text", ["# NBVAL_SKIP\nx", "#| echo: false\nx", "{{ x }}"])
def test_what_a_cell_would_refuse_or_fill_in_is_raw(text: str) -> None:
    """Unless its expressions are to be evaluated again."""
    assert cell_magics.source_for(text) == f"%%chat --raw\n{text}"
    assert cell_magics.source_for(text, has_values=True) == f"%%chat\n{text}"


def test_a_cell_of_a_comment_alone_has_no_magic() -> None:
    """A comment for a tool may stand above a magic, but need not."""
    assert plan_of("# NBVAL_SKIP\n") == cell_magics.Plan(())
