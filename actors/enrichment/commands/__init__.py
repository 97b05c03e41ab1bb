"""The commands enrichment brings: `enrich` at the top, `runs` beside it. Heavy imports wait until one is run."""

import typer

from actors.enrichment.commands import enrich, runs


def register(app: typer.Typer) -> None:
    """Mount `enrich` and `runs`."""
    enrich.register(app)
    runs.register(app)
