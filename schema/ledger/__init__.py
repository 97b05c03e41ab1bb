"""The tables and SQL of the ledger, by noun."""
