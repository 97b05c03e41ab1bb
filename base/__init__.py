"""The ground floor: settings, errors, clock, ids, logging. Imports nothing of the house."""
