"""GATEPOST_STORAGE: a folder or a bucket by configuration alone; no mistake shows a secret."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.configuration import storage
from dashboard.configuration.sources import Misconfigured
from tests.faults.embedded.helpers import ROOT, clean_environment

pytestmark = pytest.mark.requirement("E04")

SECRET = "hush-hush"
FULL = "s3://files/team/one?endpoint=https://host:9000&region=eu-central-1&addressing=virtual"


def test_without_an_address_files_lie_in_a_folder() -> None:
    assert storage.files("") == storage.files("  ") == {"BACKEND": storage.FOLDER}


def test_an_address_is_a_bucket_a_prefix_and_a_server() -> None:
    files = storage.files(FULL, key="me", secret=SECRET)
    assert files == {
        "BACKEND": storage.BUCKET,
        "OPTIONS": {
            "bucket_name": "files",
            "location": "team/one",
            "endpoint_url": "https://host:9000",
            "region_name": "eu-central-1",
            "addressing_style": "virtual",
            "access_key": "me",
            "secret_key": SECRET,
        },
    }
    bare = storage.files("s3://files")["OPTIONS"]
    assert (bare["location"], bare["endpoint_url"], bare["addressing_style"]) == ("", None, "auto")
    assert "access_key" not in bare, "found as every client of Amazon finds them"
    assert storage.files("s3://files?endpoint=http://h")["OPTIONS"]["addressing_style"] == "path"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("/var/files", "cannot be read"),
        ("gs://files", "cannot be read"),
        ("s3://", "names no bucket"),
        ("s3://Files_", "names no bucket"),
        (f"s3://me:{SECRET}@files", "holds credentials"),
        ("s3://files/a/../b", "cannot be read"),
        ("s3://files/a//b", "cannot be read"),
        ("s3://files?endpoint", "cannot be read"),
        (f"s3://files?secret={SECRET}", "has the unknown option 'secret'"),
        (f"s3://files?endpoint=https://me:{SECRET}@host", "has an endpoint that is no address"),
        ("s3://files?endpoint=host:9000", "has an endpoint that is no address"),
        ("s3://files?endpoint=https://host:port", "has an endpoint that is no address"),
        ("s3://files?addressing=odd", "has an addressing that is none of"),
        (f"s3://files#{SECRET}", "cannot be read"),
    ],
)
def test_a_mistake_is_one_line_without_the_address(url: str, text: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        storage.files(url)
    assert text in str(caught.value)
    assert str(caught.value).startswith("gatepost: GATEPOST_STORAGE ")
    assert SECRET not in str(caught.value)


def test_half_of_the_credentials_and_two_places_are_refused() -> None:
    for one in ({"key": "me"}, {"secret": SECRET}):
        with pytest.raises(Misconfigured, match="one is missing") as caught:
            storage.files(FULL, **one)
        assert SECRET not in str(caught.value)
    with pytest.raises(Misconfigured, match="keep one of them"):
        storage.files(FULL, folder="/var/files")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "find_spec", lambda name: None)
    with pytest.raises(Misconfigured, match=r"needs the extra s3: pip install '\.\[s3\]'"):
        storage.files(FULL)
    assert storage.files("") == {"BACKEND": storage.FOLDER}


PAGE = (ROOT / "docs/howto/object-storage.md").read_text()


def test_the_variables_of_the_page_are_read_as_it_says() -> None:
    """docs/howto/object-storage.md: names, the address, and what each part of it means."""
    block, copy = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    variables = dict(re.findall(r"^export (\w+)='?(.*?)'?$", block, re.M))
    assert variables.keys() == {
        "GATEPOST_STORAGE",
        "GATEPOST_STORAGE_KEY",
        "GATEPOST_STORAGE_SECRET",
    }
    options = storage.bucket(variables["GATEPOST_STORAGE"])
    assert variables["GATEPOST_STORAGE"] in copy, "the same bucket is copied to"
    assert (options["bucket_name"], options["location"]) == ("gatepost-files", "production")
    assert options["endpoint_url"] == "https://minio.example.com:9000"
    for name in storage.OPTIONS:
        assert f"| `{name}` |" in PAGE
    assert set(re.findall(r"`(\w+)`", PAGE.split("| `addressing` |")[1].split("|")[0])) == set(
        storage.ADDRESSING
    )


CODE = """
import sys, django
django.setup()
from django.conf import settings
from django.core.files.storage import default_storage
from checkpoints.outbound import own_secrets
import os
assert "boto3" not in sys.modules, "nothing is imported before a file is asked for"
own_secrets.forget()
assert "GATEPOST_STORAGE_SECRET" not in os.environ
assert "GATEPOST_STORAGE_SECRET_FILE" not in os.environ
assert "hush-hush-of-files" in settings.GATEPOST_SECRET_VALUES
print(type(default_storage._wrapped).__name__ if default_storage.bucket_name else "")
print(default_storage.bucket_name, default_storage.location, default_storage.secret_key)
"""


@pytest.mark.slow
def test_the_environment_alone_chooses(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hush-hush-of-files\n")
    result = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=ROOT,
        env=clean_environment()
        | {
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
            "GATEPOST_DATA": str(tmp_path),
            "GATEPOST_STORAGE": FULL,
            "GATEPOST_STORAGE_KEY": "me",
            "GATEPOST_STORAGE_SECRET_FILE": str(secret),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-2:] == [
        "ObjectStorage",
        "files team/one hush-hush-of-files",
    ]
