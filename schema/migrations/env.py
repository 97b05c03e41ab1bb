"""Alembic's entry: runs on the connection that `schema.migrate` gives it, in that connection's transaction."""

from alembic import context

from schema import accounts  # noqa: F401  joins the metadata
from schema.enrichment import tables as _enrichment  # noqa: F401
from schema.ledger import tables as _ledger  # noqa: F401
from schema.metadata import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=False,
)
context.run_migrations()
