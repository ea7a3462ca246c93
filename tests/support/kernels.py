"""A real ipykernel, driven as front ends drive it; and its outputs, as they show them."""

from __future__ import annotations

import atexit
import os
import queue
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from forked_kernels import forking
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

PLAIN_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith("CHATMAGIC_")
}


@dataclass
class Ran:
    """What one execution gave: its messages with their times, and what is left to see."""

    status: str
    messages: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Everything to read in the outputs, one after the other."""
        parts = []
        for output in self.outputs:
            if output["type"] == "stream":
                parts.append(output["text"])
            elif output["type"] == "error":
                parts.append("\n".join(output["traceback"]))
            else:
                parts.append(output["data"].get("text/plain", ""))
        return "\n".join(parts)

    @property
    def replies(self) -> list[dict[str, Any]]:
        """The outputs that carry a turn's record."""
        return [output for output in self.outputs if output.get("metadata", {}).get("chatmagic")]


class Kernel:
    """A kernel and its client."""

    def __init__(self, client: BlockingKernelClient, manager: KernelManager) -> None:
        """Take over a kernel that runs."""
        self._client = client
        self.manager = manager

    def run(
        self,
        code: str,
        *,
        cell: str | None = None,
        person: bool = True,
        on_message: Callable[[dict[str, Any]], object] | None = None,
        wait: float = 120.0,
    ) -> Ran:
        """Execute code as JupyterLab (with ``cell``), a console, or a machine would."""
        session = self._client.session
        message = session.msg(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": person,
                "stop_on_error": True,
            },
        )
        if cell is not None:
            message["metadata"] = {"cellId": cell, "deletedCells": []}
        self._client.shell_channel.send(message)
        ran = Ran("unknown")
        until = time.monotonic() + wait
        while True:
            got = self._client.get_iopub_msg(timeout=max(0.1, until - time.monotonic()))
            if got["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            ran.messages.append((time.monotonic(), got))
            if on_message is not None:
                on_message(got)
            if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                break
        while True:
            reply = self._client.get_shell_msg(timeout=max(0.1, until - time.monotonic()))
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                break
        ran.status = reply["content"]["status"]
        ran.outputs = shown([message for _, message in ran.messages])
        return ran

    def complete(self, code: str, cursor: int) -> dict[str, Any]:
        """Return what the kernel completes a cell's code with at a place, as front ends ask it."""
        reply: dict[str, Any] = self._client.complete(code, cursor, reply=True, timeout=120)
        content: dict[str, Any] = reply["content"]
        return content

    def interrupt(self) -> None:
        """Interrupt it, as the Stop button does."""
        self.manager.interrupt_kernel()

    def restart(self) -> None:
        """Restart it, as that button does."""
        self.manager.restart_kernel(now=True)
        self.wait_until_it_answers()

    def wait_until_it_answers(self, wait: float = 120.0) -> None:
        """Ask who it is until both channels answer.

        The client's own way lets a fifth of a second pass afterwards, in which nothing comes.
        """
        until = time.monotonic() + wait
        while time.monotonic() < until:
            asked = self._client.kernel_info()
            with suppress(queue.Empty):
                self._client.get_shell_msg(timeout=1)
                while (
                    self._client.get_iopub_msg(timeout=0.2)["parent_header"].get("msg_id") != asked
                ):
                    pass
                return
        raise TimeoutError


@cache
def forks() -> Path:
    """Return where Jupyter finds the spec of kernels that a process of this one's own forks."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()), "forks")
    stack.enter_context(forking(folder, PLAIN_ENVIRONMENT))
    return folder


@contextmanager
def kernel(
    environment: Mapping[str, str] | None = None, python: str | None = None
) -> Iterator[Kernel]:
    """Start a kernel, and end it.

    Args:
        environment: variables of its environment.
        python: the interpreter that runs it; ``None`` is this one, in a fork.
    """
    with ExitStack() as stack:
        ways = {}
        if os.name == "posix":
            # A port that is free when it is chosen may be another's when the kernel binds it; so
            # may a socket, which has the same name in each process without a folder of its own.
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            ways = {"transport": "ipc", "ip": f"{folder}/socket"}
        yield stack.enter_context(_started(ways, environment or {}, python))


@contextmanager
def _started(
    ways: Mapping[str, str], environment: Mapping[str, str], python: str | None
) -> Iterator[Kernel]:
    """Start a kernel that is reached in these ways, and end it."""
    if python is None:
        specs = KernelSpecManager(kernel_dirs=[str(forks() / "kernels")])
        manager = KernelManager(kernel_name="python3", kernel_spec_manager=specs, **ways)
    else:
        manager = KernelManager(kernel_name="python3", **ways)
        assert manager.kernel_spec is not None
        manager.kernel_spec.argv[0] = python
    manager.start_kernel(env={**PLAIN_ENVIRONMENT, **environment})
    client = manager.blocking_client()
    client.start_channels()
    try:
        started = Kernel(client, manager)
        started.wait_until_it_answers()
        yield started
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def shown(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fold messages into what a front end shows, and saves, in the end."""
    outputs: list[dict[str, Any]] = []
    clear = False
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "clear_output":
            clear = content["wait"]
            if not clear:
                outputs.clear()
            continue
        if kind == "update_display_data":
            for output in outputs:
                if output.get("id") == content["transient"]["display_id"]:
                    output.update(data=content["data"], metadata=content["metadata"])
            continue
        if kind not in {"display_data", "execute_result", "stream", "error"}:
            continue
        if clear:
            outputs.clear()
            clear = False
        output = {"type": kind, **{k: v for k, v in content.items() if k != "transient"}}
        output["id"] = content.get("transient", {}).get("display_id")
        last = outputs[-1] if outputs else None
        if kind == "stream" and last and last["type"] == kind and last["name"] == content["name"]:
            last["text"] += content["text"]
        else:
            outputs.append(output)
    return outputs
