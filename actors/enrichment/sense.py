"""When two fields are the same thing: by where they are written (E24), or because one token has one meaning (D14).

What is one thing is asked once, suggested once and named once. A meaning is what the glossary says of the token there;
without a glossary it is the definition's own description, but only of parameters and inline fields: `id` is described
alike in a hundred schemas and is a hundred things.
"""

from collections.abc import Hashable

from actors.enrichment.glossary import Glossary
from schema.enrichment.inventory import Field, Operation

#: Shorter descriptions say too little to tell two things from one.
_LEAST_WORDS = 3

_PARAMETERS = frozenset({"query", "header", "cookie", "form"})


def sense(glossary: Glossary, operation: Operation, field: Field) -> tuple[str, str] | None:
    """Token and meaning, if the meaning is known: fields that share both get one name (D14)."""
    entry = glossary.meaning(operation, field)
    if entry is not None:
        meaning = entry.meaning
    elif field.location in _PARAMETERS or (not field.schema_name and field.location != "path"):
        meaning = field.description
    else:
        meaning = ""
    words = meaning.casefold().split()
    is_told = entry is not None or len(words) >= _LEAST_WORDS
    return (field.token.casefold(), " ".join(words)) if is_told else None


def identity(glossary: Glossary, operation: Operation, field: Field) -> Hashable:
    """What makes two fields one: direction and sense; where that is unknown direction, field name, schema name and
    status code (E24).

    Without a named schema the operation stands in for it; where the glossary scopes the token by endpoint the
    operation joins. Inside a schema the name is the whole way to the field: `owner.name` is not `name`.
    """
    known = sense(glossary, operation, field)
    if known is not None:
        return field.direction, *known
    if not field.schema_name:
        return field.direction, field.path, operation.key, field.status
    place = operation.key if glossary.is_scoped(field) else ""
    return field.direction, _name_in_schema(field), field.schema_name, field.status, place


def _name_in_schema(field: Field) -> str:
    """The way from the schema's root to the field, as its pointer shows it; the bare name where it shows none."""
    _, found, way = field.pointer.partition(f"/{field.schema_name.replace('~', '~0').replace('/', '~1')}/")
    return way if found else field.token
