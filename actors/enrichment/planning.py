"""From what a request wants to the plan of its run (E15 to E19); the estimate plans with the same words (D16)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from actors.enrichment import planner, prompts, sense
from actors.enrichment.asking import AskedOperation, Caps, Choice, Operations, choose, fields_of
from actors.enrichment.glossary import Glossary
from actors.enrichment.plan import Plan
from actors.enrichment.planner import Budget
from actors.enrichment.prompts import Brief, Prompts
from base.settings import Settings
from schema.enrichment.inventory import Field, Inventory, Operation
from schema.enrichment.payloads import RunWarning, Target

Answer = TypeVar("Answer")

#: Operations named in a warning before they are only counted.
_LISTED = 5


def brief(
    inventory: Inventory,
    targets: tuple[Target, ...],
    *,
    instructions: str,
    reference: str,
    language: str | None,
    settings: Settings,
) -> Brief:
    """What all prompts share. With the separate overview pass off, the mapping's own texts ride along (E18)."""
    rides = not settings.semantic_enrichment.separate_mapping_metadata_pass
    return Brief(
        inventory,
        targets,
        instructions=instructions,
        reference=reference,
        language=language,
        mapping_rides_along=rides and prompts.asks_for_mapping(targets),
    )


def make(wanted: Operations, prompt: Prompts, glossary: Glossary, settings: Settings, *, mapping: bool) -> Plan:
    """The plan: what is wanted, within the caps, in chunks that fit. `mapping`: its own texts are wanted.

    Where the prompt is full before any operation, no field is cut for it: that would not help (E16).
    """
    enrichment = settings.semantic_enrichment
    budget = Budget(
        enrichment.chunk_size_operations, enrichment.max_prompt_characters, settings.llm.max_completion_tokens
    )
    crowded = prompt.overhead >= budget.prompt_characters

    def measure(operations: Operations) -> int:
        return prompts.characters(prompt.chunk(operations, glossary.slice(operations)))

    def fit(asked: AskedOperation) -> AskedOperation:
        return asked if crowded else planner.truncate(asked, measure, budget)

    choice = choose(
        wanted,
        _remembered(partial(sense.identity, glossary)),
        Caps(enrichment.max_fields_per_request_body, enrichment.max_fields_per_response_status),
        fit=fit,
        is_known=_remembered(lambda operation, field: glossary.meaning(operation, field) is not None),
    )
    chunks = planner.plan(choice.operations, measure, budget)
    rides = not enrichment.separate_mapping_metadata_pass and bool(chunks)
    overhead = prompt.overhead if crowded and chunks else None
    return Plan(
        overview=mapping and not rides,
        chunks=chunks,
        not_asked=choice.not_asked,
        warnings=tuple(_warnings(overhead, budget, choice)),
    )


def _remembered(rule: Callable[[Operation, Field], Answer]) -> Callable[[Operation, Field], Answer]:
    """The same rule, asked once for each field of the inventory; its fields live as long as the plan is made."""
    known: dict[int, Answer] = {}

    def ask(operation: Operation, field: Field) -> Answer:
        if id(field) not in known:
            known[id(field)] = rule(operation, field)
        return known[id(field)]

    return ask


def _warnings(overhead: int | None, budget: Budget, choice: Choice) -> Iterator[RunWarning]:
    if overhead is not None:
        yield RunWarning(
            code="reference_context_exceeds_budget",
            text=f"Before any operation the prompt has {overhead} characters, over its budget of "
            f"{budget.prompt_characters}: rules, mapping and reference go into every chunk whole. Raise "
            "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_PROMPT_CHARACTERS, or let the reference be distilled.",
        )
    truncated = {key: fields_of(texts) for key, texts in choice.truncated.items()}
    if truncated:
        places = [f"{' '.join(key.split('::', 2)[:2])} ({len(fields)})" for key, fields in truncated.items()]
        more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
        yield RunWarning(
            code="operation_fields_truncated",
            text=f"Operations that alone exceed the prompt budget of {budget.prompt_characters} characters, with the "
            f"fields that are not asked of them: {', '.join(places[:_LISTED])}{more}. "
            "A run with --only-missing asks the next ones.",
        )
    beyond_caps = len(fields_of(choice.beyond).difference(*truncated.values())) + choice.cut
    if beyond_caps:
        yield RunWarning(
            code="fields_not_asked",
            text=f"{beyond_caps} fields are beyond the caps on one operation and are not asked. "
            "A run with --only-missing asks the next ones.",
        )
