"""Which database a process works on: the one that is named, or the embedded one."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from uuid import UUID

from base.settings import Settings
from schema.engine import Database, use


def open_database(settings: Settings) -> Database:
    """Open the database the settings name, or the embedded one, and make it the process's.

    Connects to a named one lazily, and refuses no schema. Closing it leaves the embedded server.

    Raises:
        Misconfigured: none is named, and the embedded one can't run here.
    """
    if settings.database_url is not None:
        database = Database(settings.database_url.get_secret_value(), settings.database)
    else:
        # Only where it is used: on a server nothing of it need be installed.
        from schema.embedded import attach  # noqa: PLC0415

        server = attach(settings.home)
        database = Database(server.url, settings.database, on_close=server.close)
    use(database)
    return database


@contextmanager
def opened_account(settings: Settings) -> Iterator[tuple[Database, UUID]]:
    """The database, checked and open while the block runs, and the account that commands work in.

    Raises:
        Misconfigured: there is none, or its schema is not this version's.
        DatabaseAway: it can't be reached.
    """
    # Bring the migration tool along, which a worker's steps need not.
    from schema.accounts import default_account  # noqa: PLC0415
    from schema.migrate import require_current  # noqa: PLC0415

    with closing(open_database(settings)) as database:
        require_current(database)
        yield database, default_account(database)
