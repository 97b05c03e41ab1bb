"""Asks a model one tiny question, to tell whether it can be asked at all."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from clients.llm.errors import ModelFailure, RefusingModel
from clients.llm.model import Ask, LanguageModel, Message

_QUESTION = Ask(
    messages=(Message("user", 'Answer with the JSON object {"ok": true} and nothing else.'),),
    schema={"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
    schema_name="probe",
    max_completion_tokens=16,
    temperature=None,
)


@dataclass(frozen=True)
class Probe:
    """What was found: one sentence, without key or prompt."""

    state: Literal["answers", "refuses", "unavailable"]
    sentence: str


async def probe(model: LanguageModel, *, seconds: float = 30) -> Probe:
    """Ask. Any answer will do: this is about the way there, not about the model's wits."""
    if model.provider == "offline":
        return Probe("answers", "The offline model is built in.")
    try:
        async with asyncio.timeout(seconds):
            await model.complete(_QUESTION)
    except RefusingModel as refusing:
        return Probe("refuses", str(refusing))
    except ModelFailure as failure:
        return Probe("unavailable", str(failure))
    except TimeoutError:
        return Probe("unavailable", f"{model.provider} did not answer within {seconds:g} s: is it still loading?")
    return Probe("answers", f"{model.name} at {model.provider} answers.")
