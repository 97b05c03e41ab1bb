"""Who no process may log in as: one whom row security does not bind, or who may change the tables (I11)."""

#: Of the role that logged in: its name, and the three rights that are too much.
RIGHTS = """
SELECT rolname, rolsuper, rolbypassrls, EXISTS (
    SELECT FROM pg_database WHERE datname = current_database() AND pg_has_role(session_user, datdba, 'MEMBER')
    UNION ALL
    SELECT FROM pg_class WHERE oid = to_regclass('alembic_version') AND pg_has_role(session_user, relowner, 'MEMBER')
) FROM pg_roles WHERE rolname = session_user
"""


def too_mighty(role: str, superuser: bool, unbound: bool, owner: bool) -> str | None:
    """Why this role may not be a process's login, and how to make one that may; None if it may."""
    if not (superuser or unbound or owner):
        return None
    what = "a superuser" if superuser else "bound by no row security" if unbound else "the database's owner"
    return (
        f"LONGHAUL_DATABASE_URL logs in as {role}, who is {what}: no process works as one who may do everything. Name "
        "a new role with a password of its own in LONGHAUL_DATABASE_URL, set LONGHAUL_DATABASE_OWNER_URL to the "
        "owner's address, and run `./longhaul migrate`, which makes that role."
    )
