"""`enrich`: what can be typed. What happens then is in `road`."""

from pathlib import Path
from typing import Annotated

import typer

from base.terminal.example import command
from base.terminal.output import Json, Output


def register(app: typer.Typer) -> None:
    """Mount `enrich`."""
    example = "./longhaul enrich examples/epa-cwa.json --reference examples/epa-cwa-dictionary.json"
    app.command("enrich", cls=command(example))(enrich)


def enrich(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="OpenAPI 3.0, 3.1 or Swagger 2.0, as JSON or YAML.")],
    *,
    reference: Annotated[
        list[Path] | None,
        typer.Option(
            "--reference",
            metavar="DOC",
            help="A document that explains the names: txt, md, csv, json, pdf, docx or html. Repeatable; order counts.",
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            metavar="TARGET",
            help="What to write: mapping-name, mapping-description, endpoint-names, input-field-names, "
            "input-field-descriptions, output-field-names, output-field-descriptions. Repeatable; all if not given.",
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option("--select", metavar="GET::/path", help="Only this operation. Repeatable; all if not given."),
    ] = None,
    instructions: Annotated[
        str | None, typer.Option("--instructions", metavar="TEXT|@FILE", help="What the model should mind.")
    ] = None,
    glossary: Annotated[
        Path | None,
        typer.Option("--glossary", metavar="FILE", help="Your own words for names; they win over model and reference."),
    ] = None,
    only_missing: Annotated[bool, typer.Option("--only-missing", help="Only fields that have no text yet.")] = False,
    language: Annotated[
        str | None, typer.Option("--language", metavar="LANGUAGE", help="Language to write in, e.g. German.")
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option("--mapping", metavar="ID|NAME", help="FILE is a new version of the definition of this mapping."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Another model than LONGHAUL_LLM__MODEL.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate passes and tokens; call nothing, write nothing.")
    ] = False,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", min=1, metavar="N", help="Stop after the pass that spends this many tokens."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for the results; longhaul-out/NAME if not given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Give an API's cryptic names readable ones.

    Imports FILE, runs the pipeline, and writes the enriched definition and an OpenAPI Overlay of what was added.
    Ctrl-C leaves the run open; the same command resumes it.
    """
    from actors.enrichment.commands.road import Wish, go  # noqa: PLC0415

    wish = Wish(
        file=file,
        references=tuple(reference or ()),
        targets=tuple(target or ()),
        selected=tuple(select or ()),
        instructions=instructions,
        glossary=glossary,
        only_missing=only_missing,
        language=language,
        mapping=mapping,
        model=model,
        max_tokens=max_tokens,
        out=out,
        dry_run=dry_run,
    )
    raise typer.Exit(go(wish, Output(as_json=as_json)))
