"""The middlewares are shown on the same steps, jobs and processes as the broker."""

from tests.broker.conftest import jobs, lane, lane_url, settings, start, worker

__all__ = ["jobs", "lane", "lane_url", "settings", "start", "worker"]
