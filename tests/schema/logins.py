"""Login roles of every kind, for tests of what each may do."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from sqlalchemy import make_url

from base.settings import DatabaseLimits
from schema.engine import Database
from tests.services.postgres import Clone, plain


def as_role(url: str, role: str) -> str:
    """The same database as another role."""
    return make_url(url).set(username=role).render_as_string(hide_password=False)


@contextmanager
def login_of(clone: Clone, rights: str) -> Iterator[Database]:
    """The test's database as a login role of those rights, member of both roles."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(plain(clone.superuser_url), autocommit=True) as superuser:
        superuser.execute(f"CREATE ROLE {name} LOGIN {rights} IN ROLE longhaul_engine, longhaul_app".encode())
        opened = Database(as_role(clone.url, name), DatabaseLimits())
        try:
            yield opened
        finally:
            opened.close()
            superuser.execute(f"DROP OWNED BY {name}".encode())
            superuser.execute(f"DROP ROLE {name}".encode())
