"""Readers of a streamed reply: chatmagic's and those of peers, each a function of one shape.

``read(ask, each)`` sends one request and calls ``each`` with every fragment.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import requests

from chatmagic import Client, Message

Each = Callable[[str], object]
Read = Callable[[str, Each], None]

PATH: Final = "/v1/chat/completions"
PEERS: Final = {"httpx-sse": ("httpx", "httpx_sse"), "openai": ("openai",), "aiohttp": ("aiohttp",)}
"""Modules that a peer needs."""


def body_of(ask: str) -> dict[str, Any]:
    """Return the request's body."""
    return {"messages": [{"role": "user", "content": ask}], "stream": True, "model": "m"}


def content_of(line: bytes | str) -> str:
    """Return the fragment of a ``data`` line, by the least parser that there is."""
    content: str = json.loads(line)["choices"][0]["delta"]["content"]
    return content


def raw_socket(port: int) -> Read:
    """Return the least there is: a socket, lines, and JSON; HTTP's framing is passed over."""

    def read(ask: str, each: Each) -> None:
        body = json.dumps(body_of(ask)).encode()
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(head + body)
            rest = b""
            while piece := sock.recv(65_536):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: "):
                        if line.startswith(b"data: [DONE]"):
                            return
                        each(content_of(line[6:]))

    return read


def chatmagic_client(url: str) -> Read:
    """Return a reader that is chatmagic's ``Client``."""
    client = Client(url, auth="none")

    def read(ask: str, each: Each) -> None:
        with client.stream([Message("user", ask)]) as stream:
            for fragment in stream:
                each(fragment)

    return read


def requests_read1(url: str) -> Read:
    """Return a reader of ``requests`` that reads with ``read1``, and the least parser."""
    session = requests.Session()

    def read(ask: str, each: Each) -> None:
        with session.post(url + PATH, json=body_of(ask), stream=True) as response:
            rest = b""
            is_packed = "content-encoding" in response.raw.headers
            while piece := response.raw.read1(65_536, decode_content=is_packed):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                        each(content_of(line[6:]))

    return read


def httpx_sse_client(url: str) -> Read:
    """Return a reader of ``httpx-sse``."""
    httpx, connect_sse = import_module("httpx"), import_module("httpx_sse").connect_sse
    client = httpx.Client()

    def read(ask: str, each: Each) -> None:
        with connect_sse(client, "POST", url + PATH, json=body_of(ask)) as source:
            for event in source.iter_sse():
                if event.data != "[DONE]":
                    each(content_of(event.data))

    return read


def openai_client(url: str) -> Read:
    """Return a reader of ``openai``."""
    openai = import_module("openai")
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

    def read(ask: str, each: Each) -> None:
        for chunk in client.chat.completions.create(**body_of(ask)):
            each(chunk.choices[0].delta.content or "")

    return read


def aiohttp_client(url: str) -> Read:
    """Return a reader of ``aiohttp``, with the least parser."""
    aiohttp = import_module("aiohttp")

    async def stream(ask: str, each: Each) -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.post(url + PATH, json=body_of(ask)) as response,
        ):
            async for line in response.content:
                if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                    each(content_of(line[6:]))

    return lambda ask, each: asyncio.run(stream(ask, each))
