"""What a language model is to the house: one question, one answer, and what it cost.

Every model (OpenAI-compatible or offline) keeps this protocol; nothing here knows who asks or why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Message:
    """One message of a prompt."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True)
class Ask:
    """One question. `schema` is the JSON schema of the answer; `temperature` None leaves it to the model.

    `facts` is the part of the messages that is data, once more as data: for a model that reads no prose.
    `enforced`: the server is asked to enforce the schema. Without, the messages alone say what form the answer has.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    schema_name: str
    max_completion_tokens: int
    temperature: float | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    enforced: bool = True


@dataclass(frozen=True)
class Usage:
    """Tokens of one or more calls. `estimated`: at least one number is ours, not the provider's."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False

    @property
    def total_tokens(self) -> int:
        """Input and output together; cached tokens are part of the input."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            estimated=self.estimated or other.estimated,
        )


#: A call that cost nothing, or nothing that anyone can know of.
NOTHING = Usage()

#: How an answer ended. Read it before the text (D2): after `length` the text is cut, after `filtered` it is no answer.
Finish = Literal["stop", "length", "filtered"]

#: The server counted far fewer prompt tokens than it was sent: it cuts prompts silently at its own context size.
PROMPT_TRUNCATED = "prompt_truncated_by_server"


@dataclass(frozen=True)
class Completion:
    """One answer. `usage` covers every request the answer took; `warnings` are literal codes."""

    text: str
    finish: Finish
    usage: Usage
    warnings: tuple[str, ...] = ()


class LanguageModel(Protocol):
    """A model that answers one question at a time; any number of calls may be in flight."""

    @property
    def provider(self) -> str:
        """Who answers: `offline`, or the host of the API."""
        ...

    @property
    def name(self) -> str:
        """The model's (on Azure: the deployment's) name."""
        ...

    async def complete(
        self,
        ask: Ask,
        *,
        on_tokens: Callable[[int], None] | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> Completion:
        """Answer once; trying again is the caller's decision (E22).

        `on_tokens` gets the output tokens received so far in this call, estimated, while they arrive. A cancelled
        call has no other way to say what it cost. `on_wait` is called every few seconds while the call waits for a
        free completion slot.

        Raises:
            Unavailable: trying again may help; `retry_after` is the provider's wish.
            Unreachable: so it may, but what was met at the address is no API.
            TooLong: the prompt does not fit the model's context; a smaller one may.
            Rejected, Filtered: this prompt is not answered, others may be.
            RefusingModel: no prompt will be answered until somebody acts.
        """
        ...

    async def close(self) -> None:
        """Let go of connections. Closing twice is harmless."""
        ...
