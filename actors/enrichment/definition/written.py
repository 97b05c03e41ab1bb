"""What goes into writing texts back to a definition, and what comes out (D11)."""

from dataclasses import dataclass
from typing import Literal

from schema.enrichment.inventory import InventoryWarning, Location, Media


@dataclass(frozen=True)
class Written:
    """Texts for one place, from one endpoint. None leaves a text as it is.

    `location` is a field's own, `endpoint` with the pointer of the operation, or `mapping` with `/info`. The title of
    an endpoint becomes its `summary`.
    """

    pointer: str
    endpoint_key: str
    location: Location | Literal["mapping", "endpoint"]
    title: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class Conflict:
    """Two endpoints have different texts for one shared place: the one earlier in the plan was written."""

    pointer: str
    key: str
    endpoint_key: str
    kept: str
    dropped: str


@dataclass(frozen=True)
class Enriched:
    """The definition with its texts, and an Overlay 1.0 document that says the same; None where nothing was written."""

    document: bytes
    overlay: bytes | None
    media: Media
    warnings: tuple[InventoryWarning, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
