"""The outside world, one partner a file."""
