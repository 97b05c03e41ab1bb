"""The terms of a run: every setting that shapes what it asks, as its first claim found it (D5).

A resumed run goes by them whatever the settings say by then: another limit would change prompts, and with them the
identity of passes that were answered and paid for. How patiently it asks, and how much at once, is the worker's own.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from base import logs
from base.settings import Settings

_log = logs.get(__name__)


class Terms(BaseModel):
    """Settings by their names; `max_completion_tokens` is the model's, all others are the pipeline's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chunk_size_operations: int
    max_prompt_characters: int
    enable_reference_distillation: bool
    enable_reference_lookup: bool
    max_reference_digest_input_characters: int
    max_reference_digest_characters: int
    max_fields_per_request_body: int
    max_fields_per_response_status: int
    separate_mapping_metadata_pass: bool
    max_completion_tokens: int

    @classmethod
    def of(cls, settings: Settings) -> "Terms":
        """As the settings say now."""
        said = settings.semantic_enrichment.model_dump() | settings.llm.model_dump()
        return cls.model_validate({name: said[name] for name in cls.model_fields})

    @classmethod
    def kept(cls, stored: Mapping[str, Any] | None) -> "Terms | None":
        """As an earlier claim found them; None where there was none, or they can't be read back (E30)."""
        if stored is None:
            return None
        try:
            return cls.model_validate(stored)
        except ValidationError:
            _log.warning("terms_unreadable")
            return None

    def over(self, settings: Settings) -> Settings:
        """The settings with these terms in the place of their own."""
        mine = self.model_dump()
        llm = {"max_completion_tokens": mine.pop("max_completion_tokens")}
        return settings.model_copy(
            update={
                "llm": settings.llm.model_copy(update=llm),
                "semantic_enrichment": settings.semantic_enrichment.model_copy(update=mine),
            }
        )
