"""The engine bench in small: what it measures is a machine's affair, what it proves is not."""

from bench import engine
from tests.services.rabbit import Server
from tests.services.rabbit_management import Managed


def test_each_job_is_done_once_and_in_order(rabbit_server: Server | Managed) -> None:
    with engine.servers(rabbit_server) as where:
        jobs_a_second = engine.drain_ledger(where, 300)  # or it says that one was not done once
        _, one_after_the_other = engine.order(where, 300)

    assert jobs_a_second > 0
    assert one_after_the_other == 0
