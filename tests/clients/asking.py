"""How these tests ask: one question, one client, one loop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from clients.llm.model import Ask, Completion, Message
from clients.llm.openai import OpenAIModel
from tests.fakes.llm_server import LlmServer, Received

T = TypeVar("T")

SYSTEM = "You name the fields of an API."
QUESTION = "Name the field p_act, please."

#: The key of these tests: a value no other text contains.
KEY = "sk-Q7fz-never-to-be-seen-4411"


def ask(question: str = QUESTION, **changes: Any) -> Ask:
    found: dict[str, Any] = {
        "messages": (Message("system", SYSTEM), Message("user", question)),
        "schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        "schema_name": "names",
        "max_completion_tokens": 1000,
        "temperature": 0.2,
    }
    return Ask(**(found | changes))


def client(server: LlmServer | str, **options: Any) -> OpenAIModel:
    url = server if isinstance(server, str) else server.url
    return OpenAIModel(url, options.pop("name", "scripted"), **({"timeout": 10.0} | options))


def with_client(server: LlmServer | str, use: Callable[[OpenAIModel], Awaitable[T]], **options: Any) -> T:
    """Run `use` with a client on a loop of its own, and close the client."""

    async def run() -> T:
        model = client(server, **options)
        try:
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(run())


def complete(server: LlmServer | str, question: Ask | None = None, **options: Any) -> Completion:
    """Ask once. `on_tokens` and `on_wait` go to the call, everything else to the client."""
    listeners = {name: options.pop(name) for name in ("on_tokens", "on_wait") if name in options}
    return with_client(server, lambda model: model.complete(question or ask(), **listeners), **options)


def sent_format(request: Received) -> str | None:
    """The kind of `response_format` a request carried."""
    found: str | None = (request.body.get("response_format") or {}).get("type")
    return found
