"""The enrichment run: one job from its claim to a new draft version of its mapping, in the order of the specification.

claim ─ check ─ look up ─ digest ─ plan ─ overview ─ chunks ─ merge ─ filter ─ apply
 E6      E7       D13      E12      E15     E18        E19     E24     E10      E25
"""

import asyncio

from sqlalchemy import Connection

from actors.enrichment import apply, asking, context, digest, merger, plan, planning, report, targets
from actors.enrichment.answers import gate
from actors.enrichment.apply import Draft
from actors.enrichment.asking import Operations, Wishes
from actors.enrichment.attempts import Patience
from actors.enrichment.checkpoints import Checkpoints
from actors.enrichment.chunks import ChunkAsker
from actors.enrichment.context import Context
from actors.enrichment.ending import release
from actors.enrichment.execution import Execution
from actors.enrichment.glossary import Glossary
from actors.enrichment.harvest import Harvest
from actors.enrichment.merger import Renamed
from actors.enrichment.passes import Passes
from actors.enrichment.plan import Plan
from actors.enrichment.progress import Board
from actors.enrichment.prompts import Manner, Prompts, asks_for_mapping, listed_operations
from actors.enrichment.terms import Terms
from actors.enrichment.verdict import Failed, Partial, verdict
from base.errors import Misconfigured, Permanent
from base.settings import EnrichmentRunRecovery, Settings, load
from broker.step import Done, Work, step
from clients.llm import from_settings
from clients.llm.model import LanguageModel, Usage
from schema.enrichment import mappings, runs, versions
from schema.enrichment.payloads import EnrichmentPayload, EnrichmentResult, RunWarning
from schema.enrichment.versions import Version

TASK = "enrichment.run"
LANE = "enrichment"


def _declared_recovery() -> EnrichmentRunRecovery:
    """As the settings say. Where they can't be read declaring fails nobody: the process says so when it starts."""
    try:
        return load().enrichment_run_recovery
    except Misconfigured:
        return EnrichmentRunRecovery()


_recovery = _declared_recovery()


@step(
    TASK,
    lane=LANE,
    payload=EnrichmentPayload,
    max_recoveries=_recovery.max_recovery_attempts,
    stale_after=_recovery.stale_run_threshold,
    stall_after=_recovery.progress_stall_threshold,
    already_open="refuse",
    on_end=release,
)
async def run(work: Work, request: EnrichmentPayload) -> Done:
    """Enrich one mapping. Without a claim nothing gets here, so no call is made for a duplicate delivery (E6).

    Raises:
        ContextLost: what the run was asked for is no longer so (E7).
        Permanent: this worker can't ask the model, nothing matches the selection, nothing was answered, or nothing is
            left to apply (E10, E11, E23, D3).
    """
    settings = load()
    found = await work.read(lambda: context.of_run(work.database, work.claim.account_id, request))
    selected = context.selected_keys(found.version.content, request.selected_endpoint_ids)
    model = _model(settings, request)
    try:
        return await _Enrichment(work, request, found, selected, model=model, settings=settings).done()
    finally:
        await model.close()


def _model(settings: Settings, request: EnrichmentPayload) -> LanguageModel:
    """The model of this worker, or the one that was asked for (E4)."""
    try:
        return from_settings(settings, request.model)
    except Misconfigured as error:
        raise Permanent(str(error), reason="model_misconfigured") from error


class _Enrichment:
    """One run under one claim."""

    def __init__(
        self,
        work: Work,
        request: EnrichmentPayload,
        found: Context,
        selected: frozenset[str] | None,
        *,
        model: LanguageModel,
        settings: Settings,
    ) -> None:
        self._work = work
        self._request = request
        self._context = found
        self._model = model
        self._terms = Terms.kept(found.course.get("terms")) or Terms.of(settings)
        self._settings = self._terms.over(settings)
        self._enrichment = self._settings.semantic_enrichment
        wishes = Wishes(frozenset(request.targets), request.only_missing, selected)
        self._wishes = wishes
        self._targets = asking.targets(found.version.content, wishes)
        self._operations = tuple(one for one in found.inventory.operations if selected is None or one.key in selected)
        self._passes = Passes(
            work=work,
            run_id=found.run.id,
            model=model,
            patience=Patience.of(settings),
            checkpoints=Checkpoints(found.checkpoints),
            usage=Usage(found.run.input_tokens, found.run.output_tokens, estimated=found.run.usage_estimated),
            limit=request.max_tokens,
        )

    async def done(self) -> Done:
        """The run from its first call to what it writes at its end."""
        await self._work.note(self._begin)
        glossary, prompts, warnings = await self._know()
        everything, wanted = await asyncio.to_thread(self._wants, glossary)
        made = await self._plan(wanted, prompts, glossary)
        harvest = await self._execute(made, prompts, glossary)
        draft, renamed = await asyncio.to_thread(self._draft, harvest, everything, glossary)
        warnings += made.warnings
        end, missing = verdict(made, harvest, draft), harvest.missing(made.chunks)
        warnings += report.warnings(harvest, missing, end, renamed, tuple(self._passes.warnings))
        applied, unchanged = ({}, 0) if isinstance(end, Failed) else (draft.counts, draft.unchanged)
        counts = report.counts(applied, unchanged, harvest, missing, made)

        def conclude(connection: Connection) -> None:
            runs.conclude(connection, self._context.run.id, counts=counts, warnings=warnings)

        if isinstance(end, Failed):
            await self._work.note(conclude)
            raise Permanent(end.sentence, reason=end.reason)

        version = await asyncio.to_thread(self._next, draft)

        def write(connection: Connection) -> None:
            conclude(connection)
            self._write(connection, version)

        return Done(
            result=EnrichmentResult(version=version.number, suggestions=sum(draft.counts.values())),
            write=write,
            reason="partial" if isinstance(end, Partial) else None,
        )

    def _begin(self, connection: Connection) -> None:
        run_id = self._context.run.id
        runs.begin(connection, run_id, provider=self._model.provider, model=self._model.name)
        runs.keep_terms(connection, run_id, self._terms.model_dump())

    async def _know(self) -> tuple[Glossary, Prompts, tuple[RunWarning, ...]]:
        """Lookup and digest come before the plan, so that chunks are sized against the glossary (E12 to E14, D13)."""
        looked = await asyncio.to_thread(
            digest.look_up,
            self._request.references,
            self._operations,
            enabled=self._enrichment.enable_reference_lookup,
        )
        known = await digest.distil(self._passes, self._prompts(""), looked, self._operations, self._enrichment)
        return Glossary((*self._request.glossary, *known.entries)), self._prompts(known.verbatim), known.warnings

    def _prompts(self, reference: str) -> Prompts:
        brief = planning.brief(
            self._context.inventory,
            self._targets,
            instructions=self._request.instructions,
            reference=reference,
            language=self._request.language,
            settings=self._settings,
        )
        return Prompts(brief, Manner(self._settings.llm.max_completion_tokens, self._enrichment.temperature))

    def _wants(self, glossary: Glossary) -> tuple[Operations, Operations]:
        """What may be written, and of that what has to be asked: not what the user's glossary settles (D14)."""
        inventory, content = self._context.inventory, self._context.version.content
        return (
            asking.wanted(inventory, content, self._wishes, Glossary()),
            asking.wanted(inventory, content, self._wishes, glossary),
        )

    async def _plan(self, wanted: Operations, prompts: Prompts, glossary: Glossary) -> Plan:
        """The plan an earlier claim made, so that its answers are found again (D5), or a new one."""
        kept = plan.from_json(self._context.course.get("items"), wanted)
        if kept is not None:
            return kept
        mapping = asks_for_mapping(self._targets)
        made = await asyncio.to_thread(planning.make, wanted, prompts, glossary, self._settings, mapping=mapping)
        stored = plan.to_json(made)
        await self._work.note(
            lambda connection: runs.keep_items(connection, self._context.run.id, stored, total_items=made.items)
        )
        return made

    async def _execute(self, made: Plan, prompts: Prompts, glossary: Glossary) -> Harvest:
        """Overview and chunks; each end moves progress, counts and live views together (E19, E26)."""
        asker = ChunkAsker(
            self._passes, prompts, glossary, gate(self._model.provider), self._settings.llm.max_completion_tokens
        )
        board = Board(
            work=self._work,
            run_id=self._context.run.id,
            mapping_id=self._context.run.mapping_id,
            total=made.items,
            usage=lambda: self._passes.usage,
            shown=self._context.run.processed_items,
        )
        await self._work.progress(total=made.items)
        execution = Execution(
            made,
            self._passes,
            asker,
            board,
            concurrent=self._enrichment.max_concurrent_chunks,
            mapping_rides_along=prompts.mapping_rides_along,
        )
        inventory = self._context.inventory
        overview = await asyncio.to_thread(
            lambda: prompts.overview(listed_operations(prompts, inventory, self._enrichment.max_prompt_characters))
        )
        return await execution.run(overview)

    def _draft(self, harvest: Harvest, everything: Operations, glossary: Glossary) -> tuple[Draft, tuple[Renamed, ...]]:
        """Merge, filter to the targets, apply to the version the run was asked for (E24, E10, E25)."""
        answers = [answer for chunk in harvest.chunks.values() for answer in chunk.answers]
        proposal, renamed = merger.merge(answers, harvest.overview, everything, glossary)
        kept = targets.keep(proposal, self._targets)
        return apply.draft(self._context.version.content, kept, self._context.run.id, self._model.name), renamed

    def _next(self, draft: Draft) -> Version:
        base = self._context.version
        return Version(base.number + 1, base.definition_id, base.content_hash, draft.content.to_json())

    def _write(self, connection: Connection, version: Version) -> None:
        """The draft version, in the transaction that completes the run (E25)."""
        account_id, run = self._work.claim.account_id, self._context.run
        versions.write(connection, account_id, run.mapping_id, version, origin="enrichment", run_id=run.id)
        mappings.move(connection, run.mapping_id, version=version.number, definition_id=version.definition_id)
