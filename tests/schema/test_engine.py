"""Transactions and roles: what a process may see, and what is never committed (I11)."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from uuid import UUID

import psycopg
import pytest
from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, ProgrammingError

from base.errors import Misconfigured
from base.ids import uuid7
from base.settings import DatabaseLimits
from schema import engine
from schema.accounts import account, default_account
from schema.engine import Database, DatabaseAway
from schema.ledger import jobs
from schema.metadata import account_tables
from tests.schema.logins import login_of
from tests.services.postgres import Clone, plain


class Payload(BaseModel):
    """A body."""


def _insert(database: Database, account_id: UUID) -> UUID:
    job_id = uuid7()
    with database.account(account_id) as connection:
        assert jobs.insert(
            connection,
            jobs.NewJob(job_id, account_id, "test.x", "test", "test.x", 1, None, 1, None, None, None, "{}"),
        )
    return job_id


def _ids(database: Database, account_id: UUID) -> list[UUID]:
    with database.account(account_id) as connection:
        return list(connection.execute(text("SELECT id FROM jobs ORDER BY id")).scalars())


@pytest.fixture
def other_id(database: Database) -> UUID:
    return account(database, "other")


def test_an_account_sees_its_own_rows_only(database: Database, account_id: UUID, other_id: UUID) -> None:
    mine, theirs = _insert(database, account_id), _insert(database, other_id)
    assert _ids(database, account_id) == [mine]
    assert _ids(database, other_id) == [theirs]
    assert _ids(database, uuid7()) == []


def test_nothing_of_another_account_is_read_even_by_a_login_that_inherits(clone: Clone) -> None:
    """What `enter_role` and `enter_account` guard: a connection works as the role it entered."""
    with login_of(clone, "INHERIT") as opened:
        mine, theirs = account(opened, "mine"), account(opened, "theirs")
        _insert(opened, theirs)
        job_id = _insert(opened, mine)
        assert _ids(opened, mine) == [job_id]


@pytest.mark.parametrize("table", account_tables())
def test_without_an_account_nothing_is_seen(database: Database, account_id: UUID, table: str) -> None:
    _insert(database, account_id)
    with database.account(account_id) as connection:
        connection.execute(text("SELECT set_config('longhaul.account_id', '', true)"))
        assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0


def test_the_scope_ends_with_the_transaction(database: Database, account_id: UUID) -> None:
    _insert(database, account_id)
    small = database.apart(1)
    with small.account(account_id) as connection:
        assert connection.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 1
    with small._app.connect() as connection:  # the same connection, and nobody entered an account
        assert connection.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 0
    small.close()


def test_rows_of_another_account_cannot_be_written(database: Database, account_id: UUID, other_id: UUID) -> None:
    theirs = _insert(database, other_id)
    with database.account(account_id) as connection:
        assert connection.execute(text("UPDATE jobs SET priority = 1 WHERE id = :id"), {"id": theirs}).rowcount == 0
    foreign = jobs.NewJob(uuid7(), other_id, "test.x", "test", "test.x", 1, None, 1, None, None, None, "{}")
    with pytest.raises(ProgrammingError, match="row-level security"), database.account(account_id) as connection:
        jobs.insert(connection, foreign)
    _insert(database, account_id)
    with pytest.raises(ProgrammingError, match="row-level security"), database.account(account_id) as connection:
        connection.execute(text("UPDATE jobs SET account_id = :other"), {"other": other_id})


@pytest.mark.parametrize("table", [*account_tables(), "workers", "gate_slots", "alembic_version"])
def test_without_a_role_nothing_is_read(database: Database, account_id: UUID, table: str) -> None:
    """What `enter_role` guards: the login role by itself has no right to any table."""
    _insert(database, account_id)
    with pytest.raises(ProgrammingError, match="permission denied"), database.login() as connection:
        connection.execute(text(f"SELECT count(*) FROM {table}"))
    with database.account(account_id) as connection:
        assert connection.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 1


def test_the_engine_reads_bodies_inside_their_account_only(
    database: Database, account_id: UUID, other_id: UUID
) -> None:
    _insert(database, account_id)
    _insert(database, other_id)
    with database.engine() as connection:
        assert connection.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 2
        assert connection.execute(text("SELECT count(*) FROM job_bodies")).scalar_one() == 0
    for statement in ("DELETE FROM jobs", "UPDATE jobs SET priority = 1", "SELECT 1 FROM enrichment_runs"):
        with pytest.raises(ProgrammingError, match="permission denied"), database.engine() as connection:
            connection.execute(text(statement))


def test_an_exception_rolls_back(database: Database, account_id: UUID) -> None:
    def insert_and_fail() -> None:
        with database.account(account_id) as connection:
            connection.execute(
                text(
                    "INSERT INTO jobs (id, account_id, task, lane, bucket, priority, max_attempts, ready) "
                    "VALUES (:id, :account, 't', 'l', 't', 1, 1, true)"
                ),
                {"id": uuid7(), "account": account_id},
            )
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        insert_and_fail()
    assert _ids(database, account_id) == []


def test_a_swallowed_failure_is_not_taken_for_a_commit(database: Database, account_id: UUID) -> None:
    def swallow() -> None:
        with database.account(account_id) as connection, suppress(DBAPIError):
            connection.execute(text("SELECT 1/0"))

    with pytest.raises(RuntimeError, match="nothing was committed"):
        swallow()
    assert _ids(database, account_id) == []


def test_a_savepoint_saves_what_came_before(database: Database, account_id: UUID) -> None:
    with database.account(account_id) as connection:
        with suppress(DBAPIError), connection.begin_nested():
            connection.execute(text("SELECT 1/0"))
        assert connection.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 0


def test_a_thread_holds_one_connection(database: Database, account_id: UUID) -> None:
    with (
        database.account(account_id),
        pytest.raises(RuntimeError, match="already holds a connection"),
        database.engine(),
    ):
        pass
    with database.account(account_id), ThreadPoolExecutor(1) as pool:
        assert pool.submit(_ids, database, account_id).result(5) == []
    assert _ids(database, account_id) == []


def test_one_statement_is_one_transaction(database: Database, account_id: UUID) -> None:
    job_id = _insert(database, account_id)
    moved = text("UPDATE jobs SET state = 'pending', ready = false WHERE id = :id RETURNING id")
    assert database.ask_engine(moved, {"id": job_id}) == [(job_id,)]
    assert database.ask_engine(moved, {"id": uuid7()}) == []
    assert database.ask_engine(text("SELECT count(*) FROM jobs WHERE NOT ready"), {}) == [(1,)]


def test_a_statement_of_its_own_is_in_no_account(database: Database, account_id: UUID) -> None:
    """Unless it is a function that enters one, and that ends with it."""
    job_id = _insert(database, account_id)
    small = database.apart(1)
    count = text("SELECT count(*) FROM jobs")
    for _ in range(2):
        assert small.ask_app(count, {}) == [(0,)]
        said = {"account": account_id, "job": job_id, "fence": 1, "done": None, "total": None}
        assert small.ask_app(text("SELECT move_progress(:account, :job, :fence, :done, :total)"), said) == [(False,)]
    small.close()


def test_a_database_that_is_away_is_one_error(clone: Clone) -> None:
    nowhere = Database("postgresql://somebody:hunter2@127.0.0.1:9/nowhere", DatabaseLimits())
    for use in (nowhere.engine, nowhere.login, lambda: nowhere.account(uuid7())):
        with pytest.raises(DatabaseAway) as error, use():
            pass
        assert "hunter2" not in str(error.value)
    for ask in (nowhere.ask_engine, nowhere.ask_app):
        with pytest.raises(DatabaseAway):
            ask(text("SELECT 1"), {})


def _cut_all_connections(clone: Clone) -> None:
    with psycopg.connect(plain(clone.superuser_url), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("url", ["", "not a url", "mysql://me:hunter2@host/db", "postgresql://me:hunter2@host:port/db"])
def test_an_address_that_makes_no_sense_is_a_sentence(url: str) -> None:
    with pytest.raises(Misconfigured, match="LONGHAUL_DATABASE_URL") as error:
        Database(url, DatabaseLimits())
    assert "hunter2" not in str(error.value)


def test_connections_that_were_cut_while_idle_are_renewed(
    database: Database, account_id: UUID, clone: Clone, caplog: pytest.LogCaptureFixture
) -> None:
    with ThreadPoolExecutor(4) as pool:
        together = Barrier(4)

        def use(_: int) -> None:
            with database.account(account_id):
                together.wait(5)

        list(pool.map(use, range(4)))
    for _ in range(2):
        _cut_all_connections(clone)
        assert [_ids(database, account_id) for _ in range(5)] == [[]] * 5
        assert database.ask_engine(text("SELECT 1"), {}) == [(1,)]
    assert caplog.records == []


def test_a_connection_that_is_cut_while_in_use_costs_its_transaction(
    database: Database, account_id: UUID, clone: Clone, caplog: pytest.LogCaptureFixture
) -> None:
    def use() -> None:
        with database.account(account_id) as connection:
            _cut_all_connections(clone)
            connection.execute(text("SELECT 1"))

    with pytest.raises(DatabaseAway):
        use()
    assert _ids(database, account_id) == []
    assert caplog.records == []


def test_a_full_pool_is_said_to_be_full(database: Database) -> None:
    limits = DatabaseLimits(connect_timeout=0.1)
    small = Database(database._url, limits).apart(1)
    with small.engine(), ThreadPoolExecutor(1) as pool:

        def another() -> None:
            with small.engine():
                pass

        with pytest.raises(DatabaseAway, match="POOL_SIZE"):
            pool.submit(another).result(5)
    small.close()


def test_a_statement_that_takes_too_long_is_ended(database: Database) -> None:
    impatient = Database(database._url, DatabaseLimits(statement_timeout=0.05))
    # No outage: the same statement would take as long again.
    with pytest.raises(OperationalError, match="statement timeout"), impatient.engine() as connection:
        connection.execute(text("SELECT pg_sleep(5)"))
    with pytest.raises(OperationalError, match="statement timeout"):
        impatient.ask_engine(text("SELECT pg_sleep(5)"), {})
    impatient.close()
    with database.engine() as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "5s"
        assert connection.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one() == "5s"


def test_a_refusal_is_the_same_error_either_way(database: Database) -> None:
    refused = text("SELECT CAST('no number' AS integer)")
    with pytest.raises(DataError):
        database.ask_engine(refused, {})
    with pytest.raises(DataError), database.engine() as connection:
        connection.execute(refused)


def test_errors_carry_no_row(database: Database, account_id: UUID) -> None:
    job_id = _insert(database, account_id)
    with pytest.raises(IntegrityError) as error, database.account(account_id) as connection:
        connection.execute(
            text("INSERT INTO job_bodies (job_id, account_id, payload) VALUES (:id, :account, CAST(:body AS jsonb))"),
            {"id": job_id, "account": account_id, "body": '{"mail": "jane@example.org"}'},
        )
    assert "jane" not in str(error.value)


def test_the_process_has_one_database(database: Database) -> None:
    assert engine.current() is database


def test_a_process_without_a_database_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_process_database", None)
    with pytest.raises(Misconfigured, match="No database was opened"):
        engine.current()


def test_a_login_that_is_no_member_is_told_to_migrate(clone: Clone) -> None:
    with psycopg.connect(plain(clone.superuser_url), autocommit=True) as connection:
        connection.execute("CREATE ROLE stranger LOGIN")
        try:
            stranger = Database(clone.url.replace("longhaul_login@", "stranger@"), DatabaseLimits())
            with pytest.raises(Misconfigured, match=r"Run \./longhaul migrate"), stranger.engine():
                pass
            stranger.close()
        finally:
            connection.execute("DROP ROLE stranger")


def test_an_account_is_made_once(database: Database) -> None:
    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(lambda _: default_account(database), range(12)))) == 1
