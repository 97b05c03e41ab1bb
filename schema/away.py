"""Why the database can't be used now, what a person does about it, and whether waiting may be enough.

The driver has no code for a connection that was refused, only the server's words. A server that speaks another
language than English is told by the general sentence, and waited for.
"""

import re
from collections.abc import Mapping

import psycopg

from base.errors import Transient

_NOT_NOW = frozenset({"57P01", "57P02", "57P03", "53300", "40001", "40P01", "55P03"})

#: What a server says that lets nobody in as it was asked, and what to do.
_REFUSALS = {
    r"password authentication failed|no password supplied": (
        "Correct user and password in {setting}, or let `./longhaul migrate` make the login role with them."
    ),
    r'role ".*" does not exist': "Correct the user in {setting}, or let `./longhaul migrate` make the login role.",
    r'database ".*" does not exist': (
        "Correct the name in {setting}, or make the database with `createdb` and run `./longhaul migrate`."
    ),
    r"no pg_hba\.conf entry": "Let this user in from this machine, in the server's pg_hba.conf.",
    r"is not permitted to log in": "Give the role LOGIN, or name another one in {setting}.",
    r"permission denied for database": "Grant the role CONNECT on it, or name another one in {setting}.",
}
#: What passes by itself, or when its cause does.
_OUTAGES = {
    r"connection refused|no such file": "Start the server, or correct host and port in {setting}.",
    r"starting up|not yet accepting|shutting down": "Wait a moment, then try again.",
    r"resolve host|translate host name": "Correct the host in {setting}, or repair this machine's name service.",
    r"timeout expired|timed out": "Start the server, and open its port to this machine; {setting} says which.",
    r"too many clients|connection slots": "Run fewer processes, or raise max_connections on the server.",
    r"does not support ssl": "Correct sslmode in {setting}.",
    r"connection failed|connection is bad": "Is the server up, and {setting} right?",
}


class DatabaseAway(Transient):
    """The database can't be reached, or could not serve this now. Nothing was committed, unless a COMMIT was cut."""


class DatabaseRefuses(DatabaseAway):
    """The server is there and lets this login not in: a person has to change something, waiting does not."""


def says_not_now(error: psycopg.Error) -> bool:
    """Whether the same statement may succeed later; everything else is a refusal, and would be one for ever.

    Not now: no connection, or one that broke (08); the server stops, starts or ends our session (57P01 to 57P03); too
    many connections (53300); a conflict with another transaction (40001, 40P01, 55P03). A refusal: a row that does
    not fit, a statement that takes too long (57014), a disk that is full.
    """
    state = error.sqlstate
    if state is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state.startswith("08") or state in _NOT_NOW


def took_too_long(error: BaseException | None) -> bool:
    """Whether a statement was cut because it ran longer than one may."""
    return isinstance(error, psycopg.errors.QueryCanceled)


def away(error: BaseException | None, what: str = "used", setting: str = "LONGHAUL_DATABASE_URL") -> DatabaseAway:
    """What the server or the network said, with what to do; `setting` is the address that was tried."""
    said = first_line(error)
    if advice := _advice(_REFUSALS, said):
        return DatabaseRefuses(f"The database can't be {what}: {said}. {advice.format(setting=setting)}")
    advice = _advice(_OUTAGES, said) or "Try again in a moment."
    return DatabaseAway(f"The database can't be {what} now: {said}. {advice.format(setting=setting)}")


def first_line(error: BaseException | None) -> str:
    """What the server said, without its details: they may quote a row."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else "the connection was lost"


def _advice(known: Mapping[str, str], said: str) -> str | None:
    return next((advice for words, advice in known.items() if re.search(words, said, re.IGNORECASE)), None)
