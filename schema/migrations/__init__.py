"""The schema step by step, by Alembic: `schema.migrate` runs it."""
