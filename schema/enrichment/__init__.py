"""The tables, SQL and payloads of the enrichment pipeline."""
