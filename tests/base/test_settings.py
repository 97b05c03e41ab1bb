"""What a process accepts from its environment, and the sentence it gives for what it doesn't."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from base.errors import Misconfigured
from base.settings import load, names


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in names():
        monkeypatch.delenv(name, raising=False)
    load.cache_clear()
    yield
    load.cache_clear()


def _refusal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Misconfigured) as refused:
        load()
    return str(refused.value)


def test_nothing_needs_to_be_set() -> None:
    settings = load()
    assert settings.database_url is None
    assert settings.broker_url is None
    assert settings.llm.model is None
    assert settings.home.name == ".longhaul"


def test_the_settings_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before = load()
    monkeypatch.setenv("LONGHAUL_WORKER__THREADS", "3")
    assert load() is before


def test_the_defaults_are_the_specifications() -> None:
    enrichment, recovery = load().semantic_enrichment, load().enrichment_run_recovery
    assert enrichment.chunk_size_operations == 3
    assert enrichment.max_prompt_characters == 24_000
    assert enrichment.max_reference_digest_input_characters == 48_000
    assert enrichment.max_reference_digest_characters == 6_000
    assert enrichment.max_fields_per_request_body == 60
    assert enrichment.max_fields_per_response_status == 60
    assert enrichment.max_chunk_retries == 2
    assert enrichment.retry_delay_seconds == 2
    assert enrichment.max_concurrent_chunks == 1
    assert enrichment.timeout_seconds == 300
    assert enrichment.temperature == 0.2
    assert enrichment.enable_reference_distillation
    assert enrichment.separate_mapping_metadata_pass
    assert enrichment.retry_on_invalid_json
    assert recovery.stale_run_threshold == timedelta(minutes=3)
    assert recovery.heartbeat_interval == timedelta(seconds=30)
    assert recovery.progress_stall_threshold == timedelta(minutes=20)
    assert recovery.reaper_interval == timedelta(minutes=5)
    assert recovery.reaper_batch_size == 50
    assert recovery.max_recovery_attempts == 3


@pytest.mark.parametrize("written", ["90", "90.0", "PT1M30S", "PT90S"])
def test_a_duration_is_seconds_or_iso_8601(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("LONGHAUL_WORKER__DRAIN_GRACE", written)
    assert load().worker.drain_grace == timedelta(seconds=90)


@pytest.mark.parametrize("written", ["0", "-5", "soon", "PT0S"])
def test_no_duration_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    assert "LONGHAUL_WORKER__DRAIN_GRACE" in _refusal(monkeypatch, LONGHAUL_WORKER__DRAIN_GRACE=written)


def test_an_empty_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_DATABASE_URL", "")
    monkeypatch.setenv("LONGHAUL_WORKER__THREADS", "")
    assert load().database_url is None
    assert load().worker.threads == 8


def test_a_path_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path))
    assert load().home == tmp_path


def test_an_unknown_name_is_refused_with_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    said = _refusal(monkeypatch, LONGHAUL_LLM__BASEURL="http://localhost")
    assert "LONGHAUL_LLM__BASEURL" in said
    assert "Did you mean LONGHAUL_LLM__BASE_URL?" in said


def test_an_unknown_name_like_no_other_points_to_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "docs/settings.md" in _refusal(monkeypatch, LONGHAUL_XYZZY_QUUX_PLUGH_FROBNICATE_QQQQ="1")


def test_a_model_without_an_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    said = _refusal(monkeypatch, LONGHAUL_LLM__MODEL="some-model")
    assert "LONGHAUL_LLM__BASE_URL" in said
    assert "LONGHAUL_LLM__MODEL" in said


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        (
            {"LONGHAUL_ENRICHMENT_RUN_RECOVERY__STALE_RUN_THRESHOLD": "60"},
            "LONGHAUL_ENRICHMENT_RUN_RECOVERY__STALE_RUN_THRESHOLD",
        ),
        ({"LONGHAUL_WORKER__THREADS": "60"}, "LONGHAUL_DATABASE__POOL_SIZE"),
        (
            {"LONGHAUL_ENRICHMENT_RUN_RECOVERY__HEARTBEAT_INTERVAL": "90"},
            "LONGHAUL_ENRICHMENT_RUN_RECOVERY__HEARTBEAT_INTERVAL",
        ),
        (
            {"LONGHAUL_ENRICHMENT_RUN_RECOVERY__PROGRESS_STALL_THRESHOLD": "600"},
            "LONGHAUL_ENRICHMENT_RUN_RECOVERY__PROGRESS_STALL_THRESHOLD",
        ),
        (
            {"LONGHAUL_SEMANTIC_ENRICHMENT__TIMEOUT_SECONDS": "900"},
            "LONGHAUL_ENRICHMENT_RUN_RECOVERY__PROGRESS_STALL_THRESHOLD",
        ),
        ({"LONGHAUL_BROKER__ACK_MARGIN": "60"}, "LONGHAUL_BROKER__ACK_MARGIN"),
        ({"LONGHAUL_BROKER__ACK_TIMEOUT": "1800"}, "LONGHAUL_BROKER__ACK_TIMEOUT"),
    ],
)
def test_a_contradiction_is_refused_with_what_to_raise(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], named: str
) -> None:
    said = _refusal(monkeypatch, **environment)
    assert named in said.partition("Raise")[2]
    assert said.endswith(".")


def test_a_level_may_be_written_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_LOGGING__LEVEL", "debug")
    assert load().logging.level == "DEBUG"


def test_the_slowest_pass_counts_every_attempt_and_every_wait() -> None:
    assert load().slowest_pass == timedelta(seconds=3 * 300 + 2 * 120)


def test_a_refusal_repeats_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    said = _refusal(monkeypatch, LONGHAUL_LLM__API_KEY_HEADER="sk-very-secret")
    assert "sk-very-secret" not in said
    assert "LONGHAUL_LLM__API_KEY_HEADER" in said


def test_a_secret_shows_in_no_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_LLM__BASE_URL", "http://localhost")
    monkeypatch.setenv("LONGHAUL_LLM__MODEL", "m")
    monkeypatch.setenv("LONGHAUL_LLM__API_KEY", "sk-very-secret")
    monkeypatch.setenv("LONGHAUL_BROKER_URL", "amqp://guest:hidden@localhost")
    assert "sk-very-secret" not in repr(load())
    assert "hidden" not in repr(load())


def test_an_owner_without_a_login_role_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    said = _refusal(monkeypatch, LONGHAUL_DATABASE_OWNER_URL="postgresql://owner:s3cret@db/longhaul")
    assert "Set LONGHAUL_DATABASE_URL" in said
    assert "s3cret" not in said
