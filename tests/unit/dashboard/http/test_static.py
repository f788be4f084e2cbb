"""Static files under a running server: what lies there now, with its own length and tag."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from dashboard.http.middleware import Static

LONG_AGO = 1_000_000_000


def passed_by(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=404)


@pytest.fixture(params=["where each app has it", "collected"])
def served(
    request: pytest.FixtureRequest, tmp_path: Path, settings: Settings
) -> tuple[Path, Static]:
    """A style sheet and the middleware that has seen it."""
    sheet = tmp_path / "sheet.css"
    sheet.write_text("body{}")
    os.utime(sheet, (LONG_AGO, LONG_AGO))
    (tmp_path / "sheet.css.gz").write_bytes(gzip.compress(b"body{}"))
    settings.SERVESTATIC_USE_FINDERS = request.param != "collected"
    if request.param == "collected":
        settings.STATIC_ROOT = tmp_path
    else:
        settings.STATICFILES_DIRS = [tmp_path]
    finders.get_finder.cache_clear()
    middleware = Static(passed_by)
    finders.get_finder.cache_clear()
    return sheet, middleware


def get(middleware: Static, **headers: str) -> tuple[HttpResponse, bytes]:
    response = middleware(RequestFactory().get("/static/sheet.css", headers=headers))
    body = b"".join(response) if response.streaming else response.content
    return response, body


def test_a_sheet_that_is_written_over_goes_out_whole(served: tuple[Path, Static]) -> None:
    sheet, middleware = served
    first, body = get(middleware)
    assert (body, first["Content-Length"]) == (b"body{}", "6")
    assert first["Cache-Control"] == "max-age=60, public"
    assert get(middleware, if_none_match=first["ETag"])[0].status_code == 304
    for text in ("body{color:red}", "a{}", "a{}b{}"):
        sheet.write_text(text)
        now, body = get(middleware, if_none_match=first["ETag"])
        assert (body, now["Content-Length"]) == (text.encode(), str(len(text)))
        assert now["ETag"] != first["ETag"]
        assert now["Cache-Control"] == first["Cache-Control"]
        assert get(middleware, if_none_match=now["ETag"])[0].status_code == 304


def test_of_the_same_length_it_has_another_tag(served: tuple[Path, Static]) -> None:
    sheet, middleware = served
    first, _ = get(middleware)
    sheet.write_text("html{}"[:6])
    now, body = get(middleware, if_none_match=first["ETag"])
    assert (now.status_code, body) == (200, b"html{}")


def test_compressed_it_is_whole_as_well(served: tuple[Path, Static]) -> None:
    sheet, middleware = served
    packed = sheet.with_name("sheet.css.gz")
    for text in ("x" * 300, "y" * 3000):
        sheet.write_text(text)
        packed.write_bytes(gzip.compress(text.encode()))
        now, body = get(middleware, accept_encoding="gzip")
        assert now["Content-Encoding"] == "gzip"
        assert now["Content-Length"] == str(len(body))
        assert gzip.decompress(body).decode() == text


def test_a_file_that_is_gone_is_not_found(served: tuple[Path, Static]) -> None:
    sheet, middleware = served
    sheet.unlink()
    assert get(middleware)[0].status_code == 404
    sheet.write_text("back{}")
    assert get(middleware)[1] == b"back{}"


def test_text_is_compressed_once_and_anew_when_it_changed(
    served: tuple[Path, Static], monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet, middleware = served
    sheet.with_name("sheet.css.gz").unlink()
    done: list[int] = []
    compress = gzip.compress

    def counted(data: bytes, **more: int) -> bytes:
        done.append(len(data))
        return compress(data, **more)

    monkeypatch.setattr(gzip, "compress", counted)
    for text in ("a{color:red}" * 50, "b{color:red}" * 60):
        sheet.write_text(text)
        for _ in range(3):
            now, body = get(middleware, accept_encoding="gzip")
            assert gzip.decompress(body).decode() == text
            assert (now["Content-Encoding"], now["Vary"]) == ("gzip", "Accept-Encoding")
            assert now["Content-Length"] == str(len(body))
            assert now["Cache-Control"] == "max-age=60, public"
        etag = now["ETag"]
        again = get(middleware, accept_encoding="gzip", if_none_match=etag)[0]
        assert again.status_code == 304
        for plain in ({"accept_encoding": "br, gzip;q=0"}, {}):
            answer, body = get(middleware, **plain)
            assert not answer.has_header("Content-Encoding")
            assert body.decode() == text
        part, body = get(middleware, accept_encoding="gzip", range="bytes=0-3")
        assert (part.status_code, body.decode()) == (206, text[:4])
    assert done == [600, 720]
