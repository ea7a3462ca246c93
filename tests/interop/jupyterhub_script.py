"""Two users of a JupyterHub ask, each with the address, key, budget and certificates of the hub.

A script for a release, in an environment of its own: ``pip install jupyterhub jupyterlab
configurable-http-proxy trustme -e .``, then ``python tests/interop/jupyterhub_script.py``. It
starts a hub, two servers and an emulator with TLS here, and prints a line for each check.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any, Final

import trustme
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from chatmagic.emulator.server import Emulator
from chatmagic.emulator.service import HttpRequest, HttpResponse, keys_given

HUB: Final = 18_080
TOKEN: Final = secrets.token_hex(16)
USERS: Final = ("ann", "ben")
CONFIG: Final = """
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {port} + 1
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:%d" % ({port} + 2)
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.Spawner.http_timeout = 600
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/{{username}}"
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie"
scopes = ["admin:users", "admin:servers", "access:servers"]
c.JupyterHub.load_roles = [{{"name": "test", "services": ["test"], "scopes": scopes}}]
c.JupyterHub.services = [{{"name": "test", "api_token": "{token}"}}]


def key_of_user(spawner):
    return f"{folder}/keys/{{spawner.user.name}}"


c.Spawner.args = ["--allow-root"]  # where root runs the script
c.Spawner.start_timeout = 600
c.Spawner.environment = {{
    "CHATMAGIC_BASE_URL": "{url}",
    "CHATMAGIC_MODEL": "hub-model",
    "CHATMAGIC_BUDGET": "2 turns",
    "CHATMAGIC_API_KEY_FILE": key_of_user,
    "REQUESTS_CA_BUNDLE": "{folder}/authority.pem",
}}
"""


class LoggedEmulator(Emulator):
    """Emulator with TLS that keeps the key and the model of each request.

    Args:
        certificate: its certificate.
    """

    def __init__(self, certificate: trustme.LeafCert) -> None:
        """Start without any request."""
        super().__init__()
        self.asked: list[tuple[str, str]] = []
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._context)

    def start(self) -> str:
        """Listen with TLS."""
        url = super().start()
        assert self._running is not None
        server = self._running[0]
        server.socket = self._context.wrap_socket(server.socket, server_side=True)
        return url

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Note a request, and answer it."""
        model = json.loads(request.body)["model"]
        self.asked.append((keys_given(request).get("bearer", ""), model))
        return super().respond(request)


def call(path: str, method: str = "GET", body: object = None) -> Any:
    """Return the answer of the hub, or of a user's server behind it."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{HUB}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"token {TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
        content = answer.read()
    return json.loads(content) if content else None


def wait_for(what: str, path: str, check: Any = lambda answer: True) -> Any:  # noqa: ARG005
    """Return the answer as soon as there is one that passes a check."""
    for _ in range(600):
        try:
            answer = call(path)
            if check(answer):
                return answer
        except OSError:
            pass
        time.sleep(1.0)
    raise TimeoutError(what)


async def run(user: str, code: str) -> str:
    """Return what a cell prints in a new kernel of a user."""
    kernel = call(f"/user/{user}/api/kernels", "POST", {"name": "python3"})["id"]
    url = f"ws://127.0.0.1:{HUB}/user/{user}/api/kernels/{kernel}/channels"
    socket = await websocket_connect(HTTPRequest(url, headers={"Authorization": f"token {TOKEN}"}))
    header = {
        "msg_id": uuid.uuid4().hex,
        "username": user,
        "session": uuid.uuid4().hex,
        "msg_type": "execute_request",
        "version": "5.3",
    }
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    await socket.write_message(json.dumps({**message, "channel": "shell", "buffers": []}))
    said = ""
    while True:
        got = json.loads(await asyncio.wait_for(socket.read_message(), 120) or "{}")
        if got.get("parent_header", {}).get("msg_id") != header["msg_id"]:
            continue
        content = got["content"]
        if got["msg_type"] == "stream":
            said += str(content["text"])
        elif got["msg_type"] in {"display_data", "execute_result"}:
            said += json.dumps(content["data"])
        elif got["msg_type"] == "error":
            said += f"{content['ename']}: {content['evalue']}"
        elif got["msg_type"] == "status" and content["execution_state"] == "idle":
            socket.close()
            return said


def check(what: str, *, holds: bool) -> None:
    """Print a check, and end if it does not hold."""
    print("ok  " if holds else "NOT ", what, flush=True)  # noqa: T201 - for a person
    if not holds:
        raise SystemExit(1)


def main() -> None:
    """Start all, and check what two users get."""
    authority = trustme.CA()
    emulator = LoggedEmulator(authority.issue_cert("127.0.0.1"))
    with tempfile.TemporaryDirectory() as name, emulator:
        folder = Path(name)
        authority.cert_pem.write_to_path(str(folder / "authority.pem"))
        keys = {user: f"key-of-{user}-{secrets.token_hex(8)}" for user in USERS}
        (folder / "keys").mkdir()
        for user, key in keys.items():
            (folder / "keys" / user).write_text(key)
            (folder / "keys" / user).chmod(0o600)
        url = emulator.url.replace("http:", "https:")
        text = CONFIG.format(port=HUB, folder=folder, token=TOKEN, url=url)
        (folder / "config.py").write_text(text)
        bin_folder = str(Path(sys.executable).parent)
        environ = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
        command = [sys.executable, "-m", "jupyterhub", "-f", str(folder / "config.py")]
        with (folder / "log").open("wb") as log:
            hub = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
        try:
            wait_for("the hub", "/hub/api/")
            for user in USERS:
                call(f"/hub/api/users/{user}", "POST")
                call(f"/hub/api/users/{user}/server", "POST")
                wait_for(
                    user, f"/hub/api/users/{user}", lambda answer: answer["server"] is not None
                )
            ask = "%load_ext chatmagic\n%chat echo:hello from {0}"
            for user in USERS:
                said = asyncio.run(run(user, ask.format(user)))
                check(f"{user} is answered", holds=f"hello from {user}" in said)
                check("no key is shown", holds=not any(key in said for key in keys.values()))
            wanted = [(keys[user], "hub-model") for user in USERS]
            check(
                "each has a key of their own, and the hub's model", holds=emulator.asked == wanted
            )
            three = "import chatmagic\nfor _ in range(3): chatmagic.ask('echo:a')"
            said = asyncio.run(run("ann", three))
            check("the budget of the hub holds", holds="budget of 2 turns" in said)
            other = "%load_ext chatmagic\n%chat_connect http://127.0.0.1:9\n%chat echo:a"
            said = asyncio.run(run("ben", other))
            check("the key does not go to another address", holds=len(emulator.asked) == 4)
            check("which fails in one line", holds="127.0.0.1" in said)
            undone = "import os\ndel os.environ['REQUESTS_CA_BUNDLE']\n" + ask.format("ben")
            said = asyncio.run(run("ben", undone))
            check("without the hub's certificates nothing is sent", holds=len(emulator.asked) == 4)
            check("which is said", holds="ConnectError" in said and "certificate" in said)
            undone = "import os\nos.environ['CHATMAGIC_BUDGET'] = '9 turns'\n" + three
            said = asyncio.run(run("ann", undone))
            check("a user can undo the budget", holds=len(emulator.asked) == 7 and not said)
        except BaseException:
            print((folder / "log").read_text()[-5000:])  # noqa: T201 - for a person
            raise
        finally:
            hub.terminate()
            hub.wait(60)


if __name__ == "__main__":
    main()
