"""What a run would ask and cost, found without calling anything or writing anything (D16)."""

from dataclasses import dataclass
from uuid import UUID

from actors.enrichment import asking, digest, importing, planning, prompts
from actors.enrichment.asking import Wishes
from actors.enrichment.context import selected_keys
from actors.enrichment.glossary import Glossary
from actors.enrichment.planner import TOKENS_PER_FIELD, completion_tokens
from actors.enrichment.prompts import Manner, Prompts
from actors.enrichment.reference.text import joined
from actors.enrichment.request import EnrichmentRequest, Texts, known_targets, read_texts
from actors.enrichment.selecting import resolve
from base.settings import Settings
from schema.engine import Database
from schema.enrichment.content import MappingContent
from schema.enrichment.inventory import Inventory, Operation
from schema.enrichment.payloads import RunWarning, Target

#: English JSON; other languages take fewer characters a token.
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class Estimate:
    """A plan in figures. `fields` are asked, `not_asked` are beyond the caps; `passes` counts chunks, overview and
    digest; tokens are by and large.
    """

    operations: int
    fields: int
    chunks: int
    passes: int
    input_tokens: int
    output_tokens: int
    not_asked: int
    warnings: tuple[RunWarning, ...]


def estimate(  # noqa: PLR0917  what an import and a request take, one after the other
    database: Database,
    account_id: UUID,
    name: str,
    data: bytes,
    request: EnrichmentRequest,
    settings: Settings,
    *,
    mapping: UUID | None = None,
) -> Estimate:
    """What `request` would cost on the mapping that importing `data` would give; `request.mapping_id` is not read.

    Raises:
        BadInput: as importing and asking would.
        NotFound: the account has no such mapping.
    """
    inventory, content = importing.foresee(database, account_id, name, data, mapping=mapping)
    return of_content(inventory, content, request, read_texts(request, settings), settings)


def of_content(
    inventory: Inventory, content: MappingContent, request: EnrichmentRequest, texts: Texts, settings: Settings
) -> Estimate:
    """The estimate itself. The digest is not made: chunks are sized with what lookup finds and the user's glossary."""
    enrichment = settings.semantic_enrichment
    selected = selected_keys(content, resolve(request.selected, content))
    wishes = Wishes(frozenset(known_targets(request.targets)), request.only_missing, selected)
    operations = tuple(one for one in inventory.operations if selected is None or one.key in selected)
    looked = digest.look_up(texts.references, operations, enabled=enrichment.enable_reference_lookup)
    distils = bool(looked.prose) and enrichment.enable_reference_distillation
    glossary = Glossary((*texts.glossary, *looked.entries))
    targets = asking.targets(content, wishes)
    prompt = _prompts(inventory, targets, request, "" if distils else joined(looked.prose), settings)
    wanted = asking.wanted(inventory, content, wishes, glossary)
    plan = planning.make(wanted, prompt, glossary, settings, mapping=prompts.asks_for_mapping(targets))
    asked = [one for chunk in plan.chunks for one in chunk.operations]
    characters = sum(
        prompts.characters(prompt.chunk(chunk.operations, glossary.slice(chunk.operations))) for chunk in plan.chunks
    )
    output = completion_tokens(asked)
    if plan.overview:
        listed = prompts.listed_operations(prompt, inventory, enrichment.max_prompt_characters)
        characters += prompts.characters(prompt.overview(listed))
        output += 2 * TOKENS_PER_FIELD
    warnings = looked.warnings + plan.warnings
    if distils:
        told, cut = _digest(looked, operations, prompt, settings)
        characters += told
        output += enrichment.max_reference_digest_characters // CHARACTERS_PER_TOKEN
        warnings += cut
    return Estimate(
        operations=len(asked),
        fields=sum(len(one.fields) for one in asked),
        chunks=len(plan.chunks),
        passes=plan.items + distils,
        input_tokens=characters // CHARACTERS_PER_TOKEN,
        output_tokens=output,
        not_asked=plan.not_asked,
        warnings=warnings,
    )


def _prompts(
    inventory: Inventory,
    targets: tuple[Target, ...],
    request: EnrichmentRequest,
    reference: str,
    settings: Settings,
) -> Prompts:
    brief = planning.brief(
        inventory,
        targets,
        instructions=request.instructions,
        reference=reference,
        language=request.language,
        settings=settings,
    )
    return Prompts(brief, Manner(settings.llm.max_completion_tokens, settings.semantic_enrichment.temperature))


def _digest(
    looked: digest.Looked, operations: tuple[Operation, ...], prompt: Prompts, settings: Settings
) -> tuple[int, tuple[RunWarning, ...]]:
    enrichment = settings.semantic_enrichment
    tokens, text, warnings = digest.digest_input(
        looked.prose, operations, enrichment.max_reference_digest_input_characters
    )
    ask = prompt.digest(tokens, text, enrichment.max_reference_digest_characters)
    return prompts.characters(ask), warnings
