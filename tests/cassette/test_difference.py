"""The recorded request that is nearest to a request, and what differs from it."""

from __future__ import annotations

from dataclasses import replace

from cases import each_case
from cassettes import exchange_of

from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.difference import difference, nearest
from chatmagic.models import Message
from chatmagic.protocol.request import Request


def asked(*contents: str, typed: str | None = None, **parameters: object) -> Interaction:
    """Give the request of a talk, in which user and assistant take turns."""
    roles = ("user", "assistant")
    messages = tuple(Message(roles[n % 2], content) for n, content in enumerate(contents))
    request = Request(messages, **parameters)  # type: ignore[arg-type]
    return exchange_of(request, typed=typed)


def in_notebook(one: Interaction) -> Interaction:
    """Give what a notebook knows of a request."""
    return replace(one, prompt=one.as_typed, parameters={"stream": True})


MEAN = ("What is a mean?", "A sum by a count.")
MEDIAN = "And a median, in one sentence?"
TALK = asked(*MEAN, MEDIAN)
SAME = "The messages are the same, but "
TURNS = "The nearest recorded request carries 1 turn, this one"
OTHER = "Turn 1 of 1 that it carries has another prompt or reply than the recorded one."
DIFFERS = "Message 1 (the prompt) differs: asked"
BODY = "All the words before it are the same. " * 4
TYPED = "v = {{ v }}"


@each_case(
    ("now", "then", "said"),
    [
        (asked(*MEAN, "And a mode?"), TALK, "Message 3 (the prompt) differs: asked 'And a mode?'"),
        (asked(MEAN[0], "A sum.", MEDIAN), TALK, OTHER),
        (asked("A mode?", MEAN[1], MEDIAN), TALK, OTHER),
        (asked("A mode?", MEAN[1], MEDIAN), in_notebook(TALK), OTHER),
        (asked(MEDIAN), TALK, f"{TURNS} 0: a cell above was added, left out, or run in another"),
        (asked(*"abcd", *MEAN, MEDIAN), TALK, f"{TURNS} 3:"),
        (asked(*MEAN, MEDIAN, temperature=0.5), TALK, f"{SAME}temperature is 0.5, and was None."),
        (asked(*MEAN, MEDIAN, stream=False), TALK, f"{SAME}stream is False, and was True."),
        # Another model is named where one is set now.
        (asked("a", extra={"model": "l"}), asked("a", extra={"model": "s"}), f"{SAME}model is 'l'"),
        (asked("a", extra={"model": "l"}), asked("a"), f"{SAME}model is 'l', and was None."),
        (
            asked("a", temperature=0.5),
            asked("a", extra={"model": "s"}),
            f"{SAME}temperature is 0.5, and was None.",
        ),
        (
            asked("a"),
            replace(asked("a"), instructions="0b"),
            f"{SAME}instructions is None, and was '0b'.",
        ),
        # Of a notebook the prompts as typed are compared, as it has no others.
        (TALK, in_notebook(TALK), "The prompt as typed is the same, but a value that it puts in"),
        (
            asked("v = 2", typed=TYPED),
            in_notebook(asked("v = 1", typed=TYPED)),
            "The prompt as typed is the same, but a value that it puts in",
        ),
        (asked("v = 2", typed=TYPED), asked("v = 1", typed=TYPED), f"{DIFFERS} 'v = 2', recorded"),
        # Another version of a library puts other spaces into a table, and little else.
        (
            asked("a  b\n1\u00a0kg\x07\u202e"),
            asked("a b\n1 kg\x08\u202d"),
            f"{DIFFERS} 'a  b\\n1\\xa0kg\\x07\\u202e', recorded 'a b\\n1 kg\\x08\\u202d'.",
        ),
        # A few words before, some after, on one line, without what acts in a terminal.
        (
            asked(f"{BODY}one\x1b[31m\nway {BODY}"),
            asked(f"{BODY}two\nways {BODY}"),
            f"{DIFFERS} 're it are the same. one\\x1b[31m\\nway All the words b', recorded '",
        ),
    ],
)
def test_the_first_difference_is_named(now: Interaction, then: Interaction, said: str) -> None:
    """By the turn's number, by the words of the prompt, or by the parameter."""
    assert difference(now, then).startswith(said)


def test_the_nearest_is_the_one_with_the_same_prompt() -> None:
    """Then what carries most of the same, begins alike, and has the same parameters."""
    other = asked("Why?")
    longer = asked("What is a mean?", "A sum by a count.", "Why not?")
    assert nearest(asked("x", "y", MEDIAN), [other, longer, TALK]) == TALK
    assert nearest(asked("What is a mean?", "A sum by a count.", "Who?"), [other, TALK]) == TALK
    assert nearest(asked("Why so?"), [asked("Who?"), other]) == other
    small = asked("Why?", extra={"model": "small"})
    tried = [small, asked("Why?", temperature=1.0)]
    assert nearest(asked("Why?", extra={"model": "large"}), tried) == small
    assert nearest(other, []) is None
