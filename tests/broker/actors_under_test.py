"""What `dramatiq tests.broker.actors_under_test` works on: the steps for tests, as a pipeline's would be."""

from base.errors import LonghaulError
from base.settings import load
from middleware.standard import use_broker
from tests.broker import steps_under_test  # noqa: F401  declares the steps

try:
    use_broker(load(), lambda: None)
except LonghaulError as error:
    raise SystemExit(str(error)) from None
