"""The client of every OpenAI-compatible API: OpenAI, Azure's v1 path, vLLM, Ollama, llama.cpp.

One question is one call: a completion slot, a wall clock, and as many requests as it takes to find the parameters
that suit the model (D3). Nothing is tried again here: that is the caller's decision (E22).

Proxy variables and `.netrc` are not read, only LONGHAUL_LLM__PROXY: a prompt and a key go where the settings say, the
same from a shell and from a container, and a model on this machine is never asked through a company's proxy.
"""

import asyncio
import ssl
from collections.abc import Callable
from functools import lru_cache

import certifi
import httpx
from pydantic import SecretStr

from base import logs
from base.errors import Misconfigured
from clients.llm import slots
from clients.llm.errors import ModelFailure, Unavailable, Unreachable
from clients.llm.model import PROMPT_TRUNCATED, Ask, Completion
from clients.llm.usage import prompt_was_truncated
from clients.llm.wire import ladder
from clients.llm.wire.call import Call
from clients.llm.wire.dialect import Dialect
from clients.llm.wire.exchange import NoApi, ServerRefusal, Unusable, exchange
from clients.llm.wire.ladder import Step
from clients.llm.wire.refusals import failure_of
from clients.llm.wire.transcript import Transcript

log = logs.get(__name__)

_CHECK_ADDRESS = "check LONGHAUL_LLM__BASE_URL, which ends before /chat/completions"
_MORE_TIME = (
    "raise LONGHAUL_SEMANTIC_ENRICHMENT__TIMEOUT_SECONDS, or ask for less at a time with "
    "LONGHAUL_SEMANTIC_ENRICHMENT__CHUNK_SIZE_OPERATIONS"
)


class OpenAIModel:
    """One model behind one base URL.

    What all clients of a process share is in `slots` (by base URL) and `ladder` (by base URL and model). Connections
    are not kept: a call lasts seconds to minutes, and a pooled connection gone stale would cost an attempt.
    """

    def __init__(
        self,
        base_url: str,
        name: str,
        *,
        timeout: float,
        api_key: SecretStr | None = None,
        api_key_header: str = "authorization",
        max_concurrent: int = 4,
        connect_timeout: float = 5.0,
        proxy: SecretStr | None = None,
    ) -> None:
        """Opens nothing yet. `timeout` is the wall-clock limit of one call in seconds, waiting for a slot excluded.

        Raises:
            Misconfigured: the base URL, the key or the proxy can't be used.
        """
        self.name = name
        self._base_url = base_url
        self._url = _completions(base_url)
        self._timeout = timeout
        self._max_concurrent = max_concurrent
        key = _key_header(api_key, api_key_header)
        self._with_key = bool(key)
        self._http = httpx.AsyncClient(
            headers={
                # A compressed stream is held back until a block is full.
                "accept-encoding": "identity",
                "content-type": "application/json",
                "user-agent": "longhaul",
                **key,
            },
            # httpx's other limits are per read; the call's own clock and the stream's patience say more (D1).
            timeout=httpx.Timeout(None, connect=connect_timeout),
            limits=httpx.Limits(max_keepalive_connections=0),
            follow_redirects=False,
            trust_env=False,
            proxy=_proxy(proxy),
            verify=_trusted(),
        )

    def __repr__(self) -> str:
        return f"<{self.name} at {self.provider}>"

    @property
    def provider(self) -> str:
        """The host of the API, with its port where that is an unusual one."""
        return self._url.netloc.decode("ascii")

    async def complete(
        self,
        ask: Ask,
        *,
        on_tokens: Callable[[int], None] | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> Completion:
        """Answer once, as `LanguageModel` says. A cancellation closes the connection at once and is passed on."""
        call = Call(ask, on_tokens)
        async with slots.of_provider(self._base_url, self._max_concurrent).one(on_wait):
            outcome = await self._within_time(call)
        call.settle()
        if isinstance(outcome, Transcript):
            return self._completion(outcome, call)
        outcome.usage = call.spent
        # Raised outside of any handler: httpx's exceptions hold the request, and the request holds the key.
        raise outcome

    async def close(self) -> None:
        """Let go of connections. Closing twice is harmless."""
        await self._http.aclose()

    async def _within_time(self, call: Call) -> Transcript | ModelFailure:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._answer(call)
        except ServerRefusal as refusal:
            return failure_of(refusal.error, host=self.provider, model=self.name, with_key=self._with_key)
        except NoApi as other:
            return Unreachable(f"{self.provider} {other}: {_CHECK_ADDRESS}.")
        except Unusable as unusable:
            return Unavailable(f"{self.provider} {unusable}. Try again; its log may say why.")
        except httpx.HTTPError as error:
            return _broken(error, self.provider)
        except TimeoutError:
            if call.transcript is None:
                call.accepted()  # a server that takes this long has read the prompt
            return Unavailable(f"{self.provider} did not finish an answer within {self._timeout:g} s: {_MORE_TIME}.")

    async def _answer(self, call: Call) -> Transcript:
        """Ask in one dialect after another until the server refuses none of its parameters."""
        dialect = ladder.known(self._base_url, self.name)
        while isinstance(outcome := await self._ask_in(dialect, call), Step):
            call.settle()
            changes = dialect.changes_to(outcome.dialect)
            log.info("request adapted to the model", provider=self.provider, model=self.name, changes=changes)
            if outcome.remember:
                ladder.learn(self._base_url, self.name, changes)
            dialect = outcome.dialect
        return outcome

    async def _ask_in(self, dialect: Dialect, call: Call) -> Transcript | Step:
        """One request: its answer, or the step down that the server's refusal asks for."""
        try:
            return await exchange(self._http, self._url, dialect.body(self.name, call.ask), call)
        except ServerRefusal as refusal:
            if step := ladder.after_refusal(dialect, refusal.error):
                return step
            raise

    def _completion(self, answer: Transcript, call: Call) -> Completion:
        truncated = prompt_was_truncated(call.ask, answer.usage(call.ask))
        return Completion(answer.text, answer.finish, call.spent, (PROMPT_TRUNCATED,) if truncated else ())


def _completions(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise Misconfigured(
            "LONGHAUL_LLM__BASE_URL has to look like https://host/v1, without user or password: "
            "the key belongs in LONGHAUL_LLM__API_KEY."
        )
    return url.copy_with(path=url.path.rstrip("/") + "/chat/completions")


def _key_header(key: SecretStr | None, header: str) -> dict[str, str]:
    value = key.get_secret_value().strip() if key else ""
    if not value:
        return {}
    if not all("!" <= character <= "~" for character in value):
        # httpx would quote the whole header in its complaint.
        raise Misconfigured("LONGHAUL_LLM__API_KEY holds a space, a line break or a special character: copy it again.")
    return {header: value if header == "api-key" else f"Bearer {value}"}


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """The system's certificate authorities, for a company's own, and certifi's, where a system has none."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _broken(error: httpx.HTTPError, host: str) -> Unavailable:
    if isinstance(error, httpx.ProxyError):
        return Unreachable(f"The proxy lets no call to {host} through: check LONGHAUL_LLM__PROXY.")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        detail = str(error)[:120] or "no reaction"
        return Unreachable(f"{host} can't be reached ({detail}): is it running, and is LONGHAUL_LLM__BASE_URL right?")
    return Unavailable(
        f"The connection to {host} broke before the answer was complete. Try again; its log may say why."
    )


def _proxy(url: SecretStr | None) -> httpx.Proxy | None:
    if url is None:
        return None
    try:
        return httpx.Proxy(url.get_secret_value())
    except (ValueError, httpx.InvalidURL):
        # Not the cause's words: they repeat the URL, and it may hold a password.
        raise Misconfigured(
            "LONGHAUL_LLM__PROXY is no address of a proxy. Write it like http://proxy.example.com:3128."
        ) from None
