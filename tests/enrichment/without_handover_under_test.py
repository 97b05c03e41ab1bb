"""What `dramatiq` works on in place of `actors` where no run may hand over before RabbitMQ takes its message back."""

from datetime import timedelta

from broker.ack_timeout import AckTimeout

AckTimeout.keep_for = property(lambda _self: timedelta(hours=1))  # type: ignore[assignment, method-assign]

import actors  # noqa: E402, F401  builds the broker, as it does for `dramatiq actors`
