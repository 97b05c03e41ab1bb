"""Every bad input: one clear sentence and what to do, an exit code, no traceback, and a mapping that is as it was."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from base.terminal.exits import Exit
from tests.cli.running import DATA, Done, longhaul, on
from tests.cli.scene import asking, definition, mappings, rows
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_replies import Answer, empty, error, prose, status
from tests.fakes.llm_server import LlmServer, Reply
from tests.services.postgres import Clone, Postgres


def _one_sentence(done: Done, *words: str) -> None:
    """A single line on stderr that holds these words; stdout holds at most the line that names the model."""
    lines = [line for line in done.err.splitlines() if line.strip()]
    assert len(lines) == 1, done.said
    for word in words:
        assert word in lines[0]
    assert "Traceback" not in done.said
    assert len(done.out.splitlines()) <= 1


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return definition(tmp_path)


# What is refused before anything is written.


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ()),
        (b"just some words\n", ()),
        (b"\x00\x01\x02\xff\xfe" * 100, ()),
        (b'{"name": "left-pad", "version": "1.0.0"}', ()),
        (b'{"openapi": "3.0.0", "paths": {"/a": {"get"', ()),
        (b'{"openapi": "3.0.0", "info": {"title": "t", "version": "1"}, "paths": {}}', ("operation",)),
    ],
    ids=["empty", "words", "bytes", "other-json", "cut-json", "no-operations"],
)
def test_a_file_that_is_no_usable_definition(
    clone: Clone, tmp_path: Path, content: bytes, words: tuple[str, ...]
) -> None:
    path = tmp_path / "api.json"
    path.write_bytes(content)
    done = longhaul("enrich", path, env=on(clone), cwd=tmp_path)
    assert done.code == Exit.USAGE, done.said
    _one_sentence(done, "api.json", *words)
    assert mappings(clone) == []


def test_a_missing_file(clone: Clone, tmp_path: Path) -> None:
    done = longhaul("enrich", "nowhere.json", env=on(clone), cwd=tmp_path)
    assert done.code == Exit.USAGE
    _one_sentence(done, "nowhere.json", "No such file", "Check the path.")


def test_a_folder_where_a_file_is_asked_for(clone: Clone, tmp_path: Path) -> None:
    done = longhaul("enrich", tmp_path, env=on(clone), cwd=tmp_path)
    assert done.code == Exit.USAGE
    _one_sentence(done, "is a folder")


def test_a_file_over_the_size_cap(clone: Clone, tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(50_000_001)
    done = longhaul("enrich", path, env=on(clone), cwd=tmp_path, seconds=30)
    assert done.code == Exit.USAGE
    _one_sentence(done, "huge.json", "50,000,000")


def test_an_alias_bomb(clone: Clone, tmp_path: Path) -> None:
    done = longhaul("enrich", DATA / "yamlbomb-malicious.yaml", env=on(clone), cwd=tmp_path)
    assert done.code == Exit.USAGE
    _one_sentence(done, "yamlbomb-malicious.yaml")
    assert mappings(clone) == []


@pytest.mark.parametrize("option", ["--reference", "--glossary"])
def test_a_missing_reference_or_glossary(clone: Clone, small: Path, option: str) -> None:
    done = longhaul("enrich", small, option, "nowhere.md", env=on(clone), cwd=small.parent)
    assert done.code == Exit.USAGE
    _one_sentence(done, "nowhere.md", "Check the path.")
    assert mappings(clone) == []


def test_missing_instructions(clone: Clone, small: Path) -> None:
    done = longhaul("enrich", small, "--instructions", "@nowhere.txt", env=on(clone), cwd=small.parent)
    assert done.code == Exit.USAGE
    _one_sentence(done, "nowhere.txt")


def test_an_unknown_target(clone: Clone, small: Path) -> None:
    done = longhaul("enrich", small, "--target", "endpoints", env=on(clone), cwd=small.parent)
    assert done.code == Exit.USAGE
    _one_sentence(done, "`endpoints`", "endpoint-names")
    assert mappings(clone) == []


def test_a_folder_that_results_cannot_be_written_to(clone: Clone, small: Path) -> None:
    (small.parent / "taken").write_text("a file")
    done = longhaul("enrich", small, "--out", "taken/here", env=on(clone), cwd=small.parent)
    assert done.code == Exit.USAGE
    _one_sentence(done, "taken", "--out")
    assert mappings(clone) == []


def test_a_mapping_that_is_not_there(clone: Clone, small: Path) -> None:
    done = longhaul("enrich", small, "--mapping", "nobody", env=on(clone), cwd=small.parent)
    assert done.code == Exit.USAGE
    _one_sentence(done, "nobody")


def test_a_model_without_an_address(clone: Clone, small: Path) -> None:
    done = longhaul("enrich", small, "--model", "gpt", env=on(clone), cwd=small.parent)
    assert done.code == Exit.USAGE
    _one_sentence(done, "LONGHAUL_LLM__BASE_URL")
    assert mappings(clone) == []


# What is refused on a mapping that is there: it stays as it was.


@dataclass(frozen=True)
class _Enriched:
    """A definition that was enriched once, offline, in a database of this module's own."""

    clone: Clone
    path: Path


@pytest.fixture(scope="module")
def enriched_once(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Enriched]:
    with postgres.clone() as clone:
        path = definition(tmp_path_factory.mktemp("enriched"))
        done = longhaul("enrich", path, env=on(clone), cwd=path.parent)
        assert done.code == Exit.DONE, done.said
        yield _Enriched(clone, path)


@pytest.fixture
def there(enriched_once: _Enriched) -> Iterator[_Enriched]:
    """The same, and a look afterwards: the mapping is as it was."""
    before = mappings(enriched_once.clone)
    assert [row["status"] for row in before] == ["Draft"]
    yield enriched_once
    assert mappings(enriched_once.clone) == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ref.pdf", b"%PDF-1.7 and then nothing of the kind"),
        ("ref.docx", b"PK\x03\x04 no archive"),
        ("ref.xyz", b"some words"),
        ("ref.txt", b"\x00\x01\x02\xff\xfd" * 50),
        ("ref.md", b"   \n\n"),
    ],
)
def test_an_unreadable_reference(there: _Enriched, name: str, content: bytes) -> None:
    path = there.path.parent / name
    path.write_bytes(content)
    done = longhaul("enrich", there.path, "--reference", path, env=on(there.clone), cwd=there.path.parent)
    assert done.code == Exit.USAGE, done.said
    _one_sentence(done, name)


def test_a_selector_that_matches_nothing(there: _Enriched) -> None:
    done = longhaul("enrich", there.path, "--select", "GET::/nowhere", env=on(there.clone), cwd=there.path.parent)
    assert done.code in {Exit.USAGE, Exit.FAILED}
    assert "GET::/nowhere" in done.said
    assert "Traceback" not in done.said


def test_an_unreachable_model(there: _Enriched) -> None:
    with LlmServer(enriching()) as server:
        env = asking(there.clone, server)
    done = longhaul("enrich", there.path, env=env, cwd=there.path.parent)
    assert done.code == Exit.FAILED, done.said
    assert "Nothing was applied; the mapping is as it was." in done.err
    assert "Traceback" not in done.said


@pytest.mark.parametrize(
    "reply",
    [status(401), status(403), status(404), error(429, error_code="insufficient_quota")],
    ids=["401", "403", "404", "quota"],
)
def test_a_refusing_model_is_asked_once(there: _Enriched, reply: Reply) -> None:
    with LlmServer(reply) as server:
        done = longhaul("enrich", there.path, env=asking(there.clone, server), cwd=there.path.parent)
        assert len(server.requests) == 1
    assert done.code == Exit.FAILED, done.said
    assert "model_refusing" in done.out
    assert "Nothing was applied; the mapping is as it was." in done.err


@pytest.mark.parametrize(
    "reply",
    [
        prose(),
        empty(),
        Answer('{"endpoints": [{"id": "o1", "na'),
        Answer('{"some": "other", "fields": "than asked"}'),
        Answer('{"endpoints": [], "fields": [{"id": "f999", "name": "Nobody Asked", "description": "x"}]}'),
        Answer("[]"),
    ],
    ids=["prose", "empty", "cut", "wrong-keys", "fields-not-asked", "a-list"],
)
def test_a_model_that_answers_nothing_usable(there: _Enriched, reply: Reply) -> None:
    with LlmServer(reply) as server:
        done = longhaul("enrich", there.path, env=asking(there.clone, server), cwd=there.path.parent)
    assert done.code == Exit.FAILED, done.said
    assert "Nothing was applied; the mapping is as it was." in done.err
    assert "Traceback" not in done.said


# What is odd and works all the same.


@pytest.mark.parametrize("name", ["circular-3.0.json", "circular-paths-3.0.json", "dup-operationid-broken.yaml"])
def test_cycles_and_doubled_operation_ids_are_no_hindrance(clone: Clone, tmp_path: Path, name: str) -> None:
    done = longhaul("enrich", DATA / name, "--json", env=on(clone), cwd=tmp_path)
    assert "Traceback" not in done.said
    assert done.code == Exit.DONE or done.json["run"]["reason"] == "nothing_to_apply", done.said


def test_fenced_json_is_read(clone: Clone, small: Path) -> None:
    from tests.fakes.llm_enriching import enriched  # noqa: PLC0415

    with LlmServer(Answer(lambda received: f"Sure:\n```json\n{enriched(received)}\n```\nDone.")) as server:
        done = longhaul("enrich", small, "--json", env=asking(clone, server), cwd=small.parent)
    assert done.code == Exit.DONE, done.said
    assert done.json["changes"]


def test_a_chunk_that_fails_leaves_a_partial_result(clone: Clone, small: Path) -> None:
    answer = enriching()

    async def reply(exchange: object) -> None:
        bad = "/thing1" in exchange.received.user and '"overview"' not in exchange.received.user  # type: ignore[attr-defined]
        await (prose() if bad else answer)(exchange)  # type: ignore[arg-type]

    with LlmServer(reply) as server:
        done = longhaul("enrich", small, "--json", env=asking(clone, server), cwd=small.parent)
    assert done.code == Exit.PARTIAL, done.said
    assert done.json["run"]["reason"] == "partial"
    assert done.json["run"]["failed_items"] == 1
    assert done.json["files"]
    assert [row["state"] for row in rows(clone, "SELECT state FROM enrichment_runs")] == ["Completed"]
