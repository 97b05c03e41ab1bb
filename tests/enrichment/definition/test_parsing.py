"""Definitions from outside are read in a child: every bad input is one sentence, and none takes the process along."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.enrichment.definition import enrich, parse
from actors.enrichment.definition.written import Written
from base import child
from base import settings as base_settings
from base.errors import BadInput
from tests.enrichment.definition.documents import DATA, EXAMPLES, bytes_of, codes, giving, inventory_of


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Lets a test set limits by their environment names."""
    base_settings.load.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    base_settings.load.cache_clear()


def refused(data: bytes, name: str = "shop.yaml") -> str:
    with pytest.raises(BadInput) as error:
        parse(data, name)
    sentence = str(error.value)
    assert sentence.startswith(f"{name} ")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    "path", [EXAMPLES / "epa-cwa.json", DATA / "train-travel-3.1.yaml"], ids=lambda path: path.name
)
def test_the_inventory_arrives_whole(path: Path) -> None:
    assert parse(path.read_bytes(), path.name) == inventory_of(path)


def test_reading_loads_nothing_of_the_application() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(child.ROOT)!r}); from base import child; "
        "child._named('actors.enrichment.definition.in_child:read_inventory'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "actors.enrichment.definition.walking" in loaded
    assert not {"dramatiq", "sqlalchemy", "httpx", "pydantic_settings", "base.settings", "typer"} & loaded


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"not an API", "is no API definition"),
        (
            b'{"swagger": "2.0", "paths": {}}',
            "has no operations, so there is nothing to enrich: its `paths` are missing",
        ),
        (
            b"openapi: 3.0.0\npaths:\n  /a:\n    summary: x\n",
            "has no operations, so there is nothing to enrich: its `paths`",
        ),
        (b"openapi: 3.1.0\nwebhooks: {a: {post: {}}}\n", "has no operations"),
        ((DATA / "yamlbomb-malicious.yaml").read_bytes(), "contains itself through an alias"),
    ],
)
def test_a_bad_definition_is_one_sentence(data: bytes, said: str) -> None:
    assert said in refused(data)


def test_an_alias_bomb_goes_off_nowhere() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x]"] + [
        f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 40)
    ]
    started = time.monotonic()
    assert "aliases stand for more than" in refused("\n".join(["openapi: 3.0.0", *lines]).encode())
    assert time.monotonic() - started < 10


def test_cyclic_references_and_doubled_ids_are_no_reason_to_refuse() -> None:
    person = {"properties": {"boss": {"$ref": "#/components/schemas/Person"}, "name": {"type": "string"}}}
    document = giving({"$ref": "#/components/schemas/Person"}, schemas={"Person": person})
    document["paths"]["/a"]["get"]["operationId"] = "same"
    document["paths"]["/b"] = {"get": {"operationId": "same"}}
    found = parse(bytes_of(document), "people.json")
    assert [field.path for field in found.operations[0].outputs] == ["boss", "name"]
    assert codes(found) == ["duplicate_operation_id"]


def test_a_definition_over_the_size_cap_says_both_sizes(limits: pytest.MonkeyPatch) -> None:
    limits.setenv("LONGHAUL_LIMITS__DEFINITION_BYTES", "2000000")
    assert "has 2.5 MB and the limit is 2 MB" in refused(b"#" * 2_500_000)


def test_a_definition_that_takes_too_long_is_given_up(limits: pytest.MonkeyPatch) -> None:
    limits.setenv("LONGHAUL_LIMITS__PARSING_TIMEOUT", "0.5")
    endless = b"openapi: 3.0.0\nx:\n" + b"".join(b"  k%d: {a: [1, 2, 3], b: 'x'}\n" % n for n in range(400_000))
    said = refused(endless)
    assert "can't be read: it took too long" in said
    assert "LONGHAUL_LIMITS__PARSING_TIMEOUT" in said


@pytest.mark.parametrize(
    ("failure", "said"),
    [(child.OutOfMemory("x"), "needs too much memory"), (child.Crashed("x"), "makes the parser fail")],
)
def test_a_parser_that_dies_is_a_refusal(monkeypatch: pytest.MonkeyPatch, failure: Exception, said: str) -> None:
    def dying(*_arguments: object, **_options: object) -> Any:
        raise failure

    monkeypatch.setattr(child, "run", dying)
    assert said in refused(b"openapi: 3.0.0")


def test_texts_are_written_in_a_child_too() -> None:
    data = (DATA / "petstore-swagger2.json").read_bytes()
    pet = "/definitions/Pet/properties/name"
    written = [
        Written("/info", "", "mapping", "Pets"),
        Written(pet, "GET::/pet/{petId}::getPetById", "response", "Pet name"),
        Written("/definitions/User/properties/phone", "POST::/user::createUser", "body", "Phone", "To call."),
        Written("/definitions/User/properties/phone", "PUT::/user/{username}::updateUser", "body", "Call", "To call."),
    ]
    made = enrich(data, "pets.json", written, ["GET::/pet/{petId}::getPetById"])
    assert made.media == "json"
    assert b'"title": "Pets"' in made.document
    assert b"Pet name" not in made.document
    assert [warning.code for warning in made.warnings] == ["shared_schema_not_selected"]
    both = enrich(data, "pets.json", written)
    assert b'"title": "Pet name"' in both.document
    assert [(conflict.kept, conflict.dropped) for conflict in both.conflicts] == [("Phone", "Call")]
    assert both.overlay is not None


def test_a_definition_that_is_none_can_not_be_written() -> None:
    with pytest.raises(BadInput, match="is no API definition"):
        enrich(b"hello", "x.json", [])
