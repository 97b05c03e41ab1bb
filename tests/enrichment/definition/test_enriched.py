"""The enriched document and its overlay: they say the same, nothing else changes, and what validates still does."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from actors.enrichment.definition.enriched import write
from actors.enrichment.definition.reading import read
from actors.enrichment.definition.refs import at
from actors.enrichment.definition.written import Enriched, Written
from schema.enrichment.inventory import Inventory
from tests.enrichment.definition import overlay_applier
from tests.enrichment.definition.documents import (
    AMPLE,
    DATA,
    EXAMPLES,
    api,
    bytes_of,
    codes,
    inventory_of,
    source,
)

FILES = [
    EXAMPLES / "epa-cwa.json",
    DATA / "epa-sdw.json",
    DATA / "circular-3.0.json",
    DATA / "circular-paths-3.0.json",
    DATA / "dialogporten-no.json",
    DATA / "dup-operationid-broken.yaml",
    DATA / "moov-ach.yaml",
    DATA / "petstore-swagger2.json",
    DATA / "train-travel-3.1.yaml",
]


def everything(found: Inventory) -> list[Written]:
    """A title and a description for the mapping, every endpoint and every field."""
    written = [Written("/info", "", "mapping", 'The "new" API: größer', "Two\nlines # with marks")]
    for operation in found.operations:
        written.append(Written(operation.pointer, operation.key, "endpoint", f"Do {operation.method}"))
        written += [
            Written(
                field.pointer, operation.key, field.location, f"The {field.token}", f"What {field.token} is: known."
            )
            for field in (*operation.inputs, *operation.outputs)
        ]
    return written


def root_of(data: bytes) -> dict[str, Any]:
    return read(data, "x", AMPLE).root


def overlaid(original: bytes, made: Enriched) -> dict[str, Any]:
    assert made.overlay is not None
    return overlay_applier.apply(root_of(made.overlay), root_of(original))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_overlay_and_document_say_the_same_and_the_file_is_edited_in_place(path: Path) -> None:
    data = path.read_bytes()
    found = inventory_of(path)
    made = write(data, path.name, everything(found), None)
    assert made.media == found.media
    assert made.warnings == ()
    assert overlaid(data, made) == root_of(made.document)
    again = read(made.document, path.name, AMPLE)
    assert again.media == found.media
    assert (made.document[:1] == b"{") == (data[:1] == b"{")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_text_is_found_again_by_whoever_reads_the_document(path: Path, tmp_path: Path) -> None:
    before = inventory_of(path)
    copy = tmp_path / path.name
    copy.write_bytes(write(path.read_bytes(), path.name, everything(before), None).document)
    after = inventory_of(copy)
    assert after.title == 'The "new" API: größer'
    assert after.description == "Two\nlines # with marks"
    assert [operation.key for operation in after.operations] == [operation.key for operation in before.operations]
    for old, new in zip(before.operations, after.operations, strict=True):
        assert new.summary == f"Do {new.method}"
        old_fields, new_fields = (*old.inputs, *old.outputs), (*new.inputs, *new.outputs)
        for was, field in zip(old_fields, new_fields, strict=True):
            assert field.title == f"The {field.token}"
            assert field.description == f"What {field.token} is: known."
            unchanged = {"title": "", "description": "", "pointer": ""}
            assert field.model_copy(update=unchanged) == was.model_copy(update=unchanged)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_key_order_is_kept(path: Path) -> None:
    data = path.read_bytes()
    made = write(data, path.name, everything(inventory_of(path)), None)
    assert_same_order(root_of(data), root_of(made.document))


def assert_same_order(old: Any, new: Any) -> None:
    if isinstance(old, dict):
        if "allOf" in new and "allOf" not in old:
            new = new["allOf"][0]
        assert [key for key in new if key in old] == list(old)
        for key, value in old.items():
            assert_same_order(value, new[key])
    elif isinstance(old, list):
        for one, other in zip(old, new, strict=True):
            assert_same_order(one, other)


def test_nothing_to_write_leaves_the_file_as_it_is() -> None:
    data = (DATA / "train-travel-3.1.yaml").read_bytes()
    made = write(data, "train.yaml", [], None)
    assert (made.document, made.overlay) == (data, None)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_the_encoding_is_kept(encoding: str) -> None:
    data = '{"openapi": "3.0.0", "info": {"title": "Größe"}, "paths": {}}'.encode(encoding)
    made = write(data, "x.json", [Written("/info", "", "mapping", "Länge 😀")], None)
    assert made.document == data.decode(encoding).replace("Größe", "Länge 😀").encode(encoding)


def test_latin_1_becomes_utf_8() -> None:
    data = "openapi: 3.0.0\ninfo: {title: Größe, x: ü}\npaths: {}".encode("latin-1")
    made = write(data, "x.yaml", [Written("/info", "", "mapping", "Länge")], None)
    assert made.document.decode() == 'openapi: 3.0.0\ninfo: {title: "Länge", x: ü}\npaths: {}'


ALIASED = """# comment
openapi: 3.0.0
info: {title: Shop, version: "1"}
x-error: &error
  description: bad
  content: {application/json: {schema: {properties: {code: {type: string, pattern: "007"}}}}}
paths:
  /a:
    get:
      responses: {200: *error, 400: *error}
"""


def test_a_text_for_one_use_of_an_alias_has_the_file_written_anew() -> None:
    place = "/paths/~1a/get/responses/400/content/application~1json/schema/properties/code"
    made = write(ALIASED.encode(), "shop.yaml", [Written(place, "GET::/a::", "response", "Code")], None)
    assert codes(Inventory(spec_version="", media="yaml", warnings=made.warnings)) == ["document_rewritten"]
    root = root_of(made.document)
    assert at(root, place) == {"type": "string", "pattern": "007", "title": "Code"}
    assert at(root, place.replace("400", "200")) == {"type": "string", "pattern": "007"}
    assert overlaid(ALIASED.encode(), made) == root
    assert list(root) == ["openapi", "info", "x-error", "paths"]
    assert b"&" not in made.document


def test_elsewhere_in_such_a_file_aliases_and_comments_stay() -> None:
    made = write(ALIASED.encode(), "shop.yaml", [Written("/paths/~1a/get", "GET::/a::", "endpoint", "List")], None)
    assert made.warnings == ()
    assert made.document.decode() == ALIASED.replace("      responses", '      summary: "List"\n      responses')


def test_targets_are_normalized_paths() -> None:
    odd = "/it's\\a/{b}\t[c]"
    document = api({odd: {"get": {"parameters": [{"name": "p", "in": "query"}]}}})
    pointer = f"/paths/{odd.replace('/', '~1')}/get"
    written = [
        Written(pointer, "k", "endpoint", "S"),
        Written(f"{pointer}/parameters/0", "k", "query", None, "D"),
    ]
    data = bytes_of(document)
    made = write(data, "x.json", written, None)
    assert made.overlay is not None
    actions = root_of(made.overlay)["actions"]
    assert actions[0]["target"] == r"$['paths']['/it\'s\\a/{b}\t[c]']['get']"
    assert actions[1]["target"] == actions[0]["target"] + "['parameters'][0]"
    assert overlaid(data, made) == root_of(made.document)


# What validates still does


@pytest.mark.parametrize("instance", [
    {"id": 1, "category": {"id": 2, "name": "dogs"}, "name": "Rex", "photoUrls": []},
    {"id": 1, "category": {"id": "two"}, "name": "Rex", "photoUrls": []},
    {"id": 1, "category": 7, "name": "Rex", "photoUrls": []},
    {"name": "Rex", "photoUrls": ["x"], "tags": [{"id": "x"}]},
    {"name": "Rex"},
])  # fmt: skip
def test_a_wrapped_reference_validates_what_it_validated(instance: dict[str, Any]) -> None:
    path = DATA / "petstore-swagger2.json"
    made = write(path.read_bytes(), path.name, everything(inventory_of(path)), None)
    before, after = root_of(path.read_bytes()), root_of(made.document)
    category = after["definitions"]["Pet"]["properties"]["category"]
    assert category == {
        "title": "The category",
        "description": "What category is: known.",
        "allOf": [{"$ref": "#/definitions/Category"}],
    }
    assert accepts(before, instance) == accepts(after, instance)


def accepts(document: dict[str, Any], instance: Any) -> bool:
    schema = {"definitions": document["definitions"], "$ref": "#/definitions/Pet"}
    return jsonschema.Draft4Validator(schema).is_valid(instance)


def test_what_was_ignored_beside_a_reference_stays_ignored() -> None:
    data = b"""openapi: 3.0.0
info: {title: A}
paths:
  /a:
    get:
      responses:
        200:
          content:
            application/json:
              schema:
                properties:
                  owner:
                    $ref: '#/components/schemas/User'
                    nullable: true
"""
    place = "/paths/~1a/get/responses/200/content/application~1json/schema/properties/owner"
    written = [Written(place, "GET::/a::", "response", "Owner")]
    made = write(data, "x.yaml", written, None)
    assert at(root_of(made.document), place) == {
        "title": "Owner",
        "allOf": [{"$ref": "#/components/schemas/User", "nullable": True}],
    }
    assert overlaid(data, made) == root_of(made.document)
    newer = write(data.replace(b"3.0.0", b"3.1.0"), "x.yaml", written, None)
    assert at(root_of(newer.document), place) == {
        "title": "Owner",
        "$ref": "#/components/schemas/User",
        "nullable": True,
    }


def test_property_keys_are_never_renamed() -> None:
    for path in FILES:
        before = inventory_of(path)
        text = write(path.read_bytes(), path.name, everything(before), None).document
        after = source(text).root
        for operation in before.operations:
            for field in (*operation.inputs, *operation.outputs):
                if "/properties/" in field.pointer:
                    assert field.token in at(after, field.pointer.rpartition("/")[0])
