"""What an operator can set: one frozen class per concern, read from `LONGHAUL_*` and nowhere else.

`LONGHAUL_LLM__BASE_URL` is `base_url` of `Llm`. Durations are ISO 8601 (`PT3M`) or seconds (`180`).
Unknown names are refused, and so are settings that contradict each other: a process with a typo does not start.
"""

import difflib
import os
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from base.errors import Misconfigured

PREFIX = "LONGHAUL_"
NESTED = "__"

#: Threads that run SQL and other blocking calls for a process's coroutines, beside its worker threads.
SQL_THREADS = 8


def _seconds(value: Any) -> Any:
    """A bare number is a count of seconds, as the sources write it."""
    if isinstance(value, str):
        try:
            return timedelta(seconds=float(value))
        except ValueError:
            return value
    return value


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("must be longer than nothing")
    return value


Duration = Annotated[timedelta, BeforeValidator(_seconds), AfterValidator(_positive)]


class _Concern(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DatabaseLimits(_Concern):
    """How connections to PostgreSQL behave."""

    pool_size: PositiveInt = Field(24, description="Connections a process may hold; at least its threads plus 8.")
    connect_timeout: Duration = Field(timedelta(seconds=5), description="How long one attempt to connect may take.")
    statement_timeout: Duration = Field(
        timedelta(seconds=5),
        description="Longest statement of ours; a snapshot held longer slows every claim.",
    )


class Broker(_Concern):
    """How RabbitMQ is used. Where it is stands in `LONGHAUL_BROKER_URL`."""

    queue_type: Literal["classic", "quorum"] = Field("classic", description="Type of the lanes' queues.")
    ack_timeout: Duration = Field(
        timedelta(hours=4),
        description="The broker's consumer_timeout: how long it lets a message stay unacked. Set both alike.",
    )
    ack_margin: Duration = Field(
        timedelta(minutes=20),
        description="A run hands over this long before the ack timeout; at least the slowest pass with retries.",
    )
    ack_tick: Duration = Field(
        timedelta(seconds=60),
        description="The broker's channel_tick_interval: a message may stay this much longer than the ack timeout.",
    )
    rabbitmqctl: str = Field(
        "rabbitmqctl", description="Command that reads the broker's ack timeout, where it can be run; or `none`."
    )
    heartbeat: Duration = Field(timedelta(seconds=60), description="AMQP heartbeat interval.")
    blocked_connection_timeout: Duration = Field(
        timedelta(seconds=5), description="How long a publish waits while the broker refuses publishers."
    )
    connect_timeout: Duration = Field(timedelta(seconds=5), description="How long one attempt to connect may take.")
    wake_target: PositiveInt = Field(5000, description="Most wake-ups the relay keeps ready in one lane's queue.")
    dead_letter_limit: PositiveInt = Field(1000, description="Most messages kept in a lane's dead-letter queue.")


class Worker(_Concern):
    """How a worker process behaves."""

    threads: PositiveInt = Field(8, description="Jobs one process runs at once.")
    shared: bool = Field(default=False, description="Development only: one process serves several lanes.")
    drain_grace: Duration = Field(
        timedelta(seconds=60), description="At SIGTERM, how long a pass in flight may go on before it is cut."
    )
    cancel_grace: Duration = Field(
        timedelta(seconds=30), description="Time a cancelled run has to end; then the watchdog ends its process."
    )
    relay_interval: Duration = Field(timedelta(seconds=1), description="How often a lane's queue is topped up.")


class Llm(_Concern):
    """The language model. Without `base_url` and `model` the offline model answers."""

    base_url: str | None = Field(
        None, description="Base of an OpenAI-compatible API, up to and without `/chat/completions`."
    )
    model: str | None = Field(None, description="Model (on Azure: deployment) to ask.")
    api_key: SecretStr | None = Field(None, description="Key; appears in no log, message, error or row.")
    api_key_header: Literal["authorization", "api-key"] = Field(
        "authorization", description="Header the key travels in: a bearer token, or Azure's `api-key`."
    )
    proxy: SecretStr | None = Field(
        None, description="Proxy to ask through, as http://user:password@host:port; proxy variables are not read."
    )
    max_concurrent_completions: PositiveInt = Field(
        4, description="Completions in flight at once per provider and process."
    )
    max_completion_tokens: PositiveInt = Field(8192, description="Longest answer asked for, in tokens.")
    retry_after_cap: Duration = Field(
        timedelta(seconds=120), description="Longest Retry-After obeyed; a longer one fails the chunk."
    )
    connect_timeout: Duration = Field(timedelta(seconds=5), description="How long one attempt to connect may take.")

    @model_validator(mode="after")
    def _both_or_neither(self) -> "Llm":
        if (self.base_url is None) != (self.model is None):
            raise ValueError(
                "a language model needs both LONGHAUL_LLM__BASE_URL and LONGHAUL_LLM__MODEL; set both or neither"
            )
        return self


class SemanticEnrichment(_Concern):
    """The enrichment pipeline; names and defaults are the specification's."""

    chunk_size_operations: PositiveInt = Field(3, description="Operations in a chunk before it is split.")
    max_prompt_characters: PositiveInt = Field(24_000, description="Prompt budget of one call, in characters.")
    enable_reference_distillation: bool = Field(default=True, description="Distil references once into a glossary.")
    enable_reference_lookup: bool = Field(
        default=True, description="Look tokens up in references that are tables, without a model."
    )
    max_reference_digest_input_characters: PositiveInt = Field(
        48_000, description="Reference text given to the digest pass; longer text is cut with a warning."
    )
    max_reference_digest_characters: PositiveInt = Field(6000, description="Longest glossary the digest may make.")
    max_fields_per_request_body: PositiveInt = Field(60, description="Request fields of one operation in a prompt.")
    max_fields_per_response_status: PositiveInt = Field(
        60, description="Response fields per status of one operation in a prompt."
    )
    separate_mapping_metadata_pass: bool = Field(
        default=True, description="Ask for the mapping's own name and description in a pass of their own."
    )
    max_chunk_retries: int = Field(2, ge=0, description="Retries of a pass after transient failures.")
    retry_delay_seconds: float = Field(2, ge=0, description="Seconds between attempts.")
    retry_on_invalid_json: bool = Field(default=True, description="Retry a pass whose answer is no valid JSON.")
    max_concurrent_chunks: PositiveInt = Field(1, description="Chunks of one run in flight at once.")
    timeout_seconds: float = Field(300, gt=0, description="Wall-clock limit of one call, in seconds.")
    temperature: float = Field(0.2, ge=0, le=2, description="Sampling temperature.")


class EnrichmentRunRecovery(_Concern):
    """When an interrupted run is taken as abandoned, and what happens then."""

    stale_run_threshold: Duration = Field(
        timedelta(minutes=3), description="Silence of a worker after which its runs are abandoned."
    )
    heartbeat_interval: Duration = Field(
        timedelta(seconds=30),
        description="How often a held run reports liveness; the worker's beat carries it.",
    )
    progress_stall_threshold: Duration = Field(
        timedelta(minutes=20), description="Time without a finished pass after which a run is taken as hung."
    )
    reaper_interval: Duration = Field(timedelta(minutes=5), description="How often abandoned runs are looked for.")
    reaper_batch_size: PositiveInt = Field(50, description="Most runs handled in one sweep.")
    max_recovery_attempts: int = Field(3, ge=0, description="Recoveries before a run is failed for good.")


class Limits(_Concern):
    """Sizes and times of what comes in from outside."""

    definition_bytes: PositiveInt = Field(50_000_000, description="Largest API definition, in bytes.")
    reference_bytes: PositiveInt = Field(20_000_000, description="Largest reference document, in bytes.")
    parsing_timeout: Duration = Field(timedelta(seconds=60), description="Longest parse of a definition.")
    extraction_timeout: Duration = Field(timedelta(seconds=10), description="Longest text extraction of one file.")


class Logging(_Concern):
    """What is logged, and how."""

    level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(_upper)] = Field(
        "INFO", description="Least severe level logged."
    )
    format: Literal["auto", "json", "console"] = Field(
        "auto", description="`auto` is readable on a terminal and JSON elsewhere."
    )


class Settings(BaseSettings):
    """All of it, read once at start."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter=NESTED, frozen=True, extra="forbid", env_ignore_empty=True
    )

    home: Path = Field(
        Path(__file__).resolve().parent.parent / ".longhaul", description="Folder of the embedded database."
    )
    database_url: SecretStr | None = Field(
        None, description="PostgreSQL to use, as the login role; without it the embedded one is started."
    )
    database_owner_url: SecretStr | None = Field(
        None, description="The same database as its owner; only `migrate` reads it."
    )
    broker_url: SecretStr | None = Field(
        None, description="RabbitMQ to use (amqp://...); without it jobs run in this process."
    )
    database: DatabaseLimits = DatabaseLimits()
    broker: Broker = Broker()
    worker: Worker = Worker()
    llm: Llm = Llm()
    semantic_enrichment: SemanticEnrichment = SemanticEnrichment()
    enrichment_run_recovery: EnrichmentRunRecovery = EnrichmentRunRecovery()
    limits: Limits = Limits()
    logging: Logging = Logging()

    @property
    def beat_interval(self) -> timedelta:
        """How often a worker process beats; the runs it holds share its beat (design: two liveness signals)."""
        return self.enrichment_run_recovery.heartbeat_interval

    @property
    def slowest_pass(self) -> timedelta:
        """The longest one pass may take: every attempt at its limit, every wait at its cap (E22)."""
        attempts = self.semantic_enrichment.max_chunk_retries + 1
        call = timedelta(seconds=self.semantic_enrichment.timeout_seconds)
        wait = max(self.llm.retry_after_cap, timedelta(seconds=self.semantic_enrichment.retry_delay_seconds))
        return attempts * call + (attempts - 1) * wait

    @property
    def least_ack_timeout(self) -> timedelta:
        """What the broker's ack timeout has to exceed, so that a run can hand over in time."""
        return self.slowest_pass + self.broker.ack_margin + self.broker.ack_tick

    @model_validator(mode="after")
    def _without_contradiction(self) -> "Settings":
        for sentence in self._contradictions():
            raise ValueError(sentence)
        return self

    def _contradictions(self) -> Iterator[str]:
        recovery, broker = self.enrichment_run_recovery, self.broker
        if self.database_owner_url is not None and self.database_url is None:
            yield (
                "LONGHAUL_DATABASE_OWNER_URL names a database's owner, but LONGHAUL_DATABASE_URL is not set and the "
                "embedded database would be used. Set LONGHAUL_DATABASE_URL to the same database, as its login role"
            )
        if recovery.stale_run_threshold < 3 * recovery.heartbeat_interval:
            yield (
                f"a run is called abandoned after {_span(recovery.stale_run_threshold)} of silence but reports only "
                f"every {_span(recovery.heartbeat_interval)}: a few missed beats would take a live run. "
                "Raise LONGHAUL_ENRICHMENT_RUN_RECOVERY__STALE_RUN_THRESHOLD to at least three times "
                "LONGHAUL_ENRICHMENT_RUN_RECOVERY__HEARTBEAT_INTERVAL"
            )
        if self.database.pool_size < self.worker.threads + SQL_THREADS:
            yield (
                f"{self.worker.threads} worker threads need {self.worker.threads + SQL_THREADS} connections to the "
                f"database, but a process may hold {self.database.pool_size}. Raise "
                "LONGHAUL_DATABASE__POOL_SIZE, or lower LONGHAUL_WORKER__THREADS"
            )
        if recovery.progress_stall_threshold <= self.slowest_pass:
            yield (
                f"a run is called hung after {_span(recovery.progress_stall_threshold)} without progress, but one "
                f"pass with its retries may take {_span(self.slowest_pass)}. Raise "
                "LONGHAUL_ENRICHMENT_RUN_RECOVERY__PROGRESS_STALL_THRESHOLD above that"
            )
        if broker.ack_margin < self.slowest_pass:
            yield (
                f"a run hands over {_span(broker.ack_margin)} before the ack timeout, but one pass may take "
                f"{_span(self.slowest_pass)}. Raise LONGHAUL_BROKER__ACK_MARGIN to at least that"
            )
        if broker.ack_timeout <= self.least_ack_timeout:
            yield (
                f"the broker takes a message back after {_span(broker.ack_timeout)}, but the slowest pass, the margin "
                f"and its tick need {_span(self.least_ack_timeout)}. Raise LONGHAUL_BROKER__ACK_TIMEOUT and the "
                "broker's consumer_timeout with it"
            )


def _span(value: timedelta) -> str:
    return f"{value.total_seconds():g} s"


@lru_cache(maxsize=1)
def load() -> Settings:
    """The settings of this process.

    Raises:
        Misconfigured: an unknown name, an unusable value, or a contradiction; the sentence names it.
    """
    _refuse_unknown_names()
    try:
        return Settings()
    except ValidationError as error:
        raise Misconfigured(_sentence(error)) from None


def names() -> dict[str, Any]:
    """Every setting by its environment name, with its field: what `docs/settings.md` has to list."""
    found: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, _Concern):
            for inner, inner_field in annotation.model_fields.items():
                found[f"{PREFIX}{name}{NESTED}{inner}".upper()] = inner_field
        else:
            found[f"{PREFIX}{name}".upper()] = field
    return found


def _refuse_unknown_names() -> None:
    known = [name.removeprefix(PREFIX) for name in names()]
    for name in sorted(os.environ):  # noqa: TID251  the one place
        word = name.upper().removeprefix(PREFIX)
        if name.upper().startswith(PREFIX) and word not in known:
            guess = difflib.get_close_matches(word, known, n=1)
            hint = f"Did you mean {PREFIX}{guess[0]}?" if guess else "docs/settings.md lists what can be set."
            raise Misconfigured(f"{name} is no setting of Longhaul. {hint}")


def _sentence(error: ValidationError) -> str:
    """The first complaint as one sentence that never repeats a value: it may be a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = PREFIX + NESTED.join(str(part) for part in first["loc"]).upper()
    what = first["msg"].removeprefix("Value error, ")
    return f"{what}." if first["type"] == "value_error" and not first["loc"][1:] else f"{where}: {what}."
