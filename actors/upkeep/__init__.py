"""Sweeps: what repairs on a clock."""
