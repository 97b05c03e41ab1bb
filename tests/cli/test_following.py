"""`enrich` follows its run through an outage, and not through a login that is not let in any more."""

from types import SimpleNamespace
from uuid import uuid4

import pytest

from actors.enrichment.commands.following import Run, _watch
from actors.enrichment.commands.interrupting import Interruption
from base.terminal.progress import bar
from schema.away import DatabaseAway, DatabaseRefuses
from schema.engine import Database

_OPEN = SimpleNamespace(
    open=True,
    state="Processing",
    resuming=False,
    processed_items=0,
    total_items=1,
    failed_items=0,
    total_tokens=0,
    usage_estimated=False,
    current="",
    heartbeat_at=None,
)


def test_an_outage_is_waited_for_and_a_refusal_is_not(monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    answers = iter([_OPEN, DatabaseAway("away"), _OPEN, DatabaseRefuses("refused")])

    def look(_run: Run) -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Run, "look", look)
    run = Run(database, uuid4(), uuid4(), "enrichment")
    with Interruption() as interruption, bar("enriching") as shown, pytest.raises(DatabaseRefuses):
        _watch(run, shown, interruption)
    assert list(answers) == []
