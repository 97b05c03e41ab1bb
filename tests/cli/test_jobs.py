"""`jobs list` and `jobs show`: what the ledger knows, for people and for scripts."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import BaseModel

from base.clock import now
from base.ids import uuid7
from base.terminal.exits import Exit
from ledger.inserting import insert
from ledger.policy import Policy, declare
from schema.engine import Database
from tests.cli.running import Running, longhaul, on
from tests.cli.scene import asking, definition
from tests.fakes.llm_replies import Answer
from tests.fakes.llm_server import LlmServer
from tests.services.postgres import Clone


class _Payload(BaseModel):
    secret_name: str = "not for a list"


declare(
    Policy(
        task="cli.look",
        lane="cli",
        payload=_Payload,
        max_attempts=3,
        stale_after=timedelta(minutes=3),
        stall_after=timedelta(minutes=20),
    )
)


@pytest.fixture
def job_ids(database: Database, account_id: UUID) -> list[UUID]:
    """Three jobs, the oldest first; the last one is due tomorrow."""
    ids = []
    for key, due_at in (("first", None), ("second", None), (None, now() + timedelta(days=1))):
        with database.account(account_id) as connection:
            ids.append(insert(connection, "cli.look", _Payload(), account_id=account_id, key=key, due_at=due_at).job_id)
    return ids


def test_the_list_is_newest_first_and_holds_no_payload(clone: Clone, job_ids: list[UUID]) -> None:
    done = longhaul("jobs", "list", env=on(clone))
    assert done.code == Exit.DONE, done.err
    heading, *rows = done.out.splitlines()
    assert heading.split()[:2] == ["job", "state"]
    assert [row.split()[0] for row in rows] == [str(one) for one in reversed(job_ids)]
    assert "not for a list" not in done.said


def test_pages_go_by_key(clone: Clone, job_ids: list[UUID]) -> None:
    first = longhaul("jobs", "list", "--limit", "2", "--json", env=on(clone)).json
    assert [row["id"] for row in first["jobs"]] == [str(job_ids[2]), str(job_ids[1])]
    rest = longhaul("jobs", "list", "--limit", "2", "--before", first["before"], "--json", env=on(clone)).json
    assert [row["id"] for row in rest["jobs"]] == [str(job_ids[0])]
    assert rest["before"] is None


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["--key", "first"], [0]),
        (["--state", "pending", "--lane", "cli", "--task", "cli.look"], [2, 1, 0]),
        (["--state", "failed", "--state", "done"], []),
        (["--lane", "elsewhere"], []),
        (["--reason", "expired"], []),
    ],
)
def test_filters_narrow_it(clone: Clone, job_ids: list[UUID], filters: list[str], found: list[int]) -> None:
    rows = longhaul("jobs", "list", *filters, "--json", env=on(clone)).json["jobs"]
    assert [row["id"] for row in rows] == [str(job_ids[index]) for index in found]


def test_an_empty_list_says_what_would_be_there(clone: Clone) -> None:
    done = longhaul("jobs", "list", env=on(clone))
    assert done.code == Exit.DONE
    assert done.out == ""
    assert "./longhaul enrich FILE" in done.err


def test_a_job_that_waits_says_why_first(clone: Clone, job_ids: list[UUID]) -> None:
    done = longhaul("jobs", "show", str(job_ids[2]), env=on(clone))
    assert done.code == Exit.DONE, done.err
    assert done.out.startswith("It is due at ")
    assert "no live worker" in longhaul("jobs", "show", str(job_ids[0]), env=on(clone)).out.lower()


def test_a_job_shows_how_large_its_payload_is_and_not_what_it_says(clone: Clone, job_ids: list[UUID]) -> None:
    shown = longhaul("jobs", "show", str(job_ids[0]), "--json", env=on(clone))
    assert shown.json["job"]["id"] == str(job_ids[0])
    assert shown.json["payload_bytes"] > 10
    assert "not for a list" not in shown.said


def test_a_job_that_is_not_there_is_one_sentence(clone: Clone) -> None:
    done = longhaul("jobs", "show", str(uuid7()), env=on(clone))
    assert done.code == Exit.USAGE
    assert done.err.startswith("There is no job ")
    assert len(done.err.splitlines()) == 1


def test_a_job_is_canceled_once(clone: Clone, tmp_path: Path) -> None:
    with LlmServer(Answer("{}", stall_after=0)) as server:
        command = ("enrich", definition(tmp_path), "--out", tmp_path / "out")
        with Running(*command, env=asking(clone, server)) as enriching:
            enriching.wait_for(lambda: server.requests)
            job = longhaul("jobs", "list", "--json", env=on(clone)).json["jobs"][0]["id"]
            assert longhaul("jobs", "cancel", job, "--json", env=on(clone)).json == {"job": job, "answer": "accepted"}
            server.wait_for(lambda: server.requests[0].closed_at is not None)
            assert enriching.ended().code == Exit.CANCELED
    again = longhaul("jobs", "cancel", job, env=on(clone))
    assert again.code == Exit.FAILED
    assert "already ended" in again.out


def test_what_this_version_does_not_know_is_not_canceled(clone: Clone, job_ids: list[UUID]) -> None:
    done = longhaul("jobs", "cancel", str(job_ids[0]), env=on(clone))
    assert done.code == Exit.USAGE
    assert "cli.look" in done.err
    assert longhaul("jobs", "show", str(job_ids[0]), "--json", env=on(clone)).json["job"]["state"] == "pending"
