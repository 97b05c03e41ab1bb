"""How asking a language model fails, by what the asker should do next.

    ModelFailure              what every one of them carries: the usage of the failed call (D6)
    ├── Unavailable           Transient: ask again, after `retry_after` if it is set
    │   └── Unreachable       no API was met at the address: if that lasts, no prompt will be answered
    ├── TooLong               the prompt exceeds the model's context: split it, never resend it
    ├── Rejected              this prompt is refused: give this pass up, go on with the others
    │   └── Filtered          by the provider's content filter
    └── RefusingModel         every prompt would be refused: end the run after the first

Messages are one sentence for a person: what happened, and what to do. They never quote the server, whose text may
repeat the prompt or the key.
"""

from datetime import timedelta

from base.errors import LonghaulError, Permanent, Transient
from clients.llm.model import NOTHING, Usage


class ModelFailure(LonghaulError):
    """A call without an answer. `usage` is what it cost all the same."""

    usage: Usage = NOTHING


class Unavailable(ModelFailure, Transient):
    """Busy, broken, cut or too slow: trying again may help."""

    def __init__(self, message: str, *, usage: Usage = NOTHING, retry_after: timedelta | None = None) -> None:
        super().__init__(message, retry_after=retry_after)
        self.usage = usage


class Unreachable(Unavailable):
    """Nobody listens at the address, or somebody who is no model's API: that is the same for every prompt."""


class TooLong(ModelFailure, Permanent):
    """The prompt does not fit the model's context."""

    def __init__(self, message: str, *, usage: Usage = NOTHING) -> None:
        super().__init__(message, reason="context_length")
        self.usage = usage


class Rejected(ModelFailure, Permanent):
    """The provider refuses this prompt; the same bytes would be refused again."""

    def __init__(self, message: str, *, usage: Usage = NOTHING, reason: str = "prompt_rejected") -> None:
        super().__init__(message, reason=reason)
        self.usage = usage


class Filtered(Rejected):
    """The provider's content filter stopped the prompt before an answer began."""

    def __init__(self, message: str, *, usage: Usage = NOTHING) -> None:
        super().__init__(message, usage=usage, reason="content_filter")


class RefusingModel(ModelFailure, Permanent):
    """Key, permission, model name, address or quota: no call will succeed until somebody acts (D3)."""

    def __init__(self, message: str, *, usage: Usage = NOTHING) -> None:
        super().__init__(message, reason="model_refusing")
        self.usage = usage
