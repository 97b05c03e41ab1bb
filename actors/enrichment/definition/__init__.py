"""API definitions: read, flattened, compared, and written back with the texts of a run."""
