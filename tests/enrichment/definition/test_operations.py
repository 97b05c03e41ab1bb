"""Operations with their inputs and outputs: parameters, forms, bodies and statuses, however carelessly written."""

from typing import Any

import pytest

from tests.enrichment.definition.documents import api, codes, giving, inputs, outputs, walked

STRING = {"type": "string"}


def test_inputs_are_parameters_forms_and_bodies() -> None:
    document = api(
        {
            "/a/{id}": {
                "parameters": [
                    {
                        "name": "id",
                        "in": "path",
                        "required": True,
                        "schema": {"type": "integer"},
                        "description": "shared",
                    },
                    {"name": "lang", "in": "query", "schema": STRING, "description": "of the path"},
                ],
                "post": {
                    "operationId": " make ",
                    "summary": "Make",
                    "description": "Makes one.",
                    "parameters": [
                        {"$ref": "#/components/parameters/Page"},
                        {"name": "lang", "in": "query", "schema": STRING, "description": "of the operation"},
                        {
                            "name": "X-Trace",
                            "in": "header",
                            "content": {"application/json": {"schema": {"title": "T"}}},
                        },
                        {"name": "sid", "in": "cookie"},
                        {"name": "odd", "in": "nowhere"},
                        {"in": "query"},
                        "junk",
                    ],
                    "requestBody": {"$ref": "#/components/requestBodies/Make"},
                    "responses": {"204": {"description": "done"}},
                },
            }
        },
        components={
            "parameters": {"Page": {"name": "page", "in": "query", "schema": {"type": "integer", "title": "Page"}}},
            "requestBodies": {"Make": {"content": {"application/json": {"schema": {"properties": {"id": STRING}}}}}},
        },
    )
    operation = walked(document).operations[0]
    assert operation.key == "POST::/a/{id}::make"
    assert (operation.method, operation.summary, operation.description) == ("POST", "Make", "Makes one.")
    assert operation.pointer == "/paths/~1a~1{id}/post"
    found = inputs(document)
    assert list(found) == ["query page", "query lang", "header X-Trace", "cookie sid", "path id", "body id"]
    assert found["query lang"].description == "of the operation"
    assert found["query page"].pointer == "/components/parameters/Page"
    assert (found["query page"].schema_name, found["query page"].title) == ("Page", "Page")
    assert found["header X-Trace"].title == "T"
    assert found["path id"].required
    assert found["path id"].pointer == "/paths/~1a~1{id}/parameters/0"
    assert found["body id"].pointer.startswith("/components/requestBodies/Make/")
    assert found["body id"].key == "body||id"


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_is_told_from_a_body(media: str) -> None:
    content = {media: {"schema": {"properties": {"file": STRING}}}}
    document = api({"/a": {"post": {"requestBody": {"content": content}}}})
    assert list(inputs(document)) == ["form file"]


def has(name: str) -> dict[str, Any]:
    return {"schema": {"properties": {name: {}}}}


@pytest.mark.parametrize(
    ("content", "chosen"),
    [
        ({"text/csv": has("a"), "application/json": has("b"), "text/json": has("c")}, "b"),
        ({"text/xml": has("a"), "application/hal+json; v=1": has("b")}, "b"),
        ({"text/xml": has("a"), "text/csv": has("b")}, "a"),
        ({"application/json": {}, "text/xml": has("a")}, "a"),
        ({"*/*": has("a")}, "a"),
        ({"application/json": "junk"}, None),
    ],
)
def test_the_first_json_like_content_is_read_else_any(content: dict[str, Any], chosen: str | None) -> None:
    document = api({"/a": {"get": {"responses": {"200": {"content": content}}}}})
    assert list(outputs(document)) == ([chosen] if chosen else [])


def test_every_status_is_an_output_of_its_own() -> None:
    body = {"content": {"application/json": {"schema": {"properties": {"x": STRING}}}}}
    responses = {"200": body, "2XX": body, "default": {"$ref": "#/components/responses/E"}, "x-note": body, "500": "no"}
    document = api({"/a": {"get": {"responses": responses}}}, components={"responses": {"E": body}})
    found = walked(document).operations[0].outputs
    assert [(field.status, field.key) for field in found] == [
        ("200", "response|200|x"),
        ("2XX", "response|2XX|x"),
        ("default", "response|default|x"),
    ]
    assert found[2].schema_name == "E"
    assert {field.direction for field in found} == {"output"}


def test_swagger_2_0_bodies_forms_and_definitions() -> None:
    document = api(
        {
            "/pets": {
                "post": {
                    "parameters": [
                        {"name": "body", "in": "body", "schema": {"$ref": "#/definitions/Pet"}},
                        {"name": "limit", "in": "query", "type": "array", "items": {"type": "integer", "enum": [1, 2]}},
                        {"name": "photo", "in": "formData", "type": "file", "x-title": "Photo", "title": "ignored"},
                        {"$ref": "#/parameters/Skip"},
                    ],
                    "responses": {"200": {"schema": {"$ref": "#/definitions/Pet"}}, "400": {"$ref": "#/responses/Bad"}},
                }
            }
        },
        version="2.0",
        definitions={"Pet": {"required": ["id"], "properties": {"id": {"type": "integer", "format": "int64"}}}},
        parameters={"Skip": {"name": "skip", "in": "query", "type": "integer"}},
        responses={"Bad": {"schema": {"properties": {"code": STRING}}}},
    )
    found = inputs(document)
    assert list(found) == ["query limit", "form photo", "query skip", "body id"]
    assert (found["query limit"].type, found["query limit"].values) == ("integer[]", ("1", "2"))
    assert (found["form photo"].title, found["form photo"].type) == ("Photo", "file")
    assert found["query skip"].pointer == "/parameters/Skip"
    assert (found["body id"].schema_name, found["body id"].required) == ("Pet", True)
    assert found["body id"].format == "int64"
    assert list(outputs(document)) == ["id", "code"]


def test_path_items_may_be_references_text_or_themselves() -> None:
    operation: dict[str, Any] = {"responses": {}}
    document = api(
        {
            "/real": {"get": operation, "GET": operation, "summary": "x", "servers": []},
            "/same": {"$ref": "#/paths/~1real"},
            "/beside": {"$ref": "#/paths/~1real", "post": operation},
            "/self": {"$ref": "#/paths/~1self", "delete": operation},
            "/ring": {"$ref": "#/paths/~1gnir"},
            "/gnir": {"$ref": "#/paths/~1ring"},
            "/text": "later",
            "/none": None,
            "x-hidden": {"get": operation},
            "/odd?v=1&x={y}": {"trace": operation, "get": "text"},
        }
    )
    found = walked(document)
    assert [operation.key for operation in found.operations] == [
        "GET::/real::",
        "GET::/same::",
        "POST::/beside::",
        "GET::/beside::",
        "DELETE::/self::",
        "TRACE::/odd?v=1&x={y}::",
    ]
    assert found.operations[1].pointer == "/paths/~1real/get"


def test_missing_and_doubled_operation_ids() -> None:
    get = {"operationId": "same"}
    found = walked(api({"/a": {"get": get, "post": get}, "/A": {"get": {}}, "/a/": {"get": {"operationId": None}}}))
    assert [one.key for one in found.operations] == ["GET::/a::same", "POST::/a::same", "GET::/A::", "GET::/a/::"]
    assert codes(found) == ["duplicate_operation_id"]
    assert "same" in found.warnings[0].text


def test_webhooks_are_left_out_with_a_warning() -> None:
    found = walked(api({"/a": {"get": {}}}, version="3.1.0", webhooks={"newOrder": {"post": {}}}))
    assert len(found.operations) == 1
    assert codes(found) == ["webhooks_ignored"]
    assert "newOrder" in found.warnings[0].text


@pytest.mark.parametrize("broken", [{"paths": []}, {"paths": None}, {"info": "x"}, {"info": None}, {"components": 7}])
def test_a_document_of_odd_parts_is_still_walked(broken: dict[str, Any]) -> None:
    document = {**giving({"$ref": "#/components/schemas/A"}), **broken}
    assert len(walked(document).operations) == (0 if "paths" in broken else 1)


def test_title_and_description_are_the_documents() -> None:
    document = api({})
    document["info"]["description"] = "x" * 300_000
    found = walked(document)
    assert (found.title, len(found.description)) == ("Shop", 200_000)
