"""Who uses what: the operations that a text in a shared place speaks for."""

from typing import Any

from actors.enrichment.definition.refs import References
from actors.enrichment.definition.users import Users
from tests.enrichment.definition.documents import api


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def answering(schema: Any) -> dict[str, Any]:
    return {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}


DOCUMENT = api(
    {
        "/a": {"parameters": [{"$ref": "#/components/parameters/Page"}], "get": answering(ref("A")), "post": {}},
        "/b": {"get": answering({"properties": {"x": ref("B")}})},
        "/c": {"get": answering({"$ref": "#/paths/~1b/get/responses/200/content/application~1json/schema"})},
        "/same": {"$ref": "#/paths/~1b"},
    },
    components={
        "schemas": {
            "A": {"properties": {"b": ref("B")}},
            "B": {"properties": {"loop": ref("Loop"), "gone": ref("Gone")}},
            "Loop": {"items": ref("Loop")},
            "Alone": {"properties": {"b": ref("B")}},
        },
        "parameters": {"Page": {"name": "page", "in": "query", "schema": ref("A")}},
    },
)
USERS = Users(DOCUMENT, References(DOCUMENT))
A, A_POST, B, C, SAME = "GET::/a::", "POST::/a::", "GET::/b::", "GET::/c::", "GET::/same::"


def test_an_operation_uses_itself_alone() -> None:
    assert USERS.of("/paths/~1a/get") == [A]
    assert USERS.of("/paths/~1a/get/responses/200") == [A]
    assert USERS.of("/info") == []


def test_a_parameter_of_a_path_belongs_to_all_its_operations() -> None:
    assert USERS.of("/paths/~1a/parameters/0") == [A, A_POST]
    assert USERS.of("/components/parameters/Page") == [A, A_POST]


def test_a_component_belongs_to_whoever_reaches_it_over_any_number_of_references() -> None:
    assert USERS.of("/components/schemas/A/properties/b") == [A, A_POST]
    assert USERS.of("/components/schemas/B/properties/loop") == [A, A_POST, B, C, SAME]
    assert USERS.of("/components/schemas/Loop") == [A, A_POST, B, C, SAME]
    assert USERS.of("/components/schemas/Alone") == []


def test_a_part_of_one_operation_may_be_used_by_another() -> None:
    schema = "/paths/~1b/get/responses/200/content/application~1json/schema/properties/x"
    assert USERS.of(schema) == [B, C, SAME]
    assert USERS.of("/paths/~1b/get/responses") == [B, SAME]


def test_those_already_known_are_left_out() -> None:
    assert USERS.of("/components/schemas/Loop", beside=USERS.mask([A, C, "GET::/unknown::"])) == [A_POST, B, SAME]
