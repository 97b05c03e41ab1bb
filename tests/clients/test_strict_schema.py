from clients.llm.wire.strict import strict


def test_every_property_is_required_and_no_other_allowed() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}

    assert strict(schema) == {
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
        "additionalProperties": False,
    }


def test_optional_becomes_nullable() -> None:
    schema = {
        "type": "object",
        "properties": {
            "plain": {"type": "string"},
            "choice": {"type": "string", "enum": ["a"]},
            "union": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "already": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "listed": {"type": ["string", "null"]},
            "shared": {"$ref": "#/$defs/shared"},
        },
    }

    assert strict(schema)["properties"] == {
        "plain": {"type": ["string", "null"]},
        "choice": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        "union": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        "already": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "listed": {"type": ["string", "null"]},
        "shared": {"anyOf": [{"$ref": "#/$defs/shared"}, {"type": "null"}]},
    }


def test_constraints_go_at_every_depth_but_properties_of_their_names_stay() -> None:
    schema = {
        "title": "Answer",
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 5},
            "items": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/one"}},
        },
        "required": ["title", "items"],
        "$defs": {"one": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}},
    }

    assert strict(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/one"}},
        },
        "required": ["title", "items"],
        "additionalProperties": False,
        "$defs": {
            "one": {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
                "additionalProperties": False,
            }
        },
    }


def test_strict_schemas_stay_as_they_are() -> None:
    schema = strict({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}})

    assert strict(schema) == schema
