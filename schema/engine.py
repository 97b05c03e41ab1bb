"""The way to the database: who a process is there, what a transaction is, and that nobody else commits.

A process logs in as a role that may read nothing, and works as one of two: `longhaul_engine`, which claims and sweeps
over all accounts, and `longhaul_app`, which sees one account at a time (I11). Each has its own pool, entered once per
connection; a transaction then only names its account, together with its BEGIN, in one round trip.
"""

import select
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, Literal
from uuid import UUID

import psycopg
from sqlalchemy import URL, Connection, Dialect, Engine, TextClause, create_engine, event, make_url
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import NullPool, PoolProxiedConnection

from base.errors import Misconfigured
from base.settings import DatabaseLimits
from schema.away import DatabaseAway, away, first_line, says_not_now
from schema.login import RIGHTS, too_mighty

__all__ = [
    "APP_ROLE",
    "ENGINE_ROLE",
    "Database",
    "DatabaseAway",
    "Role",
    "Rows",
    "address",
    "current",
    "enter_account",
    "enter_role",
    "use",
]

Driver = psycopg.Connection[tuple[Any, ...]]
Rows = list[tuple[Any, ...]]
Role = Literal["longhaul_engine", "longhaul_app"]

#: Works for all accounts: claim, relay, beat, sweeps.
ENGINE_ROLE: Role = "longhaul_engine"
#: Works for one account at a time: steps, commands, the API.
APP_ROLE: Role = "longhaul_app"

_DIALECT: Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]

#: Milliseconds after which a peer that acknowledges nothing counts as gone.
_TCP_USER_TIMEOUT = 10_000


@lru_cache(maxsize=256)
def _compiled(statement: TextClause) -> str:
    return str(statement.compile(dialect=_DIALECT))


def enter_role(driver: Driver, role: Role) -> None:
    """Become `role` for the life of the connection. Without it the login role reads nothing (I11)."""
    driver.execute(f"SET ROLE {role}", prepare=False)


def enter_account(account_id: UUID) -> str:
    """The statement that opens an account's scope until the transaction ends (I11)."""
    return f"SELECT set_config('longhaul.account_id', '{UUID(str(account_id))}', true)"


class Database:
    """The process's connections, `limits.pool_size` in all or `connections` per role. `url` names the login role.

    A thread holds at most one connection at a time: with all of them held, one that asks for a second waits for ever.
    """

    def __init__(
        self,
        url: str,
        limits: DatabaseLimits,
        *,
        connections: int | None = None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._url = url
        self._limits = limits
        self._on_close = on_close
        self._holding = threading.local()
        # Claims hold a connection for a moment, checkpoints and ends for as long as they write.
        engine = connections or max(1, limits.pool_size // 3)
        app = connections or max(1, limits.pool_size - engine)
        self._login = self._unpooled(url)
        self._engine = self._pool(url, ENGINE_ROLE, engine)
        self._app = self._pool(url, APP_ROLE, app)

    @contextmanager
    def engine(self, *, read_only: bool = False) -> Iterator[Connection]:
        """One transaction over all accounts, as `longhaul_engine`.

        Raises:
            DatabaseAway: it can't be reached, or the connection broke; nothing was committed.
        """
        with self._transaction(self._engine, "BEGIN READ ONLY" if read_only else "BEGIN") as connection:
            yield connection

    @contextmanager
    def account(self, account_id: UUID) -> Iterator[Connection]:
        """One transaction inside one account, as `longhaul_app`: no other account's row is seen or written (I11).

        Raises:
            DatabaseAway: it can't be reached, or the connection broke; nothing was committed.
        """
        with self._transaction(self._app, f"BEGIN; {enter_account(account_id)}") as connection:
            yield connection

    def ask_engine(self, statement: TextClause, parameters: Mapping[str, object]) -> Rows:
        """The rows of one statement over all accounts: a transaction of its own, in one round trip."""
        return self._ask(self._engine, statement, parameters)

    def ask_app(self, statement: TextClause, parameters: Mapping[str, object]) -> Rows:
        """The rows of one statement as `longhaul_app`, in one round trip: a function that enters its account itself."""
        return self._ask(self._app, statement, parameters)

    @contextmanager
    def login(self) -> Iterator[Connection]:
        """One transaction as the login role itself, on a connection of its own: for looking at the server."""
        with self._transaction(self._login, "BEGIN") as connection:
            yield connection

    @contextmanager
    def apart_from_transactions(self) -> Iterator[Driver]:
        """A connection of its own on which each statement commits by itself: for listening, which lasts.

        Raises:
            DatabaseAway: it can't be reached, or the connection broke.
        """
        with _away(), self._login.connect() as connection, _given_up_if_broken(connection):
            yield _driver(connection.connection)

    def apart(self, connections: int = 1) -> "Database":
        """The same database by connections of its own, so many per role: for who must not wait behind the others."""
        return Database(self._url, self._limits, connections=connections)

    def close(self) -> None:
        """Give all connections back to the server."""
        self._engine.dispose()
        self._app.dispose()
        self._on_close()

    @contextmanager
    def _transaction(self, pool: Engine, opening: str) -> Iterator[Connection]:
        with self._held(), _away(), pool.connect() as connection:
            driver = _driver(connection.connection)
            with _given_up_if_broken(connection):
                driver.execute(opening, prepare=False)
                # Left by an exception, the connection rolls back on its way into the pool.
                yield connection
                if driver.execute("COMMIT", prepare=False).statusmessage != "COMMIT":
                    raise RuntimeError("nothing was committed: a statement failed in it and was swallowed")

    def _ask(self, pool: Engine, statement: TextClause, parameters: Mapping[str, object]) -> Rows:
        with self._held(), _away():
            connection = pool.raw_connection()
            driver = _driver(connection)
            try:
                return driver.execute(_compiled(statement), parameters, prepare=True).fetchall()
            except psycopg.Error as error:
                if driver.broken:
                    connection.invalidate(error)
                raise
            finally:
                connection.close()

    @contextmanager
    def _held(self) -> Iterator[None]:
        if getattr(self._holding, "one", False):
            raise RuntimeError("this thread already holds a connection: finish its transaction first")
        self._holding.one = True
        try:
            yield
        finally:
            self._holding.one = False

    def _unpooled(self, url: str) -> Engine:
        return create_engine(address(url), poolclass=NullPool, **self._options())

    def _pool(self, url: str, role: Role, size: int) -> Engine:
        wait = self._limits.connect_timeout.total_seconds()
        engine = create_engine(address(url), pool_size=size, max_overflow=0, pool_timeout=wait, **self._options())
        event.listen(engine, "connect", partial(self._on_connect, role))
        event.listen(engine, "checkout", _refuse_the_dead)
        return engine

    def _options(self) -> dict[str, Any]:
        return {
            # Transactions are opened and closed above, each with one round trip less than the driver's own.
            "isolation_level": "AUTOCOMMIT",
            # A transaction that was left by an exception is rolled back when its connection is closed.
            "pool_reset_on_return": None,
            # Rows carry people's data; errors carry rows.
            "hide_parameters": True,
            "connect_args": {
                # libpq takes a connect_timeout of one second for two.
                "connect_timeout": max(2, round(self._limits.connect_timeout.total_seconds())),
                "tcp_user_timeout": _TCP_USER_TIMEOUT,
                "application_name": "longhaul",
            },
        }

    def _on_connect(self, role: Role, driver: Driver, _record: object) -> None:
        rights = driver.execute(RIGHTS, prepare=False).fetchone()
        if why := too_mighty(*rights or ("", False, False, False)):
            raise Misconfigured(why)
        timeout = round(self._limits.statement_timeout.total_seconds() * 1000)
        driver.execute(f"SET statement_timeout = {timeout}", prepare=False)
        # A plan cached while a table was small would go on scanning all of it: an index is used where there is one.
        # Servers before 18 take a scan that can't be avoided for dear, and would compile the statement.
        driver.execute("SET enable_seqscan = off; SET jit = off", prepare=False)
        if role == ENGINE_ROLE:
            # Its statements have one good plan whatever they are asked. Planning a claim anew costs as much as a claim.
            driver.execute("SET plan_cache_mode = force_generic_plan", prepare=False)
        try:
            enter_role(driver, role)
        except (psycopg.errors.InvalidParameterValue, psycopg.errors.InsufficientPrivilege) as error:
            raise Misconfigured(
                f"The database's login can't work as {role}: {first_line(error)}. Run ./longhaul migrate."
            ) from error


def _refuse_the_dead(driver: Driver, _record: object, _proxy: object) -> None:
    """Renew the pool when the server has hung up: to an idle connection it says nothing but good-bye."""
    heard = select.poll()
    heard.register(driver.fileno(), select.POLLIN)
    if heard.poll(0):
        raise InvalidatePoolError("the server has closed this connection")


@contextmanager
def _given_up_if_broken(connection: Connection) -> Iterator[None]:
    driver = _driver(connection.connection)
    try:
        yield
    except BaseException as error:
        if driver.broken:
            # Else the pool tries to roll back on it, and logs that it can't.
            connection.invalidate(error)
        raise


def address(url: str, setting: str = "LONGHAUL_DATABASE_URL") -> URL:
    """The address by our driver; what is wrong with it is said without repeating it: it may hold a password."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or parsed.get_backend_name() not in {"postgresql", "postgres"} or "[" in (parsed.host or ""):
        raise Misconfigured(
            "The database's address can't be used: it must look like postgresql://role:password@host:5432/database. "
            f"Check {setting}."
        )
    return parsed.set(drivername="postgresql+psycopg")


def _driver(connection: PoolProxiedConnection) -> Driver:
    driver: Driver | None = connection.driver_connection
    assert driver is not None  # noqa: S101  it is open: it was just taken from its pool
    return driver


@contextmanager
def _away() -> Iterator[None]:
    """Turn the driver's ways to say 'not now' into one."""
    try:
        yield
    except PoolExhausted:
        raise DatabaseAway("Every connection to the database is in use. Raise LONGHAUL_DATABASE__POOL_SIZE.") from None
    except DBAPIError as error:
        if error.connection_invalidated or (isinstance(error.orig, psycopg.Error) and says_not_now(error.orig)):
            raise away(error.orig) from error
        raise
    except psycopg.Error as error:
        if says_not_now(error):
            raise away(error) from error
        # As the statements that went through SQLAlchemy say it: callers know one kind of refusal.
        raise DBAPIError.instance("", {}, error, psycopg.Error, hide_parameters=True, dialect=_DIALECT) from error


_process_database: Database | None = None


def use(database: Database) -> None:
    """Make it the database of this process."""
    global _process_database  # noqa: PLW0603  one per process, set once at start
    _process_database = database


def current() -> Database:
    """The database of this process.

    Raises:
        Misconfigured: none was opened.
    """
    if _process_database is None:
        raise Misconfigured("No database was opened in this process: call schema.opening.open_database first.")
    return _process_database
