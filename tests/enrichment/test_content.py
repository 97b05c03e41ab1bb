"""A mapping's content, and what it keeps on a new version of its definition: D10, D15."""

from schema.enrichment.content import MappingContent, Text, carry_over, from_inventory
from tests.enrichment.making import field, inventory, operation, query

OLD = inventory(
    operation("/a", query("p_st", description="State"), field("name", title="Name")),
    operation("/b", field("gone")),
    description="Old words.",
)
NEW = inventory(
    operation("/a", query("p_st", description="US state"), field("name", title="Full name"), field("added")),
    operation("/c"),
    title="Water Quality 2",
    description="New words.",
)


def written(content: MappingContent) -> MappingContent:
    """A model named the mapping and described a field; a person named another."""
    endpoint = content.endpoints[0]
    model = Text(value="Code of the state", origin="model", old="State")
    inputs = (endpoint.inputs[0].model_copy(update={"description": model}),)
    outputs = (endpoint.outputs[0].model_copy(update={"name": Text(value="Holder", origin="person")}),)
    endpoint = endpoint.model_copy(update={"inputs": inputs, "outputs": outputs})
    name = Text(value="Clean Water", origin="model", old="Water Quality")
    return content.model_copy(update={"name": name, "endpoints": (endpoint, *content.endpoints[1:])})


def test_the_first_version_says_what_the_definition_says() -> None:
    content = from_inventory(OLD)
    assert content.name == Text(value="Water Quality")
    assert content.endpoints[0].inputs[0].description == Text(value="State")
    assert content.endpoints[0].inputs[0].name is None
    assert len({endpoint.id for endpoint in content.endpoints}) == 2


def test_what_is_stored_is_what_was_said() -> None:
    content = written(from_inventory(OLD))
    stored = content.to_json()
    assert MappingContent.model_validate(stored) == content
    assert "description" not in str(stored["endpoints"][1])


def test_guids_suggestions_and_edits_survive_and_source_texts_follow_the_source() -> None:
    old = written(from_inventory(OLD))
    new = carry_over(old, NEW)
    a, c = new.endpoints
    assert a.id == old.endpoints[0].id
    assert c.id not in {endpoint.id for endpoint in old.endpoints}
    assert new.name is not None
    assert new.name.value == "Clean Water"
    assert new.description == Text(value="New words.")
    assert a.inputs[0].description is not None
    assert a.inputs[0].description.value == "Code of the state"
    assert a.outputs[0].name == Text(value="Holder", origin="person")
    assert a.outputs[1].key == "response|200|added"
    assert a.outputs[1].name is None
    assert [endpoint.key for endpoint in new.endpoints] == ["GET::/a::", "GET::/c::"]
