"""How good the offline model's names and descriptions are: texts are taken out of real definitions, enriched back with
and without the dictionary, and compared with what was there (D12).

    python bench/enrichment_quality.py [--data DIR] [--only NAME]

Prints Markdown tables for docs/quality.md; exit code 1 below a bar, or when the document of the bars is absent.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from actors.enrichment.reference.tables import read as read_tables  # noqa: E402
from bench import quality_documents as documents  # noqa: E402
from bench.quality_enriching import CommandLine, Enriched  # noqa: E402
from bench.quality_measures import exact, f1, interval, mean  # noqa: E402
from clients.llm import words  # noqa: E402
from schema.enrichment.inventory import Field, Inventory, Operation  # noqa: E402
from tests.services.homes import temporary_home  # noqa: E402

#: Descriptions of the bars' document: over the names of which the dictionary speaks, and over every field that has one.
COVERED_BAR = 0.95
OVERALL_BAR = 0.45
#: In a document without titles, descriptions of at most so many words stand in for the names nobody wrote.
SHORT_WORDS = 6


@dataclass(frozen=True)
class Case:
    """A definition and its dictionary, by the names they may have; `key` and `meaning` are the dictionary's columns."""

    name: str
    definition: tuple[str, ...]
    dictionary: tuple[str, ...] = ()
    key: str = ""
    meaning: str = ""


CASES = (
    Case(
        "epa-cwa",
        ("epa-cwa.json",),
        ("ref-epa-cwa-metadata.json", "epa-cwa-dictionary.json"),
        "ObjectName",
        "Description",
    ),
    Case("epa-sdw", ("epa-sdw.json",), ("ref-epa-sdw-metadata.json",), "ObjectName", "Description"),
    Case("moov-ach", ("moov-ach.yaml",), ("ref-ach-file-structure.md",)),
    Case("fec", ("fec.json",)),
)


@dataclass
class Tables:
    """What is printed, and what fell short."""

    names: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    bars: list[tuple[bool, str]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    def bar(self, what: str, value: float, least: float) -> None:
        self.bars.append((value >= least, f"{what}: {value:.3f}, at least {least}"))

    def none(self, what: str, count: int, of: int) -> None:
        self.bars.append((count == 0 and of > 0, f"{what}: {count} of {of}, none allowed"))


@dataclass(frozen=True)
class Gold:
    """A text that was there: where, and the identifier it belongs to."""

    place: tuple[str, str]
    token: str
    text: str


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, help="folder with definitions and dictionaries; the repository's own count too"
    )
    parser.add_argument("--only", choices=[case.name for case in CASES], help="measure one document")
    options = parser.parse_args()
    folders = [path for path in (options.data, ROOT / "examples", ROOT / "tests" / "data") if path]
    tables = Tables()
    with temporary_home() as folder:
        command = CommandLine(folder)
        for case in CASES:
            if options.only in (None, case.name):
                measure(case, folders, command, tables)
    print("| document | names of | dictionary | n | split F1 | offline F1 | difference (95 %) | split exact | exact |")
    print("|---|---|---|---|---|---|---|---|---|", *tables.names, sep="\n")
    print("\n| document | dictionary | over | n | answered | F1 | wrong |\n|---|---|---|---|---|---|---|")
    print(*tables.descriptions, "", *tables.absent, sep="\n")
    for met, text in tables.bars:
        print(f"{'ok  ' if met else 'LOW '} {text}")
    for text in tables.told:
        print(f"told {text}")
    return 0 if (tables.bars or options.only) and all(met for met, _ in tables.bars) else 1


def measure(case: Case, folders: Sequence[Path], command: CommandLine, tables: Tables) -> None:
    """One document, without and with its dictionary."""
    path, dictionary = _found(case.definition, folders), _found(case.dictionary, folders)
    if path is None:
        tables.absent.append(f"{case.name}: not measured, {case.definition[0]} is in none of the folders.")
        return
    gold = documents.inventory(path.read_bytes(), path.name)
    bare = documents.stripped(path)
    references = [(dictionary.name, dictionary.read_text("utf-8"))] if dictionary else []
    without = command.enriched(bare, ())
    with_it = command.enriched(bare, references) if references else None
    for said, given in ((without, []), (with_it, references)):
        if said is not None:
            tables.names.extend(_name_rows(case.name, "yes" if given else "no", gold, said))
            _describe(case, gold, said, given, tables)
    if case is CASES[0] and with_it is not None:
        _scopes(gold, command, tables)


def _found(names: Sequence[str], folders: Sequence[Path]) -> Path | None:
    return next((folder / name for folder in folders for name in names if (folder / name).is_file()), None)


def _name_rows(document: str, dictionary: str, gold: Inventory, said: Enriched) -> Iterator[str]:
    titles = list(_distinct(gold, lambda one: one.title))
    if titles:
        yield _name_row(document, "fields (titles)", dictionary, titles, said.names)
    else:
        short = [one for one in _distinct(gold, lambda one: one.description) if len(one.text.split()) <= SHORT_WORDS]
        yield _name_row(document, f"fields (texts of up to {SHORT_WORDS} words)", dictionary, short, said.names)
    summaries = [Gold((one.key, ""), _identifier(one), one.summary) for one in gold.operations if one.summary]
    if summaries:
        yield _name_row(document, "endpoints (summaries)", dictionary, summaries, said.names)


def _identifier(operation: Operation) -> str:
    return operation.operation_id or f"{operation.method} {operation.path}"


def _name_row(
    document: str, of: str, dictionary: str, golds: Sequence[Gold], names: Mapping[tuple[str, str], str]
) -> str:
    plain = [words.plain_name(gold.token) for gold in golds]
    # A name that only repeats the identifier is dropped (D7): then the identifier itself is what people see.
    mine = [names.get(gold.place) or gold.token for gold in golds]
    split = [f1(text, gold.text) for text, gold in zip(plain, golds, strict=True)]
    scores = [f1(text, gold.text) for text, gold in zip(mine, golds, strict=True)]
    low, high = interval([one - other for one, other in zip(scores, split, strict=True)])
    hits = [mean([exact(text, gold.text) for text, gold in zip(said, golds, strict=True)]) for said in (plain, mine)]
    difference = f"{mean(scores) - mean(split):+.3f} ({low:+.3f} to {high:+.3f})"
    return (
        f"| {document} | {of} | {dictionary} | {len(golds)} | {mean(split):.3f} | {mean(scores):.3f} | {difference} "
        f"| {hits[0]:.0%} | {hits[1]:.0%} |"
    )


def _distinct(gold: Inventory, text_of: Callable[[Field], str]) -> Iterator[Gold]:
    """Each token with each text it has, once, at the first place that has it."""
    seen: set[tuple[str, str]] = set()
    for operation, one in _fields(gold):
        text = text_of(one).strip()
        if text and (one.token, text) not in seen:
            seen.add((one.token, text))
            yield Gold((operation.key, one.key), one.token, text)


def _fields(gold: Inventory) -> Iterator[tuple[Operation, Field]]:
    return ((operation, one) for operation in gold.operations for one in (*operation.inputs, *operation.outputs))


def _describe(
    case: Case, gold: Inventory, said: Enriched, references: Sequence[tuple[str, str]], tables: Tables
) -> None:
    """Over what the dictionary covers, over every described name, over every described field; missing counts as 0."""
    label = "yes" if references else "no"
    is_judged = case is CASES[0] and bool(references)
    dictionary = _dictionary(case, references)
    names = list(_distinct(gold, lambda one: one.description))
    covered = [one for one in names if words.fold(one.token) in dictionary]
    places = [Gold((key.key, one.key), one.token, one.description) for key, one in _fields(gold) if one.description]
    groups = [("described names the dictionary covers", covered), ("all described names", names)]
    for over, golds in (*groups, ("all described fields", places)):
        if not golds or (golds is covered and not references):
            continue
        texts = [said.descriptions.get(one.place, "") for one in golds]
        scores = [f1(text, one.text) for text, one in zip(texts, golds, strict=True)]
        wrong = sum(_is_anothers(text, one.token, dictionary) for text, one in zip(texts, golds, strict=True))
        tables.descriptions.append(
            f"| {case.name} | {label} | {over} | {len(golds)} | {sum(map(bool, texts))} | {mean(scores):.3f} "
            f"| {wrong if dictionary else '-'} |"
        )
        if is_judged and golds is covered:
            tables.bar(f"{case.name}, covered names, n = {len(golds)}", mean(scores), COVERED_BAR)
        if is_judged and golds is names:
            most = len(covered) / len(names)
            tables.told.append(
                f"{case.name}, described names, n = {len(names)}: {mean(scores):.3f}; the dictionary covers "
                f"{len(covered)} of them, at most {most:.3f} can be had"
            )
        if is_judged and golds is places:
            tables.bar(f"{case.name}, described fields, n = {len(golds)}", mean(scores), OVERALL_BAR)
            tables.none(f"{case.name}, texts of another name", wrong, sum(map(bool, texts)))


def _dictionary(case: Case, references: Sequence[tuple[str, str]]) -> dict[str, set[str]]:
    """The dictionary's texts by key, read without the lookup that is being measured."""
    texts: dict[str, set[str]] = {}
    for name, text in references if case.key else ():
        for table in read_tables(name, text):
            for row in table.rows:
                if row.get(case.key) and row.get(case.meaning):
                    texts.setdefault(words.fold(row[case.key]), set()).add(" ".join(row[case.meaning].split()))
    return texts


def _is_anothers(text: str, token: str, dictionary: Mapping[str, set[str]]) -> bool:
    """Whether a text is the dictionary's, but of another key."""
    said = " ".join(text.split())
    return (
        bool(said)
        and said not in dictionary.get(words.fold(token), set())
        and any(said in texts for texts in dictionary.values())
    )


def _scopes(gold: Inventory, command: CommandLine, tables: Tables) -> None:
    """The same token means another thing on every endpoint: what is said of it elsewhere must not be said here."""
    made = documents.obfuscated(gold)
    said = command.enriched(made.definition, [("reference.md", made.reference)])
    bare = documents.inventory(made.definition, "obfuscated.json")
    right = wrong = 0
    for operation, one in _fields(bare):
        text = said.descriptions.get((operation.key, one.key), "")
        mine = made.meanings[f"GET {operation.path}", one.token]
        right += words.fold(text) == words.fold(mine)
        wrong += bool(text) and words.fold(text) != words.fold(mine)
    count = len(made.meanings)
    tables.descriptions.append(
        f"| obfuscated | yes | fields of one meaning per endpoint | {count} | {right + wrong} | - | {wrong} |"
    )
    tables.none("obfuscated, texts of another endpoint", wrong, right + wrong)
    tables.bar(f"obfuscated, right texts, n = {count}", right / max(count, 1), COVERED_BAR)


if __name__ == "__main__":
    sys.exit(main())
