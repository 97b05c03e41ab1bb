"""The terms of a run as they are kept: D5, E30."""

from actors.enrichment.terms import Terms
from base.settings import Llm, SemanticEnrichment, Settings


def test_kept_terms_take_the_place_of_the_settings() -> None:
    then = Settings(semantic_enrichment=SemanticEnrichment(chunk_size_operations=7), llm=Llm(max_completion_tokens=100))
    now = Settings(semantic_enrichment=SemanticEnrichment(max_chunk_retries=1))
    kept = Terms.kept(Terms.of(then).model_dump(mode="json"))
    assert kept is not None
    resumed = kept.over(now)
    assert (resumed.semantic_enrichment.chunk_size_operations, resumed.llm.max_completion_tokens) == (7, 100)
    assert resumed.semantic_enrichment.max_chunk_retries == 1, "how patiently it asks is the worker's own"


def test_terms_of_another_version_are_not_read_back() -> None:
    assert Terms.kept(None) is None
    assert Terms.kept({"chunk_size_operations": 3}) is None
    assert Terms.kept({**Terms.of(Settings()).model_dump(), "of_the_next_version": 1}) is None
