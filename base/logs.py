"""Structured logs: JSON lines on servers, readable on a terminal; one shape for ours and everyone else's."""

import logging
import sys

import structlog

from base.settings import Logging

_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]


def configure(settings: Logging) -> None:
    """Send every log record to stderr: stdout belongs to results.

    `format` auto means readable where stderr is a terminal, JSON elsewhere.
    """
    readable = settings.format == "console" or (settings.format == "auto" and sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()) if readable else structlog.processors.JSONRenderer()
    )
    before: list[structlog.typing.Processor] = [] if readable else [structlog.processors.format_exc_info]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *before, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.level)
    for chatty in ("httpx", "httpcore", "pika", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def get(name: str) -> structlog.stdlib.BoundLogger:
    """A logger; context bound with `structlog.contextvars` (job, lane, run) joins every line."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger
