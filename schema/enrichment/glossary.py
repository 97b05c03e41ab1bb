"""One thing a reference says about one token of a definition, wherever it was learnt (E13, D13, D14)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Kind = Literal["field", "parameter", "action", "endpoint"]
Source = Literal["lookup", "digest", "user"]


class GlossaryEntry(BaseModel):
    """A token with its meaning (E13).

    `key` is the token as the definition writes it; for kind `endpoint` it is the endpoint itself. One token with
    different meanings on different endpoints has one scoped entry per meaning. An entry without a meaning is a
    hint for the name alone. `note` holds enum values, constraints, endpoint logic.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    kind: Kind
    name: str = ""
    meaning: str
    endpoints: tuple[str, ...] = ()
    note: str = ""
    source: Source

    def holds_at(self, endpoint: str) -> bool:
        """Whether the entry speaks of this endpoint, written `GET /x`; an entry without endpoints is global (E20)."""
        return not self.endpoints or endpoint in self.endpoints
