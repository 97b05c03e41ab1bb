"""All tables, all SQL, all migrations, all payloads."""
