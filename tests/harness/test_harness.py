"""The harness itself: what a machine lacks is left out and said, unless everything was demanded."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pika
import pytest

from cli import testing
from tests.services import rabbit_four
from tests.services.rabbit import Node, Server
from tests.services.rabbit_management import Managed

_ROOT = Path(__file__).resolve().parent.parent.parent


def _tests(*words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/harness/needs_rabbit.py", *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=_ROOT,
    )
    return done.returncode, done.stdout + done.stderr


def test_without_rabbitmq_its_tests_are_left_out_and_the_end_says_how_to_get_it() -> None:
    code, said = _tests("--rabbitmq", "none")
    assert code == 0, said
    assert "3 skipped" in said
    assert "Left out: 2 tests that need RabbitMQ. To run them: apt-get install rabbitmq-server" in said


def test_without_a_4_0_only_its_tests_are_left_out() -> None:
    code, said = _tests("--rabbitmq4", "none")
    assert code == 0, said
    assert "2 passed, 1 skipped" in said
    assert "Left out: 1 tests that need RabbitMQ 4.0. To run them: ./longhaul test, as root on Debian" in said


def test_a_4_0_is_made_once_and_only_where_installing_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    fake = tmp_path / "bin" / "debootstrap"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$@" >> {asked}\necho "E: no way to the mirror" >&2\nexit 1\n')
    fake.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(fake.parent), prepend=":")
    only = ("-k", "4_0")

    code, said = _tests(*only)
    assert code == 0, said
    assert not asked.exists()

    code, said = _tests(*only, "--may-install")
    assert code == 0, said
    if rabbit_four.may_be_made():
        assert asked.read_text().count("\n") == 1
        assert said.count(f"Making RabbitMQ 4.0 in {tmp_path}/longhaul/rabbitmq-4.0, once (--no-install") == 1
        assert "could not be made: E: no way to the mirror" in said
    assert "needs RabbitMQ 4.0: RabbitMQ 4.0 was not made here" in said
    assert _tests(*only, "--all")[0] == 1


def test_everything_demanded_is_everything_or_a_failure() -> None:
    code, said = _tests("--rabbitmq", "none", "--all")
    assert code == 1, said
    assert "skipped" not in said


def test_each_module_has_a_vhost_of_its_own(rabbit: str, rabbit_server: Server | Managed) -> None:
    with rabbit_server.vhost() as other:
        assert other != rabbit
        connection = pika.BlockingConnection(pika.URLParameters(rabbit))
        channel = connection.channel()
        channel.queue_declare("mine")
        channel.basic_publish("", "mine", b"")
        connection.close()
        assert rabbit_server.queues(rabbit.rsplit("/", 1)[1]) == {"mine": (1, 0)}
        assert rabbit_server.queues(other.rsplit("/", 1)[1]) == {}


def test_a_node_comes_back_from_a_kill_with_what_was_on_disk(rabbit_node: Callable[..., Node]) -> None:
    node = rabbit_node("consumer_timeout = 3000", advanced="{rabbit, [{channel_tick_interval, 1000}]}")
    assert "3000" in node.server.control("eval", "application:get_env(rabbit, consumer_timeout).")
    assert "1000" in node.server.control("eval", "application:get_env(rabbit, channel_tick_interval).")
    with pika.BlockingConnection(pika.URLParameters(node.url)) as connection:
        channel = connection.channel()
        channel.queue_declare("kept", durable=True)
        channel.confirm_delivery()
        channel.basic_publish("", "kept", b"", pika.BasicProperties(delivery_mode=2))
    node.restart()
    with pika.BlockingConnection(pika.URLParameters(node.url)) as connection:
        assert connection.channel().queue_declare("kept", passive=True).method.message_count == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["-m", "not long"]),
        (["long", "-x"], ["-m", "long", "-x"]),
        (["-k", "launcher"], ["-m", "not long", "-k", "launcher"]),
        (["-m", "rabbitmq"], ["-m", "rabbitmq"]),
    ],
)
def test_the_full_figures_run_only_when_they_are_asked_for(words: list[str], expected: list[str]) -> None:
    assert testing.selected(words) == expected


def test_nothing_is_installed_for_who_forbids_it_or_is_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("subprocess.run", lambda words, **_: asked.append(words))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name, **_: "/usr/bin/apt-get" if name == "apt-get" else None)
    testing.install_rabbitmq()
    assert asked == []


def test_root_on_debian_gets_a_missing_rabbitmq_with_one_line_about_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []

    def run(words: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        asked.append(words)
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name, **_: "/usr/bin/apt-get" if name == "apt-get" else None)
    testing.install_rabbitmq()
    assert [words[-1] for words in asked] == ["-qq", "rabbitmq-server"]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--no-install" in said
