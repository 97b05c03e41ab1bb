"""Names and descriptions for API mappings, written by a chunked LLM pipeline."""
