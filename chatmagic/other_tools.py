"""Words that people bring from other tools, and what each is here. Pure.

The tools are jupyter-ai, llm, chatlas, marimo, LangChain and the clients of services. There is one
table for each place where such a word is typed: a name of the package, an attribute of one of its
objects, an option or an argument, a magic, and the first word of a command in a shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from chatmagic import advice
from chatmagic.advice import Advice, Note, everywhere

_ASK: Final = "it is chatmagic.ask(text) here, or %%chat in a notebook"
_CONNECT: Final = "it is %chat_connect in a notebook, or chatmagic.Client(base_url=…, api_key=…)"
PACKAGE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("chat", "complete", "completion", "generate", "get_model", "invoke", "llm"),
            *("prompt", "query", "respond", "responses", "run", "stream"),
            *("Anthropic", "AsyncOpenAI", "Chat", "ChatAnthropic", "ChatCompletion"),
            *("ChatGoogle", "ChatOllama", "ChatOpenAI", "Conversation", "LLM", "OpenAI"),
        ),
        _ASK,
    ),
    **dict.fromkeys(("connect", "init_chat_model", "login", "set_key"), _CONNECT),
    **dict.fromkeys(("Agent", "Tool", "tool"), "it has no agents and calls no tools"),
    "batch": "it is chatmagic.map(template, rows) here",
    "embed": "it asks chat completions alone",
    "magics": "%load_ext chatmagic loads the magics",
}
"""Names of the package, and what does it here."""

_SESSION_ASKS: Final = "session.ask(text) asks and returns the reply"
SESSION: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("chat", "complete", "completion", "generate", "invoke", "prompt", "query"),
            *("respond", "send", "send_message"),
        ),
        _SESSION_ASKS,
    ),
    **dict.fromkeys(
        ("stream", "stream_async"),
        "session.ask(text, on_fragment=…) calls a function with each fragment",
    ),
    "chat_async": "await session.aask(text) asks and returns the reply",
    "chat_structured": "session.ask(text, schema=…).parsed is the value",
    **dict.fromkeys(
        ("system", "system_prompt"), "session.ask(text, instructions=…) has instructions of its own"
    ),
    **dict.fromkeys(
        ("history", "turns", "get_turns", "responses"),
        "session.conversation has the turns, and session.messages() the messages",
    ),
    **dict.fromkeys(("register_tool", "tools"), "chatmagic calls no tools"),
    "export": "a command of notebooks saves the conversation: chat_save FILE.md",
}
"""Attributes of a session, and what does it here."""

_TEXT: Final = "reply.text is the text, and str(reply) too"
REPLY: Final[Mapping[str, str]] = {
    **dict.fromkeys(("choices", "content", "message", "output_text", "response"), _TEXT),
    "json": "reply.parsed is the value of a question with a schema",
    "tool_calls": "chatmagic calls no tools",
}
"""Attributes of a reply, and what does it here."""

_CLIENT_ASKS: Final = "client.complete(messages) asks and returns the reply"
CLIENT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("ask", "chat", "completion", "completions", "responses", "messages"), _CLIENT_ASKS
    ),
    "embeddings": "chatmagic asks chat completions alone",
}
"""Attributes of a client, and what does it here."""

_OPTIONS: Final[Mapping[str, Callable[[str], Advice]]] = {
    "s|system(?:_(?:prompt|message|instructions?))?": lambda _: advice.INSTRUCTIONS,
    "(?:image|file|audio|attach(?:ment)?)s?": lambda _: everywhere(
        "Only text is sent, no pictures and no files."
    ),
    "(?:tool|function)s?|tool_choice": lambda _: everywhere("chatmagic calls no tools."),
    "(?:top|min)_[pk]|seed|stop|user|logprobs|logit_bias|(?:frequency|presence)_penalty|"
    "reasoning_effort|response_format": advice.request_field,
    "(?:api_)?key": lambda _: advice.KEY_PLACE,
    "base_url|endpoint": lambda _: advice.CONNECTION,
    "f": lambda _: everywhere("It is --format here: markdown, text, code or json."),
    "c|cid|conversation": lambda _: advice.CONTINUATION,
}
"""Options, written as fields of a request and without dashes, and the advice for each."""

_MESSAGES: Final = (
    "ask(text) sends the turns so far along; Client().complete(messages) sends a list of your own."
)
_FIRST: Final = "It is the first argument here, without a name."
_ARGUMENTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("max_output_tokens", "max_completion_tokens"), "It is max_tokens=… here."),
    "model_name": "It is model=… here.",
    **dict.fromkeys(
        ("response_model", "data_model", "response_format", "output_type"), "It is schema=… here."
    ),
    "conversation": "It is thread=… here.",
    **dict.fromkeys(("callback", "callbacks", "on_token"), "It is on_fragment=… here."),
    **dict.fromkeys(("messages", "history_messages"), _MESSAGES),
    **dict.fromkeys(("content", "input", "message", "prompt", "query", "question"), _FIRST),
}
"""Arguments of Python that have another word here than the option of that name."""

MAGICS: Final[Mapping[str, str]] = {
    "ai": "jupyter-ai",
    "chatgpt": "another extension",
    "gpt": "another extension",
    "llm": "another extension",
}
"""Magics, and the extension that has each."""

PROMPTS: Final[Mapping[str, str]] = {
    "ask": "%chat asks what stands behind it.",
    "models": "%chat_connect --models lists the models of the server.",
}
"""Prompts of one word that are commands of other tools, and what does it here."""

COMMANDS: Final[Mapping[str, str]] = {
    "help": "%chat? shows the options here, and %chat_connect? how to connect.",
    "list": "%chat_connect --models lists the models here, and %chat the settings.",
}
"""Lines of another extension's magic that ask no model, and what does it here."""

_SHELL_ASKS: Final = 'chatmagic ask "QUESTION" asks; chatmagic --help shows the commands.'
_COMMANDS: Final[Mapping[str, str]] = {
    "keys": "The variable CHATMAGIC_API_KEY has the key; chatmagic doctor shows where it is from.",
    "logs": "Each conversation is kept in a file; chatmagic ask --continue goes on with the last.",
    "models": "chatmagic ask -m NAME asks one; in a notebook %chat_connect --models lists them.",
}
"""First words in a shell whose advice is not to ask."""


def missing_name(kind: str, name: str, known: Mapping[str, str]) -> str:
    """Return the message for a name that does not exist, with the word here.

    Args:
        kind: the object, in words.
        name: the name.
        known: one of the tables.
    """
    words = f": {known[name]}." if name in known else "."
    return f"{kind} has no {name}{words}"


def option_advice(flag: str) -> Advice | None:
    """Return the advice for an option that other tools have; ``None`` for any other flag.

    Args:
        flag: the flag, with or without its dashes.
    """
    name = flag.casefold().lstrip("-").replace("-", "_")
    for names, advice_for in _OPTIONS.items():
        if re.fullmatch(names, name):
            return advice_for(name)
    return None


def argument_advice(name: str) -> Note | None:
    """Return the advice for an argument that other tools have; ``None`` for any other one.

    Args:
        name: the argument.
    """
    return _ARGUMENTS.get(name) or option_advice(name)


def command_advice(word: str) -> str:
    """Return the advice for the first word in a shell, which is not a command.

    Args:
        word: the word, a question, or an option.
    """
    return _COMMANDS.get(word, _SHELL_ASKS)
