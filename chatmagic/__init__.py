"""Chat with a hosted completion service from a Jupyter notebook.

In a notebook::

    %load_ext chatmagic
    %chat_connect emulator         (or a name such as openai, or an address)

    %%chat
    Why is the sky blue?

``%chat?`` shows the options; ``%chat`` the connection, model and credits.

In Python::

    reply = chatmagic.ask("Why is it blue?")      # reply.text, reply.parsed
    chatmagic.map("Sort: {{ text }}", frame)      # many prompts, in a file
    chatmagic.mapper("Sort: {{ text }}", folder)  # for Dask, Ray or Spark
    chatmagic.agreement(frame, gold="label")      # of repeats, of labels
    chatmagic.review(frame, labels=["a", "b"])    # a person labels a sample
    chatmagic.turns("*.ipynb")                    # turns of saved notebooks

``chatmagic.Session`` and ``chatmagic.Client`` ask without a notebook;
errors are in ``chatmagic.errors``. Lessons: ``chatmagic demo``. Each name
has help of its own, such as ``help(chatmagic.ask)``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from chatmagic import _initial_environ as _initial_environ  # reads the environment once
from chatmagic._version import __version__ as __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic import errors
    from chatmagic.archive.table import turns
    from chatmagic.client.client import Client
    from chatmagic.client.endpoint import Limits, Timeout
    from chatmagic.jupyter.review_widget import review
    from chatmagic.models import CodeBlock, Credits, Message, Reply, Usage
    from chatmagic.session.current import aask, ask, current_session, map  # noqa: A004 - as it is called: chatmagic.map
    from chatmagic.session.map.mapper import Mapper, mapper
    from chatmagic.session.map.repeats import RepeatedReply
    from chatmagic.session.map.row_reply import RowReply
    from chatmagic.session.session import Session
    from chatmagic.study.agreement import Agreement, agreement
    from chatmagic.study.review import Review

__all__ = [
    "Agreement",
    "Client",
    "CodeBlock",
    "Credits",
    "Limits",
    "Mapper",
    "Message",
    "RepeatedReply",
    "Reply",
    "Review",
    "RowReply",
    "Session",
    "Timeout",
    "Usage",
    "aask",
    "agreement",
    "ask",
    "current_session",
    "errors",
    "map",
    "mapper",
    "review",
    "turns",
]

_HOMES: Final = {
    "Agreement": "study.agreement",
    "Client": "client.client",
    "CodeBlock": "models",
    "Credits": "models",
    "Limits": "client.endpoint",
    "Mapper": "session.map.mapper",
    "Message": "models",
    "RepeatedReply": "session.map.repeats",
    "Reply": "models",
    "Review": "study.review",
    "RowReply": "session.map.row_reply",
    "Session": "session.session",
    "Timeout": "client.endpoint",
    "Usage": "models",
    "aask": "session.current",
    "agreement": "study.agreement",
    "ask": "session.current",
    "current_session": "session.current",
    "map": "session.current",
    "mapper": "session.map.mapper",
    "review": "jupyter.review_widget",
    "turns": "archive.table",
}

if not TYPE_CHECKING:  # a name that is not listed is an error for a type checker, too

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use: loading the extension needs few of them."""
        if name == "errors":
            return import_module("chatmagic.errors")
        if name in _HOMES:
            import_module("chatmagic.archive.output")  # it shows replies
            return getattr(import_module(f"chatmagic.{_HOMES[name]}"), name)
        other_tools = import_module("chatmagic.other_tools")
        if name in other_tools.PACKAGE:
            # `from chatmagic import` would replace the words of an AttributeError by its own.
            words = other_tools.missing_name("chatmagic", name, other_tools.PACKAGE)
            raise ImportError(words, name=__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted([*__all__, "__version__"])


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Let IPython load the extension: ``%load_ext chatmagic``.

    Args:
        shell: the IPython shell that loads it.
    """
    import_module("chatmagic.jupyter.magics").load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Let IPython unload it: ``%unload_ext chatmagic``.

    Args:
        shell: the IPython shell that unloads it.
    """
    import_module("chatmagic.jupyter.magics").unload(shell)
