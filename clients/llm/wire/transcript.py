"""What has been received of one answer, whole or in pieces, and what may be concluded from it."""

from collections.abc import Mapping
from typing import Any

from clients.llm.model import Ask, Finish, Usage
from clients.llm.usage import measured

#: Some models under a schema fall into writing blanks until their token limit (vLLM); no JSON is indented this far.
BLANKS_OF_A_LOOP = 500

#: Ends that are the server's trouble, not the end of an answer.
_BROKEN_OFF = {"error", "abort", "insufficient_system_resource"}


class Transcript:
    """Grows with every chunk. Any key of a chunk may be missing, null or empty; a complete answer is one big chunk."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._refusal = ""
        self._finish: str | None = None
        self._reported: Mapping[str, Any] | None = None
        self._blanks = 0
        self.characters = 0
        self.has_choices = False
        self.done = False

    def take(self, chunk: Mapping[str, Any]) -> None:
        """Add one chunk."""
        usage = chunk.get("usage")
        if isinstance(usage, Mapping) and usage:
            self._reported = usage
        choices = chunk.get("choices")
        self.has_choices = self.has_choices or isinstance(choices, list)
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return
        message = choice.get("delta") or choice.get("message") or {}
        if isinstance(message, Mapping):
            self._add(_text(message.get("content")))
            self._refusal += _text(message.get("refusal"))
            # Thinking is paid for like text, and shows that the model works.
            self.characters += len(_text(message.get("reasoning_content") or message.get("reasoning")))
        finish = choice.get("finish_reason")
        if isinstance(finish, str):
            self._finish = finish

    @property
    def text(self) -> str:
        """The answer so far; for a refusal, what the model said instead."""
        text = "".join(self._parts) or self._refusal
        # Joins the halves of surrogate pairs that came in two chunks; what stays half is no character.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    @property
    def ended(self) -> bool:
        """Whether this is all: the server said so, or there is no point in reading on."""
        return self.done or self._finish is not None or self.loops

    @property
    def broken_off(self) -> bool:
        """Whether the server ended the answer for reasons of its own."""
        return self._finish in _BROKEN_OFF

    @property
    def loops(self) -> bool:
        """Whether the model writes nothing but blanks any more, and did not stop of itself."""
        return self._blanks >= BLANKS_OF_A_LOOP and self._finish != "stop"

    @property
    def finish(self) -> Finish:
        """How the answer ended. What is neither filtered nor cut counts as `stop`: reading the text will tell."""
        if self._refusal or self._finish == "content_filter":
            return "filtered"
        return "length" if self._finish in ("length", "max_tokens") and not self.loops else "stop"

    def usage(self, ask: Ask) -> Usage:
        """What it cost up to here; reported only if the server got that far."""
        return measured(ask, self._reported, self.characters)

    def _add(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        self.characters += len(text)
        kept = len(text.rstrip())
        self._blanks = len(text) - kept + (0 if kept else self._blanks)


def _text(content: Any) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(text for text in texts if isinstance(text, str))
    return ""
