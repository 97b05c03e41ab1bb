"""The tables refuse rows whose state and times contradict each other."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.services.postgres import Clone, plain

# One row each of what may be: then one change to each that may not.
JOB = (
    "INSERT INTO jobs (id, account_id, task, lane, bucket, priority, max_attempts, ready{columns}) "
    "VALUES (gen_random_uuid(), gen_random_uuid(), 't', 'l', 't', 1, 3, true{values})"
)
RUNNING = (
    ", state, worker_id, started_at, progress_at, attempts, fence",
    ", 'running', gen_random_uuid(), now(), now(), 1, 1",
)
DONE = (
    ", state, worker_id, started_at, progress_at, finished_at, attempts, fence",
    ", 'done', gen_random_uuid(), now(), now(), now(), 1, 1",
)
PENDING = ("", "")

JOBS_REFUSED = [
    (PENDING, "state = 'waiting'"),
    (PENDING, "state = 'running'"),
    (PENDING, "worker_id = gen_random_uuid()"),
    (PENDING, "started_at = now()"),
    (PENDING, "finished_at = now()"),
    (PENDING, "state = 'done'"),
    (PENDING, "state = 'canceled', finished_at = now()"),
    (PENDING, "state = 'failed', finished_at = now(), reason = 'x'"),
    (PENDING, "state = 'failed', finished_at = now(), error = 'x'"),
    (PENDING, "max_attempts = NULL"),
    (PENDING, "max_recoveries = 1"),
    (PENDING, "max_attempts = NULL, max_recoveries = -1"),
    (PENDING, "max_attempts = NULL, max_recoveries = 1, recoveries = 2"),
    (PENDING, "max_attempts = 0"),
    (PENDING, "attempts = 4, fence = 4"),
    (PENDING, "attempts = 1"),
    (PENDING, "attempts = -1"),
    (PENDING, "recoveries = -1"),
    (RUNNING, "worker_id = NULL"),
    (RUNNING, "started_at = NULL"),
    (RUNNING, "progress_at = NULL"),
    (RUNNING, "finished_at = now()"),
    (RUNNING, "ready = false"),
    (RUNNING, "state = 'pending'"),
    (DONE, "finished_at = NULL"),
    (DONE, "state = 'running'"),
    (DONE, "state = 'pending'"),
]

DOMAIN = """
    INSERT INTO accounts (id, name) VALUES ('00000000-0000-0000-0000-000000000001', 'a'),
                                           ('00000000-0000-0000-0000-000000000002', 'b');
    INSERT INTO api_definitions (id, account_id, name, content_hash, media, spec_version, document, inventory)
    VALUES ('00000000-0000-0000-0000-00000000000d', '00000000-0000-0000-0000-000000000001', 'd', repeat('a', 64),
            'json', '3.0', '', '{}');
    INSERT INTO mappings (id, account_id, definition_id, name, current_version)
    VALUES ('00000000-0000-0000-0000-00000000000e', '00000000-0000-0000-0000-000000000001',
            '00000000-0000-0000-0000-00000000000d', 'm', 1);
    INSERT INTO mapping_versions (id, account_id, mapping_id, number, definition_id, content_hash, origin, content)
    VALUES (gen_random_uuid(), '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-00000000000e', 1,
            '00000000-0000-0000-0000-00000000000d', 'x', 'import', '{}');
    INSERT INTO enrichment_runs (id, account_id, mapping_id, job_id, definition_id, mapping_version, request_hash,
                                 provider, model, targets)
    VALUES ('00000000-0000-0000-0000-00000000000f', '00000000-0000-0000-0000-000000000001',
            '00000000-0000-0000-0000-00000000000e', gen_random_uuid(), '00000000-0000-0000-0000-00000000000d', 1, 'h',
            'offline', 'offline', '{}');
    INSERT INTO enrichment_passes (id, account_id, run_id, pass_key, kind, status, prompt, answer)
    VALUES (gen_random_uuid(), '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-00000000000f', 'k',
            'chunk', 'completed', 'p', '{}')
"""

DOMAIN_REFUSED = [
    "UPDATE api_definitions SET media = 'xml'",
    "UPDATE api_definitions SET content_hash = 'abc'",
    (
        "INSERT INTO api_definitions SELECT gen_random_uuid(), account_id, name, content_hash, media, spec_version, "
        "document, inventory, created_at FROM api_definitions"
    ),
    "UPDATE mappings SET status = 'Published'",
    "UPDATE mappings SET status = 'Enriching'",
    "UPDATE mappings SET status = 'Enriching', enriching_run_id = gen_random_uuid()",
    "UPDATE mappings SET status_before = 'Ready'",
    "UPDATE mappings SET enriching_run_id = gen_random_uuid()",
    "UPDATE mappings SET account_id = '00000000-0000-0000-0000-000000000002'",
    "UPDATE mapping_versions SET number = 0",
    "UPDATE mapping_versions SET origin = 'enrichment'",
    "UPDATE mapping_versions SET run_id = gen_random_uuid()",
    "UPDATE mapping_versions SET account_id = '00000000-0000-0000-0000-000000000002'",
    (
        "INSERT INTO mapping_versions SELECT gen_random_uuid(), account_id, mapping_id, number, definition_id, "
        "content_hash, origin, run_id, content, created_at FROM mapping_versions"
    ),
    "UPDATE enrichment_runs SET state = 'Processing', finished_at = now()",
    "UPDATE enrichment_runs SET state = 'Completed'",
    "UPDATE enrichment_runs SET finished_at = now()",
    "UPDATE enrichment_runs SET state = 'Failed', finished_at = now()",
    "UPDATE enrichment_runs SET total_items = -1",
    "UPDATE enrichment_runs SET account_id = '00000000-0000-0000-0000-000000000002'",
    # A mapping has one open run.
    (
        "INSERT INTO enrichment_runs (id, account_id, mapping_id, job_id, definition_id, mapping_version, "
        "request_hash, provider, model, targets) SELECT gen_random_uuid(), account_id, mapping_id, gen_random_uuid(), "
        "definition_id, 1, 'h', 'p', 'm', '{}' FROM enrichment_runs"
    ),
    "UPDATE enrichment_passes SET kind = 'thought'",
    "UPDATE enrichment_passes SET status = 'running'",
    "UPDATE enrichment_passes SET account_id = '00000000-0000-0000-0000-000000000002'",
    # An identity has one checkpoint.
    (
        "INSERT INTO enrichment_passes (id, account_id, run_id, pass_key, kind, status, prompt, answer) "
        "SELECT gen_random_uuid(), account_id, run_id, pass_key, kind, status, prompt, answer FROM enrichment_passes"
    ),
]

DOMAIN_ACCEPTED = [
    "UPDATE mappings SET status = 'Enriching', enriching_run_id = gen_random_uuid(), status_before = 'Draft'",
    "UPDATE enrichment_runs SET state = 'Failed', finished_at = now(), error = 'x'",
    "UPDATE enrichment_passes SET answer = NULL",
    # A pass that failed is logged beside its checkpoint.
    (
        "INSERT INTO enrichment_passes (id, account_id, run_id, pass_key, kind, status, prompt) "
        "SELECT gen_random_uuid(), account_id, run_id, pass_key, kind, 'failed', prompt FROM enrichment_passes"
    ),
]


@pytest.fixture
def connection(clone: Clone) -> Iterator[psycopg.Connection]:
    with psycopg.connect(plain(clone.superuser_url)) as opened:
        yield opened


def test_a_job_whose_columns_contradict_each_other_is_refused(connection: psycopg.Connection) -> None:
    for (columns, values), change in JOBS_REFUSED:
        connection.execute(JOB.format(columns=columns, values=values).encode())
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(f"UPDATE jobs SET {change}".encode())
        connection.rollback()


def test_an_error_is_cut_before_it_is_stored(connection: psycopg.Connection) -> None:
    connection.execute(JOB.format(columns="", values="").encode())
    with pytest.raises(psycopg.errors.StringDataRightTruncation):
        connection.execute(b"UPDATE jobs SET error = repeat('x', 501)")


def test_of_one_account_and_key_one_job_is_open(connection: psycopg.Connection) -> None:
    again = (
        "INSERT INTO jobs SELECT (jsonb_populate_record(j, jsonb_build_object('id', gen_random_uuid(), "
        "'state', 'pending', 'finished_at', NULL))).* FROM jobs j LIMIT 1"
    )
    connection.execute(JOB.format(columns=", key", values=", 'k'").encode())
    with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
        connection.execute(again.encode())
    connection.execute(b"UPDATE jobs SET state = 'canceled', reason = 'x', finished_at = now()")
    connection.execute(again.encode())


@pytest.mark.parametrize("statement", DOMAIN_REFUSED)
def test_enrichment_rows_that_contradict_are_refused(connection: psycopg.Connection, statement: str) -> None:
    connection.execute(DOMAIN.encode())
    with pytest.raises(psycopg.errors.IntegrityError):
        connection.execute(statement.encode())


def test_what_may_be_is_accepted(connection: psycopg.Connection) -> None:
    connection.execute(DOMAIN.encode())
    for statement in DOMAIN_ACCEPTED:
        connection.execute(statement.encode())
