"""What an enrichment request says, as it is stored with its job: everything that can't be derived from the run, so
that the run can be published again (E4).
"""

from typing import Literal, get_args
from uuid import UUID

from pydantic import BaseModel, ConfigDict, PositiveInt

from schema.enrichment.glossary import GlossaryEntry

Target = Literal[
    "mapping_name",
    "mapping_description",
    "endpoint_names",
    "input_field_names",
    "input_field_descriptions",
    "output_field_names",
    "output_field_descriptions",
]

#: All of them, in the order they are written about (E9).
TARGETS: tuple[Target, ...] = get_args(Target)

#: What the overview pass answers; everything else is answered chunk by chunk (E18).
OVERVIEW_TARGETS: frozenset[Target] = frozenset({"mapping_name", "mapping_description"})


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReferenceText(_Stored):
    """The text of one attached document under its file name (E4)."""

    name: str
    text: str


class EnrichmentPayload(_Stored):
    """The job of one run. `selected_endpoint_ids` empty means all; `model` None means the worker's own setting."""

    run_id: UUID
    mapping_id: UUID
    targets: tuple[Target, ...] = TARGETS
    selected_endpoint_ids: tuple[UUID, ...] = ()
    instructions: str = ""
    references: tuple[ReferenceText, ...] = ()
    glossary: tuple[GlossaryEntry, ...] = ()
    only_missing: bool = False
    language: str | None = None
    model: str | None = None
    max_tokens: PositiveInt | None = None


class EnrichmentResult(_Stored):
    """What a run that ended well wrote."""

    version: int
    suggestions: int


class RunWarning(_Stored):
    """Something an operator should know about a run: a literal code, and a sentence."""

    code: str
    text: str
