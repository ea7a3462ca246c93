"""A cassette that kernels, copies of a notebook and faults work on: nothing recorded is lost."""

from __future__ import annotations

import contextlib
import errno
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cassette_choice import choosing
from environments import GivenEnvironment
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from test_any_session import Service

from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.choice import CassetteConfig, Mode
from chatmagic.cassette.item import Query
from chatmagic.cassette.match import Matcher
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.jupyter.commands.cassette import cassette_of, change_cassette
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session
from chatmagic.session.views import Listener

FATES = ["whole", "whole", "whole", "no credits", "cut off", "stopped while waiting"]
NAMES = ("talk.jsonl", "other.jsonl")


class Paid(Service):
    """A service that counts its whole replies, and may be out of credits."""

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Service:
        """Refuse with a body that is recorded, where there are no credits."""
        super().send(body, stream=stream, halt=halt)
        if self.fate == "no credits":
            self.status = 429
            used = len(self.text)
            self._pieces = [json.dumps({"error": "no", "limit": 9, "used": used}).encode()]
        return self


class Kernel:
    """A kernel, with a cassette in."""

    def __init__(self, path: Path, mode: Mode, service: Paid) -> None:
        """Put the cassette in."""
        self.config = CassetteConfig(path, mode)
        environment = GivenEnvironment(command_choice=self._choice)
        self.session = Session(Client(transport=service), environment=environment)

    def _choice(self, kind: type) -> Any:
        """Return the choice of its cassette, as it is now."""
        return choosing(self.config.path, self.config.mode)(kind)

    @property
    def kept(self) -> list[Interaction]:
        """What it could not save so far."""
        return cassette_of(self.session).unsaved


def name(one: Interaction) -> tuple[Any, ...]:
    """Give that by which an exchange is told from others, whatever cell owns it by now."""
    return one.request, one.text, json.dumps(one.error), one.origin


class Machine(RuleBasedStateMachine):
    """Two files, some kernels, and a count of what has to be in the files."""

    @initialize()
    def begin(self) -> None:
        """Begin with nothing recorded."""
        self.folder = tempfile.TemporaryDirectory()
        self.paths = [Path(self.folder.name) / name for name in NAMES]
        self.service = Paid()
        self.kernels = [Kernel(self.paths[0], "record", self.service) for _ in range(2)]
        self.asks = 0
        self.older: dict[Path, bytes] = {}
        self.full: set[str] = set()
        self.patched = pytest.MonkeyPatch()
        real = Path.replace

        def replace(new: Path, path: Path) -> Path:
            if path.name in self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(new, path)

        self.patched.setattr(Path, "replace", replace)

    def teardown(self) -> None:
        """Leave nothing behind."""
        if hasattr(self, "folder"):
            self.folder.cleanup()
            self.patched.undo()

    def held(self) -> Counter[tuple[Any, ...]]:
        """Count what the files hold, and what kernels keep as they cannot save it."""
        files = [one for path in self.paths for one in CassetteFile(path).read_interactions()]
        kept = [one for kernel in self.kernels for one in kernel.kept]
        return Counter(map(name, [*files, *kept]))

    def pick(self, number: int) -> Kernel:
        """Give one of the kernels."""
        return self.kernels[number % len(self.kernels)]

    @rule(
        number=st.integers(0, 1),
        owner=st.sampled_from(["a", "b", None]),
        prompt=st.sampled_from(["p", "q", "v={{ v }}"]),
        value=st.sampled_from("12"),
        again=st.booleans(),
        history=st.booleans(),
        fate=st.sampled_from(FATES),
        origin=st.sampled_from(["live", "live", "emulator"]),
    )
    def ask(  # noqa: PLR0917 - hypothesis gives them by name
        self,
        number: int,
        owner: str | None,
        prompt: str,
        value: str,
        again: bool,
        history: bool,
        fate: str,
        origin: Any,
    ) -> None:
        """Ask: only a refresh that gets a whole reply may take one out, of the same place."""
        kernel = self.pick(number)
        self.asks += not again
        self.service.fate, self.service.text = fate, f"reply {len(self.service.bodies)}"
        self.service.origin = origin
        before = {path: CassetteFile(path).read_interactions() for path in self.paths}
        total, sent = self.held(), len(self.service.bodies)
        text = prompt.replace("{{ v }}", value)
        ask = Ask(
            text,
            typed=prompt if text != prompt else None,
            owner=owner,
            execution=str(self.asks),
            history=history,
            entry="cell",
        )
        with contextlib.suppress(ChatError, ChatInterrupted):
            kernel.session.run(ask, Listener(None))
        mode = kernel.config.mode
        asked = len(self.service.bodies) - sent
        assert asked <= (mode != "replay")
        gone = total - self.held()
        may_go = asked and mode == "refresh" and fate == "whole"
        assert gone.total() <= (1 if may_go else 0), gone
        for path in self.paths:
            now = Counter(map(name, CassetteFile(path).read_interactions()))
            for one in before[path]:
                if name(one) in gone and name(one) not in now:
                    assert (one.typed or one.prompt) == prompt
                    assert owner is None or one.owner in (owner, None)
        if asked and fate == "whole" and mode != "replay":
            came = [key for key in self.held() if key[1] == self.service.text]
            current = cassette_of(kernel.session).current
            assert current is not None
            now = Counter(map(name, CassetteFile(current.config.path).read_interactions()))
            lacks = Counter(map(name, current.interactions)) - now
            assert current.trouble or not came or not lacks, "what the file had lost is in it again"
            others = {key[3] for key in total} | {one.origin for one in current.interactions}
            assert came or (origin == "emulator" and "live" in others)

    @rule(
        number=st.integers(0, 1),
        which=st.integers(0, 1),
        mode=st.sampled_from(["record", "refresh", "replay"]),
    )
    def change(self, number: int, which: int, mode: Mode) -> None:
        """Put a cassette in, in any mode; what could not be saved goes along, nothing is lost."""
        total, kernel = self.held(), self.pick(number)
        kernel.config = CassetteConfig(self.paths[which], mode)
        try:
            change_cassette(kernel.session)
        except ChatError:
            assert mode == "replay", "there is no file to replay"
        assert not total - self.held()

    @rule(number=st.integers(0, 1))
    def ends(self, number: int) -> None:
        """Kill a kernel: what the files hold stays; another one begins, as a copy's would."""
        before = [CassetteFile(path).read_interactions() for path in self.paths]
        old = self.kernels.pop(number % len(self.kernels))
        self.kernels.append(Kernel(old.config.path, old.config.mode, self.service))
        assert [CassetteFile(path).read_interactions() for path in self.paths] == before

    @rule(full=st.booleans(), which=st.integers(0, 1))
    def disk(self, full: bool, which: int) -> None:
        """Let a file be unwritable, or writable again."""
        (self.full.add if full else self.full.discard)(NAMES[which])

    @rule(which=st.integers(0, 1))
    def put_back(self, which: int) -> None:
        """Put an older file back, as git does; what it lacks is in the kernels still."""
        path = self.paths[which]
        if path.exists():
            older = self.older.get(path)
            self.older[path] = path.read_bytes()
            if older is not None:
                path.write_bytes(older)

    @rule(number=st.integers(0, 1))
    def prune(self, number: int) -> None:
        """Remove what the cells did not ask: what was listed, and nothing else."""
        cassette = cassette_of(self.pick(number).session).current
        if cassette is None or not cassette.config.is_recording:
            return
        with contextlib.suppress(ChatError):
            listed = cassette.prune(sure=False)
            total = self.held()
            with contextlib.suppress(ChatError):
                cassette.prune(sure=True)
            assert not total - self.held() - Counter(map(name, listed))

    @invariant()
    def every_request_is_answered(self) -> None:
        """Each exchange of a file answers its very request, also one that is superseded."""
        for path in self.paths if hasattr(self, "paths") else ():
            held = CassetteFile(path).read_interactions()
            for one in held:
                answer = Matcher(held).answer(Query(one))
                assert answer is not None
                assert answer.request == one.request


TestMachine = Machine.TestCase
TestMachine.settings = hypothesis_settings(stateful_step_count=20)
