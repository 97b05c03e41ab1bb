"""Where texts go, and which are written: shared places, conflicts, and what must not change what validates."""

from typing import Any

from actors.enrichment.definition.edits import Decided, Edit, decide
from actors.enrichment.definition.refs import References
from actors.enrichment.definition.users import Users
from actors.enrichment.definition.written import Conflict, Written
from tests.enrichment.definition.documents import api, giving

STRING = {"type": "string"}


def decided(
    document: dict[str, Any], *written: Written, selected: list[str] | None = None, version: str = "3.0.3"
) -> Decided:
    return decide(document, version, written, selected, Users(document, References(document)))


# Where each text goes


def test_a_mapping_an_endpoint_and_a_field_have_their_homes() -> None:
    document = giving({"properties": {"x": STRING}})
    x = "/paths/~1a/get/responses/200/content/application~1json/schema/properties/x"
    found = decided(
        document,
        Written("/info", "", "mapping", "Shop API", "Sells."),
        Written("/paths/~1a/get", "GET::/a::", "endpoint", "List things", "Long."),
        Written(x, "GET::/a::", "response", "X", "An x."),
    )
    assert list(found.edits) == [
        Edit("/info", {"title": "Shop API", "description": "Sells."}),
        Edit("/paths/~1a/get", {"summary": "List things", "description": "Long."}),
        Edit(x, {"title": "X", "description": "An x."}),
    ]


def parameter_home(parameter: dict[str, Any], version: str = "3.0.3") -> list[Edit]:
    document = api({"/a": {"get": {"parameters": [parameter]}}}, version=version)
    document["components"] = {"schemas": {"S": STRING}}
    written = Written("/paths/~1a/get/parameters/0", "GET::/a::", "query", "Name", "What.")
    return list(decided(document, written, version=version).edits)


P = "/paths/~1a/get/parameters/0"


def test_a_parameter_has_its_title_in_its_schema() -> None:
    described = Edit(P, {"description": "What."})
    assert parameter_home({"name": "p", "schema": STRING}) == [Edit(f"{P}/schema", {"title": "Name"}), described]
    content = {"content": {"text/plain": {"schema": STRING}}}
    assert parameter_home(content) == [Edit(f"{P}/content/text~1plain/schema", {"title": "Name"}), described]


def test_a_parameter_without_a_schema_gets_one_that_allows_everything() -> None:
    assert parameter_home({"name": "p"}) == [Edit(P, {"schema": {"title": "Name"}, "description": "What."})]


def test_a_swagger_2_0_parameter_has_no_schema_and_an_extension_takes_the_title() -> None:
    assert parameter_home({"name": "p", "in": "query"}, "2.0") == [Edit(P, {"x-title": "Name", "description": "What."})]


def test_a_parameters_schema_that_is_a_reference_is_wrapped_before_3_1() -> None:
    parameter = {"name": "p", "schema": {"$ref": "#/components/schemas/S"}}
    assert parameter_home(parameter)[0] == Edit(f"{P}/schema", {"title": "Name"}, wrap=True)
    assert parameter_home(parameter, "3.1.0")[0] == Edit(f"{P}/schema", {"title": "Name"}, wrap=False)


def test_a_document_without_info_gets_one() -> None:
    document = giving({})
    del document["info"]
    assert decided(document, Written("/info", "", "mapping", "T", "D")).edits == (
        Edit("", {"info": {"title": "T", "description": "D"}}),
    )


def test_nothing_is_written_where_nothing_changes_or_nothing_is_there() -> None:
    document = giving({"properties": {"x": {"title": "X"}, "y": STRING}})
    body = "/paths/~1a/get/responses/200/content/application~1json/schema/properties"
    found = decided(
        document,
        Written(f"{body}/x", "GET::/a::", "response", "X"),
        Written(f"{body}/y", "GET::/a::", "response"),
        Written(f"{body}/gone", "GET::/a::", "response", "Gone"),
        Written("/paths/~1z/get", "GET::/z::", "endpoint", "Gone"),
    )
    assert found == Decided((), (), ())


def test_a_text_never_holds_what_no_document_takes() -> None:
    found = decided(giving({}), Written("/info", "", "mapping", "a\x00b\ud800c"))
    assert found.edits[0].values == {"title": "abc"}


# Shared places


def shared() -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Pet"}
    operation = {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}
    paths = {"/a": {"get": operation}, "/b": {"get": operation}, "/c": {"get": operation}}
    return api(paths, components={"schemas": {"Pet": {"properties": {"id": {"type": "string", "title": "Old"}}}}})


ID = "/components/schemas/Pet/properties/id"
A, B, C = "GET::/a::", "GET::/b::", "GET::/c::"


def test_a_shared_schema_is_written_when_all_its_endpoints_are_selected() -> None:
    for selected in (None, [A, B, C]):
        found = decided(shared(), Written(ID, A, "response", "Pet ID"), selected=selected)
        assert found.edits == (Edit(ID, {"title": "Pet ID"}),)
        assert found.warnings == ()


def test_a_shared_schema_is_left_alone_when_an_endpoint_was_not_selected() -> None:
    found = decided(shared(), Written(ID, A, "response", "Pet ID", "Which pet."), selected=[A, B])
    assert found.edits == ()
    assert [warning.code for warning in found.warnings] == ["shared_schema_not_selected"]
    assert "Pet (used by GET::/c::)" in found.warnings[0].text


def test_an_endpoint_that_has_the_same_text_agrees() -> None:
    written = [Written(ID, A, "response", "Pet ID", "Which pet."), Written(ID, C, "response", "Pet ID")]
    found = decided(shared(), *written, selected=[A, B])
    assert found.edits == (Edit(ID, {"title": "Pet ID"}),)
    assert [warning.code for warning in found.warnings] == ["shared_schema_not_selected"]  # the description


def test_a_text_that_already_stands_there_needs_nobodys_agreement() -> None:
    assert decided(shared(), Written(ID, A, "response", "Old"), selected=[A]) == Decided((), (), ())


def test_what_is_not_shared_is_written_beside_what_is() -> None:
    written = [Written(ID, A, "response", "Pet ID"), Written("/paths/~1a/get", A, "endpoint", "List")]
    assert decided(shared(), *written, selected=[A]).edits == (Edit("/paths/~1a/get", {"summary": "List"}),)


def test_of_two_texts_for_one_place_the_first_of_the_plan_wins_and_the_other_is_listed() -> None:
    written = [
        Written(ID, B, "response", "Pet ID", "Same."),
        Written(ID, A, "response", "Animal ID", "Same."),
    ]
    found = decided(shared(), *written)
    assert found.edits == (Edit(ID, {"title": "Pet ID", "description": "Same."}),)
    assert found.conflicts == (Conflict(ID, "title", A, "Pet ID", "Animal ID"),)
