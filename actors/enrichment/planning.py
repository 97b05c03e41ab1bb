"""From what a request wants to the plan of its run (E15 to E19); the estimate plans with the same words (D16)."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from functools import partial

from actors.enrichment import planner, prompts, sense
from actors.enrichment.asking import Caps, Choice, Identity, Operations, Place, Thing, choose, things
from actors.enrichment.glossary import Glossary, endpoint
from actors.enrichment.plan import Plan
from actors.enrichment.planner import Budget, Chunks
from actors.enrichment.prompts import Brief, Prompts
from base.settings import Settings
from schema.enrichment.inventory import Field, Inventory, Operation
from schema.enrichment.payloads import RunWarning, Target

#: Rounds of choosing and fitting; each offers what did not fit to later operations.
_ROUNDS = 5

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

    What an operation has no room for is offered to later operations that have the same field, so a few rounds of
    choosing and fitting leave out only what fits nowhere.
    """
    enrichment = settings.semantic_enrichment
    identity = partial(sense.identity, glossary)
    caps = Caps(enrichment.max_fields_per_request_body, enrichment.max_fields_per_response_status)
    budget = Budget(
        enrichment.chunk_size_operations, enrichment.max_prompt_characters, settings.llm.max_completion_tokens
    )

    def measure(operations: Operations) -> int:
        return prompts.characters(prompt.chunk(operations, glossary.slice(operations)))

    def is_known(operation: Operation, field: Field) -> bool:
        return glossary.meaning(operation, field) is not None

    def fit(no_room: frozenset[Place]) -> tuple[Choice, Chunks]:
        choice = choose(wanted, identity, caps, no_room=no_room, is_known=is_known)
        return choice, planner.plan(choice.operations, measure, prompt.overhead, budget)

    choice, chunks = fit(frozenset())
    no_room = chunks.truncated
    for _ in range(_ROUNDS):
        if not chunks.truncated:
            break
        choice, chunks = fit(no_room)
        no_room |= chunks.truncated

    def texts(operations: Operations) -> set[Thing]:
        return {
            thing for asked in operations for one in asked.fields for thing in things(identity, asked.operation, one)
        }

    missed = {one for one, _ in texts(wanted).difference(*(texts(chunk.operations) for chunk in chunks.chunks))}
    truncated = _by_operation(wanted, no_room, identity, missed)
    beyond_caps = len(missed.difference(*truncated.values())) + choice.cut
    rides = not enrichment.separate_mapping_metadata_pass and bool(chunks.chunks)
    return Plan(
        overview=mapping and not rides,
        chunks=chunks.chunks,
        not_asked=len(missed) + choice.cut,
        warnings=tuple(_warnings(chunks.crowded, prompt.overhead, budget, truncated, beyond_caps)),
    )


def _by_operation(
    wanted: Operations, no_room: Collection[Place], identity: Identity, missed: Collection[Hashable]
) -> dict[str, set[Hashable]]:
    """What no operation had room for, by the operation that was cut."""
    cut: dict[str, set[Hashable]] = {}
    for asked in wanted:
        operation = asked.operation
        for one in asked.fields:
            if (operation.key, one.field.key) in no_room and (thing := identity(operation, one.field)) in missed:
                cut.setdefault(endpoint(operation), set()).add(thing)
    return cut


def _warnings(
    crowded: bool, overhead: int, budget: Budget, truncated: Mapping[str, Collection[Hashable]], beyond_caps: int
) -> Iterator[RunWarning]:
    if crowded:
        yield RunWarning(
            code="reference_context_exceeds_budget",
            text=f"Before any operation the prompt has {overhead} characters, over its budget of "
            f"{budget.prompt_characters}: rules, mapping and reference go into every chunk whole. Raise "
            "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_PROMPT_CHARACTERS, or let the reference be distilled.",
        )
    if truncated:
        places = [f"{place} ({len(lost)})" for place, lost in truncated.items()]
        more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
        yield RunWarning(
            code="operation_fields_truncated",
            text=f"Operations that alone exceed the prompt budget of {budget.prompt_characters} characters, with the "
            f"fields that are not asked of them: {', '.join(places[:_LISTED])}{more}. "
            "A run with --only-missing asks the next ones.",
        )
    if beyond_caps:
        yield RunWarning(
            code="fields_not_asked",
            text=f"{beyond_caps} fields are beyond the caps on one operation and are not asked. "
            "A run with --only-missing asks the next ones.",
        )
