"""What the references say, before anything is planned: tables are looked up, prose is distilled once (E12 to E14, D13).

references ── tables ──> lookup ──────────────────────┐
    └────── the rest ──> digest ── a glossary ────────┴─> glossary of the run
                           └────── none, or disabled ──> its text goes into every chunk
"""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.enrichment import answers
from actors.enrichment.answers import DigestAnswer
from actors.enrichment.passes import Passes
from actors.enrichment.prompts import Prompts
from actors.enrichment.questions import Answered, Question
from actors.enrichment.reference.lookup import lookup
from actors.enrichment.reference.text import joined
from base.settings import SemanticEnrichment
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import Operation
from schema.enrichment.payloads import ReferenceText, RunWarning

Texts = tuple[tuple[str, str], ...]
Tokens = Sequence[tuple[Operation, Sequence[str]]]


@dataclass(frozen=True)
class Looked:
    """What was found without a model, and the references it leaves to the digest, by name and text."""

    entries: tuple[GlossaryEntry, ...]
    prose: Texts
    warnings: tuple[RunWarning, ...]


@dataclass(frozen=True)
class Known:
    """What the references say, and the text of them that goes into every chunk because it could not be distilled."""

    entries: tuple[GlossaryEntry, ...]
    verbatim: str
    warnings: tuple[RunWarning, ...]


def look_up(references: Sequence[ReferenceText], operations: Sequence[Operation], *, enabled: bool) -> Looked:
    """Rows of tables that speak of the definition's tokens (D13). CPU only; a big table takes a second.

    What a reference says beside its tables, and whole references in which nothing was found, are left to the digest.
    """
    texts = tuple((reference.name, reference.text) for reference in references)
    if not enabled or not texts:
        return Looked((), texts, ())
    found = lookup(texts, operations)
    warnings = (RunWarning(code=warning.code, text=warning.text) for warning in found.warnings)
    return Looked(found.entries, tuple(found.prose), tuple(warnings))


def digest_input(
    prose: Texts, operations: Sequence[Operation], limit: int
) -> tuple[Tokens, str, tuple[RunWarning, ...]]:
    """Inventory and reference text of the digest's prompt, each cut to `limit` characters with a warning (E12)."""
    text = joined(prose)
    warnings: list[RunWarning] = []
    if len(text) > limit:
        warnings.append(
            RunWarning(
                code="reference_truncated",
                text=f"The references have {len(text)} characters; the digest read the first {limit}. Raise "
                "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_REFERENCE_DIGEST_INPUT_CHARACTERS to have it read all.",
            )
        )
        text = text[:limit]
    tokens = [(one, tuple(dict.fromkeys(field.token for field in (*one.inputs, *one.outputs)))) for one in operations]
    if _size(tokens) > limit:
        said = text.casefold()
        tokens = [(one, tuple(token for token in names if token.casefold() in said)) for one, names in tokens]
        while tokens and _size(tokens) > limit:
            tokens = tokens[: len(tokens) * 3 // 4]
        warnings.append(
            RunWarning(
                code="inventory_truncated",
                text=f"The definition has more names than the digest can be told; it was told {len(tokens)} of "
                f"{len(operations)} operations, with the names that stand in the references.",
            )
        )
    return tokens, text, tuple(warnings)


async def distil(
    passes: Passes, prompts: Prompts, looked: Looked, operations: Sequence[Operation], settings: SemanticEnrichment
) -> Known:
    """What the run knows of its references, with one call at most (E12 to E14)."""
    if not looked.prose:
        return Known(looked.entries, "", looked.warnings)
    verbatim = joined(looked.prose)
    if not settings.enable_reference_distillation:
        return Known(looked.entries, verbatim, looked.warnings)
    tokens, text, warnings = digest_input(looked.prose, operations, settings.max_reference_digest_input_characters)
    ended = await passes.ask(
        Question(
            kind="digest",
            chunk_id=None,
            operations=tuple(operation.key for operation in operations),
            ask=prompts.digest(tokens, text, settings.max_reference_digest_characters),
            answer=DigestAnswer,
            read=answers.read_digest,
            count=lambda answer: {"glossary_entries": len(answer.entries)},
            keeps_failure=True,
        )
    )
    warnings = (*looked.warnings, *warnings)
    if isinstance(ended, Answered) and ended.answer.entries:
        kept, cut = within(ended.answer.entries, settings.max_reference_digest_characters)
        return Known((*looked.entries, *kept), "", (*warnings, *_truncated(cut, settings)))
    if isinstance(ended, Answered) and looked.entries and not _leaves_room(prompts, verbatim, settings):
        # Nothing was found beside the tables: that is no reason to fill every prompt with them.
        return Known(looked.entries, "", (*warnings, _UNUSED))
    why = "" if isinstance(ended, Answered) else f": {ended.why}"
    return Known(looked.entries, verbatim, (*warnings, _not_distilled(why)))


def _leaves_room(prompts: Prompts, verbatim: str, settings: SemanticEnrichment) -> bool:
    """Whether a chunk with this text has at least half of its prompt left for operations."""
    return prompts.overhead + len(verbatim) <= settings.max_prompt_characters // 2


def within(entries: Sequence[GlossaryEntry], limit: int) -> tuple[tuple[GlossaryEntry, ...], int]:
    """The first entries that fit into `limit` characters, and how many don't."""
    room = limit
    for position, entry in enumerate(entries):
        room -= sum(map(len, (entry.key, entry.meaning, entry.note, *entry.endpoints)))
        if room < 0:
            return tuple(entries[:position]), len(entries) - position
    return tuple(entries), 0


_UNUSED = RunWarning(
    code="reference_unused",
    text="The digest found nothing in the references beside the tables that were looked up, and their text is too long "
    "for every chunk: what they say outside of those tables is not used.",
)


def _not_distilled(why: str) -> RunWarning:
    return RunWarning(
        code="reference_not_distilled",
        text=f"No usable glossary came of the references{why.removesuffix('.')}. Their text goes into every chunk.",
    )


def _truncated(entries: int, settings: SemanticEnrichment) -> tuple[RunWarning, ...]:
    if not entries:
        return ()
    limit = settings.max_reference_digest_characters
    return (
        RunWarning(
            code="glossary_truncated",
            text=f"The glossary was longer than {limit} characters: its last {entries} entries are not used.",
        ),
    )


def _size(tokens: Tokens) -> int:
    return sum(len(operation.path) + sum(len(name) + 3 for name in names) for operation, names in tokens)
