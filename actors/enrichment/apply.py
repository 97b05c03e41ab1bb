"""A proposal becomes the next version of the mapping (E25): each text knows its run, pass, model and predecessor (D10),
and what a person wrote is never touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from actors.enrichment.merger import FieldSuggestion, Proposal, Suggestion
from schema.enrichment.content import MappedEndpoint, MappedField, MappingContent, Text
from schema.enrichment.payloads import Target


@dataclass(frozen=True)
class Draft:
    """The new content, how many texts were suggested for it by target, and how many of them stood there already."""

    content: MappingContent
    counts: Mapping[Target, int]
    unchanged: int

    def __bool__(self) -> bool:
        return bool(self.counts)


def draft(content: MappingContent, proposal: Proposal, run_id: UUID, model: str) -> Draft:
    """The mapping with the proposal applied; falsy when nothing of it could be."""
    pen = _Pen(run_id, model)
    written = MappingContent(
        name=pen.write("mapping_name", content.name, proposal.mapping_name),
        description=pen.write("mapping_description", content.description, proposal.mapping_description),
        endpoints=tuple(pen.endpoint(endpoint, proposal) for endpoint in content.endpoints),
    )
    return Draft(written, pen.counts, pen.unchanged)


class _Pen:
    def __init__(self, run_id: UUID, model: str) -> None:
        self._run_id = run_id
        self._model = model
        self.counts: dict[Target, int] = {}
        self.unchanged = 0

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
        """The text that stands there now. One suggested again is of this run, but its predecessor stays the same."""
        if suggestion is None or (old is not None and old.is_final):
            return old
        self.counts[target] = self.counts.get(target, 0) + 1
        former = None if old is None else old.value
        if old is not None and old.value == suggestion.value:
            self.unchanged += 1
            if old.origin == "source":
                return old
            former = old.old
        by_model = suggestion.origin != "user"
        return Text(
            value=suggestion.value,
            origin=suggestion.origin,
            run_id=self._run_id,
            pass_key=suggestion.pass_key if by_model else None,
            model=self._model if by_model else None,
            old=former,
        )

    def _field(self, field: MappedField, name: Target, description: Target, suggestion: FieldSuggestion) -> MappedField:
        return MappedField(
            key=field.key,
            name=self.write(name, field.name, suggestion.name),
            description=self.write(description, field.description, suggestion.description),
        )
