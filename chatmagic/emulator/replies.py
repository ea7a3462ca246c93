"""What the emulator says: replies that are a pure function of the messages.

No model stands behind them. They greet, explain chatmagic, show what a reply can hold
(headings, a list, code, a table, math), and say of everything else that an emulator
cannot answer it. Three beginnings make a reply of a known text and length, for tests
and measurements; these hold nothing but what they promise:

- ``echo:TEXT`` gives ``TEXT`` as it stands, white space and all;
- ``count to N`` gives the words from one to N, for N up to 10,000;
- ``long N`` gives N words in paragraphs, for N up to 100,000.

``continue`` gives the rest of a reply that was cut short. A token is a word with the
white space after it, or 24 characters of a longer one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final

from chatmagic.models import Usage
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmagic.models import Message

HIGHEST_COUNT: Final = 10_000
LONGEST: Final = 100_000
QUOTED: Final = 60
WORDS_IN_PARAGRAPH: Final = 60

_TOKEN: Final = re.compile(r"\S{1,24}\s*|\s+")
_CONTINUE: Final = re.compile(r"\s*(please\s+)?(continue|go on)\b[\s.!]*", re.IGNORECASE)
_ECHO: Final = re.compile(r"\s*echo:(.*)", re.IGNORECASE | re.DOTALL)
_COUNT: Final = re.compile(r"\s*count to (\d{1,3}(?:,\d{3}){1,2}|\d{1,9})\b", re.IGNORECASE)
_LONG: Final = re.compile(r"\s*long (\d{1,9})\b", re.IGNORECASE)

_SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS: Final = "zero ten twenty thirty forty fifty sixty seventy eighty ninety"

_SIGNED: Final = "*This is the chatmagic emulator, not a language model.*"

_PROSE: Final = (
    "This is a long reply from the chatmagic emulator. It says nothing new, but it says it "
    "word by word, so that you can watch a reply grow, stop it half way, and see what is kept."
)

_HEADING: Final = """\
# A heading

## A smaller one

Text stands below its heading."""

_LIST: Final = """\
- a point
- another point
    - a point below it

1. first
2. second"""

_CODE: Final = '''\
```python
def mean(values):
    """Give the average of some numbers."""
    return sum(values) / len(values)
```'''

_TABLE: Final = """\
| You type | What happens |
|:---------|:-------------|
| `%%chat` | the cell's text is sent, the reply appears below |
| `%chat_undo` | the last change is taken back |
| `%chat_credits` | you see what is left |"""

_MATH: Final = r"""The mean of $n$ numbers is $\bar{x}$, where

$$\bar{x} = \frac{1}{n} \sum_{i=1}^{n} x_i$$"""

_SHOWN: Final = (
    (r"headings?", "Headings", _HEADING),
    (r"lists?|bullets?", "Lists", _LIST),
    (r"code|functions?|snippets?", "Code", _CODE),
    (r"tables?", "A table", _TABLE),
    (r"math\w*|formulas?|formulae|equations?|latex", "Math", _MATH),
)
_EVERYTHING: Final = re.compile(r"\b(markdown|formatting)\b", re.IGNORECASE)

_OVERVIEW: Final = """\
chatmagic lets you talk with a chat service from a notebook:

- Put `%%chat` on the first line of a cell and your question below it, then run the cell.
- The notebook is the conversation: each request carries what stands above its cell.
- Run a cell again and its answer is replaced where it stands.
- `%chat_undo` takes back the last change, and `%chat_credits` shows what is left.

Ask me about cells, running again, undo, stopping, credits, the key or connecting."""

_TOPICS: Final = (
    (
        r"cells?|%%chat",
        """\
A cell that begins with `%%chat` is one question, and its reply stands below it. The \
request carries the questions and replies of the cells above, oldest first, so you can \
refer to them. `%chat_history` shows the conversation as the service sees it.""",
    ),
    (
        r"re-?run\w*|run\w* (?:it |a cell |cells )?again",
        """\
Run a `%%chat` cell again and its turn is replaced in place: the request carries what \
stands above the cell, not what stands below. Later replies are kept, and marked as \
answers to an older text.""",
    ),
    (
        r"undo|redo|take back",
        """\
`%chat_undo` takes back the last change of the conversation, and `%chat_redo` does it \
again. A turn that was taken back keeps its place and returns when its cell is run.""",
    ),
    (
        r"stop\w*|interrupt\w*",
        """\
The notebook's Stop button ends a reply at once. What came so far is kept, in the output \
and in the conversation, and marked as interrupted.""",
    ),
    (
        r"credits?|quota|rate limit",
        """\
Every request takes credits from your account, and `%chat_credits` shows what is left and \
when the limit resets. When all are used, the service refuses until the reset. My credits \
are play money: they are counted as a service would count them, but nobody pays.""",
    ),
    (
        r"(?:api )?keys?",
        """\
An API key says whose credits a request takes. Keep it out of the notebook: put it into the \
environment variable `CHATMAGIC_API_KEY`, or let `%chat_login` ask for it. With me any word \
is a key, except one that begins with `invalid`.""",
    ),
    (
        r"connect\w*|real (?:service|model|one)",
        """\
I run on your own computer. To talk with a real service, put its address into the \
environment variable `CHATMAGIC_BASE_URL` and your key into `CHATMAGIC_API_KEY`.""",
    ),
)

_ABOUT: Final = re.compile(
    r"\b(chatmagic|help|get started|who are you|what are you|what can you do)\b", re.IGNORECASE
)
_GREETING: Final = re.compile(
    r"\W*(hello|hi|hey|good (morning|afternoon|evening|day))\b", re.IGNORECASE
)

_WELCOME: Final = """\
Hello! Your question went out, and this reply came back word by word: chatmagic works. \
Ask me to *explain chatmagic*, or to show headings, a list, code, a table or math."""

_CANNOT: Final = """\
I follow the rules of a chat service, but I know nothing of the world, so I cannot answer \
that. I can *explain chatmagic*, and show headings, a list, code, a table or math. For real \
answers, put the address and the key of a real service into `CHATMAGIC_BASE_URL` and \
`CHATMAGIC_API_KEY`."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply as it is sent.

    Args:
        fragments: the reply's tokens, in order; joined they are its text.
        finish_reason: ``stop``, or ``length`` where ``max_tokens`` cut it short.
        usage: tokens of all messages, of the reply, and of both (fact 5).
    """

    fragments: tuple[str, ...]
    finish_reason: str
    usage: Usage

    @property
    def text(self) -> str:
        """The reply's text."""
        return "".join(self.fragments)


def complete(messages: Sequence[Message], max_tokens: int | None = None) -> Completion:
    """Answer a conversation.

    Args:
        messages: the conversation so far, oldest first.
        max_tokens: the most tokens that the reply may have; ``None`` is no limit.
    """
    whole = tokens(reply(messages))
    sent = whole if max_tokens is None else whole[:max_tokens]
    asked = sum(len(tokens(message.content)) for message in messages)
    return Completion(
        fragments=tuple(sent),
        finish_reason="stop" if len(sent) == len(whole) else "length",
        usage=Usage(asked, len(sent), asked + len(sent)),
    )


def tokens(text: str) -> list[str]:
    """Cut a text into tokens, which joined are the text again."""
    return _TOKEN.findall(text)


def reply(messages: Sequence[Message]) -> str:
    """Give the whole reply to a conversation, oldest message first."""
    end = len(messages)
    said: list[str] = []
    while end and (_asks_to_continue(messages[end - 1]) or messages[end - 1].role == "assistant"):
        end -= 1
        if messages[end].role == "assistant":
            said.append(messages[end].content)
    if end in (0, len(messages)):
        return _answer(messages)
    whole, part = _answer(messages[:end]), "".join(reversed(said))
    if whole.startswith(part) and whole != part:
        return whole[len(part) :]
    return f"There is nothing to continue: my last reply was complete.\n\n{_SIGNED}"


def in_words(number: int) -> str:
    """Write a whole number from 0 to 999,999 in words."""
    small, tens = _SMALL.split(), _TENS.split()
    if number < len(small):
        return small[number]
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            head = f"{in_words(number // size)} {name}"
            return f"{head} {in_words(number % size)}" if number % size else head
    ten, one = divmod(number, 10)
    return f"{tens[ten]}-{small[one]}" if one else tens[ten]


def _asks_to_continue(message: Message) -> bool:
    return message.role == "user" and _CONTINUE.fullmatch(message.content) is not None


def _answer(messages: Sequence[Message]) -> str:
    """Answer the last message of the user."""
    asked = [without_lone_surrogates(m.content) for m in messages if m.role == "user"]
    question = asked[-1] if asked else ""
    for form, give in _EXACT:
        found = form.match(question)
        if found:
            return give(found[1])
    return "\n\n".join([_body(question), _SIGNED, _seen(len(messages), asked[:-1])])


def _body(question: str) -> str:
    """Choose what to say; what is asked to be shown goes first, then what is explained."""
    shown = [
        f"**{title}**\n\n{example}"
        for word, title, example in _SHOWN
        if _holds(word, question) or _EVERYTHING.search(question)
    ]
    if shown:
        return "\n\n".join(["Here you are.", *shown])
    told = [text for word, text in _TOPICS if _holds(word, question)]
    if told:
        return "\n\n".join(told)
    if _ABOUT.search(question):
        return _OVERVIEW
    if _GREETING.match(question):
        return _WELCOME
    return f"You asked: {_quoted(question)}\n\n{_CANNOT}"


def _holds(word: str, question: str) -> bool:
    return re.search(rf"(?<!\w)(?:{word})(?!\w)", question, re.IGNORECASE) is not None


def _seen(count: int, before: Sequence[str]) -> str:
    """Say what the request carried, so that a conversation can be seen to go on."""
    if not before:
        return "Your request carried this one question: our conversation starts here."
    return (
        f"Your request carried {count} messages: this is question {len(before) + 1} of our "
        f"conversation, and before it you asked {_quoted(before[-1])}."
    )


def _quoted(text: str) -> str:
    """Quote the beginning of a text so that nothing in it acts as Markdown."""
    start = text[: 10 * QUOTED].replace("`", "'")
    plain = "".join(char if char.isprintable() else " " for char in start)
    line = " ".join(plain.split())
    if not line:
        return "something that has no words"
    return f"`{line}`" if len(line) <= QUOTED else f"`{line[:QUOTED].rstrip()}…`"


def _count(number: str) -> str:
    last = int(number.replace(",", ""))
    if last > HIGHEST_COUNT:
        return f"I count to {HIGHEST_COUNT:,} at most.\n\n{_SIGNED}"
    return ", ".join(in_words(each) for each in range(1, last + 1))


def _long(number: str) -> str:
    words = list(islice(cycle(_PROSE.split()), min(int(number), LONGEST)))
    size = WORDS_IN_PARAGRAPH
    return "\n\n".join(
        " ".join(words[start : start + size]) for start in range(0, len(words), size)
    )


def _echo(text: str) -> str:
    return text


_EXACT: Final[tuple[tuple[re.Pattern[str], Callable[[str], str]], ...]] = (
    (_ECHO, _echo),
    (_COUNT, _count),
    (_LONG, _long),
)
