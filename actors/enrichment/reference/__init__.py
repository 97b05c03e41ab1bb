"""A user's reference documents: their text, the tables in it, and what these say about a definition's tokens."""
