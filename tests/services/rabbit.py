"""RabbitMQ for tests: a vhost of one's own on a server that is there, or a node of one's own that may be killed."""

import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import pika

from tests.services.rabbit_management import Managed

USUAL = "amqp://guest:guest@127.0.0.1:5672"
GET_IT = "apt-get install rabbitmq-server (Debian, Ubuntu) or brew install rabbitmq (macOS)"

_SEARCH = f"/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin:{os.defpath}"
#: Debian's wrappers become user `rabbitmq`: right for the machine's own server, wrong for one with files of ours.
_UNWRAPPED = "/usr/lib/rabbitmq/bin"
#: Starting Erlang on a busy machine of two cores.
_BOOT_SECONDS = 90


class Unavailable(Exception):
    """There is no RabbitMQ to be had here."""


@dataclass(frozen=True)
class Server:
    """A RabbitMQ that answers, and the command that administers it."""

    url: str
    ctl: tuple[str, ...]
    env: dict[str, str] | None = None

    def control(self, *arguments: str) -> str:
        """Run rabbitmqctl. Raises CalledProcessError with what it said."""
        done = subprocess.run(
            [*self.ctl, "-q", *arguments],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=self.env,
            timeout=60,
        )
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, arguments, done.stdout, done.stderr)
        return done.stdout

    @contextmanager
    def vhost(self) -> Iterator[str]:
        """The address of a fresh vhost; deleted at the end, with every queue in it."""
        name = f"longhaul-test-{secrets.token_hex(4)}"
        self.control("add_vhost", name)
        try:
            self.control("set_permissions", "-p", name, urlsplit(self.url).username or "guest", ".*", ".*", ".*")
            yield f"{self.url}/{name}"
        finally:
            self.control("delete_vhost", name)

    def queues(self, vhost: str) -> dict[str, tuple[int, int]]:
        """Ready and unacknowledged messages of every queue in a vhost, as the broker counts them."""
        listed = self.control("list_queues", "-p", vhost, "name", "messages_ready", "messages_unacknowledged")
        rows = (line.split("\t") for line in listed.splitlines() if not line.startswith("name\t"))
        return {name: (int(ready), int(unacked)) for name, ready, unacked in rows}


def running(url: str = USUAL, ctl: str | None = None) -> "Server | Managed | None":
    """The server at this address, if it answers and can be administered from here."""
    if not _answers(url):
        return None
    command = tuple(shlex.split(ctl)) if ctl else _program("rabbitmqctl")
    if command and (ctl or url == USUAL):  # without a word to the contrary, rabbitmqctl means the machine's own
        server = Server(url.rstrip("/"), command)
        with suppress(subprocess.SubprocessError, OSError):
            server.control("list_vhosts")
            return server
    managed = Managed(url)
    return managed if managed.answers() else None


class Node:
    """A RabbitMQ node of one's own: other ports, own cookie, own files, own epmd. It may be killed and restarted.

    Args:
        conf: further lines of rabbitmq.conf, such as `consumer_timeout = 3000`.
        advanced: terms of advanced.config, such as `{rabbit, [{channel_tick_interval, 1000}]}`.
    """

    def __init__(self, conf: Sequence[str] = (), advanced: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="longhaul-rabbit-"))
        try:
            self._server_command = self.command("rabbitmq-server")
            self._epmd_command = self.command("epmd")
            ctl = self.command("rabbitmqctl")
        except Unavailable:
            self.folder.rmdir()
            raise
        seen = self.seen_folder()
        self.port, dist, epmd_port = _free_ports(3)
        self._write_files(conf, advanced)
        env = {
            "PATH": _SEARCH,
            "HOME": str(seen),
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": f"longhaul-{secrets.token_hex(3)}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(dist),
            "ERL_EPMD_PORT": str(epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": str(seen / "data"),
            "RABBITMQ_LOG_BASE": str(seen / "log"),
            "RABBITMQ_CONF_ENV_FILE": str(seen / "empty"),
            "RABBITMQ_CONFIG_FILE": str(seen / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(seen / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(seen / "plugins"),
            # Two schedulers are plenty, and waiting ones must not spin on a small machine.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
        }
        self.server = Server(f"amqp://guest:guest@127.0.0.1:{self.port}", ctl, env)
        self._process: subprocess.Popen[bytes] | None = None
        self._epmd: subprocess.Popen[bytes] | None = None

    def command(self, name: str) -> tuple[str, ...]:
        """What runs a program of RabbitMQ's or Erlang's for this node. Raises Unavailable."""
        found = _program(name, _UNWRAPPED)
        if not found:
            raise Unavailable("rabbitmq-server is not installed")
        return found

    def seen_folder(self) -> Path:
        """Its folder, as its programs see it."""
        return self.folder

    @property
    def url(self) -> str:
        """The address of its default vhost."""
        return f"{self.server.url}/%2F"

    def start(self) -> Self:
        """Start it, again after a kill as well, and wait until it takes connections."""
        if self._epmd is None:
            self._epmd = self._spawn(*self._epmd_command)
        self._process = self._spawn(*self._server_command)
        deadline = time.monotonic() + _BOOT_SECONDS
        while not _answers(self.server.url):
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = (self.folder / "out").read_text(errors="replace")[-2000:]
                self.close()
                raise Unavailable(f"the node did not come up: {said}")
            time.sleep(0.1)
        return self

    def kill(self) -> None:
        """End it as a crash would."""
        _end(self._process)
        self._process = None

    def restart(self) -> None:
        """Crash and come back with what was on disk."""
        self.kill()
        self.start()

    def close(self) -> None:
        """End it and remove its files."""
        self.kill()
        _end(self._epmd)
        self._epmd = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_files(self, conf: Sequence[str], advanced: str) -> None:
        (self.folder / "empty").touch()
        (self.folder / "plugins").write_text("[].\n")
        lines = ["loopback_users = none", "log.console = false", *conf]
        (self.folder / "rabbitmq.conf").write_text("".join(f"{line}\n" for line in lines))
        (self.folder / "advanced.config").write_text(f"[{advanced}].\n")

    def _spawn(self, *command: str) -> "subprocess.Popen[bytes]":
        with (self.folder / "out").open("ab") as out:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self.server.env,
                cwd=self.folder,
                start_new_session=True,
            )


def _end(process: "subprocess.Popen[bytes] | None") -> None:
    if process is not None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # start_new_session: the group is ours alone
        process.wait()


def _answers(url: str) -> bool:
    """Whether the broker lets us in, by AMQP: its port opens before it does."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 5672), timeout=2).close()
        parameters = pika.URLParameters(f"{url.rstrip('/')}/%2F?connection_attempts=1&socket_timeout=5")
        pika.BlockingConnection(parameters).close()
    except (OSError, pika.exceptions.AMQPError):
        return False
    return True


def _program(name: str, *before: str) -> tuple[str, ...]:
    found = shutil.which(name, path=":".join((*before, _SEARCH))) or shutil.which(name)
    return (found,) if found else ()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
