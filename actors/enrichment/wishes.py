"""What a run was asked, in the words of the command line: to show it, and to say how two requests differ."""

from collections.abc import Mapping

from schema.enrichment.payloads import TARGETS, EnrichmentPayload

_OPTIONS: Mapping[str, str] = {
    "targets": "--target",
    "selected_endpoint_ids": "--select",
    "references": "--reference",
    "glossary": "--glossary",
    "instructions": "--instructions",
    "only_missing": "--only-missing",
    "language": "--language",
    "model": "--model",
    "max_tokens": "--max-tokens",
}


def wishes(asked: EnrichmentPayload) -> dict[str, str]:
    """Each option that was given, with its value as it reads on one line."""
    values = {
        "--target": "" if asked.targets == TARGETS else ", ".join(one.replace("_", "-") for one in asked.targets),
        "--select": f"{len(asked.selected_endpoint_ids)} operations" if asked.selected_endpoint_ids else "",
        "--reference": ", ".join(reference.name for reference in asked.references),
        "--glossary": ", ".join(entry.key for entry in asked.glossary),
        "--instructions": asked.instructions,
        "--only-missing": "yes" if asked.only_missing else "",
        "--language": asked.language or "",
        "--model": asked.model or "",
        "--max-tokens": "" if asked.max_tokens is None else str(asked.max_tokens),
    }
    return {option: value for option, value in values.items() if value}


def differing(asked: EnrichmentPayload, now: EnrichmentPayload) -> list[str]:
    """The options by which two requests differ."""
    return [option for field, option in _OPTIONS.items() if getattr(asked, field) != getattr(now, field)]
