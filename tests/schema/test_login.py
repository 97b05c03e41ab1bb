"""No process works as a superuser, as the owner, or as one who may become it (I11)."""

from collections.abc import Callable

import psycopg
import pytest
from sqlalchemy import make_url, text

from base.errors import Misconfigured
from base.ids import uuid7
from base.settings import DatabaseLimits
from schema.engine import Database
from schema.migrate import require_current
from tests.schema.logins import login_of
from tests.services.postgres import Clone, plain


def _refused(opened: Database) -> str:
    """The one sentence that every way into the database is refused with."""
    ask = text("SELECT 1")
    ways: tuple[Callable[[], object], ...] = (
        lambda: opened.engine().__enter__(),
        lambda: opened.account(uuid7()).__enter__(),
        lambda: opened.ask_engine(ask, {}),
        lambda: opened.ask_app(ask, {}),
        lambda: require_current(opened),
    )
    said = set()
    for way in ways:
        with pytest.raises(Misconfigured) as error:
            way()
        said.add(str(error.value))
    (sentence,) = said
    return sentence


@pytest.mark.parametrize(
    ("rights", "what"), [("NOINHERIT SUPERUSER", "a superuser"), ("NOINHERIT BYPASSRLS", "bound by no row security")]
)
def test_nobody_works_as_one_who_reads_everything(clone: Clone, rights: str, what: str) -> None:
    with login_of(clone, rights) as opened:
        sentence = _refused(opened)
    assert what in sentence
    assert "LONGHAUL_DATABASE_OWNER_URL" in sentence
    assert "./longhaul migrate" in sentence


def test_nobody_works_as_the_owner_or_as_one_who_may_become_it(clone: Clone) -> None:
    opened = Database(clone.owner_url, DatabaseLimits())
    assert "the database's owner" in _refused(opened)
    opened.close()
    with login_of(clone, "NOINHERIT") as member:
        owner = make_url(clone.owner_url).username or ""
        with psycopg.connect(plain(clone.superuser_url), autocommit=True) as superuser:
            name = make_url(member._url).username or ""
            superuser.execute(f"GRANT {owner} TO {name}".encode())
        assert "the database's owner" in _refused(member)
