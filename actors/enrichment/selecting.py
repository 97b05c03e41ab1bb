"""Which endpoints a request means: `GET::/path`, a full operation key, or an endpoint's GUID (E11)."""

import difflib
from collections.abc import Sequence
from uuid import UUID

from base.errors import BadInput
from schema.enrichment.content import MappingContent


def resolve(selectors: Sequence[str], content: MappingContent) -> tuple[UUID, ...]:
    """The GUIDs of the endpoints selected, in the mapping's order; empty means all.

    GUIDs are taken as they are: whether they match is checked when the run has its mapping (E11).

    Raises:
        BadInput: a selector matches nothing in this version of the mapping.
    """
    chosen: set[UUID] = set()
    strangers: list[UUID] = []
    for selector in selectors:
        given = _guid(selector)
        found = [
            endpoint.id for endpoint in content.endpoints if given == endpoint.id or _means(selector, endpoint.key)
        ]
        if given is not None and not found:
            strangers.append(given)
        elif not found:
            raise BadInput(f"No operation matches `{selector}`.{_guess(selector, content)}")
        chosen.update(found)
    return (*(endpoint.id for endpoint in content.endpoints if endpoint.id in chosen), *strangers)


def _means(selector: str, key: str) -> bool:
    """Method and path must be the key's, and the operation id where the selector names one."""
    method, _, rest = selector.strip().partition("::")
    path, _, operation_id = rest.partition("::")
    key_method, key_path, key_id = key.split("::", 2)
    return (method.upper(), path) == (key_method, key_path) and operation_id in {"", key_id}


def _guid(selector: str) -> UUID | None:
    try:
        return UUID(selector.strip())
    except ValueError:
        return None


def _guess(selector: str, content: MappingContent) -> str:
    known = list(dict.fromkeys("::".join(endpoint.key.split("::", 2)[:2]) for endpoint in content.endpoints))
    near = difflib.get_close_matches(selector, known, n=1, cutoff=0.4) or known[:1]
    return f" Write it like `{near[0]}`." if near else ""
