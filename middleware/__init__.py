"""What surrounds every step, one concern a file."""
