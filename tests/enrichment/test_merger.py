"""One proposal out of many answers: E24, E10, D14."""

from actors.enrichment import merger, targets
from actors.enrichment.answers import ChunkAnswer, FieldAnswer, MappingAnswer, OperationAnswer
from actors.enrichment.asking import AskedOperation
from actors.enrichment.glossary import Glossary
from actors.enrichment.merger import Proposal
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import Field, Operation
from schema.enrichment.payloads import TARGETS, Target
from tests.enrichment.making import asked, field, operation, query

A = operation(
    "/a", query("p_st"), field("name", schema="Owner", path="owner.name"), field("name", schema="Pet"), operation_id="a"
)
B = operation("/b", query("p_st"), field("name", schema="Pet"))
EVERYTHING = (asked(A), asked(B))


def answer(operation: Operation, endpoint_name: str | None = None, /, **fields: str) -> ChunkAnswer:
    """Names by token; of several fields with one token the last."""
    every = {one.token: one.key for one in (*operation.inputs, *operation.outputs)}
    said = {every[token]: FieldAnswer(name=text) for token, text in fields.items()}
    return ChunkAnswer(operations={operation.key: OperationAnswer(named=True, name=endpoint_name, fields=said)})


def merge(
    *answers: ChunkAnswer,
    overview: MappingAnswer | None = None,
    everything: tuple[AskedOperation, ...] = EVERYTHING,
    glossary: Glossary | None = None,
) -> Proposal:
    keyed = [(f"pass{number}", one) for number, one in enumerate(answers)]
    proposal, _ = merger.merge(
        keyed, None if overview is None else ("overview", overview), everything, glossary or Glossary()
    )
    return proposal


def names(proposal: Proposal) -> dict[tuple[str, str], str]:
    return {place: one.name.value for place, one in proposal.fields.items() if one.name is not None}


def place(operation: Operation, field: Field) -> tuple[str, str]:
    return operation.key, field.key


def test_the_first_in_plan_order_wins_whatever_came_first() -> None:
    first, second = answer(A, "List A", p_st="State"), answer(A, "Other", p_st="Status")
    proposal = merge(first, second)
    assert proposal.endpoints[A.key].value == "List A"
    assert proposal.endpoints[A.key].pass_key == "pass0"
    assert names(proposal)[place(A, A.inputs[0])] == "State"


def test_a_later_answer_fills_what_an_earlier_one_left_empty() -> None:
    assert names(merge(answer(A), answer(A, p_st="State")))[place(A, A.inputs[0])] == "State"


def test_fields_of_one_schema_share_a_suggestion_and_others_do_not() -> None:
    pet_in_a, pet_in_b = A.outputs[1], B.outputs[0]
    said = names(merge(answer(B, name="Pet Name", p_st="State")))
    assert said[place(B, pet_in_b)] == "Pet Name"
    assert said[place(A, pet_in_a)] == "Pet Name"
    assert place(A, A.outputs[0]) not in said
    assert place(A, A.inputs[0]) not in said


def test_a_field_deeper_in_the_schema_is_another_one() -> None:
    deep = field("name", path="owner.name", schema="Pet").model_copy(
        update={"pointer": "/components/schemas/Pet/properties/owner/properties/name"}
    )
    one = operation("/c", field("name", schema="Pet"), deep)
    said = ChunkAnswer(operations={one.key: OperationAnswer(fields={one.outputs[0].key: FieldAnswer(name="Pet Name")})})
    assert list(names(merge(said, everything=(asked(one),)))) == [place(one, one.outputs[0])]


def test_a_token_scoped_by_the_glossary_is_not_shared_between_endpoints() -> None:
    scoped = Glossary(
        [GlossaryEntry(key="name", kind="field", meaning="Of the pet", endpoints=("GET /b",), source="digest")]
    )
    said = names(merge(answer(B, name="Pet Name"), glossary=scoped))
    assert said == {place(B, B.outputs[0]): "Pet Name"}


def test_one_thing_gets_one_name_and_conflicts_are_listed() -> None:
    one = operation("/c", query("p_st", description="State of the facility"))
    other = operation("/d", field("p_st", description="State of the facility"))
    third = operation("/e", query("p_st", description="Status of the permit"))
    everything = (asked(one), asked(other), asked(third))
    answers = [
        ("1", answer(one, p_st="State")),
        ("2", answer(other, p_st="US State")),
        ("3", answer(third, p_st="Status")),
    ]
    proposal, renamed = merger.merge(answers, None, everything, Glossary())
    assert list(names(proposal).values()) == ["State", "State", "Status"]
    assert [(item.token, item.name, item.others) for item in renamed] == [("p_st", "State", ("US State",))]


def test_a_token_with_one_meaning_is_one_thing_wherever_it_stands() -> None:
    meaning = GlossaryEntry(key="name", kind="field", meaning="Who holds the permit.", source="lookup")
    said = names(merge(answer(B, name="Permit Holder"), glossary=Glossary([meaning])))
    assert set(said.values()) == {"Permit Holder"}
    assert set(said) == {place(A, A.outputs[0]), place(A, A.outputs[1]), place(B, B.outputs[0])}


def test_a_token_nobody_explains_may_have_many_names() -> None:
    one, other = operation("/c", query("id")), operation("/d", query("id"))
    answers = [("1", answer(one, id="Pet Number")), ("2", answer(other, id="Order Number"))]
    proposal, renamed = merger.merge(answers, None, (asked(one), asked(other)), Glossary())
    assert list(names(proposal).values()) == ["Pet Number", "Order Number"]
    assert renamed == ()


def test_the_users_glossary_has_the_last_word_also_where_nothing_was_answered() -> None:
    user = Glossary(
        [
            GlossaryEntry(key="p_st", kind="parameter", name="US State", meaning="Where it is", source="user"),
            GlossaryEntry(key="GET /b", kind="endpoint", name="List B", meaning="", source="user"),
        ]
    )
    proposal = merge(answer(A, p_st="State"), glossary=user)
    said = proposal.fields[place(B, B.inputs[0])]
    assert (said.name and said.name.value, said.name and said.name.origin) == ("US State", "user")
    assert said.description is not None
    assert said.description.value == "Where it is"
    assert names(proposal)[place(A, A.inputs[0])] == "US State"
    assert proposal.endpoints[B.key].value == "List B"


def test_a_description_quoted_from_a_table_says_so() -> None:
    looked_up = Glossary([GlossaryEntry(key="p_st", kind="parameter", meaning="Two letters.", source="lookup")])
    said = ChunkAnswer(
        operations={A.key: OperationAnswer(fields={A.inputs[0].key: FieldAnswer(description="Two letters.")})}
    )
    found = merge(said, glossary=looked_up).fields[place(A, A.inputs[0])].description
    assert found is not None
    assert found.origin == "lookup"


def test_only_what_is_wanted_is_proposed() -> None:
    narrow = (asked(A).having({A.inputs[0].key}, name=False),)
    proposal = merge(answer(A, "List A", p_st="State", name="Pet Name"), everything=narrow)
    assert proposal.endpoints == {}
    assert list(proposal.fields) == [place(A, A.inputs[0])]


def test_the_filter_keeps_what_the_targets_name() -> None:
    proposal = merge(
        answer(A, "List A", p_st="State", name="Pet Name"), overview=MappingAnswer(name="Pets", description="All.")
    )
    assert targets.keep(proposal, TARGETS) == proposal
    kept = targets.keep(proposal, ("mapping_description", "output_field_names"))
    assert kept.mapping_name is None
    assert kept.mapping_description is not None
    assert kept.endpoints == {}
    assert {key for _, key in kept.fields} == {"response|200|name"}
    nothing: tuple[Target, ...] = ("input_field_descriptions",)
    assert not targets.keep(proposal, nothing)
