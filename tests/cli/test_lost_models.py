"""How `enrich` ends when its model can't be asked any more: the exit code, the reason once, and how to go on."""

from pathlib import Path

import pytest

from base.terminal.exits import Exit
from tests.cli.running import longhaul
from tests.cli.scene import asking, definition
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_replies import filtered, overloaded, status, throttled, unauthorized, web_page
from tests.fakes.llm_server import LlmServer, Reply
from tests.services.postgres import Clone

GOES_ON = "--only-missing goes on"


@pytest.fixture
def six(tmp_path: Path) -> Path:
    """Six chunks and the overview."""
    return definition(tmp_path, operations=6)


@pytest.mark.parametrize(
    ("reply", "to_do", "requests"),
    [
        (web_page(200), "LONGHAUL_LLM__BASE_URL", 3),
        (unauthorized(), "LONGHAUL_LLM__API_KEY", 1),
        (status(500), "try again later", 7 * 3),
        (throttled("300"), "LONGHAUL_LLM__RETRY_AFTER_CAP", 7),
        (filtered(), "--model", 7),
    ],
    ids=["no API", "refused", "broken", "away for longer than is obeyed", "filtered"],
)
def test_nothing_answered_is_a_failure_with_its_reason_once(
    clone: Clone, six: Path, reply: Reply, to_do: str, requests: int
) -> None:
    with LlmServer(reply) as server:
        done = longhaul("enrich", six, env=asking(clone, server), cwd=six.parent)
    assert done.code == Exit.FAILED, done.said
    assert len(server.requests) == requests
    assert done.said.count(to_do) == 1, done.said
    assert "Nothing was applied; the mapping is as it was." in done.err


@pytest.mark.parametrize(
    ("then", "options", "requests"),
    [
        (web_page(200), (), 2 + 3 * 3),
        (unauthorized(), (), 2 + 1),
        (enriching(), ("--max-tokens", "1"), 1),
    ],
    ids=["no API", "refused", "token limit"],
)
def test_a_part_is_applied_and_the_rest_can_be_asked(
    clone: Clone, six: Path, then: Reply, options: tuple[str, ...], requests: int
) -> None:
    with LlmServer(then) as server:
        server.then(enriching(), enriching())
        done = longhaul("enrich", six, "--json", *options, env=asking(clone, server), cwd=six.parent)
    assert done.code == Exit.PARTIAL, done.said
    assert len(server.requests) == requests
    run = done.json["run"]
    assert run["counts"]["stopped"] > 0
    [warning] = run["warnings"]
    assert GOES_ON in warning["text"]


def test_a_model_that_is_away_for_a_moment_is_waited_for(clone: Clone, six: Path) -> None:
    with LlmServer(enriching()) as server:
        server.then(overloaded("0"), web_page(200))
        done = longhaul("enrich", six, env=asking(clone, server), cwd=six.parent)
    assert done.code == Exit.DONE, done.said
    assert len(server.requests) == 7 + 2
