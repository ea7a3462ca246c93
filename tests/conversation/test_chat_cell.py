"""The question of a cell's source, told only where it can be told for sure; and its source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.conversation import chat_cell
from chatmagic.conversation.chat_cell import Question, question_of, questions_of
from chatmagic.conversation.options import refuse_cell_comments
from chatmagic.conversation.request_facts import ASKED_OF_AN_ERROR


@pytest.mark.parametrize(
    ("source", "prompt"),
    [
        ("%%chat\nWhy?", "Why?"),
        ("%%chat\nWhy?\n\n", "Why?"),
        ("\n%%chat  \nWhy?\nHow?", "Why?\nHow?"),
        ("%%chat And now\nWhy?", "And now\nWhy?"),
        ("%%chat -t 0.2 --last 3\nWhy?", "Why?"),
        ("# NBVAL_SKIP\n%%chat\nWhy?", "# NBVAL_SKIP\nWhy?"),
        ("%chat Why?", "Why?"),
        ("  %chat Why is that so?  ", "Why is that so?"),
        ("reply = %chat --last 2 Why?", "Why?"),
        ("%%chat\nlone \ud83d half", "lone � half"),
        ("%chat_fix", ASKED_OF_AN_ERROR),
        ("r = %chat_fix -t 0", ASKED_OF_AN_ERROR),
        ("%chat_fix a table {{ n }}", f"{ASKED_OF_AN_ERROR} I wanted: a table {{{{ n }}}}"),
        ("%%chat_fix\n", ASKED_OF_AN_ERROR),
        ("%%chat_fix one\ntwo", f"{ASKED_OF_AN_ERROR} I wanted: one\ntwo"),
    ],
)
def test_a_question_is_read(source: str, prompt: str) -> None:
    """A cell of the magic and a line of it, without options and without what stands above."""
    assert question_of(source) == Question(prompt, quiet=False)


@pytest.mark.parametrize("source", ["%%chat -q\nWhy?", "%chat --quiet Why?"])
def test_a_quiet_question_is_known(source: str) -> None:
    """Whether the reply is shown is told, too."""
    assert question_of(source) == Question("Why?", quiet=True)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "print('%%chat')",
        "%%chat",
        "%%chat\n \n",
        "%%chat\r\nWhy?",
        "%%chat --no-such-option\nWhy?",
        "%chat --last many Why?",
        "%chat?",
        "%chat --dry Why?",
        "%chat ?",
        "%chat ??",
        "%chat_fix?",
        "%chat_fix ?",
        "%chat_fixed",
        "%chat Why\\",
        "import this\n%%chat\nWhy?",
        "%chat Why?\n%chat How?",
        "%%chat_instructions\nBe brief.",
    ],
)
def test_what_cannot_be_told_is_no_question(source: str) -> None:
    """Nothing is guessed: what asks otherwise, or not at all, gives None."""
    assert question_of(source) is None


def test_the_lines_of_a_loop_are_each_a_question() -> None:
    """Each line of %chat is one; other lines may say what they like, but not ask."""
    loop = "for name in names:\n    %chat -q Why?\n    reply = %chat How?\nprint(reply)"
    assert questions_of(loop) == (Question("Why?", quiet=True), Question("How?", quiet=False))
    assert questions_of("for name in names:\n    pass") == ()


@pytest.mark.parametrize(
    "line", ["session.ask('Why?')", "%chat --no-such-option", "get_ipython().magic('chat Why?')"]
)
def test_a_line_that_may_ask_hides_them_all(line: str) -> None:
    """Where one line may ask in a way of its own, none of the cell's questions is told."""
    assert questions_of(f"%chat Why?\n{line}") == ()


@given(st.text("ab {}#|\n %-\u2028éש?", min_size=1).filter(str.strip))
def test_the_source_for_a_prompt_asks_it(prompt: str) -> None:
    """Letter for letter, but for the line ends after it; and it is not refused."""
    source = chat_cell.source_for(prompt, "-t 0", "-q")
    assert question_of(source) == Question(prompt.rstrip("\n"), quiet=True)
    assert source.partition("\n")[2].removesuffix("\n") == prompt
    if "--raw" not in source.partition("\n")[0]:
        refuse_cell_comments(prompt)


@pytest.mark.parametrize("text", ["# NBVAL_SKIP\nx", "#| echo: false\nx", "{{ x }}"])
def test_what_a_cell_would_refuse_or_fill_in_is_raw(text: str) -> None:
    """Unless its expressions are to be evaluated again."""
    assert chat_cell.source_for(text) == f"%%chat --raw\n{text}"
    assert chat_cell.source_for(text, has_values=True) == f"%%chat\n{text}"
