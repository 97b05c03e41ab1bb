"""`enrich FILE`: import, run and export in one go, in the order a person would do it by hand."""

import asyncio
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import actors
from actors.enrichment.commands import showing
from actors.enrichment.commands.exits import exit_of, was_applied
from actors.enrichment.commands.files import instructions, read_file, refuse_unwritable, targets
from actors.enrichment.commands.following import Run, follow
from actors.enrichment.commands.interrupting import Interruption
from actors.enrichment.estimate import estimate
from actors.enrichment.export import Exported, NotWritten, export
from actors.enrichment.importing import Imported, find_mapping, import_definition
from actors.enrichment.reading import RunView, list_runs
from actors.enrichment.request import EnrichmentRequest, Reference, request_run
from actors.enrichment.review import review
from actors.enrichment.run import LANE
from actors.enrichment.verdict import NOTHING_TO_APPLY
from base import logs
from base.errors import Conflict, Misconfigured
from base.settings import Logging, Settings, load
from base.terminal.exits import Exit
from base.terminal.output import Output
from base.terminal.words import amount
from broker.address import BrokerAway
from broker.probe import probe
from clients.llm import OFFLINE, from_settings
from schema.engine import Database
from schema.opening import opened_account

_OFFLINE = (
    "No language model: names from identifiers, meanings from your dictionary. "
    "Set LONGHAUL_LLM__BASE_URL and LONGHAUL_LLM__MODEL."
)

#: Beside the definitions people work on, and in .gitignore.
_RESULTS = Path("longhaul-out")

#: Bytes of a definition that takes long enough to read for somebody to wonder.
_LARGE = 1_000_000

#: A request is read before the definition is imported, and gets its mapping then.
_NO_MAPPING = UUID(int=0)


@dataclass(frozen=True)
class Wish:
    """What was typed."""

    file: Path
    references: tuple[Path, ...]
    targets: tuple[str, ...]
    selected: tuple[str, ...]
    instructions: str | None
    glossary: Path | None
    only_missing: bool
    language: str | None
    mapping: str | None
    model: str | None
    max_tokens: int | None
    out: Path | None
    dry_run: bool

    @property
    def folder(self) -> Path:
        """Where results go: `--out`, or a folder of the definition's name in `longhaul-out`."""
        return self.out if self.out is not None else _RESULTS / self.file.stem


def go(wish: Wish, output: Output) -> Exit:
    """Do all of it; the exit code says how it ended."""
    settings = load()
    logs.configure(_for_a_person(settings.logging))
    data = read_file(wish.file, "definition", settings.limits.definition_bytes)
    request = _request(wish, settings)
    if not wish.dry_run:
        refuse_unwritable(wish.folder)
    _name_the_model(wish, settings, output)
    if len(data) > _LARGE:
        output.note(f"Reading {wish.file} ({len(data) / 1_000_000:.1f} MB) ...")
    with opened_account(settings) as (database, account_id):
        mapping_id = find_mapping(database, account_id, wish.mapping) if wish.mapping else None
        if wish.dry_run:
            foreseen = estimate(database, account_id, wish.file.name, data, request, settings, mapping=mapping_id)
            output.result(foreseen)
            showing.show_estimate(output, foreseen)
            return Exit.DONE
        _reach_the_workers(settings, output)
        imported = import_definition(database, account_id, wish.file.name, data, mapping=mapping_id)
        showing.show_import(output, imported)
        run = _run(database, account_id, replace(request, mapping_id=imported.mapping_id), settings, output)
        with Interruption() as interruption:
            seen = follow(run, settings, output, interruption)
        if seen.open:
            return _left_open(run, seen, imported, output, interruption.code)
        return _ended(run, seen, imported, wish, output)


def _for_a_person(logging: Logging) -> Logging:
    """Who follows a run sees its bar and its warnings: the log is for servers, unless it is asked for."""
    quiet = {"level": "ERROR", "format": "console"}
    return logging.model_copy(
        update={name: value for name, value in quiet.items() if name not in logging.model_fields_set}
    )


def _request(wish: Wish, settings: Settings) -> EnrichmentRequest:
    """What was typed as a request, its files read; the mapping follows."""
    largest = settings.limits.reference_bytes
    return EnrichmentRequest(
        mapping_id=_NO_MAPPING,
        targets=targets(wish.targets),
        selected=wish.selected,
        instructions=instructions(wish.instructions, largest),
        references=tuple(Reference(path.name, read_file(path, "reference", largest)) for path in wish.references),
        glossary=None
        if wish.glossary is None
        else Reference(wish.glossary.name, read_file(wish.glossary, "glossary", largest)),
        only_missing=wish.only_missing,
        language=wish.language,
        model=wish.model,
        max_tokens=wish.max_tokens,
    )


def _reach_the_workers(settings: Settings, output: Output) -> None:
    """A broker that will not have us is refused here, before anything is written; one that is away is waited for."""
    if settings.broker_url is None:
        return
    try:
        broker = probe(settings, (LANE,))
    except BrokerAway as away:
        output.note(f"{away} The run waits for it.")
    else:
        for sentence in broker.differs:
            raise Misconfigured(sentence)


def _name_the_model(wish: Wish, settings: Settings, output: Output) -> None:
    """The first line; a model that can't be asked is refused here, before anything is written."""
    model = from_settings(settings, wish.model)
    asyncio.run(model.close())
    line = _OFFLINE if model.provider == OFFLINE else f"Language model: {model.name} at {model.provider}."
    if output.as_json:
        output.note(line)
    else:
        output.say(line)
    if wish.language is not None and model.provider == OFFLINE:
        output.note("Without a language model --language has no effect: its words are those of your dictionary.")


def _run(database: Database, account_id: UUID, request: EnrichmentRequest, settings: Settings, output: Output) -> Run:
    """Ask for the run, or find the open one that was asked for alike."""
    try:
        with actors.announcing(settings, database):
            requested = request_run(database, account_id, request, settings)
    except Conflict as conflict:
        raise Conflict(
            f"{conflict} Cancel the open run with `./longhaul runs cancel {conflict.open_id}`, "
            "or resume it with the command it was started by.",
            open_id=conflict.open_id,
        ) from None
    if requested.resumed:
        output.note(f"Resuming the open run {requested.run_id}.")
    return Run(database, account_id, requested.run_id, requested.lane)


def _left_open(run: Run, seen: RunView, imported: Imported, output: Output, code: Exit) -> Exit:
    """Somebody interrupted: say where the run stands, who goes on with it, and how it is dropped."""
    done = f"{seen.processed_items} of {amount(seen.total_items, 'pass', 'passes')} done" if seen.total_items else ""
    where = f"Run {seen.id} stays open" + (f", {done}." if done else ".")
    going = (
        "A worker of its lane goes on with it, and spends; the same command follows it again while it is open, and "
        f"`./longhaul runs export {seen.id}` writes its files afterwards."
        if run.is_served()
        else "Nobody works on it now. The same command resumes it; no answered call is paid again."
    )
    output.note(f"{where} {going} To stop it for good: `./longhaul runs cancel {seen.id}`.")
    output.result({"imported": imported, "run": seen, "changes": [], "files": []})
    return code


def _ended(run: Run, seen: RunView, imported: Imported, wish: Wish, output: Output) -> Exit:
    """The run is over: what it changed, what it cost, where the results are."""
    found = review(run.database, run.account_id, run.run_id, limit=sys.maxsize if output.as_json else showing.ROWS)
    written, failure = _export(run, seen, wish)
    seen = replace(seen, warnings=(*seen.warnings, *written.warnings))
    output.result({"imported": imported, "run": seen, "changes": found.rows, "files": written.paths})
    showing.show_outcome(output, seen, found)
    showing.show_files(output, seen, written.paths)
    if failure is not None:
        output.note(str(failure))
        return Exit.NOT_WRITTEN
    return exit_of(seen)


def _export(run: Run, seen: RunView, wish: Wish) -> tuple[Exported, NotWritten | None]:
    """The files of what was applied, or why they are not there: the run is paid for, and is told of all the same."""
    source = run.run_id if was_applied(seen) else _earlier(run, seen)
    if source is None:
        return Exported((), ()), None
    try:
        return export(run.database, run.account_id, source, wish.folder, wish.file.stem), None
    except NotWritten as failure:
        return Exported((), ()), failure


def _earlier(run: Run, seen: RunView) -> UUID | None:
    """Where nothing was left to do, whose texts are there already: its files are what was asked for."""
    if seen.reason != NOTHING_TO_APPLY:
        return None
    done = list_runs(run.database, run.account_id, states=("Completed",), mapping=seen.mapping_id, limit=1)
    return done[0].id if done else None
