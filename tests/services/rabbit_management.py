"""A RabbitMQ that is administered through its management API, as one in a container beside the tests is."""

import base64
import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

_PORT = 15672


class Managed:
    """A RabbitMQ that answers, and lets the same user administer it on the usual port beside it."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(url)
        self.user = parts.username or "guest"
        self._base = f"http://{parts.hostname}:{_PORT}/api"
        token = base64.b64encode(f"{self.user}:{parts.password or 'guest'}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}

    @contextmanager
    def vhost(self) -> Iterator[str]:
        """The address of a fresh vhost; deleted at the end, with every queue in it."""
        name = f"longhaul-test-{secrets.token_hex(4)}"
        self._ask("PUT", f"/vhosts/{name}", {})
        try:
            everything = {"configure": ".*", "write": ".*", "read": ".*"}
            self._ask("PUT", f"/permissions/{name}/{self.user}", everything)
            yield f"{self.url}/{name}"
        finally:
            self._ask("DELETE", f"/vhosts/{name}")

    def queues(self, vhost: str) -> dict[str, tuple[int, int]]:
        """Ready and unacknowledged messages of every queue in a vhost; up to some seconds old."""
        listed = self._ask("GET", f"/queues/{vhost}")
        return {one["name"]: (one.get("messages_ready", 0), one.get("messages_unacknowledged", 0)) for one in listed}

    def answers(self) -> bool:
        """Whether the API lets us in."""
        try:
            self._ask("GET", "/vhosts")
        except (OSError, urllib.error.URLError):
            return False
        return True

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, self._headers, method=method)  # noqa: S310  http
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            text = answer.read()
        return json.loads(text) if text else None
