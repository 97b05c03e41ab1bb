"""Guards, each a named function, and the test that has to fail without it.

`tests/test_mutants.py` runs each test in a child process in which the guard is disabled, and expects it to fail there.
This module is also the plugin that disables one: `pytest -p tests.mutants --without MUTANT TEST`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest


def _nothing(*_: Any, **__: Any) -> None:
    """Let everything pass."""


def _yes(*_: Any, **__: Any) -> bool:
    return True


def _as_it_is(value: Any) -> Any:
    return value


def _just_do_it(call: Callable[[], Any]) -> Any:
    return call()


def _true(*_: Any) -> str:
    """As a condition in SQL."""
    return "true"


def _select_nothing(*_: Any) -> str:
    return "SELECT 1"


@dataclass(frozen=True)
class Mutant:
    """A guard by its dotted name, what takes its place, and the test that shows it."""

    guard: str
    instead: Callable[..., Any]
    test: str


MUTANTS: dict[str, Mutant] = {
    "the claim hook fails closed": Mutant(
        "middleware.claim:fail_closed",
        _just_do_it,
        "tests/middleware/test_claim.py::test_a_hook_that_raises_does_not_run_the_body",
    ),
    "a step refuses to run without a claim": Mutant(
        "broker.life:claimed",
        _as_it_is,
        "tests/middleware/test_claim.py::test_a_step_without_a_claim_refuses",
    ),
    "only the consumer that delivered a message settles it": Mutant(
        "broker.consumer:SafeConsumer.delivered",
        _yes,
        "tests/broker/test_consumer.py::test_a_late_ack_after_a_channel_reset_loses_nothing",
    ),
    "a draining worker takes no new message": Mutant(
        "broker.consumer:SafeConsumer.stop_taking",
        _nothing,
        "tests/broker/test_consumer.py::test_a_draining_consumer_takes_no_new_message",
    ),
    "what RabbitMQ does counts before what the setting says": Mutant(
        "broker.ack_timeout:smaller",
        lambda setting, _known: setting,
        "tests/broker/test_ack_timeout.py::test_the_smaller_of_setting_and_known_counts[1800-1800-600]",
    ),
    "a stale fence writes nothing": Mutant(
        "ledger.fencing:refuse_stale",
        _as_it_is,
        "tests/ledger/test_fencing.py::test_a_stale_fence_writes_nothing",
    ),
    "of a cancel and a finish exactly one wins": Mutant(
        "ledger.fencing:refuse_stale",
        _as_it_is,
        "tests/ledger/test_canceling.py::test_of_a_cancel_and_a_finish_exactly_one_wins",
    ),
    "a checkpoint is known by what was asked of whom": Mutant(
        "actors.enrichment.checkpoints:pass_key",
        lambda kind, operations, *_: f"{kind}:{'|'.join(operations)}",
        "tests/enrichment/test_resuming.py::test_another_model_answers_for_itself",
    ),
    "the reap looks again in the statement that writes": Mutant(
        "schema.ledger.reaping:still_abandoned",
        _true,
        "tests/ledger/test_reaping.py::test_what_beats_between_the_look_and_the_write_is_left_alone",
    ),
    "the reap takes the claim it found and no later one": Mutant(
        "schema.ledger.reaping:still_held",
        _true,
        "tests/ledger/test_taking_back.py::test_a_run_claimed_again_in_between_is_not_the_one_that_was_found",
    ),
    "the reaper holds back when the world looks sick": Mutant(
        "actors.upkeep.reap:looks_sick",
        _nothing,
        "tests/actors/test_reaper.py::test_five_of_nine_at_once_are_the_worlds_fault",
    ),
    "no process works as its login role": Mutant(
        "schema.engine:enter_role",
        _nothing,
        "tests/schema/test_engine.py::test_nothing_of_another_account_is_read_even_by_a_login_that_inherits",
    ),
    "every transaction is in one account": Mutant(
        "schema.engine:enter_account",
        _select_nothing,
        "tests/schema/test_engine.py::test_nothing_of_another_account_is_read_even_by_a_login_that_inherits",
    ),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one option."""
    parser.addoption(
        "--without", required=True, metavar="MUTANT", help="the mutant, by its name, whose guard to disable"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Disable it, before anything else of the house is imported and keeps it by name."""
    mutant = MUTANTS[config.getoption("--without")]
    module, _, path = mutant.guard.partition(":")
    *owners, name = path.split(".")
    owner: Any = import_module(module)
    for step in owners:
        owner = getattr(owner, step)
    assert callable(getattr(owner, name)), f"{mutant.guard} is no guard any more"
    setattr(owner, name, mutant.instead)
