"""Hostile files: names, sizes and broken forms at the upload; the right 4xx, or a tame name."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from checkpoints.models import Artifact
from tests.support.cast import Cast

from . import hostile

URL = "/api/v1/artifacts/"
CSRF = "c" * 32
END = b"--b--\r\n"


@pytest.fixture
def operator(cast: Cast) -> Client:
    client: Client = cast.client("operator", enforce_csrf_checks=True)
    client.cookies["csrftoken"] = CSRF
    return client


def part(name: str, content: bytes, *, filename: str | bytes | None = None) -> bytes:
    """One part of a form, spelt by hand."""
    head = b'--b\r\nContent-Disposition: form-data; name="' + name.encode() + b'"'
    if filename is not None:
        raw = filename if isinstance(filename, bytes) else filename.encode("utf-8", "replace")
        head += b'; filename="' + raw + b'"'
    return head + b"\r\nContent-Type: text/html\r\n\r\n" + content + b"\r\n"


def send(client: Client, body: bytes, kind: str = "multipart/form-data; boundary=b") -> Any:
    return client.generic("POST", URL, body, content_type=kind, headers={"X-CSRFToken": CSRF})


def refused(answer: Any, *codes: int, n_stored: int = 0) -> dict[str, Any]:
    assert answer.status_code in codes, answer.content[:300]
    assert answer["Content-Type"] == "application/problem+json", answer.content[:300]
    assert Artifact.objects.count() == n_stored
    problem: dict[str, Any] = answer.json()
    return problem


def test_names_are_made_tame(operator: Client) -> None:
    taken = 0
    for name in hostile.FILE_NAMES:
        content = name.encode(
            "utf-8", "replace"
        )  # of its own, since the same bytes keep their name
        answer = send(operator, part("file", content, filename=name) + END)
        if answer.status_code != 201:
            refused(answer, 400, 422, n_stored=taken)
            continue
        saved = answer.json()["name"]
        assert saved
        assert len(saved) <= 255
        assert not set(saved) & set("/\\\r\n\0"), saved
        assert saved.strip(". ") == saved
        assert not any(unicodedata.category(c)[0] == "C" for c in saved)
        assert answer.json()["media_type"] != "text/html" or saved.endswith(".html")
        taken += 1
    assert taken >= len(hostile.FILE_NAMES) // 2


def test_forms_that_are_broken(operator: Client) -> None:
    good = part("file", b"1,2", filename="a.csv")
    for body, kind in (
        (b"", "multipart/form-data; boundary=b"),
        (b"", "multipart/form-data"),
        (good + END, "multipart/form-data"),
        (good + END, "multipart/form-data; boundary="),
        (good + END, "multipart/form-data; boundary=" + "b" * 1_000),
        (good + END, "multipart/form-data; boundary=é"),
        (good + END, "multipart/form-data; boundary=other"),
        (b"\x00\xff" * 1_000, "multipart/form-data; boundary=b"),
        (part("file", b"no file") + END, "multipart/form-data; boundary=b"),
        (part("other", b"1", filename="a.csv") + END, "multipart/form-data; boundary=b"),
        (part("fi\x00le", b"1", filename="a.csv") + END, "multipart/form-data; boundary=b"),
        (
            b"".join(part(f"f{i}", b"") for i in range(2_000)) + END,
            "multipart/form-data; boundary=b",
        ),
        (
            b"".join(part(f"f{i}", b"", filename="x") for i in range(200)) + END,
            "multipart/form-data; boundary=b",
        ),
        (part("x", b"y" * 4 * hostile.MB) + END, "multipart/form-data; boundary=b"),
        (b"--b\r\n" + b"X-Long: " + b"y" * hostile.MB, "multipart/form-data; boundary=b"),
        (
            good.replace(b"text/html", b"text/html\r\nContent-Transfer-Encoding: base64") + END,
            "multipart/form-data; boundary=b",
        ),
    ):
        refused(send(operator, body, kind), 400, 413, 415, 422)


def test_sizes(operator: Client, settings: Any) -> None:
    settings.GATEPOST_UPLOAD_MAX_BYTES = 1_000
    for size in (1_001, 100_000, 10 * hostile.MB):
        answer = send(operator, part("file", b"x" * size, filename="a.csv") + END)
        assert refused(answer, 413)["path"] == "$.file"
    empty = send(operator, part("file", b"", filename="a.csv") + END)
    assert (empty.status_code, empty.json()["size"]) == (201, 0)


def test_bytes_that_no_json_could_carry_are_kept_as_they_are(operator: Client) -> None:
    for raw in hostile.UNREADABLE.values():
        answer = send(operator, part("file", raw, filename="a.bin") + END)
        assert (answer.status_code, answer.json()["size"]) == (201, len(raw))


def test_a_second_file_is_not_silently_dropped(operator: Client) -> None:
    twice = part("file", b"1", filename="a.csv") + part("file", b"2", filename="b.csv") + END
    more = part("file", b"1", filename="a.csv") + part("more", b"2") + END
    for body in (twice, more):
        refused(send(operator, body), 422)


def test_the_upload_is_the_operators(cast: Cast) -> None:
    for who in ("manager", "auditor"):
        form = {"file": SimpleUploadedFile("a.csv", b"1")}
        refused(cast.client(who).post(URL, form), 403)
