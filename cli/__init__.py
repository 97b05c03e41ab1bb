"""What a person types."""

#: As in `pyproject.toml`, which an image need not carry; a test compares them.
VERSION = "0.1.0"
