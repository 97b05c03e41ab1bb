"""`migrate`: brings a database's schema to what this version needs, as the database's owner."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import typer
from pydantic import SecretStr

from base.errors import Misconfigured
from base.settings import Settings, load
from base.terminal.example import command
from base.terminal.output import Json, Output


@dataclass(frozen=True)
class Migrated:
    """What `--json` prints: revisions before and after, null for an empty database."""

    database: str
    before: str | None
    after: str
    login_role: str | None


def register(app: typer.Typer) -> None:
    """Mount `migrate`."""
    app.command("migrate", cls=command("LONGHAUL_DATABASE_OWNER_URL=postgresql://... ./longhaul migrate"))(migrate)


def migrate(as_json: Json = False) -> None:
    """Bring the database's schema up to date.

    Connects as the owner (LONGHAUL_DATABASE_OWNER_URL); the role of LONGHAUL_DATABASE_URL is made if it
    does not exist, and given nothing but what workers need. Running it again changes nothing.
    """
    settings, output = load(), Output(as_json=as_json)
    done = _embedded(settings) if settings.database_url is None else _server(settings, settings.database_url)
    output.result(done)
    if done.before == done.after:
        output.say(f"The schema of {done.database} is at {done.after}: nothing to do.")
    else:
        output.say(f"Migrated {done.database}: {done.before or 'empty'} -> {done.after}.")


def _server(settings: Settings, login_url: SecretStr) -> Migrated:
    from schema.migrate import upgrade  # noqa: PLC0415

    owner_url = settings.database_owner_url
    if owner_url is None:
        raise Misconfigured(
            "Migrating needs the database's owner, and LONGHAUL_DATABASE_OWNER_URL is not set: the role of "
            "LONGHAUL_DATABASE_URL may not change tables. Set it to the same database with its owner's user."
        )
    login = urlsplit(login_url.get_secret_value())
    if not login.username:
        raise Misconfigured(
            "LONGHAUL_DATABASE_URL names no user: migrating makes that login role. "
            "Write it as postgresql://longhaul:PASSWORD@HOST:5432/DATABASE."
        )
    role, password = unquote(login.username), unquote(login.password) if login.password else None
    before, after = upgrade(owner_url.get_secret_value(), role, password)
    return Migrated(f"{login.hostname or 'localhost'}{login.path}", before, after, role)


def _embedded(settings: Settings) -> Migrated:
    """The embedded database migrates itself when it is opened."""
    from contextlib import closing  # noqa: PLC0415

    from schema.migrate import head, revision  # noqa: PLC0415
    from schema.opening import open_database  # noqa: PLC0415

    with closing(open_database(settings)) as database:
        return Migrated(f"the embedded database in {settings.home}", revision(database), head(), None)
