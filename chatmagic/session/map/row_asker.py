"""Asker of a map's rows: it sends a row until its reply is there, or an error in its place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from chatmagic._json import digest, shared_fields
from chatmagic.advice import sentences
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    BudgetError,
    ChatError,
    ChatInterrupted,
    InputError,
    RateLimitError,
)
from chatmagic.models import BodyFacts, Reply
from chatmagic.session.map.gate import Gate
from chatmagic.session.map.pace import (
    Problem,
    ends_all,
    is_of_its_row,
    is_of_the_service,
    is_refusal,
    may_be_paid,
)
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import Row, RowTemplate

MOST_FAILURES: Final = 10
"""Number of failures of the service in succession that ends the map."""
MOST_TRIES: Final = 10
"""Number of times that a row is sent again while others are answered and it is not."""
MOST_PUT_OFF: Final = 1_000
"""Largest number of rows that wait until all others are answered."""


@dataclass(frozen=True, slots=True)
class JobOptions:
    """Options of a map.

    Args:
        workers: largest number of requests under way.
        retries: number of times that a row is sent again that may have been paid for.
        waits: whether the job waits for limits longer than a minute, too.
        keep_prompts: whether the file gets the prompts, too.
        reports: whether a line tells what came from the file, and how many rows failed.
    """

    workers: int = 4
    retries: int = 0
    waits: bool = False
    keep_prompts: bool = False
    reports: bool = True


@dataclass(slots=True)
class _Tries:
    """Requests of one row so far.

    Args:
        retries: number of times that it is sent again though it may have been paid for.
        sent: number of requests that were sent.
        refused: number of those with which nothing was done.
        failed: number of those that may have been paid for.
    """

    retries: int
    sent: int = 0
    refused: int = 0
    failed: int = 0

    def allow_another(self, problem: Problem) -> bool:
        """Count a request that failed; return whether its row may be sent again.

        Args:
            problem: the failure.
        """
        if is_refusal(problem):
            self.refused += 1
            return self.refused <= MOST_TRIES or isinstance(problem, RateLimitError)
        self.failed += 1
        return may_be_paid(problem) and self.failed <= self.retries


class RowAsker:
    """Asker of the rows of a run, for all its threads.

    Args:
        template: makes the rows' requests.
        sender: sends them.
        gate: lets each request begin; a failure may end its run.
        options: the options.
        head: the description of the map, for the rows' lines; ``None`` for none.
    """

    def __init__(
        self,
        template: RowTemplate,
        sender: RowSender,
        gate: Gate,
        options: JobOptions,
        head: str | None,
    ) -> None:
        """Ask nothing yet."""
        self.has_answers = False
        """Whether the service has answered a row of the map, now or before."""
        self._template = template
        self._sender = sender
        self._gate = gate
        self._run = gate.run
        self._options = options
        self._head = head
        self._halts: set[Halt] = set()
        self._is_cut = False
        self._failures = 0
        self._put_off: list[tuple[Row, _Tries]] = []
        self._tries: dict[str, _Tries] = {}

    def cut(self) -> None:
        """Cut off the rows under way."""
        self._is_cut = True
        for halt in tuple(self._halts):
            halt.stop()

    def take_put_off(self) -> list[Row]:
        """Return the rows that were put off, so that they are asked now."""
        put_off, self._put_off = self._put_off, []
        self._tries.update((row.key, tries) for row, tries in put_off)
        return [row for row, _ in put_off]

    def line(self, client: Client, row: Row) -> RowReply | None:
        """Return the line of a row with its reply or its error; ``None`` without one.

        It is sent again only if nothing was done, or as often as ``retries`` says. If it is refused
        again, the other rows are asked first. It has no line then, nor if the run ended before.

        Args:
            client: sends it.
            row: the row.
        """
        if (unsent := self._template.problem(row)) is not None:
            return self._line(row, row.request, 0, None, InputError(unsent))
        tries = self._tries.pop(row.key, None) or _Tries(self._options.retries)
        request = row.request
        while (passage := self._gate.enter()) is not None:
            reply, problem = self._send(client, row, request)
            if problem is None:
                self._failures = 0
                self.has_answers = True
                return self._line(row, request, tries.sent + 1, reply, None)
            if isinstance(problem, BudgetError):
                if self._gate.wait_for_another(passage):
                    continue
            else:
                tries.sent += 1
            is_tried = tries.allow_another(problem)
            if is_tried and self._gate.pause(problem, passage):
                if self._puts_off(row, tries):
                    return None
                continue
            if ends_all(problem) or (is_tried and is_refusal(problem)):
                self._run.end(problem)
                return None
            self._note_failure(problem)
            return self._line(row, request, tries.sent, reply, problem)
        return None

    def _puts_off(self, row: Row, tries: _Tries) -> bool:
        """Put off a row that may be the reason of its refusals, such as one that is too large."""
        may_be_reason = tries.refused > 1 or self._gate.refuses_all
        if not may_be_reason or len(self._put_off) >= MOST_PUT_OFF:
            return False
        self._put_off.append((row, tries))
        return True

    def _send(self, client: Client, row: Row, digest: str) -> tuple[Reply | None, Problem | None]:
        """Send a row once; return the reply so far, and the error that ended it early."""
        halt = Halt()
        reply: Reply | None = None
        problem: Problem | None = None
        self._halts.add(halt)
        if self._is_cut:
            # The interrupt came before this halt was in the list.
            halt.stop()
        try:
            request = self._template.request(row)
            reply = self._sender.send(client, request, digest, self._template.ask, halt)
            reply = self._template.checked(reply)
        except (ChatError, ChatInterrupted) as error:
            problem = error
            reply = error.reply
        finally:
            self._halts.discard(halt)
            self._gate.leave(problem)
        return reply, problem

    def _note_failure(self, problem: Problem) -> None:
        """Count a failure of the service; the tenth in succession ends the map."""
        is_of_row = self.has_answers and is_of_its_row(problem)
        if is_of_row or not is_of_the_service(problem):
            return
        with self._run.changed:
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                ended = f"The map ended, as {MOST_FAILURES} rows in succession failed."
                problem.advice = sentences(ended, problem.advice)
                self._run.end(problem)

    def _line(
        self,
        row: Row,
        request: str,
        requests: int,
        reply: Reply | None,
        problem: Problem | None,
    ) -> RowReply:
        """Return the line of a row's reply, or of its error."""
        return RowReply(
            row=row.number,
            key=row.key,
            request=request,
            occurrence=row.occurrence,
            service=self._sender.service,
            error=None if problem is None else problem.message,
            ended_at=datetime.now(UTC),
            head=self._head,
            prompt_digest=digest(row.prompt),
            prompt=row.prompt if self._options.keep_prompts else None,
            requests=requests,
            **_facts(reply),
        )


def _facts(reply: Reply | None) -> dict[str, Any]:
    """Return the text and the facts of a row's reply, as arguments of its line."""
    if reply is None:
        return {}
    left = None if reply.credits is None else reply.credits.remaining
    return {"text": reply.text, "credits_left": left, **shared_fields(reply, BodyFacts)}
