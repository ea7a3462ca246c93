"""The rows of a ledger: what is known of each request."""

from __future__ import annotations

import pytest
from accounts import DIGEST, Account

from chatmagic.models import Usage
from chatmagic.session import ledger as ledger_module
from chatmagic.session.ledger import KEPT, Ledger
from chatmagic.session.ledger_row import LedgerRow


def test_a_row_has_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the digests that join it with its turn; the rows are a DataFrame's."""
    account = Account(Ledger())
    account.ask()
    account.ledger.end(account.begin("panel"), account.reply(usage=Usage(5, 7, 12)))
    row = account.ledger.rows[1]
    assert (row.number, row.entry, row.cell, row.request) == (2, "panel", "c", DIGEST)
    assert (row.prompt_tokens, row.completion_tokens, row.total_tokens) == (5, 7, 12)
    assert (row.before, row.after, row.took, row.sure) == (997, 994, 3, "alone")
    assert (row.service, row.error, len(row.reply or "")) == ("https://a.example:443", None, 64)
    given: list[object] = []
    monkeypatch.setattr(ledger_module, "dataframe", lambda *args: given.append(args))
    account.ledger.to_dataframe()
    assert given == [(LedgerRow, account.ledger)]
    assert repr(account.ledger) == "<Ledger of 2 requests>"
    assert Ledger().rows.maxlen == KEPT
