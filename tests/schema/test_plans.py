"""Query plans over 200,000 jobs: what runs for each job, each second or each sweep walks an index, in few pages.

Each statement is planned as the engine plans it, as a fresh and as a cached plan, with statistics and without: a plan
that is only good after ANALYZE is bad on the day of the first import.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Connection, TextClause, text

from base.ids import uuid7
from base.settings import DatabaseLimits
from schema.accounts import default_account
from schema.engine import Database
from schema.ledger import claims, endings, jobs, reaping, waking, workers
from tests.services.postgres import Postgres, plain

LANE = "test"
JOBS = 200_000
OPEN_TASKS = ("t0", "t1", "t2", "t3")
GATED_TASK = "g"


@dataclass
class Crowd:
    """A database with 200,000 jobs in it."""

    database: Database
    superuser_url: str
    account_id: UUID
    worker_id: UUID

    def change(self, statement: str, *values: object) -> None:
        with psycopg.connect(plain(self.superuser_url), autocommit=True) as connection:
            connection.execute(statement.encode(), values)

    def explain(
        self,
        statement: TextClause,
        parameters: Mapping[str, object],
        planned: Mapping[str, str] = MappingProxyType({}),
        *,
        account: bool = False,
    ) -> "Plan":
        """The plan of a statement that is run and undone, under the role and settings it has in a process."""
        found: list[Plan] = []
        for _ in ("the first time a server process also reads its catalog", "this one counts"):
            scope = self.database.account(self.account_id) if account else self.database.engine()
            with suppress(_UndoneError), scope as connection:
                for name, value in planned.items():
                    connection.execute(text(f"SET LOCAL {name} = {value}"))
                found.append(_run(connection, statement, parameters))
                raise _UndoneError
        return found[-1]


class _UndoneError(Exception):
    """Rolls a transaction back."""


#: What no plan shows of a function: its own statements.
_READ_SO_FAR = text(
    "SELECT seq_scan, idx_tup_fetch, pg_stat_get_xact_numscans(CAST('jobs_claim_idx' AS regclass)) "
    "FROM pg_stat_xact_user_tables WHERE relname = 'jobs'"
)


@dataclass
class Plan:
    """What a plan reads, and what was read of jobs: whole scans, rows by index, uses of the claim's."""

    root: dict[str, Any]
    whole_scans: int
    rows_by_index: int
    uses_of_the_claims_index: int

    @property
    def buffers(self) -> int:
        return int(self.root["Shared Hit Blocks"] + self.root["Shared Read Blocks"])

    @property
    def indexes(self) -> set[str]:
        return {node["Index Name"] for node in self._nodes() if "Index Name" in node}

    def scans_all_jobs(self) -> bool:
        return self.whole_scans > 0

    def rows_passed_over(self) -> int:
        """Jobs that were read and left aside."""
        return sum(
            int(n.get("Rows Removed by Filter", 0) * n["Actual Loops"])
            for n in self._nodes()
            if n.get("Relation Name") == "jobs"
        )

    def _nodes(self) -> Iterator[dict[str, Any]]:
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.get("Plans", [])


def _run(connection: Connection, statement: TextClause, parameters: Mapping[str, object]) -> Plan:
    before = connection.execute(_READ_SO_FAR).one()
    explain = text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.text}")
    root = connection.execute(explain, parameters).scalar_one()[0]["Plan"]
    after = connection.execute(_READ_SO_FAR).one()
    return Plan(root, *(late - early for early, late in zip(before, after, strict=True)))


_MORE = """
    INSERT INTO jobs (id, account_id, task, lane, bucket, priority, max_attempts, ready, due_at)
    SELECT gen_random_uuid(), %s, {task}, 'test', {bucket}, {priority}, 1, {ready}, {due}
    FROM generate_series(1, {count}) AS n
"""


@contextmanager
def _crowd(postgres: Postgres) -> Iterator[Crowd]:
    with postgres.clone() as clone:
        database = Database(clone.url, DatabaseLimits())
        with database.engine() as connection:
            worker_id = uuid7()
            workers.insert(
                connection,
                worker_id=worker_id,
                host="here",
                boot_id="this",
                pid_namespace=1,
                pid=1,
                start_ticks=1,
                lanes=[LANE],
                tasks=[*OPEN_TASKS, GATED_TASK, "few"],
            )
        try:
            yield Crowd(database, clone.superuser_url, default_account(database), worker_id)
        finally:
            database.close()


def _fill(crowd: Crowd, task: str, bucket: str, count: int, *, priority: str = "mod(n, 7)", due: str = "now()") -> None:
    ready = "true" if due == "now()" else "false"
    crowd.change(
        _MORE.format(task=task, bucket=bucket, count=count, priority=priority, ready=ready, due=due), crowd.account_id
    )


@pytest.fixture(scope="module")
def waiting(postgres: Postgres) -> Iterator[Crowd]:
    """200,000 runnable jobs of four tasks, and then some in retry wait and a hundred that run."""
    with _crowd(postgres) as crowd:
        _fill(crowd, "'t' || mod(n, 4)", "'t' || mod(n, 4)", JOBS)
        _fill(crowd, "'few'", "'few'", 2000, due="now() + n * interval '1 minute' - interval '10 minutes'")
        crowd.change(
            "UPDATE jobs SET state = 'running', worker_id = %s, started_at = now(), progress_at = now(), "
            "attempts = 1, fence = 1 WHERE id IN (SELECT id FROM jobs WHERE ready LIMIT 100)",
            crowd.worker_id,
        )
        yield crowd


@pytest.fixture(scope="module")
def gated(postgres: Postgres) -> Iterator[Crowd]:
    """40,000 jobs behind each of five full gates, at the head; a hundred others behind them."""
    with _crowd(postgres) as crowd:
        _fill(crowd, "'g'", "'g@gate' || mod(n, 5)", JOBS, priority="1")
        _fill(crowd, "'few'", "'few'", 100, priority="100")
        crowd.change(
            "INSERT INTO gate_slots (gate, n, job_id) SELECT 'gate' || g, n, gen_random_uuid() "
            "FROM generate_series(0, 4) g, generate_series(1, 8) n"
        )
        yield crowd


PLANNED: list[dict[str, str]] = [
    {"plan_cache_mode": "force_custom_plan"},
    {"plan_cache_mode": "force_generic_plan"},
    # Not only because it may not: the planner's own choice is the index too.
    {"plan_cache_mode": "force_custom_plan", "enable_seqscan": "on"},
]


@pytest.fixture(scope="module", params=["without statistics", "with statistics"])
def analyzed(request: pytest.FixtureRequest, waiting: Crowd, gated: Crowd) -> None:
    """Whether the tables were ever analyzed. The first round must come first: nothing forgets statistics."""
    for crowd in (waiting, gated):
        crowd.change("VACUUM ANALYZE" if request.param == "with statistics" else "CHECKPOINT")


@pytest.fixture(params=PLANNED, ids=lambda planned: "-".join(planned.values()))
def planned(request: pytest.FixtureRequest) -> dict[str, str]:
    settings: dict[str, str] = request.param
    return settings


def _claim(crowd: Crowd, *tasks: str) -> dict[str, object]:
    return {"lane": LANE, "tasks": list(tasks), "shut": [], "suspects": True, "worker_id": crowd.worker_id}


@pytest.mark.usefixtures("analyzed")
def test_a_claim_reads_the_heads_of_the_open_buckets(waiting: Crowd, planned: dict[str, str]) -> None:
    for tasks in (OPEN_TASKS[:1], OPEN_TASKS):
        plan = waiting.explain(claims._CLAIM, _claim(waiting, *tasks), planned)
        assert plan.uses_of_the_claims_index >= 2 * len(tasks)
        assert not plan.scans_all_jobs()
        assert plan.rows_by_index <= 16 * len(tasks) + 2
        assert plan.buffers <= 60 + 40 * len(tasks)


@pytest.mark.usefixtures("analyzed")
def test_a_claim_steps_over_full_gates(gated: Crowd, planned: dict[str, str]) -> None:
    plan = gated.explain(claims._CLAIM, _claim(gated, GATED_TASK, "few"), planned)
    assert plan.uses_of_the_claims_index >= 5
    assert not plan.scans_all_jobs()
    assert plan.rows_by_index <= 40
    assert plan.buffers <= 60 + 40
    taken = claims.take(
        gated.database, worker_id=gated.worker_id, lane=LANE, tasks=[GATED_TASK, "few"], suspects=True, shut=[]
    )
    assert isinstance(taken, claims.Claim)
    assert taken.task == "few"


def test_a_plan_that_was_cached_on_an_empty_table_stays_good(postgres: Postgres) -> None:
    """A worker's connections outlive the quiet morning they were opened in."""
    with _crowd(postgres) as crowd, closing(crowd.database.apart(1)) as few:
        asked = _claim(crowd, *OPEN_TASKS)
        _fill(crowd, "'t0'", "'t0'", 30)
        crowd.change("VACUUM ANALYZE jobs")
        for _ in range(30):
            assert len(few.ask_engine(claims._CLAIM, asked)) == 1
        _fill(crowd, "'t' || mod(n, 4)", "'t' || mod(n, 4)", JOBS)
        with suppress(_UndoneError), few.engine() as connection:
            plan = _run(connection, claims._CLAIM, asked)
            assert not plan.scans_all_jobs()
            assert plan.rows_by_index <= 16 * len(OPEN_TASKS) + 40  # the thirty that were taken are still in the way
            assert plan.buffers <= 60 + 40 * len(OPEN_TASKS)
            raise _UndoneError


@pytest.mark.usefixtures("analyzed")
def test_the_relay_counts_no_further_than_it_needs(waiting: Crowd, gated: Crowd, planned: dict[str, str]) -> None:
    asked = {"lane": LANE, "limit": 100, "within": timedelta(hours=1)}
    plan = waiting.explain(waking._RUNNABLE, asked, planned)
    assert "jobs_claim_idx" in plan.indexes
    assert not plan.scans_all_jobs()
    # Before a first vacuum each row counted is looked at in the table.
    assert plan.buffers <= 60 + len(OPEN_TASKS) * (100 + 20)
    plan = gated.explain(waking._RUNNABLE, asked, planned)
    assert not plan.scans_all_jobs()
    assert plan.buffers <= 60 + 100 + 20


@pytest.mark.usefixtures("analyzed")
def test_promotion_finds_what_is_due(waiting: Crowd, planned: dict[str, str]) -> None:
    plan = waiting.explain(waking._PROMOTE, {"lane": LANE, "limit": 100}, planned)
    assert "jobs_due_idx" in plan.indexes
    assert not plan.scans_all_jobs()
    assert plan.rows_passed_over() == 0


@pytest.mark.usefixtures("analyzed")
def test_a_beat_finds_what_its_worker_holds(waiting: Crowd, planned: dict[str, str]) -> None:
    plan = waiting.explain(workers._HELD, {"worker_id": waiting.worker_id}, planned)
    assert plan.indexes == {"jobs_held_idx"}
    assert plan.buffers <= 120
    plan = waiting.explain(workers._BEAT, {"worker_id": waiting.worker_id}, planned)
    assert plan.buffers <= 20


@pytest.mark.usefixtures("analyzed")
def test_the_reap_looks_at_what_runs_only(waiting: Crowd, planned: dict[str, str]) -> None:
    asked: dict[str, object] = {
        "tasks": [*OPEN_TASKS],
        "stale": [180.0] * 4,
        "stall": [1200.0] * 4,
        "gone": [],
        "watched_since": None,
        "passed_over": [uuid7()],
        "limit": 50,
    }
    plan = waiting.explain(reaping._SUSPICIOUS, asked, planned)
    assert not plan.scans_all_jobs()
    assert "jobs_held_idx" in plan.indexes
    assert plan.buffers <= 400
    plan = waiting.explain(
        reaping._IN_FLIGHT, {k: asked[k] for k in asked if k not in ("passed_over", "limit")}, planned
    )
    assert not plan.scans_all_jobs()
    assert "jobs_held_idx" in plan.indexes
    assert plan.buffers <= 400
    plan = waiting.explain(
        reaping._HELD_BY, {"gone": [waiting.worker_id], "tasks": [*OPEN_TASKS], "limit": 50}, planned
    )
    assert not plan.scans_all_jobs()
    plan = waiting.explain(workers._NEIGHBOURS, {"boot_id": "this", "pid_namespace": 1}, planned)
    assert not plan.scans_all_jobs()
    assert plan.buffers <= 120


@pytest.mark.usefixtures("analyzed")
def test_taking_a_run_back_finds_its_row(waiting: Crowd) -> None:
    asked = {
        "job_id": uuid7(),
        "fence": 1,
        "stale": 180.0,
        "stall": 1200.0,
        "gone": [],
        "watched_since": None,
        "told_within": timedelta(seconds=2),
        "exhausted": "x",
        "request_gone": "y",
    }
    for statement in (reaping._LOCK, reaping._take_back()):
        plan = waiting.explain(statement, asked, account=True)
        assert not plan.scans_all_jobs()
        assert plan.buffers <= 60


@pytest.mark.usefixtures("analyzed")
def test_the_words_of_a_run_find_their_row(waiting: Crowd) -> None:
    """As the account's role, which has its policy in every plan."""
    said = {"account_id": waiting.account_id, "job_id": uuid7(), "fence": 1}
    for statement, more in (
        (jobs._PROGRESS, {"done": 1, "total": 1}),
        (endings._COMPLETE, {"reason": None, "result": None}),
        (endings._FAIL, {"reason": "x", "error": "x", "given_back": 0}),
    ):
        plan = waiting.explain(statement, {**said, **more}, account=True)
        assert not plan.scans_all_jobs()
        assert plan.buffers <= 20
    plan = waiting.explain(jobs._OPEN_WITH_KEY, {"account_id": waiting.account_id, "key": "k"}, account=True)
    assert plan.indexes == {"jobs_open_key_idx"}
