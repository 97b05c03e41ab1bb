"""A proposal becomes the next version of the mapping (E25): only what changes is written, each text knows its run,
pass, model and predecessor (D10), and what a person wrote is never touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from actors.enrichment.merger import FieldSuggestion, Proposal, Suggestion
from schema.enrichment.content import MappedEndpoint, MappedField, MappingContent, Text
from schema.enrichment.payloads import Target


@dataclass(frozen=True)
class Draft:
    """The new content and how many texts it changed, by target."""

    content: MappingContent
    counts: Mapping[Target, int]

    def __bool__(self) -> bool:
        return bool(self.counts)


def draft(content: MappingContent, proposal: Proposal, run_id: UUID, model: str) -> Draft:
    """The mapping with the proposal applied; falsy when nothing would change."""
    pen = _Pen(run_id, model)
    written = MappingContent(
        name=pen.write("mapping_name", content.name, proposal.mapping_name),
        description=pen.write("mapping_description", content.description, proposal.mapping_description),
        endpoints=tuple(pen.endpoint(endpoint, proposal) for endpoint in content.endpoints),
    )
    return Draft(written, pen.counts)


class _Pen:
    def __init__(self, run_id: UUID, model: str) -> None:
        self._run_id = run_id
        self._model = model
        self.counts: dict[Target, int] = {}

    def endpoint(self, endpoint: MappedEndpoint, proposal: Proposal) -> MappedEndpoint:
        return endpoint.model_copy(
            update={
                "name": self.write("endpoint_names", endpoint.name, proposal.endpoints.get(endpoint.key)),
                "inputs": tuple(
                    self._field(field, "input_field_names", "input_field_descriptions", suggestion)
                    if (suggestion := proposal.fields.get((endpoint.key, field.key)))
                    else field
                    for field in endpoint.inputs
                ),
                "outputs": tuple(
                    self._field(field, "output_field_names", "output_field_descriptions", suggestion)
                    if (suggestion := proposal.fields.get((endpoint.key, field.key)))
                    else field
                    for field in endpoint.outputs
                ),
            }
        )

    def write(self, target: Target, old: Text | None, suggestion: Suggestion | None) -> Text | None:
        """The text that stands there now."""
        if suggestion is None or (old is not None and (old.is_final or old.value == suggestion.value)):
            return old
        self.counts[target] = self.counts.get(target, 0) + 1
        by_model = suggestion.origin != "user"
        return Text(
            value=suggestion.value,
            origin=suggestion.origin,
            run_id=self._run_id,
            pass_key=suggestion.pass_key if by_model else None,
            model=self._model if by_model else None,
            old=None if old is None else old.value,
        )

    def _field(self, field: MappedField, name: Target, description: Target, suggestion: FieldSuggestion) -> MappedField:
        return MappedField(
            key=field.key,
            name=self.write(name, field.name, suggestion.name),
            description=self.write(description, field.description, suggestion.description),
        )
