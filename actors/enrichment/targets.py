"""The filter between proposal and mapping: nothing is written that the request did not name (E9, E10)."""

from collections.abc import Collection
from dataclasses import replace

from actors.enrichment.merger import FieldSuggestion, Proposal
from schema.enrichment.payloads import Target


def keep(proposal: Proposal, targets: Collection[Target]) -> Proposal:
    """The part of a proposal that the targets name; may be nothing."""
    fields = {
        (operation, field): kept
        for (operation, field), suggestion in proposal.fields.items()
        if (kept := _kept(field, suggestion, targets)) != FieldSuggestion()
    }
    return replace(
        proposal,
        mapping_name=proposal.mapping_name if "mapping_name" in targets else None,
        mapping_description=proposal.mapping_description if "mapping_description" in targets else None,
        endpoints=proposal.endpoints if "endpoint_names" in targets else {},
        fields=fields,
    )


def _kept(field_key: str, suggestion: FieldSuggestion, targets: Collection[Target]) -> FieldSuggestion:
    is_output = field_key.startswith("response|")
    name: Target = "output_field_names" if is_output else "input_field_names"
    description: Target = "output_field_descriptions" if is_output else "input_field_descriptions"
    return FieldSuggestion(
        name=suggestion.name if name in targets else None,
        description=suggestion.description if description in targets else None,
    )
