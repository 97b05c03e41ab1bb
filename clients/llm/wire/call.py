"""One question on its way to a model: what has been received, and what it has cost so far, failed requests too (D6)."""

from collections.abc import Callable
from dataclasses import dataclass

from clients.llm.model import NOTHING, Ask, Usage
from clients.llm.usage import tokens_in
from clients.llm.wire.transcript import Transcript


@dataclass
class Call:
    """A call may take several requests; one is in flight at a time."""

    ask: Ask
    on_tokens: Callable[[int], None] | None = None
    spent: Usage = NOTHING
    #: What came for the request in flight; None while the server has not accepted it.
    transcript: Transcript | None = None

    def accepted(self) -> Transcript:
        """The server works on the request: from here on it costs."""
        self.transcript = Transcript()
        return self.transcript

    def advanced(self) -> None:
        """Something arrived: say how many output tokens that makes, by our own count."""
        if self.on_tokens is not None and self.transcript is not None:
            self.on_tokens(self.spent.output_tokens + tokens_in(self.transcript.characters))

    def settle(self) -> None:
        """The request in flight is over; what it cost is added up."""
        if self.transcript is not None:
            self.spent += self.transcript.usage(self.ask)
        self.transcript = None
