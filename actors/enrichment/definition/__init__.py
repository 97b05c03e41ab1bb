"""API definitions: read into an inventory, compared with their next version, and written back with a run's texts."""

from actors.enrichment.definition.comparing import Change, Changes, compare
from actors.enrichment.definition.parsing import enrich, parse
from actors.enrichment.definition.written import Conflict, Enriched, Written

__all__ = ["Change", "Changes", "Conflict", "Enriched", "Written", "compare", "enrich", "parse"]
