"""Language models: one protocol, an OpenAI-compatible client and an offline model."""

from base.errors import Misconfigured
from base.settings import Settings
from clients.llm.model import LanguageModel

#: The name that asks for the built-in model, whatever else is configured.
OFFLINE = "offline"


def from_settings(settings: Settings, model: str | None = None) -> LanguageModel:
    """The configured model, or the one named `model` at the same API; offline when no API is configured.

    Raises:
        Misconfigured: a model is named but no API is configured, or the API's settings can't be used.
    """
    llm = settings.llm
    if model == OFFLINE or (llm.base_url is None and model is None):
        from clients.llm.offline import OfflineModel  # noqa: PLC0415  it reads word lists

        return OfflineModel()
    name = model or llm.model
    if llm.base_url is None or name is None:
        raise Misconfigured(f"Model {model} can't be asked: set LONGHAUL_LLM__BASE_URL and LONGHAUL_LLM__MODEL.")
    from clients.llm.openai import OpenAIModel  # noqa: PLC0415  it loads an HTTP stack

    return OpenAIModel(
        llm.base_url,
        name,
        timeout=settings.semantic_enrichment.timeout_seconds,
        api_key=llm.api_key,
        api_key_header=llm.api_key_header,
        max_concurrent=llm.max_concurrent_completions,
        connect_timeout=llm.connect_timeout.total_seconds(),
        proxy=llm.proxy,
    )
