"""The fields of one body: every one under its own path, shallow ones first, with what its schema says."""

from typing import Any

import pytest

from schema.enrichment.inventory import Field
from tests.enrichment.definition.documents import api, codes, giving, outputs, walked

STRING = {"type": "string"}
ADDRESS = {"type": "object", "properties": {"street": STRING, "zip": STRING}}


def paths(document: dict[str, Any]) -> list[str]:
    return list(outputs(document))


# Shapes of a body


def test_shallow_fields_come_before_deep_ones_in_document_order() -> None:
    deep = {"properties": {"b": {"properties": {"d": STRING}}, "a": {"properties": {"c": STRING}}, "e": STRING}}
    assert paths(giving(deep)) == ["b", "a", "e", "b.d", "a.c"]


def test_lists_and_maps_show_in_the_path() -> None:
    schema = {
        "properties": {
            "list": {"type": "array", "items": ADDRESS},
            "matrix": {"items": {"items": {"properties": {"x": STRING}}}},
            "map": {"additionalProperties": {"properties": {"y": STRING}}},
            "codes": {"patternProperties": {"^[A-Z]": {"properties": {"z": STRING}}}},
            "tuple": {"prefixItems": [{"properties": {"first": STRING}}, {"properties": {"second": STRING}}]},
        }
    }
    found = outputs(giving(schema, version="3.1.0"))
    assert list(found)[5:] == [
        "list[].street",
        "list[].zip",
        "matrix[][].x",
        "map.*.y",
        "codes.*.z",
        "tuple[].first",
        "tuple[].second",
    ]
    assert found["list[].street"].token == "street"
    assert (found["list"].type, found["matrix"].type, found["map"].type) == ("object[]", "object[][]", "object")


def test_a_body_that_is_a_list_or_a_map_itself() -> None:
    assert paths(giving({"type": "array", "items": ADDRESS})) == ["[].street", "[].zip"]
    assert paths(giving({"additionalProperties": ADDRESS})) == ["*.street", "*.zip"]


@pytest.mark.parametrize("keyword", ["allOf", "oneOf", "anyOf"])
def test_compositions_stand_on_one_level_and_the_first_of_a_name_counts(keyword: str) -> None:
    schema = {
        "properties": {"own": STRING},
        keyword: [
            {"properties": {"a": {"type": "string", "title": "first"}, "sub": {"properties": {"x": STRING}}}},
            {"properties": {"a": {"type": "integer"}, "b": STRING, "sub": {"properties": {"y": STRING}}}},
        ],
    }
    found = outputs(giving(schema))
    assert list(found) == ["own", "a", "sub", "b", "sub.x", "sub.y"]
    assert found["a"].title == "first"


def test_conditions_count_and_negations_do_not() -> None:
    schema = {
        "if": {"properties": {"kind": STRING}},
        "then": {"properties": {"a": STRING}},
        "else": {"properties": {"b": STRING}},
        "dependentSchemas": {"kind": {"properties": {"c": STRING}}},
        "not": {"properties": {"never": STRING}},
    }
    assert paths(giving(schema, version="3.1.0")) == ["kind", "a", "b", "c"]


def test_what_is_no_schema_is_passed_over() -> None:
    schema = {
        "properties": {"a": STRING, "b": True, "c": "string", "d": None, "e": ["x"]},
        "allOf": [None, "x", {"properties": "none"}],
        "items": True,
        "additionalProperties": False,
        "required": "a",
    }
    assert paths(giving(schema)) == ["a"]


def test_required_is_known_by_name_and_only_where_it_always_holds() -> None:
    schema = {
        "required": ["a"],
        "properties": {"a": STRING, "b": STRING, "sub": {"required": ["a"], "properties": {"a": STRING, "b": STRING}}},
        "allOf": [{"required": ["b", 7]}, {"properties": {"c": STRING}}],
        "oneOf": [{"required": ["c", "d"], "properties": {"d": STRING}}],
    }
    required = [field.path for field in outputs(giving(schema)).values() if field.required]
    assert required == ["a", "b", "d", "sub.a"]


# References


def test_the_component_nearest_around_a_field_is_its_schema_name() -> None:
    schemas = {
        "Order": {"properties": {"id": STRING, "to": {"$ref": "#/components/schemas/Address"}, "inline": ADDRESS}},
        "Address": ADDRESS,
    }
    found = outputs(giving({"$ref": "#/components/schemas/Order"}, schemas=schemas))
    assert {path: field.schema_name for path, field in found.items()} == {
        "id": "Order",
        "to": "Order",
        "inline": "Order",
        "to.street": "Address",
        "to.zip": "Address",
        "inline.street": "Order",
        "inline.zip": "Order",
    }
    assert found["to"].pointer == "/components/schemas/Order/properties/to"
    assert found["to.zip"].pointer == "/components/schemas/Address/properties/zip"


def test_an_inline_field_has_no_schema_name_and_its_pointer_leads_to_it() -> None:
    document = giving({"properties": {"a/b~c": STRING}})
    field = outputs(document)["a/b~c"]
    assert field.schema_name == ""
    assert field.pointer == "/paths/~1a/get/responses/200/content/application~1json/schema/properties/a~1b~0c"
    assert field.token == "a/b~c"


def test_a_cycle_is_cut_at_the_reference_already_on_the_path() -> None:
    person = {
        "properties": {
            "name": STRING,
            "boss": {"$ref": "#/components/schemas/Person"},
            "team": {"type": "array", "items": {"$ref": "#/components/schemas/Person"}},
        }
    }
    document = giving({"$ref": "#/components/schemas/Person"}, schemas={"Person": person})
    assert paths(document) == ["name", "boss", "team"]
    inline = giving({"properties": {"head": {"$ref": "#/components/schemas/Person"}}}, schemas={"Person": person})
    assert paths(inline) == ["head", "head.name", "head.boss", "head.team"]


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": {"$ref": "#/components/schemas/A"}},
        {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
        {"A": {"allOf": [{"$ref": "#/components/schemas/A"}]}},
        {"A": {"items": {"$ref": "#/components/schemas/A"}}},
        {"A": {"additionalProperties": {"oneOf": [{"$ref": "#/components/schemas/A"}]}}},
    ],
)
def test_a_schema_made_of_nothing_but_itself_ends(schemas: dict[str, Any]) -> None:
    assert paths(giving({"$ref": "#/components/schemas/A"}, schemas=schemas)) == []


def test_references_may_be_escaped_or_lead_into_other_operations() -> None:
    document = api(
        {
            "/a/{id}": {
                "get": {
                    "responses": {
                        "200": {
                            "content": {
                                "application/json": {
                                    "schema": {
                                        "properties": {
                                            "x": {"$ref": "#/components/schemas/odd~1name~0%20with%25"},
                                            "w": {"$ref": "#/components/schemas/odd%2Fname~0%20with%25"},
                                            "y": {
                                                "$ref": "#/paths/~1a~1%7Bid%7D/get/responses/200/content/"
                                                "application~1json/schema/properties/z"
                                            },
                                            "z": {"properties": {"deep": STRING}},
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        },
        components={"schemas": {"odd/name~ with%": ADDRESS}},
    )
    found = walked(document)
    assert [field.path for field in found.operations[0].outputs][4:] == [
        "x.street",
        "x.zip",
        "w.street",
        "w.zip",
        "y.deep",
        "z.deep",
    ]
    assert found.operations[0].outputs[4].schema_name == "odd/name~ with%"
    assert not found.warnings


def test_a_property_may_be_called_ref() -> None:
    assert paths(giving({"properties": {"$ref": STRING, "b": STRING}})) == ["$ref", "b"]


def test_references_that_leave_or_miss_the_document_are_warnings() -> None:
    schema = {
        "properties": {"a": {"$ref": "common.yaml#/Error"}, "b": {"$ref": "#/nowhere"}, "c": {"$ref": "#/info/title"}}
    }
    found = walked(giving(schema))
    assert [field.path for field in found.operations[0].outputs] == ["a", "b", "c"]
    assert codes(found) == ["external_reference", "broken_reference"]
    assert "common.yaml#/Error" in found.warnings[0].text
    assert "#/nowhere, #/info/title" in found.warnings[1].text


@pytest.mark.parametrize(("version", "seen"), [("3.1.0", ["extra", "street", "zip"]), ("3.0.3", ["street", "zip"])])
def test_what_stands_beside_a_reference_counts_from_3_1_on(version: str, seen: list[str]) -> None:
    schema = {"$ref": "#/components/schemas/Address", "properties": {"extra": STRING}}
    assert sorted(paths(giving(schema, version=version, schemas={"Address": ADDRESS}))) == seen


# What a field says


def told(schema: dict[str, Any], **schemas: Any) -> Field:
    return outputs(giving({"properties": {"f": schema}}, schemas=schemas))["f"]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": ["string", "integer"]}, "string|integer"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array"}, "any[]"),
        ({"items": {"type": ["integer", "string"]}}, "(integer|string)[]"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string"),
        ({"oneOf": [{"type": "string"}, {"$ref": "#/components/schemas/N"}]}, "string|integer"),
        ({"$ref": "#/components/schemas/N"}, "integer"),
        ({"$ref": "#/components/schemas/Loop"}, ""),
        ({"properties": {}}, "object"),
        ({"additionalProperties": {}}, "object"),
        ({}, ""),
        ({"type": 7}, ""),
    ],
)
def test_types_are_told_in_one_word(schema: dict[str, Any], kind: str) -> None:
    loop = {"anyOf": [{"$ref": "#/components/schemas/Loop"}]}
    assert told(schema, N={"type": "integer"}, Loop=loop).type == kind


def test_a_bare_reference_says_what_its_component_says() -> None:
    status = {"type": "string", "format": "code", "enum": ["A", "B"], "title": "Status", "description": "How it is."}
    for schema in ({"$ref": "#/components/schemas/S"}, {"allOf": [{"$ref": "#/components/schemas/S"}]}):
        field = told(schema, S=status)
        assert (field.type, field.format, field.values) == ("string", "code", ("A", "B"))
        assert (field.title, field.description) == ("Status", "How it is.")
    own = told({"allOf": [{"$ref": "#/components/schemas/S"}], "description": "Mine."}, S=status)
    assert (own.title, own.description) == ("Status", "Mine.")
    two = told({"allOf": [{"$ref": "#/components/schemas/S"}, {"title": "Other"}]}, S=status)
    assert (two.title, two.description) == ("", "")


def test_values_are_text_and_few() -> None:
    assert told({"enum": [1, True, None, "x" * 200, {"a": 1}]}).values == ("1", "true", "x" * 100, "{'a': 1}")
    assert len(told({"enum": list(range(100))}).values) == 20
    assert told({"const": "only"}).values == ("only",)
    assert told({"type": "array", "items": {"enum": ["a"]}}).values == ("a",)
    assert told({"enum": "none"}).values == ()


def test_texts_are_kept_as_they_are_written_and_cut_where_they_are_monstrous() -> None:
    field = told({"title": "<b>Größe</b>", "description": " GrÃ¶ÃŸe\n"})
    assert (field.title, field.description) == ("<b>Größe</b>", " GrÃ¶ÃŸe\n")
    assert told({"title": 7, "description": None}).title == ""
    assert len(told({"description": "x" * 1_000_000}).description) == 4_000
