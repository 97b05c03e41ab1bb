"""The processes that stay: what they say, what they become, how they end."""

from pathlib import Path

import pytest

from base.terminal.exits import Exit
from tests.cli.running import Running, environment, longhaul, on
from tests.cli.scene import asking, definition, rows
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_server import LlmServer
from tests.services.postgres import Clone


def test_up_says_what_runs_works_and_ends_at_sigterm(clone: Clone, tmp_path: Path) -> None:
    with Running("up", env=on(clone)) as up:
        up.wait_for_words("Running.")
        assert "enrichment" in up.out
        assert "in this process" in up.out
        done = longhaul("enrich", definition(tmp_path), env=on(clone), cwd=tmp_path)
        assert done.code == Exit.DONE, done.said
        up.terminate()
        ended = up.ended()
    assert ended.code == Exit.DONE, ended.said
    assert "Traceback" not in ended.said


def test_up_does_not_compete_with_workers_of_a_broker(clone: Clone) -> None:
    done = longhaul("up", env=on(clone, LONGHAUL_BROKER_URL="amqp://guest:guest@127.0.0.1:1"))
    assert done.code == Exit.USAGE
    assert "LONGHAUL_BROKER_URL is set" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("words", [["worker", "--lane", "enrichment"], ["scheduler"]])
def test_a_process_of_its_own_needs_servers_to_meet_at(words: list[str]) -> None:
    done = longhaul(*words, env=environment())
    assert done.code == Exit.USAGE
    assert "LONGHAUL_DATABASE_URL and LONGHAUL_BROKER_URL" in done.err
    assert "./longhaul up" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_scheduler_whose_broker_is_away_says_so_in_one_sentence(clone: Clone) -> None:
    done = longhaul("scheduler", env=on(clone, LONGHAUL_BROKER_URL="amqp://guest:guest@127.0.0.1:1"))
    assert done.code != Exit.DONE
    assert "127.0.0.1:1" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_lane_that_is_not_there_is_named_with_those_that_are(clone: Clone, rabbit: str) -> None:
    done = longhaul("worker", "--lane", "enrichmnt", env=on(clone, LONGHAUL_BROKER_URL=rabbit))
    assert done.code == Exit.USAGE
    assert "enrichment" in done.err.partition("Take one of:")[2]


def test_enrich_over_rabbitmq_says_that_nobody_works_and_goes_on_when_somebody_does(
    clone: Clone, rabbit: str, tmp_path: Path
) -> None:
    small = definition(tmp_path)
    with LlmServer(enriching()) as server:
        env = asking(clone, server, LONGHAUL_BROKER_URL=rabbit)
        with Running("enrich", small, "--json", env=env, cwd=tmp_path) as following:
            following.wait_for_words("No worker of the lane `enrichment` for 10 s")
            # From another folder: the standard commands find the package all the same.
            with Running("worker", "--lane", "enrichment", "--threads", "2", env=env, cwd=tmp_path) as worker:
                done = following.ended()
                assert done.code == Exit.DONE, done.said + worker.err
                worker.terminate()
                assert worker.ended().code == Exit.DONE
        assert done.json["run"]["input_tokens"] == server.input_tokens


def test_following_over_rabbitmq_can_be_left_and_the_run_goes_on(clone: Clone, rabbit: str, tmp_path: Path) -> None:
    env = on(clone, LONGHAUL_BROKER_URL=rabbit)
    with Running("enrich", definition(tmp_path), env=env, cwd=tmp_path) as following:
        following.wait_for(lambda: rows(clone, "SELECT id FROM enrichment_runs"))
        following.wait_for_words("enriching")
        following.interrupt()
        done = following.ended()
    assert done.code == Exit.INTERRUPTED, done.said
    assert "The same command resumes it" in done.err
    assert [row["state"] for row in rows(clone, "SELECT state FROM jobs")] == ["pending"]


def test_the_scheduler_is_the_standard_command(clone: Clone, rabbit: str, tmp_path: Path) -> None:
    with Running("scheduler", env=on(clone, LONGHAUL_BROKER_URL=rabbit), cwd=tmp_path) as scheduler:
        scheduler.wait_for_words("Periodiq")
        scheduler.wait_for_words("upkeep")
        scheduler.terminate()
        scheduler.ended()
