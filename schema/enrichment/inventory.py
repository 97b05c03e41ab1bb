"""What an API definition holds, flattened: operations, their fields, and where each text is written.

The inventory is stored with the definition and is all that the planner, the prompts and the merger know of it.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Location = Literal["path", "query", "header", "cookie", "form", "body", "response"]
Direction = Literal["input", "output"]
Media = Literal["json", "yaml"]


class _Stored(BaseModel):
    """Frozen; a row written by a newer version, with names this one doesn't know, can still be read."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Field(_Stored):
    """One named value that goes into or comes out of an operation (D4)."""

    location: Location
    #: Status of the response as written: `200`, `2XX`, `default`; empty for inputs.
    status: str = ""
    #: Where it stands in its body: `Results.Items[].CWPName`, `byCode.*.label`; a parameter's own name.
    path: str
    #: The last name of the path: what a glossary knows.
    token: str
    #: The named component (`#/components/...`, `#/definitions/...`) nearest around it; empty where it stands inline.
    schema_name: str = ""
    #: JSON pointer of the property's schema or of the parameter object: where its text is written (D11).
    pointer: str
    #: JSON type, `string[]` for a list, `string|integer` for alternatives; empty where none is said.
    type: str = ""
    format: str = ""
    #: The enumeration, at most 20 values, as text.
    values: tuple[str, ...] = ()
    required: bool = False
    title: str = ""
    description: str = ""

    @property
    def direction(self) -> Direction:
        """`input` for parameters, form and body fields, `output` for fields of a response."""
        return "output" if self.location == "response" else "input"

    @property
    def key(self) -> str:
        """Unique in its operation: `location|status|path`."""
        return f"{self.location}|{self.status}|{self.path}"


class Operation(_Stored):
    """One method of one path, with its fields in document order, shallow ones first."""

    #: `METHOD::PATH::OPERATIONID`; the third part may be empty. Unique in its document.
    key: str
    method: str
    path: str
    operation_id: str = ""
    #: JSON pointer of the operation object.
    pointer: str
    summary: str = ""
    description: str = ""
    inputs: tuple[Field, ...] = ()
    outputs: tuple[Field, ...] = ()
    #: Fields that were seen and are not kept here, because a body or the whole document has too many.
    cut: int = 0


class InventoryWarning(_Stored):
    """Something in a definition that was read around: a literal code, and a sentence for a person."""

    code: str
    text: str


class Inventory(_Stored):
    """All of one definition, in document order."""

    #: As the document says: `3.0.3`, `3.1.0`, `2.0`.
    spec_version: str
    media: Media
    title: str = ""
    description: str = ""
    operations: tuple[Operation, ...] = ()
    warnings: tuple[InventoryWarning, ...] = ()


def operation_key(method: str, path: str, operation_id: str = "") -> str:
    """`METHOD::PATH::OPERATIONID`, what an operation is known by over all versions of its definition (D4)."""
    return f"{method.upper()}::{path}::{operation_id}"
