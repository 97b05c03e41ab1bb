"""One enrichment by the offline model, through the pipeline's own parts: lookup, plan, prompts, answers, merger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from actors.enrichment import answers, asking, merger
from actors.enrichment.asking import Caps, Wishes
from actors.enrichment.glossary import Glossary
from actors.enrichment.prompts import Brief, Manner, Prompts
from actors.enrichment.reference.lookup import lookup
from bench.quality_documents import inventory
from clients.llm.offline import OfflineModel
from schema.enrichment.content import from_inventory
from schema.enrichment.payloads import TARGETS

#: More fields than any body has.
_ALL = 100_000


@dataclass(frozen=True)
class Enriched:
    """What was suggested, by (operation key, field key); an endpoint's name stands under an empty field key."""

    names: Mapping[tuple[str, str], str]
    descriptions: Mapping[tuple[str, str], str]


async def enriched(definition: bytes, references: Sequence[tuple[str, str]]) -> Enriched:
    """All suggestions for a definition. Every field is asked: how many a run may ask at a time is another question."""
    model = OfflineModel()
    whole = inventory(definition, "definition.json")
    glossary = Glossary(lookup(references, whole.operations).entries)
    wanted = asking.wanted(whole, from_inventory(whole), Wishes(frozenset(TARGETS)), glossary)
    caps = Caps(_ALL, _ALL)
    choice = asking.choose(wanted, lambda operation, field: merger.identity(glossary, operation, field), caps)
    prompts = Prompts(Brief(whole, TARGETS), Manner(8192, None))
    said = []
    for one in choice.operations:
        asked = (one,)
        completion = await model.complete(prompts.chunk(asked, glossary.slice(asked)))
        said.append((one.operation.key, answers.read_chunk(completion.text, asked, answers.gate(model.provider))))
    proposal, _ = merger.merge(said, None, wanted, glossary)
    names = {(key, ""): suggestion.value for key, suggestion in proposal.endpoints.items()}
    names |= {place: one.name.value for place, one in proposal.fields.items() if one.name}
    descriptions = {place: one.description.value for place, one in proposal.fields.items() if one.description}
    return Enriched(names, descriptions)
