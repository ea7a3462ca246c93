"""Client libraries that ask the emulator: ``python tests/interop/clients.py PACKAGE``.

They are large, and load slowly. So a release installs each in an environment of its own and runs
this (see RELEASING); OpenAI's own client is in the suite. The proxy of LiteLLM is between chatmagic
and the emulator.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pydantic

import chatmagic
from chatmagic.emulator.server import Emulator

WORDS: Final = "one two three"
ASKED: Final = f"echo:{WORDS}"
KEY: Final = "practice"
City = pydantic.create_model("City", name=(str, ...), people=(int, ...))
CITY: Final = {"name": "a name of the emulator", "people": 1}
MOST_SECONDS: Final = 300
"""Longest time that a proxy is waited for."""


def langchain(url: str) -> None:
    """Ask for a reply, a stream, and an instance of a schema."""
    model: Any = import_module("langchain_openai").ChatOpenAI(
        model="emulator", base_url=f"{url}/v1", api_key=KEY, stream_usage=True
    )
    same(model.invoke(ASKED).content, WORDS)
    same("".join(chunk.content for chunk in model.stream(ASKED)), WORDS)
    same(model.with_structured_output(City).invoke("Which city?").model_dump(), CITY)


def pydantic_ai(url: str) -> None:
    """Ask for a reply and for a stream."""
    providers = import_module("pydantic_ai.providers.openai")
    models = import_module("pydantic_ai.models.openai")
    provider = providers.OpenAIProvider(base_url=f"{url}/v1", api_key=KEY)
    model = models.OpenAIChatModel("emulator", provider=provider)
    agent: Any = import_module("pydantic_ai").Agent(model)

    async def stream() -> str:
        async with agent.run_stream(ASKED) as run:
            return str(await run.get_output())

    same(agent.run_sync(ASKED).output, WORDS)
    same(asyncio.run(stream()), WORDS)


def instructor(url: str) -> None:
    """Ask for an instance of a schema."""
    module = import_module("instructor")
    openai = import_module("openai").OpenAI(base_url=f"{url}/v1", api_key=KEY)
    client = module.from_openai(openai, mode=module.Mode.JSON_SCHEMA)
    question = [{"role": "user", "content": "Which city?"}]
    given = client.chat.completions.create(
        model="emulator", messages=question, response_model=City, max_retries=0
    )
    same(given.model_dump(), CITY)


def litellm(url: str) -> None:
    """Ask chatmagic's questions through the proxy, which serves the emulator's model."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    served = {"model": "openai/emulator", "api_base": f"{url}/v1", "api_key": KEY}
    models = [{"model_name": "practice", "litellm_params": served}]
    # The proxy refuses a weak key, and asks the network for its table of prices.
    key = f"sk-{secrets.token_hex(24)}"
    own = {"LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(json.dumps({"model_list": models}))  # JSON is YAML, too
        command = [str(Path(sys.executable).with_name("litellm")), "--config", str(config)]
        proxy = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], env={**os.environ, **own}
        )
        try:
            wait_for(port, proxy)
            with chatmagic.Client(f"http://127.0.0.1:{port}", key, model="practice") as client:
                question = [{"role": "user", "content": ASKED}]
                same(client.complete(question).text, WORDS)
                with client.stream(question) as stream:
                    same("".join(stream), WORDS)
                same(client.models().names, ("practice",))
        finally:
            proxy.terminate()
            proxy.wait()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server listens.

    Raises:
        SystemExit: it has ended, or does not listen in time.
    """
    for _ in range(MOST_SECONDS):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(1)
    sys.exit("The proxy does not listen.")


def same(given: object, expected: object) -> None:
    """End with an error unless two values are equal.

    Raises:
        SystemExit: they differ.
    """
    if given != expected:
        sys.exit(f"{given!r} is not {expected!r}.")


CLIENTS: Final[dict[str, Callable[[str], None]]] = {
    "langchain-openai": langchain,
    "pydantic-ai-slim": pydantic_ai,
    "instructor": instructor,
    "litellm": litellm,
}
"""The function of each client, by the name of its package."""


if __name__ == "__main__":
    (package,) = sys.argv[1:]
    with Emulator() as emulator:
        CLIENTS[package.partition("[")[0]](emulator.url)
